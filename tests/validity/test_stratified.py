"""Rows divided by their labels void the guarantee, by simulation; rows divided without a look at them do not.

The labels are noise: 20 classes, all equally likely whatever the row, so that every classifier's true risk is 0.95.
The classifier says the most frequent class of its training rows.  In a stratified split this is the most frequent one
of the validation rows too, and it seems to err less than it will.
"""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier

from pacbayes import Baseline, grid_set, optimal_posterior
from pacbayes.certificates import certify

DELTA, N, CLASSES = 0.05, 1000, 20
TRUE_RISK = 1 - 1 / CLASSES
NONE = Baseline(None, None, "not asked for")


def certificates(seed, **arguments):
    rng = np.random.default_rng([seed, 11])
    y = rng.integers(CLASSES, size=N)
    grid = {"strategy": ["most_frequent"]}
    classifiers = grid_set(DummyClassifier(), grid, np.zeros((N, 1)), y, random_state=seed, **arguments)
    posterior = optimal_posterior(classifiers.risks, classifiers.m, delta=DELTA)
    return certify(posterior, classifiers, delta=DELTA, prior=None, hold_out=NONE, constant=NONE)


def p_value(samples, **arguments):
    """How probable so many failures are if each has at most the probability delta; and how many there are."""
    failures = sum(certificates(seed, **arguments)["best"].bound < TRUE_RISK for seed in range(samples))
    return binomtest(failures, samples, DELTA, alternative="greater").pvalue, failures


SAMPLES = [pytest.param(150, id="short"), pytest.param(2000, id="long", marks=pytest.mark.slow)]


@pytest.mark.parametrize("samples", SAMPLES)
def test_failures_are_compatible_with_delta_by_default(samples):
    p, failures = p_value(samples)
    assert p > 1e-3, failures


@pytest.mark.parametrize("samples", SAMPLES)
def test_a_stratified_split_is_caught(samples):
    p, failures = p_value(samples, stratify=True)
    assert p < 1e-6, failures


def test_certificates_of_a_stratified_split_say_that_they_are_not_valid():
    for certificate in certificates(0, stratify=True).values():
        assert "stratify=True" in certificate.not_valid
        assert str(certificate).startswith("Not valid, because the rows were divided by their labels")
        assert certificate.explain().startswith("Not valid, because")
        assert certificate.to_dict()["not_valid"] == certificate.not_valid
    for certificate in certificates(0).values():
        assert certificate.not_valid is None
        assert str(certificate).startswith("With probability at least 95 %")
