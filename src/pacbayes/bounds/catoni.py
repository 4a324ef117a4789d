"""Catoni's distance: a bound without a constant, for a parameter that is fixed beforehand."""

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import SMALLEST, SMALLEST_NORMAL, FloatArray, round_up, usual_float_errors
from pacbayes._utils.checks import check_between, check_level, check_number, check_sample_size
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.paper_distances import KL

# Significant digits of a parameter that is chosen: at the minimum the bound is flat, and the name stays short.
_DIGITS = 3
# No use is near its ends; within, no bound overflows.
_LARGEST = 1e100


@dataclass(frozen=True, repr=False)
class Catoni(Distance):
    r""":math:`\phi(\hat l, l) = -\ln(1 - l (1 - e^{-C})) - C \hat l`: Catoni's bound for a `C` fixed beforehand.

    Its moment is one for every true risk, so that there is no constant to pay: with probability at least
    :math:`1 - \delta`, for all posteriors at once, equation (catoni) of docs/mathematics.md,

    .. math:: l \le \frac{1 - e^{-C L - (K - \ln\delta)/m}}{1 - e^{-C}}.

    The optimal posterior is the Gibbs posterior of the inverse temperature `C m`.  For `C` the logit of the bound minus
    that of `L` it is the Chernoff limit, the kl bound without its constant; away from there it is larger.  A `C` chosen
    after the validation errors were seen makes the bound invalid: choose it from an expected risk (`Catoni.expecting`),
    or let the estimators do so on the training rows (``distance="catoni"``).

    Parameters
    ----------
    C : float
        Positive, fixed without looking at the validation errors.

    See Also
    --------
    pacbayes.bound : Takes it as `distance`, as does all that takes the name of one.

    Notes
    -----
    Its name is ``catoni(C)`` with the digits of `C`; by that name it is known everywhere, on the command line too.
    Only the upper side follows from the theorem: the distance rises with the true risk.

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
        given: Any = self.C
        C = check_number("C", given, "a number")
        if not 1.0 / _LARGEST <= C <= _LARGEST:
            raise ValueError(f"C must be positive, from 1e-100 to 1e100, got {given!r}")
        object.__setattr__(self, "C", C)
        object.__setattr__(self, "name", f"catoni({C!r})")

    @classmethod
    def expecting(cls, risk: float, m: int, delta: float = 0.05) -> Self:
        r"""Return the distance whose bound is smallest where the empirical risk is `risk` and the divergence 0.

        The minimum over `C` is Chernoff's limit `r`, the kl root at :math:`x = \ln(1/\delta)/m`, and is reached at
        :math:`C = \mathrm{logit}\,r - \mathrm{logit}\,L`, equation (catoni-C), here with three digits.

        Parameters
        ----------
        risk : float
            The risk that is expected, from elsewhere than the validation rows; above 0 and below 1.
        m : int
            Number of validation examples.
        delta : float
            The level.

        Examples
        --------
        >>> Catoni.expecting(0.05, 250)
        Catoni(C=0.643)
        """
        expected = float(check_between("risk", risk, 0.0, 1.0))
        if not 0.0 < expected < 1.0:
            raise ValueError(f"risk must lie strictly between 0 and 1, got {risk!r}")
        with usual_float_errors():
            C = KL().ratio(expected, -math.log(check_level(delta)) / check_sample_size(m))
        return cls(float(f"{min(max(C, 1.0 / _LARGEST), _LARGEST):.{_DIGITS}g}"))

    def __repr__(self) -> str:
        return f"Catoni(C={self.C!r})"

    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        """Return -ln(1 - l (1 - e^-C)) - C l^."""
        true = np.asarray(true, dtype=np.float64)
        # Where l (1 - e^-C) rounds to one the difference to it is e^-C and 1 - l.
        log = np.log1p(true * math.expm1(-self.C)) if self.C < 1.0 else np.log((1.0 - true) + true * math.exp(-self.C))
        return np.asarray(-log - self.C * np.asarray(empirical, dtype=np.float64))

    def exact_log_constant(self, m: int) -> float:
        """Return 0: the moment is (1 - l + l e^-C)^m / (1 - l (1 - e^-C))^m, which is one."""
        return 0.0

    def paper_log_constant(self, m: int) -> float:
        """Return 0, as `exact_log_constant`: the paper has no such bound."""
        return 0.0

    def upper(self, empirical: float, x: float) -> float:
        """Return (1 - e^(-C L - x)) / (1 - e^-C), rounded up; at most 1 / (1 - e^-C)."""
        exponent = self._exponent(empirical, x)
        # At most seven roundings, none of which a difference amplifies.
        return round_up(math.expm1(-exponent) / math.expm1(-self.C), 8.0)

    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Return C e^(-C L - x) / (1 - e^-C) and the same without the first factor."""
        in_x = -math.exp(-self._exponent(empirical, x)) / math.expm1(-self.C)
        return self.C * in_x, in_x

    def ratio(self, empirical: float, x: float) -> float:
        """Return C."""
        return self.C

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        """Return True: the ratio is constant."""
        return True

    def _exponent(self, empirical: float, x: float) -> float:
        """Return C L + x, not rounded down where the product is too small to have all its digits."""
        product = self.C * empirical
        if product < SMALLEST_NORMAL and empirical > 0.0:
            product += SMALLEST
        return product + x
