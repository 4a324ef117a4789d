"""From the arguments that name data to rows, labels and what a person should know about both."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.checks import check_choice, did_you_mean
from pacbayes.cli.new_rows import lacking
from pacbayes.data.blocks import ColumnFit
from pacbayes.data.bundled import DATASETS
from pacbayes.data.class_names import as_labels, spelling_of
from pacbayes.data.columns import Columns, check_classes, read_columns
from pacbayes.data.dataset import looks_like_regression
from pacbayes.data.duplicates import overlap
from pacbayes.data.number_format import NumberFormat
from pacbayes.data.reading import columns_of, divide_columns, file_kind, labelled, listed, read_frame, target_of
from pacbayes.data.rejections import in_shell
from pacbayes.data.rows import hashed_rows
from pacbayes.data.tables import TableReading

if TYPE_CHECKING:
    import pandas as pd


#: Said at the prompt after the name of the target, and nowhere else.
TARGET_HINT = " (--target names another)"
# Each slice has an equal part of what is kept for limits: many of them leave nothing to any.
_MOST_SLICES = 100


@dataclass(frozen=True)
class Choices:
    """How to read a file."""

    target: str | None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    sep: str | None = None
    skip_unlabelled: bool = False
    group: str | None = None
    slice: str | None = None
    #: How numbers are written, None for as usual.
    signs: NumberFormat | None = None
    #: A file with the examples that count errors, or a column that says which do.
    validation: Path | None = None
    validation_column: str | None = None

    @property
    def as_text(self) -> list[str]:
        """The columns beside the features that are read as they are written."""
        return [name for name in (self.group, self.validation_column) if name is not None]

    @property
    def are_for_files(self) -> bool:
        """Whether anything is said that only a file can need."""
        return self != Choices(None)


@dataclass(frozen=True)
class Data:
    """Rows to certify with; columns are float64 or objects."""

    name: str
    X: "pd.DataFrame"
    y: NDArray[Any]
    class_names: list[str]
    columns: Columns
    target: str
    notes: list[str]
    path: Path | None = None
    #: Examples without a class that were left out.
    skipped: int = 0
    #: The column that says which rows belong together, and its entries.
    group: str | None = None
    groups: NDArray[Any] | None = None
    #: The entries of the column of slices, which is a feature too unless it was dropped.
    slices: "pd.Series[Any] | None" = None
    #: How a file was read, which a model remembers.
    reading: TableReading = field(default_factory=TableReading)
    #: What is said of the columns where details are wanted.
    details: tuple[str, ...] = ()
    #: Which examples count errors, where the user says it.
    validation: NDArray[Any] | None = None


def read_data(path: Path | None, dataset: str | None, choices: Choices) -> Data:
    """Return the rows of a file, or of a named data set."""
    if path is not None:
        if dataset is not None:
            raise ValueError(f"give a file or --dataset, not both: got {str(path)!r} and {dataset!r}")
        return _read_path(path, choices)
    if choices.are_for_files:
        raise ValueError(
            "--target, --drop, --keep, --categorical, --missing, --sep, --decimal, --thousands, --skip-unlabelled, "
            "--slice, --group, --validation and --validation-column are for a file: certify data.csv ..."
        )
    return _read_named(check_choice("--dataset", "wdbc" if dataset is None else dataset, DATASETS))


def _read_named(name: str) -> Data:
    from pacbayes.data.load import load_dataset

    bunch = load_dataset(name, as_frame=True)
    facts = DATASETS[name]
    features = tuple(bunch.feature_names)
    notes = [f"Data set {name}: {facts.title}; {_sizes(bunch.data, bunch.target_names)}."]
    columns = Columns(features, (), {})
    y = np.array(bunch.target_names, dtype=object)[bunch.target.to_numpy()]
    return Data(name, bunch.data, y, [str(one) for one in bunch.target_names], columns, "target", notes)


def _read_path(path: Path, choices: Choices) -> Data:
    as_text = (*choices.categorical, *choices.as_text)
    frame = read_frame(path, choices.missing, as_text, choices.sep, signs=choices.signs)
    _check_names(frame, choices, path)
    frame, validates = _validating(frame, choices, path)
    sliced = None if choices.slice is None else _check_slice(frame[choices.slice], path)
    frame = frame.drop(columns=list(choices.drop))
    apart = [] if choices.group is None else [choices.group]
    target = target_of(frame.drop(columns=apart), choices.target, path, in_shell)
    _check_features(target, choices)
    # Which of the examples have a class: what else is known of them must be picked by the same.
    kept = frame[target].notna().to_numpy() if choices.skip_unlabelled else np.ones(len(frame), dtype=bool)
    frame, skipped = labelled(frame, target, path) if choices.skip_unlabelled else (frame, 0)
    slices = None if sliced is None else sliced[kept].reset_index(drop=True)
    frame, groups = take_groups(frame, choices, path)
    validation = None if validates is None else validates.to_numpy()[kept]
    features, y = divide_columns(frame, target, path, in_shell, choices.sep)
    y = _classes(y, target, choices)
    columns, X = read_columns(features, [name for name in choices.categorical if name != target], choices.keep)
    names = [str(one) for one in sorted(set(y.tolist()))]
    notes = [f"{path}: {_sizes(X, names)}."]
    if choices.target is None:
        notes.append(f"The class is the last column, {target!r}{TARGET_HINT}.")
    if choices.skip_unlabelled:
        notes.append(left_out(skipped))
    notes.append(_kinds(columns))
    if groups is not None:
        notes.append(f"Column {choices.group!r} names {len(set(groups.tolist()))} groups and is not a feature.")
    if validation is not None:
        notes.append(f"{int(validation.sum())} examples count errors, as {_where(choices)} says; the others train.")
    made = TableReading.of(X)
    assert made is not None
    reading = made.of_file(choices.missing, cells=file_kind(path, choices.sep) is not None, signs=choices.signs)
    return Data(
        str(path),
        X,
        y,
        names,
        columns,
        target,
        notes,
        path,
        skipped,
        choices.group,
        groups,
        slices,
        reading,
        () if columns.plain else (_LEARNT,),
        validation,
    )


def _classes(labels: NDArray[Any], target: str, choices: Choices) -> NDArray[Any]:
    """Return the classes, as text where --categorical names their column, or raise if they are probably none."""
    if target in choices.categorical:
        labels = as_labels(labels)
    check_classes(labels, target)
    n_classes = np.unique(labels).size
    if looks_like_regression(labels, n_classes):
        raise ValueError(
            f"column {target!r} holds {n_classes} different numbers in {labels.size} rows and looks like a regression "
            f"target; if these numbers are classes give {in_shell('categorical', target)}, if another column holds the "
            "classes give --target COLUMN"
        )
    return labels


def _where(choices: Choices) -> str:
    return f"{str(choices.validation)!r}" if choices.validation else f"column {choices.validation_column!r}"


# What may stand in a column that divides examples, and whether such an example counts errors.
_SIDES = {"true": True, "yes": True, "1": True, "validation": True, "valid": True, "val": True, "test": True}
_SIDES |= {"false": False, "no": False, "0": False, "training": False, "train": False}


def _validating(frame: "pd.DataFrame", choices: Choices, path: Path) -> "tuple[pd.DataFrame, pd.Series[bool] | None]":
    """Return the examples, those of a file of validation examples behind the others, and which count errors."""
    import pandas as pd

    if choices.validation is not None:
        if choices.validation_column is not None:
            raise ValueError("give --validation FILE or --validation-column NAME, not both")
        as_text = (*choices.categorical, *choices.as_text)
        other = read_frame(choices.validation, choices.missing, as_text, choices.sep, signs=choices.signs)
        lacks = [name for name in frame.columns if name not in other.columns and name not in choices.drop]
        if lacks:
            raise ValueError(
                f"--validation: {str(choices.validation)!r} must have the columns of {str(path)!r}, but lacks "
                f"{listed(lacks)}{did_you_mean(lacks, other.columns)}"
            )
        other = other.reindex(columns=frame.columns)
        if choices.group is not None:
            frame, other = _groups_alike(frame, other, choices.group)
        both = pd.concat([frame, other], ignore_index=True)
        return both, pd.Series([False] * len(frame) + [True] * len(other))
    if choices.validation_column is None:
        return frame, None
    elsewhere = (choices.target, choices.group, choices.slice, *choices.drop, *choices.keep, *choices.categorical)
    if choices.validation_column in elsewhere:
        raise ValueError(
            f"--validation-column must name a column that is nothing else, got {choices.validation_column!r}"
        )
    column = frame[choices.validation_column]
    sides = column.astype(str).str.strip().str.lower().map(_SIDES)
    if sides.isna().any():
        place = int(sides.isna().to_numpy().argmax())
        raise ValueError(
            f"--validation-column: column {choices.validation_column!r} must hold true and false, 1 and 0, yes and no, "
            f"or validation and train, got {column.iloc[place]!r} in example {place + 1}"
        )
    return frame.drop(columns=choices.validation_column), sides.astype(bool)


def _groups_alike(ours: "pd.DataFrame", theirs: "pd.DataFrame", name: str) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Return two files with the names of groups as text, or raise if they write one group in two ways.

    One patient on both sides would be taken for two.
    """

    def meant(text: str) -> str | float:
        try:
            return float(text)
        except ValueError:
            return " ".join(text.split()).lower()

    texts = [one.assign(**{name: one[name].astype(str).where(one[name].notna())}) for one in (ours, theirs)]
    known = {meant(text): text for text in texts[0][name].dropna().unique()}
    for text in texts[1][name].dropna().unique():
        if known.get(meant(text), text) != text:
            raise ValueError(
                f"--group: {known[meant(text)]!r} and {text!r} in column {name!r} of the two files look like one "
                "group: write them alike"
            )
    return texts[0], texts[1]


