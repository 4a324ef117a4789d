"""`certify --predictions`: a table with a column of predictions for each classifier."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.checks import did_you_mean
from pacbayes.cli.data import TARGET_HINT, Choices, Data, left_out, take_groups
from pacbayes.cli.model import check, make_estimator, parse_positive
from pacbayes.cli.new_rows import no_class
from pacbayes.cli.options import option_name
from pacbayes.data.class_names import aligned, as_labels, from_cells
from pacbayes.data.columns import Columns, check_classes
from pacbayes.data.reading import divide_columns, labelled, listed, read_frame, target_of
from pacbayes.data.rejections import in_shell

if TYPE_CHECKING:
    import pandas as pd

# Options that apply to tables of predictions and of counts; all others are rejected, including future ones.
_COMMON = {"sep", "delta", "metrics", "by_class", "positive", "fail_above", "details", "json", "quiet"}
_ALLOWED = {
    "counts": _COMMON | {"counts", "cost"},
    "predictions": _COMMON
    | {"predictions", "primary", "target", "drop", "group", "skip_unlabelled", "distance", "seed", "hedge", "voting"}
    | {"report"},
}


@dataclass(frozen=True)
class ColumnClassifier:
    """Classifier whose predictions are a column of the table that is passed to `predict`."""

    column: str

    def predict(self, X: "pd.DataFrame") -> NDArray[Any]:
        """Return the column."""
        return X[self.column].to_numpy()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Name of the column, for tables and reports."""
        return {"column": self.column}


def read_predictions(path: Path, choices: Choices) -> Data:
    """Read a table with a column of predictions for each classifier, and the true classes."""
    groups_column = [] if choices.group is None else [choices.group]
    frame = read_frame(path, as_text=groups_column, sep=choices.sep)
    for option, names in (("--drop", choices.drop), ("--group", groups_column)):
        unknown = sorted(set(names) - set(frame.columns))
        if unknown:
            hint = did_you_mean(unknown, frame.columns)
            raise ValueError(f"{option} must name columns of {str(path)!r}, got {listed(unknown)}{hint}")
    frame = frame.drop(columns=list(choices.drop))
    target = target_of(frame.drop(columns=groups_column), choices.target, path, in_shell)
    labelled_rows = frame[target].notna().to_numpy() if choices.skip_unlabelled else np.ones(len(frame), dtype=bool)
    frame, skipped = labelled(frame, target, path) if choices.skip_unlabelled else (frame, 0)
    frame, groups = take_groups(frame, choices, path)
    predictions, labels = divide_columns(frame, target, path, in_shell, choices.sep)
    check_classes(labels, target)
    # As strings, because the types that pandas infers depend on the whole column.
    names = tuple(str(name) for name in predictions.columns)
    cells = read_frame(path, as_text=(target, *names), sep=choices.sep)[labelled_rows].reset_index(drop=True)
    is_text = labels.dtype.kind in "OU"
    y = as_labels(cells[target])
    classes = sorted(set(y.tolist()))
    classifiers = "one classifier" if len(names) == 1 else f"{len(names)} classifiers"
    notes = [f"{path}: {len(y)} rows, predictions of {classifiers}, {len(classes)} classes."]
    if choices.target is None:
        notes.append(f"The true class is the last column, {target!r}{TARGET_HINT}.")
    if choices.skip_unlabelled:
        notes.append(left_out(skipped))
    columns = {}
    for name in names:
        columns[name], lines = _parse_predictions(cells[name], name, y, is_text, path)
        notes += lines
    X = predictions.assign(**columns)
    return Data(str(path), X, y, classes, Columns((), names, {}), target, notes, path, skipped, choices.group, groups)


def reject_other_options(args: SimpleNamespace, command: Callable[..., None], option: str) -> None:
    """Raise for options that do not apply to --predictions or --counts."""
    defaults = {name: parameter.default for name, parameter in signature(command).parameters.items()}
    others = [
        name for name, value in vars(args).items() if value not in (defaults[name], []) and name not in _ALLOWED[option]
    ]
    if others:
        raise ValueError(
            f"--{option} certifies classifiers without training or reading any other file; remove "
            f"{', '.join(map(option_name, others))}"
        )


def certify_columns(args: SimpleNamespace, data: Data) -> Any:
    """Certify the columns of a table as prefit classifiers."""
    from pacbayes.estimators.classifier import CertifiedClassifier

    names = [str(name) for name in data.X.columns]
    model = make_estimator(args)
    return CertifiedClassifier.from_fitted(
        [ColumnClassifier(name) for name in names],
        data.X,
        data.y,
        primary=None if args.primary is None else names.index(args.primary),
        groups=data.groups,
        pos_label=parse_positive(args.positive, data.class_names),
        **{name: getattr(model, name) for name in ("distance", "delta", "hedge", "voting", "metrics", "random_state")},
    )


def check_primary(args: SimpleNamespace, data: Data) -> None:
    """Raise if --primary is not a column, or is missing although an option requires it."""
    primary, names = args.primary, [str(name) for name in data.X.columns]
    if primary is not None and primary not in names:
        raise ValueError(
            f"--primary must be one of the columns {listed(names)}, got {primary!r}{did_you_mean([primary], names)}"
        )
    check(args, prefit=True, primary=primary is not None or (len(names) == 1 and args.hedge == "auto"))


def _parse_predictions(
    column: "pd.Series[Any]", name: str, y: NDArray[Any], is_text: bool, path: Path
) -> tuple[NDArray[Any], list[str]]:
    """Convert a column to the spelling of the classes, with remarks; raise if it has none of the classes."""
    where = f"column {name!r} of {str(path)!r}"
    missing = column.isna().to_numpy()
    if missing.any():
        raise ValueError(f"{where} has {missing.sum()} missing predictions, the first in row {missing.argmax() + 1}")
    classes = set(y.tolist())
    cells = from_cells(as_labels(column).tolist(), classes, where)
    y_pred = np.array(cells, dtype=object) if is_text else aligned(cells, y.tolist(), where)
    if not classes & set(y_pred.tolist()):
        raise ValueError(
            f"{where} has none of the classes {listed(sorted(classes))}, but {cells[0]!r}; --drop leaves it out"
        )
    return y_pred, no_class(y_pred, y, name)[1]
