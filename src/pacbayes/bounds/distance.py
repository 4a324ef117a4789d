"""Base class of the distances, and the bound function of a distance, a sample size and a confidence level."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import EPS, FloatArray, default_errstate, round_up
from pacbayes._utils.checks import check_choice, check_in_range, check_level, check_sample_size
from pacbayes.bounds.binomial_moments import log_moment

CONSTANTS = ("exact", "paper")


class Distance(ABC):
    r"""A convex distance :math:`\phi(\hat l, l)` between an empirical and a true risk.

    By the PAC-Bayesian theorem, equation (theorem) of docs/mathematics.md, with probability at least
    :math:`1 - \delta` over the sample, for all posteriors simultaneously,

    .. math:: \phi(L, l) \le x = \frac{K + \ln I(m) - \ln\delta}{n},

    where `L` is the posterior's empirical risk, `l` its true risk, `K` its divergence from the prior, `n` the `factor`
    for `m`, and :math:`I(m)` at least the largest moment.  A subclass defines :math:`\phi`, the supremum of its moment
    and its inverse.  Instances are accepted wherever the name of a distance is; register a distance
    (`pacbayes.bounds.register_distance`) to use it by name.  Two instances of a class with the same attributes are
    equal.

    Examples
    --------
    >>> from pacbayes.bounds import Distance, get_distance
    >>> kl = get_distance("kl")
    >>> isinstance(kl, Distance), round(float(kl.value(0.1, 0.2)), 6), round(kl.upper(0.1, 0.036690), 4)
    (True, 0.03669, 0.2)
    """

    #: Name of the distance, including the value of its parameter if it has one.
    name: str
    #: Whether the theorem also gives a lower bound on the true risk (by `lower`).
    two_sided: ClassVar[bool] = True

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and vars(other) == vars(self))

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({parameters})"

    @abstractmethod
    def value(self, empirical: ArrayLike, true: ArrayLike) -> FloatArray:
        r"""Evaluate :math:`\phi(\hat l, l)`; arrays broadcast."""

    @abstractmethod
    def exact_log_constant(self, m: int) -> float:
        """Log constant ln I(m), at least the largest `log_moment` over all true risks, rounded up."""

    @abstractmethod
    def upper(self, empirical: float, x: float) -> float:
        r"""Largest `l` with :math:`\phi(\hat l, l) \le x`, rounded up; it may exceed 1."""

    @abstractmethod
    def slopes(self, empirical: float, x: float) -> tuple[float, float]:
        """Partial derivatives of `upper` in the empirical risk and in `x`."""

    def lower(self, empirical: float, x: float) -> float:
        r"""Smallest `l` with :math:`\phi(\hat l, l) \le x`, rounded down; it may be negative."""
        raise NotImplementedError(f"the {self.name} bound is one-sided")

    def paper_log_constant(self, m: int) -> float:
        """Log constant of Sahu and Hemachandra, rounded up: ln(2 sqrt(m)) unless overridden."""
        return round_up(math.log(2.0 * math.sqrt(m)))

    def factor(self, m: int) -> int:
        """Factor `n` of the distance in the exponent of the moment."""
        return m

    def ratio(self, empirical: float, x: float) -> float:
        """Ratio of the two `slopes`, equation (ratio) of docs/mathematics.md over n.

        Override it if a form without cancellation exists.
        """
        in_risk, in_x = self.slopes(empirical, x)
        return in_risk / in_x

    def upper_and_ratio(self, empirical: float, x: float) -> tuple[float, float]:
        """Compute `upper` and `ratio` together; override it if they share work."""
        return self.upper(empirical, x), self.ratio(empirical, x)

    def ratio_is_monotone(self, empirical: float, x: float) -> bool:
        """Whether `ratio` is proved to be non-decreasing on paths with decreasing risk and increasing threshold.

        The proof covers all risks up to `empirical` and all thresholds up to `x`.  True makes the search for the
        optimal posterior fast; False is always safe.
        """
        return False

    def ratio_range(self, low_risk: float, high_risk: float, low_x: float, high_x: float) -> tuple[float, float]:
        """Bounds of `ratio` for risks and thresholds in a box, used if it is not proved to be monotone."""
        return 0.0, math.inf

    def log_moment(self, m: int, risk: ArrayLike) -> FloatArray:
        r"""Log moment :math:`\ln E e^{n \phi(k/m,\, l)}` for `k` binomial with parameters `m` and `l` = `risk`."""
        m = check_sample_size(m)
        risk = check_in_range("risk", risk, 0.0, 1.0)
        k = np.arange(m + 1) / m
        with default_errstate():
            return log_moment(m, self.factor(m) * self.value(k, risk[..., None]), risk)

    def log_constant(self, m: int, constant: str = "exact") -> float:
        """Log of the exact or the paper's constant I(m); see `pacbayes.log_constant`."""
        m = check_sample_size(m)
        exact = check_choice("constant", constant, CONSTANTS) == "exact"
        with default_errstate():
            return self.exact_log_constant(m) if exact else self.paper_log_constant(m)

    def bound_function(self, m: int, delta: float = 0.05, constant: str = "exact") -> "BoundFunction":
        """Create the bound as a function of the empirical risk and the divergence."""
        return BoundFunction(self, check_sample_size(m), check_level(delta), constant)


