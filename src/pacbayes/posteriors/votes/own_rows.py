r"""Error rows of classifiers with validation rows of their own, such as the out-of-bag rows of a forest.

A pair of classifiers is measured on the rows that validate both: :math:`\hat\Lambda_{ij}` is the share of these on
which both err.  The theorem for pairs then holds with the least number of such rows over all pairs, that for single
classifiers with the least number of rows of one: equation (own-rows) of docs/mathematics.md.  The matrix
:math:`\hat\Lambda` need not be positive semidefinite, so nothing is proved about the weights with the smallest bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.rounding import EPS, SMALLEST, round_up
from pacbayes.posteriors.votes.error_rows import SUM_ERROR, BoolArray, check_zero_one

# Pairs are counted in blocks of about this many entries; single precision counts exactly up to 2^24.
_BLOCK = 1 << 20


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
        error = 2.0 * weights.size + 2.0 * SUM_ERROR + 8.0
        return min(max(round_up(value, error), SMALLEST), 1.0)


def check_validated(validated: object, errors: BoolArray) -> BoolArray:
    """Return which rows validate which classifier as a boolean matrix, or raise, naming what is wrong."""
    array = check_zero_one("validated", validated)
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
    step = max(1, _BLOCK // number)
    for start in range(0, n, step):
        block = rows[:, start : start + step].astype(np.float32)
        found += (block @ block.T).astype(np.int64)
    return found
