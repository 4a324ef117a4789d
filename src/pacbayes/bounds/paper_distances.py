"""The five distances of the paper: kl, linear, squared, Pinsker's, and the sixth-degree polynomial ch."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, Number, difference_down, round_up
from pacbayes._utils.checks import check_between, check_sample_size, warn_caller
from pacbayes.bounds.binary_kl import UpperRoot, kl_divergence, lower_root, upper_root
from pacbayes.bounds.binomial_moments import log_square_moment, log_supremum, log_xi
from pacbayes.bounds.distance import Distance


class KL(Distance):
    r""":math:`\phi = kl`, the tightest of the five when all use one constant: the bound is the upper kl root.

    Its moment is the same for every true risk in (0, 1): :math:`\xi(m)`, equation (xi) of docs/mathematics.md.

    Examples
    --------
    >>> print(f"{math.exp(KL().exact_log_constant(1840)):.6f}")
    54.430273
    """

    name = "kl"

    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        """Return the binary kl divergence."""
        return np.asarray(kl_divergence(empirical, true))

    def exact_log_constant(self, m: int) -> float:
        """Return ln xi(m)."""
        return log_xi(m)

    def upper(self, empirical: float, x: float) -> float:
        """Return the largest r with kl(L, r) <= x, equation (kl-root), rounded up; at most 1."""
        return upper_root(empirical, x).rounded

    def lower(self, empirical: float, x: float) -> float:
        """Return the smallest r with kl(L, r) <= x, rounded down; at least 0."""
        return lower_root(empirical, x)

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Return (logit r - logit L) r (1-r) / (r-L) and r (1-r) / (r-L)."""
        root = upper_root(empirical, x)
        if root.one_minus_r == 0.0:
            return 0.0, 0.0
        if x == 0.0:
            return (1.0, math.inf) if empirical > 0.0 else (math.inf, 1.0)
        in_x = root.r * root.one_minus_r / ((empirical - 1.0) * math.expm1(-root.w))
        return _change_of_logit(empirical, root) * in_x, in_x

    def ratio(self, empirical: float, x: float) -> float:
        """Return logit r - logit L, infinite at L = 0."""
        return self.upper_and_ratio(empirical, x)[1]

    def upper_and_ratio(self, empirical: float, x: float) -> tuple[float, float]:
        """Return the upper root and logit r - logit L."""
        root = upper_root(empirical, x)
        return root.rounded, _change_of_logit(empirical, root)

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        r"""Return whether :math:`L + r \le 1`.

        Where the risk changes by dL < 0 and x rises, the ratio :math:`\rho/m` changes by at least
        :math:`dL\,[(\rho/m)/(r-L) - 1/(L(1-L))]`, equation (kl-monotone) of docs/mathematics.md.  Now
        :math:`\rho/m = \int_L^r dt/(t(1-t))`, and for :math:`L + r \le 1` the integrand is largest at the end `L`: the
        bracket is not positive.  No root is needed for it: the condition says that
        :math:`kl(L, 1-L) = (1-2L) \ln((1-L)/L)` is at least x.
        """
        if not 0.0 < empirical < 0.5:
            return empirical == 0.0
        return (1.0 - 2.0 * empirical) * math.log((1.0 - empirical) / empirical) * (1.0 - 1e-12) >= x

    def ratio_range(self, low_risk: float, high_risk: float, low_x: float, high_x: float) -> tuple[float, float]:
        """Return bounds of logit r - logit L from bounds of r and L."""
        low, high = upper_root(low_risk, low_x), upper_root(high_risk, high_x)
        if high_risk == 1.0 or high.one_minus_r == 0.0 or low_risk == 0.0:
            return 0.0, math.inf
        least = math.log(low.r / low.one_minus_r) - math.log(high_risk / (1.0 - high_risk))
        most = math.log(high.r / high.one_minus_r) - math.log(low_risk / (1.0 - low_risk))
        return max(least, 0.0), most


def _change_of_logit(empirical: float, root: UpperRoot) -> float:
    """Return logit r - logit L: ln((1-L)/(1-r)) + ln(r/L), the second from r - L without cancellation."""
    if empirical == 0.0:
        return math.inf
    change = (empirical - 1.0) * math.expm1(-root.w) / empirical
    log_ratio = math.log1p(change) if change < math.inf else math.log(root.r) - math.log(empirical)
    return root.w + log_ratio


