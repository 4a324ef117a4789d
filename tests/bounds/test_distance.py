"""The distance objects: value, inverse, slopes, ratio; and a sixth distance registered from outside."""

import copy
import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from tests import oracles

from pacbayes import DISTANCES, bound, log_constant, optimal_posterior
from pacbayes._utils.arrays import round_up
from pacbayes.bounds import Distance, get_distance, register_distance, registry
from pacbayes.bounds.paper_distances import ch_root

CASES = [(L, x) for L in (1e-9, 0.003, 0.2, 0.5, 0.97) for x in (1e-9, 1e-4, 0.02, 0.6, 3.0)]


def upper_in_mp(distance, L, x):
    return oracles.bound_from(distance, mp.mpf(L), mp.mpf(x), 1, 1, mp.mpf(0))


@pytest.mark.parametrize("distance", DISTANCES)
def test_value(distance):
    rng = np.random.default_rng(1)
    a, b = rng.random(50), rng.random(50)
    truth = [float(oracles.PHI[distance](mp.mpf(u), mp.mpf(v))) for u, v in zip(a, b, strict=True)]
    np.testing.assert_allclose(get_distance(distance).value(a, b), truth, rtol=1e-13, atol=1e-16)
    assert get_distance(distance).value([0.1, 0.2], 0.3).shape == (2,)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("L", "x"), CASES)
def test_upper_is_the_inverse_rounded_up(distance, L, x):
    truth = upper_in_mp(distance, L, x)
    excess = mp.mpf(get_distance(distance).upper(L, x)) - truth
    assert 0 <= excess <= 4e-15 * truth


@pytest.mark.parametrize("distance", ["squared", "pinsker", "ch"])
@pytest.mark.parametrize(("L", "x"), CASES)
def test_lower_of_the_polynomials_mirrors_upper(distance, L, x):
    truth = 2 * mp.mpf(L) - upper_in_mp(distance, L, x)
    excess = truth - mp.mpf(get_distance(distance).lower(L, x))
    assert 0 <= excess <= 1e-14 * (1 + abs(truth))


@pytest.mark.parametrize(("L", "x"), CASES)
def test_lower_of_kl_mirrors_upper(L, x):
    with mp.workdps(400):  # lower roots down to the subnormal numbers are told from zero
        truth = 1 - oracles.kl_upper(1 - mp.mpf(L), x)
        excess = truth - mp.mpf(get_distance("kl").lower(L, x))
        assert 0 <= excess <= 1e-12 * truth + mp.mpf(2) ** -1074


def test_linear_has_no_lower_side():
    assert not get_distance("linear").two_sided
    with pytest.raises(NotImplementedError, match="linear bound is one-sided"):
        get_distance("linear").lower(0.1, 0.1)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("L", "x"), [(0.003, 1e-4), (0.2, 0.02), (0.5, 0.6), (0.9, 0.001)])
def test_slopes_and_ratio_against_numerical_derivatives(distance, L, x):
    in_risk = mp.diff(lambda t: upper_in_mp(distance, t, x), mp.mpf(L), h=mp.mpf("1e-20"))
    in_x = mp.diff(lambda t: upper_in_mp(distance, L, t), mp.mpf(x), h=mp.mpf("1e-20"))
    got = get_distance(distance).slopes(L, x)
    assert got == pytest.approx((float(in_risk), float(in_x)), rel=1e-11)
    assert get_distance(distance).ratio(L, x) == pytest.approx(float(in_risk / in_x), rel=1e-11)


@pytest.mark.parametrize("distance", DISTANCES)
def test_partials_and_ratio_of_the_bound_function(distance):
    m, L, K, h = 150, 0.12, 1.7, 1e-5
    f = get_distance(distance).bound_function(m, 0.03)
    in_risk, in_kl = f.partials(L, K)
    assert in_risk == pytest.approx((f(L + h, K) - f(L - h, K)) / (2 * h), rel=1e-6)
    assert in_kl == pytest.approx((f(L, K + h) - f(L, K - h)) / (2 * h), rel=1e-6)
    assert f.ratio(L, K) == pytest.approx(in_risk / in_kl, rel=1e-12)


def test_the_ratio_is_the_papers_formula():
    m, L, K, delta = 200, 0.1, 2.0, 0.01
    c = {d: K + log_constant(d, m) - math.log(delta) for d in DISTANCES}
    ratio = {d: get_distance(d).bound_function(m, delta).ratio(L, K) for d in DISTANCES}
    t, slope = ch_root(c["ch"] / (2 * m - 1))
    r = bound([1.0], [L], m, delta=delta * math.exp(-K))
    assert ratio["linear"] == m
    assert ratio["squared"] == pytest.approx(2 * math.sqrt(m * c["squared"]), rel=1e-12)
    assert ratio["pinsker"] == pytest.approx(2 * math.sqrt(2 * m * c["pinsker"]), rel=1e-12)
    assert ratio["ch"] == pytest.approx((2 * m - 1) * 2 * math.sqrt(t) / slope, rel=1e-12)
    assert ratio["kl"] == pytest.approx(m * math.log(r * (1 - L) / (L * (1 - r))), rel=1e-11)


