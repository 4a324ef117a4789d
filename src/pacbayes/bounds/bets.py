r"""Upper limits of the mean of losses in [0, 1] by a bet fixed beforehand: of one mean, and of several at once.

Someone who bets the part `b` of a capital on every row that the mean is below `r` has, after the losses
:math:`x_1, \dots, x_m`,

.. math:: C(r) = \prod_t \Big(1 - b + b\,\frac{1 - x_t}{1 - r}\Big).

For independent losses of mean `r` each factor has the mean one, so :math:`C(r) \ge 1/\delta` has at most the
probability :math:`\delta` (Markov): the `r` with :math:`C(r) < 1/\delta` are a confidence set.  It is an interval that
begins at 0, because `C` increases with `r`; its end is the limit.  The rows' order plays no role.  For rows of several
classes, each with its own mean, the product of the capitals has a mean of at most one too, and one event holds for
all of them at once.

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

from pacbayes._utils.arrays import EPS, FloatArray, round_down, round_up, usual_float_errors
from pacbayes._utils.checks import check_between, check_distribution, check_number, check_numbers, check_sample_size

#: The bet where no losses are known that it could be chosen for.
USUAL_BET = 0.89
# Between these a bet is chosen.  The best one falls as one over the root of the number of rows.
_LEAST_BET, _LARGEST_BET = 1e-4, 0.999
# The bet where all losses seen are 1: the best one is small where nearly all are.
_SMALL_BET = 0.01
# Rows of loss 1 added to the losses that a bet is chosen for: a bet that is good for them alone loses too much where
# the rows that count have a few more errors.
_ADDED = 0.25
# More distinct losses than these are put together before a bet is chosen for them.
_MOST_VALUES = 10_000
# Below this a bet could lose digits among the subnormal numbers.
_SMALLEST_BET = 1e-100
# The logarithm of the capital for the least positive level: above it a bet is not chosen any better.
_HIGHEST = 745.0
# From here on 1 - exp(-w) is the float 1.
_FAR = 40.0
# Tangents of several classes have the wanted slopes up to less than this part.
_SLOPES = 1e-11


def bet_upper(losses: ArrayLike, b: float, delta: float, counts: ArrayLike | None = None) -> float:
    r"""Upper confidence limit of the mean of independent losses in [0, 1], by a bet fixed beforehand.

    The root of

    .. math:: \prod_t \Big(1 - b + b\,\frac{1 - x_t}{1 - r}\Big) = \frac{1}{\delta}

    in `r`; 1 where all losses are 1 or there are none.  For losses that are 0 or 1 the exact limit, `binomial_upper`,
    is smaller.

    Parameters
    ----------
    losses : array_like of float
        In [0, 1], rounded up by the caller: a loss that is too small makes the limit too small.  What is divided by a
        largest loss, to lie in [0, 1], must be divided by the largest one possible, not by the largest one seen.
    b : float
        The bet, strictly between 0 and 1 and not below 1e-100, chosen without a look at these losses; see `best_bet`.
    delta : float
        The level in [0, 1]; the limit at level 0 is 1.
    counts : array_like of int, optional
        How many rows have each of the losses; one if not given.  A million rows with few distinct losses then take as
        long as a few.

    Returns
    -------
    float
        Rounded up: the capital at the limit, in real arithmetic, is at least `1/delta`.

    See Also
    --------
    best_bet : Choose `b` from training rows.
    joint_upper : Several means at once.

    Examples
    --------
    >>> losses = [0.0] * 40 + [0.1] * 15 + [0.3] * 5
    >>> print(f"{bet_upper(losses, 0.89, 0.05):.4f} {bet_upper([0.0, 0.1, 0.3], 0.89, 0.05, [40, 15, 5]):.4f}")
    0.1054 0.1054
    """
    bet = _bet(losses, b, counts)
    level = _log_capital(delta)
    if not bet.can_win or level == math.inf:
        return 1.0
    with usual_float_errors():
        searched = _Capitals([bet])
        # A little above: where the test below accepts at once.
        w = searched.root(round_up(level) + EPS * (12.0 * bet.rows + 8.0 * level))
        step = 4.0 * EPS
        while w < _FAR:
            if bet.lower(w) > level:
                return min(-math.expm1(-w) * (1.0 + 4.0 * EPS), 1.0)
            w *= 1.0 + step
            step *= 2.0
    return 1.0


def best_bet(losses: ArrayLike, m: int, delta: float) -> float:
    r"""Choose the bet for `m` rows to come from the losses of other rows, say cross-validated ones of training rows.

    The bet whose limit is least if the `m` rows have the same losses in the same proportions, and a quarter of a row
    more has the loss 1:

    .. math:: \min_b\, r : \quad \frac{m}{n} \sum_{t \le n} \ln\Big(1 - b + b\,\frac{1 - x_t}{1 - r}\Big)
        + \frac14 \ln(1 - b) = \ln\frac1\delta.

    For a given `r` the left side is concave in `b`, so the limit falls and then rises with `b`: one search finds the
    least.

    Parameters
    ----------
    losses : array_like of float
        In [0, 1], of rows that the limit is not about.
    m : int
        The rows that the limit is about, of which nothing but their number is looked at.
    delta : float
        The level at which the limit is wanted, in [0, 1].

    Returns
    -------
    float
        From 0.0001 to 0.999, rounded to four digits; `USUAL_BET` where there are no losses or no rows.

    See Also
    --------
    bet_upper : The limit.
    best_bets : The bets for several classes at once.

    Examples
    --------
    >>> best_bet([0.0] * 40 + [0.1] * 15 + [0.3] * 5, 60, 0.05), best_bet([], 60, 0.05)
    (0.9292, 0.89)
    """
    expected = _to_come(losses, m)
    level = min(_log_capital(delta), _HIGHEST)
    if expected.rows == 0.0:
        return USUAL_BET
    if not expected.can_win:
        return _SMALL_BET

    def root(b: float) -> float:
        return _Capitals([replace(expected, b=b)]).root(level)

    with usual_float_errors():
        found = minimize_scalar(root, bounds=(_LEAST_BET, _LARGEST_BET), method="bounded", options={"xatol": 1e-7})
    return _four_digits(found.x)


def joint_upper(
    losses_by_class: Sequence[ArrayLike],
    bets: Sequence[float],
    delta: float,
    shares: ArrayLike,
    counts: Sequence[ArrayLike] | None = None,
) -> float:
    r"""Upper confidence limit of a weighted sum of the mean losses of classes, by one bet on all of them.

    .. math:: \max \Big\{\sum_c s_c r_c : r \in [0, 1]^k,\; \sum_c \ln C_c(r_c) \le \ln\frac1\delta\Big\}

    with the capital :math:`C_c` of class `c` and its bet.  The true means lie in this set with probability at least
    :math:`1-\delta`, whatever the shares: limits for all shares hold at once.

    Parameters
    ----------
    losses_by_class : sequence of array_like of float
        The losses of each class, in [0, 1] and rounded up by the caller.  Nothing is known of a class without losses:
        its mean counts as 1.
    bets : sequence of float
        A bet for each class, chosen without a look at these losses.
    delta : float
        The level in [0, 1]; the limit at level 0 is 1.
    shares : array_like of float
        The weight of each class; they sum to 1.  Errors of one unit in the last place are allowed for.
    counts : sequence of array_like of int, optional
        How many rows have each of the losses, for each class.

    Returns
    -------
    float
        Rounded up.

    See Also
    --------
    best_bets : Choose the bets from training rows.
    bet_upper : One mean.

    Notes
    -----
    The set is convex, because every :math:`g_c = \ln C_c` is.  So for any point `z` of the box, not the best one only,
    it lies below the tangents at `z`: with the slopes :math:`p_c = g_c'(z_c) \ge 0`, all `r` of the set have

    .. math:: \sum_c p_c r_c \le P = \ln\frac1\delta + \sum_c (p_c z_c - g_c(z_c)),

    and for every :math:`\mu \ge 0`, since :math:`0 \le r_c \le 1`,

    .. math:: \sum_c s_c r_c = \mu \sum_c p_c r_c + \sum_c (s_c - \mu p_c) r_c
        \le \mu P + \sum_c \max(s_c - \mu p_c, 0).

    The right side is the limit.  It is valid wherever the search for `z` ends.  At the maximum itself, where
    :math:`g_c'(z_c) = s_c/\mu` (or :math:`z_c = 0` and more, or :math:`z_c = 1` and less) and the capital is spent,
    it is equal to the maximum: nothing is lost (strong duality; all :math:`r_c` at the means seen are inside the set,
    as :math:`C_c \le 1` there).

    Examples
    --------
    >>> seen = [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    >>> counts = [[46, 4], [48, 2], [45, 5]]
    >>> print(f"{joint_upper(seen, [0.6] * 3, 0.05, [1 / 3] * 3, counts):.4f}")
    0.1414
    """
    number = len(losses_by_class)
    _check_lengths(number, bets=bets, counts=counts)
    rows = counts if counts is not None else [None] * number
    classes = [_bet(one, b, some) for one, b, some in zip(losses_by_class, bets, rows, strict=True)]
    weights = _check_shares(shares, number)
    level = _log_capital(delta)
    winning = np.array([bet.can_win for bet in classes])
    if level == math.inf or not (weights[winning] > 0.0).any():
        return 1.0
    with usual_float_errors():
        points = np.zeros(number)
        lost = math.fsum(bet.lower(0.0) for bet in classes if not bet.can_win)
        searched = _Capitals([bet for bet in classes if bet.can_win])
        points[winning], _ = searched.best(weights[winning], level - lost)
        return _below_tangents(classes, points.tolist(), weights.tolist(), level)


def best_bets(
    losses_by_class: Sequence[ArrayLike], rows: Sequence[int], delta: float, shares: ArrayLike
) -> list[float]:
    r"""Choose the bets of `joint_upper` for rows to come from the losses of other rows of the same classes.

    Those whose joint limit is least for the losses that `best_bet` expects of each class.  A class with many rows gets
    a smaller bet than it would alone: were its mean far below the one seen, its capital would be small, and that of
    the others could be as much larger.  With classes of 300, 60 and 20 rows the limit is about three
    quarters of that with bets chosen one by one.

    The limit is quasi-convex in the bets, because every :math:`\ln C_c(r_c)` is concave in its bet; its derivative is

    .. math:: -\mu\, \frac{\partial \ln C_c(r_c)}{\partial b_c}

    at the maximum, with its multiplier.

    Parameters
    ----------
    losses_by_class : sequence of array_like of float
        In [0, 1], of rows that the limit is not about.
    rows : sequence of int
        The rows of each class that the limit is about, of which nothing but their number is looked at.
    delta : float
        The level in [0, 1].
    shares : array_like of float
        The weights of the classes for which the limit is to be small.

    Returns
    -------
    list of float
        For each class from 0.0001 to 0.999, rounded to four digits; where it has no losses or no rows, `USUAL_BET`.

    See Also
    --------
    joint_upper : The limit.

    Examples
    --------
    >>> bets = best_bets([[0.0] * 45 + [1.0] * 5] * 2, [500, 50], 0.05, [0.5, 0.5])
    >>> [round(b, 2) for b in bets]
    [0.07, 0.56]
    """
    number = len(losses_by_class)
    _check_lengths(number, rows=rows)
    weights, level = _check_shares(shares, number), min(_log_capital(delta), _HIGHEST)
    bets = np.array([best_bet(x, m, delta ** (1.0 / number)) for x, m in zip(losses_by_class, rows, strict=True)])
    expected = [_to_come(x, m) for x, m in zip(losses_by_class, rows, strict=True)]
    known = np.array([one.can_win for one in expected])
    if not (weights[known] > 0.0).any():
        return [float(b) for b in bets]

    def limit(some: FloatArray, unit: float) -> tuple[float, FloatArray]:
        classes = [replace(expected[c], b=float(b)) for c, b in zip(np.flatnonzero(known), some, strict=True)]
        w, multiplier = _Capitals(classes).best(weights[known], level)
        by_bet = np.array([bet.by_bet(one) for bet, one in zip(classes, w.tolist(), strict=True)])
        return float(weights[known] @ -np.expm1(-w)) / unit, by_bet * (-multiplier / unit)

    bounds = [(_LEAST_BET, _LARGEST_BET)] * int(known.sum())
    with usual_float_errors():
        # In units of the first limit, for the tolerances of the search.
        first = (limit(bets[known], 1.0)[0],)
        bets[known] = minimize(limit, bets[known], args=first, jac=True, method="L-BFGS-B", bounds=bounds).x
    return [_four_digits(b) for b in bets]


@dataclass(frozen=True)
class _Bet:
    """One bet on losses, distinct ones with their counts; limits of the logarithm of its capital."""

    values: FloatArray
    counts: FloatArray
    b: float

    @property
    def rows(self) -> float:
        return float(self.counts.sum())

    @property
    def can_win(self) -> bool:
        """Whether the capital grows with `r` at all: not all losses are 1."""
        return bool((self.values < 1.0).any())

    def lower(self, w: float) -> float:
        r"""Return :math:`\ln C(1 - e^{-w})`, rounded down, for `w` up to some forty.

        The factors have relative errors of at most 3 eps, their logarithms the same as absolute ones and two units in
        the last place beside; the products with the counts one.
        """
        terms = self.counts * np.log((1.0 - self.b) + self.b * (1.0 - self.values) * math.exp(w))
        return math.fsum(terms) - EPS * (8.0 * self.rows + 4.0 * math.fsum(np.abs(terms)))

    def rise(self, w: float) -> float:
        """Return the derivative by `w`, a sum of positive terms: with a relative error of at most eight units."""
        won = self.b * (1.0 - self.values) * math.exp(w)
        return math.fsum(self.counts * (won / ((1.0 - self.b) + won)))

    def by_bet(self, w: float) -> float:
        """Return the derivative by the bet, not rounded."""
        gains = (1.0 - self.values) * math.exp(w) - 1.0
        return float((self.counts * gains / (1.0 + self.b * gains)).sum())


class _Capitals:
    r"""The logarithms of the capitals of classes and their derivatives by `w`, not rounded: for searches.

    Where a factor's logarithm is written as :math:`w + \ln(b(1-x)) + \ln(1 + \rho e^{-w})` with
    :math:`\rho = (1-b)/(b(1-x))`, no `w` is too large.  Every class must have a loss below 1.
    """

    def __init__(self, bets: list[_Bet]) -> None:
        wins = [bet.values < 1.0 for bet in bets]
        sizes = [int(win.sum()) for win in wins]
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        self.of = np.repeat(np.arange(len(bets)), sizes)
        self.counts = np.concatenate([bet.counts[win] for bet, win in zip(bets, wins, strict=True)])
        won = np.concatenate([bet.b * (1.0 - bet.values[win]) for bet, win in zip(bets, wins, strict=True)])
        stay = np.array([1.0 - bet.b for bet in bets])
        self.ratios = stay[self.of] / won
        self.rows = self._sums(self.counts)
        ones = np.array([bet.rows for bet in bets]) - self.rows
        self.constants = self._sums(self.counts * np.log(won)) + ones * np.log(stay)

    def _sums(self, terms: FloatArray) -> FloatArray:
        """Return the sum of every class."""
        return np.asarray(np.add.reduceat(terms, self.starts))

    def values(self, w: FloatArray) -> FloatArray:
        """Return the logarithm of every class's capital."""
        rest = self._sums(self.counts * np.log1p(self.ratios * np.exp(-w)[self.of]))
        return np.asarray(self.constants + self.rows * w + rest)

    def rises(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the first and the second derivatives."""
        parts = 1.0 / (1.0 + self.ratios * np.exp(-w)[self.of])
        return self._sums(self.counts * parts), self._sums(self.counts * parts * (1.0 - parts))

    def root(self, level: float) -> float:
        """Return where the capital of the only class reaches a level above that at 0.

        Newton's method: by convexity the first step leads beyond the root, and from there every step back towards it,
        until rounding turns it.
        """
        w = np.zeros(1)
        for number in range(200):
            # Much farther, rounding would lead to either side of the root.
            new = np.clip(w + (level - self.values(w)) / self.rises(w)[0], 0.0, 1e9)
            if number and new[0] >= w[0]:
                break
            w = new
        return float(w[0])

    def best(self, shares: FloatArray, level: float) -> tuple[FloatArray, float]:
        r"""Return the `w` of every class at which the sum of shares times `r` is largest, and the multiplier.

        There the slopes by `r`, :math:`e^w \cdot d \ln C/dw`, are the shares over one multiplier (or the end of the
        range of `w` is reached); the sum of the logarithms of the capitals must reach the level, which decides which.
        The multiplier is by how much the largest sum rises with the level: zero where all ends are reached.
        """
        some = shares > 0.0
        logs = np.log(shares, out=np.full(shares.size, -np.inf), where=some)
        w = np.zeros(shares.size)
        ends = [np.log(self.rises(np.full(shares.size, end))[0]) + end - logs for end in (0.0, _FAR)]

        def excess(log_slope: float) -> float:
            # The last solution is a good start.
            w[:] = self._with_slopes(log_slope + logs, w)
            return float(self.values(w).sum()) - level

        low, high = float(ends[0][some].min()), float(ends[1][some].max())
        if excess(high) <= 0.0:
            return w, 0.0
        log_slope = float(brentq(excess, low, high, xtol=1e-9, rtol=1e-12))
        return self._with_slopes(log_slope + logs, w), math.exp(-log_slope)

    def _with_slopes(self, logs: FloatArray, w: FloatArray) -> FloatArray:
        """Return, from a start, where the slopes by `r` have these logarithms, or the nearest end.

        The logarithm of the slope rises with `w` by a rate between 1 and 2, so every step of Newton's method leads
        nearer.
        """
        for _ in range(100):
            first, second = self.rises(w)
            new = np.clip(w - (w + np.log(first) - logs) / (1.0 + second / first), 0.0, _FAR)
            done = np.abs(new - w) <= 1e-14 * (1.0 + w)
            w = new
            if done.all():
                break
        return w


def _below_tangents(classes: list[_Bet], points: list[float], shares: list[float], level: float) -> float:
    """Return the limit of `joint_upper` from the tangents at points, given as `w`; see its notes.

    A slope `p` too small in its product with `r` and too large in that with the point errs upwards.
    """
    slopes, spent = [], [level]
    for bet, w in zip(classes, points, strict=True):
        rise = bet.rise(w)
        slopes.append(round_down(rise * math.exp(w), 16.0) if rise > 0.0 else 0.0)
        spent += [round_up(rise * math.expm1(w), 16.0), -bet.lower(w)]
    most = round_up(math.fsum(spent))
    # The right side is piecewise linear in mu, with corners where a class is neither better nor worse than the others.
    # A little more than that: two corners that are equal but for rounding count as one.
    corners = [share / slope * (1.0 + _SLOPES) for share, slope in zip(shares, slopes, strict=True) if slope > 0.0]
    limit = 1.0
    for mu in corners:
        rest = [share - round_down(mu * slope) for share, slope in zip(shares, slopes, strict=True)]
        limit = min(limit, round_up(mu * most + math.fsum(max(one, 0.0) for one in rest), 16.0))
    return limit


def _log_capital(delta: float) -> float:
    """Return the logarithm of the capital that refutes a mean at a level, rounded up."""
    level = float(check_between("delta", check_number("delta", delta, "a number from 0 to 1"), 0.0, 1.0))
    return round_up(-math.log(level)) if level > 0.0 else math.inf


def _check_lengths(number: int, **given: Sequence[object] | None) -> None:
    """Raise unless there is a class, and one entry for each in everything given."""
    if number == 0:
        raise ValueError("losses_by_class must hold at least one class")
    for name, entries in given.items():
        if entries is not None and len(entries) != number:
            raise ValueError(f"{name} must have one entry per class, {number} of them; got {len(entries)}")


def _check_shares(shares: ArrayLike, number: int) -> FloatArray:
    """Return shares that sum to 1, or raise."""
    given, _ = check_distribution("shares", shares, number)
    return given / math.fsum(given)


def _four_digits(bet: float) -> float:
    """Return a bet as it is told: more digits would not make it better, and would differ between machines."""
    return float(f"{bet:.4g}")


def _bet(losses: ArrayLike, b: float, counts: ArrayLike | None) -> _Bet:
    """Return a bet on losses, or raise if an argument is wrong."""
    part = check_number("b", b, "a number between 0 and 1")
    if not _SMALLEST_BET <= part < 1.0:
        raise ValueError(f"b must lie strictly between 0 and 1, and not below {_SMALLEST_BET:g}; got {b!r}")
    return _Bet(*_distinct(losses, counts), part)


def _distinct(losses: ArrayLike, counts: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Return the distinct losses in ascending order and how many rows have each."""
    values = check_between("losses", losses, 0.0, 1.0)
    if values.ndim != 1:
        raise ValueError(f"losses must be one-dimensional, got shape {values.shape}")
    if counts is None:
        found, numbers = np.unique(values, return_counts=True)
        return found, numbers.astype(np.float64)
    given = np.asarray(counts)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"counts must be integers, got dtype {given.dtype}")
    rows = check_numbers("counts", given)
    if rows.shape != values.shape or (rows < 0.0).any():
        raise ValueError("counts must have one entry per loss, none below 0")
    order = np.argsort(values[rows > 0.0], kind="stable")
    return values[rows > 0.0][order], rows[rows > 0.0][order]


def _to_come(losses: ArrayLike, m: int) -> _Bet:
    """Return what losses are expected of `m` rows after those of others, none if nothing is known; the bet is usual."""
    values, weights = _distinct(losses, None)
    m = 0 if isinstance(m, int | np.integer) and m == 0 else check_sample_size(m)
    if values.size == 0 or m == 0:
        return _Bet(np.empty(0), np.empty(0), USUAL_BET)
    if values.size > _MOST_VALUES:
        values, weights = _fewer(values, weights)
    return _Bet(np.append(values, 1.0), np.append(weights * (m / weights.sum()), _ADDED), USUAL_BET)


def _fewer(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return at most so many values as a search is quick with: neighbours by their mean."""
    starts = np.linspace(0, values.size, _MOST_VALUES, endpoint=False).astype(np.intp)
    sums = np.add.reduceat(weights, starts)
    return np.add.reduceat(values * weights, starts) / sums, sums
