"""Errors counted as integers, and risks that are never below the exact quotient."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pacbayes.numeric.arrays import FloatArray, Rows


def risks_of_errors(errors: NDArray[np.int64], m: int | Rows) -> FloatArray:
    """Return errors/m, each the smallest double that is at least the exact quotient; `m` one for all or one for each.

    The nearest double may lie half a unit below k/m, and a certificate from it would be that much too small.

    Examples
    --------
    >>> risks_of_errors(np.array([0, 1, 3]), 3).tolist()
    [0.0, 0.33333333333333337, 1.0]
    """
    if np.ndim(m) > 0:
        return np.array([quotient_up(int(count), int(size)) for count, size in zip(errors, np.asarray(m), strict=True)])
    counts, places = np.unique(errors, return_inverse=True)
    quotients = [quotient_up(int(count), int(m)) for count in counts]
    return np.array(quotients, dtype=np.float64)[places]


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
