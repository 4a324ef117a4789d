"""The paper's distances kl, linear, squared, Pinsker and ch (a sixth-degree polynomial), refined Pinsker, Catoni's.

To add a distance, subclass `Distance`, here or in your own project.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import (
    SMALLEST,
    SMALLEST_NORMAL,
    FloatArray,
    Number,
    default_errstate,
    round_up,
    subtract_down,
)
from pacbayes._utils.checks import (
    check_choice,
    check_in_range,
    check_level,
    check_number,
    check_sample_size,
    warn_caller,
)
from pacbayes.bounds.binary_kl import UpperRoot, kl_divergence, lower_root, upper_root
from pacbayes.bounds.binomial_moments import log_square_moment, log_supremum, log_xi
from pacbayes.bounds.chi_square import CHI2, DIVERGENCES, check_chi2, log_second_moment
from pacbayes.bounds.distance import Distance

# Digits of Catoni's C when it is chosen automatically: the bound is flat at its minimum, and the name stays short.
_C_DIGITS = 3
# Largest C, and inverse of the smallest; no bound overflows in this range.
_MAX_C = 1e100
#: Catoni's distance without its parameter C, which the estimators then choose on the training rows.
CATONI = "catoni"
# Catoni's distance with its parameter; the number of digits is limited to those that a float has.
_WITH_PARAMETER = re.compile(r"catoni\(([0-9]{1,20}(?:\.[0-9]{0,20})?(?:e[+-]?[0-9]{1,3})?)\)")
_REGISTRY: dict[str, Distance] = {}


class KL(Distance):
    r"""Binary kl distance, :math:`\phi = kl`: the bound is the upper kl root (Seeger-Maurer bound).

    With equal constants it is the tightest of the five.  Its moment is the same for every true risk in (0, 1):
    :math:`\xi(m)`, equation (xi) of docs/mathematics.md.

    Examples
    --------
    >>> print(f"{math.exp(KL().exact_log_constant(1840)):.6f}")
    54.430273
    """

    name = "kl"

    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        """Evaluate the binary kl divergence."""
        return np.asarray(kl_divergence(empirical, true))

    def exact_log_constant(self, m: int) -> float:
        """Log constant ln xi(m)."""
        return log_xi(m)

    def upper(self, empirical: float, x: float) -> float:
        """Largest r with kl(L, r) <= x, equation (kl-root), rounded up; at most 1."""
        return upper_root(empirical, x).rounded

    def lower(self, empirical: float, x: float) -> float:
        """Smallest r with kl(L, r) <= x, rounded down; at least 0."""
        return lower_root(empirical, x)

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Slopes (logit r - logit L) r (1-r) / (r-L) and r (1-r) / (r-L)."""
        root = upper_root(empirical, x)
        if root.one_minus_r == 0.0:
            return 0.0, 0.0
        if x == 0.0:
            return (1.0, math.inf) if empirical > 0.0 else (math.inf, 1.0)
        in_x = root.r * root.one_minus_r / ((empirical - 1.0) * math.expm1(-root.w))
        return _logit_difference(empirical, root) * in_x, in_x

    def ratio(self, empirical: float, x: float) -> float:
        """Ratio logit r - logit L, infinite at L = 0."""
        return self.upper_and_ratio(empirical, x)[1]

    def upper_and_ratio(self, empirical: float, x: float) -> tuple[float, float]:
        """Compute the upper root and logit r - logit L."""
        root = upper_root(empirical, x)
        return root.rounded, _logit_difference(empirical, root)

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        r"""Whether :math:`L + r \le 1`.

        If the risk changes by dL < 0 and x increases, the ratio :math:`\rho/m` changes by at least
        :math:`dL\,[(\rho/m)/(r-L) - 1/(L(1-L))]`, equation (kl-monotone) of docs/mathematics.md.  Now
        :math:`\rho/m = \int_L^r dt/(t(1-t))`, and for :math:`L + r \le 1` the integrand is largest at `L`, so the
        bracket is not positive.  The condition is equivalent to :math:`kl(L, 1-L) = (1-2L) \ln((1-L)/L) \ge x` and can
        be checked without a root.
        """
        if not 0.0 < empirical < 0.5:
            return empirical == 0.0
        return (1.0 - 2.0 * empirical) * math.log((1.0 - empirical) / empirical) * (1.0 - 1e-12) >= x

    def ratio_range(self, low_risk: float, high_risk: float, low_x: float, high_x: float) -> tuple[float, float]:
        """Bounds of logit r - logit L from bounds of r and L."""
        low, high = upper_root(low_risk, low_x), upper_root(high_risk, high_x)
        if high_risk == 1.0 or high.one_minus_r == 0.0 or low_risk == 0.0:
            return 0.0, math.inf
        lower = math.log(low.r / low.one_minus_r) - math.log(high_risk / (1.0 - high_risk))
        upper = math.log(high.r / high.one_minus_r) - math.log(low_risk / (1.0 - low_risk))
        return max(lower, 0.0), upper


