"""The sixth-degree distance: its polynomial, its root, its constant."""

import math

import mpmath as mp
import numpy as np
import pytest
from tests import oracles

from pacbayes import kl_divergence, log_constant
from pacbayes.bounds import get_distance
from pacbayes.bounds.distances import ch_root


def test_ch_is_half_of_a_lower_bound_of_kl():
    grid = np.linspace(0.0005, 0.9995, 400)
    assert (2 * get_distance("ch").value(grid[:, None], grid) <= kl_divergence(grid[:, None], grid) + 1e-15).all()


def test_ch_root_and_slope():
    for R in np.geomspace(1e-12, 10, 300):
        t, slope = ch_root(float(R))
        truth = oracles.ch_root(float(R))
        assert abs(t / truth - 1) < 1e-15
        true_slope = 1 / (1 + mp.mpf(4) / 9 * truth + mp.mpf(16) / 45 * truth**2)
        assert abs(slope / true_slope - 1) < 1e-15
    assert ch_root(0.0) == (0.0, 1.0)


def test_known_values_of_ch():
    # Independent of the branch and bound: a fine scan of the plain sum in arbitrary precision.
    for m in (1, 5, 40):
        scan = max(oracles.moment("ch", m, risk) for risk in mp.linspace(0.25, 0.5, 251))
        # Near its top the moment is flat: the scan's step of h misses at most h^2 times the curvature.
        assert 0 <= mp.mpf(log_constant("ch", m)) - mp.log(scan) < 2e-5
    assert math.exp(log_constant("ch", 138)) == pytest.approx(5.568953, abs=1e-6)
    assert math.exp(log_constant("ch", 1840)) == pytest.approx(11.288332, abs=1e-6)


def test_upper_bound_by_xi():
    # 2 phi <= kl for pinsker and ch, so xi(m) is above both; ch returns it beyond 10 000.
    for m in [1, 2, 5, 20, 200, 2000, 10_000]:
        assert log_constant("pinsker", m) <= log_constant("kl", m)
        assert log_constant("ch", m) <= log_constant("kl", m)
    assert log_constant("ch", 10_001) == log_constant("kl", 10_001)


def test_paper_constant_of_ch_at_one_is_refused():
    with pytest.warns(UserWarning, match="invalid") as caught:
        assert log_constant("ch", 1, "paper") == log_constant("ch", 1)
    assert caught[0].filename == __file__
    assert math.exp(log_constant("ch", 1)) == pytest.approx(1.30440, abs=5e-6)
