"""Rows divided by their labels void the guarantee, by simulation; rows divided without a look at them do not.

The labels are noise: 20 classes, all equally likely whatever the row, so that every classifier's true risk is 0.95.
The classifier says the most frequent class of its training rows.  In a stratified split this is the most frequent one
of the validation rows too, and it seems to err less than it will.
"""

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split
from tests.validity.square import compatible, fits

from pacbayes import ClassifierSet, grid_set
from pacbayes.certificates import Plan, certify, fit_posteriors

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
    return certify(plan, classifiers.predictions, fit_posteriors(plan, classifiers.predictions))


def failures(samples, by_label):
    return sum(certificates(seed, by_label)["best"].bound < TRUE_RISK for seed in range(samples))


@fits(150, 2000)
def test_failures_are_compatible_with_delta(fits):
    assert compatible(failures(fits, by_label=False), fits, DELTA, 1e-3)


@fits(150, 2000)
def test_a_stratified_split_is_caught(fits):
    assert not compatible(failures(fits, by_label=True), fits, DELTA, 1e-6)