@dataclass(frozen=True)
class BoundFunction:
    r"""The bound :math:`B = f(L, K)` of a distance for fixed `m`, `delta` and constant.

    `f` is non-decreasing in the empirical risk `L` and in the divergence `K`, and rounded up.  Arguments are not
    checked, since this is the inner loop of every search.

    Examples
    --------
    >>> from pacbayes.bounds import get_distance
    >>> f = get_distance("pinsker").bound_function(m=100, delta=0.05)
    >>> print(f"{f(0.1, 0.0):.6f}")
    0.249454
    >>> print(f"{f.ratio(0.1, 0.0):.4f}")
    59.7815
    """

    distance: Distance
    m: int
    delta: float
    constant: str
    #: ln I(m) - ln(delta) and the factor n, so that x = (K + log_term) / n.
    log_term: float = field(init=False, repr=False)
    factor: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        log_constant = self.distance.log_constant(self.m, self.constant)
        log_delta = math.log(self.delta)
        slack = 4 * EPS * (abs(log_constant) + abs(log_delta))
        object.__setattr__(self, "log_term", log_constant - log_delta + slack)
        object.__setattr__(self, "factor", self.distance.factor(self.m))

    def threshold(self, kl: float) -> float:
        """Threshold x = (K + ln I - ln delta) / n, equation (theorem), rounded up and clipped at 0."""
        return max(round_up((kl + self.log_term) / self.factor), 0.0)

    def __call__(self, risk: float, kl: float) -> float:
        """Evaluate B = f(L, K), rounded up."""
        return self.distance.upper(risk, self.threshold(kl))

    def partials(self, risk: float, kl: float) -> tuple[float, float]:
        """Partial derivatives dB/dL and dB/dK."""
        in_risk, in_x = self.distance.slopes(risk, self.threshold(kl))
        return in_risk, in_x / self.factor

    def value_and_ratio(self, risk: float, kl: float) -> tuple[float, float]:
        """Compute B and `ratio` together, with one root instead of two for kl."""
        value, ratio = self.distance.upper_and_ratio(risk, self.threshold(kl))
        return value, self.factor * ratio

    def ratio(self, risk: float, kl: float) -> float:
        """Ratio (dB/dL) / (dB/dK), n times the ratio of the distance: equation (ratio).

        A Gibbs posterior is stationary if this equals its inverse temperature, equation (fixed-point).
        """
        return self.factor * self.distance.ratio(risk, self.threshold(kl))
