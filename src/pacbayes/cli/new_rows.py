"""Load saved models, and read new rows and labels from files for them, block by block."""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.data.io import ReadOptions, TextFile, open_table
from pacbayes.data.rejections import format_names, format_option
from pacbayes.data.schema import (
    DATE,
    MISSING_WORDS,
    PLAIN_NUMBERS,
    Column,
    NumberFormat,
    Schema,
    UnseenCategoryWarning,
    expand_missing_markers,
    format_unseen_categories,
    parse_dates,
    parse_numbers,
    to_object_array,
)
from pacbayes.data.spelling import align_spellings, check_spellings, to_label_strings, unescape_cells

if TYPE_CHECKING:
    import pandas as pd

TARGET = "--target"


def load_model_file(path: Path, trust: bool, sha256: str | None = None) -> Any:
    """Load a model file; error messages name options instead of parameters."""
    from pacbayes.files import UntrustedTypesError, load

    if not path.exists():
        raise FileNotFoundError(f"no such model: {str(path)!r}; pacbayes certify --save MODEL writes one")
    try:
        return load(path, sha256=sha256, trusted=["sklearn."] if trust else [])
    except UntrustedTypesError as error:
        of_sklearn = all(name.startswith("sklearn.") for name in error.names)
        hint = "add --trust" if of_sklearn else "load it in Python, with trusted=[...] and their names"
        raise ValueError(
            f"{str(error).partition('. If you')[0]}; if you know where the file comes from, {hint}"
        ) from None


def read_options(
    sep: str | None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    missing: Sequence[str] | None = None,
) -> ReadOptions:
    """Convert the options of the command line to `ReadOptions`."""
    return ReadOptions(
        sep, encoding, NumberFormat.from_options(decimal, thousands), tuple(missing or ()), format_option
    )


