r"""Gibbs and tandem risks of weighted classifiers, computed from the matrix of their errors on the validation rows.

With E the H x m matrix of errors, the weight of the classifiers that are wrong on row j is
:math:`W_j = \sum_i \rho_i E_{ij}`.  Its mean is the Gibbs risk G, the mean of its square the tandem risk,

.. math:: T = \frac1m \sum_j W_j^2 = \rho^\top \frac{E E^\top}{m}\, \rho,

the probability that two classifiers drawn independently are both wrong.

Each classifier may have its own validation rows, such as the out-of-bag rows of a forest (`PairwiseRisks`).  A pair is
then evaluated on the rows that both share: :math:`\hat\Lambda_{ij}` is the fraction of these on which both are wrong.
The theorem for pairs holds with the smallest number of such rows over all pairs, the theorem for single classifiers
with the smallest number of rows of a classifier: equation (own-rows) of docs/mathematics.md.  The matrix
:math:`\hat\Lambda` need not be positive semidefinite, so no lower bound over all weights is available.
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

# Maximum number of entries per block when rows are converted to floating-point numbers.
_BLOCK = 1 << 20
# Relative error of NumPy's pairwise sum of a contiguous array, in units of EPS; see pacbayes/bounds/bound.py.
_SUM_ERROR = 20.0
# Approximate number of products with the factor in a search, over which the cost of a smaller factor must pay off.
_EXPECTED_PRODUCTS = 200


def check_error_rows(error_rows: ArrayLike, m: int) -> BoolArray:
    """Validate errors and convert them to a boolean matrix of shape (H, m).

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
    """Validate a matrix of zeros and ones and convert it to a boolean matrix."""
    array = np.asarray(values)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix, a row per classifier, shape (H, m), got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be true or false, or 0 and 1, got dtype {array.dtype}")
    check_not_masked(name, values)
    if array.dtype.kind != "b":
        invalid = (array != 0) & (array != 1)
        if invalid.any():
            raise ValueError(f"{name} must be 0 or 1, got {array[invalid].flat[0]}")
    return np.ascontiguousarray(array, dtype=np.bool_)


def empirical_risks(errors: BoolArray) -> FloatArray:
    """Empirical risk of each classifier, rounded up.

    Examples
    --------
    >>> empirical_risks(np.array([[True, False, False], [True, True, True]])).round(6)
    array([0.333333, 1.      ])
    """
    m = errors.shape[1]
    counts = np.count_nonzero(errors, axis=1)
    risks: FloatArray = counts / m
    # A correctly rounded quotient has an error of half a unit in its last place; zero and one are exact.
    risks[counts % m != 0] *= 1.0 + EPS
    return risks


