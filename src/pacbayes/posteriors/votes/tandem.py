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
docs/mathematics.md: the least f at the vertices is a lower bound of the bound of every vote.  The next line is drawn
where the lowest vertex is.  The error is quadratic in the distance of the lines next to the optimum.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pacbayes.bounds.distances.base import BoundFunction
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.rounding import EPS, round_down
from pacbayes.posteriors.votes.error_rows import TandemFactor
from pacbayes.posteriors.votes.tandem_dual import TandemDual
from pacbayes.posteriors.votes.vote_bounds import tandem_bound

# The share of the tolerance that the search uses, and that of an inner problem; the rest is for rounding.
_SHARE, _INNER = 0.9, 0.02
# A new line next to the best point is drawn where its vertex should be off by this part of the tolerance,
_GOAL = 0.2
# ... at least this part of the way to the next line; towards an end that is zero or infinity by at most this factor.
_NEAR, _FAR = 1 / 16, 0.4
# Steps of kappa to where the bound says it should be, before the first vertex is looked at.
_FIXED_POINT_STEPS = 8
# Lines closer than this part of kappa prove nothing that rounding does not spoil.
_CLOSE = 1e-10


class Line(NamedTuple):
    """All weights satisfy T + kappa K >= height; with kappa = inf it is K >= 0, with kappa = 0 it is T >= height."""

    kappa: float
    height: float


class Vertex(NamedTuple):
    """Where two lines meet: limits of T there, and f, rounded down."""

    tandem_low: float
    tandem_high: float
    value: float


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
        self._lines = [Line(math.inf, 0.0)]
        self._starts: dict[float, FloatArray] = {}
        self._vertices: dict[tuple[Line, Line], Vertex] = {}
        self._best = self._first_candidate()

    def run(self, tol: float, max_problems: int) -> TandemMinimum:
        """Search until bound and lower bound differ by `tol`, or for `max_problems` inner problems."""
        self._follow(tol)
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
        candidate = self._best
        for _ in range(_FIXED_POINT_STEPS):
            kappa = candidate.next_kappa
            if not self._is_new(kappa):
                return
            candidate = self._draw(kappa, tol)
            if abs(candidate.next_kappa - kappa) < 0.01 * kappa:
                return

    def _draw(self, kappa: float, tol: float) -> Candidate:
        """Solve the inner problem at kappa: a line, and weights that may be the best so far.

        Never loosely: what is drawn once is not drawn again, and the next line may have to lean on it.
        """
        known = sorted(self._starts, key=lambda other: abs(math.log(other / kappa)))
        start = self._starts[known[0]] if known else None
        point = self.dual.solve(kappa, start=start, tol=max(_INNER * tol / self._best.slope, 1e-15))
        self.problems += 1
        self._starts[kappa] = point.u
        self._lines.append(Line(kappa, point.line))
        self._lines.sort(reverse=True)
        self._least_tandem = max(self._least_tandem, point.least_tandem)
        candidate = self._candidate(kappa, point.weights, point.tandem, point.kl)
        if candidate.bound < self._best.bound:
            self._best = candidate
        return candidate

    def _lowest(self) -> tuple[float, Line, Line]:
        """Return the least f at a vertex of the polygon, and the lines that meet there."""
        corners: list[Line] = []
        for line in (*self._lines, Line(0.0, self._least_tandem)):
            # A line is dropped, which makes the polygon larger, unless its two vertices are certain to be in order.
            while len(corners) > 1 and not (
                self._vertex(corners[-2], corners[-1]).tandem_low > self._vertex(corners[-1], line).tandem_high
            ):
                corners.pop()
            corners.append(line)
        return min(((self._vertex(a, b).value, a, b) for a, b in pairwise(corners)), key=lambda found: found[0])

    def _vertex(self, a: Line, b: Line) -> Vertex:
        """Return where two lines meet, ``a.kappa > b.kappa``."""
        known = self._vertices.get((a, b))
        if known is None:
            known = self._vertices[(a, b)] = self._meet(a, b)
        return known

    def _meet(self, a: Line, b: Line) -> Vertex:
        """Return where two lines meet: on the second, between two points that rounding cannot tell apart."""
        if a.kappa == math.inf:
            ends: tuple[float, ...] = (0.0,)
        else:
            error = 2 * EPS * (abs(a.height) + abs(b.height))
            low, high = ((a.height - b.height + e) / (a.kappa - b.kappa) for e in (-error, error))
            # Lines that meet in the polygon meet at K >= 0: no point beyond that end stands for the crossing.
            ends = (max(low - 4 * EPS * abs(low), 0.0), max(high + 4 * EPS * abs(high), 0.0))
        margin = 4 * EPS * (abs(b.height) + b.kappa * max(map(abs, ends)))
        tandem = [b.height - b.kappa * kl for kl in ends]
        # f is concave on the piece between the ends, too: it is not below the lower of the two.
        value = min(self._value_below(T - margin, kl) for T, kl in zip(tandem, ends, strict=True))
        return Vertex(min(tandem) - margin, max(tandem) + margin, value)

    def _value_below(self, tandem: float, kl: float) -> float:
        """f, rounded down instead of up."""
        return round_down(tandem_bound(self.function, min(max(tandem, 0.0), 1.0), kl), 64)

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
            kappa = math.sqrt(low * high)
        return kappa if self._is_new(kappa) else None

    def _is_new(self, kappa: float) -> bool:
        """Return whether a line at kappa can be drawn, and is not one that is there but for rounding."""
        return 0.0 < kappa < math.inf and all(abs(known - kappa) > _CLOSE * kappa for known in self._starts)
