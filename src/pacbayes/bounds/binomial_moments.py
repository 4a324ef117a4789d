r"""Moments of the binomial distribution: the constants ln I(m) of the PAC-Bayes bounds, rounded up.

A PAC-Bayesian bound with the distance :math:`\phi` holds with any constant

.. math:: I(m) \ge \sup_{0 \le l \le 1} \sum_{k=0}^m \binom{m}{k} l^k (1-l)^{m-k} e^{n \phi(k/m,\, l)}

(`n` is `m`, and `2m - 1` for ch).  A constant below the supremum makes the bound invalid, so every
function here rounds up.  The constants hold for all losses in [0, 1], not only for 0-1 losses: the exponential is
convex in the empirical risk, so the Bernoulli case is the worst.

The certified supremum
----------------------
If the worst risk has no closed form, `log_supremum` encloses the supremum of :math:`F(l) = \sum_k u_k(l)`,
:math:`u_k(l) = \binom{m}{k} l^k (1-l)^{m-k} e^{n \phi(k/m - l)}` with an even, convex :math:`\phi`, by branch and bound
on `l` in [0, 1/2].  On a cell :math:`c \pm h`, Taylor's formula for :math:`\ln u_k`, equation (cell) of
docs/mathematics.md, gives

.. math:: \sup_{|l-c| \le h} F(l) \le \max_{\pm} \sum_k u_k(c) \exp(\pm h g_k + \tfrac{1}{2} h^2 \max(G_k, 0)),

where :math:`g_k` is the slope of :math:`\ln u_k` at `c` and :math:`G_k` an upper bound of its second derivative on the
cell (a sum of exponentials of linear functions of `l - c` is convex, so its maximum is at an end).
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy, zeta

from pacbayes._utils.arrays import FloatArray, round_up
from pacbayes.bounds.binary_kl import kl_divergence

# Relative inflation of a quadrature or a sum; the errors, rounding included, are well below it.
_SLACK = 1e-12
# Array elements per NumPy call: enough to amortise its overhead, few enough to stay in the cache.
_MAX_ELEMENTS = 400_000
# Relative inflation for rounding: exponents are sums of terms below 1e5 in absolute value for m <= 1e4.
_SUPREMUM_SLACK = 2e-11
# Exponents are clipped here to avoid overflow: such a cell is far above the supremum and is split anyway.
_LARGEST_EXPONENT = 600.0

ArrayFunction = Callable[[FloatArray], FloatArray]


def _stirling_error(n: FloatArray) -> FloatArray:
    """Error of Stirling's formula, ln n! - ln(sqrt(2 pi n) (n/e)**n), for n >= 1."""
    inverse = 1.0 / n
    square = inverse * inverse
    series = inverse * (1 / 12 + square * (-1 / 360 + square * (1 / 1260 + square * (-1 / 1680 + square * (1 / 1188)))))
    direct = gammaln(n + 1.0) - (n + 0.5) * np.log(n) + n - 0.5 * math.log(2.0 * math.pi)
    return np.where(n > 15, series, direct)


def log_binomial_peaks(m: int, k: FloatArray | None = None) -> FloatArray:
    r"""Log probabilities of `k` at its mode, :math:`\ln[\binom{m}{k} (k/m)^k (1-k/m)^{m-k}]`, for `k` or all of 0..m.

    The binomial log probability of `k` with parameter `l` is this minus ``m kl(k/m, l)``, a form without cancellation
    of large numbers.

    Examples
    --------
    >>> np.exp(log_binomial_peaks(2)), np.exp(log_binomial_peaks(4, np.array([2.0])))
    (array([1. , 0.5, 1. ]), array([0.375]))
    """
    counts = np.arange(m + 1.0) if k is None else k
    peaks = np.zeros(counts.shape)
    inner = (counts > 0) & (counts < m)
    k = counts[inner]
    if k.size:
        errors = _stirling_error(np.array(float(m))) - _stirling_error(k) - _stirling_error(m - k)
        peaks[inner] = errors - 0.5 * np.log(2.0 * math.pi * k * (1.0 - k / m))
    return peaks


