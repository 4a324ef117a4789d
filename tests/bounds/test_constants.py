"""The constants ln I(m): the paper's tables, sums and expansions in arbitrary precision, scans over the risk."""

import math

import mpmath as mp
import numpy as np
import pytest
from tests import oracles

from pacbayes import DISTANCES, log_constant
from pacbayes.bounds import get_distance
from pacbayes.bounds.binomial_moments import CellBounds
from pacbayes.bounds.distances import _ch_curvature, _ch_slope, ch_polynomial

PAPER_LINEAR = {
    5: "1.85", 10: "3.43", 15: "6.36", 20: "11.78", 25: "21.81", 30: "40.41", 50: "475.79",
    100: "2.3e+05", 500: "5.9e+26", 700: "3e+37", 1000: "3.5e+53", 1020: "4.2e+54",
}  # fmt: skip
PAPER_SQUARED = {10: "1.39", 50: "1.41", 100: "1.41", 200: "1.41", 500: "1.41", 1000: "1.41"}


def as_printed(value, printed):
    digits = len(printed.split("e")[0].replace(".", "")) - 1
    return f"{value:.{digits}e}" if "e" in printed else f"{value:.2f}"


def test_tables_of_the_paper():
    for m, printed in PAPER_LINEAR.items():
        value = math.exp(get_distance("linear").log_moment(m, 0.58))
        assert as_printed(value, printed) == printed
        assert value < math.exp(log_constant("linear", m))  # the supremum is at 1/(e-1) = 0.58198
    for m, printed in PAPER_SQUARED.items():
        assert as_printed(math.exp(log_constant("squared", m)), printed) == printed


@pytest.mark.parametrize("name", ["kl", "pinsker", "squared", "linear"])
@pytest.mark.parametrize("kind", ["exact", "paper"])
def test_against_the_definition(name, kind):
    for m in (1, 2, 3, 7, 15, 16, 17, 50, 99, 100, 101, 300, 1028):
        assert 0 <= mp.mpf(log_constant(name, m, kind)) - oracles.log_constant(name, m, kind) < 2e-12, m


@pytest.mark.parametrize("name", DISTANCES)
def test_supremum_over_the_risk(name):
    distance = get_distance(name)
    risks = np.concatenate([[0.0, 1.0, 1 / (math.e - 1)], np.linspace(0.001, 0.999, 250)])
    for m in range(1, 201):
        largest, claimed = float(distance.log_moment(m, risks).max()), log_constant(name, m)
        assert largest <= claimed + 1e-13  # log_moment is not rounded down; the oracle's test has no such allowance
        # One percent less is too small for some risk.
        assert largest > claimed - math.log(1.01)
        # The paper's is valid too, by a proof: xi(m) <= 2 sqrt(m).
        assert m == 1 or claimed <= log_constant(name, m, "paper") + 2e-12
    for m, risk in [(1, 0.3), (7, 0.01), (60, 0.62)]:
        truth = float(mp.log(oracles.moment(name, m, risk)))
        assert float(distance.log_moment(m, risk)) == pytest.approx(truth, rel=1e-12, abs=1e-14)
    for m in (1028, 10**5, 10**7, 10**9, 2**53):  # where the paper has NaN
        assert 0 < log_constant(name, m) < math.inf
        assert 0 < log_constant(name, m, "paper") < math.inf
    assert distance.log_moment(np.int8(100), 0.3) == distance.log_moment(100, 0.3)


@pytest.mark.parametrize("m", [10**5, 10**7])
def test_xi_by_ramanujans_sum(m):
    # xi(m) = 1 + Q(m), Q(m) = 1 + (m-1)/m + (m-1)(m-2)/m^2 + ...: about 10 sqrt(m) terms count.
    total, term, k = mp.mpf(1), mp.mpf(1), 0
    while term > mp.mpf("1e-22") * total:
        total += term
        k += 1
        term *= mp.mpf(m - k) / m
    assert 0 <= mp.mpf(log_constant("kl", m)) - mp.log(total) < 1e-13


def central_moment_sum(c, m):
    """E exp(c m (k/m - 1/2)^2) at risk 1/2 outward from the middle (m even) by the ratio of neighbouring terms."""
    term = mp.binomial(m, m // 2) / mp.mpf(2) ** m
    total, k = term, m // 2
    growth = mp.exp(mp.mpf(c) / m)  # the exponent is c j^2 / m: its increments grow by 2 c / m
    step = growth
    while term > mp.mpf("1e-22") * total:
        term *= mp.mpf(m - k) / (k + 1) * step
        step *= growth**2
        total += 2 * term
        k += 1
    return total


@pytest.mark.parametrize("m", [10**5, pytest.param(10**7, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "c"), [("squared", 1), ("pinsker", 2)])
def test_square_moments_by_the_sum(name, c, m):
    assert 0 <= mp.mpf(log_constant(name, m)) - mp.log(central_moment_sum(c, m)) < 2e-12


@pytest.mark.parametrize("m", [3, 40, 700])
def test_bound_on_a_cell(m):
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
    assert math.log(cells.bound_next_to_zero(first)) >= ch.log_moment(m, np.linspace(0, first, 50)).max() - 1e-12


def test_paper_constant_of_ch_at_one_is_refused():
    with pytest.warns(UserWarning, match="invalid") as caught:
        assert log_constant("ch", 1, constant="paper") == log_constant("ch", 1)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (("kl", 0), ValueError, "m must be at least 1, got 0"),
    (("euclid", 10), ValueError, "unknown distance 'euclid'; known are kl, pinsker, ch, linear, squared"),
    ((3, 10), TypeError, "distance must be a string"),
    (("kl", 10, "best"), ValueError, "unknown constant 'best'; known are exact, paper"),
])  # fmt: skip
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        log_constant(*arguments)
