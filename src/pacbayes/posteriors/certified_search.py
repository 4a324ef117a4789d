r"""The global minimum of a bound over the simplex, with proof: branch and bound on the Gibbs curve.

What a cell proves
------------------
In the plane of (L, K) all posteriors lie above all tangents of the Gibbs curve: for every posterior `q` and every
:math:`\beta \ge 0`,

.. math:: K(q) + \beta L(q) \ge F(\beta) = -\ln \sum_i p_i e^{-\beta \hat l_i},

equation (variational).  On a cell :math:`[a, b]` of inverse temperatures, that is for posteriors with
:math:`L(b) \le L(q) \le L(a)`, hence

* ``B >= f(L(b), K(a))``, because f is non-decreasing: equation (corner);
* ``B >= min(B(a), B(b), f(V))`` with `V` the point where the tangents at `a` and `b` meet, if the ratio
  :math:`\rho = (\partial f/\partial L)/(\partial f/\partial K)` never falls on a path in the cell's box on which `L`
  falls and `K` rises: equation (tangents).  For along the tangent of slope -a from the curve to `V`, f has the
  derivative proportional to :math:`a - \rho`, which changes sign at most once, from + to -: the least value is at an
  end; likewise along the other tangent.

The error of the second is quadratic in the length of the cell, so few cells are needed.  Moreover B falls where
:math:`\rho > \beta` and rises where :math:`\rho < \beta`, equation (fixed-point): with bounds of the ratio on the cell,
its ends move inwards without loss.  For squared, pinsker and ch this is the paper's fixed-point iteration, run from
both ends: equation (both-sides).  The names are those of docs/mathematics.md, which has the proofs.
"""

import heapq
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from pacbayes._utils.arrays import EPS, SMALLEST_NORMAL, round_down, round_up
from pacbayes.bounds.distance import BoundFunction
from pacbayes.posteriors.gibbs import CurvePoint, GibbsCurve

# The share of the tolerance that the search uses; the rest is for rounding.
_SHARE = 0.75
# A cell whose ends move to less than this part of it is not split.
_GAIN = 0.7
# Part of its inverse temperature up to which a cell may be narrow enough for a proof.
_WIDE = 0.05
# A factor exp(-_FAR) is below the tolerances that people ask for.
_FAR = 20.0
# No search starts beyond this multiple of n: there the ratio is, unless it is infinite, below beta.  Without it the
# next risk being a subnormal number away would put the first step at infinity.
_FARTHEST = 1e4
# A risk smaller by this part of the bound changes the bound by less than a unit in the last place, with logarithmic
# factors to spare: next to zero kl has the slope ln(r/L).
_SAME = 1e-4 * EPS
# So many units in the last place are no difference between two bounds: up to 7 were seen next to a minimum.
_ROUNDING = 16.0
# Rounding errors of divergences lie below this.
_LARGEST_ERROR = 1e-9


class Node(NamedTuple):
    """A point of the curve with its bound B and the ratio (dB/dL)/(dB/dK)."""

    point: CurvePoint
    bound: float
    ratio: float

    @property
    def miss(self) -> float:
        """How far the point is from a stationary one: the ratio minus the inverse temperature."""
        return self.ratio - self.point.beta


