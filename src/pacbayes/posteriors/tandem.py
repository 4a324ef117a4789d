r"""Certified global minimum of the tandem bound, by supporting lines of all weights in the plane of (T, K).

The bound is :math:`f(T, K)`, four times an upper kl root.  Two facts make its global minimum over the simplex cheap to
compute, although it is not a convex function of the weights:

* T and K are convex in the weights, so for every :math:`\kappa \ge 0` minimising :math:`T + \kappa K` is a convex
  problem, and its dual (`TandemDual`) gives a number :math:`d(\kappa)` with :math:`T + \kappa K \ge d(\kappa)` for
  *all* weights.  In the plane, all weights lie in the polygon P defined by such lines, :math:`K \ge 0` and
  :math:`T \ge t_0`.
* f is concave and non-decreasing in (T, K): since :math:`kl(T, r)` is jointly convex, the set of
  :math:`(T, x, r)` with :math:`kl(T, r) \le x` is convex, and the largest r for each (T, x) is a concave function.

A concave function that is non-decreasing in both arguments attains its minimum over P at a vertex, equation (polygon)
of docs/mathematics.md: the smallest f at the vertices is a lower bound on the bound of every vote.

The search first moves kappa to the ratio of the slopes of the bound.  It then draws lines at the lowest vertex until
that is within the tolerance of the best bound.

The inner problem
-----------------
With :math:`T = |A^\top \rho|^2` (`TandemFactor`), any vector `u` gives a lower bound: :math:`T \ge 2 u^\top A^\top \rho
- |u|^2`.  The right side is linear in :math:`\rho`, so for all weights, by Gibbs' variational principle, equation
(tandem-line) of docs/mathematics.md,

.. math:: T + \kappa K + c^\top\rho \ge D(u) = -|u|^2 - \kappa \ln \sum_i \pi_i e^{-(2 (A u)_i + c_i)/\kappa}

D is smooth, strongly concave and unconstrained; its gradient is :math:`2 (A^\top \rho(u) - u)` with :math:`\rho(u)` the
minimising Gibbs weights.  These weights are the primal point of `u`, and the duality gap is
:math:`|A^\top \rho(u) - u|^2`, zero at the maximum.  D is maximised by Newton's method with conjugate gradients, which
need products with A and its transpose only.  Few iterations suffice, because the Hessian is the identity plus the
covariance of the rows of A under :math:`\rho(u)`, which has few large eigenvalues.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pacbayes._utils.arrays import EPS, FloatArray, round_down
from pacbayes.bounds.distance import BoundFunction
from pacbayes.posteriors.error_rows import TandemFactor
from pacbayes.posteriors.vote_bounds import tandem_bound

_MAX_NEWTON, _MAX_CG, _MAX_HALVINGS = 60, 200, 40
# Relative residual of conjugate gradients: each Newton step reduces the error at least by this factor.
_CG_TOLERANCE = 0.05
# Fractions of the tolerance for the search and for an inner problem; the rest covers rounding errors.
_SEARCH_SHARE, _INNER_SHARE = 0.9, 0.02
# A new line next to the best point is placed so that its vertex is below the curve by this fraction of the tolerance.
_VERTEX_GAP_SHARE = 0.2
# It is at least the first fraction of the way to the next line.  Towards an end at zero or infinity, kappa changes at
# most by the second factor, and is never decreased by more than the third: problems with a tiny kappa are hard, in
# particular when started from a solution for a large kappa.
_NEAR, _FAR, _FARTHEST = 1 / 16, 0.4, 1 / 16
# Maximum number of fixed-point steps of kappa, and their relative tolerance.
_STEPS, _KAPPA_TOLERANCE = 8, 2e-3
# Relative difference of K below which both ends of a vertex are replaced by (smaller T, smaller K).
_VERTEX_TOLERANCE = 1e-11
# Lines closer in kappa than this relative distance are not drawn: rounding would dominate their intersection.
_MIN_KAPPA_DISTANCE = 1e-10


class DualPoint(NamedTuple):
    """Weights of the distinct classifiers with their T and K, and the line below all weights that they determine."""

    kappa: float
    #: Dual variables, from which the next problem is started.
    u: FloatArray
    weights: FloatArray
    tandem: float
    kl: float
    #: Lower bound of T + kappa K + c'rho for all weights; rounded down if c = 0.
    line: float
    #: Lower bound of T for all weights, rounded down.
    least_tandem: float
    #: Number of products with the factor or its transpose.
    products: int


class TandemDual:
    """Minimise T + kappa K + c'rho over the weights by solving the dual problem.

    Examples
    --------
    >>> errors = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    >>> point = TandemDual(TandemFactor.from_errors(errors, None, 1.0)).solve(0.1, tol=1e-12)
    >>> point.weights.round(4), round(point.tandem + 0.1 * point.kl - point.line, 9)
    (array([0.2378, 0.3811, 0.3811]), 0.0)
    """

    def __init__(self, factor: TandemFactor) -> None:
        self.factor = factor
        self._A = factor.factor
        self._At = np.ascontiguousarray(self._A.T)
        self._log_mass = factor.log_mass
        # Error of the log prior masses, including their normalisation.
        self._mass_error = factor.groups.mass_error + EPS * (64.0 + float(np.abs(self._log_mass).max()))
        self.products = 0

    def solve(
        self, kappa: float, *, linear: FloatArray | None = None, start: FloatArray | None = None, tol: float = 1e-9
    ) -> DualPoint:
        """Solve for ``kappa > 0`` up to a duality gap of `tol`."""
        before = self.products
        base = self._log_mass if linear is None else self._log_mass - linear / kappa
        u = self._times(np.exp(self._log_mass), self._A) if start is None else start
        w = self._times(u, self._At)
        value, weights = self._value(u, w, base, kappa)
        for _ in range(_MAX_NEWTON):
            residual = self._times(weights, self._A) - u
            gap = float(residual @ residual)
            if gap <= tol:
                break
            step, w_step = self._newton_step(weights, residual, kappa)
            moved = self._line_search(value, u, w, step, w_step, base, kappa, float(residual @ step))
            if moved is None:  # converged up to rounding
                break
            u, w, value, weights = moved
        return self._make_point(u, base, kappa, before)

    def _times(self, vector: FloatArray, matrix: FloatArray) -> FloatArray:
        self.products += 1
        return np.asarray(vector @ matrix)

    def _value(self, u: FloatArray, w: FloatArray, base: FloatArray, kappa: float) -> tuple[float, FloatArray]:
        """Evaluate D(u) and the Gibbs weights from w = A u."""
        exponents = base - (2.0 / kappa) * w
        top = float(exponents.max())
        terms = np.exp(exponents - top)
        total = float(terms.sum())
        return -float(u @ u) - kappa * (top + math.log(total)), terms / total

    def _newton_step(self, weights: FloatArray, residual: FloatArray, kappa: float) -> tuple[FloatArray, FloatArray]:
        """Solve (I + (2/kappa) A' C A) s = residual by conjugate gradients, C the covariance; return s and A s."""
        factor = 2.0 / kappa
        step, w_step = np.zeros_like(residual), np.zeros_like(weights)
        remainder, direction = residual.copy(), residual
        square = float(remainder @ remainder)
        goal = _CG_TOLERANCE**2 * square
        for _ in range(_MAX_CG):
            image = self._times(direction, self._At)
            spread = weights * (image - float(weights @ image))
            product = direction + factor * self._times(spread, self._A)
            length = square / float(direction @ product)
            step += length * direction
            w_step += length * image
            remainder -= length * product
            previous, square = square, float(remainder @ remainder)
            if square <= goal:
                break
            direction = remainder + (square / previous) * direction
        return step, w_step

    def _line_search(
        self, value: float, u: FloatArray, w: FloatArray, step: FloatArray, w_step: FloatArray, base: FloatArray,
        kappa: float, slope: float,
    ) -> tuple[FloatArray, FloatArray, float, FloatArray] | None:  # fmt: skip
        """Halve the step until D satisfies the Armijo condition; return the new u, A u, D(u) and weights."""
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            moved, w_moved = u + length * step, w + length * w_step
            new_value, weights = self._value(moved, w_moved, base, kappa)
            if new_value >= value + 0.2 * length * slope:
                return moved, w_moved, new_value, weights
            length *= 0.5
        return None

    def _make_point(self, u: FloatArray, base: FloatArray, kappa: float, before: int) -> DualPoint:
        """Create the result at u, with the line rounded down."""
        w = self._times(u, self._At)
        value, weights = self._value(u, w, base, kappa)
        v = self._times(weights, self._A)
        tandem = float(v @ v)
        positive = np.maximum(weights, np.finfo(np.float64).tiny)
        kl = max(float(weights @ (np.log(positive) - self._log_mass)), 0.0)
        error = self._rounding_error(u, w, base, kappa)
        square = float(u @ u)
        least_tandem = 2.0 * float(w.min()) - square - error
        return DualPoint(kappa, u, weights, tandem, kl, value - error, least_tandem, self.products - before)

    def _rounding_error(self, u: FloatArray, w: FloatArray, base: FloatArray, kappa: float) -> float:
        """Bound the rounding error of D(u) and the difference between the factor and T.

        A row of A has length at most one (its square is a risk), so a product with it, summed in any order, has an
        error of at most (r + 2) EPS |u|.  The exponents have twice this error over kappa, the errors of the log masses,
        and a few units in the last place of their own size; a sum of non-negative terms keeps their relative error and
        adds one unit per term.
        """
        G, r = len(self._A), len(self._At)
        length = math.sqrt(float(u @ u)) * (1.0 + 1e-9)
        product = (r + 2.0) * EPS * length
        size = float(np.abs(base).max()) + (2.0 / kappa) * float(np.abs(w).max())
        exponent = (2.0 / kappa) * product + self._mass_error + 4 * EPS * size
        total = exponent + (G + 8.0) * EPS
        return self.factor.slack + 2.0 * kappa * total + (r + 8.0) * EPS * length * length


class Line(NamedTuple):
    """Constraint T + kappa K >= height on all weights; K >= 0 for kappa = inf, T >= height for kappa = 0."""

    kappa: float
    height: float


class Vertex(NamedTuple):
    """Intersection of two lines: up to rounding, a point on the second line between two ends (T, K)."""

    #: Only one end if the first line is K = 0.
    ends: tuple[tuple[float, float], ...]
    #: Upper bound of T.
    tandem_high: float

    @property
    def tandem_low(self) -> float:
        """Lower bound of T, which decreases along the line."""
        return self.ends[-1][0]


class Candidate(NamedTuple):
    """Weights of the distinct classifiers with their bound, not rounded outward."""

    kappa: float
    bound: float
    weights: FloatArray
    #: Ratio of the slopes of the bound in K and T, which equals kappa at the optimum.
    next_kappa: float
    #: Slope of the bound in T, at least 4: it may be larger elsewhere.
    slope: float


@dataclass(frozen=True)
class TandemMinimum:
    """Best weights of the distinct classifiers, a proved lower bound for all weights, and the cost of the search."""

    weights: FloatArray
    kappa: float
    lower_bound: float
    problems: int
    products: int


class TandemSearch:
    """Search for the global minimum of the tandem bound."""

    def __init__(self, factor: TandemFactor, function: BoundFunction) -> None:
        self.factor = factor
        self.function = function
        self.dual = TandemDual(factor)
        self.problems = 0
        self._least_tandem = 0.0
        #: Maps kappa to the height of its line.
        self._heights = {math.inf: 0.0}
        #: Maps kappa to the solution of the dual problem.
        self._points: dict[float, FloatArray] = {}
        self._values: dict[tuple[Line, Line], float] = {}
        self._best = self._first_candidate()

    def run(self, tol: float, max_problems: int) -> TandemMinimum:
        """Search until the gap is at most `tol`, or for `max_problems` inner problems."""
        self._iterate_kappa(tol)
        while True:
            lower, a, b = self._lowest_vertex()
            if lower >= self._best.bound - _SEARCH_SHARE * tol or self.problems >= max_problems:
                break
            kappa = self._choose_kappa(a, b, self._best.bound - lower, tol)
            if kappa is None:
                break
            self._add_line(kappa, tol)
        best = self._best
        return TandemMinimum(best.weights, best.kappa, lower, self.problems, self.dual.products)

    def _first_candidate(self) -> Candidate:
        """Return the better of the prior and the classifier without errors, if any."""
        weights = np.exp(self.factor.log_mass)
        weights /= weights.sum()
        image = weights @ self.factor.factor
        best = self._make_candidate(math.inf, weights, float(image @ image), 0.0)
        for i in np.flatnonzero(self.factor.risks == 0.0):  # at most one
            single = np.zeros_like(weights)
            single[i] = 1.0
            best = min(
                best, self._make_candidate(0.0, single, 0.0, -float(self.factor.log_mass[i])), key=lambda c: c.bound
            )
        return best

    def _make_candidate(self, kappa: float, weights: FloatArray, tandem: float, kl: float) -> Candidate:
        tandem = min(tandem, 1.0)
        value, ratio = self.function.value_and_ratio(tandem, 2.0 * kl)
        slope = 4.0 * self.function.partials(tandem, 2.0 * kl)[0]
        slope = slope if 4.0 < slope < math.inf else 4.0
        # The ratio is dB/dT over dB/d(2K).
        return Candidate(kappa, 4.0 * value, weights, 2.0 / ratio if ratio > 0.0 else math.inf, slope)

    def _iterate_kappa(self, tol: float) -> None:
        """Iterate kappa towards the ratio of the slopes of the bound, the stationarity condition."""
        last = self._best
        for _ in range(_STEPS):
            kappa = last.next_kappa
            if not self._is_new(kappa) or abs(kappa - last.kappa) < _KAPPA_TOLERANCE * kappa:
                return
            last = self._add_line(kappa, tol)

    def _add_line(self, kappa: float, tol: float) -> Candidate:
        """Solve the inner problem at kappa, and store its line and candidate weights."""
        nearest = min(self._points, key=lambda other: abs(math.log(other / kappa)), default=None)
        start = None if nearest is None else self._points[nearest]
        point = self.dual.solve(kappa, start=start, tol=max(_INNER_SHARE * tol / self._best.slope, 1e-15))
        self.problems += 1
        self._points[kappa] = point.u
        if -math.inf < point.line < math.inf:
            self._heights[kappa] = point.line
        self._least_tandem = max(self._least_tandem, point.least_tandem)
        candidate = self._make_candidate(kappa, point.weights, point.tandem, point.kl)
        if candidate.bound < self._best.bound:
            self._best = candidate
        return candidate

    def _lowest_vertex(self) -> tuple[float, Line, Line]:
        """Smallest f at a vertex of the polygon, rounded down, and the two lines of that vertex."""
        corners: list[Line] = []
        vertices: list[Vertex] = []
        for line in map(Line._make, (*sorted(self._heights.items(), reverse=True), (0.0, self._least_tandem))):
            while corners:
                vertex = intersect(corners[-1], line)
                # Drop a line unless its two vertices are in order despite rounding; the polygon becomes larger, which
                # is always valid.
                if not vertices or vertices[-1].tandem_low > vertex.tandem_high:
                    vertices.append(vertex)
                    break
                corners.pop()
                vertices.pop()
            corners.append(line)
        candidates = zip(vertices, corners, corners[1:], strict=False)
        return min(((self._value(vertex, a, b), a, b) for vertex, a, b in candidates), key=lambda lowest: lowest[0])

    def _value(self, vertex: Vertex, a: Line, b: Line) -> float:
        """Evaluate f at the vertex of two lines, rounded down."""
        value = self._values.get((a, b))
        if value is None:
            (tandem, near), (least_tandem, far) = vertex.ends[0], vertex.ends[-1]
            value = self._evaluate_down(least_tandem, near)
            if far - near > _VERTEX_TOLERANCE * far:
                # f is concave between the ends, so its minimum there is at one of them.
                value = min(self._evaluate_down(tandem, near), self._evaluate_down(least_tandem, far))
            self._values[(a, b)] = value
        return value

    def _evaluate_down(self, tandem: float, kl: float) -> float:
        """Evaluate f, rounded down instead of up, including its constant."""
        return round_down(tandem_bound(self.function, min(max(tandem, 0.0), 1.0), kl), 160)

    def _choose_kappa(self, a: Line, b: Line, gap: float, tol: float) -> float | None:
        """Choose kappa of the next line between two lines whose intersection is at least `gap` below the best bound."""
        high, low, best = a.kappa, b.kappa, self._best.kappa
        step = min(max(math.sqrt(_VERTEX_GAP_SHARE * tol / gap), _NEAR), 0.5)
        if low == 0.0 and high == math.inf:
            kappa = 1.0
        elif high == math.inf:
            kappa = low / max(step, _FAR)
        elif low == 0.0:
            kappa = high * max(step, _FAR)
        elif best in (low, high):
            kappa = best + ((low if best == high else high) - best) * step
        else:
            kappa = max(math.sqrt(low * high), _FARTHEST * high)
        return kappa if self._is_new(kappa) else None

    def _is_new(self, kappa: float) -> bool:
        """Whether kappa is valid and differs from all solved ones by more than rounding."""
        return 0.0 < kappa < math.inf and all(
            abs(other - kappa) > _MIN_KAPPA_DISTANCE * kappa for other in self._points
        )


def intersect(a: Line, b: Line) -> Vertex:
    """Intersection of two lines with ``a.kappa > b.kappa``."""
    if a.kappa == math.inf:
        ends: tuple[float, ...] = (0.0,)
    else:
        error = 2 * EPS * (abs(a.height) + abs(b.height))
        low, high = ((a.height - b.height + e) / (a.kappa - b.kappa) for e in (-error, error))
        # The vertices of the polygon have K >= 0: move ends with K < 0 to K = 0.
        ends = (max(low - 4 * EPS * abs(low), 0.0), max(high + 4 * EPS * abs(high), 0.0))
    margin = 4 * EPS * (abs(b.height) + b.kappa * max(map(abs, ends)))
    points = tuple((b.height - b.kappa * kl - margin, kl) for kl in ends)
    return Vertex(points, points[0][0] + 2.0 * margin)
