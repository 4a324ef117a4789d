r"""Exact limits from counted errors, rounded up: of a risk, of errors to come; Chernoff's for any loss in [0, 1].

How many rows a limit needs
---------------------------
With `m` rows the exact limit is at most the target up to :math:`k_m` errors, the largest number k with
:math:`P(\mathrm{Bin}(m, \tau) \le k) \le \delta`.  So the chance is :math:`P(\mathrm{Bin}(m, r) \le k_m)`, r the true
risk: a saw-tooth in `m`.  It falls with every row, until one more error is allowed.  Tooth k are the `m` with
:math:`k_m = k`; its end is its lowest point, equation (tooth) of docs/mathematics.md.
"""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betaincc, betainccinv, ndtri

from pacbayes._utils.arrays import EPS, SMALLEST_NORMAL, FloatArray, round_up, usual_float_errors
from pacbayes._utils.checks import (
    MOST,
    check_between,
    check_level,
    check_number,
    check_sample_size,
    check_sample_sizes,
)
from pacbayes.bounds.binary_kl import kl_divergence, kl_roots

# The tail at the limit returned is below the level by this part of it, for m up to 1e8 and above.  `betaincc` was never
# seen wrong by more than 3e-14 up to m = 1e6, 3e-12 up to 1e8 and 6e-11 anywhere (near m = 2e9), for tails down to
# 1e-300.
_MARGIN, _MARGIN_OF_MANY = 1e-10, 1e-9
# Below this level the inverse of `betaincc` may fail; below the other one, on the way to the subnormal numbers, its
# values lose their digits, and so would the level less the margin, and the terms of a hypergeometric tail.
_SMALL, _SMALLEST = 1e-100, 1e-280
# A tail of the hypergeometric distribution counts as above the level unless it is below by this part of it, and by what
# rounding may have done.
_SUM_MARGIN = 1e-9
# More rows nobody plans with, and for these the incomplete beta function is not known well enough.
_MOST_ROWS = 10**8
# Teeth that are looked at together.
_TEETH = 1000


def binomial_upper(errors: ArrayLike, m: int | ArrayLike, delta: ArrayLike) -> FloatArray:
    r"""Upper confidence limit of a risk from errors counted on `m` examples: that of Clopper and Pearson.

    The largest `r` under which so few errors still have a probability of `delta`,

    .. math:: \sum_{j \le k} \binom{m}{j} r^j (1-r)^{m-j} = \delta, \qquad r = 1 \text{ at } k = m,

    which is the `1 - delta` quantile of the Beta distribution with parameters `k + 1` and `m - k`.

    Parameters
    ----------
    errors : array_like of int
        `k`, from 0 to `m`; broadcast against `delta`.
    m : int, or array_like of int of the shape of `errors`
    delta : array_like of float
        Levels in [0, 1]; the limit at level 0 is 1, that at level 1 is 0 unless `k` is `m`.

    Returns
    -------
    ndarray
        Rounded up: the tail at each limit, in real arithmetic, is at most `delta`.

    See Also
    --------
    pacbayes.certificates.chernoff_upper : For losses that are not 0 or 1.
    pacbayes.certificates.hypergeometric_upper : Of errors among given new rows.

    Examples
    --------
    >>> binomial_upper([0, 8, 100], 100, 0.05).round(6)
    array([0.029513, 0.139717, 1.      ])
    """
    counts = np.asarray(errors)
    if counts.dtype.kind not in "iu":
        raise TypeError(f"errors must be integers, got dtype {counts.dtype}")
    sizes = check_sample_sizes(m, counts.size).reshape(counts.shape)
    wrong = (counts < 0) | (counts > sizes)
    if wrong.any():
        raise ValueError(f"errors must lie between 0 and m = {sizes[wrong].flat[0]}, got {counts[wrong].flat[0]}")
    k, sizes, level = np.broadcast_arrays(counts, sizes, check_between("delta", delta, 0.0, 1.0))
    limits = np.ones(k.shape)
    # Every tail is at most one.
    limits[(k < m) & (level == 1.0)] = 0.0
    some = (k < m) & (level > 0.0) & (level < 1.0)
    none, small, usual = some & (k == 0), some & (k > 0) & (level < _SMALL), some & (k > 0) & (level >= _SMALLEST)
    with usual_float_errors():
        limits[none] = np.minimum(round_up(-np.expm1(np.log(level[none]) / sizes[none]), 8.0), 1.0)
        limits[usual] = _limits(k[usual].astype(np.float64), sizes[usual].astype(np.float64), level[usual])
        closed = _limits_of_small_levels(k[small].astype(np.float64), sizes[small].astype(np.float64), level[small])
        limits[small] = np.minimum(limits[small], closed)
    return limits


