"""Machines trained on a kernel in single precision: what is counted predicts, and how far from optimal they are."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import make_classification
from tests.classifiers.svm.test_folds import folds_of_set
from tests.classifiers.svm.test_path import violation

from pacbayes import svm_set
from pacbayes.classifiers.cross_validation import cross_validate
from pacbayes.classifiers.svm import folds

svm_set_module = import_module("pacbayes.classifiers.svm.svm_set")
LAMBDAS = np.geomspace(0.01, 10.0, 7)


@pytest.fixture
def single(monkeypatch):
    for module in (svm_set_module, folds):
        monkeypatch.setattr(module, "SINGLE_FROM", 100)


def sample(classes=2):
    return make_classification(500, n_features=8, n_informative=5, n_classes=classes, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_counted_is_what_predicts(single, classes):
    X, y = sample(classes)
    made = svm_set(X, y, LAMBDAS, random_state=0)
    validation = made.splits(0)[1]
    for i, errors in enumerate(made.errors):
        assert np.count_nonzero(made[i].predict(X[validation]) != y[validation]) == errors


def test_as_far_from_optimal_as_stated(single, monkeypatch):
    X, y = sample()
    made = svm_set(X, y, LAMBDAS, random_state=0)
    members = made.members
    K, signs = members.kernel.gram(members.rows), np.where(y[made.splits(0)[0]] == 1, 1.0, -1.0)
    path = members.machines.paths[0]
    for h, lam in enumerate(LAMBDAS):
        allowed = 1e-3 + 2.0**-23 * np.abs(path.dual_coef[h]).sum()
        assert violation(K, signs, path.dual_coef[h], 1.0 / lam) <= allowed * (1 + 1e-6)
    # The fixture did something: in double precision the machines are others.
    monkeypatch.setattr(folds, "SINGLE_FROM", 10**9)
    double = svm_set(X, y, LAMBDAS, random_state=0).members.machines.paths[0]
    assert not np.array_equal(path.dual_coef, double.dual_coef)
    np.testing.assert_allclose(path.decision_function(K), double.decision_function(K), rtol=0, atol=5e-3)


def test_folds_count_with_the_kernel_that_predicts(single, monkeypatch):
    def count():
        return cross_validate(folds_of_set(*sample(), LAMBDAS), np.arange(7), 3, np.random.default_rng(0)).errors

    expected = count()
    # No memory for one matrix of all rows: each fold computes its own, and rounds it the same way.
    monkeypatch.setattr(folds, "memory_limit", lambda _: (1, "test"))
    np.testing.assert_array_equal(count(), expected)
