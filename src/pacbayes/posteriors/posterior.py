"""`Problem` and `Posterior`, the input and the result of every posterior search."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, cached_property, default_errstate
from pacbayes._utils.checks import check_risks, min_sample_size
from pacbayes._utils.words import format_rounded_up, html_card
from pacbayes.bounds.bound import average_risk, kullback_leibler
from pacbayes.bounds.distance import BoundFunction, Distance
from pacbayes.bounds.distances import get_distance
from pacbayes.posteriors.gibbs import CurvePoint, GibbsCurve, Groups, check_prior, group_risks


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """Weights of classifiers with their bound, and a lower bound for all weights."""

    #: The weights, shape (H,).
    weights: FloatArray
    #: The bound of the weights, rounded up; it may exceed 1 for a vote.
    bound: float
    #: Proved lower bound on the bound of all weights; -inf if there is none.
    lower_bound: float
    #: K, the divergence of the weights from the prior, rounded up.
    kl: float
    #: Number of validation examples, the smallest one if it differs between classifiers.
    m: int
    #: The bound fails with probability at most delta.
    delta: float
    #: "exact" or "paper".
    constant: str
    #: Name of the method, or of the bound for a vote.
    method: str
    #: Whether the search converged; see `message`.
    converged: bool
    #: Number of steps, evaluations or inner problems.
    n_iter: int
    #: Description of the final status.
    message: str
    #: Further results of the method: trace, sizes of subsets, solver status, starts.
    details: dict[str, Any] = field(default_factory=dict)

    _title: ClassVar[str]

    @property
    def gap(self) -> float:
        """Difference between the bound and its proved minimum, ``bound - lower_bound``."""
        return self.bound - self.lower_bound

    @property
    def hhi(self) -> float:
        r"""Herfindahl-Hirschman index :math:`\sum_i q_i^2`, between 1/H (uniform) and 1 (one classifier)."""
        with default_errstate():
            return float(np.square(self.weights).sum())

    @property
    def n_effective(self) -> float:
        """Effective number of classifiers, the inverse of `hhi`."""
        return 1.0 / self.hhi

    @property
    def support_size(self) -> int:
        """Number of classifiers with a positive weight."""
        return self.support_size_above(0.0)

    def support_size_above(self, threshold: float) -> int:
        """Count the classifiers whose weight exceeds `threshold`."""
        return int(np.count_nonzero(self.weights > threshold))

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python numbers, strings and lists, ready for JSON except for infinities."""
        names = (*self.__dataclass_fields__, "gap", "hhi", "n_effective", "support_size")
        return {name: _to_plain(getattr(self, name)) for name in names if name != "used_distance"}

    def _optimality(self) -> str:
        """Describe the optimality gap in words."""
        if self.lower_bound == -math.inf:
            return "no proof of optimality"
        if self.converged:
            decade = 10.0 ** math.ceil(math.log10(max(self.gap, 1e-12)))
            return f"proved to be within {decade:.0e} of the global minimum"
        return f"within {self.gap:.1e} of the global minimum"

    def _repr_params(self) -> tuple[str, dict[str, str], dict[str, str]]:
        """Return the parameters for the repr, and the first and last rows of the HTML table."""
        raise NotImplementedError

    def __repr__(self) -> str:
        ending = "" if self.converged else f", not converged: {self.message}"
        bound = format_rounded_up(self.bound, 4)
        return f"{type(self).__name__}(bound={bound}, {self._optimality()}; {self._repr_params()[0]}{ending})"

    def _repr_html_(self) -> str:
        _, first, last = self._repr_params()
        facts = {
            "bound": format_rounded_up(self.bound, 4),
            **first,
            "divergence K": format_rounded_up(self.kl, 4),
            "classifiers with weight": f"{self.support_size} of {self.weights.size}",
            "effective number of classifiers": f"{self.n_effective:.4g}",
            "validation examples m": str(self.m),
            "δ": f"{self.delta:g}",
            **last,
        }
        status = self._optimality() + ("" if self.converged else f"; not converged: {self.message}")
        return html_card(f"{self._title} {self.weights.size} classifiers", [f"{status[0].upper()}{status[1:]}."], facts)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Posterior(Result):
    """Distribution over classifiers with its PAC-Bayesian bound, the result of `optimal_posterior`.

    Every method recomputes `bound` from `weights` by `pacbayes.bound`, so that results are comparable.

    See Also
    --------
    optimal_posterior : The posterior with the smallest bound.
    Certificate : The certificate of an estimator.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.

    Examples
    --------
    >>> from pacbayes import optimal_posterior
    >>> posterior = optimal_posterior([0.10, 0.12, 0.30], m=200)
    >>> posterior
    Posterior(bound=0.1970, proved to be within 1e-10 of the global minimum; kl, m=200, delta=0.05, certified)
    >>> posterior.support_size, round(posterior.n_effective, 2)
    (3, 1.09)
    """

    #: L, the posterior's empirical risk, rounded up.
    empirical_risk: float
    #: Inverse temperature of a Gibbs posterior; None if the weights are not a Gibbs posterior.
    beta: float | None = None
    #: Name of the distance.
    distance: str
    #: The distance object, which may be unregistered.
    used_distance: Distance | None = None

    _title = "Posterior over"

    def _repr_params(self) -> tuple[str, dict[str, str], dict[str, str]]:
        line = f"{self.distance}, m={self.m}, delta={self.delta:g}, {self.method}"
        last = {"distance": f"{self.distance}, {self.constant} constant", "method": self.method}
        return line, {"validation risk L": format_rounded_up(self.empirical_risk, 4)}, last


