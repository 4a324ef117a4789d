"""Posteriors optimised on the validation rows, for one or several distances."""

import numpy as np
import pytest
from tests.certificates.cases import a_set, fixed_rules

from pacbayes import gibbs_posterior, optimal_posterior
from pacbayes.certificates import choose_posterior, fit_posteriors
from pacbayes.certificates.metrics import parse_metrics
from pacbayes.certificates.posteriors import restore_posterior
from pacbayes.certificates.voting import float_weights, integer_weights

RISKS, M = np.array([8, 9, 9, 12, 40]) / 150, 150
DEFAULTS = {"delta": 0.05, "prior": None, "constant": "exact"}


@pytest.mark.parametrize(
    ("distance", "error"), [("chi", ValueError), (["kl", "kl"], ValueError), ([], TypeError), (3, TypeError)]
)
def test_invalid_distances(distance, error):
    with pytest.raises(error, match="distance"):
        choose_posterior(RISKS, M, distance=distance, **DEFAULTS)


def test_a_level_too_small_to_divide_is_rejected():
    arguments = DEFAULTS | {"delta": 5e-324}
    assert choose_posterior(RISKS, M, distance="kl", **arguments).bound <= 1.0
    with pytest.raises(ValueError, match="large enough to be divided among 2 distances, got 5e-324"):
        choose_posterior(RISKS, M, distance=["kl", "ch"], **arguments)


def test_the_posterior_is_optimal_at_its_level():
    plan, predictions = fixed_rules(a_set([9, 8, 30]), 0, hedge=0.1, metrics=parse_metrics(("error",)))
    posterior = fit_posteriors(plan, predictions).posterior
    assert posterior.bound == pytest.approx(
        optimal_posterior(np.array([9, 8, 30]) / 100, 100, delta=0.004).bound, abs=1e-9
    )
    assert posterior.delta == plan.hedged_level
    # Weights are multiples of 2^-52: draws are exact.
    assert (np.ldexp(posterior.weights, 52) % 1 == 0).all()
    assert posterior.weights.sum() == 1.0


def test_the_bound_of_given_weights_is_recomputed():
    weights = np.array([0.5, 0.25, 0.25, 0.0, 0.0])
    posterior = restore_posterior(weights, RISKS, M, distance="kl", **DEFAULTS)
    best = choose_posterior(RISKS, M, distance="kl", **DEFAULTS)
    assert np.array_equal(posterior.weights, weights)
    assert posterior.lower_bound == best.lower_bound <= best.bound < posterior.bound
    assert not posterior.converged
    same = restore_posterior(best.weights, RISKS, M, distance="kl", **DEFAULTS)
    assert same.bound == best.bound


def test_nearly_optimal_weights_are_converged():
    best = choose_posterior(RISKS, M, distance="kl", **DEFAULTS)
    weights = float_weights(integer_weights(gibbs_posterior(RISKS, best.beta * (1 + 1e-5))))
    posterior = restore_posterior(weights, RISKS, M, distance="kl", **DEFAULTS)
    assert best.bound < posterior.bound <= best.bound + 1e-9
    assert posterior.converged
