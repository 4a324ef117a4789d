"""Names of classes in the cells of a file: written so that no spreadsheet runs them, and read back as the same names.

As text 1, 01 and 1.0 are three names; as numbers, as which many programs read them, they are one.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What a spreadsheet takes for a formula if more follows, what readers of CSV files may drop, and what marks them here.
_FORMULA, _LOST, _MARK = ("=", "+", "-", "@"), (" ", "\t", "\r", "\n"), "'"
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
#: A text as the one spelling of what it stands for, None if it stands for nothing of that kind.
Spelling = Callable[[str], str | None]


def as_labels(values: Any) -> NDArray[Any]:
    """Return classes as text, whole numbers without a fraction: 1 and 1.0 are one class.

    Examples
    --------
    >>> as_labels(np.array([1.0, 2.5])).tolist(), as_labels(np.array(["1.0"])).tolist()
    (['1', '2.5'], ['1.0'])
    """
    return np.array([_label(value) for value in values.tolist()], dtype=object)


def _label(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def as_cells(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels with an apostrophe in front of those that a spreadsheet would run or a reader change.

    Examples
    --------
    >>> as_cells(np.array(["=1+1", "-1", "-", "spam"])).tolist(), as_cells(np.array([-1, 1])).tolist()
    (["'=1+1", '-1', '-', 'spam'], [-1, 1])
    """
    if labels.dtype.kind not in "OU":
        return labels
    return np.array([_cell(label) if isinstance(label, str) else label for label in labels.tolist()], dtype=object)


def from_cells(said: Sequence[str], classes: Collection[str], where: str) -> list[str]:
    """Return predictions without the apostrophes of `as_cells`, where they are from there; raise where that is unclear.

    Examples
    --------
    >>> from_cells(["'=1+1", "a"], {"=1+1", "a"}, "--a"), from_cells(["'s", "a"], {"'s", "a"}, "--a")
    (['=1+1', 'a'], ["'s", 'a'])
    """
    marked = {text for text in said if text.startswith(_MARK)}
    if not all(_cell(text.removeprefix(_MARK)) == text for text in set(said)):
        return list(said)
    as_written = [text in classes for text in marked]
    without = [text[1:] in classes for text in marked]
    if all(as_written) == all(without) and any(as_written) and any(without):
        raise ValueError(
            f"{where} holds {min(marked)!r}, which may be a class of this name, or what predict writes for "
            f"{min(marked)[1:]!r}, with an apostrophe in front: give these classes other names"
        )
    ours = all(without) or (any(without) and not any(as_written))
    return [text.removeprefix(_MARK) for text in said] if ours else list(said)


def _cell(label: str) -> str:
    runs = len(label) > 1 and label.startswith(_FORMULA) and not _NUMBER.fullmatch(label)
    return f"{_MARK}{label}" if runs or not label or label.startswith((*_LOST, _MARK)) else label


def spelling_of(texts: Iterable[str]) -> Spelling | None:
    """Return how texts are compared if all of them are numbers, or truth values; None for others."""
    known = set(texts)
    return next((one for one in (number_spelling, truth_spelling) if all(one(text) for text in known)), None)


def check_spellings(texts: Iterable[str], spelling: Spelling, where: str) -> None:
    """Raise if two texts are two classes as text and one as what they stand for.

    Examples
    --------
    >>> check_spellings(["1", "2", "01"], number_spelling, "--target")
    Traceback (most recent call last):
    ValueError: --target holds both '01' and '1': if they are one class, write them alike; if not, give them names that
    are not the same number or truth value
    """
    first: dict[str, str] = {}
    for text in sorted(set(texts)):
        one = spelling(text)
        if one is not None and first.setdefault(one, text) != text:
            raise ValueError(
                f"{where} holds both {first[one]!r} and {text!r}: if they are one class, write them alike; if not, "
                "give them names that are not the same number or truth value"
            )


def aligned(said: Sequence[str], y_true: Sequence[str], where: str) -> NDArray[Any]:
    """Return predictions in the spelling of the true classes, if these are numbers or truth values: 1 for 01 and 1.0.

    Examples
    --------
    >>> aligned(["1.0", "x"], ["01", "02"], "--a").tolist()
    ['01', 'x']
    """
    spelling = spelling_of(y_true)
    if spelling is None:
        return np.array(said, dtype=object)
    check_spellings(said, spelling, where)
    own = {spelling(text): text for text in set(y_true)}
    spellings = {text: own.get(spelling(text), text) for text in set(said)}
    return np.array([spellings[text] for text in said], dtype=object)


def number_spelling(text: str) -> str | None:
    """Return the one way in which a number is written here, exact however many digits it has; None for other texts."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if number.is_nan() or "_" in text:
        return None
    # Not normalize(): it rounds to the digits of a context.
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return f"{'-' if sign else ''}inf"
    whole = "".join(map(str, digits)).lstrip("0")
    kept = whole.rstrip("0")
    return f"{'-' if sign and kept else ''}{kept or '0'}e{exponent + len(whole) - len(kept) if kept else 0}"


def truth_spelling(text: str) -> str | None:
    """Return a truth value in small letters; None for other texts."""
    return text.lower() if text.lower() in ("true", "false") else None
