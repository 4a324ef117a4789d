r"""The binary Kullback-Leibler divergence and its roots.

.. math:: kl(p, q) = p \ln\frac{p}{q} + (1-p) \ln\frac{1-p}{1-q}

is convex in `q` with its minimum 0 at `q = p`, so that ``kl(p, r) = x`` has at most one root on each
side of `p`.  If `p` is an empirical risk, the upper root is the kl bound on the true risk (the kl inverse): equation
(kl-root) of docs/mathematics.md.

Computing the root
------------------
With ``s = 1 - p`` and the unknown ``w = ln(s / (1 - r))``, the equation for the upper root is

.. math:: f(w) = (s w - x) - p \ln(1 + D/p) = 0, \qquad D = s (1 - e^{-w}), \quad r = p + D,

whose left side is convex in `w`, with ``f' = D / r`` and ``f'' = p (1 - r) / r**2``.  Halley's method, started to the
right of the root, needs three steps for full precision in both `r` and `1 - r`, for all `p` and `x`; the logarithm of
``r / p`` is computed from ``D / p``, so nothing cancels.  The lower root is the upper root of the mirrored problem,
``(p, s) -> (s, p)``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import EPS, FloatArray, default_errstate
from pacbayes._utils.checks import check_in_range

# Arrays are processed in blocks of this many elements, whose temporaries stay in the cache.
_BLOCK = 8192
# If p and x are both below _TINY, kl(p, r) equals p ln(p/r) + r - p to all digits, which is homogeneous:
# both are scaled up by _SCALE, away from the subnormal numbers, and the root is scaled back.
_TINY, _SCALE = 1e-200, 2.0**200
_LOG_SCALE = math.log(_SCALE)
# Otherwise a p below _FLOOR is too small next to x to change the root; the floor keeps D/p finite.
_FLOOR = 1e-290
# s exp(-w) underflows to zero from here on; x is clipped at the value that leads here.
_LARGEST_W = 2000.0
_N_STEPS = 3
# The spacing of floating-point numbers between 1/2 and 1.
_ULP = 0.5 * EPS
# Measured relative errors of r stay below 2.5 EPS (tests/bounds/test_binary_kl.py); the margin is three times that.
_MARGIN = 8 * EPS
# A relative error of w is an absolute error of the exponent in exp(-w).
_MARGIN_W = 3 * EPS


def _solve_upper_roots(p: FloatArray, s: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Upper roots of kl(p, r) = x for s = 1 - p > 0, x > 0: w, r and 1 - r, the last two to full relative precision."""
    p = np.maximum(p, _FLOOR)
    x = np.minimum(x, _LARGEST_W * s)
    start = np.log1p((x + np.sqrt(x) * np.sqrt(x + 2.0 * p * s)) / s)
    # s w = x - p ln(p/r) lies between x and x - p ln p, and -p ln p is at most s and at most (2/e) sqrt(p).
    w = np.minimum(start, (x + np.minimum(s, 0.7358 * np.sqrt(p))) / s)
    # The root is at least half the start: anything below is rounding noise, which the next step would amplify.
    min_w = 0.45 * w
    for _ in range(_N_STEPS):
        decay = np.expm1(-w)
        D = -s * decay
        r = p + D
        newton = ((s * w - x) - p * np.log1p(D / p)) * (r / D)
        # The denominator is close to one, except where w is so small that the Newton step is rounding noise.
        halley = np.maximum(1.0 + newton * (p / r) * ((1.0 + decay) / (2.0 * decay)), 0.5)
        w = np.maximum(w - newton / halley, min_w)
    decay = np.expm1(-w)
    # exp(-w) from expm1(-w), recomputed only where the sum would lose more than one bit.
    exponential = 1.0 + decay
    large = np.flatnonzero(decay < -0.5)
    exponential[large] = np.exp(-w[large])
    return w, p - s * decay, s * exponential


