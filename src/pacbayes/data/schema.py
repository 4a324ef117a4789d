"""Schema of a table: kind and format of each column, inferred on training rows and applied to later tables.

A CSV file does not determine whether ``01`` is a number, or whether ``NA`` is a string or a missing value, and a data
frame may hold the same values with other types.  If later tables were parsed differently from the training rows, the
certificate would not hold for them.  Therefore a model stores the schema of its training rows.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from pandas.api import types

from pacbayes._utils.arrays import FloatArray
from pacbayes.data.rejections import format_names
from pacbayes.data.spelling import normalize_spellings

NUMBER, BOOLEAN, DATE, CATEGORY, TEXT = "number", "boolean", "date", "category", "text"
#: Markers of missing values in text files: the defaults of pandas, fixed across versions.
MISSING_WORDS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
# Minimum fraction of strings that must be numbers, or dates, in a column of this kind; the others become missing.
_MIN_PARSED_SHARE = 0.9
# Number of values from which most of them must be parseable.
_MIN_CHECKED_VALUES = 10
# Strings are free text if there are more than this number of distinct ones, and they are mostly unique or consist of
# this number of words on average.
_MAX_CATEGORY_LEVELS, _MIN_TEXT_WORDS = 30, 3.0
# Maximum number of levels that are stored for a column.
_MAX_STORED_LEVELS = 20_000
_DECIMAL_SIGNS, _THOUSANDS_SEPARATORS = (".", ","), (",", ".", "'", " ")
# Whitespace accepted as thousands separator.
_BLANKS = " \u00a0\u202f"
_TIME_FORMATS = ("", " %H:%M", " %H:%M:%S")
# Maximum number of unseen categories that a warning names.
_MAX_NAMED = 5
#: Date formats, in order of precedence; month first precedes day first.
DATE_FORMATS = (
    "ISO8601",
    *(f"{day}{time}" for day in ("%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y") for time in _TIME_FORMATS),
    *("%m-%d-%Y", "%d-%m-%Y", "%m/%d/%y", "%d/%m/%y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y"),
    *("%B %d, %Y", "%b-%Y", "%B %Y", "%H:%M", "%H:%M:%S"),
)
# Signs beside numbers, which make them strings.
_UNITS = "%‰€$£¥"
_ISO = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:Z|[+-]\d{2}:?\d{2})?)?")
_OTHER_ORDER = str.maketrans("md", "dm")
_DAY = 86_400.0


@dataclass(frozen=True)
class NumberFormat:
    """Decimal sign and thousands separator of numbers in a file.

    Examples
    --------
    >>> NumberFormat(".", ",").parse_number("3,682.50"), NumberFormat(",", ".").parse_number("1.000")
    (3682.5, 1000.0)
    >>> NumberFormat(".", ",").parse_number("3,68"), NumberFormat(",").parse_number("3.5")
    (None, None)
    """

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in _DECIMAL_SIGNS:
            raise ValueError(f"decimal must be one of {' '.join(_DECIMAL_SIGNS)}, got {self.decimal!r}")
        if self.thousands is not None and self.thousands not in _THOUSANDS_SEPARATORS:
            raise ValueError(
                f"thousands must be a blank or one of {' '.join(_THOUSANDS_SEPARATORS[:3])}, got {self.thousands!r}"
            )
        if self.thousands == self.decimal:
            raise ValueError(f"decimal and thousands must differ, got {self.decimal!r} for both")

    @classmethod
    def from_options(cls, decimal: str | None, thousands: str | None) -> "NumberFormat | None":
        """Create a format from two options; None if neither is set."""
        return None if decimal is None and thousands is None else cls(decimal or ".", thousands)

    def parse_number(self, text: str) -> float | None:
        """Parse a number; None if the string has another format, such as groups of two digits."""
        text = text.strip()
        if not _number_pattern(self.decimal, self.thousands).fullmatch(text):
            return None
        for sign in _BLANKS if self.thousands == " " else self.thousands or "":
            text = text.replace(sign, "")
        return float(text.replace(self.decimal, "."))

    def parses_all(self, texts: Iterable[str]) -> bool:
        """Whether all strings are numbers in this format."""
        return all(self.parse_number(text) is not None for text in texts)


@cache
def _number_pattern(decimal: str, thousands: str | None) -> re.Pattern[str]:
    between = f"[{_BLANKS}]" if thousands == " " else re.escape(thousands or "")
    groups = "" if thousands is None else rf"|\d{{1,3}}(?:{between}\d{{3}})+"
    point = re.escape(decimal)
    return re.compile(rf"[+-]?(?:(?:\d+{groups})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?", re.ASCII)


#: Format of numbers in programming languages.
PLAIN_NUMBERS = NumberFormat()
#: Other formats, the simplest first.
OTHER_FORMATS = (
    *(NumberFormat(".", ","), NumberFormat(","), NumberFormat(",", "."), NumberFormat(".", "'")),
    *(NumberFormat(".", " "), NumberFormat(",", " ")),
)


def detect_number_formats(texts: Collection[str]) -> list[NumberFormat]:
    """Detect the formats in which all strings are numbers, excluding formats with an unused separator.

    Examples
    --------
    >>> detect_number_formats(["3,682.50", "12"])
    [NumberFormat(decimal='.', thousands=',')]
    >>> len(detect_number_formats(["3,682"])), detect_number_formats(["a", "3,5"]), detect_number_formats(["3.5"])
    (2, [], [NumberFormat(decimal='.', thousands=None)])
    """
    if not texts:
        return []
    if PLAIN_NUMBERS.parses_all(texts):
        return [PLAIN_NUMBERS]
    chosen: list[NumberFormat] = []
    for numbers in OTHER_FORMATS:
        simpler = any(one.decimal == numbers.decimal and one.thousands in (None, numbers.thousands) for one in chosen)
        if not simpler and numbers.parses_all(texts):
            chosen.append(numbers)
    return chosen


@dataclass(frozen=True)
class Column:
    """Kind of a column and format of its values."""

    name: str
    #: number, boolean, date, category or text
    kind: str
    #: Whether the values were strings.
    strings: bool = False
    #: Markers in `MISSING_WORDS` that are strings in this column, such as "NA" for Namibia.
    words: tuple[str, ...] = ()
    #: Whether any value was missing.
    has_missing: bool = False
    #: Date format of strings.
    date_format: str = ""
    #: Whether any string starts with a blank; otherwise leading blanks are dropped when a file is read.
    leading_blanks: bool = False
    #: Normalised spellings of the categories; empty if there are too many to store.
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """Kinds of the columns of a table, missing-value markers and number format.

    Parameters
    ----------
    columns : tuple of Column
    missing : tuple of str
        Strings that are missing values in every column.
    numbers : NumberFormat
        Format of numbers that are strings.

    Examples
    --------
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 52], "land": ["NA", "DE"], "day": ["2024-05-31", None]}))
    >>> [column.kind for column in schema.columns]
    ['number', 'category', 'date']
    >>> schema.parse(pd.DataFrame({"day": [None], "age": ["47.0"], "land": [" de"]})).to_numpy().tolist()
    [[47.0, 'de', nan]]
    """

    columns: tuple[Column, ...] = ()
    missing: tuple[str, ...] = ()
    numbers: NumberFormat = field(default=PLAIN_NUMBERS)

    def __deepcopy__(self, memo: Any) -> Self:
        # pandas copies `DataFrame.attrs` in every operation.
        return self

    @classmethod
    def infer(
        cls,
        table: Any,
        *,
        categorical: Collection[Any] = (),
        missing: Iterable[str] = (),
        numbers: NumberFormat = PLAIN_NUMBERS,
    ) -> Self:
        """Infer the schema of a table; columns in `categorical` are always categories."""
        frame, is_forced = to_data_frame(table), set(categorical)
        incomplete = frame.isna().any().tolist()
        columns = [
            Column(name, NUMBER, has_missing=incomplete[i])
            # Fast path, because numeric tables may have thousands of columns.
            if isinstance(dtype, np.dtype) and dtype.kind in "iuf" and name not in is_forced
            else _infer_column(frame.iloc[:, i], name, name in is_forced, numbers)
            for i, (name, dtype) in enumerate(zip(_column_names(frame), frame.dtypes, strict=True))
        ]
        return cls(tuple(columns), expand_missing_markers(missing), numbers)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    def kinds(self, *kinds: str) -> tuple[str, ...]:
        """Return the names of the columns of some kinds."""
        return tuple(column.name for column in self.columns if column.kind in kinds)

    def parse(self, table: Any) -> pd.DataFrame:
        """Convert a table to numbers (days since 1970 for dates), normalised categories, and text.

        Values that cannot be parsed become missing.  Raise if such a value is in a column whose training rows had no
        strings, or if most values of a column cannot be parsed.
        """
        frame = self.select(to_data_frame(table))
        if _is_numeric(frame) and not self.kinds(CATEGORY, TEXT, DATE):
            return _to_float_frame(frame)
        return pd.DataFrame(
            {column.name: self._parse_column(frame.iloc[:, i], column) for i, column in enumerate(self.columns)},
            index=frame.index,
        )

    def select(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Select the columns of the schema, by name if the frame has column names, otherwise by position."""
        by_position = frame.columns.equals(pd.RangeIndex(len(self.columns)))
        if by_position or _column_names(frame) == self.names:
            return frame
        places = {name: i for i, name in enumerate(_column_names(frame))}
        missing_columns = [name for name in self.names if name not in places]
        if missing_columns:
            raise ValueError(
                f"the table lacks the columns {', '.join(map(repr, missing_columns[:10]))} of the training rows"
            )
        return frame.iloc[:, [places[name] for name in self.names]]

    def _parse_column(self, series: "pd.Series[Any]", column: Column) -> NDArray[Any]:
        if column.kind == CATEGORY:
            return normalize_spellings(to_object_array(series))
        if column.kind == TEXT:
            values = to_object_array(series)
            return np.array([v if isinstance(v, float) else " ".join(str(v).split()) for v in values], dtype=object)
        if column.kind == DATE:
            return _check_mostly_readable(series, parse_dates(series, column.date_format), column)
        numbers, bad = parse_numbers(series, self.numbers)
        if bad.any() and not column.strings:
            value = to_object_array(series)[int(bad.argmax())]
            raise ValueError(f"column {column.name!r} must hold numbers, got {value!r} in row {int(bad.argmax())}")
        return _check_mostly_readable(series, numbers, column)

    def to_numeric(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Copy a table, with numeric and boolean columns converted to float64 and other columns unchanged."""
        if _is_numeric(frame) and not any(column.strings for column in self.columns):
            return _to_float_frame(frame)
        made = {
            column.name: parse_numbers(series)[0] if column.kind in (NUMBER, BOOLEAN) and not column.strings else series
            for column, series in zip(self.columns, (frame.iloc[:, i] for i in range(frame.shape[1])), strict=True)
        }
        return pd.DataFrame(made, index=frame.index)

    @property
    def other_columns(self) -> "Schema":
        """Schema of the columns that are not numeric or hold strings, which later files need for parsing."""
        other = (c for c in self.columns if c.strings or c.kind not in (NUMBER, BOOLEAN))
        return replace(self, columns=tuple(other))

    def ambiguous_dates(self, table: Any) -> tuple[str, ...]:
        """Names of the columns of dates that were read month first, but could be read day first.

        Examples
        --------
        >>> days = pd.DataFrame({"a": ["03/04/2021", "05/06/2021"], "b": ["03/04/2021", "05/16/2021"]})
        >>> Schema.infer(days).ambiguous_dates(days)
        ('a',)
        """
        frame, names = self.select(to_data_frame(table)), []
        for i, column in enumerate(self.columns):
            swapped = column.date_format.translate(_OTHER_ORDER)
            if swapped != column.date_format and swapped in DATE_FORMATS:
                read, other = (
                    ~np.isnan(parse_dates(frame.iloc[:, i], pattern)) for pattern in (column.date_format, swapped)
                )
                names += [column.name] if other.sum() >= _MIN_PARSED_SHARE * read.sum() else []
        return tuple(names)

    def numbers_with_units(self, table: Any) -> dict[str, str]:
        """Columns of strings that would be numbers without a percent or currency sign, each with one of its strings.

        Examples
        --------
        >>> prices = pd.DataFrame({"share": ["5%", "0.5 %"], "price": ["0,5 €", "€ 3,25"], "word": ["a", "5%"]})
        >>> Schema.infer(prices).numbers_with_units(prices)
        {'share': '5%', 'price': '0,5 €'}
        """
        frame, examples = self.select(to_data_frame(table)), {}
        for i, column in enumerate(self.columns):
            if column.strings and column.kind in (CATEGORY, TEXT):
                texts = [str(value) for value in frame.iloc[:, i].dropna().unique()]
                signed = all(set(text) & set(_UNITS) for text in texts)
                if signed and detect_number_formats({text.strip(_UNITS + _BLANKS) for text in texts}):
                    examples[column.name] = texts[0]
        return examples

    def find_unseen(self, table: Any) -> dict[str, "pd.Series[Any]"]:
        """Count the values of each categorical column that did not occur in the training rows."""
        known = [column for column in self.columns if column.levels]
        if not known or not isinstance(table, pd.DataFrame | np.ndarray | list | tuple):
            return {}
        frame, new = to_data_frame(table), {}
        places = {name: i for i, name in enumerate(_column_names(frame))}
        for column in known:
            if column.name not in places:  # the table has no column names
                continue
            values = frame.iloc[:, places[column.name]]
            present = pd.Series(to_object_array(values), dtype=object).dropna()
            strange = present[~pd.Series(normalize_spellings(present.to_numpy())).isin(column.levels).to_numpy()]
            counts = strange.value_counts(sort=False)
            if len(present) < len(frame) and not column.has_missing:
                counts["missing"] = len(frame) - len(present)
            if len(counts):
                new[column.name] = counts
        return new


class UnseenCategoryWarning(UserWarning):
    """New rows hold categories that no training row had."""


def format_unseen_categories(counts: "dict[str, pd.Series[Any]]", rows: int) -> list[str]:
    """Format a warning for each column with unseen categories.

    Examples
    --------
    >>> format_unseen_categories({"colour": pd.Series({"pink": 2, "grey": 1})}, 10)
    ["Column 'colour': 3 of 10 examples hold a category that was not in the training data ('pink', 'grey')."]
    """
    return [
        f"Column {name!r}: {int(values.sum())} of {rows} examples hold a category that was not in the training data "
        f"({format_names([str(value)[:40] for value in values.index], _MAX_NAMED)})."
        for name, values in counts.items()
    ]


# -- kinds -------------------------------------------------------------------------------------------------------------


def _infer_column(series: "pd.Series[Any]", name: str, is_forced: bool, numbers: NumberFormat) -> Column:
    """Infer the kind and format of a column."""
    is_category = isinstance(series.dtype, pd.CategoricalDtype)
    has_missing = bool(series.isna().any())
    if not is_forced and not is_category:
        if types.is_bool_dtype(series):
            return Column(name, BOOLEAN, has_missing=has_missing)
        if types.is_numeric_dtype(series) or types.is_timedelta64_dtype(series):
            return Column(name, NUMBER, has_missing=has_missing)
        if types.is_datetime64_any_dtype(series):
            return Column(name, DATE, has_missing=has_missing)
    present = to_object_array(series)
    present = present[~pd.isna(present)]
    distinct, counts = _count_values(present)
    strings = any(isinstance(value, str) for value in distinct)
    common = Column(
        name,
        CATEGORY,
        strings or is_forced or is_category,
        tuple(sorted(set(map(str, distinct)).intersection(MISSING_WORDS))) if strings else (),
        has_missing,
        leading_blanks=any(isinstance(value, str) and value.startswith(" ") for value in distinct),
    )
    if not is_forced and not is_category:
        kind = _infer_kind(distinct, counts, numbers)
        if kind is not None:
            return replace(common, kind=kind[0], date_format=kind[1])
    for value in distinct:
        if not isinstance(value, str | Real | Decimal | date | bool | np.bool_):
            kind_name = value.kind if isinstance(value, UnsupportedValue) else type(value).__name__
            raise ValueError(f"column {name!r} must hold numbers, dates or strings, got {kind_name}")
    levels = sorted(set(normalize_spellings(np.array(distinct, dtype=object)).tolist())) if distinct else []
    if not is_forced and not is_category and strings and _is_text(levels, present.size):
        return replace(common, kind=TEXT)
    return replace(common, levels=tuple(levels) if len(levels) <= _MAX_STORED_LEVELS else ())


def _count_values(values: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Find the distinct values and count their rows."""
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:  # lists and dicts are not hashable
        return [values[0]], np.array([values.size])
    return list(distinct), np.bincount(codes, minlength=len(distinct))


def _infer_kind(distinct: list[Any], counts: NDArray[np.int64], numbers: NumberFormat) -> tuple[str, str] | None:
    """Infer kind and date format of a column of objects; None for categories and text."""
    total = int(counts.sum())
    if total == 0:
        return NUMBER, ""
    texts = [str(value) for value in distinct]
    if all(text.strip().casefold() in ("true", "false") for text in texts):
        return BOOLEAN, ""
    parsed = [value if not isinstance(value, str) else numbers.parse_number(value) for value in distinct]
    are_numbers = [isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in parsed]
    if counts[are_numbers].sum() >= _MIN_PARSED_SHARE * total:
        return NUMBER, ""
    if all(isinstance(value, timedelta) for value in distinct):
        return NUMBER, ""
    if all(isinstance(value, date) for value in distinct):
        return DATE, ""
    if not all(isinstance(value, str) for value in distinct):
        return None
    for pattern in DATE_FORMATS:
        few = counts[:_MAX_CATEGORY_LEVELS].sum()
        if (
            counts[:_MAX_CATEGORY_LEVELS][~np.isnan(_parse_date_strings(texts[:_MAX_CATEGORY_LEVELS], pattern))].sum()
            < _MIN_PARSED_SHARE * few
        ):
            continue
        if counts[~np.isnan(_parse_date_strings(texts, pattern))].sum() >= _MIN_PARSED_SHARE * total:
            return DATE, pattern
    return None


def _is_text(levels: list[str], rows: int) -> bool:
    many = len(levels) > _MAX_CATEGORY_LEVELS
    return many and (
        2 * len(levels) > rows or float(np.mean([len(level.split()) for level in levels])) >= _MIN_TEXT_WORDS
    )


# -- values ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnsupportedValue:
    """Placeholder for values of a type that is not read from files, such as lists."""

    kind: str


def to_data_frame(table: Any) -> pd.DataFrame:
    """Convert rows to a pandas data frame; raise if they are not a table.

    Examples
    --------
    >>> to_data_frame([[1.0, "a"], [2.0, "b"]]).shape
    (2, 2)
    """
    if isinstance(table, pd.DataFrame):
        return table
    if sp.issparse(table):
        raise ValueError("sparse rows have no columns of several kinds")
    if hasattr(table, "to_pandas"):  # polars and pyarrow
        frame: pd.DataFrame = table.to_pandas()
        return frame
    values = table if isinstance(table, np.ndarray) and table.dtype.kind in "biuf" else np.asarray(table, dtype=object)
    if values.ndim != 2:
        raise ValueError(f"rows must be a table of two dimensions, got shape {values.shape}")
    return pd.DataFrame(values)


def _is_numeric(frame: pd.DataFrame) -> bool:
    """Whether all columns have numeric NumPy types."""
    return all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes)