def _logit_difference(empirical: float, root: UpperRoot) -> float:
    """Compute logit r - logit L as ln((1-L)/(1-r)) + ln(r/L), the second term from r - L without cancellation."""
    if empirical == 0.0:
        return math.inf
    change = (empirical - 1.0) * math.expm1(-root.w) / empirical
    log_ratio = math.log1p(change) if change < math.inf else math.log(root.r) - math.log(empirical)
    return root.w + log_ratio


# 1/(e-1) + ln(1 - 1/e), whose two terms cancel two bits in double precision.
_LINEAR_RATE = 0.12330156148224453


class Linear(Distance):
    r"""Linear distance, :math:`\phi(\hat l, l) = l - \hat l`: the bound is :math:`L + x`.

    The optimal posterior has a closed form, equation (closed-form) of docs/mathematics.md.

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
        """Evaluate the true minus the empirical risk."""
        return np.subtract(true, empirical, dtype=np.float64)

    def exact_log_constant(self, m: int) -> float:
        """Log constant m (1/(e-1) + ln(1 - 1/e)), rounded up."""
        return round_up(m * _LINEAR_RATE, 2)

    def paper_log_constant(self, m: int) -> float:
        """Log of the exact constant, which the paper uses too (as the supremum at l = 0.58)."""
        return self.exact_log_constant(m)

    def log_moment(self, m: int, risk: ArrayLike) -> FloatArray:
        """Log moment m (l + ln(1 - l + l/e)), the closed form of the binomial sum."""
        risk = check_in_range("risk", risk, 0.0, 1.0)
        return np.asarray(check_sample_size(m) * (risk + np.log1p(risk * math.expm1(-1.0))))

    def upper(self, empirical: float, x: float) -> float:
        """Compute L + x, rounded up."""
        return round_up(empirical + x)

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Slopes 1 and 1."""
        return 1.0, 1.0

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        """Return True: the ratio is constant."""
        return True


