"""A table of predictions, a column for each classifier, as rows and classifiers of which each reads its own column."""

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
from pacbayes.cli.model import check, positive_of, unfitted
from pacbayes.cli.new_rows import no_class
from pacbayes.cli.options import in_words_of_options
from pacbayes.data.class_names import aligned, as_labels, from_cells
from pacbayes.data.columns import Columns, check_classes
from pacbayes.data.reading import divide_columns, labelled, listed, read_frame, target_of
from pacbayes.data.rejections import in_shell

if TYPE_CHECKING:
    import pandas as pd

# What has a meaning for predictions and for counts; any other option is refused, also one that is yet to be invented.
_FOR_BOTH = {"sep", "delta", "metrics", "by_class", "positive", "fail_above", "details", "json", "quiet"}
_ALLOWED = {
    "counts": _FOR_BOTH | {"counts", "cost"},
    "predictions": _FOR_BOTH
    | {"predictions", "primary", "target", "drop", "group", "skip_unlabelled", "distance", "seed", "hedge", "voting"}
    | {"report"},
}


@dataclass(frozen=True)
class ColumnClassifier:
    """A classifier whose answers are in a table; its rows are the rows of that table."""

    column: str

    def predict(self, X: "pd.DataFrame") -> NDArray[Any]:
        """Return what stands in its column."""
        return X[self.column].to_numpy()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the name of its column, by which tables and reports call it."""
        return {"column": self.column}


def read_predictions(path: Path, choices: Choices) -> Data:
    """Return a table of predictions: a column for each classifier, and one with the true classes."""
    apart = [] if choices.group is None else [choices.group]
    frame = read_frame(path, as_text=apart, sep=choices.sep)
    for option, names in (("--drop", choices.drop), ("--group", apart)):
        unknown = sorted(set(names) - set(frame.columns))
        if unknown:
            like = did_you_mean(unknown, frame.columns)
            raise ValueError(f"{option} must name columns of {str(path)!r}, got {listed(unknown)}{like}")
    frame = frame.drop(columns=list(choices.drop))
    target = target_of(frame.drop(columns=apart), choices.target, path, in_shell)
    kept = frame[target].notna().to_numpy() if choices.skip_unlabelled else np.ones(len(frame), dtype=bool)
    frame, skipped = labelled(frame, target, path) if choices.skip_unlabelled else (frame, 0)
    frame, groups = take_groups(frame, choices, path)
    answers, labels = divide_columns(frame, target, path, in_shell, choices.sep)
    check_classes(labels, target)
    # As text, and as written: what pandas makes of a text depends on the others in its column.
    names = tuple(str(name) for name in answers.columns)
    written = read_frame(path, as_text=(target, *names), sep=choices.sep)[kept].reset_index(drop=True)
    is_text = labels.dtype.kind in "OU"
    y = as_labels(written[target])
    classes = sorted(set(y.tolist()))
    number = "one classifier" if len(names) == 1 else f"{len(names)} classifiers"
    notes = [f"{path}: {len(y)} examples, predictions of {number}, {len(classes)} classes."]
    if choices.target is None:
        notes.append(f"The true class is the last column, {target!r}{TARGET_HINT}.")
    if choices.skip_unlabelled:
        notes.append(left_out(skipped))
    said = {}
    for name in names:
        said[name], lines = _checked(written[name], name, y, is_text, path)
        notes += lines
    X = answers.assign(**said)
    return Data(str(path), X, y, classes, Columns((), names, {}), target, notes, path, skipped, choices.group, groups)


def refuse_others(asked: SimpleNamespace, command: Callable[..., None], option: str) -> None:
    """Raise for options that have no meaning with --predictions or --counts."""
    usual = {name: one.default for name, one in signature(command).parameters.items()}
    given = [
        name for name, value in vars(asked).items() if value not in (usual[name], []) and name not in _ALLOWED[option]
    ]
    if given:
        raise ValueError(
            f"--{option} certifies classifiers that are not here, trains nothing and reads nothing else; leave out "
            f"{', '.join(map(in_words_of_options, given))}"
        )


def certified_columns(asked: SimpleNamespace, data: Data) -> Any:
    """Return a fitted estimator whose classifiers are the columns of a table."""
    from pacbayes.estimators.classifier import CertifiedClassifier

    names = [str(name) for name in data.X.columns]
    model = unfitted(asked)
    return CertifiedClassifier.from_fitted(
        [ColumnClassifier(name) for name in names],
        data.X,
        data.y,
        primary=None if asked.primary is None else names.index(asked.primary),
        groups=data.groups,
        pos_label=positive_of(asked.positive, data.class_names),
        **{name: getattr(model, name) for name in ("distance", "delta", "hedge", "voting", "metrics", "random_state")},
    )


def check_primary(asked: SimpleNamespace, data: Data) -> None:
    """Raise if the proposed classifier is no column, or if something needs one that there is not."""
    primary, names = asked.primary, [str(name) for name in data.X.columns]
    if primary is not None and primary not in names:
        raise ValueError(
            f"--primary must be one of the columns {listed(names)}, got {primary!r}{did_you_mean([primary], names)}"
        )
    check(asked, prefit=True, primary=primary is not None or (len(names) == 1 and asked.hedge == "auto"))


def _checked(
    column: "pd.Series[Any]", name: str, y: NDArray[Any], is_text: bool, path: Path
) -> tuple[NDArray[Any], list[str]]:
    """Return a column in the words of the classes, and what is to be known of it; raise if it holds none of them."""
    where = f"column {name!r} of {str(path)!r}"
    gaps = column.isna().to_numpy()
    if gaps.any():
        raise ValueError(f"{where} lacks a prediction in {gaps.sum()} examples, the first being {gaps.argmax() + 1}")
    classes = set(y.tolist())
    said = from_cells(as_labels(column).tolist(), classes, where)
    answers = np.array(said, dtype=object) if is_text else aligned(said, y.tolist(), where)
    if not classes & set(answers.tolist()):
        known = listed(sorted(classes))
        raise ValueError(f"{where} holds none of the classes {known}, but {said[0]!r}; --drop leaves it out")
    return answers, no_class(answers, y, name)[1]
