"""Which rows belong together: those of a group the user names, or rows equal in features and class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pacbayes.data.copies import copies_across, equal_labelled_rows, warn_of_copies
from pacbayes.data.splits import DISTINCT, EXAMPLE, GROUP, Splits
from pacbayes.numeric.arrays import Rows
from pacbayes.numeric.checks import check_choice

DUPLICATES = ("keep", "together")


def check_duplicates(duplicates: Any, groups: Any) -> None:
    """Raise for a wrong choice, or one that nothing is proved for."""
    check_choice("duplicates", duplicates, DUPLICATES)
    if groups is not None and duplicates == "together":
        raise ValueError(
            "duplicates must be 'keep' with groups: equal rows of different groups cannot be one draw, and a group is "
            "counted once, whatever copies it holds"
        )


@dataclass(frozen=True)
class Belonging:
    """What is divided and counted, and which rows are equal.

    Attributes
    ----------
    unit : {"example", "distinct example", "group"}
    units : ndarray of shape (N,), or None
        The number of each row's unit; None where every row is one.
    same : ndarray of shape (N,), or None
        The same number for rows equal in features and class; None where rows cannot be compared.
    """

    unit: str
    units: Rows | None
    same: Rows | None

    def copies(self, X: Any, codes: Rows, splits: Splits, number: int) -> int | None:
        """Return how many validation rows equal a training row; warn where they look like copies."""
        if self.same is None:
            return None
        found = copies_across(self.same, splits, number)
        warn_of_copies(X, codes, self.same, found, self.units if self.unit == GROUP else None)
        return found


def belonging(X: Any, codes: Rows, groups: Any, duplicates: str) -> Belonging:
    """Return which rows belong together, by `groups` and (where those are None) by `duplicates`.

    Examples
    --------
    >>> X, codes = [[1.0], [2.0], [1.0]], np.array([0, 0, 0])
    >>> belonging(X, codes, None, "keep").units is None, belonging(X, codes, None, "together").units
    (True, array([0, 1, 0]))
    >>> belonging(X, codes, ["a", "b", "b"], "keep").units
    array([0, 1, 1])
    """
    numbers = None if groups is None else check_groups(groups, codes.size)
    same = equal_labelled_rows(X, codes)
    if numbers is not None:
        return Belonging(GROUP, numbers, same)
    if duplicates == "keep":
        return Belonging(EXAMPLE, None, same)
    if same is None:
        raise TypeError("duplicates='together' needs rows of numbers, texts and the like, which can be compared")
    return Belonging(DISTINCT, same, same)


def check_groups(groups: Any, n: int) -> Rows:
    """Return the number of each row's group, from 0 by first appearance; a row without a group is refused.

    Examples
    --------
    >>> check_groups(["anna", "ben", "anna"], 3)
    array([0, 1, 0])
    >>> check_groups([1.0, float("nan")], 2)
    Traceback (most recent call last):
    ValueError: groups must name the group of every row, got nan for row 1
    """
    if isinstance(groups, str | bytes) or not (hasattr(groups, "__len__") or hasattr(groups, "__array__")):
        raise TypeError(f"groups must hold one entry per row of X, got {groups!r}")
    given: Any = groups.array if isinstance(groups, pd.Series | pd.Index) else _as_array(groups)
    if given.ndim != 1 or len(given) != n:
        raise ValueError(f"groups must hold one entry per row of X, shape ({n},), got shape {given.shape}")
    try:
        numbers, _ = pd.factorize(given)
    except TypeError as error:
        raise TypeError(f"groups must be names or numbers: {error}") from None
    if (numbers < 0).any():
        row = int(np.argmax(numbers < 0))
        raise ValueError(f"groups must name the group of every row, got {given[row]} for row {row}")
    return np.asarray(numbers, dtype=np.int64)


def _as_array(groups: Any) -> NDArray[Any]:
    """Return a list of names as it is: NumPy would make texts of numbers that stand beside texts."""
    table = np.asarray(groups)
    return np.array(groups, dtype=object) if isinstance(groups, list | tuple) and table.ndim == 1 else table
