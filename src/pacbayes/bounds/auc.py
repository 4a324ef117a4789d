r"""Exact lower bounds of the area under the ROC curve, from independent pairs of a positive and a negative row.

Given the labels, pair each row of the smaller class with another row of the larger class, in an order that depends on
neither labels nor scores.  The `n` pairs are independent, and each is in order, :math:`s_+ > s_-`, with probability
:math:`\theta = P(s_+ > s_-) \le \mathrm{AUC}`, in which ties count half.  The number of pairs in order has a
Clopper-Pearson bound.

If one class is much larger, the bet :math:`\prod_j (1 + b Z_j) / (1 + b\,\theta)` on the pairs,
:math:`Z_j = [s_+ > s_-]`, averaged over all pairings, gives a tighter one: its mean is at most 1 for every number `b`
that is fixed for :math:`\theta`, equation (auc-bet) of docs/mathematics.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import expm1, log, log1p, sqrt

import numpy as np

from pacbayes._utils.arrays import EPS, FloatArray, Rows, round_down
from pacbayes.bounds.binomial import binomial_upper

# The average over all pairings takes quadratic time: it is for at most this many rows of the smaller class.
_MAX_AVERAGED = 2000
# Intervals of theta, each with a bet of its own; the largest logarithm of 1 + b.
_N_INTERVALS, _MAX_LOG_BET = 200, 30.0
# The logarithm of 1 + b, in units of that which is best for a normal AUC with Hanley and McNeil's variance.
_BET_SCALE = 1.5


def auc_lower(positive: FloatArray, negative: FloatArray, delta: float, rng: np.random.Generator) -> float:
    """Lower bound of the AUC at level `delta`, rounded down; 0 without rows of both classes, or at level 0.

    The numbers of rows alone decide between pairs in the order of `rng` and the average over all pairings.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> round(auc_lower(rng.normal(1.5, size=40), rng.normal(size=160), 0.05, rng), 2)
    0.77
    >>> auc_lower(np.array([1.0]), np.array([]), 0.05, rng)
    0.0
    """
    n, larger = sorted((positive.size, negative.size))
    if n == 0 or delta == 0.0:
        return 0.0
    if 2 * n <= larger and n <= _MAX_AVERAGED:
        return _auc_lower_all_pairings(positive, negative, delta)
    return _auc_lower_from_pairs(positive, negative, delta, rng)


def count_ordered_pairs(positive: FloatArray, negative: FloatArray) -> float:
    """Count the pairs in order; ties count half.

    Examples
    --------
    >>> count_ordered_pairs(np.array([2.0, 3.0]), np.array([1.0, 2.0, 2.0]))
    5.0
    """
    ascending = np.sort(negative)
    below = np.searchsorted(ascending, positive, "left") + np.searchsorted(ascending, positive, "right")
    return float(below.sum()) / 2.0


def _auc_lower_from_pairs(positive: FloatArray, negative: FloatArray, delta: float, rng: np.random.Generator) -> float:
    n = min(positive.size, negative.size)
    first, second = rng.permutation(positive)[:n], rng.permutation(negative)[:n]
    wrong = int(np.count_nonzero(first <= second))
    return max(round_down(1.0 - float(binomial_upper(wrong, n, delta))), 0.0)


def _auc_lower_all_pairings(positive: FloatArray, negative: FloatArray, delta: float) -> float:
    """Lower end of the values of theta that the averaged bet does not reject.

    In an interval of theta, `b` is constant and the bet decreases in theta: an interval is rejected if its right end
    is.  The bound is in the first interval that is not.
    """
    n, larger = sorted((positive.size, negative.size))
    log_means, needed = _log_mean_polynomials(_ordered_counts(positive, negative), larger), log(1.0 / delta)
    places = np.arange(n + 1)

    def rejects(log_bet: float, theta: float) -> bool:
        b = expm1(log_bet)
        terms = log_means + places * log(b)
        most = float(terms.max())
        total = most + log(float(np.exp(terms - most).sum())) - n * log1p(b * theta)
        # Errors of the logarithms, at most some units in the last place of the largest in each of n steps.
        margin = 16.0 * EPS * (n + 8) * (n * (log(larger + 1.0) + log_bet + 2.0) + abs(log(b)) * n)
        return total - margin >= needed

    edges = np.linspace(0.0, 1.0, _N_INTERVALS + 1).tolist()
    for low, high in pairwise(edges):
        log_bet = _log_bet_size((low + high) / 2.0, positive.size, negative.size, delta)
        if not rejects(log_bet, high):
            return _bisect_rejected(low, high, partial(rejects, log_bet))
    raise AssertionError("no bet rejects theta = 1")


def _bisect_rejected(low: float, high: float, rejects: Callable[[float], bool]) -> float:
    """Bisect for the largest rejected value; `low` itself is the end of the interval before."""
    if not rejects(low):
        return low
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            return low
        low, high = (middle, high) if rejects(middle) else (low, middle)


def _ordered_counts(positive: FloatArray, negative: FloatArray) -> Rows:
    """Count the rows of the larger class that are in order with each row of the smaller one, ascending."""
    if positive.size <= negative.size:
        return np.sort(np.searchsorted(np.sort(negative), positive, "left"))
    return np.sort(positive.size - np.searchsorted(np.sort(positive), negative, "right"))


def _log_mean_polynomials(ordered_counts: Rows, larger_size: int) -> FloatArray:
    r"""Logarithms of the mean elementary symmetric polynomials of the Z_j over all pairings, shape (n + 1,).

    The mean of the k-th is :math:`\sum_{J} \prod_{i=1}^k (a_{j_i} - i + 1)_+ / (N - i + 1)` over all subsets
    :math:`j_1 < \dots < j_k` of the rows of the smaller class, where :math:`a_1 \le a_2 \le \dots` are the numbers of
    `ordered_counts`.

    Examples
    --------
    >>> np.exp(_log_mean_polynomials(np.array([1, 2]), 2)).round(4)
    array([1. , 1.5, 0.5])
    """
    n = ordered_counts.size
    with np.errstate(divide="ignore"):
        logs = np.log(np.arange(larger_size + 1, dtype=np.float64))
    totals = np.full(n + 1, -np.inf)
    totals[0] = 0.0
    denominators = logs[larger_size - np.arange(n)]
    for i, a in enumerate(ordered_counts.tolist()):
        factors = logs[np.maximum(a - np.arange(i + 1), 0)] - denominators[: i + 1]
        totals[1 : i + 2] = np.logaddexp(totals[1 : i + 2], totals[: i + 1] + factors)
    return totals


def _log_bet_size(theta: float, n_positive: int, n_negative: int, delta: float) -> float:
    """Logarithm of 1 + b for a value of theta, from the variance of Hanley and McNeil (1982)."""
    q1, q2 = theta / (2.0 - theta), 2.0 * theta**2 / (1.0 + theta)
    variance = theta * (1.0 - theta) + (n_positive - 1) * (q1 - theta**2) + (n_negative - 1) * (q2 - theta**2)
    deviation = sqrt(variance / (n_positive * n_negative))
    return min(_BET_SCALE * sqrt(2.0 * log(1.0 / delta)) / (min(n_positive, n_negative) * deviation), _MAX_LOG_BET)