class FeatureReader:
    """Convert columns of a file to the types of the training data: numbers to float64, strings unchanged.

    Parameters
    ----------
    schema : Schema
        Schema of the non-numeric columns; those of an array are named by position.
    names : list of str
        Names of all features, in order.
    where : str
        Name of the file in error messages.
    is_text : bool
        Whether it is a text file, in which strings may mark missing values.
    not_missing : sequence of str
        Strings that are values although they usually mark missing ones.

    Examples
    --------
    >>> import pandas as pd
    >>> reader = FeatureReader(Schema(), ["a"], "'new.csv'")
    >>> reader.read(pd.DataFrame({"b": ["x", "y"], "a": ["1", None]}))["a"].tolist()
    [1.0, nan]
    >>> reader.read(pd.DataFrame({"a": ["3", "x"]}))
    Traceback (most recent call last):
    ValueError: column 'a' of 'new.csv' must contain numbers, got 'x' in row 4
    """

    def __init__(
        self,
        schema: Schema,
        names: Sequence[str],
        where: str,
        is_text: bool = True,
        not_missing: Sequence[str] = (),
    ) -> None:
        self._schema, self._names, self._where, self._is_text = schema, list(names), where, is_text
        by_name = {column.name: column for column in schema.columns}
        self._columns = {name: by_name.get(name, by_name.get(str(i))) for i, name in enumerate(names)}
        self._not_missing = set(not_missing)
        #: Number of rows read so far.
        self.done = 0

    @property
    def strings(self) -> list[str]:
        """Names of the columns of strings."""
        return [name for name, column in self._columns.items() if column is not None and column.strings]

    @property
    def leading_blanks(self) -> bool:
        """Whether leading blanks are part of a string."""
        return any(column.leading_blanks for column in self._schema.columns)

    def check_columns(self, columns: Iterable[str]) -> None:
        """Raise for features that are not among the columns."""
        absent = [name for name in self._names if name not in set(columns)]
        if absent:
            raise ValueError(
                f"{self._where} does not have the columns {format_names(absent)}, with which the model was trained"
            )

    def read(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Convert the next block."""
        import pandas as pd

        self.check_columns(frame.columns)
        columns: dict[str, Any] = {}
        wrong: list[str] = []
        for name, column in self._columns.items():
            try:
                columns[name] = self._values(frame[name], column)
            except ValueError as error:
                wrong.append(f"column {name!r} of {self._where} must contain {error}")
        if wrong:
            more = f"; and {len(wrong) - 10} more columns" if len(wrong) > 10 else ""
            raise ValueError("; ".join(wrong[:10]) + more)
        self.done += len(frame)
        return pd.DataFrame(columns)

    def _values(self, series: "pd.Series[Any]", column: Column | None) -> Any:
        """Convert a column; raise with the description of valid values."""
        import pandas as pd

        if column is None or not column.strings:
            if column is not None and column.kind == DATE:
                return pd.to_datetime(pd.Series(parse_dates(series)), unit="D")
            if self._is_text and series.dtype.kind == "O":
                # The column also belongs to another option, so it was read verbatim.
                series = series.mask(series.isin([*MISSING_WORDS, *self._schema.missing]))
            numbers, bad = parse_numbers(series, self._schema.numbers)
            if bad.any() or np.isinf(numbers).any():
                place = int((bad | np.isinf(numbers)).argmax())
                finite = "" if bad.any() else "finite "
                raise ValueError(f"{finite}numbers, got {series.iloc[place]!r} in row {self.done + place + 1}")
            return numbers
        if series.dtype.kind in "iufb":
            return series.astype(object).where(series.notna(), np.nan).map(str, na_action="ignore")
        values = to_object_array(series)
        if not self._is_text:
            markers = {*self._schema.missing} - self._not_missing
            values[pd.Series(values, dtype=object).isin(markers).to_numpy()] = np.nan
            return values
        for text in dict.fromkeys(value for value in values if isinstance(value, str)):
            stripped = text if column.leading_blanks else text.lstrip(" ")
            missing = self._is_missing(column, stripped)
            if missing is None:
                place = int((values == text).argmax())
                raise ValueError(
                    f"strings that are known to be missing values or not, got {text!r} in row "
                    f"{self.done + place + 1}: the model was not fitted with a CSV or TSV file; give "
                    f"{format_option('missing', text)} if it means that the value is missing, or "
                    f"{format_option('not_missing', text)} if it is a text"
                )
            if missing or stripped != text:
                values[values == text] = np.nan if missing else stripped
        return values

    def _is_missing(self, column: Column, text: str) -> bool | None:
        """Whether a string of a text file marks a missing value; None if this cannot be decided."""
        if text in self._not_missing:
            return False
        if text in self._schema.missing:
            return True
        if text not in MISSING_WORDS:
            return False
        if text == "":
            return None if "" in column.words and column.has_missing else "" not in column.words
        return False if text in column.words else None


class NewRows:
    """Iterate over the rows of a file, block by block, in the format that the model requires.

    Values are converted in the same way in all blocks.

    Attributes
    ----------
    total, done : int
        Size of the file and of the part already read, in its own units.
    labels : DataFrame
        Further columns of the current block, as strings.
    notes : list of str
        Notes for the user; complete after the last block.
    """

    labels: "pd.DataFrame"

    def __init__(
        self,
        path: Path,
        model: Any,
        options: ReadOptions,
        not_missing: Sequence[str] = (),
        others: Sequence[str] = (),
    ) -> None:
        self._path, self._model, self._others = path, model, list(others)
        schema: Schema | None = model._fitted.plan.schema
        if schema is None:
            raise ValueError(
                "the model was not fitted with a table, so its rows cannot be read from a file; predict in Python"
            )
        for word in not_missing:
            if word in (*expand_missing_markers(options.missing), *(() if others else schema.missing)):
                given = word in options.missing
                why = "is given too" if given else "is how the model's own table was read"
                raise ValueError(
                    f"{format_option('not_missing', word)} cannot be: {format_option('missing', word)} {why}"
                )
        markers = (*schema.missing, *expand_missing_markers(options.missing))
        numbers = options.numbers or (None if schema.numbers == PLAIN_NUMBERS else schema.numbers)
        self._file = open_table(path, replace(options, missing=markers, numbers=numbers))
        is_text = isinstance(self._file, TextFile)
        read_numbers = self._file.format.numbers if self._file.format else numbers or PLAIN_NUMBERS
        own = replace(schema, missing=markers, numbers=read_numbers)
        known = getattr(model, "feature_names_in_", None)
        names = self._columns_by_position() if known is None else [str(name) for name in known]
        self._reader = FeatureReader(own, names, repr(str(path)), is_text, not_missing)
        # Before reading: errors about values of another table would be misleading.
        self._reader.check_columns(self._file.columns)
        for name in self._others:
            if name not in self._file.columns:
                raise ValueError(
                    f"{str(path)!r} has no column {name!r}; its columns are {format_names(self._file.columns)}"
                )
        self.total, self.done = self._file.total, 0
        unused = [name for name in self._file.columns if name not in (*names, *others)]
        self.notes = [f"Columns not used: {format_names(unused)}."] if unused else []

    def _columns_by_position(self) -> list[str]:
        """Feature columns of a file, for a model without feature names."""
        names = [name for name in self._file.columns if name not in self._others]
        expected = getattr(self._model, "n_features_in_", len(names))
        if len(names) != expected:
            raise ValueError(
                f"{str(self._path)!r} must have {expected} feature columns, as the training data had (without names), "
                f"got {len(names)}"
            )
        return names

    def __iter__(self) -> Iterator[Any]:
        """Yield the blocks in the format that the model requires; raise `ValueError` for invalid values."""
        import pandas as pd

        complete, schema = _without_imputation(self._model), self._model._fitted.plan.schema
        counts: dict[str, Counter[str]] = {}
        columns = [*self._reader.strings, *self._others]
        for frame in self._file.blocks(verbatim=columns, leading_blanks=self._reader.leading_blanks):
            first = self._reader.done
            X = self._reader.read(frame)
            if complete and X.isna().to_numpy().any():
                raise ValueError(missing_values_message(X, str(self._path), first))
            for name, values in schema.find_unseen(X).items():
                counts.setdefault(name, Counter()).update({str(value): n for value, n in values.items()})
            self.done, self.labels = self._file.done, frame[self._others]
            with warnings.catch_warnings():
                # Unseen categories are counted for the whole file instead.
                warnings.simplefilter("ignore", UnseenCategoryWarning)
                yield X if hasattr(self._model, "feature_names_in_") else X.to_numpy()
        totals = {name: pd.Series(count) for name, count in counts.items()}
        self.notes += format_unseen_categories(totals, self._reader.done)


def _without_imputation(model: Any) -> bool:
    """Whether the training data had no missing values, so that no preprocessor handles them."""
    from pacbayes.ensemble.members import CompositeMembers
    from pacbayes.ensemble.svm_members import KernelSVMs

    members = model.classifiers_.members
    members = members.parts[0] if isinstance(members, CompositeMembers) else members
    if isinstance(members, KernelSVMs):
        return members.preprocessor is None
    steps = getattr(members[0], "named_steps", {})
    # Pipelines of the user may impute missing values themselves.
    return bool(steps) and set(steps) <= {"scale", "model"}


def missing_values_message(X: "pd.DataFrame", path: str, first: int = 0) -> str:
    """Error message for missing values if the training data had none; `first` is the number of earlier rows."""
    gaps = [(str(name), first + int(X[name].isna().to_numpy().argmax())) for name in X if X[name].isna().any()]
    columns = [f"column {name!r} of {path!r} has no value in row {place + 1}" for name, place in gaps[:10]]
    more = f" and {len(gaps) - 10} more columns" if len(gaps) > 10 else ""
    return f"{', '.join(columns)}{more}, but the training data has no missing values, so the model does not handle them"


class CodedColumn:
    """Column of strings, stored as codes of the distinct strings to save memory; missing values have code -1."""

    def __init__(self) -> None:
        self._index: dict[Any, int] = {}
        self._parts: list[NDArray[np.int32]] = []
        self.size = 0

    def add(self, column: Any) -> None:
        """Add a block."""
        import pandas as pd

        codes, values = pd.factorize(np.asarray(column, dtype=object))
        table = [self._index.setdefault(value, len(self._index)) for value in values]
        self._parts.append(np.array([*table, -1], dtype=np.int32)[codes])
        self.size += codes.size

    @property
    def codes(self) -> NDArray[np.int32]:
        """Codes of all rows."""
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0]

    @property
    def values(self) -> NDArray[Any]:
        """Distinct strings, by code."""
        return to_label_strings(np.array([*self._index], dtype=object))


class LabelColumns:
    """Label columns of a file, as strings: true classes, predictions, groups."""

    def __init__(
        self,
        path: Path,
        columns_by_option: dict[str, str],
        options: ReadOptions,
        not_missing: Sequence[str],
        missing_hint: str,
    ) -> None:
        """Open the file; `columns_by_option` maps options to column names, `missing_hint` is advice for messages."""
        self._path, self._columns_by_option, self._missing_hint = path, columns_by_option, missing_hint
        self._file = open_table(path, options)
        words = MISSING_WORDS if isinstance(self._file, TextFile) else ()
        self._missing = {*words, *expand_missing_markers(options.missing)} - {*not_missing}
        self._coded = {name: CodedColumn() for name in columns_by_option.values()}
        for option, name in columns_by_option.items():
            if name not in self._file.columns:
                known = format_names(self._file.columns)
                raise ValueError(f"{option} must name a column of {str(path)!r}, got {name!r}; its columns are {known}")

    def read(self) -> "dict[str, Any]":
        """Read the columns of the whole file."""
        for frame in self._file.blocks(verbatim=list(self._columns_by_option.values())):
            self.add(frame)
        return self.columns()

    def add(self, frame: "pd.DataFrame") -> None:
        """Add a block."""
        for name, coded in self._coded.items():
            column = frame[name]
            lacking = (column.isna() | column.isin(list(self._missing))).to_numpy()
            if lacking.any():
                first = int(lacking.argmax())
                text, place = column.iloc[first], coded.size + first + 1
                word = isinstance(text, str) and text
                hint = f"; if {text!r} is a class give {format_option('not_missing', text)}" if word else ""
                raise ValueError(
                    f"column {name!r} of {str(self._path)!r} has no value in row {place}; {self._missing_hint}{hint}"
                )
            coded.add(column)

    def columns(self) -> dict[str, Any]:
        """Columns of all blocks; the apostrophes that `pacbayes predict` adds to predictions are removed."""
        values = {name: coded.values for name, coded in self._coded.items()}
        target = self._columns_by_option[TARGET]
        check_spellings(values[target], f"column {target!r} of {str(self._path)!r}")
        for option, name in self._columns_by_option.items():
            if option in ("--a", "--b"):
                values[name][:] = unescape_cells(values[name].tolist(), set(values[target]), option)
        return {name: values[name][coded.codes] for name, coded in self._coded.items()}


def match_spelling(y_true: Any, predictions: Any, who: str) -> Any:
    """Convert predictions to the spelling of the true classes; raise if no prediction is one of these classes."""
    import pandas as pd

    classes = sorted(pd.unique(y_true))
    y_pred = align_spellings(predictions, classes, who)
    if not set(pd.unique(y_pred)).intersection(classes):
        raise ValueError(
            f"no prediction of {who} is one of the true classes: it predicts "
            f"{format_names(sorted(pd.unique(predictions)), 5)}, and {TARGET} holds {format_names(classes, 5)}"
        )
    return y_pred


def iterate_labelled_blocks(
    loaded: Any, rows: NewRows, labels: LabelColumns, files: tuple[Path, Path], hint: str
) -> Iterator[Any]:
    """Yield the blocks of a file and collect its labels; raise if the model was fitted with these rows.

    `files` are the paths of model and data; `hint` is appended to the message.
    """
    from pacbayes.certificates.difference import warn_of_overlap
    from pacbayes.data.duplicates import OverlapCounter

    counter = OverlapCounter(loaded)
    for X in rows:
        labels.add(rows.labels)
        counter.add(X)
        yield X
    result, (model, data) = counter.largest(), (repr(str(path)) for path in files)
    if result is not None and result.is_copy:
        raise ValueError(f"{model} was fitted with these rows: {result.summary} behind it; {hint}")
    warn_of_overlap(result, data, model)


def count_unknown_predictions(predictions: Any, classes: Any, name: str) -> tuple[int, list[str]]:
    """Count the predictions that are not true classes; also return a note for the user.

    Examples
    --------
    >>> count_unknown_predictions(np.array(["a", "x", "x"], dtype=object), np.array(["a", "b"], dtype=object), "old")
    (2, ["2 of 3 predictions of 'old' are not classes of the target ('x'): they count as errors."])
    """
    import pandas as pd

    counts = pd.Series(predictions, dtype=object).value_counts()
    counts = counts.drop(counts.index.intersection([*classes]))
    total, shown = int(counts.sum()), format_names(sorted(counts.index), 5)
    line = f"{total} of {predictions.size} predictions of {name!r} are not classes of the target ({shown})"
    return total, [f"{line}: they count as errors."] if total else []