def _to_float_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Copy a numeric table to a single block, because indexing rows of thousands of blocks is slow."""
    return pd.DataFrame(frame.to_numpy(dtype=np.float64), index=frame.index, columns=frame.columns)


def _column_names(frame: pd.DataFrame) -> list[str]:
    return [str(name) for name in frame.columns]


def to_object_array(series: "pd.Series[Any]") -> NDArray[Any]:
    """Convert a column to an array of objects, with NaN for missing values."""
    values = series.to_numpy(dtype=object).copy()
    values[series.isna().to_numpy()] = np.nan
    return values


def parse_numbers(
    series: "pd.Series[Any]", numbers: NumberFormat = PLAIN_NUMBERS
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Convert a column to numbers, with NaN for missing and invalid values, and a mask of the invalid values.

    Examples
    --------
    >>> parse_numbers(pd.Series(["1,5", "true", None, "x"]), NumberFormat(","))
    (array([1.5, 1. , nan, nan]), array([False, False, False,  True]))
    """
    if types.is_timedelta64_dtype(series):
        return series.dt.total_seconds().to_numpy(dtype=np.float64) / _DAY, np.zeros(len(series), dtype=bool)
    if (types.is_numeric_dtype(series) or types.is_bool_dtype(series)) and not types.is_object_dtype(series):
        return series.to_numpy(dtype=np.float64, na_value=np.nan), np.zeros(len(series), dtype=bool)
    codes, distinct = pd.factorize(to_object_array(series))
    table = np.array([*(_to_float(value, numbers) for value in distinct), np.nan], dtype=np.float64)
    return table[codes], (codes >= 0) & np.isnan(table)[codes]


