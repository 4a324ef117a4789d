r"""Clopper-Pearson, Chernoff and hypergeometric upper bounds, rounded up; sample sizes for the Clopper-Pearson bound.

Sample sizes
------------
With `m` rows the Clopper-Pearson bound is at most :math:`\tau` if there are at most :math:`k_m` errors, the largest k
with :math:`P(\mathrm{Bin}(m, \tau) \le k) \le \delta`.  At the true risk r this has probability
:math:`P(\mathrm{Bin}(m, r) \le k_m)`, a sawtooth function of `m`: it decreases with every row until one more error is
allowed.  Tooth k consists of the `m` with :math:`k_m = k`; its right end is its lowest point, equation (tooth) of
docs/mathematics.md.
"""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betaincc, betainccinv, ndtri

from pacbayes._utils.arrays import EPS, SMALLEST_NORMAL, FloatArray, default_errstate, round_up
from pacbayes._utils.checks import (
    MAX_STORED_INT,
    check_in_range,
    check_level,
    check_number,
    check_sample_size,
    check_sample_sizes,
)
from pacbayes.bounds.binary_kl import kl_divergence, kl_roots

# The tail at the returned bound is below the level by this relative margin, for m up to 1e8 and above.  Measured
# relative errors of `betaincc` are at most 3e-14 up to m = 1e6, 3e-12 up to 1e8 and 6e-11 anywhere (near m = 2e9), for
# tails down to 1e-300.
_MARGIN, _MARGIN_LARGE_M = 1e-10, 1e-9
# Below the first level the inverse of `betaincc` may fail, and the Chernoff bound is used where it is smaller.  Below
# the second, close to the subnormal numbers, its values lose digits, and so would the level minus the margin and the
# terms of a hypergeometric tail.
_SMALL_LEVEL, _SMALLEST_LEVEL = 1e-100, 1e-280
# A tail of the hypergeometric distribution counts as above the level unless it is below by this relative margin plus
# the rounding error.
_SUM_MARGIN = 1e-9
# Upper end of the search for a sample size; beyond, the error of the incomplete beta function is not known well enough.
_MAX_ROWS = 10**8
# Number of teeth computed at a time.
_TEETH_PER_BLOCK = 1000


def binomial_upper(errors: ArrayLike, m: int | ArrayLike, delta: ArrayLike) -> FloatArray:
    r"""Clopper-Pearson upper confidence bound on a risk, from the number of errors on `m` examples [1]_.

    The largest `r` for which at most `k` errors still have probability `delta`,

    .. math:: \sum_{j \le k} \binom{m}{j} r^j (1-r)^{m-j} = \delta, \qquad r = 1 \text{ at } k = m,

    which is the `1 - delta` quantile of the beta distribution with parameters `k + 1` and `m - k`.

    Parameters
    ----------
    errors : array_like of int
        `k`, from 0 to `m`; broadcast against `delta`.
    m : int, or array_like of int of the shape of `errors`
    delta : array_like of float
        Levels in [0, 1]; the bound at level 0 is 1, at level 1 it is 0 unless `k` is `m`.

    Returns
    -------
    ndarray
        Rounded up: the tail at each bound, in real arithmetic, is at most `delta`.

    See Also
    --------
    pacbayes.certificates.chernoff_upper : Upper bound for losses in [0, 1].
    pacbayes.certificates.hypergeometric_upper : Upper bound on the number of errors in a batch of new rows.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> binomial_upper([0, 8, 100], 100, 0.05).round(6)
    array([0.029513, 0.139717, 1.      ])
    """
    counts = np.asarray(errors)
    if counts.dtype.kind not in "iu":
        raise TypeError(f"errors must be integers, got dtype {counts.dtype}")
    sizes = check_sample_sizes(m, counts.size).reshape(counts.shape)
    invalid = (counts < 0) | (counts > sizes)
    if invalid.any():
        raise ValueError(f"errors must lie between 0 and m = {sizes[invalid].flat[0]}, got {counts[invalid].flat[0]}")
    k, sizes, level = np.broadcast_arrays(counts, sizes, check_in_range("delta", delta, 0.0, 1.0))
    bounds = np.ones(k.shape)
    # No tail exceeds 1.
    bounds[(k < m) & (level == 1.0)] = 0.0
    inner = (k < m) & (level > 0.0) & (level < 1.0)
    no_errors, small, usual = (
        inner & (k == 0),
        inner & (k > 0) & (level < _SMALL_LEVEL),
        inner & (k > 0) & (level >= _SMALLEST_LEVEL),
    )
    with default_errstate():
        closed_form = -np.expm1(np.log(level[no_errors]) / sizes[no_errors])
        bounds[no_errors] = np.minimum(round_up(closed_form, 8.0), 1.0)
        bounds[usual] = _clopper_pearson(k[usual].astype(np.float64), sizes[usual].astype(np.float64), level[usual])
        exponent = round_up(-np.log(level[small]) / sizes[small], 8.0)
        chernoff = np.asarray(kl_roots(np.minimum(round_up(k[small] / sizes[small], 2.0), 1.0), exponent)[1])
        bounds[small] = np.minimum(bounds[small], chernoff)
    return bounds


