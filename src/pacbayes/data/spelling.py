"""Normalisation of spellings of classes, groups and categories, and conversion of labels to cells of CSV files.

Files and data frames may spell a value in several ways: 7, 7.0 or 007; P7 or "p7 "; True or true. `normalize_spelling`
maps all of them to one string.  Classes and groups with one spelling are rejected within a column and matched across
columns; categories are merged.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# First characters with which a spreadsheet detects formulas, first characters that readers of CSV files may drop, and
# the prefix that protects from both.
_FORMULA_STARTS, _STRIPPED_STARTS, _APOSTROPHE = ("=", "+", "-", "@"), (" ", "\t", "\r", "\n"), "'"
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


def normalize_spelling(value: Any) -> str:
    """Compute the normal form of a value, which is equal for all spellings of a number, a boolean or a string.

    Numbers are converted exactly.  Strings are compared ignoring case and surrounding or repeated whitespace.

    Examples
    --------
    >>> [normalize_spelling(value) for value in (7, 7.0, "7", " 007", "7.0", "0.7e1")]
    ['7', '7', '7', '7', '7', '7']
    >>> [normalize_spelling(value) for value in (True, "TRUE", "p7 ", "P7", 2**64 + 1)]
    ['true', 'true', 'p7', 'p7', '18446744073709551617']
    """
    text = str(value)
    # Fast path for nonnegative integers.
    if text.isascii() and text.isdigit():
        return text.lstrip("0") or "0"
    text = " ".join(text.split())
    return _normalize_number(text) if _NUMBER.fullmatch(text) else text.casefold()


def _normalize_number(text: str) -> str:
    digits = f"{Decimal(text):f}"
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if digits in ("-0", "") else digits


def normalize_spellings(values: NDArray[Any]) -> NDArray[Any]:
    """Compute the normal forms of the values of a column; missing values become NaN.

    Examples
    --------
    >>> normalize_spellings(np.array(["A", "a ", None, 1.0], dtype=object)).tolist()
    ['a', 'a', nan, '1']
    """
    codes, distinct = pd.factorize(np.asarray(values, dtype=object))
    table = np.array([*map(normalize_spelling, distinct), np.nan], dtype=object)
    return table[codes]


def check_spellings(values: Iterable[Any], where: str, what: str = "class") -> None:
    """Raise if two different values have the same normal form, such as a number and its string.

    Examples
    --------
    >>> check_spellings(["1", "2", "01"], "--target")
    Traceback (most recent call last):
    ValueError: --target holds both '01' and '1': if they are one class, write them alike; if not, give them names that
    differ by more than case, blanks or zeros
    """
    first: dict[str, Any] = {}
    for value in sorted(set(values), key=str):
        other = first.setdefault(normalize_spelling(value), value)
        if other != value:
            pair = " and ".join(repr(one) if isinstance(one, str) else str(one) for one in (other, value))
            raise ValueError(
                f"{where} holds both {pair}: if they are one {what}, write them alike; if not, give them names that "
                "differ by more than case, blanks or zeros"
            )


def align_spellings(values: Any, known: Iterable[Any], where: str) -> NDArray[Any]:
    """Replace values by known values of the same normal form; leave other values unchanged.

    Examples
    --------
    >>> align_spellings(["1.0", "x"], ["01", "02"], "--a").tolist()
    ['01', 'x']
    """
    codes, distinct = pd.factorize(np.asarray(values, dtype=object), use_na_sentinel=False)
    check_spellings(distinct, where)
    known_forms = {normalize_spelling(value): value for value in known}
    return np.array([known_forms.get(normalize_spelling(value), value) for value in distinct], dtype=object)[codes]


def to_label_strings(values: Any) -> NDArray[Any]:
    """Convert classes to strings, whole numbers without a fraction: 1 and 1.0 are the same class.

    Examples
    --------
    >>> to_label_strings(np.array([1.0, 2.5])).tolist(), to_label_strings(np.array(["1.0"])).tolist()
    (['1', '2.5'], ['1.0'])
    """
    codes, distinct = pd.factorize(np.asarray(values, dtype=object), use_na_sentinel=False)
    labels = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in distinct]
    return np.array(labels, dtype=object)[codes]


def escape_cells(labels: NDArray[Any]) -> NDArray[Any]:
    """Prefix labels by an apostrophe if a spreadsheet would run them, or a CSV reader would change them.

    Examples
    --------
    >>> escape_cells(np.array(["=1+1", "-1", "-", "spam"])).tolist(), escape_cells(np.array([-1, 1])).tolist()
    (["'=1+1", '-1', '-', 'spam'], [-1, 1])
    """
    if labels.dtype.kind not in "OU":
        return labels
    return np.array(
        [_escape_cell(label) if isinstance(label, str) else label for label in labels.tolist()], dtype=object
    )


def unescape_cells(cells: Sequence[str], classes: Collection[str], where: str) -> list[str]:
    """Remove the apostrophes of `escape_cells`; raise if an apostrophe may be part of a class name.

    Examples
    --------
    >>> unescape_cells(["'=1+1", "a"], {"=1+1", "a"}, "--a"), unescape_cells(["'s", "a"], {"'s", "a"}, "--a")
    (['=1+1', 'a'], ["'s", 'a'])
    """
    distinct = set(cells)
    marked = {text for text in distinct if text.startswith(_APOSTROPHE)}
    if not all(_escape_cell(text.removeprefix(_APOSTROPHE)) == text for text in distinct):
        return list(cells)
    as_written = [text in classes for text in marked]
    unmarked = [text[1:] in classes for text in marked]
    if all(as_written) == all(unmarked) and any(as_written) and any(unmarked):
        raise ValueError(
            f"{where} holds {min(marked)!r}, which may be a class of this name, or what predict writes for "
            f"{min(marked)[1:]!r}, with an apostrophe in front: give these classes other names"
        )
    written_by_predict = all(unmarked) or (any(unmarked) and not any(as_written))
    return [text.removeprefix(_APOSTROPHE) for text in cells] if written_by_predict else list(cells)


def _escape_cell(label: str) -> str:
    runs = len(label) > 1 and label.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(label)
    return f"{_APOSTROPHE}{label}" if runs or not label or label.startswith((*_STRIPPED_STARTS, _APOSTROPHE)) else label