def _check_mostly_readable(series: "pd.Series[Any]", values: FloatArray, column: Column) -> FloatArray:
    """Raise if most values of a column could not be parsed, because its format probably differs."""
    bad = np.isnan(values) & series.notna().to_numpy()
    present = int(series.notna().sum())
    if present >= _MIN_CHECKED_VALUES and 2 * np.count_nonzero(bad) > present:
        place = int(bad.argmax())
        raise ValueError(
            f"column {column.name!r} must hold {column.kind}s as the training rows do, but {np.count_nonzero(bad)} of "
            f"{present} values cannot be read, such as {series.iloc[place]!r} in row {place}"
        )
    return values


def _to_float(value: Any, numbers: NumberFormat) -> float:
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in ("true", "false"):
            return float(word == "true")
        number = numbers.parse_number(value)
        return np.nan if number is None else number
    if isinstance(value, timedelta):
        return value.total_seconds() / _DAY
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return np.nan


def parse_dates(series: "pd.Series[Any]", pattern: str = "") -> FloatArray:
    """Convert a column to days since 1970 in UTC, with NaN for missing and invalid values.

    Examples
    --------
    >>> parse_dates(pd.Series(["1970-01-02", "1970-01-01 12:00", "soon"]), "ISO8601")
    array([1. , 0.5, nan])
    """
    if types.is_datetime64_any_dtype(series):
        moments: Any = series.dt.tz_convert("UTC").dt.tz_localize(None) if series.dt.tz is not None else series
        return _to_days(moments.to_numpy(dtype="datetime64[us]"))
    codes, distinct = pd.factorize(to_object_array(series))
    # The column may hold date objects now and strings in the training rows, or vice versa.
    texts = [
        value if isinstance(value, str) else value.isoformat() if isinstance(value, date) else "" for value in distinct
    ]
    days = _parse_date_strings(texts, pattern or "ISO8601")
    if pattern != "ISO8601":
        other = _parse_date_strings(texts, "ISO8601")
        written = np.array([isinstance(value, str) for value in distinct], dtype=bool)
        days = np.where(written & bool(pattern), days, other)
    return np.append(days, np.nan)[codes]


