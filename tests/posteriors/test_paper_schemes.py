"""The paper's schemes: fixed points and where they end; the search over the first classifiers by risk."""

import itertools
import math

import numpy as np
import pytest
from tests.posteriors.problems import TWO_MINIMA, one_against_many

from pacbayes import DISTANCES, bound, log_constant, optimal_posterior
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


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_theorem_by_all_subsets_and_assignments(distance):
    # For given weights the best subset is the first by risk, with the largest weight on the smallest risk.
    rng = np.random.default_rng(6)
    for H in (4, 6):
        risks = np.sort(rng.random(H))
        for size in range(1, H + 1):
            weights = np.sort(rng.dirichlet(np.ones(size)))[::-1]
            best = math.inf
            for chosen in itertools.permutations(range(H), size):
                q = np.zeros(H)
                q[list(chosen)] = weights
                best = min(best, bound(q, risks, 40, distance=distance))
            first = np.concatenate([weights, np.zeros(H - size)])
            assert bound(first, risks, 40, distance=distance) <= best * (1 + 1e-14)


@pytest.mark.parametrize("distance", DISTANCES)
def test_every_bound_is_the_optimum_on_its_subset(distance):
    rng = np.random.default_rng(7)
    m, H = 30, 25
    risks = rng.integers(1, 12, H) / m
    found = optimal_posterior(risks, m, distance=distance, method="ordered-subsets")
    order = np.argsort(risks, kind="stable")
    assert found.details["bounds"].shape == (H,)
    for size in (1, 2, 7, 13, 24, 25):
        prior = np.zeros(H)
        prior[order[:size]] = 1 / size
        # A uniform prior on the subset has a divergence smaller by ln(H/size): the same as a larger delta.
        on_subset = optimal_posterior(risks, m, distance=distance, prior=prior, delta=0.05 * size / H)
        assert found.details["bounds"][size - 1] == pytest.approx(on_subset.bound, abs=1e-9)
    assert (np.diff(found.details["bounds"]) <= 1e-12).all()


def test_linear_bounds_have_a_closed_form_and_fall():
    rng = np.random.default_rng(8)
    risks, m, delta = np.sort(rng.random(30) * 0.3), 60, 0.02
    found = optimal_posterior(risks, m, distance="linear", delta=delta, method="ordered-subsets")
    closed = [
        (math.log(30) - math.log(np.exp(-m * risks[:size]).sum()) + log_constant("linear", m) - math.log(delta)) / m
        for size in range(1, 31)
    ]
    np.testing.assert_allclose(found.details["bounds"], closed, rtol=1e-11)
    assert (np.diff(closed) < 0).all()
    assert found.details["best_size"] == 30


def test_h_star_depends_on_the_tolerance():
    rng = np.random.default_rng(9)
    m = 200
    risks = rng.binomial(m, np.linspace(0.05, 0.3, 400)) / m
    sizes = []
    for size_tol in (1e-2, 1e-4, 1e-6, 1e-8):
        found = optimal_posterior(risks, m, method="ordered-subsets", size_tol=size_tol)
        sizes.append(found.details["H_star"])
        assert found.support_size == found.details["H_star"]
        assert np.count_nonzero(found.details["bounds"] <= found.details["bounds"][-1] + size_tol) == 401 - sizes[-1]
        assert found.bound <= optimal_posterior(risks, m).bound + size_tol + 1e-9
        assert found.lower_bound <= optimal_posterior(risks, m).bound
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_far_fewer_solves_than_sizes_and_the_interpolation_is_right():
    rng = np.random.default_rng(14)
    m = 200
    risks = rng.binomial(m, 0.3, 4000) / m
    found = optimal_posterior(risks, m, method="ordered-subsets")
    assert found.n_iter < 600
    order = np.argsort(risks, kind="stable")
    for size in rng.integers(1, 4001, 12).tolist():
        prior = np.zeros(4000)
        prior[order[:size]] = 1 / size
        on_subset = optimal_posterior(risks, m, prior=prior, delta=0.05 * size / 4000, tol=1e-11)
        assert found.details["bounds"][size - 1] == pytest.approx(on_subset.bound, abs=1e-9)


def test_support_on_the_zero_risk_classifiers():
    found = optimal_posterior(
        one_against_many(1000, 0.0, 0.2), 10, delta=0.01, constant="paper", method="ordered-subsets"
    )
    assert found.details["H_star"] == found.details["best_size"] == 1
    assert found.bound == pytest.approx(0.737036, abs=1e-6)


def test_needs_a_uniform_prior():
    with pytest.raises(ValueError, match="needs a uniform prior"):
        optimal_posterior([0.1, 0.2], 50, method="ordered-subsets", prior=[0.4, 0.6])
    uniform = optimal_posterior([0.1, 0.2], 50, method="ordered-subsets", prior=[0.5, 0.5])
    assert uniform.bound == pytest.approx(optimal_posterior([0.1, 0.2], 50).bound, abs=1e-9)
    with pytest.raises(ValueError, match="size_tol must be at least 0"):
        optimal_posterior([0.1, 0.2], 50, method="ordered-subsets", size_tol=-1)


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_prior_uniform_but_for_rounding_proves_no_more_than_is_true(distance):
    # The weights differ by 7e-13 of themselves; the better classifiers have the larger ones.
    risks, m, delta = [0.0, 0.0, 0.5], 2, 1 - 1e-12
    prior = np.array([0.3333333333334547, 0.33333333333332377, 0.3333333333332216])
    found = optimal_posterior(risks, m, distance=distance, delta=delta, prior=prior, method="ordered-subsets")
    attained = optimal_posterior(risks, m, distance=distance, delta=delta, prior=prior, tol=1e-15)
    assert found.lower_bound <= attained.bound
    assert found.lower_bound <= found.bound
    assert found.gap <= 1e-6
