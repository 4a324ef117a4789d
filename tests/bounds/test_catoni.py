"""Catoni's distance: its bound against arbitrary precision for every size of C, and its choice beforehand."""

import copy
import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from tests import oracles

from pacbayes import DISTANCES, bound, gibbs_posterior, log_constant, optimal_posterior
from pacbayes.bounds import Catoni, get_distance, register_distance

PARAMETERS = [1e-100, 1e-9, 1e-3, 0.4, 5.0, 40.0, 800.0, 1e100]
RISKS = [0.0, 5e-324, 1e-200, 1e-9, 0.003, 0.2, 0.5, 0.97, 1.0]
THRESHOLDS = [0.0, 1e-300, 1e-9, 0.02, 0.6, 3.0, 1e5]


def upper_in_mp(C, L, x):
    with mp.workdps(450):  # the difference to one of what is next to it
        return mp.expm1(-mp.mpf(C) * mp.mpf(L) - mp.mpf(x)) / mp.expm1(-mp.mpf(C))


@pytest.mark.parametrize("C", PARAMETERS)
def test_upper_is_rounded_up_and_close(C):
    distance = Catoni(C)
    for L in RISKS:
        for x in THRESHOLDS:
            got = distance.upper(L, x)
            truth = upper_in_mp(C, L, x)
            assert got >= truth
            # Where C L is no normal number it has lost digits.
            if C * L >= 1e-300 or L == 0.0 or x > 1e-290:
                assert mp.mpf(got) <= truth * (1 + mp.mpf(1e-14)) + mp.mpf(2) ** -1073


def test_random_bounds_are_rounded_up():
    rng = np.random.default_rng(5)
    for _ in range(3000):
        C, L, x = float(10 ** rng.uniform(-12, 4)), float(rng.random() ** 3), float(10 ** rng.uniform(-12, 2))
        truth = oracles.catoni_upper(C, L, x)
        assert 0 <= mp.mpf(Catoni(C).upper(L, x)) - truth <= 4e-15 * truth


def test_the_bound_is_the_formula_and_the_moment_is_one():
    L, K, m, delta = 0.2, math.log(2), 300, 0.05
    truth = (1 - math.exp(-2 * L - (K - math.log(delta)) / m)) / (1 - math.exp(-2))
    assert bound([1, 0], [L, 0.3], m, distance=Catoni(2), delta=delta) == pytest.approx(truth, rel=1e-13)
    assert bound([1, 0], [L, 0.3], m, distance="catoni(2)", delta=delta) >= truth * (1 - 1e-15)
    for C in (1e-3, 0.4, 3.0, 30.0):
        np.testing.assert_allclose(Catoni(C).log_moment(40, np.linspace(0, 1, 21)), 0.0, atol=1e-12)
    for kind in ("exact", "paper"):
        assert log_constant(Catoni(0.4), 100, kind) == 0.0


@pytest.mark.parametrize("C", [1e-6, 0.4, 7.0, 800.0])
def test_value_is_undone_by_upper(C):
    distance = Catoni(C)
    for L, true in ((0.0, 0.3), (0.1, 0.4), (0.3, 0.9)):
        truth = -mp.log(1 + mp.mpf(true) * mp.expm1(-mp.mpf(C))) - mp.mpf(C) * mp.mpf(L)
        assert float(distance.value(L, true)) == pytest.approx(float(truth), rel=1e-9, abs=1e-15)
        if truth > 0:
            assert distance.upper(L, float(truth)) == pytest.approx(true, rel=1e-9)
    assert distance.value([0.1, 0.2], 0.3).shape == (2,)


@pytest.mark.parametrize("C", [1e-6, 0.4, 7.0])
def test_slopes_and_ratio(C):
    for L, x in ((0.003, 1e-4), (0.2, 0.02), (0.9, 0.6)):
        in_risk = mp.diff(lambda t, x=x: oracles.catoni_upper(C, t, x), mp.mpf(L), h=mp.mpf("1e-20"))
        in_x = mp.diff(lambda t, L=L: oracles.catoni_upper(C, L, t), mp.mpf(x), h=mp.mpf("1e-20"))
        assert Catoni(C).slopes(L, x) == pytest.approx((float(in_risk), float(in_x)), rel=1e-11)
        assert Catoni(C).ratio(L, x) == C == pytest.approx(float(in_risk / in_x), rel=1e-11)


