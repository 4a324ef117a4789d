"""Nyström approximation against scikit-learn's and the exact kernel; linear SVMs by Newton's method.

Optimality is checked against LIBSVM and on hostile samples; errors are recomputed from predictions.
"""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import zero_one_loss
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pacbayes import StochasticSVC, svm_set
from pacbayes._utils import threads
from pacbayes._utils.threads import limit_to_one_core, limit_to_one_thread
from pacbayes.svm import landmarks as module
from pacbayes.svm.kernel import Kernel
from pacbayes.svm.landmarks import TOL, RowProducts, hinge_path, nystroem_map

RBF = Kernel("rbf", 0.2)


def rows_of(seed, n=200, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_features_against_scikit_learn_and_the_kernel(monkeypatch):
    rows, landmarks = rows_of(0), rows_of(1, 25)
    nystroem = nystroem_map(landmarks, RBF)
    features, of_landmarks = nystroem.features(rows), nystroem.features(landmarks)
    reference = Nystroem(gamma=0.2, n_components=25).fit(landmarks).transform(rows)
    np.testing.assert_allclose(features @ features.T, reference @ reference.T, atol=1e-5)
    # The approximation is exact at landmarks, and never exceeds the kernel.
    np.testing.assert_allclose(of_landmarks @ features.T, RBF.between(landmarks, rows), atol=1e-5)
    assert (np.square(features).sum(axis=1) <= 1.0 + 1e-9).all()
    weights = np.random.default_rng(6).normal(size=(3, nystroem.matrix.shape[1]))
    by_landmarks = nystroem.coefficients(weights) @ RBF.between(landmarks, rows)
    np.testing.assert_allclose(by_landmarks, weights @ features.T, atol=1e-8)
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 25 * 7)
    np.testing.assert_allclose(nystroem.features(rows), features, rtol=1e-12, atol=1e-12)
    # Equal landmarks share a dimension.
    assert nystroem_map(np.repeat(rows_of(9, 3), 5, axis=0), RBF).matrix.shape == (15, 3)
    assert np.isfinite(nystroem_map(np.zeros((4, 2)), RBF).matrix).all()


GRID = np.array([0.02, 0.3, 2.0, 40.0])
PARAMS = {"kernel": "nystroem", "random_state": 1}


def sample(name):
    X, y = load_breast_cancer(return_X_y=True) if name == "two" else load_wine(return_X_y=True)
    return X[:, :9], np.array(["red", "green", "blue"])[y]


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize(("name", "scale"), [("two", True), ("three", False)])
def test_errors_equal_those_of_predictions(split, scale, name):
    X, y = sample(name)
    gamma = "sigest" if scale else 1e-3
    found = svm_set(X, y, GRID, split=split, scale=scale, gamma=gamma, n_components=40, **PARAMS)
    assert (found.kkt_violation <= TOL).all()
    assert found.converged.all()
    everything = found.predict(X)
    for i in range(GRID.size):
        one, validation = found[i], found.splits(i)[1]
        assert len(one.support_vectors_) <= 40
        assert found.errors[i] == zero_one_loss(y[validation], one.predict(X[validation]), normalize=False)
        np.testing.assert_array_equal(everything[i], one.predict(X))


def test_all_training_rows_as_landmarks_give_the_svms_of_svc():
    X, y = sample("two")
    found = svm_set(X, y, GRID, n_components=10**6, **PARAMS)
    train = found.splits(0)[0]
    scaled = StandardScaler().fit(X[train])
    shrink = np.sqrt((train.size - 1) / train.size)
    rows = scaled.transform(X) * shrink
    for i, lam in enumerate(GRID):
        svc = SVC(C=1.0 / lam, gamma=found.params[i]["gamma"], tol=1e-6).fit(rows[train], y[train])
        difference = np.abs(found[i].decision_function(X) - svc.decision_function(rows))
        assert np.quantile(difference, 0.99) < 0.05
        assert np.mean(found[i].predict(X) != svc.predict(rows)) <= 0.01