def gibbs_risks(weights: FloatArray, risks: FloatArray, total: float) -> tuple[float, float]:
    """Gibbs risk G = sum(weights * risks) / total for `risks` from `empirical_risks`, rounded down and rounded up.

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
    """Tandem risk T: the mean over rows of the squared weight of wrong classifiers, over total**2, rounded up.

    Examples
    --------
    >>> errors = np.array([[True, False, True, False], [True, True, False, False]])
    >>> round(tandem_risk(np.array([0.5, 0.5]), errors, 1.0), 12)
    0.375
    """
    m = int(errors.shape[1])
    squares, any_errors = [], False
    step = max(1, _BLOCK // weights.size)
    for start in range(0, m, step):
        error_weights = weights @ errors[:, start : start + step].astype(np.float64)
        any_errors = any_errors or bool(error_weights.any())
        squares.append(float(np.square(error_weights).sum()))
    if not any_errors:
        return 0.0  # exactly zero, as in `average_risk`
    # The terms are non-negative, so a sum of H terms in any order has a relative error of at most H EPS / 2.
    error = weights.size + 3.0 * _SUM_ERROR + 8.0
    return min(max(round_up(math.fsum(squares) / m / (total * total), error), SMALLEST), 1.0)


@dataclass(frozen=True, eq=False)
class TandemFactor:
    r"""Tandem risk T of distinct classifiers as a sum of squares, :math:`T = |A^\top \rho|^2` up to `slack`.

    Classifiers with identical errors form a group: T depends on the weights of the groups only, and for fixed group
    weights the divergence is smallest if they are distributed within each group as in the prior.  Rows on which the
    same classifiers are wrong are merged, weighted by their number; rows without errors are dropped.
    """

    #: A, shape (G, r).
    factor: FloatArray
    #: T is at least |A' rho|^2 minus this, for all weights that sum to one.
    slack: float
    #: Prior mass and empirical risk of the distinct classifiers, shape (G,).
    log_mass: FloatArray
    risks: FloatArray
    groups: Groups
    #: B, shape (G, s), if T is |A' rho|^2 - |B' rho|^2; None if T is a sum of squares.
    concave: FloatArray | None = None

    def value(self, weights: FloatArray) -> float:
        """Compute T for weights of the distinct classifiers, without directed rounding."""
        image = weights @ self.factor
        square = float(image @ image)
        if self.concave is not None:
            concave_image = weights @ self.concave
            square -= float(concave_image @ concave_image)
        return min(max(square, 0.0), 1.0)

    def tangent(self, weights: FloatArray) -> FloatArray:
        """Gradient of the concave part of T at weights of the distinct classifiers; zeros if there is none."""
        if self.concave is None:
            return np.zeros(len(self.risks))
        return np.asarray(-2.0 * (self.concave @ (weights @ self.concave)))

    @classmethod
    def from_losses(
        cls, losses: FloatArray, risks: FloatArray, prior: FloatArray | None, prior_total: float
    ) -> TandemFactor:
        """Factorise any symmetric matrix of tandem losses as a difference of two sums of squares, without grouping."""
        groups = group_risks(np.arange(len(risks), dtype=np.float64), None, prior, prior_total)
        support = groups.risks.astype(np.intp)
        values, vectors = np.linalg.eigh(losses[np.ix_(support, support)])
        above, below = values > 0.0, values < 0.0
        log_mass = np.log(groups.mass) - math.log(groups.total)
        return cls(
            np.ascontiguousarray(vectors[:, above] * np.sqrt(values[above]))
            if above.any()
            else np.zeros((support.size, 1)),
            0.0,
            log_mass,
            risks[support],
            groups,
            np.ascontiguousarray(vectors[:, below] * np.sqrt(-values[below])) if below.any() else None,
        )

    @classmethod
    def from_errors(cls, errors: BoolArray, prior: FloatArray | None, prior_total: float) -> TandemFactor:
        """Group classifiers and rows, and use the smaller of two factors: error patterns or a Cholesky factor."""
        m = errors.shape[1]
        first, index = _index_distinct_rows(errors)
        # Group by the index of the error pattern instead of the risk; patterns without prior mass are dropped.
        groups = group_risks(index.astype(np.float64), None, prior, prior_total)
        distinct = errors[first[groups.risks.astype(np.intp)]]
        columns, column_index = _index_distinct_rows(np.ascontiguousarray(distinct.T))
        counts = np.bincount(column_index)
        nonzero = distinct[:, columns].any(axis=0)
        patterns, counts = distinct[:, columns[nonzero]].astype(np.float64), counts[nonzero]
        factor, slack = patterns * np.sqrt(counts / m), 8 * EPS
        G, r = factor.shape
        if G * r + G * G / 3 < _EXPECTED_PRODUCTS * (r - G):
            factor, slack = _cholesky(patterns, counts, m)
        log_mass = np.log(groups.mass) - math.log(groups.total)
        return cls(np.ascontiguousarray(factor), slack, log_mass, empirical_risks(distinct), groups)


def _index_distinct_rows(rows: BoolArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Index of the first occurrence of each distinct row, and the index of the distinct row equal to each row."""
    packed = np.packbits(rows, axis=1)
    row_bytes = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, index = np.unique(row_bytes, return_index=True, return_inverse=True)
    return first, index


def _cholesky(patterns: FloatArray, counts: NDArray[Any], m: int) -> tuple[FloatArray, float]:
    """Pivoted Cholesky factor of the matrix of tandem losses, and a bound on its backward error."""
    # Integers below 2^53: exact in any order of summation.
    losses = (patterns * counts) @ patterns.T / m
    lower, pivots, rank, _ = dpstrf(losses, lower=1)
    factor = np.zeros((losses.shape[0], max(int(rank), 1)))
    factor[pivots - 1, : int(rank)] = np.tril(lower)[:, : int(rank)]
    # The weights sum to one, so the quadratic form differs by at most the largest entry of the difference.  All entries
    # are at most one, and so are, by the Cauchy-Schwarz inequality, the sums of products that they consist of.
    difference = float(np.abs(losses - factor @ factor.T).max())
    return factor, difference + (losses.shape[0] + 8.0) * EPS