def _limits(k: FloatArray, m: FloatArray, level: FloatArray) -> FloatArray:
    """Return the limits for 0 < k < m: SciPy's inverse, moved up until the tail is safely below the level."""
    limits: NDArray[Any] = np.asarray(betainccinv(k + 1.0, m - k, level), dtype=np.float64)
    # Where the inverse failed, the trivial limit; from zero no multiplication would lead away.
    limits = np.where(np.isfinite(limits), np.maximum(limits, SMALLEST_NORMAL), 1.0)
    least = tail_wanted(m, level)
    step = 1e-13
    while True:
        tail = betaincc(k + 1.0, m - k, limits)
        short = (limits < 1.0) & ~(tail <= least)
        if not short.any():
            return limits
        limits = np.where(short, np.minimum(limits * (1.0 + step), 1.0), limits)
        step *= 2.0


def tail_wanted(m: FloatArray, level: float | FloatArray) -> FloatArray:
    """Return what the computed tail at a limit may be at most: the level, less a margin for what it is wrong by."""
    return np.asarray(level * (1.0 - np.where(m <= 1e8, _MARGIN, _MARGIN_OF_MANY)))


def _limits_of_small_levels(k: FloatArray, m: FloatArray, level: FloatArray) -> FloatArray:
    r"""Return limits for 0 < k < m from a bound of the tail in closed form, good to a few percent of the level.

    From j = k downwards the terms of the tail fall at least by the factor :math:`\rho = k(1-r)/((m-k+1)r)`, and by
    Stirling's formula the first is at most :math:`\sqrt{m/(2\pi k(m-k))}\, e^{-m\,kl(k/m,\,r)}`: the tail is at most
    that over :math:`1 - \rho`, and at most :math:`e^{-m\,kl(k/m,\,r)}` (Chernoff).  Since :math:`\rho` falls as r
    grows, that of a smaller r may stand for it, which leaves an equation kl = x.
    """
    share = np.minimum(round_up(k / m, 2.0), 1.0)
    log_level = np.log(level)
    chernoff = np.asarray(kl_roots(share, round_up(-log_level / m, 8.0))[1])
    needed = 0.5 * (np.log(m / (2.0 * np.pi * k)) - np.log(m - k)) - log_level
    smaller = np.asarray(kl_roots(share, round_up(needed / m, 16.0))[1])
    # 1 - rho, rounded down.
    rest = ((m + 1.0) * smaller * (1.0 - 32 * EPS) - k) / ((m - k + 1.0) * smaller)
    known = rest > 0.0
    needed[known] -= np.log(rest[known])
    sharper = np.asarray(kl_roots(share, round_up(needed / m, 16.0))[1])
    return np.where(known, np.minimum(sharper, chernoff), chernoff)


def chernoff_upper(risks: ArrayLike, m: int, delta: ArrayLike) -> FloatArray:
    r"""Upper confidence limit of the mean of a loss in [0, 1] from its mean over `m` independent draws.

    The largest `r` with :math:`kl(\hat l, r) \le \ln(1/\delta)/m`.  Chernoff's bound: with probability at least
    :math:`1-\delta` the mean is not above it, because :math:`E e^{tX} \le 1 - r + r e^t` for every loss `X` in
    [0, 1] with mean `r`.  For a loss that is 0 or 1 the exact limit, `binomial_upper`, is smaller.

    Parameters
    ----------
    risks : array_like of float
        Means in [0, 1], not below the exact ones; broadcast against `delta`.
    m : int
    delta : array_like of float
        Levels in [0, 1]; the limit at level 0 is 1.

    Returns
    -------
    ndarray
        Rounded up.

    See Also
    --------
    pacbayes.certificates.binomial_upper : Smaller, for counted errors.

    Examples
    --------
    >>> chernoff_upper([0.0, 0.08, 1.0], 100, 0.05).round(6)
    array([0.029513, 0.162851, 1.      ])
    """
    m = check_sample_size(m)
    level = check_between("delta", delta, 0.0, 1.0)
    with usual_float_errors(), np.errstate(divide="ignore"):
        threshold = round_up(-np.log(level) / m, 8.0)
    return np.asarray(kl_roots(check_between("risks", risks, 0.0, 1.0), threshold)[1])


