r"""Certified minimum of a bound with the chi-square divergence.

Among the posteriors with a given empirical risk `L`, :math:`K_2(q) = \sum_i q_i^2/p_i` is smallest for one of

.. math:: q_i(t) \propto p_i \max(t - \hat l_i, 0), \qquad \hat l_{\min} < t \le \infty,

equation (chi2-curve) of docs/mathematics.md: a curve with one parameter, which ends in the prior.  With
:math:`Z = \sum_i p_i \max(t - \hat l_i, 0)`, all posteriors lie above the line
:math:`K_2 \ge K_2(q(t)) - \lambda (L - L(q(t)))`, :math:`\lambda = 2/Z`.  The bound is increasing and concave in
:math:`(L, K_2)`, so over the polygon above several of these lines it is smallest at a vertex: equation (chi2-polygon).
The search adds lines next to the vertex with the smallest bound until it is within the tolerance of a point.
"""

import heapq
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import EPS, FloatArray, round_down
from pacbayes._utils.checks import check_risks, min_sample_size
from pacbayes._utils.words import format_rounded_up
from pacbayes.bounds.bound import average_risk, chi_square_divergence, kullback_leibler
from pacbayes.bounds.chi_square import ChiSquareBound
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.distances import get_distance
from pacbayes.posteriors.gibbs import Groups, check_prior, group_risks
from pacbayes.posteriors.posterior import Posterior

# Maximum number of steps towards a stationary point after the minimum is certified.
_MAX_POLISH_STEPS = 50


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ChiSquarePosterior(Posterior):
    r"""Posterior with the smallest bound by the chi-square divergence.

    See Also
    --------
    optimal_posterior : With ``divergence="chi2"``.

    Examples
    --------
    >>> from pacbayes import optimal_posterior
    >>> posterior = optimal_posterior([0.10, 0.12, 0.30], m=200, divergence="chi2")
    >>> posterior.divergence, round(posterior.bound, 4), posterior.support_size, round(posterior.chi2, 4)
    ('chi2', 0.1827, 2, 0.6469)
    """

    #: The chi-square divergence of the weights from the prior, :math:`\sum_i q_i^2/p_i - 1`, rounded up.
    chi2: float
    #: Divergence of the minimised bound.
    divergence: str = "chi2"

    def _repr_params(self) -> tuple[str, dict[str, str], dict[str, str]]:
        line, first, last = super()._repr_params()
        return f"chi2, {line}", first | {"chi-square divergence": format_rounded_up(self.chi2, 4)}, last


class _Node(NamedTuple):
    """Point on the curve: threshold, risk minus the smallest risk, K_2, the slope of its line, and its bound."""

    threshold: float
    above: float
    k2: float
    slope: float
    bound: float


class _Curve:
    """Curve of grouped classifiers, parametrised by `threshold`, the difference of t and the smallest risk."""

    def __init__(self, groups: Groups) -> None:
        self.min_risk = float(groups.risks[0])
        self.above = groups.risks - groups.risks[0]
        self.mass = groups.mass / groups.total
        #: Bound on the relative errors of sums.
        self.error = 4.0 * groups.mass_error + (4.0 * groups.risks.size + 64.0) * EPS
        total, moment = np.cumsum(self.mass), np.cumsum(self.mass * self.above)
        self._total, self._moment = total, moment
        #: Z at the thresholds at which further groups get positive weights.
        self._knots = self.above[1:] * total[:-1] - moment[:-1]

    def threshold_at_slope(self, slope: float) -> float:
        """Threshold of the point at which the line has the given slope."""
        z = 2.0 / slope
        j = int(np.searchsorted(self._knots, z))
        return float((z + self._moment[j]) / self._total[j])

    def shares(self, threshold: float) -> FloatArray:
        """Posterior mass of each group."""
        parts = self.mass * (1.0 if threshold == math.inf else np.maximum(threshold - self.above, 0.0))
        return np.asarray(parts / parts.sum())

    def evaluate_at(self, threshold: float, function: ChiSquareBound) -> _Node:
        """Evaluate the curve."""
        if threshold == math.inf:
            above, k2, slope = float(self.mass @ self.above), 1.0, 0.0
        else:
            height = np.maximum(threshold - self.above, 0.0)
            parts = self.mass * height
            z = float(parts.sum())
            above, k2, slope = float(parts @ self.above) / z, max(float(parts @ (height / z)) / z, 1.0), 2.0 / z
        return _Node(threshold, above, k2, slope, function(self.min_risk + above, k2 - 1.0))

    def evaluate_end(self, function: ChiSquareBound) -> _Node:
        """Evaluate the end of the curve, the prior restricted to the smallest risk, where the curve is vertical."""
        k2 = 1.0 / float(self.mass[0])
        threshold = float(self.above[1]) if self.above.size > 1 else math.inf
        return _Node(threshold, 0.0, k2, math.inf, function(self.min_risk, k2 - 1.0))


