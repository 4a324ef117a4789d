"""`Schema`: what the columns of a table hold and how they are written, decided once and applied to every later table.

A CSV file does not tell whether ``01`` is a number, nor whether ``NA`` is a string or a missing value; a data frame
holds the same values in other types.  If a later table were read in another way than the training rows, the rows would
be others, and the certificate would not be about them.  So a model stores the schema of its training rows.
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
from pacbayes.data.rejections import listed
from pacbayes.data.spelling import spellings

NUMBER, BOOLEAN, DATE, CATEGORY, TEXT = "number", "boolean", "date", "category", "text"
#: Missing values in text files, as in pandas, whatever its version.
MISSING_WORDS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
# A column is of numbers, or of dates, if at least this share of its strings are; the others count as missing.
_SHARE_PARSED = 0.9
# From so many values on, most of them must be readable.
_SEVERAL = 10
# Strings are free text if there are more distinct ones than this, and most of them are unique or have several words.
_MOST_WORDS, _WORDS_OF_TEXT = 30, 3.0
# Levels are stored for columns with at most so many: more hardly repeat.
_MOST_LEVELS = 20_000
_DECIMAL, _THOUSANDS = (".", ","), (",", ".", "'", " ")
# Blanks between thousands.
_BLANKS = " \u00a0\u202f"
_TIMES = ("", " %H:%M", " %H:%M:%S")
# New categories that a warning names.
_MOST_NAMED = 5
#: Formats of dates, the first that reads a column counts; month first if both it and day first do.
DATE_FORMATS = (
    "ISO8601",
    *(f"{day}{time}" for day in ("%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y") for time in _TIMES),
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
    """Decimal sign and thousands separator of the numbers in a file.

    Examples
    --------
    >>> NumberFormat(".", ",").number("3,682.50"), NumberFormat(",", ".").number("1.000")
    (3682.5, 1000.0)
    >>> NumberFormat(".", ",").number("3,68"), NumberFormat(",").number("3.5")
    (None, None)
    """

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in _DECIMAL:
            raise ValueError(f"decimal must be one of {' '.join(_DECIMAL)}, got {self.decimal!r}")
        if self.thousands is not None and self.thousands not in _THOUSANDS:
            raise ValueError(f"thousands must be a blank or one of {' '.join(_THOUSANDS[:3])}, got {self.thousands!r}")
        if self.thousands == self.decimal:
            raise ValueError(f"decimal and thousands must differ, got {self.decimal!r} for both")

    @classmethod
    def of_options(cls, decimal: str | None, thousands: str | None) -> "NumberFormat | None":
        """Format of two options; None if neither is used."""
        return None if decimal is None and thousands is None else cls(decimal or ".", thousands)

    def number(self, text: str) -> float | None:
        """Read a number; None if the string has another format, such as groups of two digits."""
        text = text.strip()
        if not _pattern(self.decimal, self.thousands).fullmatch(text):
            return None
        for sign in _BLANKS if self.thousands == " " else self.thousands or "":
            text = text.replace(sign, "")
        return float(text.replace(self.decimal, "."))

    def reads_all(self, texts: Iterable[str]) -> bool:
        """Whether all strings are numbers of this format."""
        return all(self.number(text) is not None for text in texts)


@cache
def _pattern(decimal: str, thousands: str | None) -> re.Pattern[str]:
    between = f"[{_BLANKS}]" if thousands == " " else re.escape(thousands or "")
    groups = "" if thousands is None else rf"|\d{{1,3}}(?:{between}\d{{3}})+"
    point = re.escape(decimal)
    return re.compile(rf"[+-]?(?:(?:\d+{groups})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?", re.ASCII)


#: Numbers as in programs.
PLAIN_NUMBERS = NumberFormat()
#: Other formats; a simpler one comes first.
OTHER_FORMATS = (
    *(NumberFormat(".", ","), NumberFormat(","), NumberFormat(",", "."), NumberFormat(".", "'")),
    *(NumberFormat(".", " "), NumberFormat(",", " ")),
)


def formats_of(texts: Collection[str]) -> list[NumberFormat]:
    """List the formats in which all strings are numbers, without formats that only add an unused sign.

    Examples
    --------
    >>> formats_of(["3,682.50", "12"])
    [NumberFormat(decimal='.', thousands=',')]
    >>> len(formats_of(["3,682"])), formats_of(["a", "3,5"]), formats_of(["3.5"])
    (2, [], [NumberFormat(decimal='.', thousands=None)])
    """
    if not texts:
        return []
    if PLAIN_NUMBERS.reads_all(texts):
        return [PLAIN_NUMBERS]
    chosen: list[NumberFormat] = []
    for numbers in OTHER_FORMATS:
        simpler = any(one.decimal == numbers.decimal and one.thousands in (None, numbers.thousands) for one in chosen)
        if not simpler and numbers.reads_all(texts):
            chosen.append(numbers)
    return chosen


@dataclass(frozen=True)
class Column:
    """Kind of a column, and how its values are written."""

    name: str
    #: number, boolean, date, category or text
    kind: str
    #: Whether the values were strings.
    strings: bool = False
    #: Values of `MISSING_WORDS` that were strings of a data frame: "NA" for Namibia.
    words: tuple[str, ...] = ()
    #: Whether values were missing.
    has_missing: bool = False
    #: Format of dates that were strings.
    date_format: str = ""
    #: Whether strings begin with a blank, which readers of files drop otherwise.
    leading_blanks: bool = False
    #: Spellings of the categories; empty if they are not stored.
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
    >>> schema = Schema.of(pd.DataFrame({"age": [31, 52], "land": ["NA", "DE"], "day": ["2024-05-31", None]}))
    >>> [column.kind for column in schema.columns]
    ['number', 'category', 'date']
    >>> schema.parse(pd.DataFrame({"day": [None], "age": ["47.0"], "land": [" de"]})).to_numpy().tolist()
    [[47.0, 'de', nan]]
    """

    columns: tuple[Column, ...] = ()
    missing: tuple[str, ...] = ()
    numbers: NumberFormat = field(default=PLAIN_NUMBERS)

    def __deepcopy__(self, memo: Any) -> Self:
        # pandas copies the attributes of a frame in every operation.
        return self

    @classmethod
    def of(
        cls,
        table: Any,
        *,
        categorical: Collection[Any] = (),
        missing: Iterable[str] = (),
        numbers: NumberFormat = PLAIN_NUMBERS,
    ) -> Self:
        """Decide the schema of a table; columns in `categorical` are categories whatever they hold."""
        frame, forced = as_frame(table), set(categorical)
        incomplete = frame.isna().any().tolist()
        columns = [
            Column(name, NUMBER, has_missing=incomplete[i])
            # Tables of numbers may have thousands of columns.
            if isinstance(dtype, np.dtype) and dtype.kind in "iuf" and name not in forced
            else _column(frame.iloc[:, i], name, name in forced, numbers)
            for i, (name, dtype) in enumerate(zip(_names(frame), frame.dtypes, strict=True))
        ]
        return cls(tuple(columns), marker_spellings(missing), numbers)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    def kinds(self, *kinds: str) -> tuple[str, ...]:
        """Names of the columns of some kinds."""
        return tuple(column.name for column in self.columns if column.kind in kinds)

    def parse(self, table: Any) -> pd.DataFrame:
        """Convert a table to numbers (days since 1970 for dates), spellings of categories, and text.

        Values that a column cannot hold are missing.  Raise if a column of numbers without strings holds some, or if
        most values of a column have another format.
        """
        frame = self.select(as_frame(table))
        if _are_numbers(frame) and not self.kinds(CATEGORY, TEXT, DATE):
            return _float_frame(frame)
        return pd.DataFrame(
            {column.name: self._values(frame.iloc[:, i], column) for i, column in enumerate(self.columns)},
            index=frame.index,
        )

    def select(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Columns of the schema, by name if the frame has names, otherwise by position."""
        by_position = frame.columns.equals(pd.RangeIndex(len(self.columns)))
        if by_position or _names(frame) == self.names:
            return frame
        places = {name: i for i, name in enumerate(_names(frame))}
        lacking = [name for name in self.names if name not in places]
        if lacking:
            raise ValueError(f"the table lacks the columns {', '.join(map(repr, lacking[:10]))} of the training rows")
        return frame.iloc[:, [places[name] for name in self.names]]

    def _values(self, series: "pd.Series[Any]", column: Column) -> NDArray[Any]:
        if column.kind == CATEGORY:
            return spellings(values_of(series))
        if column.kind == TEXT:
            values = values_of(series)
            return np.array([v if isinstance(v, float) else " ".join(str(v).split()) for v in values], dtype=object)
        if column.kind == DATE:
            return _mostly_readable(series, days_of(series, column.date_format), column)
        numbers, bad = numbers_of(series, self.numbers)
        if bad.any() and not column.strings:
            value = values_of(series)[int(bad.argmax())]
            raise ValueError(f"column {column.name!r} must hold numbers, got {value!r} in row {int(bad.argmax())}")
        return _mostly_readable(series, numbers, column)

    def numeric(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Copy of the table with numbers and truth values as float64; other columns as they are."""
        if _are_numbers(frame) and not any(column.strings for column in self.columns):
            return _float_frame(frame)
        made = {
            column.name: numbers_of(series)[0] if column.kind in (NUMBER, BOOLEAN) and not column.strings else series
            for column, series in zip(self.columns, (frame.iloc[:, i] for i in range(frame.shape[1])), strict=True)
        }
        return pd.DataFrame(made, index=frame.index)

    @property
    def other_columns(self) -> "Schema":
        """Schema of the columns that are not numbers, or hold strings: what a later file must be read by."""
        other = (c for c in self.columns if c.strings or c.kind not in (NUMBER, BOOLEAN))
        return replace(self, columns=tuple(other))

    def ambiguous_dates(self, table: Any) -> tuple[str, ...]:
        """Names of the columns of dates that were read month first, but could be read day first.

        Examples
        --------
        >>> days = pd.DataFrame({"a": ["03/04/2021", "05/06/2021"], "b": ["03/04/2021", "05/16/2021"]})
        >>> Schema.of(days).ambiguous_dates(days)
        ('a',)
        """
        frame, names = self.select(as_frame(table)), []
        for i, column in enumerate(self.columns):
            swapped = column.date_format.translate(_OTHER_ORDER)
            if swapped != column.date_format and swapped in DATE_FORMATS:
                read, other = (~np.isnan(days_of(frame.iloc[:, i], form)) for form in (column.date_format, swapped))
                names += [column.name] if other.sum() >= _SHARE_PARSED * read.sum() else []
        return tuple(names)

    def numbers_with_units(self, table: Any) -> dict[str, str]:
        """Columns of strings that would be numbers without a percent or currency sign, each with one of its strings.

        Examples
        --------
        >>> prices = pd.DataFrame({"share": ["5%", "0.5 %"], "price": ["0,5 €", "€ 3,25"], "word": ["a", "5%"]})
        >>> Schema.of(prices).numbers_with_units(prices)
        {'share': '5%', 'price': '0,5 €'}
        """
        frame, examples = self.select(as_frame(table)), {}
        for i, column in enumerate(self.columns):
            if column.strings and column.kind in (CATEGORY, TEXT):
                texts = [str(value) for value in frame.iloc[:, i].dropna().unique()]
                signed = all(set(text) & set(_UNITS) for text in texts)
                if signed and formats_of({text.strip(_UNITS + _BLANKS) for text in texts}):
                    examples[column.name] = texts[0]
        return examples

    def unseen(self, table: Any) -> dict[str, "pd.Series[Any]"]:
        """Values of each column that are categories without a training row, with their numbers of rows."""
        known = [column for column in self.columns if column.levels]
        if not known or not isinstance(table, pd.DataFrame | np.ndarray | list | tuple):
            return {}
        frame, new = as_frame(table), {}
        places = {name: i for i, name in enumerate(_names(frame))}
        for column in known:
            if column.name not in places:  # rows without the names of the training rows
                continue
            values = frame.iloc[:, places[column.name]]
            present = pd.Series(values_of(values), dtype=object).dropna()
            strange = present[~pd.Series(spellings(present.to_numpy())).isin(column.levels).to_numpy()]
            counts = strange.value_counts(sort=False)
            if len(present) < len(frame) and not column.has_missing:
                counts["missing"] = len(frame) - len(present)
            if len(counts):
                new[column.name] = counts
        return new


class UnseenCategoryWarning(UserWarning):
    """New rows hold categories that no training row had."""


def unseen_messages(counts: "dict[str, pd.Series[Any]]", rows: int) -> list[str]:
    """List one sentence for each column with new categories.

    Examples
    --------
    >>> unseen_messages({"colour": pd.Series({"pink": 2, "grey": 1})}, 10)
    ["Column 'colour': 3 of 10 examples hold a category that was not in the training data ('pink', 'grey')."]
    """
    return [
        f"Column {name!r}: {int(values.sum())} of {rows} examples hold a category that was not in the training data "
        f"({listed([str(value)[:40] for value in values.index], _MOST_NAMED)})."
        for name, values in counts.items()
    ]


# -- kinds -------------------------------------------------------------------------------------------------------------


def _column(series: "pd.Series[Any]", name: str, forced: bool, numbers: NumberFormat) -> Column:
    """Kind of a column."""
    is_category = isinstance(series.dtype, pd.CategoricalDtype)
    has_missing = bool(series.isna().any())
    if not forced and not is_category:
        if types.is_bool_dtype(series):
            return Column(name, BOOLEAN, has_missing=has_missing)
        if types.is_numeric_dtype(series) or types.is_timedelta64_dtype(series):
            return Column(name, NUMBER, has_missing=has_missing)
        if types.is_datetime64_any_dtype(series):
            return Column(name, DATE, has_missing=has_missing)
    present = values_of(series)
    present = present[~pd.isna(present)]
    distinct, counts = _counted(present)
    strings = any(isinstance(value, str) for value in distinct)
    common = Column(
        name,
        CATEGORY,
        strings or forced or is_category,
        tuple(sorted(set(map(str, distinct)).intersection(MISSING_WORDS))) if strings else (),
        has_missing,
        leading_blanks=any(isinstance(value, str) and value.startswith(" ") for value in distinct),
    )
    if not forced and not is_category:
        kind = _kind_of_values(distinct, counts, numbers)
        if kind is not None:
            return replace(common, kind=kind[0], date_format=kind[1])
    for value in distinct:
        if not isinstance(value, str | Real | Decimal | date | bool | np.bool_):
            kind_name = value.kind if isinstance(value, Unreadable) else type(value).__name__
            raise ValueError(f"column {name!r} must hold numbers, dates or strings, got {kind_name}")
    levels = sorted(set(spellings(np.array(distinct, dtype=object)).tolist())) if distinct else []
    if not forced and not is_category and strings and _is_text(levels, present.size):
        return replace(common, kind=TEXT)
    return replace(common, levels=tuple(levels) if len(levels) <= _MOST_LEVELS else ())


def _counted(values: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Distinct values with their numbers of rows."""
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:  # lists and dicts are not hashable
        return [values[0]], np.array([values.size])
    return list(distinct), np.bincount(codes, minlength=len(distinct))


def _kind_of_values(distinct: list[Any], counts: NDArray[np.int64], numbers: NumberFormat) -> tuple[str, str] | None:
    """Kind of a column of objects, and its format of dates; None for categories and text."""
    total = int(counts.sum())
    if total == 0:
        return NUMBER, ""
    texts = [str(value) for value in distinct]
    if all(text.strip().casefold() in ("true", "false") for text in texts):
        return BOOLEAN, ""
    parsed = [value if not isinstance(value, str) else numbers.number(value) for value in distinct]
    are_numbers = [isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in parsed]
    if counts[are_numbers].sum() >= _SHARE_PARSED * total:
        return NUMBER, ""
    if all(isinstance(value, timedelta) for value in distinct):
        return NUMBER, ""
    if all(isinstance(value, date) for value in distinct):
        return DATE, ""
    if not all(isinstance(value, str) for value in distinct):
        return None
    for form in DATE_FORMATS:
        few = counts[:_MOST_WORDS].sum()
        if counts[:_MOST_WORDS][~np.isnan(_days(texts[:_MOST_WORDS], form))].sum() < _SHARE_PARSED * few:
            continue
        if counts[~np.isnan(_days(texts, form))].sum() >= _SHARE_PARSED * total:
            return DATE, form
    return None


def _is_text(levels: list[str], rows: int) -> bool:
    many = len(levels) > _MOST_WORDS
    return many and (
        2 * len(levels) > rows or float(np.mean([len(level.split()) for level in levels])) >= _WORDS_OF_TEXT
    )


# -- values ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unreadable:
    """Stand-in for the values of a column of a file that is not read, such as lists."""

    kind: str


def as_frame(table: Any) -> pd.DataFrame:
    """Convert rows to a pandas data frame; raise if they are not a table.

    Examples
    --------
    >>> as_frame([[1.0, "a"], [2.0, "b"]]).shape
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


def _are_numbers(frame: pd.DataFrame) -> bool:
    """Whether all columns have numeric types of NumPy; there may be thousands."""
    return all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes)


def _float_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Copy of a numeric table as one block: rows of thousands of blocks are picked slowly."""
    return pd.DataFrame(frame.to_numpy(dtype=np.float64), index=frame.index, columns=frame.columns)


def _names(frame: pd.DataFrame) -> list[str]:
    return [str(name) for name in frame.columns]


def values_of(series: "pd.Series[Any]") -> NDArray[Any]:
    """Values as objects, missing ones as NaN."""
    values = series.to_numpy(dtype=object).copy()
    values[series.isna().to_numpy()] = np.nan
    return values


def numbers_of(series: "pd.Series[Any]", numbers: NumberFormat = PLAIN_NUMBERS) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Numbers of a column, missing and unreadable ones as NaN, and the mask of the unreadable ones.

    Examples
    --------
    >>> numbers_of(pd.Series(["1,5", "true", None, "x"]), NumberFormat(","))
    (array([1.5, 1. , nan, nan]), array([False, False, False,  True]))
    """
    if types.is_timedelta64_dtype(series):
        return series.dt.total_seconds().to_numpy(dtype=np.float64) / _DAY, np.zeros(len(series), dtype=bool)
    if (types.is_numeric_dtype(series) or types.is_bool_dtype(series)) and not types.is_object_dtype(series):
        return series.to_numpy(dtype=np.float64, na_value=np.nan), np.zeros(len(series), dtype=bool)
    codes, distinct = pd.factorize(values_of(series))
    table = np.array([*(_float(value, numbers) for value in distinct), np.nan], dtype=np.float64)
    return table[codes], (codes >= 0) & np.isnan(table)[codes]


def _mostly_readable(series: "pd.Series[Any]", values: FloatArray, column: Column) -> FloatArray:
    """Raise if most of several strings are not of the kind of the column: they are written in another format."""
    bad = np.isnan(values) & series.notna().to_numpy()
    present = int(series.notna().sum())
    if present >= _SEVERAL and 2 * np.count_nonzero(bad) > present:
        place = int(bad.argmax())
        raise ValueError(
            f"column {column.name!r} must hold {column.kind}s as the training rows do, but {np.count_nonzero(bad)} of "
            f"{present} values cannot be read, such as {series.iloc[place]!r} in row {place}"
        )
    return values


def _float(value: Any, numbers: NumberFormat) -> float:
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in ("true", "false"):
            return float(word == "true")
        number = numbers.number(value)
        return np.nan if number is None else number
    if isinstance(value, timedelta):
        return value.total_seconds() / _DAY
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return np.nan


def days_of(series: "pd.Series[Any]", form: str = "") -> FloatArray:
    """Days since 1970 of a column of dates, in UTC; missing and unreadable ones are NaN.

    Examples
    --------
    >>> days_of(pd.Series(["1970-01-02", "1970-01-01 12:00", "soon"]), "ISO8601")
    array([1. , 0.5, nan])
    """
    if types.is_datetime64_any_dtype(series):
        moments: Any = series.dt.tz_convert("UTC").dt.tz_localize(None) if series.dt.tz is not None else series
        return _as_days(moments.to_numpy(dtype="datetime64[us]"))
    codes, distinct = pd.factorize(values_of(series))
    # Dates of a data frame in a column that was text in the training rows, or the other way round.
    texts = [
        value if isinstance(value, str) else value.isoformat() if isinstance(value, date) else "" for value in distinct
    ]
    days = _days(texts, form or "ISO8601")
    if form != "ISO8601":
        other = _days(texts, "ISO8601")
        written = np.array([isinstance(value, str) for value in distinct], dtype=bool)
        days = np.where(written & bool(form), days, other)
    return np.append(days, np.nan)[codes]


def _days(texts: Sequence[str], form: str) -> FloatArray:
    """Days since 1970 of strings, NaN for those that have another format."""
    stripped = [text.strip() for text in texts]
    if form == "ISO8601":
        # pandas would take a bare year, which is a number here.
        stripped = [text if _ISO.fullmatch(text) else "" for text in stripped]
    moments = pd.to_datetime(pd.Series(stripped, dtype=object), format=form, errors="coerce", utc=True)
    return _as_days(moments.dt.tz_localize(None).to_numpy(dtype="datetime64[us]"))


def _as_days(moments: NDArray[Any]) -> FloatArray:
    days = moments.astype(np.int64) / (1e6 * _DAY)
    return np.where(np.isnat(moments), np.nan, days)


def marker_spellings(missing: Iterable[str]) -> tuple[str, ...]:
    """Missing-value markers, and of whole numbers the other spelling: 999 and 999.0.

    Examples
    --------
    >>> marker_spellings(["?", "999"])
    ('?', '999', '999.0')
    """
    markers: dict[str, None] = {}
    for text in missing:
        markers[text] = None
        number = PLAIN_NUMBERS.number(text)
        if number is not None and number.is_integer():
            markers |= {str(int(number)): None, f"{int(number)}.0": None}
    return tuple(markers)
