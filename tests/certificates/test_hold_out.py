"""The hold-out baseline: the exact limit of the classifier that cross-validation chose."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer

from pacbayes import svm_set
from pacbayes.certificates.hold_out import hold_out
from pacbayes.classifiers.cross_validation import CrossValidation


def test_the_bound_is_the_binomial_limit_of_the_chosen_one():
    X, y = load_breast_cancer(return_X_y=True)
    classifiers = svm_set(X, y, [0.03, 0.3, 1.0, 30.0], random_state=3)
    found = CrossValidation(np.array([2]), np.zeros((1, 5), int), np.full(5, 9))
    baseline = hold_out(classifiers, found, 2, 0.05)
    assert binom.cdf(classifiers.errors[2], classifiers.m, baseline.bound) == pytest.approx(0.05, rel=1e-6)
    assert "lambda = 1" in baseline.note
