"""Sets of support vector machines: errors recomputed from predictions, and agreement with scikit-learn."""

import tracemalloc
from importlib import import_module

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs
from sklearn.metrics import zero_one_loss
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tests.ensemble.data import one_hot

from pacbayes import svm_set
from pacbayes._utils.memory import BLOCK_BYTES

GRID = np.array([0.1, 20.0, 0.02, 1.0, 5.0, 0.3])
WDBC = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)


def named(y):
    return np.array(["red", "green", "blue"])[y]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("scale", [True, False, "kernlab"])
@pytest.mark.parametrize("sample", ["two", "three"])
def test_errors_equal_those_of_predictions(kernel, split, scale, sample):
    X, y = (WDBC[0][::2, :5], WDBC[1][::2]) if sample == "two" else (WINE[0][:, [0, 1, 6]], named(WINE[1]))
    # Columns of scales 1, 2, ...: scaling matters, and unscaled linear SVMs still converge in seconds.
    X = X / X.std(axis=0) * np.arange(1, X.shape[1] + 1)
    gamma = "sigest" if scale else 0.01
    classifiers = svm_set(X, y, GRID, kernel=kernel, split=split, scale=scale, gamma=gamma, random_state=1)
    assert len(classifiers) == GRID.size
    predictions = classifiers.predict(X)
    for i, lam in enumerate(GRID):
        svm = classifiers[i]
        train, validation = classifiers.splits(i)
        assert is_classifier(svm)
        assert svm.n_features_in_ == X.shape[1]
        assert classifiers.params[i]["lambda"] == lam
        assert classifiers.errors[i] == zero_one_loss(y[validation], svm.predict(X[validation]), normalize=False)
        np.testing.assert_array_equal(predictions[i], svm.predict(X))
        assert svm.score(X[validation], y[validation]) == pytest.approx(1.0 - classifiers.risks[i])
        rows = np.concatenate([train, validation])
        np.testing.assert_array_equal(np.sort(rows), np.arange(len(y)))
        assert validation.size == classifiers.m
        # The same SVM from scikit-learn.
        scaled = StandardScaler().fit(X[train]) if scale else None
        shrink = np.sqrt((len(train) - 1) / len(train)) if scale else 1.0
        standardise = (lambda Z, s=scaled, f=shrink: s.transform(Z) * f) if scale else (lambda Z: Z)
        svc = SVC(C=1.0 / lam, kernel=kernel, gamma=classifiers.params[i].get("gamma", 1.0)).fit(
            standardise(X[train]), y[train]
        )
        assert np.mean(svc.predict(standardise(X)) != predictions[i]) <= 0.02
        np.testing.assert_array_equal(svm.classes_, svc.classes_)
        assert svm.decision_function(X).shape == svc.decision_function(standardise(X)).shape
        if kernel == "rbf":
            difference = np.abs(svm.decision_function(X) - svc.decision_function(standardise(X)))
            assert np.quantile(difference, 0.99) < 0.02


def test_vote_of_several_classes_is_that_of_svc():
    # Ten overlapping blobs, so that some votes are tied.
    X, y = make_blobs(600, centers=10, cluster_std=3.5, random_state=0)
    classifiers = svm_set(X, y, [0.05, 1.0, 10.0], random_state=0, scale=False, gamma=0.05)
    train, validation = classifiers.splits(0)
    n_ties = 0
    for i, lam in enumerate([0.05, 1.0, 10.0]):
        svc = SVC(C=1 / lam, gamma=0.05, decision_function_shape="ovo").fit(X[train], y[train])
        votes = np.zeros((validation.size, 10), dtype=int)
        pairs = [(a, b) for a in range(10) for b in range(a + 1, 10)]
        for column, (a, b) in zip(svc.decision_function(X[validation]).T, pairs, strict=True):
            votes[np.arange(len(votes)), np.where(column > 0, a, b)] += 1
        top = np.sort(votes, axis=1)
        n_ties += np.count_nonzero(top[:, -1] == top[:, -2])
        different = svc.predict(X[validation]) != classifiers[i].predict(X[validation])
        assert different.mean() <= 0.01
        ovr = SVC(C=1 / lam, gamma=0.05).fit(X[train], y[train]).decision_function(X[validation])
        assert np.quantile(np.abs(ovr - classifiers[i].decision_function(X[validation])), 0.98) < 0.02
    assert n_ties >= 5


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("scale", [True, False])
def test_same_bits_for_any_number_of_jobs(split, scale):
    X, y = WINE
    results = [svm_set(X, y, GRID, split=split, scale=scale, random_state=5, n_jobs=jobs) for jobs in (1, 2, 3, None)]
    first = results[0]
    for other in results[1:]:
        np.testing.assert_array_equal(first.errors, other.errors)
        assert first.params == other.params
        for i in range(len(first)):
            np.testing.assert_array_equal(first[i].decision_function(X), other[i].decision_function(X))
            np.testing.assert_array_equal(first[i].support_vectors_, other[i].support_vectors_)


