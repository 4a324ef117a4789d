r"""Moments of the binomial distribution that make the constants ln I(m), for every m and rounded up.

A PAC-Bayesian bound with the distance :math:`\phi` holds with any constant

.. math:: I(m) \ge \sup_{0 \le l \le 1} \sum_{k=0}^m \binom{m}{k} l^k (1-l)^{m-k} e^{n \phi(k/m,\, l)}

(`n` is `m`, and `2m - 1` for ch).  A constant below the supremum makes the bound invalid, hence every
function here returns a number that is at least the exact one.  They hold for losses in [0, 1], not only
for 0-1 losses: the exponential is convex in the empirical risk, so the Bernoulli case is the worst.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp, zeta

from pacbayes.bounds.binary_kl import kl_divergence
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.rounding import round_up

# Relative inflation of a quadrature or a sum; their errors, rounding included, are well below it.
_SLACK = 1e-12


def _stirling_error(n: FloatArray) -> FloatArray:
    """Return ln n! - ln(sqrt(2 pi n) (n/e)**n) for n >= 1, the part of ln n! that does not cancel in a binomial."""
    inverse = 1.0 / n
    square = inverse * inverse
    series = inverse * (1 / 12 + square * (-1 / 360 + square * (1 / 1260 + square * (-1 / 1680 + square * (1 / 1188)))))
    direct = gammaln(n + 1.0) - (n + 0.5) * np.log(n) + n - 0.5 * math.log(2.0 * math.pi)
    return np.where(n > 15, series, direct)


def log_binomial_peaks(m: int, k: FloatArray | None = None) -> FloatArray:
    r"""Return :math:`\ln[\binom{m}{k} (k/m)^k (1-k/m)^{m-k}]` for `k`, or for all of 0..m.

    The binomial probability of `k` under the parameter `l` is this minus ``m kl(k/m, l)``, a form in which no
    large numbers cancel.

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
    r"""Return :math:`\ln\xi(m)`, :math:`\xi(m) = \sum_k \binom{m}{k}(k/m)^k(1-k/m)^{m-k}`, rounded up.

    This is the constant of the kl distance, the same for every `l` in (0, 1): equation (xi) of docs/mathematics.md.  It
    is :math:`1 + Q(m)` with Ramanujan's function Q, whose asymptotic expansion, cut after m**-5, is off by less than
    1e-15 from m = 100 on.

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
    """x^2/2 - ln cosh x for x >= 0, to full precision also near zero."""
    near = np.minimum(x, 0.6) ** 2
    series = near**2 * np.polynomial.polynomial.polyval(near, _QUARTIC_SERIES)
    direct = 0.5 * x * x - (x + np.log1p(np.exp(-2.0 * x)) - math.log(2.0))
    return np.where(x < 0.6, series, direct)


@lru_cache(maxsize=1024)
def log_square_moment(c: float, m: int) -> float:
    r"""Return :math:`\ln E e^{c m (k/m - 1/2)^2}` for k binomial with parameter 1/2 and 0 < c <= 2, rounded up.

    Writing the exponential of a square as a Gaussian mean of exponentials gives equation (square-moment) of
    docs/mathematics.md,

    .. math:: E e^{c m (k/m-1/2)^2} = \sqrt{\frac{m}{4 \pi c}} \int e^{-m v(t)} dt, \qquad
              v(t) = \frac{t^2}{4c} - \ln\cosh\frac{t}{2}.

    The integrand is a mixture of Gaussians of variance :math:`2c/m`, for which the trapezoid rule with the step
    :math:`h = \sqrt{c/m}` has the relative error :math:`2 e^{-4\pi^2} < 2\cdot10^{-17}` (Poisson summation).  `v` is
    convex, so what lies beyond `T` is at most :math:`e^{-m v(T)} / (m v'(T))`; it is added.

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
    """Return ln E e^{exponent(k)} for k binomial with parameter `risk`.

    `exponents` has one more dimension than `risk`: the last, for k = 0..m.
    """
    k = np.arange(m + 1) / m
    log_probability = log_binomial_peaks(m) - m * np.asarray(kl_divergence(k, risk[..., None]))
    # At a risk of 0 or 1 the impossible k, whose distance may be infinite, do not count.
    with np.errstate(invalid="ignore"):
        terms = np.where(log_probability == -np.inf, -np.inf, log_probability + exponents)
    return np.asarray(logsumexp(terms, axis=-1))
