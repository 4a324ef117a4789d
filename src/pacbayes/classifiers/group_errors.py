"""Errors of rows that come in groups: counted by the size of the group, from which the mean over groups is exact."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pacbayes.bounds.validation import FloatArray
from pacbayes.classifiers.risks import quotient_up

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class GroupErrors:
    r"""Errors on the rows of validation groups, for every classifier.

    The loss of a group is the share of its rows that are predicted wrong, the risk of a classifier the mean over `m`
    groups: with :math:`k_s` errors in all groups of `s` rows together,

    .. math:: \hat l = \frac1m \sum_s \frac{k_s}{s}.

    Attributes
    ----------
    sizes : ndarray of int, shape (S,)
        The sizes that groups have.
    counts : ndarray of int, shape (H, S)
        Errors of every classifier in the groups of each size.

    Examples
    --------
    >>> found = GroupErrors(np.array([1, 3]), np.array([[1, 2], [0, 0], [2, 6]]))
    >>> found.risks(4).tolist()
    [0.4166666666666667, 0.0, 1.0]
    """

    sizes: Rows
    counts: Rows

    def risks(self, m: int) -> FloatArray:
        """Return the mean losses over `m` groups, each the smallest double that is at least the exact one."""
        if self.sizes.min() < 1 or self.counts.min() < 0 or self.counts.shape[1:] != self.sizes.shape:
            raise ValueError("sizes of groups must be positive, errors in them not negative, one number for each size")
        # Whole numbers over one denominator: Python divides them to the nearest double, whatever their length.
        whole = math.lcm(*self.sizes.tolist())
        parts = [whole // size for size in self.sizes.tolist()]
        sums = [sum(count * part for count, part in zip(row, parts, strict=True)) for row in self.counts.tolist()]
        return np.array([quotient_up(total, whole * m) for total in sums], dtype=np.float64)

    def __getitem__(self, rows: slice) -> "GroupErrors":
        """Return those of some classifiers."""
        return GroupErrors(self.sizes, self.counts[rows])

    def __len__(self) -> int:
        return len(self.counts)


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


def count_errors_by_kind(wrong: NDArray[np.bool_], kinds: Rows, number: int) -> Rows:
    """Return how many rows of each kind are wrong, in the last dimension, for each classifier in the others.

    Examples
    --------
    >>> count_errors_by_kind(np.array([[True, False, True], [False, True, True]]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 2]]
    """
    if number == 1:
        return np.count_nonzero(wrong, axis=-1, keepdims=True).astype(np.int64)
    return np.stack([np.count_nonzero(wrong[..., kinds == kind], axis=-1) for kind in range(number)], axis=-1)
