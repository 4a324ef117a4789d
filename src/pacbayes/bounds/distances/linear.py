"""The linear distance."""

import math

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.bounds.distances.base import Distance
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_between, check_sample_size
from pacbayes.numeric.rounding import round_up

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
