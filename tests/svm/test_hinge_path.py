"""Linear machines by Newton's method: optimality checked independently, against scikit-learn, on hostile samples."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.svm import SVC

from pacbayes._utils import threads
from pacbayes._utils.threads import one_core, one_thread
from pacbayes.svm.landmarks import TOL, RowProducts, hinge_path

LAMBDAS = np.geomspace(100.0, 0.01, 25)


class Path(NamedTuple):
    weights: np.ndarray
    intercept: np.ndarray
    n_iter: np.ndarray
    kkt_violation: np.ndarray


def solve(rows, signs, lambdas=LAMBDAS):
    with one_thread():
        return Path(*hinge_path(RowProducts(np.ascontiguousarray(rows)), signs, np.asarray(lambdas)))


def sample(seed, n=300, d=12, noise=0.1):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) / np.sqrt(d)
    signs = np.sign(rows[:, 0] + rows[:, 1] ** 2 - 0.05)
    signs[rng.random(n) < noise] *= -1.0
    return rows, signs


def objective(rows, signs, weights, intercept, lam):
    margins = signs * (rows @ weights + intercept)
    return 0.5 * weights @ weights + np.maximum(1.0 - margins, 0.0).sum() / lam


def duality_gap(rows, signs, weights, intercept, lam):
    """Objective minus the best dual value with w fixed, a linear program of its own; relative to the objective.

    For duals a of a feasible point, sum(a) - |sum(a y x)|^2 / 2 is a lower bound of every objective.  Near the optimum
    a may be taken from the margins; here by a linear program: the duals that come closest to w = sum(a y x).
    """
    n, cost = signs.size, 1.0 / lam
    signed = signs[:, None] * rows
    # minimise  sum |w - sum(a y x)|_1 * 10 - sum(a)  over 0 <= a <= C, sum(a y) = 0
    d = rows.shape[1]
    target = np.concatenate([-np.ones(n), np.full(2 * d, 10.0 * (1.0 + np.abs(weights).max()))])
    equal = np.block([[signed.T, np.eye(d), -np.eye(d)], [signs[None, :], np.zeros((1, 2 * d))]])
    found = linprog(
        target, A_eq=equal, b_eq=np.append(weights, 0.0), bounds=[(0.0, cost)] * n + [(0.0, None)] * (2 * d)
    )
    duals = found.x[:n]
    lower = duals.sum() - 0.5 * np.square(duals @ signed).sum()
    value = objective(rows, signs, weights, intercept, lam)
    return (value - lower) / value


@pytest.mark.parametrize("seed", [0, 1])
def test_no_machine_has_a_much_smaller_objective(seed):
    rows, signs = sample(seed)
    path = solve(rows, signs)
    assert (path.kkt_violation <= TOL).all()
    for i in range(0, LAMBDAS.size, 4):
        gap = duality_gap(rows, signs, path.weights[i], path.intercept[i], LAMBDAS[i])
        assert -1e-9 <= gap <= 2e-3


@pytest.mark.parametrize("seed", [2, 3])
def test_machines_are_those_of_libsvm(seed):
    rows, signs = sample(seed)
    path = solve(rows, signs)
    for i in range(0, LAMBDAS.size, 3):
        svc = SVC(C=1.0 / LAMBDAS[i], kernel="linear", tol=1e-8).fit(rows, signs)
        reference = objective(rows, signs, svc.coef_[0], svc.intercept_[0], LAMBDAS[i])
        excess = objective(rows, signs, path.weights[i], path.intercept[i], LAMBDAS[i]) / reference - 1.0
        assert -1e-8 <= excess <= 1e-4
        ours = rows @ path.weights[i] + path.intercept[i]
        assert np.mean((ours >= 0.0) != (svc.decision_function(rows) >= 0.0)) <= 0.01


def test_separable_classes_reach_the_hard_margin():
    rows = np.array([[-2.0, 0.3], [-1.0, -0.5], [1.0, 0.1], [3.0, 0.2]])
    signs = np.array([-1.0, -1.0, 1.0, 1.0])
    path = solve(rows, signs, [1e-2, 1e-6, 1e-12])
    svc = SVC(C=1e6, kernel="linear", tol=1e-8).fit(rows, signs)
    np.testing.assert_allclose(path.weights, np.repeat(svc.coef_, 3, axis=0), rtol=0.02)


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((40, 3)),
        np.ones((40, 3)),
        np.repeat(np.random.default_rng(4).normal(size=(4, 3)), 10, axis=0),
        np.outer(np.linspace(-1.0, 1.0, 40), [1.0, 1.0, 1e-9]),
        np.random.default_rng(5).normal(size=(40, 3)) * [1e-8, 1.0, 1e3],
    ],
    ids=["zero", "constant", "copies with both classes", "nearly singular", "scales"],
)
@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.filterwarnings("ignore:Solver terminated early")  # LIBSVM: whatever it reached is to be reached here too
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


def test_lambdas_in_any_order_and_far_apart():
    rows, signs = sample(6)
    lambdas = np.array([3.0, 1e4, 0.02, 3.0, 1e-4])
    path = solve(rows, signs, lambdas)
    np.testing.assert_allclose(path.weights[0], path.weights[3], atol=1e-2)
    for i in (0, 2):
        alone = solve(rows, signs, lambdas[i : i + 1])
        np.testing.assert_allclose(path.weights[i], alone.weights[0], atol=2e-2 * np.abs(alone.weights).max())


def test_same_bits_for_any_number_of_cores(monkeypatch):
    rows, signs = sample(7, n=9000, d=150)
    with one_core():
        one = solve(rows, signs, LAMBDAS[::8])
    monkeypatch.setattr(threads, "_cores_of_process", lambda: 3)
    two = solve(rows, signs, LAMBDAS[::8])
    assert one.weights.tobytes() == two.weights.tobytes()
    assert one.intercept.tobytes() == two.intercept.tobytes()


@pytest.fixture(params=[1, 4], ids=["one core", "four cores"])
def some_cores(request, monkeypatch):
    monkeypatch.setattr(threads, "_cores_of_process", lambda: request.param)


@pytest.mark.usefixtures("some_cores")
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40_000, 60), (3, 2_000_000)])
def test_products_are_those_of_the_whole_matrix(shape):
    rng = np.random.default_rng(0)
    matrix, down, across = rng.normal(size=shape), rng.normal(size=shape[0]), rng.normal(size=shape[1])
    products = RowProducts(matrix)
    np.testing.assert_allclose(products.times(across), matrix @ across, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(products.transposed_times(down), down @ matrix, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("some_cores")
def test_outer_products_of_some_rows():
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(30_000, 40))
    products = RowProducts(matrix)
    for which in (np.arange(0), np.array([7]), np.flatnonzero(rng.random(30_000) < 0.7)):
        rows = np.column_stack([matrix[which], np.ones(which.size)])
        np.testing.assert_allclose(products.gram(which), rows.T @ rows, atol=1e-8)
