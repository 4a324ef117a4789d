"""The certified supremum: no moment inside a cell is above the bound on it."""

import math

import numpy as np
import pytest

from pacbayes.bounds import get_distance
from pacbayes.bounds.distances.ch import _ch_curvature, _ch_slope, ch_polynomial
from pacbayes.bounds.supremum import CellBounds


@pytest.mark.parametrize("m", [3, 40, 700])
def test_the_bound_on_a_cell_holds_inside_it(m):
    # Wide cells, where every term of Taylor's formula counts, against a scan of the plain sum.
    rng = np.random.default_rng(m)
    ch = get_distance("ch")
    cells = CellBounds(m, 2 * m - 1, ch_polynomial, _ch_slope, _ch_curvature)
    for _ in range(40):
        center = float(rng.uniform(0.02, 0.48))
        half = float(rng.uniform(0.001, 0.9) * min(center, 0.2 / math.sqrt(m)))
        scan = ch.log_moment(m, np.linspace(center - half, center + half, 41)).max()
        assert math.log(cells(np.array([center]), np.array([half]))[1][0]) >= scan - 1e-12
    first = 1e-3 / m
    assert math.log(cells.first(first)) >= ch.log_moment(m, np.linspace(0, first, 50)).max() - 1e-12