def test_there_is_no_lower_side():
    assert not Catoni(0.4).two_sided
    with pytest.raises(NotImplementedError, match=r"catoni\(0.4\) bound is one-sided"):
        Catoni(0.4).lower(0.1, 0.1)


@pytest.mark.parametrize("C", [1e-100, 1e-9, 1e-3, 0.05, 0.4, 2.0, 30.0, 1e3, 1e7, 1e100])
def test_the_search_proves_the_closed_form(C):
    rng = np.random.default_rng(3)
    risks, prior = rng.integers(0, 41, 60) / 40, rng.dirichlet(np.ones(60))
    found = optimal_posterior(risks, 40, distance=Catoni(C), prior=prior)
    assert found.gap <= 1e-9 * max(1.0, found.bound)
    assert found.distance == f"catoni({C!r})"
    if 1e-3 <= C <= 30.0:
        np.testing.assert_allclose(found.weights, gibbs_posterior(risks, C * 40, prior), rtol=1e-6, atol=1e-12)
    for weights in (prior, *rng.dirichlet(np.ones(60), 20), np.eye(60)[np.argmin(risks)]):
        assert bound(weights, risks, 40, distance=Catoni(C), prior=prior) >= found.lower_bound


def test_all_risks_zero_or_one():
    for risk in (0.0, 1.0):
        found = optimal_posterior([risk] * 3, 50, distance=Catoni(0.7))
        assert mp.mpf(found.bound) >= oracles.catoni_upper(0.7, risk, -mp.log(mp.mpf(0.05)) / 50)
        np.testing.assert_allclose(found.weights, 1 / 3)


def test_a_prior_of_zero_mass_costs_all_that_the_bound_can_be():
    assert bound([1, 0], [0.1, 0.2], 50, distance=Catoni(2.0), prior=[0, 1]) == pytest.approx(1 / -math.expm1(-2))


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-4])
@pytest.mark.parametrize("m", [5, 250, 10_000])
def test_expecting_finds_the_best_parameter(m, delta):
    for risk in (1e-4, 0.05, 0.3, 0.9):
        chosen = Catoni.expecting(risk, m, delta)
        x = -mp.log(mp.mpf(delta)) / m
        best = oracles.kl_upper(risk, x)
        assert best <= oracles.catoni_upper(chosen.C, risk, x) <= best * (1 + mp.mpf(1e-4))
        assert len(f"{chosen.C:.15g}".replace(".", "").lstrip("0")) <= 3 or "e" in repr(chosen.C)


def test_what_is_refused():
    for wrong in (0, -1.0, math.inf, math.nan, 1e-101, 1e101, 10**400):
        with pytest.raises(ValueError, match="C must be positive, from 1e-100 to 1e100"):
            Catoni(wrong)
    for wrong in ("0.4", None, True, [0.4]):
        with pytest.raises(TypeError, match="C must be a number"):
            Catoni(wrong)
    for wrong in (0.0, 1.0):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            Catoni.expecting(wrong, 100)
    with pytest.raises(ValueError, match=r"needs its parameter.*Catoni\(C\)"):
        bound([1.0], [0.1], 100, distance="catoni")
    for wrong in ("catoni()", "catoni(-1)", "catoni(0.4", "catoni(0.4)x", "catoni(nan)", "catoni(.)", "Catoni(0.4)"):
        with pytest.raises(ValueError, match="unknown distance"):
            get_distance(wrong)
    for wrong in ("catoni(0)", "catoni(1e999)"):
        with pytest.raises(ValueError, match="C must be positive, from 1e-100 to 1e100"):
            get_distance(wrong)
    with pytest.raises(ValueError, match="need not be registered"):
        register_distance(Catoni(0.4))
    with pytest.raises(TypeError, match="got the class Catoni"):
        bound([1.0], [0.1], 100, distance=Catoni)
    assert not [name for name in DISTANCES if name.startswith("catoni")]


@pytest.mark.parametrize("C", [0.4, 1, np.float32(0.25), 1e-90, 123456789.125, 1e22])
def test_it_is_a_value(C):
    one = Catoni(C)
    assert one == Catoni(float(C)) != Catoni(2 * float(C))
    assert len({one, Catoni(float(C)), Catoni(2 * float(C))}) == 2
    assert get_distance(one.name) == one == eval(repr(one), {"Catoni": Catoni})
    assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    assert pickle.loads(pickle.dumps(one)).name == one.name
    with pytest.raises(AttributeError):
        one.C = 3.0
