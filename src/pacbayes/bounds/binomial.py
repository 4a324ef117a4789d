"""Upper limits of one risk, rounded up: the exact one for counted errors, Chernoff's for any loss in [0, 1]."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincc, betainccinv

from pacbayes._utils.arrays import EPS, SMALLEST_NORMAL, FloatArray, round_up, usual_float_errors
from pacbayes._utils.checks import check_between, check_sample_size, check_sample_sizes
from pacbayes.bounds.binary_kl import kl_roots

# The tail at the limit returned is below the level by this part of it, for m up to 1e8 and above.  `betaincc` was never
# seen wrong by more than 3e-14 up to m = 1e6, 3e-12 up to 1e8 and 6e-11 anywhere (near m = 2e9), for tails down to
# 1e-300.
_MARGIN, _MARGIN_OF_MANY = 1e-10, 1e-9
# Below this level the inverse of `betaincc` may fail; below the other one, on the way to the subnormal numbers, its
# values lose their digits, and so would the level less the margin.
_SMALL, _SMALLEST = 1e-100, 1e-280


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
