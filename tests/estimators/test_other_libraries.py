"""Classifiers of other libraries, as candidates and prefit; skipped if a library is not installed."""

import sys

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_wine

from pacbayes import CertifiedClassifier, Grid, certify_predictions
from pacbayes.ensemble import by_name

DATA = {2: load_breast_cancer, 3: load_wine}
LIBRARIES = {
    "lightgbm": (
        "LGBMClassifier",
        {"n_estimators": 15, "min_child_samples": 5, "verbose": -1, "n_jobs": 1, "random_state": 0},
    ),
    "xgboost": ("XGBClassifier", {"n_estimators": 15, "n_jobs": 1, "random_state": 0}),
    "catboost": (
        "CatBoostClassifier",
        {
            "n_estimators": 15,
            "verbose": False,
            "allow_writing_files": False,
            "thread_count": 1,
            "random_state": 0,
        },
    ),
}


def boosted(library):
    """Unfitted classifier of a library; skips the test without it."""
    name, settings = LIBRARIES[library]
    return getattr(pytest.importorskip(library), name)(**settings)


def data(n_classes):
    """Random split of rows and labels."""
    X, y = DATA[n_classes](return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    half = len(y) // 2
    return X[:half], y[:half], X[half:], y[half:]


def clopper_pearson(errors, m, delta=0.05):
    return beta.ppf(1 - delta, errors + 1, m - errors)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_prefit_classifier(library, n_classes):
    model, (X, y, X_test, y_test) = boosted(library), data(n_classes)
    model.fit(X, y)
    clf = CertifiedClassifier.from_fitted(model, X_test, y_test)
    # CatBoost predicts a column for three classes.
    y_pred = np.ravel(model.predict(X_test))
    errors = int((y_pred != y_test).sum())
    assert clf.certificate_.bound == pytest.approx(clopper_pearson(errors, len(y_test)), rel=1e-9)
    assert clf.predict(X_test).shape == y_test.shape
    assert np.array_equal(clf.predict(X_test), y_pred)
    assert np.array_equal(clf.predict_proba(X_test), model.predict_proba(X_test))
    assert certify_predictions(y_test, model.predict(X_test)).bound == clf.certificate_.bound


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_candidates(library, n_classes):
    model, (X, y, X_new, y_new) = boosted(library), data(n_classes)
    clf = CertifiedClassifier(Grid(model, {"max_depth": [2, 3]}), cv=3, random_state=0).fit(X, y)
    assert clf.voting_ == "soft"
    y_pred, probabilities = clf.predict(X_new), clf.predict_proba(X_new)
    assert y_pred.shape == y_new.shape
    assert np.array_equal(clf.classes_[probabilities.argmax(axis=1)], y_pred)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-9)
    assert np.mean(y_pred != y_new) < clf.certificate_.bound < 0.4
    for voting in ("majority", "best"):
        assert np.mean(clf.set_params(voting=voting).predict(X_new) == y_new) > 0.8


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_named_families(library, n_classes, monkeypatch):
    pytest.importorskip(library)
    X, y, X_new, _ = data(n_classes)
    monkeypatch.setitem(by_name.LIBRARIES[library][1], "n_estimators", 15)
    names = np.array(["red", "rosé", "white"])
    clf = CertifiedClassifier([library, "logistic"], cv=3, random_state=0).fit(X, names[y])
    assert clf.classifiers_.params[0] == {"candidate": library}
    assert set(clf.predict(X_new)) == set(names[:n_classes])
    assert clf.certificate_.bound < 0.3
    again = CertifiedClassifier([library, "logistic"], cv=3, random_state=0).fit(X, names[y])
    assert np.array_equal(again.predict_proba(X_new), clf.predict_proba(X_new))


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    X, y, _, _ = data(2)
    with pytest.raises(ImportError, match=r"candidates 'xgboost' needs xgboost, .* pip install xgboost"):
        CertifiedClassifier("xgboost").fit(X, y)


@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
def test_string_labels(library):
    model, (X, y, X_new, _) = boosted(library), data(3)
    names = np.array(["red", "rosé", "white"])
    clf = CertifiedClassifier(Grid(model, {"max_depth": [2, 3]}), cv=3, random_state=0).fit(X, names[y])
    assert set(clf.predict(X_new)) == set(names)


class Network(ClassifierMixin, BaseEstimator):
    """Torch module with `fit`, `predict` and `predict_proba`."""

    def __init__(self, hidden=8, steps=60):
        self.hidden, self.steps = hidden, steps

    def fit(self, X, y):
        import torch

        torch.manual_seed(0)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.mean_, self.scale_ = X.mean(axis=0), X.std(axis=0)
        self.module_ = torch.nn.Sequential(
            torch.nn.Linear(X.shape[1], self.hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(self.hidden, len(self.classes_)),
        )
        optimiser = torch.optim.Adam(self.module_.parameters(), lr=0.05)
        for _ in range(self.steps):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(self._logits(X), torch.as_tensor(codes)).backward()
            optimiser.step()
        return self

    def _logits(self, X):
        import torch

        return self.module_(torch.as_tensor((X - self.mean_) / self.scale_, dtype=torch.float32))

    def predict_proba(self, X):
        import torch

        with torch.no_grad():
            return torch.softmax(self._logits(X).double(), dim=1).numpy()

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class TensorClassifier:
    """Torch module with a method `predict` that returns a tensor."""

    def __init__(self, network):
        self.network = network

    def predict(self, X):
        return self.network._logits(X).argmax(dim=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_torch_module(n_classes):
    pytest.importorskip("torch")
    X, y, X_test, y_test = data(n_classes)
    network = Network().fit(X, y)
    y_pred = network.predict(X_test)
    errors = int((y_pred != y_test).sum())
    clf = CertifiedClassifier.from_fitted(network, X_test, y_test)
    assert clf.certificate_.bound == pytest.approx(clopper_pearson(errors, len(y_test)), rel=1e-9)
    assert np.array_equal(clf.predict(X_test), y_pred)
    assert np.array_equal(clf.predict_proba(X_test), network.predict_proba(X_test))
    bare = CertifiedClassifier.from_fitted(TensorClassifier(network), X_test, y_test)
    assert bare.certificate_.bound == clf.certificate_.bound
    assert not hasattr(bare, "predict_proba")
    logits = network._logits(X_test)
    for predictions in (y_pred, logits.argmax(dim=1), logits.argmax(dim=1).tolist()):
        assert certify_predictions(y_test, predictions).bound == clf.certificate_.bound


def test_torch_modules_as_candidates():
    pytest.importorskip("torch")
    X, y, X_new, y_new = data(3)
    clf = CertifiedClassifier(Grid(Network(), {"hidden": [2, 8]}), cv=3, random_state=0).fit(X, y)
    assert clf.voting_ == "soft"
    assert np.mean(clf.predict(X_new) != y_new) < clf.certificate_.bound < 0.4
