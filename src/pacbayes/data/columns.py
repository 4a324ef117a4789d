"""Columns of a user's file: numbers or categories, and the transformer that turns both into numbers.

The type of a column is part of the format of the data: every value in it has that type, or the file is refused.  What
is estimated from values (medians for missing numbers, the list of categories) is left to the transformer, which an
estimator fits on training rows only.
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.data.leakage import own_texts, refused_name, refused_numbers, refused_runs
from pacbayes.data.number_format import suggest_number_formats
from pacbayes.data.reading import is_number, listed
from pacbayes.data.rejections import Refused, in_shell, refuse

if TYPE_CHECKING:
    import pandas as pd

#: More classes than this are refused: the one-vs-one machines would be too many, the rows of each too few.
MOST_CLASSES = 100
_EMPTY = "has no values at all"
_NOTHING = "every feature is the same in all examples: there is nothing to tell the classes apart by"
_WHOLE = re.compile(r"-?(0|[1-9]\d*)\.0+")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}/\d{1,2}/\d{1,2}")


@dataclass(frozen=True)
class Columns:
    """The features of a file by type, and how many values each one lacks."""

    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    missing: dict[str, int]

    @property
    def plain(self) -> bool:
        """Whether all are numbers and none is missing: nothing to prepare."""
        return not self.categorical and not self.missing


class _UnusableError(Exception):
    """Stops the reading of one column."""

    def __init__(self, column: str, why: str, *ways: str, may_drop: bool = True) -> None:
        super().__init__(why)
        self.refused = Refused(column, why, ways, may_drop)


def read_columns(
    frame: "pd.DataFrame", categorical: Collection[str] = (), keep: Collection[str] = ()
) -> "tuple[Columns, pd.DataFrame]":
    """Return the types of all columns, and the columns as float64 or as objects: text, missing values NaN.

    Columns named in `categorical` are taken as text whatever they hold, those in `keep` even if they look like row
    numbers, identifiers or free text.  What cannot be used is refused, all of it at once.

    Examples
    --------
    >>> import pandas as pd
    >>> columns, data = read_columns(pd.DataFrame({"age": [31, None, 52], "blood": ["A", "0", None]}), ["blood"])
    >>> columns
    Columns(numeric=('age',), categorical=('blood',), missing={'age': 1, 'blood': 1})
    >>> read_columns(pd.DataFrame({"blood": ["A", "0", None]}))
    Traceback (most recent call last):
    ValueError: column 'blood' holds numbers and text ('A' in example 1); leave it out with --drop blood, or make it one
    or the other, or if it is a category give --categorical blood, or if 'A' means that the value is missing give
    --missing A
    """
    import pandas as pd

    unknown = sorted(set(categorical) - set(frame.columns))
    if unknown:
        raise ValueError(f"--categorical must name columns of the features, got {listed(unknown)}")
    if not categorical and all(isinstance(kind, np.dtype) and kind.kind in "iuf" for kind in frame.dtypes):
        return _all_numbers(frame, keep)
    made: dict[str, Any] = {}
    kinds: dict[str, bool] = {}
    wrong: list[Refused] = []
    for name in frame.columns:
        try:
            made[name], kinds[name] = _column(frame[name], name, name in categorical, name in keep)
        except _UnusableError as error:
            wrong.append(error.refused)
    refuse(wrong, in_shell)
    missing = {name: int(pd.isna(values).sum()) for name, values in made.items() if pd.isna(values).any()}
    if all(_constant(values) for values in made.values()):
        raise ValueError(_NOTHING)
    numeric = tuple(name for name, is_text in kinds.items() if not is_text)
    text = tuple(name for name, is_text in kinds.items() if is_text)
    return Columns(numeric, text, missing), pd.DataFrame(made)


def _all_numbers(frame: "pd.DataFrame", keep: Collection[str]) -> "tuple[Columns, pd.DataFrame]":
    """Return what `read_columns` does for columns that pandas read as numbers: all at once, there may be thousands."""
    import pandas as pd

    names = tuple(str(name) for name in frame.columns)
    values = frame.to_numpy(dtype=np.float64)
    lacking = np.isnan(values)
    empty, infinite = lacking.all(axis=0), np.isinf(values).any(axis=0)
    wrong = []
    for i, name in enumerate(names):
        if empty[i]:
            wrong.append(Refused(name, _EMPTY))
        elif infinite[i]:
            wrong.append(_infinite(values[:, i], name))
        elif name not in keep:
            # From the frame: beyond 2^53 integers that differ may be one float.
            column = frame.iloc[:, i].to_numpy()
            wrong += _only(refused_name(name, in_shell) or _identifies(name, column, len(frame)))
    refuse(wrong, in_shell)
    if (values == values[0]).all():
        raise ValueError(_NOTHING)
    counts = lacking.sum(axis=0)
    missing = {names[i]: int(counts[i]) for i in np.flatnonzero(counts)}
    return Columns(names, (), missing), pd.DataFrame(values, columns=list(names))


def _identifies(name: str, values: NDArray[Any], rows: int) -> Refused | None:
    """Return what to say of numbers that tell rows, or subjects of several rows, apart; None for measurements."""
    return refused_numbers(name, values, rows, in_shell) or refused_runs(name, values, rows, in_shell)


def _only(refused: Refused | None) -> list[Refused]:
    return [] if refused is None else [refused]


def check_classes(labels: NDArray[Any], name: str) -> None:
    """Raise if the column of classes holds a single class, a quantity, or more classes than can be told apart.

    Examples
    --------
    >>> check_classes(np.array([0.5, 1.25, 3.0]), "price")
    Traceback (most recent call last):
    ValueError: column 'price' must hold classes, but it holds fractions such as 0.5: it looks like a quantity; name the
    column of classes by target=
    """
    classes = np.unique(labels)
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise ValueError(f"column {name!r} must hold classes, but it holds infinite numbers")
        fractions = classes[classes != np.floor(classes)]
        if fractions.size:
            raise ValueError(
                f"column {name!r} must hold classes, but it holds fractions such as {fractions[0]:g}: it looks like a "
                "quantity; name the column of classes by target="
            )
    if classes.size < 2:
        raise ValueError(f"column {name!r} must hold at least two classes, but every example is {classes[0]!s}")
    if classes.size > MOST_CLASSES:
        raise ValueError(
            f"column {name!r} must hold at most {MOST_CLASSES} classes, but it holds {classes.size} different values "
            f"in {labels.size} rows; if it is not the class, name another by target="
        )


def _column(series: "pd.Series[Any]", name: str, forced: bool, kept: bool) -> tuple[Any, bool]:
    """Return the values of a column and whether they are text, or raise if they cannot be used."""
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype, is_timedelta64_dtype

    if series.isna().all():
        raise _UnusableError(name, _EMPTY)
    if is_datetime64_any_dtype(series) or is_timedelta64_dtype(series):
        raise _dates(name, series.dropna().iloc[0])
    if forced:
        return as_text(values_of(series)), True
    if not kept:
        _stop(refused_name(name, in_shell))
    if is_bool_dtype(series) or is_numeric_dtype(series):
        if not kept and not is_bool_dtype(series):
            _stop(_identifies(name, series.dropna().to_numpy(), len(series)))
        return _finite(series.to_numpy(dtype=np.float64, na_value=np.nan), name), False
    values = values_of(series)
    present = [(i, value) for i, value in enumerate(values) if not is_nan(value)]
    numbers = [pair for pair in present if is_number(pair[1])]
    if isinstance(series.dtype, pd.CategoricalDtype):
        _check_own(name, [str(value) for _, value in present], len(series), kept)
        return as_text(values), True
    if len(numbers) == len(present):
        if not kept:
            _stop(_identifies(name, values, len(series)))
        return _as_numbers(values, name), False
    texts = [pair for pair in present if not is_number(pair[1])]
    if all(isinstance(value, str) for _, value in texts):
        _stop(_written_otherwise(name, present, texts[0]))
        if numbers:
            raise _mixed(name, texts[0])
        if all(_DATE.fullmatch(value.strip()) for _, value in present):
            raise _dates(name, present[0][1])
        _check_own(name, [value for _, value in present], len(series), kept)
        return as_text(values), True
    odd = next(value for _, value in texts if not isinstance(value, str))
    if hasattr(odd, "isoformat"):
        raise _dates(name, odd)
    raise _UnusableError(name, f"must hold numbers or text, got {type(odd).__name__}")


def _stop(refused: Refused | None) -> None:
    if refused is not None:
        raise _UnusableError(refused.column, refused.why, *refused.ways, may_drop=refused.may_drop)


def _check_own(name: str, values: Sequence[str], rows: int, kept: bool) -> None:
    if kept:
        return
    _stop(refused_runs(name, values, rows, in_shell))
    why = own_texts(values, rows)
    if why:
        raise _UnusableError(
            name,
            f"looks like a name, an identifier or free text: {why}",
            f"if it is a category keep it with {in_shell('keep', name)}",
        )


def _written_otherwise(name: str, present: Sequence[tuple[int, Any]], first: tuple[int, str]) -> Refused | None:
    """Return what to say of numbers with commas, as in 3,682.50 or 3,5; None for other texts."""
    ways = suggest_number_formats((value for _, value in present), in_shell)
    if not ways:
        return None
    why = f"holds numbers that cannot be read as they are written ({first[1][:40]!r} in example {first[0] + 1})"
    ways = (*ways, f"if it is a category give {in_shell('categorical', name)}")
    return Refused(name, why, ways, may_drop=False)


def _mixed(name: str, first: tuple[int, str]) -> _UnusableError:
    place, text = first
    return _UnusableError(
        name,
        f"holds numbers and text ({text[:40]!r} in example {place + 1})",
        "make it one or the other",
        f"if it is a category give {in_shell('categorical', name)}",
        f"if {text[:40]!r} means that the value is missing give {in_shell('missing', text[:40])}",
    )


def _dates(name: str, value: Any) -> _UnusableError:
    ways = "turn them into numbers, such as days since a day you choose"
    return _UnusableError(name, f"holds dates or times ({str(value)[:40]!r})", ways)


def values_of(series: "pd.Series[Any]") -> NDArray[Any]:
    """Return the values as they are, anything missing as NaN."""
    values = series.to_numpy(dtype=object).copy()
    values[series.isna().to_numpy()] = np.nan
    return values


def _as_numbers(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    return _finite(np.array([float_of(value) for value in values], dtype=np.float64), name)


def float_of(value: Any) -> float:
    """Return a number, infinity for an integer that is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _finite(numbers: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    if np.isinf(numbers).any():
        _stop(_infinite(numbers, name))
    return numbers


def _infinite(numbers: NDArray[np.float64], name: str) -> Refused:
    place = int(np.isinf(numbers).argmax())
    ways = ("correct it", "leave the cell empty if the value is missing")
    return Refused(name, f"must hold finite numbers, got {numbers[place]} in example {place + 1}", ways)


def as_text(values: NDArray[Any]) -> NDArray[Any]:
    """Return categories as text, missing ones as they are."""
    return np.array([value if is_nan(value) else _text(value) for value in values], dtype=object)


def _constant(values: NDArray[Any]) -> bool:
    return bool((values == values[0]).all() or all(is_nan(value) for value in values))


def is_nan(value: Any) -> bool:
    """Return whether a value is missing, as `values_of` writes it."""
    return isinstance(value, float) and value != value


def _text(value: Any) -> str:
    """Return a category as text; 3.0 and 3 are the same one, whichever way a file with missing values gave it."""
    if isinstance(value, str):
        return value.partition(".")[0] if _WHOLE.fullmatch(value) else value
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal):
        return str(value)
    number = float(value)
    return str(int(value)) if number.is_integer() else str(value)  # type: ignore[arg-type]  # Real has __trunc__
