r"""Certified global minimum of a bound over the simplex, by branch and bound on the Gibbs curve.

Lower bounds of a cell
----------------------
In the plane of (L, K) all posteriors lie above all tangents of the Gibbs curve: for every posterior `q` and every
:math:`\beta \ge 0`,

.. math:: K(q) + \beta L(q) \ge F(\beta) = -\ln \sum_i p_i e^{-\beta \hat l_i},

equation (variational).  On a cell :math:`[a, b]` of inverse temperatures, that is for posteriors with
:math:`L(b) \le L(q) \le L(a)`, hence

* ``B >= f(L(b), K(a))``, because f is non-decreasing: equation (corner);
* ``B >= min(B(a), B(b), f(V))`` with `V` the intersection of the tangents at `a` and `b`, if the ratio
  :math:`\rho = (\partial f/\partial L)/(\partial f/\partial K)` is non-decreasing on every path in the cell's box on
  which `L` decreases and `K` increases: equation (tangents).  Along the tangent of slope -a from the curve to `V`, the
  derivative of f is proportional to :math:`a - \rho`, which changes sign at most once, from + to -, so the minimum is
  at an end; likewise along the other tangent.

The error of the second bound is quadratic in the length of the cell, so few cells are needed.  Moreover, B decreases in
:math:`\beta` if :math:`\rho > \beta` and increases if :math:`\rho < \beta`, equation (fixed-point): bounds of the ratio
on the cell allow to move its ends inwards.  For squared, pinsker and ch this is the paper's fixed-point iteration, run
from both ends: equation (both-sides).  The equations and their proofs are in docs/mathematics.md.
"""

import heapq
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from pacbayes._utils.arrays import EPS, SMALLEST_NORMAL, round_down, round_up
from pacbayes.bounds.distance import BoundFunction
from pacbayes.posteriors.gibbs import CurvePoint, GibbsCurve

# Fraction of the tolerance used by the search; the rest covers rounding errors.
_SEARCH_SHARE = 0.75
# A cell is split unless it shrinks to less than this fraction of its length.
_MIN_SHRINKAGE = 0.7
# Relative width in beta below which the lower bound of a cell may be sharp enough to discard it.
_MAX_PROOF_WIDTH = 0.05
# A factor exp(-_FAR) is below any tolerance used in practice.
_FAR_EXPONENT = 20.0
# First finite beta of the search, at most this multiple of n: beyond, the ratio is below beta unless it is infinite.
# Without this limit the first step would be infinite if the second smallest risk is only a subnormal number larger.
_MAX_BETA_FACTOR = 1e4
# Decreasing the risk by this fraction of the bound changes the bound by less than a unit in the last place, with
# logarithmic factors to spare: next to zero kl has the slope ln(r/L).
_NEGLIGIBLE = 1e-4 * EPS
# Bounds that differ by at most this many units in the last place count as equal: up to 7 occur next to a minimum.
_EQUAL_ULPS = 16.0
# Upper bound of the rounding errors of divergences.
_LARGEST_ERROR = 1e-9


class Node(NamedTuple):
    """Point on the Gibbs curve with its bound B and its ratio (dB/dL)/(dB/dK)."""

    point: CurvePoint
    bound: float
    ratio: float

    @property
    def residual(self) -> float:
        """Residual of the stationarity condition: the ratio minus the inverse temperature."""
        return self.ratio - self.point.beta


class Cell(NamedTuple):
    """Part of the curve between two nodes, with a lower bound on B in its interior."""

    lower: float
    #: Tie-breaker for cells with equal lower bounds on the heap.
    order: int
    left: Node
    right: Node
    #: Whether the ratio is proved to be non-decreasing in the cell.
    monotone: bool


@dataclass(frozen=True)
class Minimum:
    """Best point of a search, a proved lower bound on B over the simplex, and the cost of the search."""

    point: CurvePoint
    lower_bound: float
    evaluations: int
    cells: int


