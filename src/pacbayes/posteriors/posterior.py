"""What every search for a posterior starts from, a `Problem`, and what it ends with, a `Posterior`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, cached_property, usual_float_errors
from pacbayes._utils.checks import check_risks, least_sample_size
from pacbayes._utils.words import card, format_up
from pacbayes.bounds.bound import average_risk, divergence, products_with_logs
from pacbayes.bounds.distance import BoundFunction, Distance
from pacbayes.bounds.distances import get_distance
from pacbayes.posteriors.gibbs import CurvePoint, GibbsCurve, Groups, check_prior, group_risks


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """What a search ends with: weights of classifiers, their bound, and what is proved about it."""

    #: The weights, shape (H,).
    weights: FloatArray
    #: Their bound, rounded up; that of a vote may exceed 1.
    bound: float
    #: No weights on the simplex have a bound below this; -inf where nothing is proved.
    lower_bound: float
    #: K, the divergence of the weights from the prior, rounded up.
    kl: float
    #: Number of validation examples; the least, where classifiers have different ones.
    m: int
    #: The bound fails with at most this probability.
    delta: float
    #: "exact" or "paper".
    constant: str
    #: Name of the method; of the bound, for a vote.
    method: str
    #: Whether the search reached its goal; `message` says which.
    converged: bool
    #: Number of steps, evaluations or inner problems.
    n_iter: int
    #: How the search ended, in words.
    message: str
    #: What else the search knows: trace, bounds of subsets, statuses, starts.
    details: dict[str, Any] = field(default_factory=dict)

    _title: ClassVar[str]
    _others: ClassVar[str]

    @property
    def gap(self) -> float:
        """How far `bound` can be from the least bound of all weights: ``bound - lower_bound``."""
        return self.bound - self.lower_bound

    @property
    def hhi(self) -> float:
        r"""Herfindahl-Hirschman index :math:`\sum_i q_i^2`, between 1/H (uniform) and 1 (one classifier)."""
        with usual_float_errors():
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
        """Return the number of classifiers whose weight exceeds `threshold`."""
        return int(np.count_nonzero(self.weights > threshold))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python numbers, strings and lists, ready for JSON but for infinities."""
        names = (*self.__dataclass_fields__, "gap", "hhi", "n_effective", "support_size")
        return {name: _plain(getattr(self, name)) for name in names if name != "used_distance"}

    def _proved(self) -> str:
        """Say how far the bound can be from the least of all."""
        if self.lower_bound == -math.inf:
            return "nothing proved about others"
        if self.converged:
            decade = 10.0 ** math.ceil(math.log10(max(self.gap, 1e-12)))
            return f"proved within {decade:.0e} of the least of all {self._others}"
        return f"within {self.gap:.1e} of the least of all {self._others}"

    def _facts(self) -> tuple[str, dict[str, str], dict[str, str]]:
        """Return the end of the one-line form, and the first and the last lines of the card."""
        raise NotImplementedError

    def __repr__(self) -> str:
        ending = "" if self.converged else f", not converged: {self.message}"
        return f"{type(self).__name__}(bound={format_up(self.bound, 4)}, {self._proved()}; {self._facts()[0]}{ending})"

    def _repr_html_(self) -> str:
        _, first, last = self._facts()
        facts = {
            "bound": format_up(self.bound, 4),
            **first,
            "divergence K": format_up(self.kl, 4),
            "classifiers with weight": f"{self.support_size} of {self.weights.size}",
            "effective number of classifiers": f"{self.n_effective:.4g}",
            "validation examples m": str(self.m),
            "δ": f"{self.delta:g}",
            **last,
        }
        said = self._proved() + ("" if self.converged else f"; not converged: {self.message}")
        return card(f"{self._title} {self.weights.size} classifiers", [f"{said[0].upper()}{said[1:]}."], facts)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Posterior(Result):
    """A distribution over classifiers, its bound, and what is proved about it.

    Every method returns one, with `bound` computed anew from `weights` by `pacbayes.bound`, so that methods compare.

    See Also
    --------
    optimal_posterior : What makes one.
    Certificate : What a posterior guarantees, in words.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.

    Examples
    --------
    >>> from pacbayes import optimal_posterior
    >>> posterior = optimal_posterior([0.10, 0.12, 0.30], m=200)
    >>> posterior
    Posterior(bound=0.1970, proved within 1e-10 of the least of all posteriors; kl, m=200, delta=0.05, certified)
    >>> posterior.support_size, round(posterior.n_effective, 2)
    (3, 1.09)
    """

    #: L, the posterior's empirical risk, rounded up.
    empirical_risk: float
    #: Inverse temperature of a Gibbs posterior; None where the weights are not one.
    beta: float | None = None
    #: Name of the distance.
    distance: str
    #: The distance itself, which need not be known by its name.
    used_distance: Distance | None = None

    _title, _others = "Posterior over", "posteriors"

    def _facts(self) -> tuple[str, dict[str, str], dict[str, str]]:
        line = f"{self.distance}, m={self.m}, delta={self.delta:g}, {self.method}"
        last = {"distance": f"{self.distance}, {self.constant} constant", "method": self.method}
        return line, {"validation risk L": format_up(self.empirical_risk, 4)}, last


