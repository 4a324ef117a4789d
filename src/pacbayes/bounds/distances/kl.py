"""The binary kl divergence as the distance."""

import math

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.bounds.binary_kl import UpperRoot, kl_divergence, lower_root, upper_root
from pacbayes.bounds.binomial_moments import log_xi
from pacbayes.bounds.distances.base import Distance
from pacbayes.numeric.arrays import FloatArray


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