def take_groups(frame: "pd.DataFrame", choices: Choices, path: Path) -> "tuple[pd.DataFrame, NDArray[Any] | None]":
    """Return the other columns, and the one that names the groups."""
    name = choices.group
    if name is None:
        return frame, None
    column = frame[name]
    if column.isna().any():
        raise ValueError(
            f"column {name!r} of {str(path)!r} lacks a value in example {int(column.isna().to_numpy().argmax()) + 1}: "
            "every example must have a group"
        )
    return frame.drop(columns=name), column.to_numpy()


def _check_slice(column: "pd.Series[Any]", path: Path) -> "pd.Series[Any]":
    """Return a column of slices as text, or raise if it lacks a value or has nearly as many as there are rows."""
    if column.isna().any():
        place = int(column.isna().to_numpy().argmax()) + 1
        raise ValueError(f"--slice: column {column.name!r} of {str(path)!r} lacks a value in example {place}")
    number = column.nunique()
    if number > _MOST_SLICES:
        raise ValueError(
            f"--slice must name a column with at most {_MOST_SLICES} values, got {column.name!r} with {number}"
        )
    return column.astype(str)


def _check_names(frame: "pd.DataFrame", choices: Choices, path: Path) -> None:
    """Raise for all names of columns that the file does not have, and for a column both dropped and used."""
    wrong = []
    for option, names in (("drop", choices.drop), ("keep", choices.keep), ("categorical", choices.categorical)):
        unknown = [name for name in dict.fromkeys(names) if name not in frame.columns]
        if unknown:
            wrong.append(f"--{option} must name columns of the features, got {listed(unknown)}")
    if choices.group is not None and choices.group not in frame.columns:
        wrong.append(f"--group must name a column of {str(path)!r}, got {choices.group!r}")
    if choices.validation_column is not None and choices.validation_column not in frame.columns:
        wrong.append(f"--validation-column must name a column of {str(path)!r}, got {choices.validation_column!r}")
    if choices.slice is not None and choices.slice not in frame.columns:
        wrong.append(f"--slice must name a column of {str(path)!r}, got {choices.slice!r}")
    if choices.target is not None and choices.target not in frame.columns:
        wrong.append(f"target must be a column of {str(path)!r}, got {choices.target!r}")
    if wrong:
        one_each = (choices.group, choices.validation_column, choices.slice, choices.target)
        asked = [*choices.drop, *choices.keep, *choices.categorical, *(name for name in one_each if name is not None)]
        unknown = [name for name in asked if name not in frame.columns]
        raise ValueError(f"{'; '.join(wrong)}; {columns_of(frame, unknown)}")
    if choices.target is not None and choices.target in choices.drop:
        raise ValueError(f"--drop must not name the target, got {choices.target!r}")
    if choices.group is not None and choices.group in (
        choices.target,
        *choices.drop,
        *choices.keep,
        *choices.categorical,
    ):
        raise ValueError(f"--group must not name the target or a column of another option, got {choices.group!r}")
    both = [name for name in choices.drop if name in (*choices.keep, *choices.categorical)]
    if both:
        raise ValueError(f"--drop must not name columns of --keep or --categorical, got {listed(both)}")


