"""Rows divided by their labels void the guarantee, by simulation; rows divided without a look at them do not.

The labels are noise: 20 classes, all equally likely whatever the row, so that every classifier's true risk is 0.95.
The classifier says the most frequent class of its training rows.  In a stratified split this is the most frequent one
of the validation rows too, and it seems to err less than it will.
"""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from pacbayes import ClassifierSet, grid_set
from pacbayes.certificates import Plan, certify, find

DELTA, N, CLASSES = 0.05, 1000, 20
TRUE_RISK = 1 - 1 / CLASSES


def certificates(seed, by_label):
    rng = np.random.default_rng([seed, 11])
    X, y = np.zeros((N, 1)), rng.integers(CLASSES, size=N)
    if by_label:
        X, X_val, y, y_val = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        classifiers = ClassifierSet.from_fitted([DummyClassifier().fit(X, y)], X_val, y_val)
    else:
        classifiers = grid_set(DummyClassifier(), {"strategy": ["most_frequent"]}, X, y, random_state=seed)
    plan = Plan(classifiers.splits, delta=DELTA)
    return certify(plan, classifiers.evidence, find(plan, classifiers.evidence))


def p_value(samples, by_label):
    """How probable so many failures are if each has at most the probability delta; and how many there are."""
    failures = sum(certificates(seed, by_label)["best"].bound < TRUE_RISK for seed in range(samples))
    return binomtest(failures, samples, DELTA, alternative="greater").pvalue, failures


SAMPLES = [pytest.param(150, id="short"), pytest.param(2000, id="long", marks=pytest.mark.slow)]


@pytest.mark.parametrize("samples", SAMPLES)
def test_failures_are_compatible_with_delta(samples):
    p, failures = p_value(samples, by_label=False)
    assert p > 1e-3, failures


@pytest.mark.parametrize("samples", SAMPLES)
def test_a_stratified_split_is_caught(samples):
    p, failures = p_value(samples, by_label=True)
    assert p < 1e-6, failures
