"""The paper's schemes: fixed-point iteration, and the search over supports ordered by risk."""

import itertools
import math

import numpy as np
import pytest
from tests.posteriors.problems import TWO_MINIMA, one_against_many

from pacbayes import DISTANCES, bound, optimal_posterior
from pacbayes.bounds import get_distance

CURVED = ["kl", "pinsker", "ch", "squared"]


@pytest.mark.parametrize("distance", CURVED)
def test_iteration_of_the_paper(distance):
    """Against its equations on all classifiers, without groups and log-sum-exp."""
    rng = np.random.default_rng(4)
    m, f = 80, get_distance(distance).bound_function(80, 0.05)
    risks, start = rng.integers(2, 40, 60) / m, rng.dirichlet(np.ones(60))
    choices = {"distance": distance, "method": "fixed-point", "start": start, "tol": 1e-300}
    q = start
    for steps in range(1, 6):
        weights = np.exp(-f.ratio(float(q @ risks), float((q * np.log(q * 60)).sum())) * risks)
        q = weights / weights.sum()
        found = optimal_posterior(risks, m, max_iter=steps, **choices)
        np.testing.assert_allclose(found.weights, q, rtol=1e-9)
        assert (found.n_iter, len(found.details["trace"])) == (steps, steps + 1)


def profile(m, seed):
    """Risks like the paper's: a minimum, a slope over the grid, and noise of single errors."""
    return np.random.default_rng(seed).binomial(m, np.linspace(0.08, 0.16, 300)) / m


@pytest.mark.parametrize(("distance", "H", "m", "a", "b", "first", "second"), TWO_MINIMA)
def test_iteration_from_the_prior_reaches_the_first_minimum(distance, H, m, a, b, first, second):
    risks, choices = one_against_many(H, a, b), {"distance": distance, "delta": 0.01, "constant": "paper"}
    found = optimal_posterior(risks, m, method="fixed-point", start="prior", **choices)
    assert found.beta == pytest.approx(first[0], rel=1e-4)
    assert found.bound == pytest.approx(first[1], abs=1e-6)
    # ... which for pinsker and kl is not the global one.
    assert (found.bound > optimal_posterior(risks, m, **choices).bound + 1e-5) == (distance != "squared")


def test_ends_of_the_iteration():
    risks = profile(100, 1)
    linear = optimal_posterior(risks, 100, distance="linear", method="fixed-point")  # one step
    np.testing.assert_allclose(linear.weights, np.exp(-100 * risks) / np.exp(-100 * risks).sum(), rtol=1e-12)
    assert linear.beta == 100
    assert linear.converged
    stays = optimal_posterior([0.0, 0.2], 50, method="fixed-point", start=[1.0, 0.0])
    assert (stays.beta, stays.weights.tolist()) == (math.inf, [1.0, 0.0])
    found = optimal_posterior(risks, 100, method="fixed-point", max_iter=2)
    assert not found.converged
    assert "max_iter = 2" in found.message
    assert (found.lower_bound, found.gap) == (-math.inf, math.inf)
    assert found.bound == bound(found.weights, risks, 100)
    assert "no proof of optimality" in repr(found)
    assert optimal_posterior([0.0, 0.1, 0.2], 50, method="fixed-point", prior=[0.0, 0.5, 0.5]).weights[0] == 0.0


@pytest.mark.parametrize(("options", "message"), [
    ({"method": "fixed-point", "start": [1.0, 0.0, 0.0]}, "start must be zero where the prior is zero"),
    ({"method": "fixed-point", "start": "best"}, "unknown start 'best'; known are random, prior"),
    ({"method": "fixed-point", "start": [1.0, 1.0, 0.0]}, "start must sum to 1"),
    ({"method": "fixed-point", "max_iter": 0}, "max_iter must be"),
    ({"method": "ordered-subsets"}, "requires a uniform prior"),
    ({"method": "ordered-subsets", "prior": None, "size_tol": -1}, "size_tol must be at least 0"),
])  # fmt: skip
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        optimal_posterior([0.0, 0.1, 0.2], 50, **({"prior": [0.0, 0.5, 0.5]} | options))


@pytest.mark.parametrize("distance", DISTANCES)
def test_theorem_against_all_subsets_and_assignments(distance):
    # For given weights the best subset is the first by risk, with the largest weight on the smallest risk.
    rng = np.random.default_rng(6)
    for H in (4, 5):
        risks = np.sort(rng.random(H))
        for size in range(1, H + 1):
            weights = np.sort(rng.dirichlet(np.ones(size)))[::-1]
            bounds = []
            for chosen in itertools.permutations(range(H), size):
                q = np.zeros(H)
                q[list(chosen)] = weights
                bounds.append(bound(q, risks, 40, distance=distance))
            assert bounds[0] <= min(bounds) * (1 + 1e-14)  # the first classifiers come first


def least_on_the_first(risks, size, m, distance="kl"):
    """A uniform prior on a subset has a divergence smaller by ln(H/size): the same as a larger delta."""
    prior = np.zeros(risks.size)
    prior[np.argsort(risks, kind="stable")[:size]] = 1 / size
    return optimal_posterior(risks, m, distance=distance, prior=prior, delta=0.05 * size / risks.size, tol=1e-11).bound


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_smallest_subset_with_the_smallest_bound(distance):
    rng = np.random.default_rng(7)
    risks = rng.integers(1, 12, 25) / 30
    bounds = np.array([least_on_the_first(risks, size, 30, distance) for size in range(1, 26)])
    for size_tol in (0.05, 1e-3, 1e-6):
        found = optimal_posterior(risks, 30, distance=distance, method="ordered-subsets", size_tol=size_tol)
        assert found.details["H_star"] == np.argmax(bounds <= bounds[-1] + size_tol) + 1
        assert found.bound == pytest.approx(bounds[found.details["H_star"] - 1], abs=1e-9)


def test_optimal_support_size_depends_on_the_tolerance():
    risks = np.random.default_rng(9).binomial(200, np.linspace(0.05, 0.3, 400)) / 200
    best, sizes = optimal_posterior(risks, 200), []
    for size_tol in (1e-2, 1e-4, 1e-6, 1e-8):
        found = optimal_posterior(risks, 200, method="ordered-subsets", size_tol=size_tol)
        sizes.append(found.details["H_star"])
        assert found.support_size == sizes[-1]
        assert found.lower_bound <= best.bound
        assert found.bound <= best.bound + size_tol + 1e-9
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    # All weight on the one classifier of no error.
    risks = one_against_many(1000, 0.0, 0.2)
    found = optimal_posterior(risks, 10, delta=0.01, constant="paper", method="ordered-subsets")
    assert found.details["H_star"] == found.details["best_size"] == 1
    assert found.bound == pytest.approx(0.737036, abs=1e-6)


@pytest.mark.parametrize("distance", DISTANCES)
def test_nearly_uniform_prior_is_not_treated_as_uniform(distance):
    # The weights differ by 7e-13 of themselves; the better classifiers have the larger ones.
    risks, m, delta = [0.0, 0.0, 0.5], 2, 1 - 1e-12
    prior = np.array([0.3333333333334547, 0.33333333333332377, 0.3333333333332216])
    found = optimal_posterior(risks, m, distance=distance, delta=delta, prior=prior, method="ordered-subsets")
    attained = optimal_posterior(risks, m, distance=distance, delta=delta, prior=prior, tol=1e-15)
    assert found.lower_bound <= min(attained.bound, found.bound)
    assert found.gap <= 1e-6