def _clopper_pearson(k: FloatArray, m: FloatArray, level: FloatArray) -> FloatArray:
    """Bounds for 0 < k < m: SciPy's inverse, increased until the tail is safely below the level."""
    bounds: NDArray[Any] = np.asarray(betainccinv(k + 1.0, m - k, level), dtype=np.float64)
    # If the inverse failed, use the trivial bound; a zero could not be increased by multiplication.
    bounds = np.where(np.isfinite(bounds), np.maximum(bounds, SMALLEST_NORMAL), 1.0)
    max_tail = max_computed_tail(m, level)
    step = 1e-13
    while True:
        tail = betaincc(k + 1.0, m - k, bounds)
        too_small = (bounds < 1.0) & ~(tail <= max_tail)
        if not too_small.any():
            return bounds
        bounds = np.where(too_small, np.minimum(bounds * (1.0 + step), 1.0), bounds)
        step *= 2.0


def max_computed_tail(m: FloatArray, level: float | FloatArray) -> FloatArray:
    """Largest acceptable computed tail: the level minus a margin for the error of `betaincc`."""
    return np.asarray(level * (1.0 - np.where(m <= 1e8, _MARGIN, _MARGIN_LARGE_M)))


def chernoff_upper(risks: ArrayLike, m: int, delta: ArrayLike) -> FloatArray:
    r"""Chernoff upper confidence bound on the mean of a loss in [0, 1], from its mean over `m` independent draws.

    The largest `r` with :math:`kl(\hat l, r) \le \ln(1/\delta)/m`.  With probability at least :math:`1-\delta` the true
    mean does not exceed it, because :math:`E e^{tX} \le 1 - r + r e^t` for every loss `X` in [0, 1] with mean `r`.  For
    0-1 losses the exact bound, `binomial_upper`, is smaller.

    Parameters
    ----------
    risks : array_like of float
        Means in [0, 1], not below the exact ones; broadcast against `delta`.
    m : int
    delta : array_like of float
        Levels in [0, 1]; the bound at level 0 is 1.

    Returns
    -------
    ndarray
        Rounded up.

    See Also
    --------
    pacbayes.certificates.binomial_upper : The exact bound for 0-1 losses.

    Examples
    --------
    >>> chernoff_upper([0.0, 0.08, 1.0], 100, 0.05).round(6)
    array([0.029513, 0.162851, 1.      ])
    """
    m = check_sample_size(m)
    level = check_in_range("delta", delta, 0.0, 1.0)
    with default_errstate(), np.errstate(divide="ignore"):
        threshold = round_up(-np.log(level) / m, 8.0)
    return np.asarray(kl_roots(check_in_range("risks", risks, 0.0, 1.0), threshold)[1])


