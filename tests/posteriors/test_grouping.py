"""Classifiers grouped by their risk."""

import numpy as np

from pacbayes import optimal_posterior
from pacbayes.posteriors.gibbs import group_risks


def test_grouping_by_count_and_by_sort_agree():
    rng = np.random.default_rng(10)
    for m in (1, 7, 1000):
        counts = rng.integers(0, m + 1, 5000)
        prior = rng.dirichlet(np.ones(5000))
        prior[rng.random(5000) < 0.3] = 0.0
        prior[counts == 0] = 0.0  # a whole group without prior mass
        prior /= prior.sum()
        counted = group_risks(counts / m, m, prior)
        values, inverse = np.unique(counts / m, return_inverse=True)
        mass = np.bincount(inverse, weights=prior)
        np.testing.assert_array_equal(counted.risks, values[mass > 0])
        np.testing.assert_allclose(counted.mass, mass[mass > 0], rtol=1e-12)
        np.testing.assert_array_equal(counted.keys, np.unique(counts[prior > 0]))
        # Every group's mass in proportion to the prior, nothing outside the groups.
        np.testing.assert_allclose(counted.spread(counted.mass), prior, rtol=1e-12)
        in_group = np.bincount(counts, weights=prior)[counts]
        shares = np.divide(prior, in_group, out=np.zeros(5000), where=in_group > 0)
        squares = np.bincount(counts, weights=shares**2)
        np.testing.assert_allclose(counted.concentration(), squares[squares > 0], rtol=1e-12)


def test_risks_next_to_a_multiple_count_as_it():
    # A risk rounded up from k/m, as a careful counter would, is the same count.
    risks = np.nextafter(np.arange(1, 6) / 49, 1.0)
    assert group_risks(np.concatenate([risks, np.arange(1, 6) / 49]), 49, None).risks.size == 5
    assert group_risks(np.array([0.1, 0.1 + 1e-12]), 10, None).risks.size == 2  # but not a nearby loss
    assert group_risks(np.array([0.0, 1e-20, 0.1]), 10, None).risks.size == 3  # nor a tiny one as none


def test_bounded_losses_and_large_m_are_sorted():
    risks = np.random.default_rng(11).random(1000)
    assert group_risks(risks, 10**9, None).risks.size == 1000
    assert optimal_posterior(risks, 10**9).converged


def test_many_equal_prior_weights_are_summed_exactly_enough():
    # Added one after the other, a million weights of 1e-6 are off by 8e-12.
    H = 10**6
    risks = np.full(H, 0.3)
    risks[0] = 0.29
    posterior = optimal_posterior(risks, 1, distance="linear", prior=np.full(H, 1 / H), tol=1e-12)
    assert 0 <= posterior.gap <= 1e-12
    assert abs(posterior.weights.sum() - 1) < 1e-12
    assert posterior.lower_bound <= optimal_posterior(risks, 1, distance="linear", tol=1e-12).bound