@lru_cache(maxsize=1024)
def log_xi(m: int) -> float:
    r"""Log constant of the kl distance, :math:`\xi(m) = \sum_k \binom{m}{k}(k/m)^k(1-k/m)^{m-k}`, rounded up.

    The moment is the same for every `l` in (0, 1): equation (xi) of docs/mathematics.md.  It is :math:`1 + Q(m)` with
    Ramanujan's function Q, whose asymptotic expansion, truncated after m**-5, has an error below 1e-15 from m = 100 on.

    Examples
    --------
    >>> print(f"{np.exp(log_xi(1)):.6f} {np.exp(log_xi(1840)):.6f}")
    2.000000 54.430273
    """
    if m < 100:
        return round_up(float(logsumexp(log_binomial_peaks(m))), 64)
    theta = 1 / 3 + (4 / 135 + (-8 / 2835 + (-16 / 8505 + (8992 / 12629925 + 334144 / 492567075 / m) / m) / m) / m) / m
    factorial = math.exp((1 / 12 + (-1 / 360 + 1 / 1260 / m**2) / m**2) / m)
    return round_up(math.log(math.sqrt(math.pi * m / 2) * factorial + 1 - theta), 16)


# x^2/2 - ln cosh x = x^4/12 - x^6/45 + ... = sum over n >= 2 of (-1)^n (4^n - 1) zeta(2n) (x/pi)^(2n) / n.
_N = np.arange(2, 23)
_QUARTIC_SERIES = (-1.0) ** _N * (4.0**_N - 1.0) * zeta(2.0 * _N) / _N / math.pi ** (2.0 * _N)


def _half_square_minus_log_cosh(x: FloatArray) -> FloatArray:
    """Compute x^2/2 - ln cosh x for x >= 0, to full precision also near zero."""
    near = np.minimum(x, 0.6) ** 2
    series = near**2 * np.polynomial.polynomial.polyval(near, _QUARTIC_SERIES)
    direct = 0.5 * x * x - (x + np.log1p(np.exp(-2.0 * x)) - math.log(2.0))
    return np.where(x < 0.6, series, direct)


@lru_cache(maxsize=1024)
def log_square_moment(c: float, m: int) -> float:
    r"""Log moment :math:`\ln E e^{c m (k/m - 1/2)^2}` for k binomial with parameter 1/2 and 0 < c <= 2, rounded up.

    Writing the exponential of a square as a Gaussian average of exponentials gives equation (square-moment) of
    docs/mathematics.md,

    .. math:: E e^{c m (k/m-1/2)^2} = \sqrt{\frac{m}{4 \pi c}} \int e^{-m v(t)} dt, \qquad
              v(t) = \frac{t^2}{4c} - \ln\cosh\frac{t}{2}.

    The integrand is a mixture of Gaussians of variance :math:`2c/m`, for which the trapezoid rule with the step
    :math:`h = \sqrt{c/m}` has the relative error :math:`2 e^{-4\pi^2} < 2\cdot10^{-17}` (Poisson summation).  `v` is
    convex, so the tail beyond `T` is at most :math:`e^{-m v(T)} / (m v'(T))`, which is added.

    Examples
    --------
    >>> print(f"{np.exp(log_square_moment(2.0, 100)):.6f}")
    4.356020
    """
    step = math.sqrt(c / m)
    # v(t) grows at least like t^2 (1/(4c) - 1/8) and like min(t^4/384, t^2/32): m v = 45 is reached by then.
    last = 1 + math.ceil(max((384 * 45 / m) ** 0.25, math.sqrt(32 * 45 / m)) / step)
    t = step * np.arange(last + 1)
    exponent = -m * (t * t * (0.25 / c - 0.125) + _half_square_minus_log_cosh(0.5 * t))
    terms = np.exp(exponent)
    slope = t[-1] / (2.0 * c) - 0.5 * math.tanh(0.5 * t[-1])
    integral = step * (2.0 * terms.sum() - terms[0]) + 2.0 * terms[-1] / (m * slope)
    return round_up(math.log(math.sqrt(m / (4.0 * math.pi * c)) * integral * (1.0 + _SLACK)))


