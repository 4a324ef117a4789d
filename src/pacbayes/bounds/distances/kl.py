"""The binary kl divergence as the distance."""

import math

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.bounds.constants import log_xi
from pacbayes.bounds.distances.base import Distance
from pacbayes.bounds.kl import kl_divergence, lower_root, upper_root
from pacbayes.bounds.validation import FloatArray


class KL(Distance):
    r""":math:`\phi = kl`, the tightest of the five when all use one constant: the bound is the upper kl root.

    Its moment :math:`\xi(m)` is the same for every true risk in (0, 1).

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
        """Return the largest r with kl(L, r) <= x, rounded up; at most 1."""
        return upper_root(empirical, x).rounded

    def lower(self, empirical: float, x: float) -> float:
        """Return the smallest r with kl(L, r) <= x, rounded down; at least 0."""
        return lower_root(empirical, x)

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Return (logit r - logit L) r (1-r) / (r-L) and r (1-r) / (r-L)."""
        root = upper_root(empirical, x)
        if root.one_minus_r == 0.0:
            return 0.0, 0.0
        distance = root.r - empirical
        if distance == 0.0:
            return 1.0, math.inf
        in_x = root.r * root.one_minus_r / distance
        return self.ratio(empirical, x) * in_x, in_x

    def ratio(self, empirical: float, x: float) -> float:
        """Return logit r - logit L, infinite at L = 0."""
        if empirical == 0.0:
            return math.inf
        root = upper_root(empirical, x)
        # ln((1-L)/(1-r)) + ln(r/L), each without cancellation.
        return root.w + math.log1p((root.r - empirical) / empirical)
