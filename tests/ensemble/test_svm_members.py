"""SVMs trained on a kernel in single precision, and machines of several widths as one set."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import make_classification
from tests.svm.test_path import violation

from pacbayes import svm_set
from pacbayes.ensemble import svm_folds as folds
from pacbayes.ensemble.members import Coding

svm_set_module = import_module("pacbayes.ensemble.svm_set")
LAMBDAS = np.geomspace(0.01, 10.0, 7)


@pytest.fixture
def single(monkeypatch):
    for module in (svm_set_module, folds):
        monkeypatch.setattr(module, "SINGLE_FROM", 100)


def sample(classes=2):
    return make_classification(500, n_features=8, n_informative=5, n_classes=classes, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("gamma", ["sigest", "widths"])
@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_counted_is_what_predicts(single, classes, gamma):
    X, y = sample(classes)
    made = svm_set(X, y, LAMBDAS, gamma=gamma, random_state=0)
    validation = made.splits(0)[1]
    for i, errors in enumerate(made.errors):
        assert np.count_nonzero(made[i].predict(X[validation]) != y[validation]) == errors


def test_as_far_from_optimal_as_stated(single, monkeypatch):
    X, y = sample()
    made = svm_set(X, y, LAMBDAS, random_state=0)
    members = made.members
    K, signs = members.kernels[0].gram(members.rows), np.where(y[made.splits(0)[0]] == 1, 1.0, -1.0)
    path = members.svms[0].pairs[0].path
    for h, lam in enumerate(LAMBDAS):
        allowed = 1e-3 + 2.0**-23 * np.abs(path.dual_coef[h]).sum()
        assert violation(K, signs, path.dual_coef[h], 1.0 / lam) <= allowed * (1 + 1e-6)
    # The fixture did something: in double precision the machines are others.
    monkeypatch.setattr(folds, "SINGLE_FROM", 10**9)
    double = svm_set(X, y, LAMBDAS, random_state=0).members.svms[0].pairs[0].path
    assert not np.array_equal(path.dual_coef, double.dual_coef)
    np.testing.assert_allclose(path.decision_function(K), double.decision_function(K), rtol=0, atol=5e-3)


# -- several widths --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "nystroem"])
@pytest.mark.parametrize("classes", [2, 4])
def test_five_widths_are_five_sets_of_one(kernel, classes):
    """To the last bit on landmarks; kernels of several widths are in single precision."""
    X, y = sample(classes)
    choices = {"kernel": kernel, "n_components": 50, "random_state": 0}
    made = svm_set(X, y, LAMBDAS, gamma="widths", **choices)
    members = made.members
    widths = [one.gamma for one in members.kernels]
    assert len(made) == 35
    np.testing.assert_allclose(widths, widths[2] * np.array([1 / 16, 1 / 4, 1, 4, 16]), rtol=1e-15)
    apart = [svm_set(X, y, LAMBDAS, gamma=width, **choices) for width in widths]
    assert widths[2] == svm_set(X, y, LAMBDAS, gamma="sigest", **choices).params[0]["gamma"]
    # A list of the same widths is the same set.
    listed = svm_set(X, y, LAMBDAS, gamma=widths, **choices)
    assert listed.params == made.params == [one for part in apart for one in part.params]
    np.testing.assert_array_equal(made.errors, listed.errors)
    assert made.converged.all()
    whole, rng, coding = members.prepared(X), np.random.default_rng(0), Coding(members.classes)
    table = members.predict(whole, np.arange(35), coding)
    alone = np.concatenate([part.members.predict(whole, np.arange(7), coding) for part in apart])
    assert np.count_nonzero(table != alone) <= (0 if kernel == "nystroem" else 0.005 * table.size)
    assert len(np.unique(table, axis=0)) > 10
    # In any order, some more than once.
    which = rng.integers(35, size=20)
    np.testing.assert_array_equal(members.predict(whole, which, coding), table[which])
    drawn = rng.integers(35, size=len(X))
    np.testing.assert_array_equal(members.predict_assigned(whole, drawn, coding), table[drawn, np.arange(len(X))])
    for i in (0, 8, 20, 34):
        one, alone = made[i], apart[i // 7][i % 7]
        assert one.gamma_ == widths[i // 7]
        # A row between two classes has a vote more or less.
        close = np.abs(one.decision_function(X) - alone.decision_function(X)) <= (0.0 if kernel == "nystroem" else 0.02)
        assert close.mean() >= (1.0 if kernel == "nystroem" else 0.995)