def log_moment(m: int, exponents: FloatArray, risk: FloatArray) -> FloatArray:
    """Log moment ln E e^{exponent(k)} for k binomial with parameter `risk`.

    `exponents` has one more dimension than `risk`: the last one, for k = 0..m.
    """
    k = np.arange(m + 1) / m
    log_probability = log_binomial_peaks(m) - m * np.asarray(kl_divergence(k, risk[..., None]))
    # At risk 0 or 1 the impossible k, whose distance may be infinite, have no weight.
    with np.errstate(invalid="ignore"):
        terms = np.where(log_probability == -np.inf, -np.inf, log_probability + exponents)
    return np.asarray(logsumexp(terms, axis=-1))


def _sum_exp(exponents: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.minimum(exponents, _LARGEST_EXPONENT)).sum(axis=-1))


class CellBounds:
    """Moments F at the centres of cells, and upper bounds of F on the cells."""

    def __init__(self, m: int, n: int, phi: ArrayFunction, slope: ArrayFunction, curvature: ArrayFunction) -> None:
        self.m, self.n = m, n
        self.phi, self.slope, self.curvature = phi, slope, curvature
        self.k = np.arange(m + 1.0)
        fractions = self.k / m
        self.log_binomial = log_binomial_peaks(m) - xlogy(self.k, fractions) - xlogy(m - self.k, 1.0 - fractions)

    def log_terms(self, c: FloatArray) -> FloatArray:
        """Compute ln u_k(c) for all k, along the last axis if `c` has one of length 1."""
        k, m = self.k, self.m
        return np.asarray(self.log_binomial + k * np.log(c) + (m - k) * np.log1p(-c) + self.n * self.phi(k / m - c))

    def __call__(self, center: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute F at the centre of each cell, and an upper bound of F on the cell."""
        c, h = center[:, None], half[:, None]
        k, m, n = self.k, self.m, self.n
        d = k / m - c
        terms = self.log_terms(c)
        drift = h * (m * d / (c * (1.0 - c)) - n * self.slope(d))
        second = n * self.curvature(np.abs(d) + h) - k / (c + h) ** 2 - (m - k) / (1.0 - c + h) ** 2
        bent = terms + 0.5 * h * h * np.maximum(second, 0.0)
        return _sum_exp(terms), np.maximum(_sum_exp(bent - drift), _sum_exp(bent + drift))

    def bound_next_to_zero(self, end: float) -> float:
        """Upper bound of F on [0, end], where the term k = 0 is at most 1 and the others increase."""
        return 1.0 + float(np.exp(self.log_terms(np.array(end))[1:]).sum())


@lru_cache(maxsize=1024)
def log_supremum(
    m: int, n: int, phi: ArrayFunction, slope: ArrayFunction, curvature: ArrayFunction, tol: float = 1e-9
) -> float:
    """Upper bound of ln sup F by branch and bound, at most `tol` above it if sup F is at least 1.002.

    Parameters
    ----------
    m : int
        Number of examples.
    n : int
        The factor of the distance in the exponent, at most 2m.
    phi, slope, curvature : callable
        The distance as a function of the difference d in [-1, 1] and its first two derivatives: even, convex, with
        a curvature that grows with |d| and a slope below 100.
    tol : float
        The absolute width of the enclosure of ln sup F.

    Examples
    --------
    >>> curvature = lambda d: np.full_like(d, 2.0)
    >>> pinsker = log_supremum(100, 200, lambda d: d * d, lambda d: 2 * d, curvature)
    >>> print(f"{np.exp(pinsker):.6f}")  # attained at l = 1/2
    4.356020
    """
    cells = CellBounds(m, n, phi, slope, curvature)
    first = 1e-3 / m
    best, ceiling = 1.0, cells.bound_next_to_zero(first)
    edges = np.linspace(first, 0.5, 17)
    center, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    batch = max(1, _MAX_ELEMENTS // (m + 1))
    while center.size:
        parts = [cells(center[i : i + batch], half[i : i + batch]) for i in range(0, center.size, batch)]
        value, worst = np.concatenate([v for v, _ in parts]), np.concatenate([w for _, w in parts])
        best = max(best, float(value.max()))
        keep = worst > best * (1.0 + 0.5 * tol)
        ceiling = max(ceiling, float(worst[~keep].max(initial=0.0)))
        center, half = center[keep], 0.5 * half[keep]
        center, half = np.concatenate([center - half, center + half]), np.concatenate([half, half])
    return round_up(float(np.log(max(ceiling, best))) + _SUPREMUM_SLACK)