class Cell(NamedTuple):
    """The part of the curve between two nodes, with a lower bound of B on it (but for B at its ends)."""

    lower: float
    #: Makes cells of equal lower bounds comparable.
    order: int
    left: Node
    right: Node
    #: Whether the ratio is known never to fall in the cell.
    monotone: bool


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
        # The ratio inherits the rounding of exponents of the size of the prior's logarithms, and of the prior itself.
        self._margin = 1e-12 - 8 * EPS * curve.least_log_mass + 4.0 * curve.mass_error
        self._nodes: list[Node] = []
        self._cells: list[Cell] = []
        self._n_cells = 0
        # The least lower bound of cells that cannot be made smaller.
        self._finished = math.inf
        # From here on nearly all mass has the least risk.
        self._far = min(_FAR / max(curve.next_above, SMALLEST_NORMAL), _FARTHEST * function.factor)
        self._best = self._node(0.0)

    def run(self, tol: float, max_evaluations: int) -> Minimum:
        """Search until the gap is at most `tol`, or for about `max_evaluations` evaluations of the curve.

        Called again with a smaller tolerance, it goes on.
        """
        if not self._n_cells:
            start, end = self._best, self._node(math.inf)
            self._evaluate_closed_form(start, end)
            self._add(start, end, False)
        cells = self._cells
        while cells and cells[0].lower < self._best.bound - _SHARE * tol and self.evaluations < max_evaluations:
            cell = heapq.heappop(cells)
            # Above what rounding leaves of the best node nothing can be gained.
            close = cell.lower >= self._best.bound * (1.0 - 1e-11) and cell.lower >= self._node_lower(self._best)
            self._finished = min(self._finished, cell.lower if close else self._refine(cell))
        lower = min(cells[0].lower if cells else math.inf, self._finished, self._least_node())
        return Minimum(self._best.point, lower, self.evaluations, self._n_cells)

    def polish(self) -> CurvePoint:
        """Return the stationary point next to the best one, or the best one if that is lower: equation (fixed-point).

        The bound is flat at its minimum: 16 of its digits leave 8 of the inverse temperature, and of the weights.  The
        miss is not flat there.  Its root is approached by secants, as long as it falls, after a first step that brings
        it nearer wherever B is convex.
        """
        best = self._best
        last, node = best, self._node(best.ratio)
        while abs(node.miss) < abs(last.miss) < math.inf:
            step = node.miss * (node.point.beta - last.point.beta) / (last.miss - node.miss)
            last, node = node, self._node(max(node.point.beta + step, 0.0))
        return (last if last.bound <= round_up(best.bound, _ROUNDING) else best).point

    def _evaluate_closed_form(self, start: Node, end: Node) -> None:
        """Evaluate the optimum itself where the ratio is constant, as for linear: equation (closed-form).

        A ratio that is the same at both ends of the curve is the inverse temperature of a stationary point.  Whether it
        is the minimum is for the search to prove, as always.
        """
        if start.ratio == end.ratio:
            self._node(start.ratio)

    def _least_node(self) -> float:
        """Return a lower bound of B at all nodes, where what was dropped on the way has its least bound."""
        lower = self._node_lower(self._best)
        # Rounding errors are far smaller than the difference to the nodes left out.
        near = self._best.bound + 1e3 * (self._best.bound - lower)
        return min(self._node_lower(node) for node in self._nodes if node.bound <= near)

    def _node(self, beta: float) -> Node:
        point = self.curve.at(beta)
        node = Node(point, *self.function.value_and_ratio(point.risk, point.kl))
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

    def _add(self, left: Node, right: Node, monotone: bool, lower: float = -math.inf) -> None:
        """Put a cell on the heap; `monotone` and `lower` say what is known from a larger one."""
        if not monotone:
            threshold = self.function.threshold(right.point.kl)
            monotone = self.function.distance.ratio_is_monotone(left.point.risk, threshold)
        a, b = left.point, right.point
        lower = max(self._tangents(a, b) if monotone else self._corner(a, b), lower)
        heapq.heappush(self._cells, Cell(lower, self._n_cells, left, right, monotone))
        self._n_cells += 1

    def _corner(self, a: CurvePoint, b: CurvePoint) -> float:
        """Return f at the least risk and the least divergence between two points, a lower bound of B between them.

        Equation (corner).
        """
        return self._value_below(b.risk - self.curve.errors(b)[0], a.kl - self.curve.errors(a)[1])

    def _tangents(self, a: CurvePoint, b: CurvePoint) -> float:
        """Return f where the tangents cross, a lower bound of B between two points (but for B at them).

        Equation (tangents).
        """
        # Both tangents are lowered by the larger of their errors, which leaves the risk at their crossing in place.
        error = max(self.curve.errors(a)[2], self.curve.errors(b)[2])
        free_a, free_b = -a.log_normaliser - error, -b.log_normaliser - error
        # The tangent at infinity is vertical, at the least risk.
        above = max((free_b - free_a) / (b.beta - a.beta), 0.0) * (1.0 - 4 * EPS) if b.beta < math.inf else 0.0
        kl = free_a - a.beta * above - 4 * EPS * (abs(free_a) + a.beta * above)
        return self._value_below(self.curve.least * (1.0 - 4 * EPS) + above, kl)

    def _refine(self, cell: Cell) -> float:
        """Replace a cell by smaller ones, or by none if B provably falls or rises in it.

        Return infinity then, and the lower bound of what is left of a cell that is too small to be replaced.
        """
        if self._is_point(cell.left.point, cell.right.point, cell.monotone):
            return self._last_lower(cell.left, cell.right, cell)
        a, b = self._shrink(cell.left, cell.right) if cell.monotone else (cell.left, cell.right)
        beta_a, beta_b = a.point.beta, b.point.beta
        least, most = (a.ratio, b.ratio) if cell.monotone else self._ratio_range(a.point, b.point)
        # B falls where beta < ratio and rises where beta > ratio: only what lies between can hold a minimum.
        low, high = max(beta_a, least * (1.0 - self._margin)), min(beta_b, most * (1.0 + self._margin))
        if low >= beta_b or high <= beta_a:
            return math.inf
        if low >= high:  # equal but for rounding: a point
            return self._last_lower(a, b, cell)
        inner = [beta for beta in self._inner(a, b, low, high) if beta_a < beta < beta_b]
        if not inner:
            return self._last_lower(a, b, cell)
        nodes = [self._node(beta) for beta in inner]
        if inner[0] != low:
            nodes.insert(0, a)
        if inner[-1] != high:
            nodes.append(b)
        for left, right in pairwise(nodes):
            self._add(left, right, cell.monotone, cell.lower)
        return math.inf

    def _is_point(self, a: CurvePoint, b: CurvePoint, monotone: bool) -> bool:
        """Return whether a cell's lower bound loses less by its length than by the rounding errors of its ends.

        Measured in divergence: the tangents cross below the curve by at most (b - a)(L(a) - L(b)), the corner lies
        below it by at most b (L(a) - L(b)).  The tangents of a cell without end cross at the least risk, above the
        divergence at `a`.
        """
        if b.beta == math.inf:
            return a.risk - b.risk <= _SAME * self._best.bound
        loss = (b.beta - a.beta if monotone else b.beta) * (a.risk - b.risk)
        # Nearly always far more than any rounding error.
        return loss < _LARGEST_ERROR and loss <= max(self.curve.errors(a)[2], self.curve.errors(b)[2])

    def _last_lower(self, a: Node, b: Node, cell: Cell) -> float:
        """Return the best lower bound known between two nodes of a cell that is not split again.

        Tangents of nearly the same slope cross just anywhere; the corner is then the better bound.
        """
        lower = max(cell.lower, self._corner(a.point, b.point))
        return max(lower, self._tangents(a.point, b.point)) if cell.monotone else lower

    def _shrink(self, a: Node, b: Node) -> tuple[Node, Node]:
        """Move both ends of a cell in which the ratio never falls past where B falls or rises, while that gains much.

        It ends where the cell may be narrow enough for a proof; before, a lower bound would be computed in vain.
        """
        while True:
            beta_a, beta_b = a.point.beta, b.point.beta
            low, high = a.ratio * (1.0 - self._margin), b.ratio * (1.0 + self._margin)
            gains = beta_a < low < high < beta_b and high - low < _GAIN * (beta_b - beta_a)
            if not gains or high - low < _WIDE * high:
                return a, b
            a, b = self._node(low), self._node(high)

    def _ratio_range(self, a: CurvePoint, b: CurvePoint) -> tuple[float, float]:
        """Return bounds of the ratio between two points from the box they span."""
        threshold, factor = self.function.threshold, self.function.factor
        low, high = self.function.distance.ratio_range(b.risk, a.risk, threshold(a.kl), threshold(b.kl))
        return factor * low, factor * high

    def _inner(self, a: Node, b: Node, low: float, high: float) -> list[float]:
        """Return where to evaluate next in a cell whose minima lie between `low` and `high`."""
        beta_a, beta_b = a.point.beta, b.point.beta
        if high == math.inf:
            return [low, max(self._far, 4.0 * low)]
        if high - low < _GAIN * (beta_b - beta_a):
            return [low, high]
        # Little is gained at the ends: split where the ratio crosses beta if it does, else in the middle of the scale.
        left, right = a.ratio - beta_a, beta_b - b.ratio
        if 0.0 < left < math.inf and 0.0 < right < math.inf:
            return [beta_a + (beta_b - beta_a) * min(max(left / (left + right), 0.05), 0.95)]
        if beta_b > 4.0 * beta_a:
            return [math.sqrt(max(beta_a, 1e-3 * beta_b) * beta_b)]
        return [0.5 * (beta_a + beta_b)]