def _parse_date_strings(texts: Sequence[str], pattern: str) -> FloatArray:
    """Convert strings to days since 1970, with NaN for strings in another format."""
    stripped = [text.strip() for text in texts]
    if pattern == "ISO8601":
        # pandas would accept a year alone, which is treated as a number here.
        stripped = [text if _ISO.fullmatch(text) else "" for text in stripped]
    moments = pd.to_datetime(pd.Series(stripped, dtype=object), format=pattern, errors="coerce", utc=True)
    return _to_days(moments.dt.tz_localize(None).to_numpy(dtype="datetime64[us]"))


def _to_days(moments: NDArray[Any]) -> FloatArray:
    days = moments.astype(np.int64) / (1e6 * _DAY)
    return np.where(np.isnat(moments), np.nan, days)


def expand_missing_markers(missing: Iterable[str]) -> tuple[str, ...]:
    """Add the other spelling of whole numbers to missing-value markers: 999 and 999.0.

    Examples
    --------
    >>> expand_missing_markers(["?", "999"])
    ('?', '999', '999.0')
    """
    markers: dict[str, None] = {}
    for text in missing:
        markers[text] = None
        number = PLAIN_NUMBERS.parse_number(text)
        if number is not None and number.is_integer():
            markers |= {str(int(number)): None, f"{int(number)}.0": None}
    return tuple(markers)
