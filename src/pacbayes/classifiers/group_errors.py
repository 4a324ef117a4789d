"""Errors of rows that come in groups: counted by the size of the group, from which the mean over groups is exact."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers.risks import quotient_up
from pacbayes.numeric.arrays import FloatArray, Rows


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


def count_errors_by_kind(wrong: NDArray[np.bool_], kinds: Rows, number: int) -> Rows:
    """Return how many rows of each kind are wrong, in the last dimension, for each classifier in the others.

    Examples
    --------
    >>> count_errors_by_kind(np.array([[True, False, True], [False, True, True]]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 2]]
    """
    if number == 1 and wrong.ndim == 1:
        return np.array([np.count_nonzero(wrong)], dtype=np.int64)  # many times faster than along an axis
    if number == 1:
        return np.count_nonzero(wrong, axis=-1, keepdims=True).astype(np.int64)
    return np.stack([np.count_nonzero(wrong[..., kinds == kind], axis=-1) for kind in range(number)], axis=-1)