def _solve_upper_root(p: float, s: float, x: float) -> tuple[float, float, float]:
    """Solve for one root like `_solve_upper_roots`, in plain floats: posterior searches spend most of their time here.

    The number of correct digits triples with each step, so iteration stops after a step below the cube root of the
    precision.
    """
    p = max(p, _FLOOR)
    x = min(x, _LARGEST_W * s)
    w = min(math.log1p((x + math.sqrt(x) * math.sqrt(x + 2.0 * p * s)) / s), (x + min(s, 0.7358 * math.sqrt(p))) / s)
    min_w = 0.45 * w
    for _ in range(_N_STEPS):
        decay = math.expm1(-w)
        D = -s * decay
        r = p + D
        newton = ((s * w - x) - p * math.log1p(D / p)) * (r / D)
        halley = 1.0 + newton * (p / r) * ((1.0 + decay) / (2.0 * decay))
        step = newton / halley if halley > 0.5 else 2.0 * newton
        w -= step
        if w < min_w:
            w = min_w
        elif abs(step) < 1e-6 * w:
            break
    return w, p - s * math.expm1(-w), s * math.exp(-w)


class UpperRoot(NamedTuple):
    """Upper root of kl(p, r) = x: `r` and `1 - r` to full relative precision, `w`, and `r` rounded up.

    The absolute error of `w` is a few units in the last place of 1, so its relative error grows as `x` decreases below
    1e-20.
    """

    r: float
    one_minus_r: float
    w: float
    rounded: float


def upper_root(p: float, x: float) -> UpperRoot:
    """Compute one upper root, many times faster than the array code; arguments are not checked.

    Examples
    --------
    >>> upper_root(0.1, 0.05).rounded  # doctest: +ELLIPSIS
    0.22007...
    """
    s = 1.0 - p
    if s == 0.0 or x == 0.0:
        return UpperRoot(p, s, 0.0, p)
    if x > _LARGEST_W * s:  # r = 1 to all digits, which leaves s w = x - p ln p
        return UpperRoot(1.0, 0.0, (x - p * math.log(max(p, _FLOOR))) / s, 1.0)
    if max(p, x) < _TINY:
        w, r, rest = _solve_upper_root(p * _SCALE, s, x * _SCALE)
        return UpperRoot(r / _SCALE, rest, w / _SCALE, _unscale_up(r * (1.0 + _MARGIN)))
    w, r, rest = _solve_upper_root(p, s, x)
    if r <= 0.5:
        return UpperRoot(r, rest, w, r * (1.0 + _MARGIN))
    return UpperRoot(r, rest, w, max(_one_minus_up(rest * (1.0 - _MARGIN - _MARGIN_W * w)), p))


def lower_root(p: float, x: float) -> float:
    """Compute one lower root, rounded down; the counterpart of `upper_root`.

    Examples
    --------
    >>> lower_root(0.1, 0.05)  # doctest: +ELLIPSIS
    0.03127...
    """
    s = 1.0 - p
    if p == 0.0 or x == 0.0:
        return p
    if x > _LARGEST_W * p:
        return 0.0
    if max(p, x) < _TINY:
        w, _, r = _solve_upper_root(s, p * _SCALE, x * _SCALE)
        return _unscale_down(r * (1.0 - _MARGIN - _MARGIN_W * w))
    w, rest, r = _solve_upper_root(s, p, x)
    if r < _FLOOR:  # exp(-w) is about to lose its digits
        return _unscale_down(p * math.exp(_LOG_SCALE - w) * (1.0 - _MARGIN - _MARGIN_W * w))
    if r <= 0.5:
        return r * (1.0 - _MARGIN - _MARGIN_W * w)
    return min(_one_minus_down(rest * (1.0 + _MARGIN)), p)


# Directed rounding of 1 - rest: for rest <= 1/2 the difference 1 - (1 - rest) is exact and reveals the rounding error.
def _one_minus_up(rest: float) -> float:
    value = 1.0 - rest
    return value if 1.0 - value <= rest else value + _ULP


def _one_minus_down(rest: float) -> float:
    value = 1.0 - rest
    return value if 1.0 - value >= rest else value - _ULP


