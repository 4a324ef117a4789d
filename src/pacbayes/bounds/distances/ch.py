"""The sixth-degree approximation of the binary kl divergence."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.bounds.binomial_moments import log_xi
from pacbayes.bounds.distances.base import Distance
from pacbayes.bounds.supremum import log_supremum
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.caller import warn_caller
from pacbayes.numeric.rounding import Number, difference_down, round_up

# The largest m for which the supremum over l is enclosed (a tenth of a second); above it ln xi(m) is used.
LARGEST_ENCLOSED_M = 10_000


def ch_polynomial(d: Number) -> Number:
    r"""Return :math:`d^2 + \frac{2}{9} d^4 + \frac{16}{135} d^6`, half of a lower bound of kl at distance `d`.

    Examples
    --------
    >>> print(f"{4 * (1 - np.exp(-ch_polynomial(0.5))):.4f}")
    0.9334
    """
    t = d * d
    return t * (1.0 + t * (2.0 / 9.0 + t * (16.0 / 135.0)))


def _ch_slope(d: FloatArray) -> FloatArray:
    t = d * d
    return d * (2.0 + t * (8.0 / 9.0 + t * (32.0 / 45.0)))


def _ch_curvature(d: FloatArray) -> FloatArray:
    t = d * d
    return 2.0 + t * (8.0 / 3.0 + t * (32.0 / 9.0))


def ch_root(R: float) -> tuple[float, float]:
    r"""Return the root `t` of :math:`t + \frac{2}{9} t^2 + \frac{16}{135} t^3 = R` and its slope dt/dR.

    The left side is convex and increasing, and both :math:`R` and :math:`(135 R/16)^{1/3}` lie above the root: Newton's
    method descends to it from the smaller one, without the cancellation of Cardano's formula.

    Examples
    --------
    >>> t, slope = ch_root(0.1)
    >>> print(f"{t:.6f} {slope:.5f}")
    0.097765 0.95525
    """
    t = min(R, math.cbrt(R) * math.cbrt(135.0 / 16.0))
    if R > 1e100:  # the cubic term is all, to all digits
        return t, t / (3.0 * R) if math.inf > R else 0.0
    for _ in range(6):
        residual = t * (1.0 + t * (2.0 / 9.0 + t * (16.0 / 135.0))) - R
        t -= residual / (1.0 + t * (4.0 / 9.0 + t * (16.0 / 45.0)))
    return t, 1.0 / (1.0 + t * (4.0 / 9.0 + t * (16.0 / 45.0)))


class CH(Distance):
    r""":math:`\phi(\hat l, l) = d^2 + \frac{2}{9} d^4 + \frac{16}{135} d^6`, :math:`d = l - \hat l`, and n = 2m - 1.

    Twice this polynomial is the sixth-degree lower bound of kl of Fedotov, Harremoës and Topsøe.  The bound is
    :math:`L + \sqrt{r_{CH}(x)}` with the root of `ch_root`.

    Its moment is not largest at l = 1/2.  Up to m = 10 000 the supremum is enclosed to 1e-9 by branch and bound
    (`pacbayes.bounds.supremum`); above, :math:`\xi(m)` is used, an upper bound because
    :math:`(2m-1) \phi \le 2m\phi \le m\,kl`.

    Examples
    --------
    >>> print(f"{math.exp(CH().exact_log_constant(138)):.6f}")
    5.568953
    """

    name = "ch"

    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        """Return the polynomial of the difference."""
        return np.asarray(ch_polynomial(np.subtract(true, empirical, dtype=np.float64)))

    def factor(self, m: int) -> int:
        """Return 2m - 1."""
        return 2 * m - 1

    def exact_log_constant(self, m: int) -> float:
        """Return ln of the supremum for m <= 10 000, ln xi(m) above."""
        return _enclosed_log_supremum(m) if m <= LARGEST_ENCLOSED_M else log_xi(m)

    def paper_log_constant(self, m: int) -> float:
        """Return ln(4m (1 - e^{-phi(1/2)})) = ln(0.9334 m); invalid at m = 1: warn and return the exact one."""
        if m == 1:
            warn_caller(
                "the paper's constant of ch at m = 1 (0.9334) is below the true one (1.3044) and gives an invalid "
                "bound; the true one is used"
            )
            return self.exact_log_constant(m)
        return round_up(math.log(4.0 * m * -math.expm1(-ch_polynomial(0.5))), 8)

    def upper(self, empirical: float, x: float) -> float:
        """Return L + sqrt(r_CH(x)), rounded up."""
        return round_up(empirical + math.sqrt(ch_root(x)[0]), 8)

    def lower(self, empirical: float, x: float) -> float:
        """Return L - sqrt(r_CH(x)), rounded down."""
        return difference_down(empirical, math.sqrt(ch_root(x)[0]))

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Return 1 and r_CH'(x) / (2 sqrt(r_CH(x)))."""
        t, slope = ch_root(x)
        return 1.0, 0.5 * slope / math.sqrt(t) if t > 0.0 else math.inf

    def ratio(self, empirical: float, x: float) -> float:
        """Return 2 sqrt(r_CH(x)) / r_CH'(x)."""
        t = ch_root(x)[0]
        return 2.0 * math.sqrt(t) * (1.0 + t * (4.0 / 9.0 + t * (16.0 / 45.0)))

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        """Return True: the ratio is a function of x alone, increasing."""
        return True


@lru_cache(maxsize=1024)
def _enclosed_log_supremum(m: int) -> float:
    return log_supremum(m, 2 * m - 1, ch_polynomial, _ch_slope, _ch_curvature)
