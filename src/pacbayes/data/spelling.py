"""One comparison of spellings for classes, groups and categories; labels as text and as cells of CSV files.

A file may write a value as 7, 7.0 or 007, P7 or "p7 ", True or true; another file, or a data frame, in another way.
`spelling` maps all of them to one string.  Classes and groups with one spelling are rejected within a column and
matched across columns; categories are merged.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# First characters that a spreadsheet takes for a formula, first characters that readers of CSV files may drop, and the
# mark that protects both.
_FORMULA, _LOST, _MARK = ("=", "+", "-", "@"), (" ", "\t", "\r", "\n"), "'"
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


def spelling(value: Any) -> str:
    """Compute the normal form of a value: equal for all spellings of a number, a truth value or a string.

    Numbers are exact, however many digits they have.  Strings are compared without case and surrounding or repeated
    blanks.

    Examples
    --------
    >>> [spelling(value) for value in (7, 7.0, "7", " 007", "7.0", "0.7e1")]
    ['7', '7', '7', '7', '7', '7']
    >>> spelling(True), spelling("TRUE"), spelling("p7 "), spelling("P7"), spelling(2**64 + 1)
    ('true', 'true', 'p7', 'p7', '18446744073709551617')
    """
    text = str(value)
    # Most values are short integers, or words that need no change.
    if text.isascii() and text.isdigit():
        return text.lstrip("0") or "0"
    text = " ".join(text.split())
    return _number(text) if _NUMBER.fullmatch(text) else text.casefold()


def _number(text: str) -> str:
    digits = f"{Decimal(text):f}"
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if digits in ("-0", "") else digits


def spellings(values: NDArray[Any]) -> NDArray[Any]:
    """Compute the normal forms of the values of a column; missing ones stay NaN.

    Examples
    --------
    >>> spellings(np.array(["A", "a ", None, 1.0], dtype=object)).tolist()
    ['a', 'a', nan, '1']
    """
    codes, distinct = pd.factorize(np.asarray(values, dtype=object))
    table = np.array([*map(spelling, distinct), np.nan], dtype=object)
    return table[codes]


def check_spellings(values: Iterable[Any], where: str, what: str = "class") -> None:
    """Raise if two different values have one spelling, such as a number and its text.

    Examples
    --------
    >>> check_spellings(["1", "2", "01"], "--target")
    Traceback (most recent call last):
    ValueError: --target holds both '01' and '1': if they are one class, write them alike; if not, give them names that
    differ by more than case, blanks or zeros
    """
    first: dict[str, Any] = {}
    for value in sorted(set(values), key=str):
        other = first.setdefault(spelling(value), value)
        if other != value:
            pair = " and ".join(repr(one) if isinstance(one, str) else str(one) for one in (other, value))
            raise ValueError(
                f"{where} holds both {pair}: if they are one {what}, write them alike; if not, give them names that "
                "differ by more than case, blanks or zeros"
            )


def aligned(values: Any, known: Iterable[Any], where: str) -> NDArray[Any]:
    """Values in the spelling of the known ones; others as they are.

    Examples
    --------
    >>> aligned(["1.0", "x"], ["01", "02"], "--a").tolist()
    ['01', 'x']
    """
    codes, distinct = pd.factorize(np.asarray(values, dtype=object), use_na_sentinel=False)
    check_spellings(distinct, where)
    known_forms = {spelling(value): value for value in known}
    return np.array([known_forms.get(spelling(value), value) for value in distinct], dtype=object)[codes]


def as_labels(values: Any) -> NDArray[Any]:
    """Classes as text, whole numbers without a fraction: 1 and 1.0 are one class.

    Examples
    --------
    >>> as_labels(np.array([1.0, 2.5])).tolist(), as_labels(np.array(["1.0"])).tolist()
    (['1', '2.5'], ['1.0'])
    """
    codes, distinct = pd.factorize(np.asarray(values, dtype=object), use_na_sentinel=False)
    labels = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in distinct]
    return np.array(labels, dtype=object)[codes]


def as_cells(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels with an apostrophe in front of those that a spreadsheet would run or a reader would change.

    Examples
    --------
    >>> as_cells(np.array(["=1+1", "-1", "-", "spam"])).tolist(), as_cells(np.array([-1, 1])).tolist()
    (["'=1+1", '-1', '-', 'spam'], [-1, 1])
    """
    if labels.dtype.kind not in "OU":
        return labels
    return np.array([_cell(label) if isinstance(label, str) else label for label in labels.tolist()], dtype=object)


def from_cells(cells: Sequence[str], classes: Collection[str], where: str) -> list[str]:
    """Predictions without the apostrophes of `as_cells`; raise if an apostrophe may belong to the name of a class.

    Examples
    --------
    >>> from_cells(["'=1+1", "a"], {"=1+1", "a"}, "--a"), from_cells(["'s", "a"], {"'s", "a"}, "--a")
    (['=1+1', 'a'], ["'s", 'a'])
    """
    distinct = set(cells)
    marked = {text for text in distinct if text.startswith(_MARK)}
    if not all(_cell(text.removeprefix(_MARK)) == text for text in distinct):
        return list(cells)
    as_written = [text in classes for text in marked]
    unmarked = [text[1:] in classes for text in marked]
    if all(as_written) == all(unmarked) and any(as_written) and any(unmarked):
        raise ValueError(
            f"{where} holds {min(marked)!r}, which may be a class of this name, or what predict writes for "
            f"{min(marked)[1:]!r}, with an apostrophe in front: give these classes other names"
        )
    written_by_predict = all(unmarked) or (any(unmarked) and not any(as_written))
    return [text.removeprefix(_MARK) for text in cells] if written_by_predict else list(cells)


def _cell(label: str) -> str:
    runs = len(label) > 1 and label.startswith(_FORMULA) and not _NUMBER.fullmatch(label)
    return f"{_MARK}{label}" if runs or not label or label.startswith((*_LOST, _MARK)) else label
