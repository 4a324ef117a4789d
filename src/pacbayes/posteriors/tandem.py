r"""The weights with the smallest tandem bound, with proof: lines below all weights in the plane of (T, K).

The bound is :math:`f(T, K)`, four times an upper kl root.  Two facts make its global minimum over the simplex cheap,
although it is not a convex function of the weights:

* T and K are convex in the weights, so for every :math:`\kappa \ge 0` the least :math:`T + \kappa K` is a convex
  problem, and its dual (`TandemDual`) gives a number :math:`d(\kappa)` with :math:`T + \kappa K \ge d(\kappa)` for
  *all* weights.  In the plane, all weights lie in the polygon P that such lines, :math:`K \ge 0` and
  :math:`T \ge t_0` leave.
* f is concave and non-decreasing in (T, K).  For :math:`kl(T, r)` is jointly convex, hence the set of
  :math:`(T, x, r)` with :math:`kl(T, r) \le x` is convex, and the largest r over each (T, x) is a concave function.

A concave function that is non-decreasing in both arguments takes its minimum over P at a vertex, equation (polygon) of
docs/mathematics.md: the least f at the vertices is a lower bound of the bound of every vote.

The search moves kappa to where the bound wants it, three times as a rule, and then draws a fan of lines around it, all
from the one point of the dual problem that it found: each costs the logarithm of a sum, and their error is quadratic in
the distance from kappa.  In most problems nothing is left to prove; else the next problem is solved where the lowest
vertex is.

The inner problem
-----------------
With :math:`T = |A^\top \rho|^2` (`TandemFactor`), any vector `u` gives a lower bound: :math:`T \ge 2 u^\top A^\top \rho
- |u|^2`, and what is then left is linear in :math:`\rho` but for :math:`\kappa K`, so for all weights, by Gibbs'
variational principle, equation (tandem-line) of docs/mathematics.md,

.. math:: T + \kappa K + c^\top\rho \ge D(u) = -|u|^2 - \kappa \ln \sum_i \pi_i e^{-(2 (A u)_i + c_i)/\kappa}

D is smooth and strongly concave, without constraints; its gradient is :math:`2 (A^\top \rho(u) - u)` with
:math:`\rho(u)` the Gibbs weights that take the minimum.  These weights are the primal point that belongs to `u`, and
the gap between the two is :math:`|A^\top \rho(u) - u|^2`: exactly zero at the maximum.  It is found by Newton's method,
each step by conjugate gradients, which need products with A and its transpose only; few, as the Hessian is the identity
plus the covariance of the rows of A under :math:`\rho(u)`, of which few directions count.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pacbayes._utils.arrays import EPS, SMALLEST, FloatArray, round_down
from pacbayes.bounds.distance import BoundFunction
from pacbayes.posteriors.error_rows import TandemFactor
from pacbayes.posteriors.vote_bounds import tandem_bound

_MAX_NEWTON, _MAX_CG, _MAX_HALVINGS = 60, 200, 40
# Newton's system is solved to this part of its right side: near the end each step gains that factor, or its square.
_CG_TOLERANCE = 0.05
# The share of the tolerance that the search uses, and that of an inner problem; the rest is for rounding.
_SHARE, _INNER = 0.9, 0.02
# A new line next to the best point is drawn where its vertex should be off by this part of the tolerance,
_GOAL = 0.2
# ... at least this part of the way to the next line; towards an end that is zero or infinity by at most this factor,
# and never farther down than this: problems with a tiny kappa are hard, and hardest from a solution for a large one.
_NEAR, _FAR, _FARTHEST = 1 / 16, 0.4, 1 / 16
# Steps of kappa to where the bound says it should be, before the first vertex is looked at, and how close it should be;
_STEPS, _ARRIVED = 8, 2e-3
# ... in the first of them nothing but kappa is wanted, for which an inner problem need not be solved more closely.
_ROUGH_STEPS, _ROUGH = 2, 1e-6
# The fan's first vertices should be off by this part of the tolerance; each distance of a line's kappa from that of the
# weights is this many times the one before.  As parts of kappa they are at least and at most this.
_FIRST, _GROWTH, _NARROWEST, _WIDEST = 0.4, 4.0, 1e-7, 4.0
# Points on a line whose K differ by at most this part are both above (the lesser T, the lesser K), and not by much.
_TOGETHER = 1e-11
# Lines closer than this part of kappa prove nothing that rounding does not spoil.
_CLOSE = 1e-10


class DualPoint(NamedTuple):
    """Weights of the distinct classifiers with T and K, and the line that all weights lie above."""

    kappa: float
    #: The point of the dual problem, to start the next one from.
    u: FloatArray
    weights: FloatArray
    tandem: float
    kl: float
    #: T + kappa K + c'rho is at least this, for all weights; without c rounded down.
    line: float
    #: T is at least this, for all weights; rounded down.
    least_tandem: float
    #: Number of products with the factor or its transpose.
    products: int


class TandemDual:
    """Minimise T + kappa K + c'rho for one set of error rows and one prior.

    Examples
    --------
    >>> errors = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    >>> point = TandemDual(TandemFactor.of(errors, None, 1.0)).solve(0.1, tol=1e-12)
    >>> point.weights.round(4), round(point.tandem + 0.1 * point.kl - point.line, 9)
    (array([0.2378, 0.3811, 0.3811]), 0.0)
    """

    def __init__(self, factor: TandemFactor) -> None:
        self.factor = factor
        self._A = factor.factor
        self._At = np.ascontiguousarray(self._A.T)
        self._log_mass = factor.log_mass
        # What the logarithms of the prior masses are off by, the sum of the prior by which they are divided included.
        self._mass_error = factor.groups.mass_error + EPS * (64.0 + float(np.abs(self._log_mass).max()))
        self.products = 0

    def solve(
        self, kappa: float, *, linear: FloatArray | None = None, start: FloatArray | None = None, tol: float = 1e-9
    ) -> DualPoint:
        """Return the minimum for ``kappa > 0``, up to a gap of `tol` in the value."""
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
            step, w_step = self._newton(weights, residual, kappa)
            moved = self._line_search(value, u, w, step, w_step, base, kappa, float(residual @ step))
            if moved is None:  # nothing but rounding is left
                break
            u, w, value, weights = moved
        return self._point(u, base, kappa, before)

    def lines(self, u: FloatArray, kappas: FloatArray) -> FloatArray:
        """Return what T + kappa K is at least for all weights, for many kappa by one `u`; rounded down.

        Equation (tandem-line) holds for every `u`: the solution for one kappa is close to that for its neighbours, and
        their lines cost no more than the logarithm of a sum.
        """
        w = self._times(u, self._At)
        exponents = self._log_mass - (2.0 / kappas)[:, None] * w
        top = exponents.max(axis=1)
        totals = np.exp(exponents - top[:, None]).sum(axis=1)
        values = -float(u @ u) - kappas * (top + np.log(totals))
        return np.asarray(values - self._error(u, w, self._log_mass, kappas))

    def _times(self, vector: FloatArray, matrix: FloatArray) -> FloatArray:
        self.products += 1
        return np.asarray(vector @ matrix)

    def _value(self, u: FloatArray, w: FloatArray, base: FloatArray, kappa: float) -> tuple[float, FloatArray]:
        """Return D(u) and the Gibbs weights, given w = A u."""
        exponents = base - (2.0 / kappa) * w
        top = float(exponents.max())
        terms = np.exp(exponents - top)
        total = float(terms.sum())
        return -float(u @ u) - kappa * (top + math.log(total)), terms / total

    def _newton(self, weights: FloatArray, residual: FloatArray, kappa: float) -> tuple[FloatArray, FloatArray]:
        """Solve (I + (2/kappa) A' C A) s = residual, C the weights' covariance, by conjugate gradients; s and A s."""
        factor = 2.0 / kappa
        step, w_step = np.zeros_like(residual), np.zeros_like(weights)
        left, direction = residual.copy(), residual
        square = float(left @ left)
        goal = _CG_TOLERANCE**2 * square
        for _ in range(_MAX_CG):
            image = self._times(direction, self._At)
            spread = weights * (image - float(weights @ image))
            product = direction + factor * self._times(spread, self._A)
            length = square / float(direction @ product)
            step += length * direction
            w_step += length * image
            left -= length * product
            previous, square = square, float(left @ left)
            if square <= goal:
                break
            direction = left + (square / previous) * direction
        return step, w_step

    def _line_search(
        self, value: float, u: FloatArray, w: FloatArray, step: FloatArray, w_step: FloatArray, base: FloatArray,
        kappa: float, slope: float,
    ) -> tuple[FloatArray, FloatArray, float, FloatArray] | None:  # fmt: skip
        """Return the new u, A u, D(u) and weights, the step halved until D rises by a part of what its slope says."""
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            moved, w_moved = u + length * step, w + length * w_step
            found, weights = self._value(moved, w_moved, base, kappa)
            if found >= value + 0.2 * length * slope:
                return moved, w_moved, found, weights
            length *= 0.5
        return None

    def _point(self, u: FloatArray, base: FloatArray, kappa: float, before: int) -> DualPoint:
        """Return the point at u, everything computed anew, with the line rounded down."""
        w = self._times(u, self._At)
        value, weights = self._value(u, w, base, kappa)
        v = self._times(weights, self._A)
        tandem = float(v @ v)
        positive = np.maximum(weights, np.finfo(np.float64).tiny)
        kl = max(float(weights @ (np.log(positive) - self._log_mass)), 0.0)
        error = float(self._error(u, w, base, np.float64(kappa)))
        square = float(u @ u)
        least = 2.0 * float(w.min()) - square - error
        return DualPoint(kappa, u, weights, tandem, kl, value - error, least, self.products - before)

    def _error(self, u: FloatArray, w: FloatArray, base: FloatArray, kappa: FloatArray | np.float64) -> FloatArray:
        """Return a bound of the rounding errors of D(u), for the u at hand, and of how far the factor is from T.

        A row of A has a length of at most one (its square is a risk), so a product with it, a sum in any order, is off
        by at most (r + 2) EPS |u|.  The exponents carry twice this over kappa, the errors of the logarithms of the
        masses, and a few units in the last place of their own size; a sum of terms that are not negative keeps relative
        errors and adds one per term.
        """
        G, r = len(self._A), len(self._At)
        length = math.sqrt(float(u @ u)) * (1.0 + 1e-9)
        product = (r + 2.0) * EPS * length
        size = float(np.abs(base).max()) + (2.0 / kappa) * float(np.abs(w).max())
        exponent = (2.0 / kappa) * product + self._mass_error + 4 * EPS * size
        total = exponent + (G + 8.0) * EPS
        return np.asarray(self.factor.slack + 2.0 * kappa * total + (r + 8.0) * EPS * length * length)


class Line(NamedTuple):
    """All weights satisfy T + kappa K >= height; with kappa = inf it is K >= 0, with kappa = 0 it is T >= height."""

    kappa: float
    height: float


class Vertex(NamedTuple):
    """Where two lines meet: on the second, between two ends, (T, K) of each, that rounding cannot tell apart."""

    #: One where the first is K = 0.
    ends: tuple[tuple[float, float], ...]
    #: An upper limit of T.
    tandem_high: float

    @property
    def tandem_low(self) -> float:
        """A lower limit of T, which falls along the line."""
        return self.ends[-1][0]


class Candidate(NamedTuple):
    """Weights of the distinct classifiers and their bound, as the search computes it."""

    kappa: float
    bound: float
    weights: FloatArray
    #: Where kappa would be if this was the optimum.
    next_kappa: float
    #: The slope of the bound in T, four where it is less: far from here it may be more again.
    slope: float


@dataclass(frozen=True)
class TandemMinimum:
    """The best weights found, by distinct classifier, a proved lower bound for all, and what the search took."""

    weights: FloatArray
    kappa: float
    lower_bound: float
    problems: int
    products: int


class TandemSearch:
    """The search for one set of error rows, one prior and one bound function."""

    def __init__(self, factor: TandemFactor, function: BoundFunction) -> None:
        self.factor = factor
        self.function = function
        self.dual = TandemDual(factor)
        self.problems = 0
        self._least_tandem = 0.0
        #: Heights of lines by kappa.
        self._heights = {math.inf: 0.0}
        #: Points of the dual problem by kappa, and where they are as close to its solution as they were asked to be, or
        #: as rounding lets them.
        self._points: dict[float, FloatArray] = {}
        self._solved: set[float] = set()
        self._values: dict[tuple[Line, Line], float] = {}
        self._best = self._first_candidate()

    def run(self, tol: float, max_problems: int) -> TandemMinimum:
        """Search until bound and lower bound differ by `tol`, or for `max_problems` inner problems."""
        self._follow(tol)
        self._fan(tol)
        while True:
            lower, a, b = self._lowest()
            if lower >= self._best.bound - _SHARE * tol or self.problems >= max_problems:
                break
            kappa = self._between(a, b, self._best.bound - lower, tol)
            if kappa is None:
                break
            self._draw(kappa, tol)
        best = self._best
        return TandemMinimum(best.weights, best.kappa, lower, self.problems, self.dual.products)

    def _first_candidate(self) -> Candidate:
        """Return the better of the prior and, if there is one, the classifier without errors."""
        weights = np.exp(self.factor.log_mass)
        weights /= weights.sum()
        erring = weights @ self.factor.factor
        best = self._candidate(math.inf, weights, float(erring @ erring), 0.0)
        for i in np.flatnonzero(self.factor.risks == 0.0):  # one at most
            only = np.zeros_like(weights)
            only[i] = 1.0
            best = min(best, self._candidate(0.0, only, 0.0, -float(self.factor.log_mass[i])), key=lambda c: c.bound)
        return best

    def _candidate(self, kappa: float, weights: FloatArray, tandem: float, kl: float) -> Candidate:
        tandem = min(tandem, 1.0)
        value, ratio = self.function.value_and_ratio(tandem, 2.0 * kl)
        slope = 4.0 * self.function.partials(tandem, 2.0 * kl)[0]
        slope = slope if 4.0 < slope < math.inf else 4.0
        # The ratio is that of the slopes in T and in 2 K.
        return Candidate(kappa, 4.0 * value, weights, 2.0 / ratio if ratio > 0.0 else math.inf, slope)

    def _follow(self, tol: float) -> None:
        """Move kappa to the ratio of the bound's slopes, which is the condition for a minimum, a few times."""
        before, last = None, self._best
        for step in range(_STEPS):
            kappa = last.next_kappa
            if before is not None and before.kappa != last.kappa:
                # Aitken's step: the ratio is nearly a linear function of kappa.
                rate = (kappa - before.next_kappa) / (last.kappa - before.kappa)
                if rate < 0.5:
                    kappa = max(last.kappa + (kappa - last.kappa) / (1.0 - rate), 0.5 * kappa)
            if not self._is_new(kappa):
                return
            before = last if last.kappa in self._points else None
            last = self._draw(kappa, tol, rough=step < _ROUGH_STEPS and kappa not in self._points)
            if kappa in self._solved and abs(last.next_kappa - kappa) < _ARRIVED * kappa:
                return

    def _fan(self, tol: float) -> None:
        """Draw lines on both sides of the best weights, all from the point of the dual problem that they belong to.

        Two lines of one u whose kappas differ by d meet below the curve that all of them touch by V d^2 / (2 kappa^3),
        V the variance of A u under the weights: that sets the first distance.  The bound along the curve rises with the
        square of the distance, so the distances between lines may grow with it.
        """
        best = self._best
        u = self._points.get(best.kappa)
        if u is None:
            return
        w = self.factor.factor @ u
        variance = float(best.weights @ np.square(w - float(best.weights @ w)))
        square = 2.0 * _FIRST * tol * best.kappa / max(best.slope * variance, SMALLEST)
        first = min(max(math.sqrt(square), _NARROWEST), _WIDEST)
        distances = first * _GROWTH ** np.arange(1 + math.floor(math.log(_WIDEST / first, _GROWTH)))
        kappas = best.kappa * np.concatenate([1.0 + distances, 1.0 / (1.0 + distances)])
        for kappa, height in zip(kappas.tolist(), self.dual.lines(u, kappas).tolist(), strict=True):
            self._add(kappa, height)

    def _draw(self, kappa: float, tol: float, rough: bool = False) -> Candidate:
        """Solve the inner problem at kappa: a line, and weights that may be the best so far.

        What is not rough is not drawn again, and the next line may have to lean on it: so never loosely.
        """
        inner = max(_INNER * tol / self._best.slope, 1e-15)
        point = self.dual.solve(kappa, start=self._start(kappa), tol=max(inner, _ROUGH) if rough else inner)
        self.problems += 1
        self._points[kappa] = point.u
        if not rough or point.tandem + kappa * point.kl - point.line <= inner:
            self._solved.add(kappa)
        self._add(kappa, point.line)
        self._least_tandem = max(self._least_tandem, point.least_tandem)
        candidate = self._candidate(kappa, point.weights, point.tandem, point.kl)
        if candidate.bound < self._best.bound:
            self._best = candidate
        return candidate

    def _add(self, kappa: float, height: float) -> None:
        """Add a line, unless a number was too large or too small on the way to it, or there is a higher one."""
        if 0.0 < kappa < math.inf and self._heights.get(kappa, -math.inf) < height < math.inf:
            self._heights[kappa] = height

    def _start(self, kappa: float) -> FloatArray | None:
        """Return where the dual solution should be: on the line through two points nearby, or at the nearest."""
        nearest = sorted(self._points, key=lambda known: abs(math.log(known / kappa)))[:2]
        if len(nearest) < 2 or not 0.5 < nearest[1] / kappa < 2.0:
            return self._points[nearest[0]] if nearest else None
        near, far = nearest
        # The solution is nearly a linear function of 1 / kappa.
        part = (far / kappa) * ((near - kappa) / (near - far))
        return self._points[near] + min(max(part, -1.0), 1.0) * (self._points[far] - self._points[near])

    def _lowest(self) -> tuple[float, Line, Line]:
        """Return the least f at a vertex of the polygon, rounded down, and the lines that meet there."""
        corners: list[Line] = []
        vertices: list[Vertex] = []
        for line in map(Line._make, (*sorted(self._heights.items(), reverse=True), (0.0, self._least_tandem))):
            while corners:
                vertex = meet(corners[-1], line)
                # A line is dropped, which makes the polygon larger, unless its two vertices are certain to be in order.
                if not vertices or vertices[-1].tandem_low > vertex.tandem_high:
                    vertices.append(vertex)
                    break
                corners.pop()
                vertices.pop()
            corners.append(line)
        found = zip(vertices, corners, corners[1:], strict=False)
        return min(((self._value(vertex, a, b), a, b) for vertex, a, b in found), key=lambda lowest: lowest[0])

    def _value(self, vertex: Vertex, a: Line, b: Line) -> float:
        """Return f at the vertex of two lines, rounded down."""
        known = self._values.get((a, b))
        if known is None:
            (tandem, near), (least_tandem, far) = vertex.ends[0], vertex.ends[-1]
            known = self._value_below(least_tandem, near)
            if far - near > _TOGETHER * far:
                # f is concave on the piece between the ends, too: it is not below the lower of the two.
                known = min(self._value_below(tandem, near), self._value_below(least_tandem, far))
            self._values[(a, b)] = known
        return known

    def _value_below(self, tandem: float, kl: float) -> float:
        """f, rounded down instead of up, together with the constant that it contains."""
        return round_down(tandem_bound(self.function, min(max(tandem, 0.0), 1.0), kl), 160)

    def _between(self, a: Line, b: Line, missing: float, tol: float) -> float | None:
        """Return where to draw the next line, between two whose vertex is lower than the best bound by `missing`."""
        high, low, best = a.kappa, b.kappa, self._best.kappa
        part = min(max(math.sqrt(_GOAL * tol / missing), _NEAR), 0.5)
        if low == 0.0 and high == math.inf:
            kappa = 1.0
        elif high == math.inf:
            kappa = low / max(part, _FAR)
        elif low == 0.0:
            kappa = high * max(part, _FAR)
        elif best in (low, high):
            kappa = best + ((low if best == high else high) - best) * part
        else:
            kappa = max(math.sqrt(low * high), _FARTHEST * high)
        return kappa if self._is_new(kappa) else None

    def _is_new(self, kappa: float) -> bool:
        """Return whether a line at kappa can be drawn, and is not one that is there but for rounding."""
        return 0.0 < kappa < math.inf and all(abs(known - kappa) > _CLOSE * kappa for known in self._solved)


def meet(a: Line, b: Line) -> Vertex:
    """Return where two lines meet, ``a.kappa > b.kappa``."""
    if a.kappa == math.inf:
        ends: tuple[float, ...] = (0.0,)
    else:
        error = 2 * EPS * (abs(a.height) + abs(b.height))
        low, high = ((a.height - b.height + e) / (a.kappa - b.kappa) for e in (-error, error))
        # Lines that meet in the polygon meet at K >= 0: no point beyond that end stands for the crossing.
        ends = (max(low - 4 * EPS * abs(low), 0.0), max(high + 4 * EPS * abs(high), 0.0))
    margin = 4 * EPS * (abs(b.height) + b.kappa * max(map(abs, ends)))
    points = tuple((b.height - b.kappa * kl - margin, kl) for kl in ends)
    return Vertex(points, points[0][0] + 2.0 * margin)
