"""What every method starts from: checked, grouped risks and the bound as a function on the Gibbs curve."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, cached_property
from pacbayes._utils.checks import check_risks, least_sample_size
from pacbayes.bounds.bound import average_risk, divergence, products_with_logs
from pacbayes.bounds.distance import BoundFunction, Distance
from pacbayes.bounds.registry import get_distance
from pacbayes.posteriors.gibbs import CurvePoint, GibbsCurve, check_prior
from pacbayes.posteriors.grouping import Groups, group_risks
from pacbayes.posteriors.posterior import Posterior


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
    ) -> "Problem":
        """Check everything, naming what is wrong; of unequal sample sizes the least is used, equation (least-m)."""
        risks = check_risks(risks)
        function = get_distance(distance).bound_function(least_sample_size(m, risks.size), delta, constant)
        return cls(risks, *check_prior(prior, risks.size), function)

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
            **({"lower_bound": -math.inf, "beta": None, "details": {}} | fields),
        )
