"""Distances against arbitrary precision: value, inverse, slopes, ratio; Catoni's parameter; a user-defined distance."""

import copy
import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from tests import oracles

from pacbayes import DISTANCES, bound, gibbs_posterior, kl_divergence, log_constant, optimal_posterior
from pacbayes._utils.arrays import round_up
from pacbayes.bounds import Catoni, Distance, distances, get_distance, register_distance
from pacbayes.bounds.distances import ch_root

CASES = [(L, x) for L in (1e-9, 0.003, 0.2, 0.5, 0.97) for x in (1e-9, 1e-4, 0.02, 0.6, 3.0)]
INSIDE = [(0.003, 1e-4), (0.2, 0.02), (0.5, 0.6), (0.9, 0.001)]
ALL = (*DISTANCES, "catoni(1e-06)", "catoni(0.4)", "catoni(7.0)")


def phi(name, L, true):
    if name.startswith("catoni"):
        C = mp.mpf(get_distance(name).C)
        return -mp.log(1 + true * mp.expm1(-C)) - C * L
    return oracles.PHI[name](L, true)


def upper_in_mp(name, L, x):
    if name.startswith("catoni"):
        return oracles.catoni_upper(get_distance(name).C, L, x)
    return oracles.bound_from(name, mp.mpf(L), mp.mpf(x), 1, 1, mp.mpf(0))


@pytest.mark.parametrize("name", ALL)
def test_value(name):
    a, b = np.random.default_rng(1).random((2, 50))
    truth = [float(phi(name, mp.mpf(u), mp.mpf(v))) for u, v in zip(a, b, strict=True)]
    np.testing.assert_allclose(get_distance(name).value(a, b), truth, rtol=1e-9, atol=1e-15)
    assert get_distance(name).value([0.1, 0.2], 0.3).shape == (2,)


@pytest.mark.parametrize("name", ALL)
def test_upper_is_the_inverse_rounded_up(name):
    for L, x in CASES:
        truth = upper_in_mp(name, L, x)
        assert 0 <= mp.mpf(get_distance(name).upper(L, x)) - truth <= 4e-15 * truth, (L, x)


@pytest.mark.parametrize("name", DISTANCES)
def test_lower_mirrors_upper(name):
    distance = get_distance(name)
    for L, x in CASES if distance.two_sided else ():
        with mp.workdps(400):  # lower roots of kl down to the subnormal numbers are told from zero
            kl = name == "kl"
            truth = 1 - oracles.kl_upper(1 - mp.mpf(L), x) if kl else 2 * mp.mpf(L) - upper_in_mp(name, L, x)
            excess = truth - mp.mpf(distance.lower(L, x))
            assert 0 <= excess <= (1e-12 * truth + mp.mpf(2) ** -1074 if kl else 1e-14 * (1 + abs(truth))), (L, x)
    for one_sided in (get_distance("linear"), Catoni(0.4)):
        assert not one_sided.two_sided
        with pytest.raises(NotImplementedError, match=r"(linear|catoni\(0.4\)) bound is one-sided"):
            one_sided.lower(0.1, 0.1)


@pytest.mark.parametrize("name", ALL)
def test_slopes_and_ratio_against_numerical_derivatives(name):
    distance = get_distance(name)
    for L, x in INSIDE:
        in_risk = mp.diff(lambda t, x=x: upper_in_mp(name, t, x), mp.mpf(L), h=mp.mpf("1e-20"))
        in_x = mp.diff(lambda t, L=L: upper_in_mp(name, L, t), mp.mpf(x), h=mp.mpf("1e-20"))
        assert distance.slopes(L, x) == pytest.approx((float(in_risk), float(in_x)), rel=1e-11)
        assert distance.ratio(L, x) == pytest.approx(float(in_risk / in_x), rel=1e-11)
        assert distance.upper_and_ratio(L, x) == (distance.upper(L, x), distance.ratio(L, x))


def test_corner_cases():
    kl = get_distance("kl")
    assert (kl.slopes(1.0, 0.1), kl.slopes(0.2, 0.0)) == ((0.0, 0.0), (1.0, math.inf))
    assert kl.slopes(0.0, 0.5) == (math.inf, pytest.approx(math.exp(-0.5)))
    for name in DISTANCES:
        distance = get_distance(name)
        f = distance.bound_function(10)
        assert name in ("kl", "linear") or distance.slopes(0.2, 0.0) == (1.0, math.inf)
        assert f(0.1, math.inf) == (1.0 if name == "kl" else math.inf)
        assert f.ratio(0.1, math.inf) == (10 if name == "linear" else math.inf)
        if distance.two_sided:
            assert distance.lower(0.1, math.inf) == (0.0 if name == "kl" else -math.inf)