def hypergeometric_upper(errors: int, m: int, rows: int, delta: float) -> int:
    r"""Upper prediction bound on the number of errors among `rows` new examples, from the errors on `m` others.

    The largest number of new errors for which at most `k` errors on the first sample still have probability above
    `delta`,

    .. math:: u = \max\{f \le N : P(X \le k) > \delta\}, \qquad X \sim \mathrm{Hypergeometric}(m + N,\ k + f,\ m):

    Of all :math:`m + N` examples :math:`k + f` are errors, and the first `m` are a random subset.  With probability at
    least :math:`1-\delta` over both samples at most `u` of the new examples are errors: equation (batch) of
    docs/mathematics.md.  The bound is a quantile of the beta-binomial distribution, equation (beta-binomial) there.

    Parameters
    ----------
    errors : int
        `k`, from 0 to `m`.
    m : int
        Number of examples on which the errors were counted.
    rows : int
        `N`, the number of new examples, from 0.
    delta : float
        A level in [0, 1]; at level 0 the bound is `rows`.

    Returns
    -------
    int
        Never too small.  Too large by one only if the probability is within a relative :math:`10^{-9}` of `delta`, or
        within :math:`10^{-15} \min(m, N)` if that is more.

    See Also
    --------
    binomial_upper : The bound on the risk, the limit of u / N as N grows.

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
    m, rows = _check_integer("m", m, 1, MAX_STORED_INT), _check_integer("rows", rows, 0, MAX_STORED_INT)
    errors = _check_integer("errors", errors, 0, m)
    level = float(check_in_range("delta", delta, 0.0, 1.0))
    if errors == m or level < _SMALLEST_LEVEL:
        return rows
    # The result cannot be too small: the probability decreases in f, and `excluded` is only set to an f whose computed
    # probability is below the level by more than its error.  So every f from `excluded` on is excluded in real
    # arithmetic too.
    max_tail = level * (1.0 - _SUM_MARGIN - 8.0 * EPS * (min(m, rows) + 64))
    possible, excluded = 0, rows + 1
    while excluded - possible > 1:
        middle = (possible + excluded) // 2
        if _hypergeometric_tail(errors, m, rows, middle) < max_tail:
            excluded = middle
        else:
            possible = middle
    return possible


def _hypergeometric_tail(errors: int, m: int, rows: int, new_errors: int) -> float:
    """Probability that at most `errors` of all `errors + new` wrong examples are among the first `m`.

    The tail is a sum of terms over the sum of all terms.  Each term is its neighbour times a ratio of integers,
    starting at the mode: logarithms of large factorials would lose digits.  The k-th term has a relative error of at
    most 2 k epsilon (two products, a quotient and a step, half an epsilon each), the result twice that for the last k,
    plus the errors of the sums.  Terms that underflow can only make the result too large.
    """
    wrong, right = errors + new_errors, m + rows - errors - new_errors
    first, last = max(0, wrong - rows), min(m, wrong)
    mode = min(max((m + 1) * (wrong + 1) // (m + rows + 2), first), last)
    with default_errstate():
        up = np.arange(mode, last, dtype=np.float64)
        rising = np.cumprod((m - up) * (wrong - up) / ((up + 1.0) * (right - m + up + 1.0)))
        down = np.arange(mode, first, -1, dtype=np.float64)
        falling = np.cumprod(down * (right - m + down) / ((m - down + 1.0) * (wrong - down + 1.0)))
    # rising[i] is the term of mode + 1 + i errors among the first m, falling[i] that of mode - 1 - i.
    total = 1.0 + float(rising.sum()) + float(falling.sum())
    if errors >= mode:
        return (1.0 + float(rising[: errors - mode].sum()) + float(falling.sum())) / total
    return float(falling[mode - 1 - errors :].sum()) / total


def _check_integer(name: str, value: Any, minimum: int, maximum: int) -> int:
    """Check that a value is an integer within a range."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    number = int(value)
    if not minimum <= number <= maximum:
        raise ValueError(f"{name} must lie between {minimum} and {maximum}, got {number}")
    return number


