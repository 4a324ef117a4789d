"""From a point of the curve to weights and their values."""

import numpy as np
import pytest

from pacbayes import bound, optimal_posterior
from pacbayes.posteriors.posterior import Problem


@pytest.mark.parametrize("H", [1, 3, 1990, 70_000])
@pytest.mark.parametrize("m", [7, 1840, 200_000])
def test_values_of_a_point_are_those_of_its_weights_to_the_last_bit(H, m):
    # Few logarithms for many classifiers: the same terms, summed in the same order.
    rng = np.random.default_rng(H + m)
    risks = rng.binomial(m, np.linspace(0.05, 0.3, H)) / m
    for prior in (None, rng.dirichlet(np.ones(H))):
        problem = Problem.checked(risks, m, "kl", 0.05, prior, "exact")
        for beta in (0.0, 3.0, 900.0, np.inf):
            weights, values = problem.at(problem.curve.at(beta))
            assert values == problem.evaluate(weights)
            assert values.bound == bound(weights, risks, m, prior=prior)


def test_the_posterior_of_a_million_classifiers_has_the_bound_of_its_weights():
    risks = np.random.default_rng(0).integers(0, 1000, 10**6) / 2000
    posterior = optimal_posterior(risks, 2000)
    assert posterior.bound == bound(posterior.weights, risks, 2000)
    # Equal risks have equal weights.
    _, first = np.unique(risks, return_index=True)
    np.testing.assert_array_equal(posterior.weights, posterior.weights[first][(risks * 2000).round().astype(int)])