@pytest.mark.parametrize("name", DISTANCES)
def test_threshold_is_rounded_up_and_never_negative(name):
    rng = np.random.default_rng(8)
    for _ in range(100):
        m, delta, K = int(rng.integers(2, 10**6)), float(rng.random()), float(rng.exponential(10))
        f = get_distance(name).bound_function(m, delta, "paper")
        log_i = mp.mpf(log_constant(name, m, "paper"))
        truth = (mp.mpf(K) + log_i - mp.log(mp.mpf(delta))) / f.factor
        assert 0 <= mp.mpf(f.threshold(K)) - truth <= 1e-14 * abs(truth)
        # ln I - ln delta alone carries its own slack.
        assert mp.mpf(f.log_term) >= log_i - mp.log(mp.mpf(delta))
    assert f.threshold(-1e6) == 0.0


def test_ratio_is_monotone_where_declared():
    rng = np.random.default_rng(9)
    proved = 0
    for _ in range(3000):
        L, x = rng.random(2) ** 2
        for name in DISTANCES:
            distance = get_distance(name)
            if not distance.ratio_is_monotone(L, x):
                continue
            proved += name == "kl"
            low_risk, high_risk = sorted(L * rng.uniform(0.01, 1, 2))
            low_x, high_x = sorted(x * rng.uniform(0.01, 1, 2))
            assert distance.ratio(high_risk, low_x) <= distance.ratio(low_risk, high_x) * (1 + 1e-12)
            low, high = distance.ratio_range(low_risk, high_risk, low_x, high_x)
            assert low * (1 - 1e-12) <= distance.ratio(high_risk, high_x) <= high * (1 + 1e-12)
    assert proved > 300


def test_ch_is_half_of_a_lower_bound_of_kl_and_its_root_is_exact():
    grid = np.linspace(0.0005, 0.9995, 400)
    assert (2 * get_distance("ch").value(grid[:, None], grid) <= kl_divergence(grid[:, None], grid) + 1e-15).all()
    for R in np.geomspace(1e-12, 10, 300):
        (t, slope), truth = ch_root(float(R)), oracles.ch_root(float(R))
        assert abs(t / truth - 1) < 1e-15
        assert abs(slope * (1 + mp.mpf(4) / 9 * truth + mp.mpf(16) / 45 * truth**2) - 1) < 1e-15
    assert ch_root(0.0) == (0.0, 1.0)
    assert ch_root(1e308)[0] == pytest.approx(float(mp.cbrt(mp.mpf("1e308") * 135 / 16)))


# Catoni's distance.


@pytest.mark.parametrize("C", [1e-100, 1e-9, 1e-3, 0.4, 5.0, 40.0, 800.0, 1e100])
def test_catoni_is_rounded_up_for_every_size_of_its_parameter(C):
    distance = Catoni(C)
    for L in (0.0, 5e-324, 1e-200, 1e-9, 0.003, 0.2, 0.5, 0.97, 1.0):
        for x in (0.0, 1e-300, 1e-9, 0.02, 0.6, 3.0, 1e5):
            with mp.workdps(450):  # the difference to one of what is next to it
                truth = mp.expm1(-mp.mpf(C) * mp.mpf(L) - mp.mpf(x)) / mp.expm1(-mp.mpf(C))
            got = distance.upper(L, x)
            assert got >= truth
            # A subnormal C L has lost digits.
            if C * L >= 1e-300 or L == 0.0 or x > 1e-290:
                assert mp.mpf(got) <= truth * (1 + mp.mpf(1e-14)) + mp.mpf(2) ** -1073
    assert distance.ratio(0.2, 0.02) == C


@pytest.mark.parametrize("C", [1e-100, 1e-9, 1e-3, 0.05, 0.4, 2.0, 30.0, 1e3, 1e7, 1e100])
def test_search_against_the_closed_form_of_catoni(C):
    rng = np.random.default_rng(3)
    risks, prior = rng.integers(0, 41, 60) / 40, rng.dirichlet(np.ones(60))
    found = optimal_posterior(risks, 40, distance=Catoni(C), prior=prior)
    assert found.gap <= 1e-9 * max(1.0, found.bound)
    assert found.distance == f"catoni({C!r})"
    if 1e-3 <= C <= 30.0:
        np.testing.assert_allclose(found.weights, gibbs_posterior(risks, C * 40, prior), rtol=1e-6, atol=1e-12)
    for weights in (prior, *rng.dirichlet(np.ones(60), 20), np.eye(60)[np.argmin(risks)]):
        assert bound(weights, risks, 40, distance=Catoni(C), prior=prior) >= found.lower_bound


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-4])
def test_expecting_optimises_the_parameter(delta):
    for m in (5, 250, 10_000):
        for risk in (1e-4, 0.05, 0.3, 0.9):
            chosen, x = Catoni.expecting(risk, m, delta), -mp.log(mp.mpf(delta)) / m
            best = oracles.kl_upper(risk, x)
            assert best <= oracles.catoni_upper(chosen.C, risk, x) <= best * (1 + mp.mpf(1e-4))
            assert len(f"{chosen.C:.15g}".replace(".", "").lstrip("0")) <= 3 or "e" in repr(chosen.C)