def test_same_results_for_any_number_of_workers():
    X, y = make_classification(3000, 8, flip_y=0.1, random_state=0)
    choices = {"n_components": 60, "hedge": "auto", "cv": 3, **PARAMS}
    one, three = (StochasticSVC(GRID, n_jobs=n, **choices).fit(X, y) for n in (1, 3))
    np.testing.assert_array_equal(one.classifiers_.errors, three.classifiers_.errors)
    paths = [model.classifiers_.members.svms[0].pairs[0].path for model in (one, three)]
    assert paths[0].dual_coef.tobytes() == paths[1].dual_coef.tobytes()
    assert one.certificate_.baselines["holdout"].note == three.certificate_.baselines["holdout"].note
    shares = [model.set_params(voting="soft").predict_proba(X).tobytes() for model in (one, three)]
    assert shares[0] == shares[1]


# Linear SVMs.

LAMBDAS = np.geomspace(100.0, 0.01, 25)


class Path(NamedTuple):
    weights: np.ndarray
    intercept: np.ndarray
    n_iter: np.ndarray
    kkt_violation: np.ndarray


def solve(rows, signs, lambdas=LAMBDAS):
    with limit_to_one_thread():
        return Path(*hinge_path(RowProducts(np.ascontiguousarray(rows)), signs, np.asarray(lambdas)))


def hinge_sample(seed, n=300, d=12, noise=0.1):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) / np.sqrt(d)
    signs = np.sign(rows[:, 0] + rows[:, 1] ** 2 - 0.05)
    signs[rng.random(n) < noise] *= -1.0
    return rows, signs


def objective(rows, signs, weights, intercept, lam):
    margins = signs * (rows @ weights + intercept)
    return 0.5 * weights @ weights + np.maximum(1.0 - margins, 0.0).sum() / lam


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((40, 3)),
        np.ones((40, 3)),
        np.repeat(np.random.default_rng(4).normal(size=(4, 3)), 10, axis=0),
        np.outer(np.linspace(-1.0, 1.0, 40), [1.0, 1.0, 1e-9]),
        np.random.default_rng(5).normal(size=(40, 3)) * [1e-8, 1.0, 1e3],
    ],
    ids=["zero", "constant", "duplicates with both classes", "nearly singular", "scales"],
)
@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.filterwarnings("ignore:Solver terminated early")  # of LIBSVM, whose objective is the reference anyway
def test_hostile_samples(rows, share):
    signs = np.where(np.arange(40) % round(1 / share) == 0, 1.0, -1.0)
    lambdas = np.geomspace(1e6, 1e-3, 12)
    path = solve(rows, signs, lambdas)
    assert np.isfinite(path.weights).all()
    assert np.isfinite(path.intercept).all()
    for i, lam in enumerate(lambdas):
        svc = SVC(C=1.0 / lam, kernel="linear", tol=1e-6, max_iter=10**5).fit(rows, signs)
        reference = objective(rows, signs, svc.coef_[0], svc.intercept_[0], lam)
        ours = objective(rows, signs, path.weights[i], path.intercept[i], lam)
        assert ours <= reference * (1.0 + 5e-3) + 1e-12


def test_same_bits_for_any_number_of_cores(monkeypatch):
    rows, signs = hinge_sample(7, n=9000, d=150)
    with limit_to_one_core():
        one = solve(rows, signs, LAMBDAS[::8])
    monkeypatch.setattr(threads, "_cores_of_process", lambda: 3)
    two = solve(rows, signs, LAMBDAS[::8])
    assert one.weights.tobytes() == two.weights.tobytes()
    assert one.intercept.tobytes() == two.intercept.tobytes()


@pytest.fixture(params=[1, 4], ids=["one core", "four cores"])
def n_cores(request, monkeypatch):
    monkeypatch.setattr(threads, "_cores_of_process", lambda: request.param)


@pytest.mark.usefixtures("n_cores")
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40_000, 60), (3, 700_000)])
def test_products_equal_those_of_numpy(shape):
    rng = np.random.default_rng(0)
    matrix, down, across = rng.normal(size=shape), rng.normal(size=shape[0]), rng.normal(size=shape[1])
    products = RowProducts(matrix)
    np.testing.assert_allclose(products.times(across), matrix @ across, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(products.transposed_times(down), down @ matrix, rtol=1e-9, atol=1e-9)
    for which in (np.arange(0), np.array([0]), np.flatnonzero(rng.random(shape[0]) < 0.7)):
        if shape[1] < 100:
            rows = np.column_stack([matrix[which], np.ones(which.size)])
            np.testing.assert_allclose(products.gram(which), rows.T @ rows, atol=1e-8)
