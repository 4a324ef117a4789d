"""What the bound would be for other levels and distances: computed here, looked up by the page."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pacbayes.certificates.certificate import confidence
from pacbayes.report.formatting import format_percent
from pacbayes.report.tables import TextTable
from pacbayes.report.view import ReportView

N_DELTAS = 60
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
    """The bound of the stochastic classifier for every level and distance."""

    deltas: list[float]
    distances: tuple[str, ...]
    #: bounds[i][j] for deltas[i] and distances[j], each with the posterior that is best for them.
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
        return TextTable("Bound of the stochastic classifier for every delta and distance", head, rows)


def what_if(view: ReportView) -> WhatIf:
    """Compute the bound for 60 levels and every distance."""
    deltas, distances = deltas_around(view.level), view.distances
    bounds = [[view.best_posterior(distance, delta).bound for distance in distances] for delta in deltas]
    start = deltas.index(view.level), distances.index(view.posterior.distance)
    return WhatIf(deltas, distances, bounds, start)
