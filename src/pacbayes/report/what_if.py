"""What the bound would be for other levels and distances: computed here, looked up by the page."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pacbayes.certificates.percentages import confidence
from pacbayes.posteriors.problem import Problem
from pacbayes.report.formatting import format_percent
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

# Levels of the slider, and those of them for which the smallest bound is searched.
N_DELTAS, N_SOLVED = 60, 15
# Where the slider ends, unless the model's own level lies beyond.
_LOWEST, _HIGHEST = 0.001, 0.5


def deltas_around(delta: float) -> list[float]:
    """Return 60 levels of two digits on a logarithmic scale, the given one among them as it is.

    Examples
    --------
    >>> deltas = deltas_around(0.05)
    >>> len(deltas), deltas[0], deltas[-1], 0.05 in deltas
    (60, 0.001, 0.5, True)
    """
    grid = np.geomspace(min(_LOWEST, delta), max(_HIGHEST, delta), N_DELTAS)
    deltas = [float(f"{value:.1e}") for value in grid]
    deltas[int(np.argmin(np.abs(np.log(grid / delta))))] = delta
    return deltas


@dataclass(frozen=True)
class WhatIf:
    """The bound of the stochastic classifier for every level and distance, if only a posterior were certified."""

    deltas: list[float]
    distances: tuple[str, ...]
    #: bounds[i][j] for deltas[i] and distances[j], each with a posterior that is (nearly) the best for them.
    bounds: list[list[float]]
    #: The model's own place among them.
    start: tuple[int, int]

    @property
    def looked_up(self) -> dict[str, Any]:
        """What the page's script looks up: texts only, so that it has nothing to round."""
        return {
            "deltas": [repr(delta) for delta in self.deltas],
            "confidences": [confidence(delta) for delta in self.deltas],
            "distances": list(self.distances),
            "bounds": [[format_percent(value) for value in row] for row in self.bounds],
        }

    @property
    def table(self) -> TextTable:
        """All of it as a table."""
        rows = [
            (repr(delta), confidence(delta), *(format_percent(value) for value in row))
            for delta, row in zip(self.deltas, self.bounds, strict=True)
        ]
        head = ("δ", "with probability at least", *self.distances)
        return TextTable("Bound of the posterior alone for every delta and distance", head, rows)


def what_if(view: ReportView) -> WhatIf:
    """Return the bound for 60 levels and every distance."""
    deltas, distances = deltas_around(view.delta), view.distances
    own = deltas.index(view.delta)
    solved = sorted({own, *np.linspace(0, N_DELTAS - 1, N_SOLVED).round().astype(int).tolist()})
    # Groups of risks and Gibbs curve are the same for all distances and levels.
    problem = Problem.checked(
        view.classifiers.risks,
        view.classifiers.m,
        view.distance(distances[0]),
        view.delta,
        view.prior,
        view.posterior.constant,
    )
    columns = [_bounds(view, problem, distance, deltas, solved) for distance in distances]
    start = own, distances.index(view.posterior.distance)
    return WhatIf(deltas, distances, [list(row) for row in zip(*columns, strict=True)], start)


def _bounds(view: ReportView, problem: Problem, distance: str, deltas: list[float], solved: list[int]) -> list[float]:
    """Return the bounds of one distance: the smallest at the levels solved, at the others that of a posterior nearby.

    What is shown is always the bound of some posterior at that level, hence never below the smallest.  Three are tried:
    the best ones of the neighbouring levels solved, and the one of a temperature between theirs.  The best temperature
    hardly bends as a function of ln delta, and an error in it changes the bound by its square only.
    """
    found = {i: view.best_posterior(distance, deltas[i]) for i in solved}
    bounds = {i: posterior.bound for i, posterior in found.items()}
    for before, after in pairwise(solved):
        left, right = found[before], found[after]
        for i in range(before + 1, after):
            function = view.distance(distance).bound_function(problem.function.m, deltas[i], problem.function.constant)
            points = [(left.empirical_risk, left.kl), (right.empirical_risk, right.kl)]
            if left.beta is not None and right.beta is not None and math.isfinite(left.beta + right.beta):
                part = math.log(deltas[i] / deltas[before]) / math.log(deltas[after] / deltas[before])
                values = problem.at(problem.curve.at(left.beta + part * (right.beta - left.beta)))[1]
                points.append((values.risk, values.kl))
            bounds[i] = min(function(*point) for point in points)
    return [bounds[i] for i in range(len(deltas))]
