"""The squared distance."""

import math

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.bounds.binomial_moments import log_square_moment
from pacbayes.bounds.distances.base import Distance
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.rounding import difference_down, round_up


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