def hypergeometric_upper(errors: int, m: int, rows: int, delta: float) -> int:
    r"""Upper limit of the number of errors among `rows` new examples, from errors counted on `m` others.

    The largest number of new errors under which so few of the old ones still have a probability above `delta`,

    .. math:: u = \max\{f \le N : P(X \le k) > \delta\}, \qquad X \sim \mathrm{Hypergeometric}(m + N,\ k + f,\ m):

    of all :math:`m + N` examples :math:`k + f` are wrong, and which of them were counted first is a matter of chance.
    With probability at least :math:`1-\delta` over both samples no more than `u` are wrong; equation (batch) of
    docs/mathematics.md.  It is a quantile of the beta-binomial distribution; equation (beta-binomial) there.

    Parameters
    ----------
    errors : int
        `k`, from 0 to `m`.
    m : int
        The examples on which they were counted.
    rows : int
        `N`, the new examples; of none, none are wrong.
    delta : float
        A level in [0, 1]; at level 0 the limit is `rows`.

    Returns
    -------
    int
        Never too small; too large by one only where the probability is within a part of :math:`10^{-9}` of `delta`, or
        within :math:`10^{-15} \min(m, N)` of it where that is more.

    See Also
    --------
    binomial_upper : The limit of the risk, to which u / N tends as N grows.

    References
    ----------
    .. [1] A. R. Thatcher, "Relationships between Bayesian and confidence limits for predictions", Journal of the Royal
       Statistical Society B 26, 1964.
    .. [2] K. Krishnamoorthy and J. Peng, "Improved closed-form prediction intervals for binomial and Poisson
       distributions", Journal of Statistical Planning and Inference 141, 2011.

    Examples
    --------
    Eight errors on 284 examples, and 1000 new ones:

    >>> hypergeometric_upper(8, 284, 1000, 0.05)
    53
    >>> hypergeometric_upper(0, 100, 10, 0.05), hypergeometric_upper(100, 100, 10, 0.05)
    (1, 10)
    """
    m, rows = _whole("m", m, 1, MOST), _whole("rows", rows, 0, MOST)
    errors = _whole("errors", errors, 0, m)
    level = float(check_between("delta", delta, 0.0, 1.0))
    if errors == m or level < _SMALLEST:
        return rows
    # It cannot be too small: the probability falls as f grows, and `above` is only moved to an f whose true probability
    # is below the level, since the one computed is so by more than its error.  So every f from `above` on is excluded
    # in real arithmetic too.
    least = level * (1.0 - _SUM_MARGIN - 8.0 * EPS * (min(m, rows) + 64))
    possible, above = 0, rows + 1
    while above - possible > 1:
        middle = (possible + above) // 2
        if _lower_tail(errors, m, rows, middle) < least:
            above = middle
        else:
            possible = middle
    return possible