class CertifiedSearch:
    """Branch-and-bound minimisation of a bound function on a Gibbs curve."""

    def __init__(self, curve: GibbsCurve, function: BoundFunction) -> None:
        self.curve = curve
        self.function = function
        # The ratio inherits errors from exponents of the size of the log prior, and from the prior itself.
        self._margin = 1e-12 - 8 * EPS * curve.min_log_mass + 4.0 * curve.mass_error
        self._nodes: list[Node] = []
        self._cells: list[Cell] = []
        self._n_cells = 0
        # Smallest lower bound among the cells that are not split any further.
        self._finished = math.inf
        # Beyond this beta, nearly all mass is on the smallest risk.
        self._far = min(_FAR_EXPONENT / max(curve.risk_gap, SMALLEST_NORMAL), _MAX_BETA_FACTOR * function.factor)
        self._best = self._evaluate_node(0.0)

    def run(self, tol: float, max_evaluations: int) -> Minimum:
        """Search until the gap is at most `tol`, or for about `max_evaluations` evaluations of the curve.

        A further call with a smaller tolerance continues the search.
        """
        if not self._n_cells:
            start, end = self._best, self._evaluate_node(math.inf)
            self._evaluate_closed_form(start, end)
            self._push_cell(start, end, False)
        cells = self._cells
        while cells and cells[0].lower < self._best.bound - _SEARCH_SHARE * tol and self.evaluations < max_evaluations:
            cell = heapq.heappop(cells)
            # Splitting does not help if the cell's lower bound exceeds the best bound up to rounding.
            close = cell.lower >= self._best.bound * (1.0 - 1e-11) and cell.lower >= self._node_lower_bound(self._best)
            self._finished = min(self._finished, cell.lower if close else self._refine(cell))
        lower = min(cells[0].lower if cells else math.inf, self._finished, self._nodes_lower_bound())
        return Minimum(self._best.point, lower, self.evaluations, self._n_cells)

    def polish(self) -> CurvePoint:
        """Move the best point to the nearest stationary point, equation (fixed-point), if its bound is not larger.

        The bound is flat at its minimum: 16 digits of the bound determine 8 digits of beta and of the weights.  The
        residual is not flat there.  Its root is approximated by the secant method, as long as the residual decreases,
        after a first step that decreases it wherever B is convex.
        """
        best = self._best
        last, node = best, self._evaluate_node(best.ratio)
        while abs(node.residual) < abs(last.residual) < math.inf:
            step = node.residual * (node.point.beta - last.point.beta) / (last.residual - node.residual)
            last, node = node, self._evaluate_node(max(node.point.beta + step, 0.0))
        return (last if last.bound <= round_up(best.bound, _EQUAL_ULPS) else best).point

    def _evaluate_closed_form(self, start: Node, end: Node) -> None:
        """Evaluate the optimum directly if the ratio is constant, as for linear: equation (closed-form).

        A ratio that is equal at both ends of the curve is the inverse temperature of a stationary point.  The search
        still has to prove that it is the minimum.
        """
        if start.ratio == end.ratio:
            self._evaluate_node(start.ratio)

    def _nodes_lower_bound(self) -> float:
        """Lower bound on B at all nodes, where discarded parts of the curve attain their minimum."""
        lower = self._node_lower_bound(self._best)
        # The bounds of all other nodes are larger by more than any rounding error.
        near = self._best.bound + 1e3 * (self._best.bound - lower)
        return min(self._node_lower_bound(node) for node in self._nodes if node.bound <= near)

    def _evaluate_node(self, beta: float) -> Node:
        point = self.curve.at(beta)
        node = Node(point, *self.function.value_and_ratio(point.risk, point.kl))
        self._nodes.append(node)
        if len(self._nodes) == 1 or node.bound < self._best.bound:
            self._best = node
        return node

    @property
    def evaluations(self) -> int:
        """Number of evaluated points on the curve."""
        return len(self._nodes)

    def _evaluate_down(self, risk: float, kl: float) -> float:
        """Evaluate f, rounded down instead of up."""
        return round_down(self.function(max(risk, 0.0), max(kl, 0.0)), 64)

    def _node_lower_bound(self, node: Node) -> float:
        in_risk, in_kl, _ = self.curve.errors(node.point)
        return self._evaluate_down(node.point.risk - in_risk, node.point.kl - in_kl)

    def _push_cell(self, left: Node, right: Node, monotone: bool, lower: float = -math.inf) -> None:
        """Push a cell onto the heap; `monotone` and `lower` are inherited from the cell that contains it."""
        if not monotone:
            threshold = self.function.threshold(right.point.kl)
            monotone = self.function.distance.ratio_is_monotone(left.point.risk, threshold)
        a, b = left.point, right.point
        lower = max(self._tangents_bound(a, b) if monotone else self._corner_bound(a, b), lower)
        heapq.heappush(self._cells, Cell(lower, self._n_cells, left, right, monotone))
        self._n_cells += 1

    def _corner_bound(self, a: CurvePoint, b: CurvePoint) -> float:
        """Lower bound of B between two points: f at the smallest risk and divergence, equation (corner)."""
        return self._evaluate_down(b.risk - self.curve.errors(b)[0], a.kl - self.curve.errors(a)[1])

    def _tangents_bound(self, a: CurvePoint, b: CurvePoint) -> float:
        """Lower bound of B strictly between two points: f at the intersection of the tangents, equation (tangents)."""
        # Both tangents are lowered by the larger of their errors, which does not change the risk at the intersection.
        error = max(self.curve.errors(a)[2], self.curve.errors(b)[2])
        free_a, free_b = -a.log_normaliser - error, -b.log_normaliser - error
        # The tangent at infinity is vertical, at the smallest risk.
        above = max((free_b - free_a) / (b.beta - a.beta), 0.0) * (1.0 - 4 * EPS) if b.beta < math.inf else 0.0
        kl = free_a - a.beta * above - 4 * EPS * (abs(free_a) + a.beta * above)
        return self._evaluate_down(self.curve.min_risk * (1.0 - 4 * EPS) + above, kl)

    def _refine(self, cell: Cell) -> float:
        """Replace a cell by smaller cells, or discard it if B is proved to be monotone in it.

        Return infinity in both cases, and the lower bound of a cell that is too small to be split.
        """
        if self._is_negligible(cell.left.point, cell.right.point, cell.monotone):
            return self._final_lower_bound(cell.left, cell.right, cell)
        a, b = self._shrink(cell.left, cell.right) if cell.monotone else (cell.left, cell.right)
        beta_a, beta_b = a.point.beta, b.point.beta
        min_ratio, max_ratio = (a.ratio, b.ratio) if cell.monotone else self._ratio_range(a.point, b.point)
        # B decreases if beta < ratio and increases if beta > ratio: a minimum is between `low` and `high`.
        low, high = max(beta_a, min_ratio * (1.0 - self._margin)), min(beta_b, max_ratio * (1.0 + self._margin))
        if low >= beta_b or high <= beta_a:
            return math.inf
        if low >= high:  # equal up to rounding
            return self._final_lower_bound(a, b, cell)
        inner = [beta for beta in self._choose_split(a, b, low, high) if beta_a < beta < beta_b]
        if not inner:
            return self._final_lower_bound(a, b, cell)
        nodes = [self._evaluate_node(beta) for beta in inner]
        if inner[0] != low:
            nodes.insert(0, a)
        if inner[-1] != high:
            nodes.append(b)
        for left, right in pairwise(nodes):
            self._push_cell(left, right, cell.monotone, cell.lower)
        return math.inf

    def _is_negligible(self, a: CurvePoint, b: CurvePoint, monotone: bool) -> bool:
        """Whether the length of a cell affects its lower bound less than the rounding errors of its ends.

        The effect is measured in divergence: the tangents intersect at most (b - a)(L(a) - L(b)) below the curve, and
        the corner is
        at most b (L(a) - L(b)) below it.  The tangents of an unbounded cell intersect at the smallest risk, above the
        divergence at `a`.
        """
        if b.beta == math.inf:
            return a.risk - b.risk <= _NEGLIGIBLE * self._best.bound
        loss = (b.beta - a.beta if monotone else b.beta) * (a.risk - b.risk)
        # Compare with a constant first, since the loss nearly always exceeds any rounding error by far.
        return loss < _LARGEST_ERROR and loss <= max(self.curve.errors(a)[2], self.curve.errors(b)[2])

    def _final_lower_bound(self, a: Node, b: Node, cell: Cell) -> float:
        """Best lower bound for a cell that is not split any further.

        The intersection of tangents with nearly equal slopes is dominated by rounding errors; then the corner gives the
        better bound.
        """
        lower = max(cell.lower, self._corner_bound(a.point, b.point))
        return max(lower, self._tangents_bound(a.point, b.point)) if cell.monotone else lower

    def _shrink(self, a: Node, b: Node) -> tuple[Node, Node]:
        """Move both ends of a cell with monotone ratio inwards, past the parts on which B is monotone.

        Stop when little is gained, or when the cell may be narrow enough for a proof; earlier lower bounds would be too
        loose.
        """
        while True:
            beta_a, beta_b = a.point.beta, b.point.beta
            low, high = a.ratio * (1.0 - self._margin), b.ratio * (1.0 + self._margin)
            gains = beta_a < low < high < beta_b and high - low < _MIN_SHRINKAGE * (beta_b - beta_a)
            if not gains or high - low < _MAX_PROOF_WIDTH * high:
                return a, b
            a, b = self._evaluate_node(low), self._evaluate_node(high)

    def _ratio_range(self, a: CurvePoint, b: CurvePoint) -> tuple[float, float]:
        """Bounds of the ratio between two points, from the box that they span."""
        threshold, factor = self.function.threshold, self.function.factor
        low, high = self.function.distance.ratio_range(b.risk, a.risk, threshold(a.kl), threshold(b.kl))
        return factor * low, factor * high

    def _choose_split(self, a: Node, b: Node, low: float, high: float) -> list[float]:
        """Choose the next evaluation point in a cell whose minima lie between `low` and `high`."""
        beta_a, beta_b = a.point.beta, b.point.beta
        if high == math.inf:
            return [low, max(self._far, 4.0 * low)]
        if high - low < _MIN_SHRINKAGE * (beta_b - beta_a):
            return [low, high]
        # If little is gained at the ends, split where the ratio crosses beta, or else in the middle.
        left, right = a.ratio - beta_a, beta_b - b.ratio
        if 0.0 < left < math.inf and 0.0 < right < math.inf:
            return [beta_a + (beta_b - beta_a) * min(max(left / (left + right), 0.05), 0.95)]
        if beta_b > 4.0 * beta_a:
            return [math.sqrt(max(beta_a, 1e-3 * beta_b) * beta_b)]
        return [0.5 * (beta_a + beta_b)]
