"""Errors counted as integers, risks that are never below the exact quotient, and upper limits from either."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import FloatArray, Rows, cached_property
from pacbayes._utils.checks import read_only
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper


@dataclass(frozen=True, eq=False)
class Counted:
    r"""Errors of some classifiers on their validation rows, each row or each group of rows for itself.

    The loss of a group is the share of its rows that are predicted wrong, the risk of a classifier the mean over its
    `m` groups: with :math:`k_g` errors among the :math:`s_g` rows of group g,

    .. math:: \hat l = \frac1m \sum_g \frac{k_g}{s_g}.

    Attributes
    ----------
    errors : ndarray of int, shape (R, G)
        Errors of every classifier in every group; a single column where every row is a draw of its own.
    sizes : ndarray of int, shape (G,), or None
        The rows of each group; None where every row is a draw of its own: then errors are binomial.
    m : int
        The rows, or groups, that validate each classifier.

    Examples
    --------
    >>> rows = Counted(np.array([[1], [5]]), None, 20)
    >>> rows.risks, rows.upper(0.05).round(4)
    (array([0.05, 0.25]), array([0.2161, 0.4556]))
    >>> groups = Counted(np.array([[1, 2, 0], [0, 0, 0]]), np.array([1, 3, 2]), 4)
    >>> groups.risks.round(4), groups.upper(0.05).round(4)
    (array([0.4167, 0.    ]), array([0.9073, 0.5271]))
    """

    errors: Rows
    sizes: Rows | None
    m: int

    def __post_init__(self) -> None:
        read_only(self.errors, self.sizes)

    @property
    def exact(self) -> bool:
        """Whether errors are those of independent rows, so that their exact limits hold."""
        return self.sizes is None

    @cached_property
    def risks(self) -> FloatArray:
        """The share of errors of each classifier, or its mean over groups, the least double not below it; (R,)."""
        if self.sizes is None:
            return risks_of_errors(self.errors[:, 0], self.m)
        # Groups of one size have one denominator: their errors are added as whole numbers.
        sizes, places = np.unique(self.sizes, return_inverse=True)
        order = np.argsort(places, kind="stable")
        starts = np.searchsorted(places[order], np.arange(sizes.size))
        by_size = np.add.reduceat(self.errors[:, order], starts, axis=1, dtype=np.int64)
        # Whole numbers over one denominator: Python divides them to the nearest double, whatever their length.
        whole = math.lcm(*sizes.tolist())
        parts = [whole // size for size in sizes.tolist()]
        sums = [sum(count * part for count, part in zip(row, parts, strict=True)) for row in by_size.tolist()]
        return np.array([quotient_up(total, whole * self.m) for total in sums])

    def upper(self, levels: ArrayLike) -> FloatArray:
        """Return the upper limit of each risk at its level: exact for rows, Chernoff's for groups; shape (R,)."""
        if self.sizes is None:
            return binomial_upper(self.errors[:, 0], self.m, levels)
        return chernoff_upper(self.risks, self.m, levels)

    @property
    def total(self) -> Rows:
        """The errors of each classifier on all of its rows; shape (R,)."""
        return np.asarray(self.errors.sum(axis=1))

    def __len__(self) -> int:
        return len(self.errors)

    def __getitem__(self, i: int) -> Counted:
        """Return those of one classifier."""
        return Counted(self.errors[i : i + 1], self.sizes, self.m)


def risks_of_errors(errors: NDArray[np.int64], m: int) -> FloatArray:
    """Return errors/m, each the smallest double that is at least the exact quotient.

    The nearest double may lie half a unit below k/m, and a certificate from it would be that much too small.

    Examples
    --------
    >>> risks_of_errors(np.array([0, 1, 3]), 3).tolist()
    [0.0, 0.33333333333333337, 1.0]
    """
    return quotients_up(errors, np.broadcast_to(m, errors.shape))


def quotients_up(counts: Rows, sizes: Rows) -> FloatArray:
    """Divide counts by sizes, each quotient rounded up to the smallest double that is at least the exact one.

    Examples
    --------
    >>> quotients_up(np.array([[0, 1], [1, 3]]), np.array([[2, 3], [3, 3]])).tolist()
    [[0.0, 0.33333333333333337], [0.33333333333333337, 1.0]]
    """
    # Each pair is divided exactly once, in Python: there are few different ones.
    known, kinds = np.unique(sizes, return_inverse=True)
    pairs, places = np.unique(counts * known.size + kinds.reshape(counts.shape), return_inverse=True)
    numbers = (divmod(pair, known.size) for pair in pairs.tolist())
    quotients = np.array([quotient_up(count, int(known[kind])) for count, kind in numbers], dtype=np.float64)
    return np.asarray(quotients[places.reshape(counts.shape)])


def quotient_up(count: int, m: int) -> float:
    """Return the smallest double that is at least count/m, for whole numbers of any length.

    Examples
    --------
    >>> quotient_up(1, 3), quotient_up(2, 4)
    (0.33333333333333337, 0.5)
    """
    quotient = count / m
    return math.nextafter(quotient, math.inf) if Fraction(quotient) < Fraction(count, m) else quotient


def risks_of_losses(losses: FloatArray) -> FloatArray:
    """Return the mean of each row of losses in [0, 1], rounded up by at most two units in the last place.

    Zero stays zero and one stays one.

    Examples
    --------
    >>> risks_of_losses(np.array([[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]])).round(6).tolist()
    [0.0, 0.375, 1.0]
    """
    m = losses.shape[1]
    return np.array([_mean_up(row.tolist(), m) for row in losses])


def _mean_up(values: list[float], m: int) -> float:
    total = math.fsum(values)  # correctly rounded: at most half a unit below the exact sum
    if total == 0.0 or all(value in (0.0, 1.0) for value in values):
        return quotient_up(int(total), m)
    return min(math.nextafter(math.nextafter(total, math.inf) / m, math.inf), 1.0)


def count_errors(predictions: NDArray[np.generic], labels: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return how many of each row's predictions differ from the labels.

    Examples
    --------
    >>> count_errors(np.array([[0, 1, 1], [0, 0, 0]]), np.array([0, 1, 0]))
    array([1, 1])
    """
    # Row by row: the comparison of all at once would need a second matrix of this size.
    return np.array([np.count_nonzero(row != labels) for row in predictions], dtype=np.int64)
