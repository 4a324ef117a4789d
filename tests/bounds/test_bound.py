"""bound(): rounding, monotonicity, wrong input."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import oracles

from pacbayes import DISTANCES, bound, log_constant
from pacbayes.bounds import get_distance
from pacbayes.bounds.bound import average_risk, kullback_leibler


def true_bound(weights, risks, m, distance, delta, prior, constant):
    L, K = oracles.risk_and_divergence(weights, risks, prior)
    if distance == "ch" and constant == "exact":
        log_i = mp.mpf(log_constant("ch", m))  # enclosed in tests/bounds/test_constants.py
    else:
        log_i = oracles.log_constant(distance, m, constant)
    return oracles.bound_from(distance, L, K, m, delta, log_i)


def random_problem(rng):
    H = int(rng.choice([1, 2, 3, 10, 60]))
    m = int(rng.choice([2, 5, 30, 120]))
    risks = rng.integers(0, m + 1, H) / m if rng.random() < 0.7 else rng.random(H)
    weights = rng.exponential(size=H) ** rng.integers(1, 20)
    weights[rng.random(H) < 0.2] = 0.0
    weights[rng.integers(H)] = 1.0
    prior = None if rng.random() < 0.5 else rng.exponential(size=H) ** rng.integers(1, 40) + 1e-300
    weights /= weights.sum() * (1 + rng.choice([0.0, 5e-9, -5e-9]))
    return weights, risks, m, None if prior is None else prior / prior.sum()


@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_bound_is_rounded_up_and_tight(distance, constant):
    rng = np.random.default_rng(7)
    for _ in range(40):
        weights, risks, m, prior = random_problem(rng)
        delta = float(rng.choice([1e-300, 1e-6, 0.01, 0.05, 0.5, 0.999999]))
        got = bound(weights, risks, m, distance=distance, delta=delta, prior=prior, constant=constant)
        truth = true_bound(weights, risks, m, distance, delta, prior, constant)
        assert mp.mpf(got) >= truth
        # 2e-12 is what the constants are rounded up by; a square root near zero magnifies it.
        assert mp.mpf(got) - truth <= 3e-11 * (1 + truth)


@pytest.mark.parametrize("H", [129, 1000, 5000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_average_and_divergence_are_rounded_up(H):
    rng = np.random.default_rng(H)
    spike = np.full(H, 2.0**-53 * 1.0001)  # each addition to one rounds up: the sum is as wrong as it can be
    spike[0] = 1.0
    for weights in (spike, rng.dirichlet(np.ones(H)), rng.dirichlet(np.full(H, 0.01))):
        risks, prior = rng.random(H), rng.dirichlet(np.ones(H)) + 1e-300
        for p in (None, prior):
            L, K = oracles.risk_and_divergence(weights, risks, p)
            assert 0 <= mp.mpf(average_risk(weights, risks, float(weights.sum()))) - L <= 1e-13
            kl = kullback_leibler(weights, float(weights.sum()), p, 1.0 if p is None else float(p.sum()))
            assert 0 <= mp.mpf(kl) - K <= 1e-12


def test_rounding_of_average_and_divergence_is_needed():
    # Without the allowance some of many random cases are below the truth: the test above can fail.
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(50):
        weights, risks = rng.dirichlet(np.ones(200)), rng.random(200)
        L, K = oracles.risk_and_divergence(weights, risks)
        below += mp.mpf(float((weights * risks).sum() / weights.sum())) < L
        below += mp.mpf(float((weights * np.log(weights)).sum() + np.log(200))) < K
    assert below > 10


DELTAS = st.floats(1e-12, 0.999)
SIZES = st.integers(1, 10**6)


@given(
    st.sampled_from(DISTANCES), SIZES, DELTAS, st.floats(0, 1), st.floats(0, 1), st.floats(0, 700), st.floats(0, 700)
)
def test_monotone_in_risk_and_divergence(distance, m, delta, risk, other_risk, kl, other_kl):
    f = get_distance(distance).bound_function(m, delta)
    low, high = f(min(risk, other_risk), min(kl, other_kl)), f(max(risk, other_risk), max(kl, other_kl))
    # The true bounds are ordered; each is rounded up by a few units.
    assert low <= high * (1 + 1e-14)
    assert min(risk, other_risk) <= low


@pytest.mark.parametrize("distance", DISTANCES)
def test_unequal_sample_sizes_use_the_smallest(distance):
    weights, risks = [0.2, 0.3, 0.5], [0.1, 0.2, 0.3]
    least = bound(weights, risks, 40, distance=distance)
    assert bound(weights, risks, [55, 40, 70], distance=distance) == least
    assert bound(weights, risks, np.array([40, 40, 40], dtype=np.uint8), distance=distance) == least
    assert bound(weights, risks, [41, 55, 70], distance=distance) < least


GOOD = {"weights": [0.5, 0.5], "risks": [0.1, 0.2], "m": 100}


@pytest.mark.parametrize(("changes", "error", "message"), [
    ({"m": 0}, ValueError, "m must be at least 1, got 0"),
    ({"m": 10**400}, ValueError, r"m must be at most 2\*\*53"),
    ({"m": 10.0}, TypeError, "m must be an integer"),
    ({"m": [10, 0]}, ValueError, r"m must lie between 1 and 2\*\*53, got 0"),
    ({"m": [10, 20, 30]}, ValueError, r"m must be one integer, or one entry per risk, shape \(2,\), got shape \(3,\)"),
    ({"delta": 1.0}, ValueError, "delta must be strictly between 0 and 1, got 1"),
    ({"delta": True}, TypeError, "delta must be a number"),
    ({"risks": [0.1, 1.2]}, ValueError, r"risks must lie in \[0, 1\], got 1.2"),
    ({"risks": [0.1, math.nan]}, ValueError, "risks must lie .* got nan"),
    ({"risks": ["a", "b"]}, TypeError, "risks must be real numbers"),
    ({"risks": [], "weights": []}, ValueError, "risks must hold at least one"),
    ({"weights": [1.0]}, ValueError, r"weights must have one entry per risk, shape \(2,\), got shape \(1,\)"),
    ({"weights": [0.5, 0.5 + 2e-8]}, ValueError, "weights must sum to 1, got 1.00000001"),
    ({"weights": [-0.5, 1.5]}, ValueError, "weights must be finite and non-negative, got -0.5"),
    ({"weights": np.ma.array([0.5, 0.5], mask=[0, 1])}, ValueError, "weights must not have masked entries"),
    ({"prior": [0.2, 0.2]}, ValueError, "prior must sum to 1, got 0.4"),
    ({"distance": "hellinger"}, ValueError, "unknown distance 'hellinger'; known are kl"),
    ({"constant": "best"}, ValueError, "unknown constant 'best'; known are exact, paper"),
])  # fmt: skip
def test_bad_input(changes, error, message):
    with pytest.raises(error, match=message):
        bound(**(GOOD | changes))


@pytest.mark.parametrize("distance", DISTANCES)
def test_from_risk_and_divergence(distance):
    rng = np.random.default_rng(3)
    for _ in range(20):
        weights, risks, m, prior = random_problem(rng)
        weights = weights / weights.sum()
        total, prior_total = float(weights.sum()), 1.0 if prior is None else float(prior.sum())
        L, K = average_risk(weights, risks, total), kullback_leibler(weights, total, prior, prior_total)
        expected = bound(weights, risks, m, distance=distance, prior=prior)
        assert bound(risk=L, kl=K, m=m, distance=distance) == expected


def test_sampled_posteriors():
    """With a planted estimate at its lower quantile, the bound that ignores the draws is too small, and ours is not."""
    m, n, L, delta = 200, 50, 0.2, 0.05
    exact = bound(risk=L, kl=1.0, m=m, delta=delta)
    drawn = np.random.default_rng(0).binomial(n, L, 4000) / n
    plain = np.array([bound(risk=risk, kl=1.0, m=m, delta=delta) for risk in set(drawn)])
    ours = np.array([bound(risk=risk, kl=1.0, m=m, delta=delta, n_draws=n) for risk in set(drawn)])
    share = np.array([np.mean(drawn == risk) for risk in set(drawn)])
    assert share[plain < exact].sum() > 0.3
    # A tenth of delta is for the draws; the rest of it makes the bound larger for the same risk.
    assert share[ours < exact].sum() <= 0.1 * delta
    assert bound(risk=L, kl=1.0, m=m, n_draws=10**9) == pytest.approx(
        bound(risk=L, kl=1.0, m=m, delta=0.9 * delta), abs=1e-3
    )
    assert bound(risk=1.0, kl=0.0, m=m, n_draws=3) >= 1.0
    assert bound(risk=0.0, kl=0.0, m=m, n_draws=3) > bound(risk=0.0, kl=0.0, m=m)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"risk": 0.1, "kl": 1.0}, "requires m"),
        ({"risk": 0.1, "m": 10}, "or risk and one of kl and chi2"),
        ({"weights": [1.0], "risks": [0.1], "m": 10, "n_draws": 5}, "or risk and one of kl and chi2"),
        ({"risk": 0.1, "kl": 1.0, "m": 10, "prior": [1.0]}, "or risk and one of kl and chi2"),
        ({"risk": 0.1, "kl": -1.0, "m": 10}, "kl must be"),
        ({"risk": 1.1, "kl": 0.0, "m": 10}, "risk must lie"),
        ({"risk": 0.1, "kl": 0.0, "m": 10, "n_draws": 0}, "at least 1"),
        ({"risk": 0.1, "kl": 0.0, "m": 10, "n_draws": 9, "draws_share": 1.0}, "draws_share"),
    ],
)
def test_two_forms_are_not_mixed(arguments, error):
    with pytest.raises((TypeError, ValueError), match=error):
        bound(**arguments)