def _check_features(target: str, choices: Choices) -> None:
    if target in choices.keep:
        raise ValueError(f"--keep must name columns of the features, got the target {target!r}")


def left_out(skipped: int) -> str:
    """Sentence about the examples that --skip-unlabelled leaves out."""
    return f"{_skipped(skipped)}; the certificate is about examples that have one."


def _skipped(number: int) -> str:
    return f"{number} {'example' if number == 1 else 'examples'} without a class left out"


def read_test(path: Path, data: Data, choices: Choices) -> "tuple[pd.DataFrame, NDArray[Any]]":
    """Return the rows and labels of a test file with the columns of the data that are certified."""
    as_text = [data.target] if data.y.dtype.kind in "OU" else []
    of_text, signs = data.columns.categorical, choices.signs
    frame = read_frame(path, choices.missing, as_text, choices.sep, of_text, data.reading.spaces, signs)
    if data.target not in frame.columns:
        raise ValueError(f"the test file {str(path)!r} must have the class in a column {data.target!r}")
    if choices.skip_unlabelled:
        frame, skipped = labelled(frame, data.target, path)
        data.notes.append(f"{path}: {_skipped(skipped)}.")
    features, labels = divide_columns(frame, data.target, path, in_shell, choices.sep)
    if data.target in choices.categorical:
        labels = as_labels(labels)
    # Numbers that are none of the classes where these are text, too.
    strange = bool(as_text) and spelling_of(labels.tolist()) is not None and not set(labels) & set(data.y)
    if (labels.dtype.kind in "biuf") != (data.y.dtype.kind in "biuf") or strange:
        raise ValueError(
            f"column {data.target!r} of the test file {str(path)!r} must hold classes like {data.y[0]!s}, got "
            f"{labels[0]!s}"
        )
    cells = file_kind(path, choices.sep) is not None
    X = ColumnFit(list(data.X.columns), data.reading, repr(str(path)), cells).fit(features)
    if data.columns.plain and X.isna().to_numpy().any():
        raise ValueError(lacking(X, str(path)))
    return X, labels