class Squared(Distance):
    r"""Squared distance, :math:`\phi(\hat l, l) = c (l - \hat l)^2` with `c` = 1: the bound is :math:`L + \sqrt{x/c}`.

    The moment is largest at :math:`l = 1/2` for every :math:`c \le 2` (equation (one-half) of docs/mathematics.md).
    There it is below :math:`\sqrt 2` for c = 1 and about :math:`1.346035 m^{1/4}` for c = 2.

    Examples
    --------
    >>> print(f"{np.exp(Squared().exact_log_constant(10)):.2f}")
    1.39
    """

    name = "squared"
    #: The factor of the square.
    c = 1.0

    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        """Evaluate c times the squared difference."""
        return np.asarray(self.c * np.subtract(true, empirical, dtype=np.float64) ** 2)

    def exact_log_constant(self, m: int) -> float:
        """Log of the supremum E e^{c m (k/m - 1/2)^2}, attained at l = 1/2, rounded up."""
        return log_square_moment(self.c, m)

    def upper(self, empirical: float, x: float) -> float:
        """Compute L + sqrt(x/c), rounded up."""
        return round_up(empirical + math.sqrt(x / self.c))

    def lower(self, empirical: float, x: float) -> float:
        """Compute L - sqrt(x/c), rounded down."""
        return subtract_down(empirical, math.sqrt(x / self.c))

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Slopes 1 and 1 / (2 sqrt(c x))."""
        return 1.0, 0.5 / math.sqrt(self.c * x) if x > 0.0 else math.inf

    def ratio(self, empirical: float, x: float) -> float:
        """Ratio 2 sqrt(c x)."""
        return 2.0 * math.sqrt(self.c * x)

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        """Return True: the ratio depends on x only and is increasing."""
        return True


class Pinsker(Squared):
    r"""Pinsker's distance (McAllester's bound), :math:`\phi(\hat l, l) = 2 (l - \hat l)^2 \le kl(\hat l, l)`.

    The bound is :math:`L + \sqrt{x/2}`.

    Examples
    --------
    >>> import math
    >>> print(f"{math.exp(Pinsker().exact_log_constant(1840)):.6f}")
    8.863891
    """

    name = "pinsker"
    c = 2.0


# Largest m for which the supremum over l is enclosed (in a tenth of a second); for larger m, ln xi(m) is used.
_LARGEST_ENCLOSED_M = 10_000


def ch_polynomial(d: Number) -> Number:
    r"""Polynomial :math:`d^2 + \frac{2}{9} d^4 + \frac{16}{135} d^6`, half of a lower bound of kl at distance `d`.

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
    r"""Root `t` of :math:`t + \frac{2}{9} t^2 + \frac{16}{135} t^3 = R` and its slope dt/dR.

    The left side is convex and increasing, and both :math:`R` and :math:`(135 R/16)^{1/3}` are above the root: Newton's
    method, started at the smaller of the two, avoids the cancellation in Cardano's formula.

    Examples
    --------
    >>> t, slope = ch_root(0.1)
    >>> print(f"{t:.6f} {slope:.5f}")
    0.097765 0.95525
    """
    t = min(R, math.cbrt(R) * math.cbrt(135.0 / 16.0))
    if R > 1e100:  # the other terms vanish next to the cubic one
        return t, t / (3.0 * R) if math.inf > R else 0.0
    for _ in range(6):
        residual = t * (1.0 + t * (2.0 / 9.0 + t * (16.0 / 135.0))) - R
        t -= residual / (1.0 + t * (4.0 / 9.0 + t * (16.0 / 45.0)))
    return t, 1.0 / (1.0 + t * (4.0 / 9.0 + t * (16.0 / 45.0)))


class CH(Distance):
    r"""Sixth-degree polynomial, :math:`\phi = d^2 + \frac{2}{9} d^4 + \frac{16}{135} d^6` of :math:`d = l - \hat l`.

    Here n = 2m - 1.  Twice the polynomial is the lower bound of kl of Fedotov, Harremoës and Topsøe.  The PAC-Bayes
    bound is :math:`L + \sqrt{r_{CH}(x)}` with the root of `ch_root`.

    The moment is not largest at l = 1/2.  Up to m = 10 000 the supremum is enclosed to 1e-9 by branch and bound
    (`pacbayes.bounds.binomial_moments.log_supremum`).  For larger m, :math:`\xi(m)` is used, an upper bound because
    :math:`(2m-1) \phi \le 2m\phi \le m\,kl`.

    Examples
    --------
    >>> print(f"{math.exp(CH().exact_log_constant(138)):.6f}")
    5.568953
    """

    name = "ch"

    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        """Evaluate the polynomial of the difference."""
        return np.asarray(ch_polynomial(np.subtract(true, empirical, dtype=np.float64)))

    def factor(self, m: int) -> int:
        """Return 2m - 1."""
        return 2 * m - 1

    def exact_log_constant(self, m: int) -> float:
        """Log of the supremum for m <= 10 000, ln xi(m) for larger m."""
        if m > _LARGEST_ENCLOSED_M:
            return log_xi(m)
        return log_supremum(m, 2 * m - 1, ch_polynomial, _ch_slope, _ch_curvature)

    def paper_log_constant(self, m: int) -> float:
        """Log constant ln(4m (1 - e^{-phi(1/2)})) = ln(0.9334 m); at m = 1, where it is invalid, the exact one."""
        if m == 1:
            warn_caller(
                "the paper's constant of ch at m = 1 (0.9334) is smaller than the exact constant (1.3044) and would "
                "make the bound invalid; the exact constant is used"
            )
            return self.exact_log_constant(m)
        return round_up(math.log(4.0 * m * -math.expm1(-ch_polynomial(0.5))), 8)

    def upper(self, empirical: float, x: float) -> float:
        """Compute L + sqrt(r_CH(x)), rounded up."""
        return round_up(empirical + math.sqrt(ch_root(x)[0]), 8)

    def lower(self, empirical: float, x: float) -> float:
        """Compute L - sqrt(r_CH(x)), rounded down."""
        return subtract_down(empirical, math.sqrt(ch_root(x)[0]))

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Slopes 1 and r_CH'(x) / (2 sqrt(r_CH(x)))."""
        t, slope = ch_root(x)
        return 1.0, 0.5 * slope / math.sqrt(t) if t > 0.0 else math.inf

    def ratio(self, empirical: float, x: float) -> float:
        """Ratio 2 sqrt(r_CH(x)) / r_CH'(x)."""
        t = ch_root(x)[0]
        return 2.0 * math.sqrt(t) * (1.0 + t * (4.0 / 9.0 + t * (16.0 / 45.0)))

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        """Return True: the ratio depends on x only and is increasing."""
        return True