# 1/(e-1) + ln(1 - 1/e), whose two terms cancel two bits in double precision.
_RATE = 0.12330156148224453


class Linear(Distance):
    r""":math:`\phi(\hat l, l) = l - \hat l`: the bound is :math:`L + x`, and the optimal posterior has a closed form.

    The moment is :math:`[e^{l} (1 - l + l/e)]^m`, largest at :math:`l = 1/(e-1) \approx 0.582`, so that
    :math:`\ln I(m) = m (1/(e-1) + \ln(1 - 1/e)) = 0.12330156... m`.

    Examples
    --------
    >>> print(f"{Linear().exact_log_constant(1000):.5f}")
    123.30156
    """

    name = "linear"
    two_sided = False

    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        """Return the true minus the empirical risk."""
        return np.subtract(true, empirical, dtype=np.float64)

    def exact_log_constant(self, m: int) -> float:
        """Return m (1/(e-1) + ln(1 - 1/e)), rounded up."""
        return round_up(m * _RATE, 2)

    def paper_log_constant(self, m: int) -> float:
        """Return the exact constant: the paper's supremum, printed there at l = 0.58."""
        return self.exact_log_constant(m)

    def log_moment(self, m: int, risk: ArrayLike) -> FloatArray:
        """Return m (l + ln(1 - l + l/e)), the closed form of the binomial sum."""
        risk = check_between("risk", risk, 0.0, 1.0)
        return np.asarray(check_sample_size(m) * (risk + np.log1p(risk * math.expm1(-1.0))))

    def upper(self, empirical: float, x: float) -> float:
        """Return L + x, rounded up."""
        return round_up(empirical + x)

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Return 1 and 1."""
        return 1.0, 1.0

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        """Return True: the ratio is constant."""
        return True


class Squared(Distance):
    r""":math:`\phi(\hat l, l) = c (l - \hat l)^2` with `c` = 1: the bound is :math:`L + \sqrt{x/c}`.

    The moment is largest at :math:`l = 1/2` for every :math:`c \le 2` (equation (one-half) of
    docs/mathematics.md), where it is below :math:`\sqrt 2` for c = 1 and about :math:`1.346035 m^{1/4}` for c = 2.

    Examples
    --------
    >>> print(f"{np.exp(Squared().exact_log_constant(10)):.2f}")
    1.39
    """

    name = "squared"
    #: The factor of the square.
    c = 1.0

    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        """Return c times the squared difference."""
        return np.asarray(self.c * np.subtract(true, empirical, dtype=np.float64) ** 2)

    def exact_log_constant(self, m: int) -> float:
        """Return ln E e^{c m (k/m - 1/2)^2} at l = 1/2, the supremum, rounded up."""
        return log_square_moment(self.c, m)

    def upper(self, empirical: float, x: float) -> float:
        """Return L + sqrt(x/c), rounded up."""
        return round_up(empirical + math.sqrt(x / self.c))

    def lower(self, empirical: float, x: float) -> float:
        """Return L - sqrt(x/c), rounded down."""
        return difference_down(empirical, math.sqrt(x / self.c))

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Return 1 and 1 / (2 sqrt(c x))."""
        return 1.0, 0.5 / math.sqrt(self.c * x) if x > 0.0 else math.inf

    def ratio(self, empirical: float, x: float) -> float:
        """Return 2 sqrt(c x)."""
        return 2.0 * math.sqrt(self.c * x)

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        """Return True: the ratio is a function of x alone, increasing."""
        return True


class Pinsker(Squared):
    r""":math:`\phi(\hat l, l) = 2 (l - \hat l)^2 \le kl(\hat l, l)`: the bound is :math:`L + \sqrt{x/2}`.

    Examples
    --------
    >>> import math
    >>> print(f"{math.exp(Pinsker().exact_log_constant(1840)):.6f}")
    8.863891
    """

    name = "pinsker"
    c = 2.0


# The largest m for which the supremum over l is enclosed (a tenth of a second); above it ln xi(m) is used.
_LARGEST_ENCLOSED_M = 10_000


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
    (`pacbayes.bounds.binomial_moments.log_supremum`); above, :math:`\xi(m)` is used, an upper bound because
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
        return _enclosed_log_supremum(m) if m <= _LARGEST_ENCLOSED_M else log_xi(m)

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
