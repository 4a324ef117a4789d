"""SVMs trained in single precision, and SVMs of several widths as one set."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import make_classification
from tests.svm.test_path import violation

from pacbayes import svm_set
from pacbayes.ensemble import svm_folds
from pacbayes.ensemble.members import Coding

LAMBDAS = np.geomspace(0.01, 10.0, 7)


@pytest.fixture
def single(monkeypatch):
    for module in (import_module("pacbayes.ensemble.svm_set"), svm_folds):
        monkeypatch.setattr(module, "SINGLE_PRECISION_FROM", 100)


def sample(classes=2):
    return make_classification(500, n_features=8, n_informative=5, n_classes=classes, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("gamma", ["sigest", "widths"])
@pytest.mark.parametrize("classes", [2, 3])
def test_counted_errors_are_those_of_predict(single, classes, gamma):
    X, y = sample(classes)
    classifiers = svm_set(X, y, LAMBDAS, gamma=gamma, random_state=0)
    validation = classifiers.splits(0)[1]
    for i, errors in enumerate(classifiers.errors):
        assert np.count_nonzero(classifiers[i].predict(X[validation]) != y[validation]) == errors


def test_kkt_violation_in_single_precision(single, monkeypatch):
    X, y = sample()
    classifiers = svm_set(X, y, LAMBDAS, random_state=0)
    members = classifiers.members
    K, signs = members.kernels[0].gram(members.rows), np.where(y[classifiers.splits(0)[0]] == 1, 1.0, -1.0)
    path = members.svms[0].pairs[0].path
    for dual, lam in zip(path.dual_coef, LAMBDAS, strict=True):
        maximum = 1e-3 + 2.0**-23 * np.abs(dual).sum()
        assert violation(K, signs, dual, 1.0 / lam) <= maximum * (1 + 1e-6)
    # In double precision the SVMs are different.
    monkeypatch.setattr(svm_folds, "SINGLE_PRECISION_FROM", 10**9)
    double = svm_set(X, y, LAMBDAS, random_state=0).members.svms[0].pairs[0].path
    assert not np.array_equal(path.dual_coef, double.dual_coef)
    np.testing.assert_allclose(path.decision_function(K), double.decision_function(K), rtol=0, atol=5e-3)


@pytest.mark.parametrize("kernel", ["rbf", "nystroem"])
@pytest.mark.parametrize("classes", [2, 4])
def test_five_widths_are_five_sets(kernel, classes):
    """To the last bit on landmarks; kernels of several widths are in single precision."""
    X, y = sample(classes)
    options = {"kernel": kernel, "n_components": 50, "random_state": 0}
    exact = kernel == "nystroem"
    classifiers = svm_set(X, y, LAMBDAS, gamma="widths", **options)
    members = classifiers.members
    widths = [width_kernel.gamma for width_kernel in members.kernels]
    assert len(classifiers) == 35
    np.testing.assert_allclose(widths, widths[2] * np.array([1 / 16, 1 / 4, 1, 4, 16]), rtol=1e-15)
    sets = [svm_set(X, y, LAMBDAS, gamma=width, **options) for width in widths]
    assert widths[2] == svm_set(X, y, LAMBDAS, gamma="sigest", **options).params[0]["gamma"]
    listed = svm_set(X, y, LAMBDAS, gamma=widths, **options)
    assert listed.params == classifiers.params == [params for single in sets for params in single.params]
    np.testing.assert_array_equal(classifiers.errors, listed.errors)
    assert classifiers.converged.all()
    rows, rng, coding = members.preprocess(X), np.random.default_rng(0), Coding(members.classes)
    table = members.predict(rows, np.arange(35), coding)
    by_set = np.concatenate([single.members.predict(rows, np.arange(7), coding) for single in sets])
    assert np.count_nonzero(table != by_set) <= (0 if exact else 0.005 * table.size)
    assert len(np.unique(table, axis=0)) > 10
    # In any order, with repetitions.
    indices = rng.integers(35, size=20)
    np.testing.assert_array_equal(members.predict(rows, indices, coding), table[indices])
    assigned = rng.integers(35, size=len(X))
    np.testing.assert_array_equal(members.predict_assigned(rows, assigned, coding), table[assigned, np.arange(len(X))])
    for i in (0, 8, 20, 34):
        svm, single = classifiers[i], sets[i // 7][i % 7]
        assert svm.gamma_ == widths[i // 7]
        # A row near the boundary between two classes may have a vote more or less.
        difference = np.abs(svm.decision_function(X) - single.decision_function(X))
        assert (difference <= (0.0 if exact else 0.02)).mean() >= (1.0 if exact else 0.995)
