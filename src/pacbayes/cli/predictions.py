"""`pacbayes certify --predictions`: certify classifiers by a table of their predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.checks import convert_long_labels, did_you_mean
from pacbayes.cli.data import TARGET_HINT, Choices, Data, skipped_rows_note
from pacbayes.cli.model import make_estimator, parse_positive, validate_options
from pacbayes.cli.new_rows import CodedColumn, count_unknown_predictions
from pacbayes.cli.options import option_name
from pacbayes.data.io import open_table
from pacbayes.data.rejections import format_names, format_option
from pacbayes.data.schema import Schema
from pacbayes.data.spelling import align_spellings, check_spellings, unescape_cells
from pacbayes.data.targets import check_classes, parse_labels, select_target

if TYPE_CHECKING:
    import pandas as pd

# Options that apply to tables of predictions and of counts; all others are rejected, including future ones.
_COMMON = {"sep", "encoding", "delta", "metrics", "by_class", "positive", "fail_above", "details", "json", "quiet"}
_ALLOWED = {
    "counts": _COMMON | {"counts", "cost"},
    "predictions": _COMMON
    | {"predictions", "primary", "target", "drop", "group", "skip_unlabelled", "distance", "seed", "hedge", "voting"}
    | {"report"},
}


@dataclass(frozen=True, eq=False)
class ColumnClassifier:
    """Classifier that reads its predictions, as codes, from a column of the table passed to `predict`."""

    column: str
    labels: NDArray[Any]

    def predict(self, X: "pd.DataFrame") -> NDArray[Any]:
        """Convert the codes in the column to labels."""
        predictions: NDArray[Any] = self.labels[X[self.column].to_numpy()]
        return predictions

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters for tables and reports: the name of the column."""
        return {"column": self.column}


def read_predictions(path: Path, choices: Choices) -> Data:
    """Read a table with the true classes and a column of predictions for each classifier."""
    import pandas as pd

    file = open_table(path, choices.options)
    groups_column = [] if choices.group is None else [choices.group]
    for option, columns in (("--drop", choices.drop), ("--group", groups_column)):
        unknown = sorted(set(columns) - set(file.columns))
        if unknown:
            hint = did_you_mean(unknown, file.columns)
            raise ValueError(f"{option} must name columns of {str(path)!r}, got {format_names(unknown)}{hint}")
    names = [name for name in file.columns if name not in (*choices.drop, *groups_column)]
    target = select_target(names, choices.target, str(path), format_option)
    names.remove(target)
    coded = {name: CodedColumn() for name in (target, *names, *groups_column)}
    for block in file.blocks(strings=list(coded)):
        for name, column in coded.items():
            column.add(block[name])
    codes, values = coded[target].codes, coded[target].values
    labelled: Any = codes >= 0 if choices.skip_unlabelled else slice(None)
    # Raises for missing labels, and for classes with two spellings.
    present = [None if code < 0 else values[code] for code in np.unique(codes[labelled])] or [None]
    check_classes(parse_labels(pd.Series(present, name=target, dtype=object), str(path), format_option), target)
    # Strings of one width are compared many times faster than objects.
    y = np.asarray(convert_long_labels(values.tolist()))[codes[labelled]]
    classes = sorted(values[np.unique(codes[labelled])].tolist())
    classifiers = "one classifier" if len(names) == 1 else f"{len(names)} classifiers"
    notes = [f"{path}: {y.size} rows, predictions of {classifiers}, {len(classes)} classes."]
    if choices.target is None:
        notes.append(f"The true class is the last column, {target!r}{TARGET_HINT}.")
    if choices.skip_unlabelled:
        notes.append(skipped_rows_note(codes.size - y.size))
    X, labels = {}, {}
    for name in names:
        X[name] = coded[name].codes[labelled]
        labels[name], lines = _parse_predictions(X[name], coded[name].values, name, classes, path)
        notes += lines
    groups = None
    if choices.group is not None:
        groups = coded[choices.group].codes[labelled]
        if (groups < 0).any():
            row = int((groups < 0).argmax()) + 1
            raise ValueError(
                f"column {choices.group!r} of {str(path)!r} has no value in row {row}: every row must have a group"
            )
        check_spellings(coded[choices.group].values, f"--group: column {choices.group!r}", "group")
        groups = coded[choices.group].values[groups]
    parts = (str(path), pd.DataFrame(X), y, classes, Schema(), target, notes, path, codes.size - y.size)
    return Data(*parts, choices.group, groups, labels=labels)


def reject_other_options(args: SimpleNamespace, command: Callable[..., None], option: str) -> None:
    """Raise for options that cannot be combined with --predictions or --counts."""
    defaults = {name: parameter.default for name, parameter in signature(command).parameters.items()}
    others = [
        name for name, value in vars(args).items() if value not in (defaults[name], []) and name not in _ALLOWED[option]
    ]
    if others:
        raise ValueError(
            f"--{option} trains nothing and reads no other file; remove {', '.join(map(option_name, others))}"
        )


def certify_columns(args: SimpleNamespace, data: Data) -> Any:
    """Certify the columns of a table as prefit classifiers."""
    from pacbayes.estimators.classifier import CertifiedClassifier

    names = [str(name) for name in data.X.columns]
    model = make_estimator(args)
    return CertifiedClassifier.from_fitted(
        [ColumnClassifier(name, data.labels[name]) for name in names],
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
            f"--primary must be one of the columns {format_names(names)}, got {primary!r}"
            f"{did_you_mean([primary], names)}"
        )
    validate_options(args, prefit=True, primary=primary is not None or (len(names) == 1 and args.hedge == "auto"))


def _parse_predictions(
    codes: NDArray[np.int32], values: NDArray[Any], name: str, classes: list[str], path: Path
) -> tuple[NDArray[Any], list[str]]:
    """Convert the strings of a column to labels in the spelling of the classes, with notes; raise if there are none."""
    where = f"column {name!r} of {str(path)!r}"
    missing = codes < 0
    if missing.any():
        raise ValueError(f"{where} has {missing.sum()} missing predictions, the first in row {missing.argmax() + 1}")
    cells = unescape_cells(values.tolist(), set(classes), where)
    labels = align_spellings(cells, classes, where)
    if not set(labels.tolist()).intersection(classes):
        raise ValueError(
            f"{where} has none of the classes {format_names(classes)}, but {cells[0]!r}; --drop leaves it out"
        )
    return np.asarray(convert_long_labels(labels.tolist())), count_unknown_predictions(
        labels[codes], np.array(classes, dtype=object), name
    )[1]
