r"""The global minimum of a bound over the simplex, with proof: branch and bound on the Gibbs curve.

What a cell proves
------------------
Let :math:`F(\beta) = -\ln \sum_i p_i e^{-\beta \hat l_i}`.  For every posterior `q` and every :math:`\beta \ge 0`,
:math:`K(q) + \beta L(q) \ge F(\beta)` (Gibbs' variational principle): in the plane of (L, K) all posteriors lie above
all these
lines, which are the tangents of the Gibbs curve.  On a cell :math:`[a, b]` of inverse temperatures, that is for
posteriors with
:math:`L(b) \le L(q) \le L(a)`, hence

* ``B >= f(L(b), K(a))``, because f is non-decreasing (the corner);
* if :math:`g = (\partial f/\partial L)/(\partial f/\partial K)` never falls on a path in the cell's box on which `L`
falls and
  `K` rises, ``B >= min(B(a), B(b), f(V))`` with `V` the point where the tangents at `a` and `b` meet.  For along
  the tangent of slope -a from the curve to V, f has the derivative proportional to a - g, which changes sign at most
  once, from + to -: the least value is at an end; likewise along the other tangent.

The error of the second is quadratic in the length of the cell, so few cells are needed.  Moreover B falls where
:math:`g > \beta` and rises where :math:`g < \beta`: with bounds of g on the cell, its ends move inwards without loss.
For squared, pinsker and ch this is the paper's fixed-point iteration, run from both ends.
"""

import heapq
import math
from dataclasses import dataclass

from pacbayes.bounds.distances.base import BoundFunction
from pacbayes.bounds.rounding import EPS, round_down
from pacbayes.posteriors.gibbs import CurvePoint, GibbsCurve

# The share of the tolerance that the search uses; the rest is for rounding.
_SHARE = 0.75


@dataclass(frozen=True)
class Node:
    """A point of the curve with its bound B and g = (dB/dL)/(dB/dK)."""

    point: CurvePoint
    bound: float
    g: float


@dataclass(frozen=True)
class Minimum:
    """The best point found, a proved lower bound of B on the simplex, and what the search took."""

    point: CurvePoint
    lower_bound: float
    evaluations: int
    cells: int


