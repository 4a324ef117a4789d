"""The SVM path against scikit-learn's SVC and the optimality conditions."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from tests.ensemble.data import one_hot, rbf, two_class_samples

from pacbayes import svm_path
from pacbayes.svm import path as module

SAMPLES = {name: (X, y) for name, X, y in two_class_samples()}
GRID = np.geomspace(0.02, 20.0, 50)


def split_kernels(name):
    """Kernel matrix of one half, kernel of the other half by it, training labels and gamma."""
    X, y = SAMPLES[name]
    half = len(y) // 2
    gamma = 1.0 / np.median(((X[:half, None] - X[None, :half]) ** 2).sum(-1))
    return rbf(X[:half], X[:half], gamma), rbf(X[half:], X[:half], gamma), y[:half], gamma


def violation(K, y, dual_coef, C):
    """KKT violation from the dual coefficients, in extended precision."""
    K, y, coef = (np.asarray(values, np.longdouble) for values in (K, y, dual_coef))
    alpha = y * coef
    assert alpha.min() >= 0.0
    assert alpha.max() <= C
    assert abs(coef.sum()) <= 1e-11 * C * len(y)
    minus_y_gradient = y - K @ coef
    can_grow = np.where(y > 0, alpha < C, alpha > 0)
    can_shrink = np.where(y > 0, alpha > 0, alpha < C)
    return float(minus_y_gradient[can_grow].max() - minus_y_gradient[can_shrink].min())


@pytest.mark.parametrize("name", SAMPLES)
def test_same_predictions_as_svc(name):
    K, K_new, y, gamma = split_kernels(name)
    X, half = SAMPLES[name][0], len(y)
    decisions = svm_path(K, y, GRID).decision_function(K_new)
    differ = []
    for h, lam in enumerate(GRID):
        svc = SVC(C=1.0 / lam, gamma=gamma, tol=1e-3).fit(X[:half], y)
        differ.append(svc.predict(X[half:]) != np.where(decisions[h] >= 0.0, 1.0, -1.0))
    differ = np.array(differ)
    assert differ.mean() <= 0.002
    assert np.all(np.abs(decisions[differ]) < 0.01)
    # LIBSVM rounds its kernel to single precision: round ours as well, for the same problem.
    K = K.astype(np.float32).astype(np.float64)
    path = svm_path(K, y, GRID, tol=1e-8)
    assert path.converged.all()
    decisions = path.decision_function(K_new)
    for h in range(0, GRID.size, 3):
        svc = SVC(C=1.0 / GRID[h], kernel="precomputed", tol=1e-8).fit(K, y)
        np.testing.assert_allclose(decisions[h], svc.decision_function(K_new), rtol=0, atol=1e-6)


def degenerate_kernels():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    noisy = np.where(X[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    yield "overlapping", rbf(X, X, 0.3), noisy
    yield "duplicates", rbf(np.vstack([X, X, X]), np.vstack([X, X, X]), 0.3), np.tile(noisy, 3)
    yield "opposite labels", rbf(np.vstack([X, X[:20]]), np.vstack([X, X[:20]]), 0.3), np.r_[noisy, -noisy[:20]]
    yield "only opposite labels", rbf(np.vstack([X, X]), np.vstack([X, X]), 0.3), np.r_[noisy, -noisy]
    Z, labels = one_hot(120, rng)
    yield "one-hot", rbf(Z, Z, 0.1), np.where(labels == 1, 1.0, -1.0)
    yield "one-hot, linear", Z @ Z.T, np.where(labels == 1, 1.0, -1.0)
    yield "rank one", np.outer(X[:, 0], X[:, 0]), noisy
    yield "all rows equal", np.ones((60, 60)), noisy
    yield "zero", np.zeros((60, 60)), noisy


DEGENERATE = {name: (K, y) for name, K, y in degenerate_kernels()}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", DEGENERATE)
def test_converges_from_tiny_to_large_cost(name, dtype):
    K, y = DEGENERATE[name]
    K = K.astype(dtype)
    costs = 10.0 ** np.arange(-6, 5)
    path = svm_path(K, y, 1.0 / costs)
    assert path.converged.all()
    for h, C in enumerate(1.0 / path.lambdas):
        assert violation(K, y, path.dual_coef[h], C) <= 1e-3 * (1 + 1e-6)
        # Without warm start.
        alone = svm_path(K, y, path.lambdas[h])
        assert alone.converged.all()
        assert violation(K, y, alone.dual_coef[0], C) <= 1e-3 * (1 + 1e-6)


def test_order_and_duplicates_of_lambdas_do_not_matter():
    K, _, y, _ = split_kernels("wine")
    order = np.random.default_rng(1).permutation(GRID.size)
    path, shuffled = svm_path(K, y, GRID), svm_path(K, y, GRID[order])
    np.testing.assert_array_equal(shuffled.lambdas, GRID[order])
    for field in ("dual_coef", "intercept", "n_iter", "kkt_violation", "converged"):
        np.testing.assert_array_equal(getattr(shuffled, field), getattr(path, field)[order])
    path = svm_path(K, y, [0.5, 2.0, 0.5])
    np.testing.assert_array_equal(path.dual_coef[0], path.dual_coef[2])
    assert path.n_iter[2] == 0
    # Warm starts save iterations.
    K, _, y, _ = split_kernels("spam-like")
    lambdas = np.linspace(0.1, 20.0, 400)
    separate = sum(svm_path(K, y, lam).n_iter[0] for lam in lambdas[::20]) * 20
    assert svm_path(K, y, lambdas).n_iter.sum() < separate / 5


def test_solution_without_bounded_variables_is_that_of_all_smaller_lambdas():
    K, K_new, y, _ = split_kernels("wdbc")
    lambdas = np.array([1e-4, 1.0, 1e-23, 1e-9, 1e-5])
    path = svm_path(K, y, lambdas)
    assert np.abs(path.dual_coef[1]).max() == 1.0
    largest = np.abs(path.dual_coef[0]).max()
    assert largest < 1e4
    for h in (2, 3, 4):
        np.testing.assert_array_equal(path.dual_coef[h], path.dual_coef[0])
        assert path.intercept[h] == path.intercept[0]
        assert path.n_iter[h] == 0
        assert violation(K, y, path.dual_coef[h], 1.0 / lambdas[h]) <= 1e-3 * (1 + 1e-6)
    # SVC with a cost just above the largest alpha is the same SVM.
    K = K.astype(np.float32).astype(np.float64)
    svc = SVC(C=largest * 1.01, kernel="precomputed", tol=1e-8).fit(K, y)
    tight = svm_path(K, y, 1e-23, tol=1e-8)
    np.testing.assert_allclose(tight.decision_function(K_new)[0], svc.decision_function(K_new), rtol=0, atol=1e-6)


def test_max_iter_warns_once_and_names_the_lambda():
    K, _, y, _ = split_kernels("waveform")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = svm_path(K, y, [10.0, 1e-3, 1e-4, 1e-5], max_iter=150)
    assert [warning.category for warning in caught] == [ConvergenceWarning]
    assert "max_iter=150" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert path.converged[0]
    assert not path.converged[1:].all()
    np.testing.assert_array_equal(path.converged, path.kkt_violation <= 1e-3)
    assert path.n_iter.max() <= 150
    worst = np.argmax(path.kkt_violation)
    assert f"lambda={path.lambdas[worst]:g}" in str(caught[0].message)
    for h, lam in enumerate(path.lambdas):
        assert violation(K, y, path.dual_coef[h], 1.0 / lam) == pytest.approx(path.kkt_violation[h], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("change", "message"), [
    ({"lambdas": []}, "empty grid"),
    ({"lambdas": [1.0, 0.0]}, "lambdas must be positive and finite.*got 0.0"),
    ({"lambdas": [1e-310]}, "1/lambda"),
    ({"K": np.eye(3)[:2]}, r"K must be a square matrix, got shape \(2, 3\)"),
    ({"K": np.array([[1.0, 0.5, 0], [0.4, 1, 0], [0, 0, 1]])}, "K must be symmetric.*0.1"),
    ({"K": np.diag([1.0, np.nan, 1.0])}, "K must be finite"),
    ({"y": [1, -1]}, r"one label per row of K, shape \(3,\), got shape \(2,\)"),
    ({"y": [1, 0, 1]}, "labels -1 and \\+1, got 0.0"),
    ({"y": [1, 1, 1]}, r"both classes, got \+1 only"),
    ({"tol": 0.0}, "tol must be positive"),
])  # fmt: skip
def test_wrong_input(change, message):
    with pytest.raises(ValueError, match=message):
        svm_path(**({"K": np.eye(3), "y": [1, -1, 1], "lambdas": [1.0]} | change))
    with pytest.raises(ValueError, match=r"shape \(n, 2\), got shape \(1, 3\)"):
        svm_path(np.eye(2), [1, -1], [1.0]).decision_function(np.ones((1, 3)))


PROGRAM = """
import sys, time
import numpy as np
from pacbayes import svm_path
svm_path(np.eye(4), [1, 1, -1, -1], [1.0])
from pacbayes.svm import smo
stats = smo.run_stages.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.mark.slow  # it compiles
def test_compilation_is_cached(tmp_path):
    run = [sys.executable, "-c", PROGRAM]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert first.stdout.split() == ["0", "1"]
    second = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert second.stdout.split() == ["1", "0"]
    assert second.stderr == ""


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_bits_in_one_call_and_in_many(dtype, monkeypatch):
    """Calls end within stages, at intermediate costs and within recomputations of the gradient, and resume there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(rng.random(300) < 0.5, -1.0, 1.0)
    K = rbf(X, X, 0.5).astype(dtype)
    # Distant costs, for intermediate ones; a small tolerance, for recomputed gradients; a max_iter that is reached.
    lambdas, params = [10.0, 1e-3, 0.1, 1e-6], {"tol": 1e-10, "max_iter": 20_000}
    calls, paths = [], []
    smo = module.load_solver(np.dtype(dtype))
    run = smo.run_stages
    monkeypatch.setattr(smo, "run_stages", lambda *arguments: (calls.append(1), run(*arguments))[1])
    for entries in (2**40, 300 * 1000, 1):
        monkeypatch.setattr(module, "_ENTRIES_PER_CALL", entries)
        calls.append(0)
        with pytest.warns(ConvergenceWarning):
            paths.append(svm_path(K, y, lambdas, **params))
    # One call; more than twenty; calls of 64 rows, fewer than a recomputation takes.
    number = np.diff([*np.flatnonzero(np.array(calls) == 0), len(calls)]) - 1
    assert number[0] == 1
    assert number[1] > 20
    assert number[2] > 10 * number[1]
    for path in paths[1:]:
        for name in ("dual_coef", "intercept", "n_iter", "kkt_violation"):
            assert getattr(path, name).tobytes() == getattr(paths[0], name).tobytes()
