"""Monitors of fitted models: counted losses, and rejected rows and models."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from pacbayes import Abstain, CertifiedClassifier, Monitor, StochasticSVC, load, save


def rows(n, seed, noise=0.05):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where((X[:, 0] > 0) ^ (rng.random(n) < noise), "yes", "no")


@pytest.fixture(scope="module")
def clf():
    return CertifiedClassifier("logistic", random_state=0).fit(*rows(400, 0))


@pytest.mark.parametrize("voting", ["soft", "majority", "best", "stochastic"])
def test_monitor_counts_errors_of_the_voting(voting):
    model = StochasticSVC([0.1, 1.0], hedge="auto", random_state=0).fit(*rows(300, 1)).set_params(voting=voting)
    (X, y), monitor = rows(200, 2), model.monitor(alpha=0.002)
    assert (monitor.bound, monitor.alpha) == (model.certificates_[voting].bound, 0.002)
    monitor.update(X[:50], y[:50]).update(X=X[50:], y_true=y[50:])
    assert monitor.losses.tolist() == (model.predict(X) != y).tolist()
    assert np.array_equal(monitor.e_values, Monitor(monitor.bound, 0.002).update_errors(model.predict(X) != y).e_values)
    assert model.certificates_[voting].holds_for in str(monitor)


def test_rejected_rows_do_not_count():
    model = CertifiedClassifier("logistic", decision=Abstain(0.1), random_state=0).fit(*rows(800, 3, 0.04))
    X, y = rows(300, 4, 0.04)
    accepted = model.accepts(X)
    assert 0 < accepted.sum() < 300
    monitor = model.monitor().update(X, y)
    assert monitor.bound == 0.1
    assert monitor.losses.tolist() == (model.predict(X) != y)[accepted].tolist()
    assert "on accepted rows" in str(monitor)


def test_groups():
    X, y = rows(600, 6)
    groups = np.arange(600) // 4
    model = CertifiedClassifier("logistic", random_state=0).fit(X, y, groups=groups)
    new, labels = rows(40, 7, 0.3)
    monitor = model.monitor().update(new, labels, groups=np.repeat(["d", "c", "b", "a"], 10))
    wrong = (model.predict(new) != labels).reshape(4, 10)
    assert monitor.losses.tolist() == wrong.mean(axis=1).tolist()
    assert monitor.bound == model.certificate_.bound
    with pytest.raises(ValueError, match="groups are required"):
        model.monitor().update(new, labels)


def test_monitor_is_tied_to_fit_and_voting():
    model, (X, y) = StochasticSVC([0.1, 1.0], hedge="auto", random_state=0).fit(*rows(300, 8)), rows(50, 9)
    monitor = model.monitor().update(X, y)
    model.set_params(voting="best")
    with pytest.raises(ValueError, match="create a new monitor"):
        monitor.update(X, y)
    model.set_params(voting="stochastic")
    monitor.update(X, y)
    model.fit(*rows(300, 10))
    with pytest.raises(ValueError, match="create a new monitor"):
        monitor.update(X, y)
    assert monitor.rows == 100


def test_rows_of_the_fit_are_rejected(clf):
    with pytest.raises(ValueError, match="X must hold rows that the model was not fitted with"):
        clf.monitor().update(*rows(400, 0))
    X, y = rows(400, 0)
    with pytest.warns(UserWarning, match="rows equal a row that the model was fitted with"):
        clf.monitor().update(X[:100], y[:100])


@pytest.mark.parametrize(
    "options",
    [
        {"candidates": "logistic"},
        {"candidates": ["logistic", "neighbours"], "decision": Abstain(0.2)},
        {"candidates": "logistic", "metrics": ("recall",), "pos_label": "yes"},
        {"candidates": "logistic", "refit": True},
    ],
)
def test_resume_requires_the_same_model(options, tmp_path):
    model = CertifiedClassifier(random_state=0, **options).fit(*rows(300, 14))
    model.monitor().update(*rows(40, 15)).save(tmp_path / "watch.json")
    model.predict(rows(5, 16)[0])
    save(model, tmp_path / "model")
    for same in (model, load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), clone(model).fit(*rows(300, 14))):
        assert same.monitor().resume(tmp_path / "watch.json").rows == model.monitor().update(*rows(40, 15)).rows
    # Other rows with the same labels and errors give an equal certificate.
    other = clone(model).fit(rows(300, 14)[0] + 1e-9, rows(300, 14)[1])
    assert other.certificate_.bound == model.certificate_.bound
    with pytest.raises(ValueError, match="belongs to another certificate, or another model"):
        other.monitor().resume(tmp_path / "watch.json")
