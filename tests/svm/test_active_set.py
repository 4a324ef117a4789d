"""The active-set method: optimality by an independent check, for any kernel, and the updated Cholesky factor."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from tests.ensemble.data import rbf
from tests.svm.test_path import DEGENERATE, violation

from pacbayes import svm_path
from pacbayes._utils import threads
from pacbayes.svm import active_set
from pacbayes.svm import path as path_module
from pacbayes.svm.active_set import FactorizationError, FreeFactor
from pacbayes.svm.kernel import Kernel

GRID = np.geomspace(0.01, 100.0, 41)


@pytest.fixture
def solves(monkeypatch):
    """Use the active-set method at every cost with a neighbour; list the outcomes of its attempts."""
    monkeypatch.setattr(path_module, "_ACTIVE_SET_FROM", 2)
    monkeypatch.setattr(path_module, "_PATIENCE", 0)
    monkeypatch.setattr(path_module, "_FEW", -1)
    outcomes, solve = [], active_set.ActiveSet.solve

    def recorded(self, *arguments):
        outcomes.append(solve(self, *arguments))
        return outcomes[-1]

    monkeypatch.setattr(active_set.ActiveSet, "solve", recorded)
    return outcomes


def noisy(n=400, features=10, seed=0):
    X, y = make_classification(n, n_features=features, flip_y=0.1, random_state=seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.where(y == 1, 1.0, -1.0)


def check_optimal(K, y, path, tol=1e-3):
    for h, lam in enumerate(path.lambdas):
        assert violation(K, y, path.dual_coef[h], 1.0 / lam) <= tol * (1 + 1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_optimal_at_every_lambda(solves, dtype, tol):
    X, y = noisy()
    K = rbf(X, X, 0.05).astype(dtype)
    path = svm_path(K, y, GRID, tol=tol)
    assert path.converged.all()
    assert len(solves) > 20
    assert np.mean(solves) > 0.9
    check_optimal(K, y, path, tol)
    for h in range(0, GRID.size, 5):
        found = violation(K, y, path.dual_coef[h], 1.0 / GRID[h])
        assert abs(max(found, 0.0) - path.kkt_violation[h]) <= 0.02 * tol
    # A few steps each, where SMO takes hundreds of iterations.
    assert np.median(path.n_iter) <= 4


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("ratio", [1.3, 10.0])
def test_degenerate_kernels_from_tiny_to_huge_cost(solves, name, dtype, ratio):
    K, y = DEGENERATE[name]
    K = K.astype(dtype)
    path = svm_path(K, y, 1e6 / ratio ** np.arange(int(np.log(1e10) / np.log(ratio))))
    assert path.converged.all()
    check_optimal(K, y, path)


def test_indefinite_kernel_ends_with_correct_kkt_violation(solves):
    rng = np.random.default_rng(2)
    Q = rng.normal(size=(150, 150)) / 10.0
    K, y = (Q + Q.T) / 2.0 + 0.5 * np.eye(150), np.where(rng.random(150) < 0.5, -1.0, 1.0)
    path = svm_path(K, y, np.geomspace(0.1, 10.0, 30))
    for h, lam in enumerate(path.lambdas):
        assert violation(K, y, path.dual_coef[h], 1.0 / lam) <= max(path.kkt_violation[h], 1e-3) * (1 + 1e-6) + 1e-9


def test_failed_attempts_do_not_change_the_path(solves, monkeypatch):
    """If the active-set method always fails, the path is that of SMO, to the last bit."""
    X, y = noisy(200)
    K = rbf(X, X, 0.05)

    def failing(self, cost, s, g, before, limit):
        before_attempt = s.copy(), g.copy()
        assert iterate(self, cost, s, g, before, limit)[0] is not None
        np.testing.assert_array_equal([s, g], before_attempt)
        raise FactorizationError

    iterate = active_set.ActiveSet._iterate
    monkeypatch.setattr(active_set.ActiveSet, "_iterate", failing)
    tried = svm_path(K, y, GRID)
    assert solves
    assert not any(solves)
    monkeypatch.setattr(path_module, "_ACTIVE_SET_FROM", 10**9)
    alone = svm_path(K, y, GRID)
    np.testing.assert_array_equal(tried.dual_coef, alone.dual_coef)
    np.testing.assert_array_equal(tried.intercept, alone.intercept)
    np.testing.assert_array_equal(tried.kkt_violation, alone.kkt_violation)


@pytest.mark.parametrize("fault", ["a wrong solution", "rounding errors"])
def test_planted_faults_are_corrected_by_smo(solves, monkeypatch, fault):
    """SMO starts from the result of the active-set method and measures it."""
    X, y = noisy(200)
    K = rbf(X, X, 0.05)
    step, add = active_set.ActiveSet._step, active_set.ActiveSet._add

    def faulty_step(self, beta, values):
        # Free variables and K beta change, and the residual does not show it.
        left = step(self, beta, values)
        free = self._factor.free
        moved = np.zeros(free.size)
        moved[: 2 * (free.size > 1)] = [0.01, -0.01] if free.size > 1 else []
        beta[free] += moved
        self._add(free, moved, values)
        left[free] = 0.0
        return left

    def faulty_add(self, rows, coefs, values):
        # Reported errors of K beta make SMO recompute it before convergence.
        add(self, rows, coefs, values)
        values[::3] += 1e-4
        self.error += 1e-4

    name, planted = ("_step", faulty_step) if fault == "a wrong solution" else ("_add", faulty_add)
    monkeypatch.setattr(active_set.ActiveSet, name, planted)
    path = svm_path(K, y, GRID)
    assert any(solves)
    check_optimal(K, y, path)


def test_same_bits_on_any_number_of_cores(monkeypatch):
    X, y = noisy(2450, features=20)
    # A wide kernel with few free variables, for which the active-set method is faster.
    K = Kernel("rbf", 0.005).gram(X)
    lambdas, paths = np.geomspace(0.01, 0.3, 6), []
    for n_cores in (1, 2, 5):
        monkeypatch.setattr(threads, "_cores_of_process", lambda n_cores=n_cores: n_cores)
        paths.append(svm_path(K, y, lambdas))
    for name in ("dual_coef", "intercept", "n_iter", "kkt_violation"):
        assert len({getattr(path, name).tobytes() for path in paths}) == 1


RNG = np.random.default_rng(3)
X = RNG.normal(size=(500, 6))
K = rbf(X, X, 0.2)


def marked(*variables):
    mask = np.zeros(500, dtype=bool)
    mask[list(variables)] = True
    return mask


def check(factor, kernel, ridge, rtol):
    """Compare with a dense solution of the bordered system."""
    F = factor.free
    matrix = np.ones((F.size + 1, F.size + 1))
    matrix[:-1, :-1] = kernel[np.ix_(F, F)].astype(np.float64) + ridge * np.eye(F.size)
    matrix[-1, -1] = 0.0
    vector, total = RNG.normal(size=F.size), RNG.normal()
    expected = np.linalg.solve(matrix, np.append(vector, total))
    solution, intercept = factor.solve(vector, total)
    np.testing.assert_allclose(np.append(solution, intercept), expected, rtol=0, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block", [1, 7, 16])
@pytest.mark.parametrize("max_inactive", [0.0, 0.15, 1.0])  # rebuild always, sometimes, never
def test_factor_updates(dtype, block, max_inactive, monkeypatch):
    for name in ("_BLOCK", "_SIDES_PER_PART", "_ROWS_PER_PART"):
        monkeypatch.setattr(active_set, name, block)
    monkeypatch.setattr(active_set, "_MAX_INACTIVE", max_inactive)
    rng, kernel, ridge = np.random.default_rng(block), K.astype(dtype), 1e-3
    factor, expected, n_rejoined = FreeFactor(kernel, ridge), set(), 0
    for _ in range(25):
        members = factor.free
        leave = members[rng.random(members.size) < rng.choice([0.0, 0.1, 0.4, 0.9])]
        outside = np.setdiff1d(np.arange(150), members)  # few, so that some rejoin
        join = rng.permutation(outside)[: rng.integers(0, 40)]
        n_rejoined += np.isin(join, factor._variables).sum()
        expected = (expected - set(leave.tolist())) | set(join.tolist())
        factor.update(marked(*expected), rng.random(500))
        assert set(factor.free.tolist()) == expected
        assert factor.free.size == len(expected)
        if expected:
            check(factor, kernel, ridge, 1e-9)
    assert (n_rejoined > 0) == (max_inactive > 0.0)
