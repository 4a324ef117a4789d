"""The guarantee of the posterior that minimises the bound, by simulation with known true risks."""

import warnings

import numpy as np
import pytest
from tests.validity.square import DELTA, largest

from pacbayes import DISTANCES, optimal_posterior
from pacbayes.bounds import Catoni

SAMPLES, H, M = 1_000, 20, 40
TRUE_RISKS = np.linspace(0.1, 0.5, H)


def simulated_risks(rng):
    """Empirical risks of H classifiers on one shared sample: half of each classifier's errors are common to all."""
    common, independent = rng.random((M, 1)), rng.random((M, H))
    shared = rng.random((M, 1)) < 0.5
    return (np.where(shared, common, independent) < TRUE_RISKS).mean(axis=0)


def failures(distance, constant, draw, prior=lambda risks: None):
    rng = np.random.default_rng(12)
    count = 0
    for _ in range(SAMPLES):
        risks, true = draw(rng)
        posterior = optimal_posterior(
            risks, M, distance=distance, constant=constant, delta=DELTA, tol=1e-6, prior=prior(risks)
        )
        count += float(posterior.weights @ true) > posterior.bound
    return count


LARGEST = largest(SAMPLES)


@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_failures_are_compatible_with_delta(distance, constant):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert failures(distance, constant, lambda rng: (simulated_risks(rng), TRUE_RISKS)) <= LARGEST


@pytest.mark.parametrize("C", [0.1, 0.5, 2.0])
def test_failures_of_catoni_are_compatible_with_delta(C):
    assert failures(Catoni(C), "exact", lambda rng: (simulated_risks(rng), TRUE_RISKS)) <= LARGEST


def test_a_prior_and_a_parameter_from_the_validation_errors_are_caught():
    """The planted fault: the prior "cross-validation", computed on validation rows."""

    def equal_risks(rng):
        return rng.binomial(M, 0.4, 200) / M, np.full(200, 0.4)

    def from_validation(risks):
        weights = np.exp(-M * (risks - risks.min()))
        return weights / weights.sum()

    assert failures(Catoni.expecting(0.25, M, DELTA), "exact", equal_risks, from_validation) > LARGEST
    assert failures(Catoni.expecting(0.25, M, DELTA), "exact", equal_risks) <= LARGEST


def test_classifiers_chosen_on_the_validation_rows_are_caught():
    def best_of_many(rng):
        # Each classifier is the best of 200 coins on its own validation sample.
        return rng.binomial(M, 0.5, (H, 200)).min(axis=1) / M, np.full(H, 0.5)

    assert failures("kl", "exact", best_of_many) > LARGEST