def test_slopes_at_the_corners():
    assert get_distance("kl").slopes(1.0, 0.1) == (0.0, 0.0)
    assert get_distance("kl").slopes(0.2, 0.0) == (1.0, math.inf)
    in_risk, in_x = get_distance("kl").slopes(0.0, 0.5)
    assert in_risk == math.inf
    assert in_x == pytest.approx(math.exp(-0.5))
    for name in ("squared", "pinsker", "ch"):
        assert get_distance(name).slopes(0.2, 0.0) == (1.0, math.inf)


def test_infinite_divergence():
    for name in DISTANCES:
        f = get_distance(name).bound_function(10)
        assert f(0.1, math.inf) == (1.0 if name == "kl" else math.inf)
        assert f.ratio(0.1, math.inf) == (10 if name == "linear" else math.inf)
        if get_distance(name).two_sided:
            assert get_distance(name).lower(0.1, math.inf) == (0.0 if name == "kl" else -math.inf)
    assert ch_root(1e308)[0] == pytest.approx(float(mp.cbrt(mp.mpf("1e308") * 135 / 16)))


@pytest.mark.parametrize("distance", DISTANCES)
def test_threshold_is_rounded_up_and_never_negative(distance):
    rng = np.random.default_rng(8)
    for _ in range(200):
        m, delta, K = int(rng.integers(2, 10**6)), float(rng.random()), float(rng.exponential(10))
        f = get_distance(distance).bound_function(m, delta, "paper")
        log_i = mp.mpf(log_constant(distance, m, "paper"))
        truth = (mp.mpf(K) + log_i - mp.log(mp.mpf(delta))) / f.factor
        assert 0 <= mp.mpf(f.threshold(K)) - truth <= 1e-14 * abs(truth)
        # ln I - ln delta alone carries its own slack.
        assert mp.mpf(f.log_term) >= log_i - mp.log(mp.mpf(delta))
    assert f.threshold(-1e6) == 0.0


def test_the_ratio_is_monotone_where_it_is_said_to_be():
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


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    register_distance(Hoeffding())


def check_sixth(distance):
    """Check the bound of t = 0.5, found by name or not."""
    L, K, m, delta = 0.2, math.log(2), 300, 0.05
    truth = L + 2 * (K - math.log(delta)) / m + 0.5 / 8
    assert bound([1, 0], [L, 0.3], m, distance=distance, delta=delta) == pytest.approx(truth, rel=1e-13)
    found = optimal_posterior([0.1, 0.2], 50, distance=distance)
    assert found.gap <= 1e-9
    assert found.beta == pytest.approx(25.0)


@pytest.mark.usefixtures("registered")
def test_a_sixth_distance_in_one_class():
    sixth = get_distance("hoeffding 0.5")
    assert (sixth.log_moment(40, np.linspace(0, 1, 21)) <= sixth.exact_log_constant(40)).all()
    check_sixth("hoeffding 0.5")
    assert sixth.bound_function(300).ratio(0.1, 1.0) == pytest.approx(150)


def test_a_sixth_distance_need_not_be_registered():
    check_sixth(Hoeffding())
    check_sixth(pickle.loads(pickle.dumps(Hoeffding())))
    assert log_constant(Hoeffding(), 100) == Hoeffding().exact_log_constant(100)
    with pytest.raises(ValueError, match="unknown distance"):
        bound([1.0], [0.1], 50, distance="hoeffding 0.5")


def test_distances_are_values():
    assert Hoeffding(0.5) == Hoeffding(0.5) != Hoeffding(0.6)
    assert hash(Hoeffding(0.5)) == hash(Hoeffding(0.5))
    assert repr(Hoeffding(0.5)) == "Hoeffding(t=0.5, name='hoeffding 0.5')"
    assert get_distance("kl") == copy.deepcopy(get_distance("kl")) != get_distance("ch")
    assert bound([1.0], [0.1], 50, distance=get_distance("pinsker")) == bound([1.0], [0.1], 50, distance="pinsker")


def test_registration_is_by_name_and_once():
    assert "hoeffding 0.5" not in registry._REGISTRY
    assert DISTANCES == ("kl", "pinsker", "ch", "linear", "squared")
    with pytest.raises(ValueError, match="unknown distance 'hoeffding'"):
        get_distance("hoeffding")
    with pytest.raises(TypeError, match="instance of Distance"):
        register_distance(Hoeffding)


@pytest.mark.parametrize("name", ["kl", "catoni", "catoni(0.4)"])
def test_a_distance_must_not_have_the_name_of_another(name):
    wrong = Hoeffding()
    wrong.name = name
    with pytest.raises(ValueError, match=r"is another|names that begin so"):
        bound([1.0], [0.1], 50, distance=wrong)


def test_a_distance_must_have_a_name():
    wrong = Hoeffding()
    del wrong.name
    with pytest.raises(TypeError, match="with a name"):
        bound([1.0], [0.1], 50, distance=wrong)