def _lower_tail(errors: int, m: int, rows: int, new: int) -> float:
    """Return the probability that at most `errors` of all `errors + new` wrong examples are among the first `m`.

    A sum of terms over the sum of all, each the one before times a ratio of whole numbers, from the largest outwards:
    no logarithm of a large factorial, whose error would be that of a number of millions.  The k-th is therefore wrong
    by at most 2 k epsilon (two products, a quotient and a step, half an epsilon each), and the result by twice that for
    the last k, with the errors of the sums.  Terms of the whole that become zero can only make the result too large.
    """
    wrong, right = errors + new, m + rows - errors - new
    first, last = max(0, wrong - rows), min(m, wrong)
    mode = min(max((m + 1) * (wrong + 1) // (m + rows + 2), first), last)
    with usual_float_errors():
        up = np.arange(mode, last, dtype=np.float64)
        rising = np.cumprod((m - up) * (wrong - up) / ((up + 1.0) * (right - m + up + 1.0)))
        down = np.arange(mode, first, -1, dtype=np.float64)
        falling = np.cumprod(down * (right - m + down) / ((m - down + 1.0) * (wrong - down + 1.0)))
    # rising[i] is of mode + 1 + i among the m, falling[i] of mode - 1 - i.
    whole = 1.0 + float(rising.sum()) + float(falling.sum())
    if errors >= mode:
        return (1.0 + float(rising[: errors - mode].sum()) + float(falling.sum())) / whole
    return float(falling[mode - 1 - errors :].sum()) / whole


def _whole(name: str, value: Any, least: int, most: int) -> int:
    """Return a whole number within limits, or raise."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    number = int(value)
    if not least <= number <= most:
        raise ValueError(f"{name} must lie between {least} and {most}, got {number}")
    return number


def rows_needed(error: float, target: float, *, delta: float = 0.05, chance: float = 0.8) -> int:
    """Return how many validation rows it takes to certify a target, if the true error is known to be smaller.

    The least number of rows such that with it, and with every larger one, the exact limit of the errors (that of
    Clopper and Pearson) is at or below the target with the given chance.

    Parameters
    ----------
    error : float
        The share of errors that is expected, below the target.
    target : float
        What the limit should not be above, at most 1.
    delta : float, default=0.05
        The level of the limit.
    chance : float, default=0.8
        With this probability over the sample, or a larger one, the limit is to reach the target; between 0 and 1.

    Returns
    -------
    int

    See Also
    --------
    pacbayes.bounds.chances : The chance with given numbers of rows.
    pacbayes.report.plot_plan : The picture.

    Notes
    -----
    With a few rows less than that the chance may be larger again: it is a saw-tooth.  The search goes down, tooth by
    tooth, from a number of rows from which on it is proved to be large enough, equation (enough) of
    docs/mathematics.md.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26, 1934.
    .. [2] A. M. Zubkov and A. A. Serov, "A complete proof of universal inequalities for the distribution function of
       the binomial law", Theory of Probability and its Applications 57, 2013.

    Examples
    --------
    >>> rows_needed(0.05, 0.08)
    475
    >>> rows_needed(0.0, 0.02)
    149
    """
    risk, limit, level, wanted = _check_plan(error, target, delta, chance)
    if limit == 1.0:
        return 1
    with usual_float_errors():
        if risk == 0.0:  # never an error: only tooth 0 matters
            return int(_starts(np.zeros(1), limit, level)[0])
        high = int(_allowed(np.array([_enough(risk, limit, level, wanted)]), limit, level)[0])
        while True:
            # The tooth before one that is good is seen first; tooth -1, where no number of errors passes, never is.
            teeth = np.arange(max(high - _TEETH, -1), high + 1, dtype=np.float64)
            starts = _starts(teeth[1:], limit, level)
            low = _tail(teeth[1:-1], starts[1:] - 1.0, risk) < wanted
            if low.any():
                return int(starts[int(np.flatnonzero(low)[-1]) + 1])
            if teeth[0] < 0.0:
                return int(starts[0])
            high = int(teeth[1])


def chances(rows: ArrayLike, error: float, target: float, *, delta: float = 0.05) -> FloatArray:
    """Return with which probability the exact limit of the errors on so many rows is at or below a target.

    Parameters
    ----------
    rows : array_like of int, shape (n,)
    error, target, delta
        As for `rows_needed`.

    Returns
    -------
    ndarray of shape (n,)

    See Also
    --------
    rows_needed : How many rows a chance takes.

    Examples
    --------
    >>> chances([455, 474, 475], 0.05, 0.08).round(3)
    array([0.793, 0.792, 0.842])
    """
    risk, limit, level, _ = _check_plan(error, target, delta, 0.5)
    m = check_sample_sizes(np.asarray(rows).ravel(), np.asarray(rows).size).astype(np.float64)
    if limit == 1.0:
        return np.ones(m.size)
    with usual_float_errors():
        allowed = _allowed(m, limit, level)
        return np.where(allowed < 0.0, 0.0, _tail(np.maximum(allowed, 0.0), m, risk))


def _check_plan(error: Any, target: Any, delta: Any, chance: Any) -> tuple[float, float, float, float]:
    """Return risk, target, level and chance, or raise."""
    risk = check_number("error", error, "a number from 0 to 1")
    limit = check_number("target", target, "a number from 0 to 1")
    wanted = check_number("chance", chance, "a number between 0 and 1")
    if not 0.0 <= risk <= 1.0:
        raise ValueError(f"error must lie in [0, 1], got {error!r}")
    if not risk < limit <= 1.0:
        raise ValueError(f"target must be above error = {risk:g}, and at most 1, got {target!r}")
    if not 0.0 < wanted < 1.0:
        raise ValueError(f"chance must be strictly between 0 and 1, got {chance!r}")
    return risk, limit, check_level(delta), wanted


def _tail(k: FloatArray, m: FloatArray, p: float) -> FloatArray:
    """Return P(Bin(m, p) <= k) for k from 0."""
    # From k = m on it is one, where the function is not defined.
    return np.where(k >= m, 1.0, betaincc(k + 1.0, np.maximum(m - k, 1.0), p))


def _starts(k: FloatArray, target: float, level: float) -> FloatArray:
    """Return the first number of rows with which k errors are allowed: by halving, as the tail falls with the rows."""
    low = k.copy()
    high = 2.0 * (k + 1.0)
    while (open_ := _tail(k, high, target) > tail_wanted(high, level)).any():
        low, high = np.where(open_, high, low), np.where(open_, 2.0 * high, high)
    while ((high - low) > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        allowed = _tail(k, middle, target) <= tail_wanted(middle, level)
        low, high = np.where(allowed, low, middle), np.where(allowed, middle, high)
    return high


def _allowed(m: FloatArray, target: float, level: float) -> FloatArray:
    """Return the most errors with which the limit is at or below the target, -1 where not even none is allowed."""
    low, high = np.full(m.size, -1.0), np.floor(m)
    while ((high - low) > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        allowed = _tail(middle, m, target) <= tail_wanted(m, level)
        low, high = np.where(allowed, middle, low), np.where(allowed, high, middle)
    return low


def _enough(risk: float, target: float, level: float, chance: float) -> float:
    r"""Return a number of rows from which on the chance is large enough, by the inequalities of Zubkov and Serov.

    :math:`P(\mathrm{Bin}(m,p) \le k)` lies between :math:`C(k)` and :math:`C(k+1)`, equation (zubkov-serov), where
    :math:`C(k) = \Phi(\mathrm{sign}(k/m - p) \sqrt{2m\,kl(k/m, p)})`.  With :math:`k = \lfloor sm \rfloor` for some s
    between risk and target it is enough that :math:`2m\,kl(s + 1/m, \tau)` and :math:`2m\,kl(s - 1/m, r)` are at least
    the squares of the normal quantiles; both grow with m.
    """
    # A little more than is asked for: for the rounding of all that follows.
    z, y = (float(-ndtri(one * (1.0 - 1e-6))) for one in (min(level, 0.5), min(1.0 - chance, 0.5)))

    def holds(m: float) -> bool:
        # The least s - 1/m that is far enough from the risk, then whether s + 1/m is from the target.
        if 2.0 * m * float(kl_divergence(target, risk)) <= y**2:
            return False
        low = brentq(lambda q: 2.0 * m * float(kl_divergence(q, risk)) - y**2, risk, target)
        high = low * (1.0 + 1e-12) + 2.0 / m
        return bool(high < target and 2.0 * m * float(kl_divergence(high, target)) >= z**2)

    m = 2.0
    while not holds(m):
        m *= 2.0
        if m > _MOST_ROWS:
            raise ValueError(
                f"target must be farther from error = {risk:g}, got {target!r}: it would take more than fifty million "
                "rows to tell them apart"
            )
    low = 0.5 * m
    while m - low > max(1.0, 1e-5 * m):
        middle = 0.5 * (low + m)
        low, m = (low, middle) if holds(middle) else (middle, m)
    return float(np.ceil(m))
