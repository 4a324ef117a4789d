r"""Betting bounds: upper confidence bounds on one or several means of losses in [0, 1], by a pre-specified bet.

Bet the fraction `b` of a capital on every row that the mean is below `r`.  After the losses
:math:`x_1, \dots, x_m` the capital is

.. math:: C(r) = \prod_t \Big(1 - b + b\,\frac{1 - x_t}{1 - r}\Big).

For independent losses of mean `r` each factor has mean one, so :math:`C(r) \ge 1/\delta` has probability at most
:math:`\delta` (Markov's inequality): the `r` with :math:`C(r) < 1/\delta` form a confidence set.  It is an interval
that starts at 0, because `C` increases with `r`; its right end is the bound.  The order of the rows does not matter.
For rows of several classes, each with its own mean, the product of the capitals also has mean at most one, so a single
event covers all classes simultaneously.

With :math:`r = 1 - e^{-w}`, a factor's logarithm :math:`\ln((1-b) + b(1-x)e^w)` is convex in `w`, and in `r` as well:

.. math:: \ln\big((1-b)(1-r) + b(1-x)\big) - \ln(1-r) \quad\text{has the second derivative}\quad
    \frac{1}{(1-r)^2} - \frac{(1-b)^2}{((1-b)(1-r) + b(1-x))^2} \ge 0.

References
----------
Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B, 2024 (with
:math:`\lambda = b/(1-r)`).  Hoeffding, Probability inequalities for sums of bounded random variables, JASA, 1963.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize, minimize_scalar

from pacbayes._utils.arrays import EPS, FloatArray, default_errstate, round_down, round_up
from pacbayes._utils.checks import check_distribution, check_in_range, check_number, check_numbers, check_sample_size

#: Default bet, for when there are no training losses to choose one from.
DEFAULT_BET = 0.89
# Search range of the bet.  The best bet decreases like one over the square root of the number of rows.
_MIN_BET, _MAX_BET = 1e-4, 0.999
# Bet if all training losses are 1: the best bet is small if nearly all losses are 1.
_BET_FOR_ALL_ERRORS = 0.01
# Rows of loss 1 added to the losses that a bet is chosen for: a bet tuned to these losses alone is much too large if
# the validation rows have a few more errors.
_EXTRA_LOSS = 0.25
# Above this many distinct losses, neighbours are merged before a bet is chosen.
_MAX_DISTINCT_LOSSES = 10_000
# A smaller bet could lose digits among the subnormal numbers.
_SMALLEST_BET = 1e-100
# Log capital at the smallest positive level: larger values do not change the choice of a bet.
_MAX_LOG_CAPITAL = 745.0
# From here on 1 - exp(-w) rounds to 1.
_MAX_W = 40.0
# Relative error of the slopes of the tangents at the maximum.
_SLOPE_TOLERANCE = 1e-11


def bet_upper(losses: ArrayLike, b: float, delta: float, counts: ArrayLike | None = None) -> float:
    r"""Betting bound: upper confidence bound on the mean of independent losses in [0, 1] [1]_.

    The root of

    .. math:: \prod_t \Big(1 - b + b\,\frac{1 - x_t}{1 - r}\Big) = \frac{1}{\delta}

    in `r`; 1 if all losses are 1 or there are none.  For 0-1 losses the exact bound, `binomial_upper`, is smaller.

    Parameters
    ----------
    losses : array_like of float
        Losses in [0, 1], rounded up by the caller: a loss that is too small makes the bound too small.  Losses scaled
        to [0, 1] must be divided by the largest possible loss, not by the largest observed one.
    b : float
        The bet, strictly between 0 and 1 and not below 1e-100.  It must not depend on these losses; see `best_bet`.
    delta : float
        The level in [0, 1]; the bound at level 0 is 1.
    counts : array_like of int, optional
        Number of rows with each of the losses, 1 by default.  A million rows with few distinct losses then take no
        longer than a few.

    Returns
    -------
    float
        Rounded up: the capital at the bound, in real arithmetic, is at least `1/delta`.

    See Also
    --------
    best_bet : Choose `b` from training rows.
    joint_upper : A weighted sum of several means.

    References
    ----------
    .. [1] I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the
       Royal Statistical Society B 86, 2024.

    Examples
    --------
    >>> losses = [0.0] * 40 + [0.1] * 15 + [0.3] * 5
    >>> print(f"{bet_upper(losses, 0.89, 0.05):.4f} {bet_upper([0.0, 0.1, 0.3], 0.89, 0.05, [40, 15, 5]):.4f}")
    0.1054 0.1054
    """
    bet = _make_bet(losses, b, counts)
    level = _log_capital_threshold(delta)
    if not bet.can_gain or level == math.inf:
        return 1.0
    with default_errstate():
        capitals = _Capitals([bet])
        # Start slightly above the root, where the test below usually passes the first time.
        w = capitals.root(round_up(level) + EPS * (12.0 * bet.rows + 8.0 * level))
        step = 4.0 * EPS
        while w < _MAX_W:
            if bet.lower(w) > level:
                return min(-math.expm1(-w) * (1.0 + 4.0 * EPS), 1.0)
            w *= 1.0 + step
            step *= 2.0
    return 1.0


def best_bet(losses: ArrayLike, m: int, delta: float) -> float:
    r"""Choose the bet for `m` validation rows from the cross-validated losses of training rows.

    This is the bet with the smallest bound if the `m` rows have the same losses in the same proportions, plus a quarter
    of a row with loss 1:

    .. math:: \min_b\, r : \quad \frac{m}{n} \sum_{t \le n} \ln\Big(1 - b + b\,\frac{1 - x_t}{1 - r}\Big)
        + \frac14 \ln(1 - b) = \ln\frac1\delta.

    For fixed `r` the left side is concave in `b`, so the bound first decreases and then increases with `b`: a
    one-dimensional search finds the minimum.

    Parameters
    ----------
    losses : array_like of float
        Losses in [0, 1] of rows outside of the validation set.
    m : int
        Number of validation rows.
    delta : float
        The level of the bound, in [0, 1].

    Returns
    -------
    float
        Between 0.0001 and 0.999, rounded to four digits; `DEFAULT_BET` if there are no losses or no rows.

    See Also
    --------
    bet_upper : The bound.
    best_bets : The bets of several classes.

    Examples
    --------
    >>> best_bet([0.0] * 40 + [0.1] * 15 + [0.3] * 5, 60, 0.05), best_bet([], 60, 0.05)
    (0.9292, 0.89)
    """
    expected = _expected_losses(losses, m)
    level = min(_log_capital_threshold(delta), _MAX_LOG_CAPITAL)
    if expected.rows == 0.0:
        return DEFAULT_BET
    if not expected.can_gain:
        return _BET_FOR_ALL_ERRORS

    def root(b: float) -> float:
        return _Capitals([replace(expected, b=b)]).root(level)

    with default_errstate():
        result = minimize_scalar(root, bounds=(_MIN_BET, _MAX_BET), method="bounded", options={"xatol": 1e-7})
    return _round_bet(result.x)


def joint_upper(
    losses_by_class: Sequence[ArrayLike],
    bets: Sequence[float],
    delta: float,
    shares: ArrayLike,
    counts: Sequence[ArrayLike] | None = None,
) -> float:
    r"""Joint betting bound: upper confidence bound on a weighted sum of the mean losses of classes.

    .. math:: \max \Big\{\sum_c s_c r_c : r \in [0, 1]^k,\; \sum_c \ln C_c(r_c) \le \ln\frac1\delta\Big\}

    where :math:`C_c` is the capital of class `c`.  The true means lie in this set with probability at least
    :math:`1-\delta`, so the bounds for all shares hold simultaneously.

    Parameters
    ----------
    losses_by_class : sequence of array_like of float
        The losses of each class, in [0, 1] and rounded up by the caller.  The mean of a class without losses counts as
        1.
    bets : sequence of float
        A bet for each class.  They must not depend on these losses.
    delta : float
        The level in [0, 1]; the bound at level 0 is 1.
    shares : array_like of float
        The weight of each class; they sum to 1, up to rounding.
    counts : sequence of array_like of int, optional
        Number of rows with each of the losses, for each class.

    Returns
    -------
    float
        Rounded up.

    See Also
    --------
    best_bets : Choose the bets from training rows.
    bet_upper : The bound on one mean.

    Notes
    -----
    The set is convex, because every :math:`g_c = \ln C_c` is.  So for any point `z` of the box it lies below the
    tangents at `z`: with the slopes :math:`p_c = g_c'(z_c) \ge 0`, all `r` in the set satisfy

    .. math:: \sum_c p_c r_c \le P = \ln\frac1\delta + \sum_c (p_c z_c - g_c(z_c)),

    and for every :math:`\mu \ge 0`, since :math:`0 \le r_c \le 1`,

    .. math:: \sum_c s_c r_c = \mu \sum_c p_c r_c + \sum_c (s_c - \mu p_c) r_c
        \le \mu P + \sum_c \max(s_c - \mu p_c, 0).

    The right side is the bound.  It is valid wherever the search for `z` ends.  At the maximum itself, where
    :math:`g_c'(z_c) = s_c/\mu` (or larger at :math:`z_c = 0`, or smaller at :math:`z_c = 1`) and the constraint is
    active, it equals the maximum (strong duality; the empirical means are strictly feasible, as :math:`C_c \le 1`
    there).

    Examples
    --------
    >>> losses = [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    >>> counts = [[46, 4], [48, 2], [45, 5]]
    >>> print(f"{joint_upper(losses, [0.6] * 3, 0.05, [1 / 3] * 3, counts):.4f}")
    0.1414
    """
    n_classes = len(losses_by_class)
    _check_lengths(n_classes, bets=bets, counts=counts)
    counts_by_class = counts if counts is not None else [None] * n_classes
    classes = [
        _make_bet(losses, b, class_counts)
        for losses, b, class_counts in zip(losses_by_class, bets, counts_by_class, strict=True)
    ]
    weights = _check_shares(shares, n_classes)
    level = _log_capital_threshold(delta)
    winning = np.array([bet.can_gain for bet in classes])
    if level == math.inf or not (weights[winning] > 0.0).any():
        return 1.0
    with default_errstate():
        points = np.zeros(n_classes)
        lost = math.fsum(bet.lower(0.0) for bet in classes if not bet.can_gain)
        capitals = _Capitals([bet for bet in classes if bet.can_gain])
        points[winning], _ = capitals.best(weights[winning], level - lost)
        return _bound_from_tangents(classes, points.tolist(), weights.tolist(), level)


def best_bets(
    losses_by_class: Sequence[ArrayLike], rows: Sequence[int], delta: float, shares: ArrayLike
) -> list[float]:
    r"""Choose the bets of `joint_upper` from the cross-validated losses of training rows, by class.

    These are the bets with the smallest joint bound for the losses that `best_bet` expects in each class.  A class with
    many rows gets a smaller bet than on its own: a mean far below the empirical one would make its capital small and
    leave that much more to the other classes.  With classes of 300, 60 and 20 rows the bound is about three quarters of
    that with bets chosen one by one.

    The bound is quasi-convex in the bets, because every :math:`\ln C_c(r_c)` is concave in its bet; its derivative is

    .. math:: -\mu\, \frac{\partial \ln C_c(r_c)}{\partial b_c}

    at the maximum, with its multiplier.

    Parameters
    ----------
    losses_by_class : sequence of array_like of float
        Losses in [0, 1] of rows outside of the validation set.
    rows : sequence of int
        Number of validation rows of each class.
    delta : float
        The level in [0, 1].
    shares : array_like of float
        The weights of the classes for which the bound is minimised.

    Returns
    -------
    list of float
        For each class, between 0.0001 and 0.999, rounded to four digits; `DEFAULT_BET` for a class without losses or
        rows.

    See Also
    --------
    joint_upper : The bound.

    Examples
    --------
    >>> bets = best_bets([[0.0] * 45 + [1.0] * 5] * 2, [500, 50], 0.05, [0.5, 0.5])
    >>> [round(b, 2) for b in bets]
    [0.07, 0.56]
    """
    n_classes = len(losses_by_class)
    _check_lengths(n_classes, rows=rows)
    weights, level = _check_shares(shares, n_classes), min(_log_capital_threshold(delta), _MAX_LOG_CAPITAL)
    bets = np.array([best_bet(x, m, delta ** (1.0 / n_classes)) for x, m in zip(losses_by_class, rows, strict=True)])
    expected = [_expected_losses(x, m) for x, m in zip(losses_by_class, rows, strict=True)]
    winning = np.array([bet.can_gain for bet in expected])
    if not (weights[winning] > 0.0).any():
        return [float(b) for b in bets]

    def objective(new_bets: FloatArray, unit: float) -> tuple[float, FloatArray]:
        classes = [replace(expected[c], b=float(b)) for c, b in zip(np.flatnonzero(winning), new_bets, strict=True)]
        w, multiplier = _Capitals(classes).best(weights[winning], level)
        slopes = np.array([bet.slope_in_bet(point) for bet, point in zip(classes, w.tolist(), strict=True)])
        return float(weights[winning] @ -np.expm1(-w)) / unit, slopes * (-multiplier / unit)

    ranges = [(_MIN_BET, _MAX_BET)] * int(winning.sum())
    with default_errstate():
        # Scale the objective to 1 at the start: the tolerances of L-BFGS-B are absolute.
        start_bound = (objective(bets[winning], 1.0)[0],)
        start = bets[winning]
        bets[winning] = minimize(objective, start, args=start_bound, jac=True, method="L-BFGS-B", bounds=ranges).x
    return [_round_bet(b) for b in bets]


@dataclass(frozen=True)
class _Bet:
    """A bet on losses, stored as distinct losses with their counts; bounds on the logarithm of its capital."""

    values: FloatArray
    counts: FloatArray
    b: float

    @property
    def rows(self) -> float:
        return float(self.counts.sum())

    @property
    def can_gain(self) -> bool:
        """Whether the capital grows with `r`, that is whether some loss is below 1."""
        return bool((self.values < 1.0).any())

    def lower(self, w: float) -> float:
        r""":math:`\ln C(1 - e^{-w})`, rounded down, for `w` up to about 40.

        Each factor has a relative error of at most 3 eps, hence its logarithm that absolute error plus two units in the
        last place; the product with the count adds one more.
        """
        terms = self.counts * np.log((1.0 - self.b) + self.b * (1.0 - self.values) * math.exp(w))
        return math.fsum(terms) - EPS * (8.0 * self.rows + 4.0 * math.fsum(np.abs(terms)))

    def slope(self, w: float) -> float:
        """Slope in `w`, a sum of positive terms, with a relative error of at most eight units."""
        won = self.b * (1.0 - self.values) * math.exp(w)
        return math.fsum(self.counts * (won / ((1.0 - self.b) + won)))

    def slope_in_bet(self, w: float) -> float:
        """Slope in the bet, not rounded."""
        gains = (1.0 - self.values) * math.exp(w) - 1.0
        return float((self.counts * gains / (1.0 + self.b * gains)).sum())


class _Capitals:
    r"""The log capitals of several classes and their derivatives in `w`, not rounded: for searches.

    The logarithm of a factor, written as :math:`w + \ln(b(1-x)) + \ln(1 + \rho e^{-w})` with
    :math:`\rho = (1-b)/(b(1-x))`, does not overflow for any `w`.  Every class must have a loss below 1.
    """

    def __init__(self, bets: list[_Bet]) -> None:
        wins = [bet.values < 1.0 for bet in bets]
        sizes = [int(win.sum()) for win in wins]
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        self.class_index = np.repeat(np.arange(len(bets)), sizes)
        self.counts = np.concatenate([bet.counts[win] for bet, win in zip(bets, wins, strict=True)])
        won = np.concatenate([bet.b * (1.0 - bet.values[win]) for bet, win in zip(bets, wins, strict=True)])
        not_bet = np.array([1.0 - bet.b for bet in bets])
        self.ratios = not_bet[self.class_index] / won
        self.rows = self._sum_by_class(self.counts)
        rows_lost = np.array([bet.rows for bet in bets]) - self.rows
        self.constants = self._sum_by_class(self.counts * np.log(won)) + rows_lost * np.log(not_bet)

    def _sum_by_class(self, terms: FloatArray) -> FloatArray:
        """Sum over the losses of every class."""
        return np.asarray(np.add.reduceat(terms, self.starts))

    def values(self, w: FloatArray) -> FloatArray:
        """Log capital of every class."""
        rest = self._sum_by_class(self.counts * np.log1p(self.ratios * np.exp(-w)[self.class_index]))
        return np.asarray(self.constants + self.rows * w + rest)

    def slopes(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivatives."""
        parts = 1.0 / (1.0 + self.ratios * np.exp(-w)[self.class_index])
        return self._sum_by_class(self.counts * parts), self._sum_by_class(self.counts * parts * (1.0 - parts))

    def root(self, level: float) -> float:
        """Find where the log capital of the only class reaches `level`, by Newton's method.

        By convexity the first step overshoots the root, and every further step moves back towards it until rounding
        reverses the direction.
        """
        w = np.zeros(1)
        for step in range(200):
            # Farther out, rounding would put the next step on either side of the root.
            new = np.clip(w + (level - self.values(w)) / self.slopes(w)[0], 0.0, 1e9)
            if step and new[0] >= w[0]:
                break
            w = new
        return float(w[0])

    def best(self, shares: FloatArray, level: float) -> tuple[FloatArray, float]:
        r"""Maximise the weighted sum of the means over the confidence set; the `w` of every class, and the multiplier.

        At the maximum the slopes in `r`, :math:`e^w \cdot d \ln C/dw`, equal the shares over the multiplier (or `w` is
        at an end of its range), and the log capitals sum to the level, which determines the multiplier.  It is the
        derivative of the maximum in the level: zero if all `w` are at their upper end.
        """
        positive = shares > 0.0
        logs = np.log(shares, out=np.full(shares.size, -np.inf), where=positive)
        w = np.zeros(shares.size)
        ends = [np.log(self.slopes(np.full(shares.size, end))[0]) + end - logs for end in (0.0, _MAX_W)]

        def excess(log_slope: float) -> float:
            # Warm start from the previous solution.
            w[:] = self._solve_for_slopes(log_slope + logs, w)
            return float(self.values(w).sum()) - level

        low, high = float(ends[0][positive].min()), float(ends[1][positive].max())
        if excess(high) <= 0.0:
            return w, 0.0
        log_slope = float(brentq(excess, low, high, xtol=1e-9, rtol=1e-12))
        return self._solve_for_slopes(log_slope + logs, w), math.exp(-log_slope)

    def _solve_for_slopes(self, logs: FloatArray, w: FloatArray) -> FloatArray:
        """Solve for the `w` at which the slopes in `r` have the logarithms `logs`, clipped to the range; start at `w`.

        The logarithm of the slope grows with `w` at a rate between 1 and 2, so every Newton step gets closer.
        """
        for _ in range(100):
            first, second = self.slopes(w)
            new = np.clip(w - (w + np.log(first) - logs) / (1.0 + second / first), 0.0, _MAX_W)
            done = np.abs(new - w) <= 1e-14 * (1.0 + w)
            w = new
            if done.all():
                break
        return w


def _bound_from_tangents(classes: list[_Bet], points: list[float], shares: list[float], level: float) -> float:
    """Bound of `joint_upper` from the tangents at `points` (values of `w`); see its Notes.

    To round up, a slope `p` is rounded down in its product with `r` and up in its product with the point.
    """
    slopes, terms = [], [level]
    for bet, w in zip(classes, points, strict=True):
        slope = bet.slope(w)
        slopes.append(round_down(slope * math.exp(w), 16.0) if slope > 0.0 else 0.0)
        terms += [round_up(slope * math.expm1(w), 16.0), -bet.lower(w)]
    intercept = round_up(math.fsum(terms))
    # The right side is piecewise linear in mu, with kinks at share / slope.  Evaluated slightly above them, so that
    # kinks that differ only by rounding count as one.
    kinks = [
        share / slope * (1.0 + _SLOPE_TOLERANCE) for share, slope in zip(shares, slopes, strict=True) if slope > 0.0
    ]
    bound = 1.0
    for mu in kinks:
        excess = [share - round_down(mu * slope) for share, slope in zip(shares, slopes, strict=True)]
        bound = min(bound, round_up(mu * intercept + math.fsum(max(term, 0.0) for term in excess), 16.0))
    return bound


def _log_capital_threshold(delta: float) -> float:
    """Log capital at which a mean is rejected at level `delta`, rounded up."""
    level = float(check_in_range("delta", check_number("delta", delta, "a number from 0 to 1"), 0.0, 1.0))
    return round_up(-math.log(level)) if level > 0.0 else math.inf


def _check_lengths(n_classes: int, **sequences: Sequence[object] | None) -> None:
    """Raise if there are no classes, or if a sequence does not have one entry per class."""
    if n_classes == 0:
        raise ValueError("losses_by_class must hold at least one class")
    for name, entries in sequences.items():
        if entries is not None and len(entries) != n_classes:
            raise ValueError(f"{name} must have one entry per class, {n_classes} of them; got {len(entries)}")


def _check_shares(shares: ArrayLike, n_classes: int) -> FloatArray:
    """Check shares and normalise them to sum to 1."""
    weights, _ = check_distribution("shares", shares, n_classes)
    return weights / math.fsum(weights)


def _round_bet(bet: float) -> float:
    """Round a bet: more digits do not improve the bound, and would differ between computers."""
    return float(f"{bet:.4g}")


def _make_bet(losses: ArrayLike, b: float, counts: ArrayLike | None) -> _Bet:
    """Check the arguments and create a bet."""
    fraction = check_number("b", b, "a number between 0 and 1")
    if not _SMALLEST_BET <= fraction < 1.0:
        raise ValueError(f"b must lie strictly between 0 and 1, and not below {_SMALLEST_BET:g}; got {b!r}")
    return _Bet(*_distinct_losses(losses, counts), fraction)


def _distinct_losses(losses: ArrayLike, counts: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Distinct losses in ascending order, and the number of rows with each."""
    values = check_in_range("losses", losses, 0.0, 1.0)
    if values.ndim != 1:
        raise ValueError(f"losses must be one-dimensional, got shape {values.shape}")
    if counts is None:
        distinct, n_rows = np.unique(values, return_counts=True)
        return distinct, n_rows.astype(np.float64)
    array = np.asarray(counts)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"counts must be integers, got dtype {array.dtype}")
    rows = check_numbers("counts", array)
    if rows.shape != values.shape or (rows < 0.0).any():
        raise ValueError("counts must have one entry per loss, none below 0")
    order = np.argsort(values[rows > 0.0], kind="stable")
    return values[rows > 0.0][order], rows[rows > 0.0][order]


def _expected_losses(losses: ArrayLike, m: int) -> _Bet:
    """Default bet on the losses expected of `m` validation rows; without losses if there are none to go by."""
    values, weights = _distinct_losses(losses, None)
    m = 0 if isinstance(m, int | np.integer) and m == 0 else check_sample_size(m)
    if values.size == 0 or m == 0:
        return _Bet(np.empty(0), np.empty(0), DEFAULT_BET)
    if values.size > _MAX_DISTINCT_LOSSES:
        values, weights = _merge_neighbours(values, weights)
    return _Bet(np.append(values, 1.0), np.append(weights * (m / weights.sum()), _EXTRA_LOSS), DEFAULT_BET)


def _merge_neighbours(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Replace neighbouring values by their mean until the search is fast."""
    starts = np.linspace(0, values.size, _MAX_DISTINCT_LOSSES, endpoint=False).astype(np.intp)
    sums = np.add.reduceat(weights, starts)
    return np.add.reduceat(values * weights, starts) / sums, sums