class RefinedPinsker(Distance):
    r"""Refined Pinsker distance, :math:`\phi(\hat l, l) = (l - \hat l)_+^2 / (2 l) \le kl(\hat l, l)`.

    The bound is :math:`L + x + \sqrt{x (x + 2L)}`, equation (refined-pinsker) of docs/mathematics.md: the minimum over
    :math:`\lambda` of the PAC-Bayes-lambda bound [1]_

    .. math:: \frac{L}{1 - \lambda/2} + \frac{K + \ln(\xi(m)/\delta)}{m \lambda (1 - \lambda/2)},

    which holds for all :math:`\lambda` in (0, 2) simultaneously.  The ratio of its slopes is the best
    :math:`\lambda = 2/(1 + \sqrt{1 + 2L/x})`, so ``method="fixed-point"`` of `optimal_posterior` is the alternating
    minimisation over :math:`\lambda` and the posterior of [1]_.  It increases along the curve of Gibbs posteriors: the
    minimum is unique, and the alternation converges to it from both ends.

    The constant is :math:`\xi(m)`, as for kl, an upper bound on the moment.  The bound is one-sided.

    References
    ----------
    .. [1] N. Thiemann, C. Igel, O. Wintenberger and Y. Seldin, "A strongly quasiconvex PAC-Bayesian bound", ALT, PMLR
       76, 2017.

    Examples
    --------
    >>> from pacbayes import bound, optimal_posterior
    >>> for distance in ("kl", "refined-pinsker", "pinsker"):
    ...     print(f"{bound([0.5, 0.5], [0.10, 0.12], m=500, distance=distance):.4f}")
    0.1663
    0.1771
    0.1797
    >>> print(f"{optimal_posterior([0.10, 0.12, 0.30], m=200, distance='refined-pinsker').bound:.4f}")
    0.2245
    """

    name = "refined-pinsker"
    two_sided = False

    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        """Evaluate the squared excess of the true risk over twice the true risk; 0 if there is none."""
        true = np.asarray(true, dtype=np.float64)
        excess = np.maximum(true - np.asarray(empirical, dtype=np.float64), 0.0)
        return np.asarray(0.5 * excess * (excess / np.where(true > 0.0, true, 1.0)))

    def exact_log_constant(self, m: int) -> float:
        """Log constant ln xi(m), because the distance is at most kl."""
        return log_xi(m)

    def upper(self, empirical: float, x: float) -> float:
        """Compute L + x + sqrt(x (x + 2L)), rounded up."""
        return round_up(empirical + x + self._root(empirical, x), 8.0)

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Slopes 1 + x / s and 1 + (x + L) / s with s = sqrt(x (x + 2L))."""
        s = self._root(empirical, x)
        if s == 0.0:
            return (1.0, math.inf) if empirical > 0.0 else (2.0, 2.0)
        return 1.0 + x / s, 1.0 + (x + empirical) / s

    def ratio(self, empirical: float, x: float) -> float:
        """Ratio (s + x) / (s + x + L), Thiemann's lambda."""
        above = self._root(empirical, x) + x
        return above / (above + empirical) if above > 0.0 else float(empirical == 0.0)

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        """Return True: the ratio is 2 / (1 + sqrt(1 + 2L/x)), decreasing in L and increasing in x."""
        return True

    @staticmethod
    def _root(empirical: float, x: float) -> float:
        """Compute sqrt(x (x + 2L)) without underflow of the product."""
        return math.sqrt(x) * math.sqrt(x + 2.0 * empirical)


