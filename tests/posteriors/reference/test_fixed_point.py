"""The paper's fixed-point schemes."""

import math

import numpy as np
import pytest
from tests.posteriors.problems import TWO_MINIMA, one_against_many

from pacbayes import bound, optimal_posterior
from pacbayes.bounds import get_distance


def plain_iteration(risks, m, distance, delta, steps, q):
    """The paper's equations on all classifiers, without groups, curve or logarithms of sums."""
    f = get_distance(distance).bound_function(m, delta)
    H = risks.size
    for _ in range(steps):
        L, K = float(q @ risks), float((q * np.log(q * H)).sum())
        weights = np.exp(-f.ratio(L, K) * risks) / H
        q = weights / weights.sum()
    return q


@pytest.mark.parametrize("distance", ["kl", "pinsker", "ch", "squared"])
def test_is_the_papers_iteration(distance):
    rng = np.random.default_rng(4)
    m = 80
    risks = rng.integers(2, 40, 60) / m
    start = rng.dirichlet(np.ones(60))
    for steps in (1, 2, 5):
        found = optimal_posterior(
            risks, m, distance=distance, method="fixed-point", start=start, max_iter=steps, tol=1e-300
        )
        np.testing.assert_allclose(found.weights, plain_iteration(risks, m, distance, 0.05, steps, start), rtol=1e-9)
        assert found.n_iter == steps
        assert len(found.details["trace"]) == steps + 1


def profile(m, seed):
    """Risks like the paper's: a least value, a slope over the grid, and noise of single errors."""
    rng = np.random.default_rng(seed)
    return rng.binomial(m, np.linspace(0.08, 0.16, 300)) / m


@pytest.mark.parametrize("distance", ["kl", "pinsker", "ch", "squared"])
def test_100_random_starts_reach_one_point_on_a_profile_like_the_papers(distance):
    risks, m = profile(227, 0), 227
    best = optimal_posterior(risks, m, distance=distance, delta=0.01)
    runs = [
        optimal_posterior(risks, m, distance=distance, delta=0.01, method="fixed-point", random_state=seed)
        for seed in range(100)
    ]
    assert all(run.converged for run in runs)
    assert max(run.n_iter for run in runs) <= 60
    assert np.ptp([run.beta for run in runs]) < 1e-4 * best.beta
    assert all(abs(run.bound - best.bound) < 1e-9 for run in runs)


@pytest.mark.parametrize(("distance", "H", "m", "a", "b", "first", "second"), TWO_MINIMA)
def test_from_the_prior_it_climbs_to_the_first_minimum(distance, H, m, a, b, first, second):
    found = optimal_posterior(
        one_against_many(H, a, b),
        m,
        distance=distance,
        delta=0.01,
        constant="paper",
        method="fixed-point",
        start="prior",
    )
    assert found.beta == pytest.approx(first[0], rel=1e-4)
    assert found.bound == pytest.approx(first[1], abs=1e-6)
    # ... which for pinsker and kl is not the global one.
    certified = optimal_posterior(one_against_many(H, a, b), m, distance=distance, delta=0.01, constant="paper")
    assert (found.bound > certified.bound + 1e-5) == (distance != "squared")


@pytest.mark.parametrize("distance", ["pinsker", "ch", "squared"])
def test_monotone_from_the_prior(distance):
    # The ratio is increasing, so the iterates of beta increase and the bound falls at every step.
    found = optimal_posterior(profile(100, 3), 100, distance=distance, method="fixed-point", start="prior")
    trace = np.array(found.details["trace"])
    assert (np.diff(trace) <= 1e-15).all()


def test_linear_takes_one_step():
    risks = profile(100, 1)
    found = optimal_posterior(risks, 100, distance="linear", method="fixed-point")
    np.testing.assert_allclose(found.weights, np.exp(-100 * risks) / np.exp(-100 * risks).sum(), rtol=1e-12)
    assert found.beta == 100
    assert found.converged


def test_says_when_it_did_not_converge():
    found = optimal_posterior(profile(100, 2), 100, method="fixed-point", max_iter=2)
    assert not found.converged
    assert "max_iter = 2" in found.message
    assert found.lower_bound == -math.inf
    assert found.gap == math.inf
    assert found.bound == bound(found.weights, profile(100, 2), 100)
    assert "nothing proved" in repr(found)


def test_prior_with_zeros_and_a_start_outside_it():
    prior = [0.0, 0.5, 0.5]
    found = optimal_posterior([0.0, 0.1, 0.2], 50, method="fixed-point", prior=prior)
    assert found.weights[0] == 0.0
    with pytest.raises(ValueError, match="start must be zero where the prior is zero"):
        optimal_posterior([0.0, 0.1, 0.2], 50, method="fixed-point", prior=prior, start=[1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="unknown start 'best'; known are random, prior"):
        optimal_posterior([0.0, 0.1, 0.2], 50, method="fixed-point", start="best")
    with pytest.raises(ValueError, match="start must sum to 1"):
        optimal_posterior([0.0, 0.1, 0.2], 50, method="fixed-point", start=[1.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="max_iter must be"):
        optimal_posterior([0.0, 0.1, 0.2], 50, method="fixed-point", max_iter=0)


def test_zero_risk_start_stays_at_infinity():
    found = optimal_posterior([0.0, 0.2], 50, method="fixed-point", start=[1.0, 0.0])
    assert found.beta == math.inf
    assert found.weights.tolist() == [1.0, 0.0]
