"""Kernels against plain formulas, the exponential against extended precision."""

import numpy as np
import pytest
from tests.classifiers.data import rbf

from pacbayes.classifiers.svm.kernels import kernel as module
from pacbayes.classifiers.svm.kernels.kernel import Kernel, fit_scaling, shared_matrix
from pacbayes.runtime.progress import Stage


def test_exponential_is_within_one_unit_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate([20.0 * rng.random(5000), 708.0 * rng.random(5000), [0.0, 1e-300, 1e-17, 707.99]])
    columns = np.arange(x.size)
    values = Kernel("rbf", 1.0).of_shared(x[None, :], np.array([0]), columns)[0]
    exact = np.exp(-x.astype(np.longdouble))
    assert np.max(np.abs(values - exact) / np.spacing(exact.astype(float))) < 1.0
    assert values[10_000] == 1.0


def test_exponential_of_huge_distances_is_zero():
    values = Kernel("rbf", 1.0).of_shared(np.array([[708.0, 1e4, 1e300, np.inf]]), np.array([0]), np.arange(4))
    np.testing.assert_array_equal(values, 0.0)


def test_gaussian_of_rows():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(70, 5)), rng.normal(size=(33, 5))
    kernel = Kernel("rbf", 0.3)
    np.testing.assert_allclose(kernel.between(A, B), rbf(A, B, 0.3), rtol=1e-12)
    gram = kernel.gram(A)
    np.testing.assert_allclose(gram, rbf(A, A, 0.3), rtol=1e-12)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_array_equal(gram.diagonal(), 1.0)
    some = np.array([3, 1, 60])
    np.testing.assert_allclose(
        kernel.of_shared(shared_matrix(A, "rbf"), some, some), gram[np.ix_(some, some)], rtol=1e-12
    )


def test_linear_of_rows():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(7, 5)), rng.normal(size=(3, 5))
    kernel = Kernel("linear", None)
    np.testing.assert_allclose(kernel.between(A, B), A @ B.T)
    some = np.array([2, 0])
    np.testing.assert_allclose(kernel.of_shared(shared_matrix(A, "linear"), some, some), kernel.gram(A[some]))


def test_distances_survive_a_large_offset():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 2))
    np.testing.assert_allclose(shared_matrix(X + 1e6, "rbf"), ((X[:, None] - X[None]) ** 2).sum(-1), atol=1e-8)


def test_scaling_uses_the_sample_deviation_and_leaves_constant_columns():
    X = np.array([[1.0, 7.0], [2.0, 7.0], [6.0, 7.0]])
    scaled = fit_scaling(X, True)(X)
    np.testing.assert_allclose(scaled[:, 0], (X[:, 0] - 3.0) / np.sqrt(7.0))
    np.testing.assert_array_equal(scaled[:, 1], 0.0)
    # kernlab scales nothing when one column is constant; the kernel sees differences only.
    np.testing.assert_allclose(np.diff(fit_scaling(X, "kernlab")(X), axis=0), np.diff(X, axis=0))
    np.testing.assert_array_equal(fit_scaling(X, False)(X), X)


@pytest.mark.parametrize("scale", [True, "kernlab"])
def test_scaling_without_constant_columns(scale):
    X = np.random.default_rng(0).normal(size=(20, 3)) * [1.0, 10.0, 100.0]
    scaled = fit_scaling(X, scale)(X)
    np.testing.assert_allclose(scaled.std(axis=0, ddof=1), 1.0)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-14)


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.3), Kernel("linear", None)])
def test_the_same_bits_in_one_call_and_in_many(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(700, 3)), rng.normal(size=(300, 3))
    places = rng.permutation(700)[:400]
    results, steps = [], []
    monkeypatch.setattr(Stage, "advance", lambda self, number: steps.extend([number] * (number > 0)))
    for terms in (2**60, 1):
        monkeypatch.setattr(module, "_TERMS_PER_PART", terms)
        shared = shared_matrix(A, kernel.name)
        parts = [kernel.gram(A), kernel.between(A, B), shared, kernel.of_shared(shared, places, places[::-1].copy())]
        results.append([part.tobytes() for part in parts])
        # Three tiles of columns; divided further, the six corners of a triangle.
        assert steps == [1] * (2 * (3 if terms > 1 else 6))
        steps.clear()
    assert results[0] == results[1]


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.3), Kernel("linear", None)])
def test_single_precision_is_the_double_one_rounded(kernel):
    A = np.random.default_rng(0).normal(size=(500, 4))
    single = kernel.gram_in_single(A)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, kernel.gram(A).astype(np.float32))
    np.testing.assert_array_equal(single, single.T)