@dataclass(frozen=True, repr=False)
class Catoni(Distance):
    r"""Catoni's distance with a pre-specified `C`, :math:`\phi(\hat l, l) = -\ln(1 - l (1 - e^{-C})) - C \hat l`.

    Its moment is 1 for every true risk, so the bound has no constant.  With probability at least :math:`1 - \delta`,
    for all posteriors simultaneously, equation (catoni) of docs/mathematics.md,

    .. math:: l \le \frac{1 - e^{-C L - (K - \ln\delta)/m}}{1 - e^{-C}}.

    The optimal posterior is the Gibbs posterior of inverse temperature `C m` [1]_.  If `C` is the logit of the bound
    minus the logit of `L`, the bound is the Chernoff bound, that is the kl bound without its constant; for any other
    `C` it is larger.  A `C` chosen from the validation errors makes the bound invalid.  Choose it from an expected risk
    (`Catoni.expecting`), or let the estimators choose it on the training rows (``distance="catoni"``).

    Parameters
    ----------
    C : float
        Positive, fixed before validation.

    See Also
    --------
    pacbayes.bound : The PAC-Bayesian bound, with `distance`.

    Notes
    -----
    The name is ``catoni(C)`` with the digits of `C`, and is accepted wherever the name of a distance is, including the
    command line.  The bound is one-sided, because the distance increases with the true risk.

    References
    ----------
    .. [1] O. Catoni, "PAC-Bayesian supervised classification: the thermodynamics of statistical learning", IMS Lecture
       Notes Monograph Series 56, 2007.

    Examples
    --------
    >>> from pacbayes import bound
    >>> from pacbayes.bounds import Catoni
    >>> print(f"{bound([0.5, 0.5], [0.10, 0.12], m=500, distance=Catoni(0.4)):.4f}")
    0.1479
    >>> Catoni(0.4), Catoni(0.4).name
    (Catoni(C=0.4), 'catoni(0.4)')
    """

    C: float
    name: str = field(init=False, compare=False)

    two_sided = False

    def __post_init__(self) -> None:
        value: Any = self.C
        C = check_number("C", value, "a number")
        if not 1.0 / _MAX_C <= C <= _MAX_C:
            raise ValueError(f"C must be positive, from 1e-100 to 1e100, got {value!r}")
        object.__setattr__(self, "C", C)
        object.__setattr__(self, "name", f"catoni({C!r})")

    @classmethod
    def expecting(cls, risk: float, m: int, delta: float = 0.05) -> Self:
        r"""Choose `C` to minimise the bound at an expected empirical risk and divergence 0.

        The minimum over `C` is the Chernoff bound `r`, the kl root at :math:`x = \ln(1/\delta)/m`, and is attained at
        :math:`C = \mathrm{logit}\,r - \mathrm{logit}\,L`, equation (catoni-C), here rounded to three digits.

        Parameters
        ----------
        risk : float
            The expected risk, strictly between 0 and 1.  It must not depend on the validation rows.
        m : int
            Number of validation examples.
        delta : float
            The level.

        Examples
        --------
        >>> Catoni.expecting(0.05, 250)
        Catoni(C=0.643)
        """
        expected = float(check_in_range("risk", risk, 0.0, 1.0))
        if not 0.0 < expected < 1.0:
            raise ValueError(f"risk must lie strictly between 0 and 1, got {risk!r}")
        with default_errstate():
            C = KL().ratio(expected, -math.log(check_level(delta)) / check_sample_size(m))
        return cls(float(f"{min(max(C, 1.0 / _MAX_C), _MAX_C):.{_C_DIGITS}g}"))

    def __repr__(self) -> str:
        return f"Catoni(C={self.C!r})"

    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        """Evaluate -ln(1 - l (1 - e^-C)) - C l^."""
        true = np.asarray(true, dtype=np.float64)
        # For large C, l (1 - e^-C) may round to 1: split the difference into 1 - l and l e^-C.
        log = np.log1p(true * math.expm1(-self.C)) if self.C < 1.0 else np.log((1.0 - true) + true * math.exp(-self.C))
        return np.asarray(-log - self.C * np.asarray(empirical, dtype=np.float64))

    def exact_log_constant(self, m: int) -> float:
        """Return 0: the moment is (1 - l + l e^-C)^m / (1 - l (1 - e^-C))^m = 1."""
        return 0.0

    def paper_log_constant(self, m: int) -> float:
        """Return 0 like `exact_log_constant`; the paper does not have this bound."""
        return 0.0

    def upper(self, empirical: float, x: float) -> float:
        """Compute (1 - e^(-C L - x)) / (1 - e^-C), rounded up; at most 1 / (1 - e^-C)."""
        exponent = self._exponent(empirical, x)
        # At most seven roundings, and no cancellation.
        return round_up(math.expm1(-exponent) / math.expm1(-self.C), 8.0)

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Slopes C e^(-C L - x) / (1 - e^-C) and the same without the factor C."""
        in_x = -math.exp(-self._exponent(empirical, x)) / math.expm1(-self.C)
        return self.C * in_x, in_x

    def ratio(self, empirical: float, x: float) -> float:
        """Ratio, which is the constant C."""
        return self.C

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        """Return True: the ratio is constant."""
        return True

    def _exponent(self, empirical: float, x: float) -> float:
        """Compute C L + x; a subnormal product, which loses digits, is rounded up."""
        product = self.C * empirical
        if product < SMALLEST_NORMAL and empirical > 0.0:
            product += SMALLEST
        return product + x


def register_distance(distance: Distance) -> None:
    """Register a distance, so that it can be used by its name.

    Parameters
    ----------
    distance : Distance
        An instance of a subclass, whose name is not registered yet.  Instances can be used without being registered;
        to load a saved model, its distance must be registered.

    Examples
    --------
    >>> register_distance(KL())
    Traceback (most recent call last):
    ...
    ValueError: a distance named 'kl' is registered already
    """
    if not isinstance(distance, Distance):
        raise TypeError(f"distance must be an instance of Distance with a name, got {distance!r}")
    if isinstance(distance, Catoni):
        raise ValueError(f"{distance!r} need not be registered: its name {distance.name!r} is accepted already")
    if getattr(distance, "name", None) in _REGISTRY:
        raise ValueError(f"a distance named {distance.name!r} is registered already")
    _REGISTRY[_check_distance(distance).name] = distance


def get_distance(distance: str | Distance) -> Distance:
    """Look up a distance by name; an instance of `Distance` is returned as it is.

    ``"catoni(0.4)"`` is `Catoni` with C = 0.4.

    Examples
    --------
    >>> get_distance("ch").factor(100), get_distance("catoni(0.4)")
    (199, Catoni(C=0.4))
    """
    if isinstance(distance, Distance):
        return _check_distance(distance)
    if isinstance(distance, type) and issubclass(distance, Distance):
        raise TypeError(f"distance must be an instance of Distance, got the class {distance.__name__}")
    if distance == CATONI:
        raise ValueError(
            "distance 'catoni' needs its parameter C, fixed before validation: use Catoni(C), or its name, such as "
            "'catoni(0.4)'"
        )
    match = _WITH_PARAMETER.fullmatch(distance) if isinstance(distance, str) else None
    return Catoni(float(match[1])) if match else _REGISTRY[check_choice("distance", distance, _REGISTRY)]


def _check_distance(distance: Distance) -> Distance:
    """Raise if a distance has no valid name, or the name of a different registered distance."""
    name = getattr(distance, "name", None)
    if not isinstance(name, str) or not name:
        raise TypeError(f"distance must be an instance of Distance with a name, got {type(distance).__name__}")
    if name.startswith(CATONI) and type(distance) is not Catoni:
        raise ValueError(
            f"a distance must not be named {name!r}: names that begin with 'catoni' are those of Catoni(C)"
        )
    if _REGISTRY.get(name, distance) != distance:
        raise ValueError(f"a distance named {name!r} is registered already, and differs from {distance!r}")
    return distance


for _distance in (KL(), Pinsker(), CH(), Linear(), Squared()):
    register_distance(_distance)

#: Names of the five distances of the paper.
DISTANCES = tuple(_REGISTRY)
register_distance(RefinedPinsker())


def log_constant(distance: str | Distance, m: int, constant: str = "exact", *, divergence: str = "kl") -> float:
    r"""Log of the constant :math:`I(m)` of a distance.

    .. math:: I(m) \ge \sup_{0\le l\le 1} \sum_{k=0}^m \binom{m}{k} l^k (1-l)^{m-k} e^{n\phi(k/m,\, l)},
              \qquad n = m \text{, and } 2m - 1 \text{ for ch}.

    Parameters
    ----------
    distance : str or Distance
        One of `DISTANCES`, the name of a registered distance, or an instance such as `pacbayes.bounds.Catoni`, whose
        constant is 1.
    m : int
        Number of validation examples, at least 1.
    constant : {"exact", "paper"}
        "exact" is the supremum, rounded up (by less than 1e-9 or a relative 1e-15), except for ch and m > 10 000:

        ======== ============================================================ =======================
        distance value                                                        equal to the supremum for
        ======== ============================================================ =======================
        linear   m (1/(e-1) + ln(1 - 1/e)), attained at l = 1/(e-1)           every m
        squared  ln E exp(m (k/m - 1/2)^2), attained at l = 1/2               every m
        pinsker  ln E exp(2m (k/m - 1/2)^2), attained at l = 1/2              every m
        kl       ln xi(m), the same for all l in (0, 1)                       every m
        ch       enclosed by branch and bound on l                            m <= 10 000
        ch       ln xi(m), an upper bound since (2m-1) phi <= m kl            no m > 10 000
        ======== ============================================================ =======================

        "paper" is the constant of Sahu and Hemachandra (2019): the same for linear, ``ln(2 sqrt(m))`` for squared,
        pinsker and kl, ``ln(0.9334 m)`` for ch.  The last is invalid at m = 1, where the exact constant is returned
        with a warning.
    divergence : {"kl", "chi2"}
        "chi2" is the constant :math:`I_2(m)` of the chi-square bound, for linear, squared and kl:
        the supremum of the second moment of the one-sided distance, rounded up by less than 1e-9.  For m > 10 000 it is
        an upper bound, less than four times the supremum.

    Returns
    -------
    float
        Finite for every `m`.

    See Also
    --------
    bound : The PAC-Bayesian bound with these constants.
    pacbayes.bounds.Distance : Base class of the distances.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.
    .. [2] A. Maurer, "A note on the PAC Bayesian theorem", arXiv:cs/0411099, 2004.
    .. [3] A. A. Fedotov, P. Harremoës and F. Topsøe, "Refinements of Pinsker's inequality", IEEE Transactions on
       Information Theory 49, 2003.

    Examples
    --------
    >>> print(f"{log_constant('kl', 1000):.6f} {log_constant('kl', 1000, constant='paper'):.6f}")
    3.696431 4.147025
    >>> print(f"{log_constant('pinsker', 10**9):.6f}")
    5.477987
    """
    if check_choice("divergence", divergence, DIVERGENCES) == CHI2:
        return log_second_moment(check_chi2(get_distance(distance), constant), check_sample_size(m))
    return get_distance(distance).log_constant(m, constant)