def rows_needed(error: float, target: float, *, delta: float = 0.05, chance: float = 0.8) -> int:
    """Sample size of the validation set: rows needed to certify an error rate, given the true one.

    The smallest number of rows such that with it, and with every larger number, the Clopper-Pearson bound [1]_ is at
    most `target` with probability at least `chance`.

    Parameters
    ----------
    error : float
        The expected error rate, below `target`.
    target : float
        The bound to be certified, at most 1.
    delta : float, default=0.05
        The level of the bound.
    chance : float, default=0.8
        Probability over the validation set that the bound is at most `target`; strictly between 0 and 1.

    Returns
    -------
    int

    See Also
    --------
    pacbayes.bounds.chances : The probability of certification for given numbers of rows.
    pacbayes.report.plot_plan : Plot the probability of certification against the number of rows.

    Notes
    -----
    The probability of certification is a sawtooth function of the number of rows, so it may also be reached with a few
    rows less.  The search starts at a number of rows from which on the probability is proved to be large enough,
    equation (enough) of docs/mathematics.md, and goes down tooth by tooth [2]_.

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
    risk, bound, level, power = _check_plan(error, target, delta, chance)
    if bound == 1.0:
        return 1
    with default_errstate():
        if risk == 0.0:  # errors never occur: only tooth 0 matters
            return int(_tooth_start(np.zeros(1), bound, level)[0])
        high = int(_max_errors(np.array([_sufficient_rows(risk, bound, level, power)]), bound, level)[0])
        while True:
            # The lowest point of a tooth is the row before the next tooth starts; tooth -1 allows no number of errors.
            teeth = np.arange(max(high - _TEETH_PER_BLOCK, -1), high + 1, dtype=np.float64)
            starts = _tooth_start(teeth[1:], bound, level)
            too_low = _binomial_tail(teeth[1:-1], starts[1:] - 1.0, risk) < power
            if too_low.any():
                return int(starts[int(np.flatnonzero(too_low)[-1]) + 1])
            if teeth[0] < 0.0:
                return int(starts[0])
            high = int(teeth[1])


def chances(rows: ArrayLike, error: float, target: float, *, delta: float = 0.05) -> FloatArray:
    """Probability that the Clopper-Pearson bound on the error rate is at most `target`, by number of rows.

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
    rows_needed : The number of rows needed for a given probability.

    Examples
    --------
    >>> chances([455, 474, 475], 0.05, 0.08).round(3)
    array([0.793, 0.792, 0.842])
    """
    risk, bound, level, _ = _check_plan(error, target, delta, 0.5)
    m = check_sample_sizes(np.asarray(rows).ravel(), np.asarray(rows).size).astype(np.float64)
    if bound == 1.0:
        return np.ones(m.size)
    with default_errstate():
        allowed = _max_errors(m, bound, level)
        return np.where(allowed < 0.0, 0.0, _binomial_tail(np.maximum(allowed, 0.0), m, risk))


def _check_plan(error: Any, target: Any, delta: Any, chance: Any) -> tuple[float, float, float, float]:
    """Check error rate, bound, level and probability of certification."""
    risk = check_number("error", error, "a number from 0 to 1")
    bound = check_number("target", target, "a number from 0 to 1")
    power = check_number("chance", chance, "a number between 0 and 1")
    if not 0.0 <= risk <= 1.0:
        raise ValueError(f"error must lie in [0, 1], got {error!r}")
    if not risk < bound <= 1.0:
        raise ValueError(f"target must be above error = {risk:g}, and at most 1, got {target!r}")
    if not 0.0 < power < 1.0:
        raise ValueError(f"chance must be strictly between 0 and 1, got {chance!r}")
    return risk, bound, check_level(delta), power


def _binomial_tail(k: FloatArray, m: FloatArray, p: float) -> FloatArray:
    """P(Bin(m, p) <= k) for k from 0."""
    # `betaincc` is undefined for k >= m, where the probability is 1.
    return np.where(k >= m, 1.0, betaincc(k + 1.0, np.maximum(m - k, 1.0), p))


def _tooth_start(k: FloatArray, target: float, level: float) -> FloatArray:
    """Smallest number of rows with which k errors are allowed, by bisection: the tail decreases in the rows."""
    low = k.copy()
    high = 2.0 * (k + 1.0)
    while (too_few := _binomial_tail(k, high, target) > max_computed_tail(high, level)).any():
        low, high = np.where(too_few, high, low), np.where(too_few, 2.0 * high, high)
    while ((high - low) > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        allowed = _binomial_tail(k, middle, target) <= max_computed_tail(middle, level)
        low, high = np.where(allowed, low, middle), np.where(allowed, middle, high)
    return high


def _max_errors(m: FloatArray, target: float, level: float) -> FloatArray:
    """Largest number of errors with which the bound is at most `target`; -1 if no number is."""
    low, high = np.full(m.size, -1.0), np.floor(m)
    while ((high - low) > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        allowed = _binomial_tail(middle, m, target) <= max_computed_tail(m, level)
        low, high = np.where(allowed, middle, low), np.where(allowed, high, middle)
    return low


def _sufficient_rows(risk: float, target: float, level: float, chance: float) -> float:
    r"""Find a number of rows from which on the probability is large enough, by the Zubkov-Serov inequalities.

    :math:`P(\mathrm{Bin}(m,p) \le k)` lies between :math:`C(k)` and :math:`C(k+1)`, equation (zubkov-serov), where
    :math:`C(k) = \Phi(\mathrm{sign}(k/m - p) \sqrt{2m\,kl(k/m, p)})`.  With :math:`k = \lfloor sm \rfloor` for some s
    between the risk r and the bound :math:`\tau` it is sufficient that :math:`2m\,kl(s + 1/m, \tau)` and
    :math:`2m\,kl(s - 1/m, r)` are at least the squared normal quantiles; both increase in m.
    """
    # Slightly larger quantiles than needed, to cover the rounding errors below.
    z, y = (float(-ndtri(tail * (1.0 - 1e-6))) for tail in (min(level, 0.5), min(1.0 - chance, 0.5)))

    def sufficient(m: float) -> bool:
        # Find the smallest s - 1/m that is far enough from the risk, then check that s + 1/m is far enough from the
        # bound.
        if 2.0 * m * float(kl_divergence(target, risk)) <= y**2:
            return False
        low = brentq(lambda q: 2.0 * m * float(kl_divergence(q, risk)) - y**2, risk, target)
        high = low * (1.0 + 1e-12) + 2.0 / m
        return bool(high < target and 2.0 * m * float(kl_divergence(high, target)) >= z**2)

    m = 2.0
    while not sufficient(m):
        m *= 2.0
        if m > _MAX_ROWS:
            raise ValueError(
                f"target must be farther from error = {risk:g}, got {target!r}: more than fifty million rows would be "
                "needed"
            )
    low = 0.5 * m
    while m - low > max(1.0, 1e-5 * m):
        middle = 0.5 * (low + m)
        low, m = (low, middle) if sufficient(middle) else (middle, m)
    return float(np.ceil(m))