class CertifiedSearch:
    """Branch and bound for one bound function on one Gibbs curve."""

    def __init__(self, curve: GibbsCurve, function: BoundFunction) -> None:
        self.curve = curve
        self.function = function
        # g inherits the rounding of exponents of the size of the logarithms of the prior.
        self._margin = 1e-12 + 8 * EPS * float(abs(curve.log_mass).max())
        self._nodes: list[Node] = []
        # Whether g is monotone on the whole curve, and then in every cell; known after the first look at both ends.
        self._monotone = False
        self._best = self._node(0.0)

    def run(self, tol: float, max_evaluations: int) -> Minimum:
        """Search until the gap is at most `tol`, or for about `max_evaluations` evaluations of the curve."""
        start, end = self._best, self._node(math.inf)
        self._monotone = self._is_monotone(start, end)
        # The optimum of linear, a good point for the others; where g rises, the first cell's end moves there anyway.
        if start.g < math.inf and not (self._monotone and start.g < end.g < math.inf):
            self._node(start.g)
        heap = [(self._lower(start, end), 0, start, end)]
        cells = 1
        finished = math.inf  # the least lower bound of cells that cannot be made smaller
        while heap and heap[0][0] < self._best.bound - _SHARE * tol and self.evaluations < max_evaluations:
            lower, _, a, b = heapq.heappop(heap)
            # Above what rounding leaves of the best node nothing can be gained.
            close = lower >= self._best.bound * (1.0 - 1e-11) and lower >= self._node_lower(self._best)
            parts = None if close else self._refine(a, b)
            if parts is None:
                finished = min(finished, lower)
                continue
            for left, right in parts:
                heapq.heappush(heap, (self._lower(left, right), cells, left, right))
                cells += 1
        lower = min(heap[0][0] if heap else math.inf, finished, self._least_node())
        return Minimum(self._best.point, lower, self.evaluations, cells)

    def _least_node(self) -> float:
        """Return a lower bound of B at all nodes, where what was dropped on the way has its least bound."""
        # Rounding errors are far smaller than the difference to the nodes left out.
        near = self._best.bound * (1.0 + 1e-8)
        return min(self._node_lower(node) for node in self._nodes if node.bound <= near)

    def _node(self, beta: float) -> Node:
        point = self.curve.at(beta)
        node = Node(point, *self.function.value_and_beta(point.risk, point.kl))
        self._nodes.append(node)
        if len(self._nodes) == 1 or node.bound < self._best.bound:
            self._best = node
        return node

    @property
    def evaluations(self) -> int:
        """Number of points of the curve evaluated."""
        return len(self._nodes)

    def _value_below(self, risk: float, kl: float) -> float:
        """f, rounded down instead of up."""
        return round_down(self.function(max(risk, 0.0), max(kl, 0.0)), 64)

    def _node_lower(self, node: Node) -> float:
        in_risk, in_kl, _ = self.curve.errors(node.point)
        return self._value_below(node.point.risk - in_risk, node.point.kl - in_kl)

    def _is_monotone(self, a: Node, b: Node) -> bool:
        return self._monotone or self.function.distance.ratio_is_monotone(
            a.point.risk, self.function.threshold(b.point.kl)
        )

    def _lower(self, a: Node, b: Node) -> float:
        """Return a lower bound of B on the cell, but for the bounds at its ends, which the best node covers."""
        if not self._is_monotone(a, b):
            in_risk, in_kl = self.curve.errors(b.point)[0], self.curve.errors(a.point)[1]
            return self._value_below(b.point.risk - in_risk, a.point.kl - in_kl)
        # Both tangents are lowered by the larger of their errors, which leaves the risk at their crossing in place.
        error = max(self.curve.errors(a.point)[2], self.curve.errors(b.point)[2])
        free_a, free_b = -a.point.log_normaliser - error, -b.point.log_normaliser - error
        beta_a, beta_b = a.point.beta, b.point.beta
        # The tangent at infinity is vertical, at the least risk.
        above = max((free_b - free_a) / (beta_b - beta_a), 0.0) * (1.0 - 4 * EPS) if beta_b < math.inf else 0.0
        kl = free_a - beta_a * above - 4 * EPS * (abs(free_a) + beta_a * above)
        return self._value_below(self.curve.least * (1.0 - 4 * EPS) + above, kl)

    def _refine(self, a: Node, b: Node) -> list[tuple[Node, Node]] | None:
        """Move the ends of a cell inwards past where B provably falls or rises, or split it; None if too small."""
        if self._is_monotone(a, b):
            g_low, g_high = a.g, b.g
        else:
            threshold, factor = self.function.threshold, self.function.factor
            low, high = self.function.distance.ratio_range(
                b.point.risk, a.point.risk, threshold(a.point.kl), threshold(b.point.kl)
            )
            g_low, g_high = factor * low, factor * high
        beta_a, beta_b = a.point.beta, b.point.beta
        low, high = max(beta_a, g_low * (1.0 - self._margin)), min(beta_b, g_high * (1.0 + self._margin))
        if low >= beta_b or high <= beta_a:
            return []
        if high - low < 0.7 * (beta_b - beta_a):
            if low >= high:  # equal but for rounding: a point
                return None
            left = a if low == beta_a else self._node(low)
            return [(left, b if high == beta_b else self._node(high))]
        split = _middle(a, b)
        if not beta_a < split < beta_b:
            return None
        middle = self._node(split)
        return [(a, middle), (middle, b)]


def _middle(a: Node, b: Node) -> float:
    """Where to split a cell: at the crossing of g with beta if there is one, else in the middle of its scale."""
    low, high = a.point.beta, b.point.beta
    if high == math.inf:
        return max(4.0 * low, 1.0)
    left, right = a.g - low, high - b.g
    if 0.0 < left < math.inf and 0.0 < right < math.inf:
        return low + (high - low) * min(max(left / (left + right), 0.05), 0.95)
    if high > 4.0 * low:
        return math.sqrt(max(low, 1e-3 * high) * high)
    return 0.5 * (low + high)
