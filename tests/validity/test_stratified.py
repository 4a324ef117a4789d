"""A stratified split voids the guarantee, by simulation; a random split does not.

Labels are noise: 20 equally likely classes, so that every classifier has the risk 0.95.  The classifier predicts the
majority class of its training rows.  In a stratified split it is the majority class of the validation rows, too, and
its error rate there is too small.
"""

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split
from tests.validity.square import compatible, fits

from pacbayes import ClassifierSet, grid_set
from pacbayes.certificates import Plan, certify, fit_posteriors

DELTA, N, CLASSES = 0.05, 1000, 20
TRUE_RISK = 1 - 1 / CLASSES


def certificates(seed, stratified):
    rng = np.random.default_rng([seed, 11])
    X, y = np.zeros((N, 1)), rng.integers(CLASSES, size=N)
    if stratified:
        X, X_val, y, y_val = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        classifiers = ClassifierSet.from_fitted([DummyClassifier().fit(X, y)], X_val, y_val)
    else:
        classifiers = grid_set(DummyClassifier(), {"strategy": ["most_frequent"]}, X, y, random_state=seed)
    plan = Plan(classifiers.splits, delta=DELTA)
    return certify(plan, classifiers.predictions, fit_posteriors(plan, classifiers.predictions))


def failures(samples, stratified):
    return sum(certificates(seed, stratified)["best"].bound < TRUE_RISK for seed in range(samples))


@fits(150, 2000)
def test_failures_are_compatible_with_delta(fits):
    assert compatible(failures(fits, stratified=False), fits, DELTA, 1e-3)


@fits(150, 2000)
def test_a_stratified_split_is_caught(fits):
    assert not compatible(failures(fits, stratified=True), fits, DELTA, 1e-6)
