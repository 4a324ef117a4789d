"""Moments of the binomial distribution against sums and expansions in arbitrary precision; the certified supremum."""

import math

import mpmath as mp
import numpy as np
import pytest
from tests import oracles

from pacbayes import DISTANCES, log_constant
from pacbayes.bounds import get_distance
from pacbayes.bounds.binomial_moments import CellBounds, log_binomial_peaks, log_square_moment
from pacbayes.bounds.distances import _ch_curvature, _ch_slope, ch_polynomial


@pytest.mark.parametrize("m", [10**5, 10**7])
def test_xi_by_ramanujans_sum(m):
    # xi(m) = 1 + Q(m), Q(m) = 1 + (m-1)/m + (m-1)(m-2)/m^2 + ...: about 10 sqrt(m) terms count.
    total, term, k = mp.mpf(1), mp.mpf(1), 0
    while term > mp.mpf("1e-22") * total:
        total += term
        k += 1
        term *= mp.mpf(m - k) / m
    assert 0 <= mp.mpf(log_constant("kl", m)) - mp.log(total) < 1e-13


def test_xi_at_a_billion_lies_between_known_bounds():
    m = mp.mpf(10) ** 9
    upper = mp.sqrt(mp.pi * m / 2) * mp.exp(1 / (12 * m)) + mp.mpf(2) / 3 - 4 / (135 * (m + mp.mpf(8) / 45))
    lower = mp.sqrt(mp.pi * m / 2) + mp.mpf(2) / 3
    assert mp.log(lower) < log_constant("kl", 10**9) < mp.log(upper) + mp.mpf("1e-13")


def central_moment_sum(c, m):
    """E exp(c m (k/m - 1/2)^2) at risk 1/2 outward from the middle (m even) by the ratio of neighbouring terms."""
    term = mp.binomial(m, m // 2) / mp.mpf(2) ** m
    total, ratio, k = term, None, m // 2
    growth = mp.exp(mp.mpf(c) / m)  # the exponent is c j^2 / m: its increments grow by 2 c / m
    step = growth
    while term > mp.mpf("1e-22") * total:
        ratio = mp.mpf(m - k) / (k + 1) * step
        step *= growth**2
        term *= ratio
        total += 2 * term
        k += 1
    return total


@pytest.mark.parametrize(("distance", "c"), [("squared", 1), ("pinsker", 2)])
def test_square_moments_by_the_sum_at_1e5(distance, c):
    assert 0 <= mp.mpf(log_constant(distance, 10**5)) - mp.log(central_moment_sum(c, 10**5)) < 2e-12


@pytest.mark.slow
@pytest.mark.parametrize(("distance", "c"), [("squared", 1), ("pinsker", 2)])
def test_square_moments_by_the_sum_at_1e7(distance, c):
    assert 0 <= mp.mpf(log_constant(distance, 10**7)) - mp.log(central_moment_sum(c, 10**7)) < 2e-12


@pytest.mark.parametrize("m", [10**7, 10**9])
def test_square_moments_by_expansion(m):
    # pinsker: the integrand is exp(-m t^4/192 (1 - t^2/15 + ...)); Laplace's method to second order.
    leading = mp.sqrt(mp.mpf(m) / (8 * mp.pi)) * 2 * mp.gamma(mp.mpf(5) / 4) * (mp.mpf(192) / m) ** mp.mpf("0.25")
    second = mp.mpf(192) ** mp.mpf("1.5") / 2880 * mp.gamma(mp.mpf(7) / 4) / mp.gamma(mp.mpf(1) / 4) / mp.sqrt(m)
    assert abs(log_constant("pinsker", m) - mp.log(leading * (1 + second))) < 10 / m
    # squared: sqrt(2) (1 - 1/(4m)).
    assert abs(log_constant("squared", m) - mp.log(mp.sqrt(2) * (1 - mp.mpf(1) / (4 * m)))) < 2e-12 + 1 / mp.mpf(m) ** 2


def test_the_moment_of_kl_does_not_depend_on_the_risk():
    moments = get_distance("kl").log_moment(57, np.linspace(0.001, 0.999, 31))
    np.testing.assert_allclose(moments, log_constant("kl", 57), rtol=1e-13)


@pytest.mark.parametrize("distance", DISTANCES)
def test_log_moment_against_the_plain_sum(distance):
    for m, risk in [(1, 0.3), (7, 0.01), (60, 0.62)]:
        truth = float(mp.log(oracles.moment(distance, m, risk)))
        assert float(get_distance(distance).log_moment(m, risk)) == pytest.approx(truth, rel=1e-12, abs=1e-14)


def test_log_binomial_peaks():
    for m in [1, 2, 3, 40]:
        truth = [mp.binomial(m, k) * (mp.mpf(k) / m) ** k * (1 - mp.mpf(k) / m) ** (m - k) for k in range(m + 1)]
        np.testing.assert_allclose(np.exp(log_binomial_peaks(m)), np.array(truth, float), rtol=1e-14)


def test_other_factors_of_the_square():
    for c in (0.1, 0.7, 1.999):
        truth = mp.fsum(
            mp.binomial(9, k) / mp.mpf(2) ** 9 * mp.exp(mp.mpf(c) * 9 * (mp.mpf(k) / 9 - mp.mpf(1) / 2) ** 2)
            for k in range(10)
        )
        assert 0 <= mp.mpf(log_square_moment(c, 9)) - mp.log(truth) < 2e-12


def test_sizes_of_narrow_numpy_integers():
    assert get_distance("ch").log_moment(np.int8(100), 0.3) == get_distance("ch").log_moment(100, 0.3)


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