def check_other(X: "pd.DataFrame", test: "pd.DataFrame") -> list[str]:
    """Raise if the examples of a test file are the data, in any order; return what to say if many of them are."""
    known, new = hashed_rows(X, b""), hashed_rows(test, b"")
    found = None if known is None or new is None else overlap(known, new)
    if found is None or not found.is_large:
        return []
    if found.is_copy:
        raise ValueError(f"--test must hold examples other than the data, but {found.said} of the data")
    return [f"Of the test examples, {found.said} of the data: if they are the same examples, they are no test."]


def _sizes(X: "pd.DataFrame", classes: Any) -> str:
    shown = ", ".join(_short(str(name)) for name in list(classes)[:5]) + (", ..." if len(classes) > 5 else "")
    return f"{len(X)} examples, {X.shape[1]} features, {len(classes)} classes ({shown})"


_LEARNT = (
    "Learnt on the training part only: medians for missing numbers, one column per category (a missing value is one of "
    "them)."
)


def _kinds(columns: Columns) -> str:
    kinds = f"{_counted(len(columns.numeric), 'numeric column')}{_named(columns.numeric)}, "
    kinds += f"{len(columns.categorical)} categorical{_named(columns.categorical)}"
    if columns.plain:
        return f"{kinds}, no missing values."
    absent = _counted(sum(columns.missing.values()), "missing value")
    gaps = f"{absent} in {_counted(len(columns.missing), 'column')}{_named(tuple(columns.missing))}"
    return f"{kinds}; {gaps if columns.missing else 'no missing values'}."


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _named(columns: tuple[str, ...]) -> str:
    """Return some of the names in brackets: a column that should not be there is seen by its name."""
    return f" ({listed([_short(name) for name in columns], 5)})" if columns else ""


def _short(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:17]}..."