def _plain(value: Any) -> Any:
    """Arrays to lists and NumPy scalars to numbers, inside dicts and lists too."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


class Values(NamedTuple):
    """A posterior's bound, empirical risk and divergence, each rounded up."""

    bound: float
    risk: float
    kl: float


@dataclass(frozen=True, eq=False)
class Problem:
    """Risks, prior and bound function of one minimisation, checked."""

    risks: FloatArray
    #: The prior, or None for the uniform one, and its sum, by which it is still to be divided.
    prior: FloatArray | None
    prior_total: float
    function: BoundFunction

    @classmethod
    def checked(
        cls,
        risks: ArrayLike,
        m: int | ArrayLike,
        distance: str | Distance,
        delta: float,
        prior: ArrayLike | None,
        constant: str,
    ) -> Problem:
        """Check everything, naming what is wrong; of unequal sample sizes the least is used, equation (least-m)."""
        risks = check_risks(risks)
        function = get_distance(distance).bound_function(least_sample_size(m, risks.size), delta, constant)
        return cls(risks, *check_prior(prior, risks.size), function)

    @cached_property
    def normalised_prior(self) -> FloatArray:
        """The prior as weights that sum to one."""
        size = self.risks.size
        return np.full(size, 1.0 / size) if self.prior is None else self.prior / self.prior_total

    @cached_property
    def groups(self) -> Groups:
        """The classifiers grouped by risk."""
        return group_risks(self.risks, self.function.m, self.prior, self.prior_total)

    @cached_property
    def curve(self) -> GibbsCurve:
        """The Gibbs curve of the groups."""
        return GibbsCurve.of(self.groups)

    def at(self, point: CurvePoint) -> tuple[FloatArray, Values]:
        """Return all classifiers' weights at a point of the curve, and their values, the same as of `evaluate`."""
        groups, shares = self.groups, self.curve.shares(point)
        weights = groups.spread(shares)
        if self.prior is not None:
            return weights, self.evaluate(weights)
        table = groups.table(products_with_logs(groups.equal_parts(shares)))
        return weights, self.evaluate(weights, lambda block: table.take(groups.index[block]))

    def evaluate(self, weights: FloatArray, products: Callable[[slice], FloatArray] | None = None) -> Values:
        """Return bound, risk and divergence of non-negative weights, computed as `pacbayes.bound` does.

        `products` are those of `divergence`.
        """
        total = float(weights.sum())
        risk = average_risk(weights, self.risks, total)
        kl = divergence(weights, total, self.prior, self.prior_total, products)
        return Values(self.function(risk, kl), risk, kl)

    def posterior(self, weights: FloatArray, values: Values | None = None, **fields: Any) -> Posterior:
        """Return the result for given weights; `values` are theirs if they are known already."""
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