class _Search:
    """Outer approximation of the curve by lines."""

    def __init__(self, curve: _Curve, function: ChiSquareBound) -> None:
        self.curve, self.function = curve, function
        self.nodes = [curve.evaluate_end(function), curve.evaluate_at(math.inf, function)]

    def run(self, tol: float, max_evaluations: int) -> tuple[_Node, float]:
        """Search until the gap is at most `tol`; return the best point and the lower bound."""
        cells: list[tuple[float, int, _Node, _Node]] = [
            (self._vertex_lower_bound(*self.nodes), 0, self.nodes[0], self.nodes[1])
        ]
        best = min(self.nodes, key=lambda node: node.bound)
        finished, order = math.inf, 0
        while cells and cells[0][0] < best.bound - 0.75 * tol and len(self.nodes) < max_evaluations:
            lower, _, left, right = heapq.heappop(cells)
            width = right.above - left.above
            slope = (left.k2 - right.k2) / width if width > 0.0 else math.inf
            if not right.slope < slope < left.slope or not 0.0 < slope < math.inf:
                finished = min(finished, lower)
                continue
            # Add the line parallel to the chord; at a corner of the curve it touches one of the two points.
            node = self.curve.evaluate_at(self.curve.threshold_at_slope(slope), self.function)
            node = node._replace(slope=slope)
            self.nodes.append(node)
            best = min(best, node, key=lambda node: node.bound)
            for a, b in ((left, node), (node, right)):
                order += 1
                heapq.heappush(cells, (max(self._vertex_lower_bound(a, b), lower), order, a, b))
        return best, min(finished, cells[0][0] if cells else math.inf, round_down(best.bound, 64.0))

    def _vertex_lower_bound(self, left: _Node, right: _Node) -> float:
        """Evaluate the bound at the intersection of two lines, rounded down."""
        error = self.curve.error
        level = (right.k2 + right.slope * right.above) * (1.0 - error)
        if left.slope == math.inf:
            above, k2 = 0.0, level
        else:
            other = (left.k2 + left.slope * left.above) * (1.0 - error)
            # The vertex is uncertain if the slopes are nearly equal: use its smallest possible risk and K_2.
            apart = left.slope - right.slope
            above, slack = (other - level) / apart, 8 * EPS * (other + level) / apart
            k2 = level * (1.0 - 8 * EPS) - right.slope * (max(above, 0.0) + slack)
            above -= slack
        # The risk of the vertex is at least that of the first point, its K_2 at least that of the second.
        above = min(max(above, left.above * (1.0 - error)), right.above)
        k2 = max(k2, right.k2 * (1.0 - error), 1.0)
        risk = self.curve.min_risk * (1.0 - 4 * EPS) + above
        return round_down(self.function(risk, k2 - 1.0) * (1.0 - error), 64.0)

    def polish(self, best: _Node) -> _Node:
        """Move the best point towards a stationary point, where the slope is the ratio of derivatives."""

        def residual(node: _Node) -> float:
            return self.function.ratio(self.curve.min_risk + node.above, node.k2 - 1.0) - node.slope

        if not 0.0 < best.slope < math.inf or best.above == 0.0:
            return best
        last = self.curve.evaluate_at(best.threshold, self.function)
        node = self.curve.evaluate_at(self.curve.threshold_at_slope(last.slope + residual(last)), self.function)
        for _ in range(_MAX_POLISH_STEPS):
            before, now = residual(last), residual(node)
            if not abs(now) < abs(before):
                break
            slope = node.slope + now * (node.slope - last.slope) / (before - now)
            if not 0.0 < slope < math.inf:
                break
            last, node = node, self.curve.evaluate_at(self.curve.threshold_at_slope(slope), self.function)
        return min(best, last, key=lambda candidate: candidate.bound)


def optimal_chi_square(
    risks: ArrayLike,
    m: int | ArrayLike,
    tol: float,
    *,
    distance: str | Distance,
    delta: float,
    prior: ArrayLike | None,
    constant: str,
    max_evaluations: int = 10_000,
) -> Posterior:
    """Posterior with the smallest bound by the chi-square divergence, over the whole simplex.

    Parameters
    ----------
    risks, m, distance, delta, prior, constant
        As for `optimal_posterior`.
    tol : float
        Absolute gap between bound and lower bound.
    max_evaluations : int
        Maximum number of points on the curve.
    """
    values = check_risks(risks)
    function = ChiSquareBound(get_distance(distance), min_sample_size(m, values.size), delta, constant)
    p, total = check_prior(prior, values.size)
    groups = group_risks(values, function.m, p, total)
    curve = _Curve(groups)
    search = _Search(curve, function)
    best, lower_bound = search.run(tol, max_evaluations)
    best = search.polish(best)
    weights = groups.spread(curve.shares(best.threshold))
    sum_of_weights = float(weights.sum())
    risk = average_risk(weights, values, sum_of_weights)
    chi2 = chi_square_divergence(weights, sum_of_weights, p, total)
    bound = function(risk, chi2)
    gap = bound - lower_bound
    details: dict[str, Any] = {"threshold": curve.min_risk + best.threshold, "groups": groups.risks.size}
    return ChiSquarePosterior(
        weights=weights,
        bound=bound,
        lower_bound=lower_bound,
        empirical_risk=risk,
        kl=kullback_leibler(weights, sum_of_weights, p, total),
        chi2=chi2,
        m=function.m,
        delta=function.delta,
        distance=function.distance.name,
        used_distance=function.distance,
        constant=constant,
        method="certified",
        converged=gap <= tol,
        n_iter=len(search.nodes),
        message=f"gap {gap:.1e} {'<=' if gap <= tol else '>'} tol = {tol:g} after {len(search.nodes)} evaluations",
        details=details,
    )