@pytest.mark.parametrize("C", [0.4, 1, np.float32(0.25), 1e-90, 123456789.125, 1e22])
def test_catoni_compares_by_value(C):
    one = Catoni(C)
    assert one == Catoni(float(C)) != Catoni(2 * float(C))
    assert len({one, Catoni(float(C)), Catoni(2 * float(C))}) == 2
    assert get_distance(one.name) == one == eval(repr(one), {"Catoni": Catoni})
    assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    with pytest.raises(AttributeError):
        one.C = 3.0


@pytest.mark.parametrize(("call", "error", "message"), [
    *((lambda C=C: Catoni(C), ValueError, "C must be positive, from 1e-100 to 1e100")
      for C in (0, -1.0, math.inf, math.nan, 1e-101, 1e101, 10**400)),
    *((lambda C=C: Catoni(C), TypeError, "C must be a number") for C in ("0.4", None, True, [0.4])),
    *((lambda r=r: Catoni.expecting(r, 100), ValueError, "strictly between 0 and 1") for r in (0.0, 1.0)),
    *((lambda name=name: get_distance(name), ValueError, "unknown distance")
      for name in ("catoni()", "catoni(-1)", "catoni(0.4", "catoni(0.4)x", "catoni(nan)", "catoni(.)", "Catoni(0.4)")),
    (lambda: get_distance("catoni(1e999)"), ValueError, "C must be positive"),
    (lambda: get_distance("catoni"), ValueError, r"needs its parameter.*Catoni\(C\)"),
    (lambda: get_distance(Catoni), TypeError, "got the class Catoni"),
    (lambda: register_distance(Catoni(0.4)), ValueError, "need not be registered"),
])  # fmt: skip
def test_invalid_parameters_of_catoni(call, error, message):
    with pytest.raises(error, match=message):
        call()


# A user-defined distance.


class Hoeffding(Distance):
    """phi = t (l - l^): by Hoeffding's lemma its moment is at most e^(m t^2 / 8)."""

    two_sided = False

    def __init__(self, t=0.5):
        self.t = t
        self.name = f"hoeffding {t}"

    def value(self, empirical, true):
        return self.t * np.subtract(true, empirical)

    def exact_log_constant(self, m):
        return round_up(m * self.t**2 / 8)

    def upper(self, empirical, x):
        return round_up(empirical + x / self.t)

    def slopes(self, empirical, x):
        return 1.0, 1.0 / self.t


@pytest.mark.parametrize("registered", [False, True])
def test_user_defined_distance(registered, monkeypatch):
    monkeypatch.setattr(distances, "_REGISTRY", dict(distances._REGISTRY))
    with pytest.raises(ValueError, match="unknown distance"):
        get_distance("hoeffding 0.5")
    if registered:
        register_distance(Hoeffding())
    sixth = "hoeffding 0.5" if registered else pickle.loads(pickle.dumps(Hoeffding()))
    L, K, m, delta = 0.2, math.log(2), 300, 0.05
    truth = L + 2 * (K - math.log(delta)) / m + 0.5 / 8
    assert bound([1, 0], [L, 0.3], m, distance=sixth, delta=delta) == pytest.approx(truth, rel=1e-13)
    assert (get_distance(sixth).log_moment(40, np.linspace(0, 1, 21)) <= log_constant(sixth, 40)).all()
    found = optimal_posterior([0.1, 0.2], 50, distance=sixth)
    assert found.gap <= 1e-9
    assert found.beta == pytest.approx(25.0)


@pytest.mark.parametrize("name", ["kl", "catoni", "catoni(0.4)", None])
def test_distances_need_different_names(name):
    wrong = Hoeffding()
    wrong.name = name
    with pytest.raises((ValueError, TypeError), match=r"differs from|names that begin with|with a name"):
        bound([1.0], [0.1], 50, distance=wrong)
