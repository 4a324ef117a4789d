r"""Which classifier errs on which validation row: what every bound on a majority vote is computed from.

With E the H x m matrix of errors, the share of the weight that errs on row j is :math:`W_j = \sum_i \rho_i E_{ij}`.
Its mean is the Gibbs risk G, the mean of its square the tandem risk,

.. math:: T = \frac1m \sum_j W_j^2 = \rho^\top \frac{E E^\top}{m}\, \rho,

the share of rows on which two classifiers, drawn independently, both err.

Classifiers may have validation rows of their own, such as the out-of-bag rows of a forest (`OwnRows`).  A pair is then
measured on the rows that validate both: :math:`\hat\Lambda_{ij}` is the share of these on which both err.  The theorem
for pairs holds with the least number of such rows over all pairs, that for single classifiers with the least number of
rows of one: equation (own-rows) of docs/mathematics.md.  The matrix :math:`\hat\Lambda` need not be positive
semidefinite, so nothing is proved about the weights with the smallest bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpstrf

from pacbayes._utils.arrays import EPS, SMALLEST, BoolArray, FloatArray, round_down, round_up
from pacbayes._utils.checks import check_not_masked, check_sample_size
from pacbayes.bounds.bound import average_risk
from pacbayes.posteriors.gibbs import Groups, group_risks

# Rows are turned into floating-point numbers in blocks of about this many entries.
_BLOCK = 1 << 20
# NumPy sums a contiguous array pairwise with a relative error of at most 20 EPS; see pacbayes/bounds/bound.py.
_SUM_ERROR = 20.0
# A search multiplies by the factor about this many times at most: what a smaller factor may cost.
_PRODUCTS = 200


def check_error_rows(error_rows: ArrayLike, m: int) -> BoolArray:
    """Return errors as a boolean matrix of shape (H, m), or raise, naming what is wrong.

    Examples
    --------
    >>> check_error_rows([[0, 1, 0], [1, 1, 0]], 3).dtype
    dtype('bool')
    """
    m = check_sample_size(m)
    array = _check_zero_one("error_rows", error_rows)
    if array.shape[0] == 0:
        raise ValueError("error_rows must hold at least one classifier's errors, got none")
    if array.shape[1] != m:
        raise ValueError(f"error_rows must have a column per validation example, m = {m}, got {array.shape[1]} columns")
    return array


def _check_zero_one(name: str, values: Any) -> BoolArray:
    """Return a matrix of zeros and ones, of whatever type, as a boolean one, or raise, naming what is wrong."""
    array = np.asarray(values)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix, a row per classifier, shape (H, m), got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be true or false, or 0 and 1, got dtype {array.dtype}")
    check_not_masked(name, values)
    if array.dtype.kind != "b":
        wrong = (array != 0) & (array != 1)
        if wrong.any():
            raise ValueError(f"{name} must be 0 or 1, got {array[wrong].flat[0]}")
    return np.ascontiguousarray(array, dtype=np.bool_)


def risks_of(errors: BoolArray) -> FloatArray:
    """Return each classifier's empirical risk, never below the exact quotient.

    Examples
    --------
    >>> risks_of(np.array([[True, False, False], [True, True, True]])).round(6)
    array([0.333333, 1.      ])
    """
    m = errors.shape[1]
    counts = np.count_nonzero(errors, axis=1)
    risks: FloatArray = counts / m
    # A correctly rounded quotient is off by half a unit in its last place; zero and one are exact.
    risks[counts % m != 0] *= 1.0 + EPS
    return risks


def gibbs_risks(weights: FloatArray, risks: FloatArray, total: float) -> tuple[float, float]:
    """Return G = sum(weights * risks) / total for `risks` from `risks_of`, rounded down and rounded up.

    Examples
    --------
    >>> low, high = gibbs_risks(np.array([0.5, 0.5]), np.array([0.1, 0.3]), 1.0)
    >>> low <= 0.2 <= high, round(high - low, 12)
    (True, 0.0)
    """
    high = average_risk(weights, risks, total)
    low = math.fsum((weights * risks).tolist()) / total
    return max(round_down(low, 2.0 * _SUM_ERROR) - weights.size * SMALLEST, 0.0), high


def tandem_risk(weights: FloatArray, errors: BoolArray, total: float) -> float:
    """Return T, the mean over the rows of the square of the weight that errs, divided by total**2, rounded up.

    Examples
    --------
    >>> errors = np.array([[True, False, True, False], [True, True, False, False]])
    >>> round(tandem_risk(np.array([0.5, 0.5]), errors, 1.0), 12)
    0.375
    """
    m = int(errors.shape[1])
    squares, some = [], False
    step = max(1, _BLOCK // weights.size)
    for start in range(0, m, step):
        erring = weights @ errors[:, start : start + step].astype(np.float64)
        some = some or bool(erring.any())
        squares.append(float(np.square(erring).sum()))
    if not some:
        return 0.0  # exactly, as in `average_risk`
    # The terms are not negative, so a sum of H terms in any order has a relative error of at most H EPS / 2.
    error = weights.size + 3.0 * _SUM_ERROR + 8.0
    return min(max(round_up(math.fsum(squares) / m / (total * total), error), SMALLEST), 1.0)


@dataclass(frozen=True, eq=False)
class TandemFactor:
    r"""The quadratic form T of distinct classifiers as a sum of squares, :math:`T = |A^\top \rho|^2` but for `slack`.

    Classifiers with the same errors are one here: the least divergence for given weights of the groups is that of
    weights shared out as in the prior, and T sees the groups only.  Rows on which the same classifiers err are one,
    with their number as a factor, and rows on which none errs are none.
    """

    #: A, shape (G, r).
    factor: FloatArray
    #: T is at least |A' rho|^2 minus this, for all weights with the sum one.
    slack: float
    #: Prior mass and empirical risk of the distinct classifiers, shape (G,).
    log_mass: FloatArray
    risks: FloatArray
    groups: Groups
    #: B, shape (G, s), where T is |A' rho|^2 - |B' rho|^2; None where T is a sum of squares.
    concave: FloatArray | None = None

    def value(self, weights: FloatArray) -> float:
        """Return T of weights of the distinct classifiers, without directed rounding."""
        erring = weights @ self.factor
        square = float(erring @ erring)
        if self.concave is not None:
            less = weights @ self.concave
            square -= float(less @ less)
        return min(max(square, 0.0), 1.0)

    def tangent(self, weights: FloatArray) -> FloatArray:
        """Return the slopes of the concave part of T at weights of the distinct classifiers; zeros without one."""
        if self.concave is None:
            return np.zeros(len(self.risks))
        return np.asarray(-2.0 * (self.concave @ (weights @ self.concave)))

    @classmethod
    def of_losses(
        cls, losses: FloatArray, risks: FloatArray, prior: FloatArray | None, prior_total: float
    ) -> TandemFactor:
        """Write T with any symmetric matrix of tandem losses as a difference of sums of squares; nothing is grouped."""
        groups = group_risks(np.arange(len(risks), dtype=np.float64), None, prior, prior_total)
        kept = groups.risks.astype(np.intp)
        values, vectors = np.linalg.eigh(losses[np.ix_(kept, kept)])
        above, below = values > 0.0, values < 0.0
        log_mass = np.log(groups.mass) - math.log(groups.total)
        return cls(
            np.ascontiguousarray(vectors[:, above] * np.sqrt(values[above]))
            if above.any()
            else np.zeros((kept.size, 1)),
            0.0,
            log_mass,
            risks[kept],
            groups,
            np.ascontiguousarray(vectors[:, below] * np.sqrt(-values[below])) if below.any() else None,
        )

    @classmethod
    def of(cls, errors: BoolArray, prior: FloatArray | None, prior_total: float) -> TandemFactor:
        """Group classifiers and rows, and choose the smaller of the two ways to write T as a sum of squares."""
        m = errors.shape[1]
        first, index = _distinct(errors)
        # Grouped by the number of their pattern as by a risk; patterns without prior mass are none.
        groups = group_risks(index.astype(np.float64), None, prior, prior_total)
        kept = errors[first[groups.risks.astype(np.intp)]]
        columns, where = _distinct(np.ascontiguousarray(kept.T))
        counts = np.bincount(where)
        some = kept[:, columns].any(axis=0)
        patterns, counts = kept[:, columns[some]].astype(np.float64), counts[some]
        factor, slack = patterns * np.sqrt(counts / m), 8 * EPS
        G, r = factor.shape
        if G * r + G * G / 3 < _PRODUCTS * (r - G):
            factor, slack = _square_root(patterns, counts, m)
        log_mass = np.log(groups.mass) - math.log(groups.total)
        return cls(np.ascontiguousarray(factor), slack, log_mass, risks_of(kept), groups)


def _distinct(rows: BoolArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the place of the first of each kind of row, and which kind each row is."""
    packed = np.packbits(rows, axis=1)
    whole = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, index = np.unique(whole, return_index=True, return_inverse=True)
    return first, index


