"""The emulation of the paper's search: right with a small tolerance, wrong in its way with a large one."""

import numpy as np
import pytest

from pacbayes import kl_roots, optimal_posterior
from pacbayes.paper.protocol import profile_risks
from pacbayes.paper.runs import Run
from pacbayes.paper.support import bisected_root, scheme_bound, subset_bounds


@pytest.mark.parametrize(("p", "x"), [(0.1, 0.02), (0.3, 0.05), (0.001, 0.01), (0.0, 0.1)])
def test_roots_are_within_the_tolerance(p, x):
    true = float(kl_roots(p, x)[1])
    assert bisected_root(p, x, 1e-12) == pytest.approx(true, abs=1e-8)
    slope = (true - p) / (true * (1 - true))
    assert abs(bisected_root(p, x, 1e-4) - true) <= 1.2e-4 / slope


@pytest.mark.parametrize("name", ["wdbc", "haberman", "mushroom"])
def test_the_scheme_ends_at_the_certified_minimum(name):
    risks, m = profile_risks(name, 200)
    best = optimal_posterior(risks, m, delta=0.01, constant="paper").bound
    assert scheme_bound(risks, 200, m, 1e-10) == pytest.approx(best, abs=1e-6)


def test_coarse_roots_put_a_subset_below_the_whole_and_fine_ones_do_not():
    risks, m = profile_risks("spambase", 200)
    errors = np.rint(risks * m).astype(np.int64)
    run = Run("spambase", np.arange(200.0), errors, m, errors, m, 0.0, 0)
    coarse, fine = subset_bounds(run, 1e-4), subset_bounds(run, 1e-10)
    assert coarse[-1] - coarse.min() > 1e-5
    assert fine[-1] - fine.min() < 1e-7