# Directed rounding of value / _SCALE: multiplying back is exact and reveals the rounding error.
def _unscale_up(value: float) -> float:
    small = value / _SCALE
    return small if small * _SCALE >= value else math.nextafter(small, 1.0)


def _unscale_down(value: float) -> float:
    small = max(value, 0.0) / _SCALE
    return small if small * _SCALE <= value else math.nextafter(small, 0.0)


def _kl_roots_block(p: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both roots of one block with 0 < p < 1 and 0 < x < inf, rounded outward."""
    s = 1.0 - p
    w, r, rest = _solve_upper_roots(p, s, x)
    rest *= 1.0 - _MARGIN - _MARGIN_W * w
    near_one = 1.0 - rest
    near_one += _ULP * (1.0 - near_one > rest)
    upper = np.where(r <= 0.5, r * (1.0 + _MARGIN), np.maximum(near_one, p))

    w, rest, r = _solve_upper_roots(s, p, x)
    rest *= 1.0 + _MARGIN
    near_one = 1.0 - rest
    near_one -= _ULP * (1.0 - near_one < rest)
    lower = np.where(r <= 0.5, r * (1.0 - _MARGIN - _MARGIN_W * w), np.minimum(near_one, p))
    return lower, upper


def kl_roots(p: ArrayLike, x: ArrayLike) -> tuple[FloatArray | float, FloatArray | float]:
    r"""Kl inverses: both roots `r` of :math:`kl(p, r) = x`, rounded outward.

    The lower root is the smallest and the upper root the largest `r` in [0, 1] with
    :math:`kl(p, r) \le x`.  If `p` is an empirical risk on `m` examples and
    :math:`x = (K + \ln I - \ln\delta)/m`, they are the two ends of the kl confidence interval.  The upper
    root is never below the exact one, the lower root never above it.  The relative error of `r`, and of
    `1 - r` if `r > 1/2`, is at most 1e-12, or one unit in the last place of `r` if that is larger.

    Parameters
    ----------
    p : array_like
        Numbers in [0, 1].
    x : array_like
        Non-negative numbers; infinity is allowed.  `p` and `x` broadcast.

    Returns
    -------
    lower, upper : ndarray or float
        Double precision; floats if both arguments are scalars.
        At ``p = 0`` they are 0 and :math:`1 - e^{-x}`, at ``p = 1`` they are :math:`e^{-x}` and 1.
        If there is no root on one side, the end of the interval, 0 or 1.

    See Also
    --------
    kl_divergence : The binary kl divergence.
    bound : The bound of a posterior, by default the upper root.

    References
    ----------
    .. [1] M. Seeger, "PAC-Bayesian generalisation error bounds for Gaussian process classification", Journal of Machine
       Learning Research 3, 2002.
    .. [2] J. Langford, "Tutorial on practical prediction theory for classification", Journal of Machine Learning
       Research 6, 2005.

    Examples
    --------
    >>> lower, upper = kl_roots(0.1, 0.05)
    >>> print(f"{lower:.6f} {upper:.6f}")
    0.031278 0.220079
    >>> kl_roots([0.0, 1.0], [[0.5], [1.0]])[1].round(6)
    array([[0.393469, 1.      ],
           [0.632121, 1.      ]])
    """
    p, x = _broadcast(p, "x", x, math.inf)
    if p.ndim == 0:
        return lower_root(float(p), float(x)), upper_root(float(p), float(x)).rounded
    with default_errstate():
        return _kl_roots_arrays(p, x)


def _broadcast(p: ArrayLike, name: str, other: ArrayLike, maximum: float) -> tuple[FloatArray, FloatArray]:
    """Check probabilities and the second argument, and broadcast them against each other."""
    p, other = check_in_range("p", p, 0.0, 1.0), check_in_range(name, other, 0.0, maximum)
    try:
        p, other = np.broadcast_arrays(p, other)
    except ValueError:
        raise ValueError(f"p and {name} must broadcast, got shapes {p.shape} and {other.shape}") from None
    return p, other


def _kl_roots_arrays(p: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both roots of arrays of equal shape, block by block."""
    lower, upper = np.empty(p.shape), np.empty(p.shape)
    flat_p, flat_x = p.ravel(), x.ravel()
    flat_lower, flat_upper = lower.reshape(-1), upper.reshape(-1)
    for start in range(0, flat_p.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        block_p, block_x = flat_p[block], flat_x[block]
        # Closed forms and subnormal numbers are rare: they are computed one by one.
        plain = (block_p >= _FLOOR) & (block_p < 1.0) & (block_x > 0.0) & (block_x < math.inf)
        plain &= np.maximum(block_p, block_x) >= _TINY
        if plain.all():
            flat_lower[block], flat_upper[block] = _kl_roots_block(block_p, block_x)
        else:
            flat_lower[block][plain], flat_upper[block][plain] = _kl_roots_block(block_p[plain], block_x[plain])
        plain &= (flat_lower[block] >= _FLOOR) | (flat_lower[block] == 0.0)
        for i in np.flatnonzero(~plain) + start:
            flat_lower[i] = lower_root(float(flat_p[i]), float(flat_x[i]))
            flat_upper[i] = upper_root(float(flat_p[i]), float(flat_x[i])).rounded
    return lower, upper


def _excess_over_log(u: FloatArray, log_ratio: FloatArray) -> FloatArray:
    """Compute u - ln(1 + u), with the logarithm precomputed, to full relative precision near u = 0 and u = -1."""
    t = u / (2.0 + u)
    square = t * t
    # ln(1 + u) = 2 artanh(t) = 2 t (1 + t^2/3 + t^4/5 + ...), and u - 2 t = u t.
    series = np.zeros_like(t)
    for k in range(17, 0, -1):
        series = series * square + 1.0 / (2 * k + 1)
    return np.where(np.abs(u) < 0.5, t * (u - 2.0 * square * series), u - log_ratio)


def kl_divergence(p: ArrayLike, q: ArrayLike) -> FloatArray | float:
    r"""Binary Kullback-Leibler divergence :math:`kl(p, q)` between two probabilities.

    .. math:: kl(p, q) = p \ln\frac{p}{q} + (1-p) \ln\frac{1-p}{1-q}, \qquad 0 \ln 0 = 0.

    Computed as a sum of two non-negative terms, it keeps its relative precision if `p` and `q`
    nearly agree.  It is infinite if `q` is 0 or 1 and `p` is not equal to `q`.

    Parameters
    ----------
    p, q : array_like
        Numbers in [0, 1]; they broadcast.

    Returns
    -------
    ndarray or float
        Double precision; a float if both arguments are scalars.

    See Also
    --------
    kl_roots : Its roots in the second argument.

    References
    ----------
    .. [1] J. Langford, "Tutorial on practical prediction theory for classification", Journal of Machine Learning
       Research 6, 2005.

    Examples
    --------
    >>> print(f"{kl_divergence(0.1, 0.2):.6f}")
    0.036690
    >>> kl_divergence([0.0, 0.5, 1.0], 0.5).round(6)
    array([0.693147, 0.      , 0.693147])
    """
    p, q = _broadcast(p, "q", q, 1.0)
    D = q - p
    total = np.zeros(p.shape)
    with np.errstate(all="ignore"):
        for weight, change, other in ((p, D, q), (1.0 - p, -D, 1.0 - q)):
            u = change / weight
            # weight * (u - ln(1 + u)) tends to the change itself as the weight tends to zero, and equals it to
            # all digits if the weight is so small that the ratio overflows.
            ratio = other / weight
            # A subnormal ratio has lost its digits, but its logarithm can be computed from the two logarithms.
            log_ratio = np.where(ratio < _FLOOR, np.log(other) - np.log(weight), np.log(ratio))
            total += np.where(np.isfinite(u), weight * _excess_over_log(u, log_ratio), change)
    return total if total.ndim else float(total)