@pytest.mark.parametrize("split", ["shared", "independent"])
def test_degenerate_data(split):
    rng = np.random.default_rng(0)
    X, y = one_hot(80, rng)
    cases = [
        (np.vstack([X, X]), np.concatenate([y, 1 - y])),
        (X[:, :1], y),
        (np.arange(8.0)[:, None], np.array([0, 1] * 4)),
        (np.hstack([X, np.ones((80, 1))]), y),
        (X.astype(np.float32), y.astype(bool)),
    ]
    for features, labels in cases:
        classifiers = svm_set(features, labels, [1e-4, 1.0, 100.0], split=split, random_state=2)
        assert classifiers.converged.all()
        for i in range(3):
            _, validation = classifiers.splits(i)
            assert classifiers.errors[i] == np.count_nonzero(
                classifiers[i].predict(features[validation]) != labels[validation]
            )


def test_memory_is_within_the_documented_bound():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = (X[:, 0] + 0.3 * rng.normal(size=3000) > 0).astype(int)
    for lambdas in (np.linspace(1.0, 20.0, 50), np.linspace(1.0, 20.0, 2500)):
        svm_set(X[:100], y[:100], [1.0], random_state=0)  # exclude imports and compilation
        tracemalloc.start()
        svm_set(X, y, lambdas, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        n = 1500
        assert peak <= 1.25 * 8 * (n * n + lambdas.size * n) + BLOCK_BYTES + 3 * X.nbytes


@pytest.mark.parametrize("arguments", [{}, {"split": "independent"}, {"split": "independent", "scale": False}])
def test_memory_is_checked_before_allocation(arguments):
    X, y = np.zeros((20_000, 2)), np.arange(20_000) % 2
    tracemalloc.start()
    with pytest.raises(
        MemoryError, match=r"10000 x 10000.*needs .* [GM]B, more than max_bytes = 500 MB\..* Give fewer rows"
    ):
        svm_set(X, y, [1.0], max_bytes=500_000_000, random_state=0, n_jobs=1, **arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes


X2, Y2 = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lambdas": []}, "empty grid"),
        ({"y": np.zeros(6)}, "at least two classes, got class 0.0 only"),
        ({"y": Y2[:5]}, "inconsistent numbers of samples"),
        ({"X": np.where(X2 == 3.0, np.nan, X2)}, "Input X contains NaN"),
        ({"y": [0, 0, 0, 0, 0, 1], "split": "independent", "lambdas": np.ones(50)}, "classifier .* are of class 0"),
        (
            {"y": ["a", "a", "a", "a", "a", "b"], "random_state": 7},
            "training set are of class 'a'",
        ),
        ({"validation_size": 0.2}, "at least two training and two validation rows, got 0.2 of 6 rows: 5 and 1"),
        ({"validation_size": 6}, "validation_size must be between 1 and 5 rows, got 6"),
        ({"kernel": "poly"}, "unknown kernel 'poly'"),
        ({"gamma": -1.0}, "gamma must be 'widths', 'three widths', 'sigest', 'scale', 'auto', a pos"),
        ({"gamma": "widths", "split": "independent"}, "gamma must be a single width for split='independent'"),
        ({"scale": "yes"}, "scale must be True, False, 'auto' or 'kernlab'"),
        ({"scale": "auto", "split": "independent"}, "scale must be True, False or 'kernlab' for split='independent'"),
    ],
)
def test_wrong_input(change, message, monkeypatch):
    monkeypatch.setattr(import_module("pacbayes.svm.one_vs_one"), "solve_path", None)  # raises if anything is trained
    arguments = {"X": X2, "y": Y2, "lambdas": [1.0], "random_state": 0, **change}
    with pytest.raises(ValueError, match=message):
        svm_set(**arguments)