@dataclass(frozen=True, eq=False)
class PairwiseRisks:
    """Risks and tandem losses of classifiers with their own validation rows, and the smallest sample sizes.

    Examples
    --------
    >>> errors = np.array([[1, 0, 0, 0], [1, 1, 0, 0]], dtype=bool)
    >>> rows = PairwiseRisks.from_masks(errors, np.array([[1, 1, 1, 0], [1, 1, 0, 1]], dtype=bool))
    >>> rows.losses.round(4).tolist(), rows.min_rows, rows.min_pair_rows
    ([[0.3333, 0.5], [0.5, 0.6667]], 3, 2)
    """

    #: Tandem losses: the fraction of a pair's rows on which both are wrong, rounded up, shape (H, H).
    losses: FloatArray
    #: Empirical risk of each classifier on its own rows, rounded up, shape (H,).
    risks: FloatArray
    #: Smallest number of validation rows of a classifier, and of a pair of classifiers.
    min_rows: int
    min_pair_rows: int

    @classmethod
    def from_masks(cls, errors: BoolArray, validated: BoolArray) -> PairwiseRisks:
        """Compute risks from errors and from the masks of validation rows."""
        counts, sizes = _count_common_rows(errors & validated), _count_common_rows(validated)
        n_rows = np.diag(sizes)
        if n_rows.min() == 0:
            i = int(n_rows.argmin())
            raise ValueError(f"validated must contain at least one row per classifier, got none for classifier {i}")
        divisors = np.maximum(sizes, 1)
        losses: FloatArray = counts / divisors
        # A correctly rounded quotient has an error of half a unit in its last place; zero and one are exact.
        losses[counts % divisors != 0] *= 1.0 + EPS
        return cls(losses, np.diag(losses).copy(), int(n_rows.min()), int(sizes.min()))

    def tandem_risk(self, weights: FloatArray, total: float) -> float:
        """Tandem risk T: the weighted average of the tandem losses over pairs, over total**2, rounded up.

        Examples
        --------
        >>> rows = PairwiseRisks.from_masks(np.eye(2, dtype=bool), np.ones((2, 2), dtype=bool))
        >>> round(rows.tandem_risk(np.array([0.5, 0.5]), 1.0), 12)
        0.25
        """
        value = float(weights @ (self.losses @ weights)) / (total * total)
        if value == 0.0 and not self.losses[np.ix_(weights > 0.0, weights > 0.0)].any():
            return 0.0  # exactly zero, as in `average_risk`
        # Two sums of H non-negative terms, and the sum of the weights twice.
        error = 2.0 * weights.size + 2.0 * _SUM_ERROR + 8.0
        return min(max(round_up(value, error), SMALLEST), 1.0)


def check_validated(validated: object, errors: BoolArray) -> BoolArray:
    """Validate the masks of the classifiers' validation rows and convert them to a boolean matrix."""
    array = _check_zero_one("validated", validated)
    if array.shape != errors.shape:
        raise ValueError(f"validated must have the shape of error_rows, {errors.shape}, got {array.shape}")
    outside = errors & ~array
    if outside.any():
        i, j = (int(index) for index in np.argwhere(outside)[0])
        raise ValueError(
            f"error_rows must be 0 outside of each classifier's validation rows, got an error of classifier {i} in row "
            f"{j}"
        )
    return array


def _count_common_rows(rows: BoolArray) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Count the rows that are true for both classifiers of each pair."""
    n_classifiers, n_rows = rows.shape
    counts = np.zeros((n_classifiers, n_classifiers), dtype=np.int64)
    # Single precision counts exactly up to 2^24, more than a block has.
    step = max(1, _BLOCK // n_classifiers)
    for start in range(0, n_rows, step):
        block = rows[:, start : start + step].astype(np.float32)
        counts += (block @ block.T).astype(np.int64)
    return counts