def _square_root(patterns: FloatArray, counts: NDArray[Any], m: int) -> tuple[FloatArray, float]:
    """Return a factor with at most as many columns as rows, and how far its product may be from the tandem losses."""
    # Whole numbers below 2^53: exact in any order.
    losses = (patterns * counts) @ patterns.T / m
    lower, pivots, rank, _ = dpstrf(losses, lower=1)
    factor = np.zeros((losses.shape[0], max(int(rank), 1)))
    factor[pivots - 1, : int(rank)] = np.tril(lower)[:, : int(rank)]
    # The weights sum to one, so the form differs by at most the largest entry of the difference; entries are at most
    # one, and so are, by Cauchy's inequality, the sums of products of which they consist.
    difference = float(np.abs(losses - factor @ factor.T).max())
    return factor, difference + (losses.shape[0] + 8.0) * EPS


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Risks and tandem losses, each on the rows that count for it, and the least numbers of such rows.

    Examples
    --------
    >>> errors = np.array([[1, 0, 0, 0], [1, 1, 0, 0]], dtype=bool)
    >>> own = OwnRows.of(errors, np.array([[1, 1, 1, 0], [1, 1, 0, 1]], dtype=bool))
    >>> own.losses.round(4).tolist(), own.least, own.least_pair
    ([[0.3333, 0.5], [0.5, 0.6667]], 3, 2)
    """

    #: The share of a pair's rows on which both err, rounded up, shape (H, H).
    losses: FloatArray
    #: The share of its own rows on which each errs, rounded up, shape (H,).
    risks: FloatArray
    #: The least number of rows that validate a classifier, and two classifiers.
    least: int
    least_pair: int

    @classmethod
    def of(cls, errors: BoolArray, validated: BoolArray) -> OwnRows:
        """Count errors that are none outside of a classifier's own rows."""
        counts, sizes = _both(errors & validated), _both(validated)
        alone = np.diag(sizes)
        if alone.min() == 0:
            i = int(alone.argmin())
            raise ValueError(f"validated must leave every classifier a row, but none validates classifier {i}")
        some = np.maximum(sizes, 1)
        losses: FloatArray = counts / some
        # A correctly rounded quotient is off by half a unit in its last place; zero and one are exact.
        losses[counts % some != 0] *= 1.0 + EPS
        return cls(losses, np.diag(losses).copy(), int(alone.min()), int(sizes.min()))

    def tandem_risk(self, weights: FloatArray, total: float) -> float:
        """Return T, the tandem loss averaged over pairs drawn by the weights, divided by total**2, rounded up.

        Examples
        --------
        >>> own = OwnRows.of(np.eye(2, dtype=bool), np.ones((2, 2), dtype=bool))
        >>> round(own.tandem_risk(np.array([0.5, 0.5]), 1.0), 12)
        0.25
        """
        value = float(weights @ (self.losses @ weights)) / (total * total)
        if value == 0.0 and not self.losses[np.ix_(weights > 0.0, weights > 0.0)].any():
            return 0.0  # exactly, as in `average_risk`
        # Two sums of H terms that are not negative, and the sum of the weights, twice.
        error = 2.0 * weights.size + 2.0 * _SUM_ERROR + 8.0
        return min(max(round_up(value, error), SMALLEST), 1.0)


def check_validated(validated: object, errors: BoolArray) -> BoolArray:
    """Return which rows validate which classifier as a boolean matrix, or raise, naming what is wrong."""
    array = _check_zero_one("validated", validated)
    if array.shape != errors.shape:
        raise ValueError(f"validated must have the shape of error_rows, {errors.shape}, got {array.shape}")
    outside = errors & ~array
    if outside.any():
        i, j = (int(place) for place in np.argwhere(outside)[0])
        raise ValueError(
            f"error_rows must be 0 where a row does not validate the classifier, got an error of classifier {i} in row "
            f"{j}"
        )
    return array


def _both(rows: BoolArray) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return how many rows are true for both of two classifiers, for each pair."""
    number, n = rows.shape
    found = np.zeros((number, number), dtype=np.int64)
    # Single precision counts exactly up to 2^24, more than a block has.
    step = max(1, _BLOCK // number)
    for start in range(0, n, step):
        block = rows[:, start : start + step].astype(np.float32)
        found += (block @ block.T).astype(np.int64)
    return found