def _to_plain(value: Any) -> Any:
    """Convert arrays to lists and NumPy scalars to numbers, recursively."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {name: _to_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(inner) for inner in value]
    return value


class PosteriorValues(NamedTuple):
    """Bound, empirical risk and divergence of a posterior, each rounded up."""

    bound: float
    risk: float
    kl: float


@dataclass(frozen=True, eq=False)
class Problem:
    """Validated risks, prior and bound function of an optimisation problem."""

    risks: FloatArray
    #: The unnormalised prior (None if uniform) and its sum.
    prior: FloatArray | None
    prior_total: float
    function: BoundFunction

    @classmethod
    def from_arguments(
        cls,
        risks: ArrayLike,
        m: int | ArrayLike,
        distance: str | Distance,
        delta: float,
        prior: ArrayLike | None,
        constant: str,
    ) -> Problem:
        """Validate the arguments of `optimal_posterior`; the smallest sample size is used, equation (least-m)."""
        risks = check_risks(risks)
        function = get_distance(distance).bound_function(min_sample_size(m, risks.size), delta, constant)
        return cls(risks, *check_prior(prior, risks.size), function)

    @cached_property
    def normalised_prior(self) -> FloatArray:
        """Prior weights that sum to one."""
        size = self.risks.size
        return np.full(size, 1.0 / size) if self.prior is None else self.prior / self.prior_total

    @cached_property
    def groups(self) -> Groups:
        """Classifiers grouped by risk."""
        return group_risks(self.risks, self.function.m, self.prior, self.prior_total)

    @cached_property
    def curve(self) -> GibbsCurve:
        """Gibbs curve of the groups."""
        return GibbsCurve.from_groups(self.groups)

    def at(self, point: CurvePoint) -> tuple[FloatArray, PosteriorValues]:
        """Weights of all classifiers at a point of the curve, and the result of `evaluate` for them."""
        weights = self.groups.spread(self.curve.shares(point))
        return weights, self.evaluate(weights)

    def evaluate(self, weights: FloatArray) -> PosteriorValues:
        """Compute bound, risk and divergence of non-negative weights like `pacbayes.bound`."""
        total = float(weights.sum())
        risk = average_risk(weights, self.risks, total)
        kl = kullback_leibler(weights, total, self.prior, self.prior_total)
        return PosteriorValues(self.function(risk, kl), risk, kl)

    def posterior(self, weights: FloatArray, values: PosteriorValues | None = None, **fields: Any) -> Posterior:
        """Create the result for `weights`; `values`, if precomputed, are passed to skip `evaluate`."""
        bound, risk, kl = values or self.evaluate(weights)
        function = self.function
        return Posterior(
            weights=weights,
            bound=bound,
            empirical_risk=risk,
            kl=kl,
            m=function.m,
            delta=function.delta,
            distance=function.distance.name,
            used_distance=function.distance,
            constant=function.constant,
            **({"lower_bound": -math.inf} | fields),
        )
