"""Read the data of `pacbayes certify`: rows, labels, groups, slices and notes for the user."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.checks import check_choice, convert_long_labels, did_you_mean
from pacbayes.cli.new_rows import FeatureReader, missing_values_message
from pacbayes.data.bundled import DATASETS
from pacbayes.data.dataset import looks_like_regression
from pacbayes.data.duplicates import measure_overlap
from pacbayes.data.io import ReadOptions, TextFile, open_table
from pacbayes.data.leakage import detect_subjects_by_counts, reject_columns
from pacbayes.data.rejections import format_names, format_option
from pacbayes.data.rows import sorted_row_hashes
from pacbayes.data.schema import (
    BOOLEAN,
    CATEGORY,
    DATE,
    MISSING_WORDS,
    NUMBER,
    PLAIN_NUMBERS,
    TEXT,
    NumberFormat,
    Schema,
    expand_missing_markers,
    parse_dates,
)
from pacbayes.data.spelling import align_spellings, check_spellings, normalize_spelling
from pacbayes.data.targets import check_classes, labelled_mask, parse_labels, select_target, suggest_columns

if TYPE_CHECKING:
    import pandas as pd


#: Appended to the note on the target on the command line; reports omit it.
TARGET_HINT = " (--target names another)"
# Slices share the level of their metric equally: with very many, every bound is loose.
_MOST_SLICES = 100
# Rows that are in the order of so many dates by chance: never.
_DATES_IN_ORDER = 20


@dataclass(frozen=True)
class Choices:
    """Options for reading a file."""

    target: str | None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    sep: str | None = None
    encoding: str | None = None
    skip_unlabelled: bool = False
    group: str | None = None
    slice: str | None = None
    #: Format of numbers; None if it is detected.
    numbers: NumberFormat | None = None
    #: File with the validation rows, or column that marks them.
    validation: Path | None = None
    validation_column: str | None = None

    @property
    def strings(self) -> list[str]:
        """Names of the columns that are read as strings."""
        names = (self.target, self.group, self.slice, self.validation_column)
        return [*self.categorical, *(name for name in names if name is not None)]

    @property
    def options(self) -> ReadOptions:
        """Options for `open_table`."""
        return ReadOptions(self.sep, self.encoding, self.numbers, self.missing, format_option)

    @property
    def has_file_options(self) -> bool:
        """Whether any option is set that applies to files only."""
        return self != Choices(None)


@dataclass(frozen=True)
class Data:
    """Rows to certify with; columns are float64, dates or strings."""

    name: str
    X: "pd.DataFrame"
    y: NDArray[Any]
    class_names: list[str]
    schema: Schema
    target: str
    notes: list[str]
    path: Path | None = None
    #: Number of rows dropped because their class is missing.
    skipped: int = 0
    #: Name and values of the group column.
    group: str | None = None
    groups: NDArray[Any] | None = None
    #: Values of the slice column, which is also a feature unless it was dropped.
    slices: "pd.Series[Any] | None" = None
    #: Number of missing values by column.
    missing: dict[str, int] = field(default_factory=dict)
    #: Labels of the codes in each column of a table of predictions.
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)
    #: Columns treated as categorical regardless of their values.
    categorical: tuple[str, ...] = ()
    #: Notes on the columns, printed with --details.
    details: tuple[str, ...] = ()
    #: Mask of the validation rows of a user-defined split; None for a random one.
    validation: NDArray[Any] | None = None

    @property
    def is_complete_numeric(self) -> bool:
        """Whether all columns are numeric without missing values, so that no preprocessing is needed."""
        return not self.missing and not self.schema.other_columns.columns


def read_data(path: Path | None, dataset: str | None, choices: Choices) -> Data:
    """Read a file, or load a bundled data set."""
    if path is not None:
        if dataset is not None:
            raise ValueError(f"a file and --dataset are mutually exclusive, got {str(path)!r} and {dataset!r}")
        return _read_path(path, choices)
    if choices.has_file_options:
        raise ValueError(
            "--target, --drop, --keep, --categorical, --missing, --sep, --encoding, --decimal, --thousands, "
            "--skip-unlabelled, --slice, --group, --validation and --validation-column require a file: "
            "pacbayes certify data.csv ..."
        )
    return _read_named(check_choice("--dataset", "wdbc" if dataset is None else dataset, DATASETS))


def _read_named(name: str) -> Data:
    from pacbayes.data.load import load_dataset

    bunch = load_dataset(name, as_frame=True)
    facts = DATASETS[name]
    notes = [f"Data set {name}: {facts.title}; {_describe_size(bunch.data, bunch.target_names)}."]
    y = np.array(bunch.target_names, dtype=object)[bunch.target.to_numpy()]
    return Data(
        name, bunch.data, y, [str(one) for one in bunch.target_names], Schema.infer(bunch.data), "target", notes
    )


def _read_path(path: Path, choices: Choices) -> Data:
    file = open_table(path, choices.options)
    _check_names(file.columns, choices, path)
    apart = (*choices.drop, choices.group, choices.validation_column)
    target = select_target(
        [name for name in file.columns if name not in apart], choices.target, str(path), format_option
    )
    if target in choices.keep:
        raise ValueError(f"--keep must name feature columns, got the target {target!r}")
    frame, validation = _add_validation_rows(file.read([*choices.strings, target]), target, choices, path)
    kept = labelled_mask(frame, target, str(path)) if choices.skip_unlabelled else np.ones(len(frame), dtype=bool)
    frame, skipped = frame[kept].reset_index(drop=True), int((~kept).sum())
    slices = None if choices.slice is None else _check_slice(frame[choices.slice], path)
    dropped = frame[list(dict.fromkeys(choices.drop))]
    frame = frame.drop(columns=list(choices.drop))
    frame, groups = split_off_groups(frame, choices, path)
    y = _classes(parse_labels(frame.pop(target), str(path), format_option, target in choices.categorical), target)
    is_text = isinstance(file, TextFile)
    schema = Schema.infer(
        frame,
        categorical=choices.categorical,
        missing=(*(MISSING_WORDS if is_text else ()), *choices.missing),
        numbers=file.format.numbers if file.format else choices.numbers or PLAIN_NUMBERS,
    )
    reject_columns(frame, schema, (*choices.keep, *choices.categorical), format_option)
    if all(frame.iloc[:, i].nunique(dropna=False) < 2 for i in range(frame.shape[1])):
        raise ValueError("all features are constant: the classes cannot be distinguished")
    X = schema.to_numeric(frame)
    missing = {str(name): int(count) for name, count in X.isna().sum().items() if count}
    names = [str(one) for one in sorted(set(y.tolist()))]
    notes = [f"{path}: {_describe_size(X, names)}."]
    if file.format is not None and str(file.format) != _DEFAULT_FORMAT:
        notes.append(f"Read with {file.format}.")
    if choices.target is None:
        notes.append(f"The class is the last column, {target!r}{TARGET_HINT}.")
    if choices.skip_unlabelled:
        notes.append(skipped_rows_note(skipped))
    notes.append(_describe_columns(schema, missing, frame))
    if validation is None and groups is None and (date := _in_order_of(schema, frame)) is not None:
        notes.append(
            f"The rows are in the order of {date!r}, and the validation rows are drawn from all of them: if the model "
            "will predict later rows, mark late rows by --validation-column."
        )
    if schema.kinds(TEXT) == tuple(schema.names):
        notes.append(
            "All features are text, of which few components are used: in Python, CertifiedClassifier with a pipeline "
            "of TfidfVectorizer and LogisticRegression uses all words."
        )
    if groups is None:
        notes += _dropped_subjects(dropped)
    if groups is not None:
        notes.append(f"Column {choices.group!r} has {len(set(groups.tolist()))} groups and is not used as a feature.")
    if validation is not None:
        validation = validation[kept]
        notes.append(
            f"{int(validation.sum())} validation rows, from {_validation_source(choices)}; the others are for training."
        )
    return Data(
        str(path),
        X,
        y,
        names,
        schema,
        target,
        notes,
        path,
        skipped,
        choices.group,
        groups,
        slices,
        missing,
        categorical=tuple(name for name in choices.categorical if name != target),
        details=_preprocessing_notes(schema, missing),
        validation=validation,
    )


def _classes(labels: NDArray[Any], target: str) -> NDArray[Any]:
    """Validate labels; raise if they look like a regression target."""
    check_classes(labels, target)
    n_classes = np.unique(labels).size
    if looks_like_regression(labels, n_classes):
        raise ValueError(
            f"column {target!r} holds {n_classes} different numbers in {labels.size} rows and looks like a regression "
            f"target; if these numbers are classes give {format_option('categorical', target)}, if another column "
            "holds the classes give --target COLUMN"
        )
    return labels


def _validation_source(choices: Choices) -> str:
    return f"{str(choices.validation)!r}" if choices.validation else f"column {choices.validation_column!r}"


# Values of --validation-column, and whether they mark a validation row.
_SIDES = {"true": True, "yes": True, "1": True, "validation": True, "valid": True, "val": True, "test": True}
_SIDES |= {"false": False, "no": False, "0": False, "training": False, "train": False}


def _add_validation_rows(
    frame: "pd.DataFrame", target: str, choices: Choices, path: Path
) -> "tuple[pd.DataFrame, NDArray[Any] | None]":
    """Append the rows of the validation file, if any; return all rows and the mask of the validation rows."""
    import pandas as pd

    if choices.validation is not None:
        if choices.validation_column is not None:
            raise ValueError("--validation and --validation-column are mutually exclusive")
        other = open_table(choices.validation, choices.options).read([*choices.strings, target])
        lacks = [name for name in frame.columns if name not in other.columns and name not in choices.drop]
        if lacks:
            raise ValueError(
                f"--validation: {str(choices.validation)!r} must have the columns of {str(path)!r}, but has no "
                f"{format_names(lacks)}{did_you_mean(lacks, other.columns)}"
            )
        both = pd.concat([frame, other.reindex(columns=frame.columns)], ignore_index=True)
        return both, np.arange(len(both)) >= len(frame)
    if choices.validation_column is None:
        return frame, None
    column = frame[choices.validation_column]
    sides = column.map(lambda value: _SIDES.get(normalize_spelling(value)))
    if sides.isna().any():
        place = int(sides.isna().to_numpy().argmax())
        raise ValueError(
            f"--validation-column: column {choices.validation_column!r} must contain true and false, 1 and 0, yes and "
            f"no, or validation and train, got {column.iloc[place]!r} in row {place + 1}"
        )
    return frame.drop(columns=choices.validation_column), sides.to_numpy(dtype=bool)


def split_off_groups(frame: "pd.DataFrame", choices: Choices, path: Path) -> "tuple[pd.DataFrame, NDArray[Any] | None]":
    """Split off the group column; return the other columns and the groups."""
    name = choices.group
    if name is None:
        return frame, None
    column = frame[name]
    if column.isna().any():
        raise ValueError(
            f"column {name!r} of {str(path)!r} has no value in row {int(column.isna().to_numpy().argmax()) + 1}: "
            "every row must have a group"
        )
    check_spellings(column.unique(), f"--group: column {name!r}", "group")
    return frame.drop(columns=name), column.to_numpy()


def _check_slice(column: "pd.Series[Any]", path: Path) -> "pd.Series[Any]":
    """Convert the slice column to strings; raise if it has missing values or too many different ones."""
    if column.isna().any():
        place = int(column.isna().to_numpy().argmax()) + 1
        raise ValueError(f"--slice: column {column.name!r} of {str(path)!r} has no value in row {place}")
    check_spellings(column.unique(), f"--slice: column {column.name!r}", "slice")
    number = column.nunique()
    if number > _MOST_SLICES:
        raise ValueError(
            f"--slice must name a column with at most {_MOST_SLICES} values, got {column.name!r} with {number}"
        )
    return column.astype(str)


def _check_names(columns: list[str], choices: Choices, path: Path) -> None:
    """Raise for unknown column names, and for columns with conflicting options."""
    wrong = []
    for option, names in (("drop", choices.drop), ("keep", choices.keep), ("categorical", choices.categorical)):
        unknown = [name for name in dict.fromkeys(names) if name not in columns]
        if unknown:
            wrong.append(f"--{option} must name feature columns, got {format_names(unknown)}")
    if choices.group is not None and choices.group not in columns:
        wrong.append(f"--group must name a column of {str(path)!r}, got {choices.group!r}")
    if choices.validation_column is not None and choices.validation_column not in columns:
        wrong.append(f"--validation-column must name a column of {str(path)!r}, got {choices.validation_column!r}")
    if choices.slice is not None and choices.slice not in columns:
        wrong.append(f"--slice must name a column of {str(path)!r}, got {choices.slice!r}")
    if choices.target is not None and choices.target not in columns:
        wrong.append(f"target must be a column of {str(path)!r}, got {choices.target!r}")
    if wrong:
        one_each = (choices.group, choices.validation_column, choices.slice, choices.target)
        requested = [
            *choices.drop,
            *choices.keep,
            *choices.categorical,
            *(name for name in one_each if name is not None),
        ]
        unknown = [name for name in requested if name not in columns]
        raise ValueError(f"{'; '.join(wrong)}; {suggest_columns(columns, unknown)}")
    if choices.target is not None and choices.target in choices.drop:
        raise ValueError(f"--drop must not name the target, got {choices.target!r}")
    others = (choices.target, choices.group, choices.slice, *choices.drop, *choices.keep, *choices.categorical)
    if choices.validation_column is not None and choices.validation_column in others:
        raise ValueError(
            f"--validation-column must not name a column of another option, got {choices.validation_column!r}"
        )
    if choices.group is not None and choices.group in (
        choices.target,
        *choices.drop,
        *choices.keep,
        *choices.categorical,
    ):
        raise ValueError(f"--group must not name the target or a column of another option, got {choices.group!r}")
    both = [name for name in choices.drop if name in (*choices.keep, *choices.categorical)]
    if both:
        raise ValueError(f"--drop must not name columns of --keep or --categorical, got {format_names(both)}")


def skipped_rows_note(skipped: int) -> str:
    """Note on the rows dropped by --skip-unlabelled."""
    return f"{_format_skipped(skipped)}; the certificate is for rows with a class."


def _format_skipped(number: int) -> str:
    return f"{number} {'row' if number == 1 else 'rows'} without a class dropped"


def read_test(path: Path, data: Data, choices: Choices) -> "tuple[pd.DataFrame, NDArray[Any]]":
    """Read a test file in the format of the training data; return rows and labels."""
    numbers = choices.numbers or (None if data.schema.numbers == PLAIN_NUMBERS else data.schema.numbers)
    markers = (*data.schema.missing, *expand_missing_markers(choices.missing))
    file = open_table(path, ReadOptions(choices.sep, choices.encoding, numbers, markers, format_option))
    if data.target not in file.columns:
        raise ValueError(f"the test file {str(path)!r} must have the class in a column {data.target!r}")
    reader = FeatureReader(data.schema.other_columns, list(data.X.columns), repr(str(path)), isinstance(file, TextFile))
    frame = file.read([data.target], reader.strings, reader.leading_blanks)
    if choices.skip_unlabelled:
        kept = labelled_mask(frame, data.target, str(path))
        frame = frame[kept].reset_index(drop=True)
        data.notes.append(f"{path}: {_format_skipped(int((~kept).sum()))}.")
    texts = parse_labels(frame[data.target], str(path), format_option, as_text=True).tolist()
    known = {normalize_spelling(label): label for label in set(data.y.tolist())}
    if not any(normalize_spelling(text) in known for text in set(texts)):
        raise ValueError(
            f"column {data.target!r} of the test file {str(path)!r} must contain classes such as {data.y[0]!s}, got "
            f"{texts[0]!s}"
        )
    labels = np.asarray(convert_long_labels(align_spellings(texts, known.values(), str(path)).tolist()))
    X = reader.read(frame)
    if data.is_complete_numeric and X.isna().to_numpy().any():
        raise ValueError(missing_values_message(X, str(path)))
    return X, labels


def check_test_overlap(X: "pd.DataFrame", test: "pd.DataFrame") -> list[str]:
    """Raise if the test rows are the data itself; return a note if many of them equal a row of the data."""
    known, new = sorted_row_hashes(X, b""), sorted_row_hashes(test, b"")
    found = None if known is None or new is None else measure_overlap(known, new)
    if found is None or not found.is_large:
        return []
    if found.is_copy:
        raise ValueError(f"--test must contain new rows, but {found.summary} of the data")
    return [f"Of the test examples, {found.summary} of the data: if they are the same examples, they are no test."]


def _describe_size(X: "pd.DataFrame", classes: Any) -> str:
    shown = ", ".join(_truncate(str(name)) for name in list(classes)[:5]) + (", ..." if len(classes) > 5 else "")
    return f"{len(X)} rows, {X.shape[1]} features, {len(classes)} classes ({shown})"


# There is no note on the format if it is this one.
_DEFAULT_FORMAT = "separator ',', encoding utf-8"
_ENCODINGS = {
    DATE: "days, and year, month, day, weekday and hour where these vary",
    CATEGORY: "one column for each of up to 30 categories, means of the classes for more",
    TEXT: "30 components of hashed n-grams",
}


def _preprocessing_notes(schema: Schema, missing: dict[str, int]) -> tuple[str, ...]:
    """Note on the preprocessing that is fitted on the training rows."""
    made = [f"{format_names(schema.kinds(kind), 5)}: {what}" for kind, what in _ENCODINGS.items() if schema.kinds(kind)]
    parts = ["medians for missing numbers", *made]
    return (f"Fitted on the training rows only: {'; '.join(parts)}.",) if made or missing else ()


def _describe_columns(schema: Schema, missing: dict[str, int], frame: "pd.DataFrame") -> str:
    numeric = schema.kinds(NUMBER, BOOLEAN)
    kinds = f"{_pluralise(len(numeric), 'numeric column')}{_names_in_brackets(numeric)}, "
    kinds += ", ".join(
        f"{len(names)} {word}{_names_in_brackets(names)}"
        for kind, word in ((CATEGORY, "categorical"), (DATE, "of dates"), (TEXT, "of text"))
        if (names := schema.kinds(kind)) or kind == CATEGORY
    )
    mixed = tuple(column.name for column in schema.columns if column.kind == NUMBER and column.strings)
    strings = f"; numbers with strings, which count as missing, in{_names_in_brackets(mixed)}" if mixed else ""
    if units := schema.numbers_with_units(frame):
        example = next(iter(units.values()))
        strings += f"; strings such as {example!r}, which are numbers only without the sign, in"
        strings += _names_in_brackets(tuple(units))
    if ambiguous := schema.ambiguous_dates(frame):
        strings += "; dates read month first, which could be day first (then write 2024-12-31), in"
        strings += _names_in_brackets(ambiguous)
    if not missing:
        return f"{kinds}, no missing values{strings}."
    absent = _pluralise(sum(missing.values()), "missing value")
    return f"{kinds}; {absent} in {_pluralise(len(missing), 'column')}{_names_in_brackets(tuple(missing))}{strings}."


def _dropped_subjects(dropped: "pd.DataFrame") -> list[str]:
    """Remarks on dropped columns that identify subjects: the rows are as dependent without them."""
    import pandas as pd

    reasons = {
        name: detect_subjects_by_counts(np.bincount(codes[codes >= 0]), codes.size, name)
        for name, codes in ((name, pd.factorize(dropped[name])[0]) for name in dropped)
    }
    return [
        f"Column {name!r} was dropped, but looks like a person or thing with several rows: {reason}. If it is, the "
        f"rows are not independent: use {format_option('group', str(name))} instead of --drop."
        for name, reason in reasons.items()
        if reason
    ]


def _in_order_of(schema: Schema, frame: "pd.DataFrame") -> str | None:
    """Name of the first column of dates by which the rows are sorted."""
    for column in schema.columns:
        if column.kind == DATE:
            days = parse_dates(frame[column.name], column.date_format)
            steps = np.diff(days[~np.isnan(days)])
            if np.count_nonzero(steps) >= _DATES_IN_ORDER and ((steps >= 0).all() or (steps <= 0).all()):
                return column.name
    return None


def _pluralise(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _names_in_brackets(columns: tuple[str, ...]) -> str:
    """Format up to five column names in brackets, so that unwanted columns are noticed."""
    return f" ({format_names([_truncate(name) for name in columns], 5)})" if columns else ""


def _truncate(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:17]}..."
