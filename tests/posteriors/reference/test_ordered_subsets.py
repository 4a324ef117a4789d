"""The paper's theorem on ordered subsets, by brute force, and the search that rests on it."""

import itertools
import math

import numpy as np
import pytest
from tests.posteriors.problems import one_against_many

from pacbayes import DISTANCES, bound, log_constant, optimal_posterior


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
