"""Kernels against plain formulas, the exponential against extended precision, the width against R's kernlab."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tests.ensemble.data import rbf

from pacbayes import sigest
from pacbayes.svm import kernel as module
from pacbayes.svm.kernel import Kernel, fit_scaling, shared_matrix, sigma_from_pairs


def test_exponential_is_within_one_unit_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate([20.0 * rng.random(5000), 708.0 * rng.random(5000), [0.0, 1e-300, 1e-17, 707.99]])
    values = Kernel("rbf", 1.0).gram_from_shared(x[None, :], np.array([0]), np.arange(x.size))[0]
    exact = np.exp(-x.astype(np.longdouble))
    assert np.max(np.abs(values - exact) / np.spacing(exact.astype(float))) < 1.0
    assert values[10_000] == 1.0
    huge = Kernel("rbf", 1.0).gram_from_shared(np.array([[708.0, 1e4, 1e300, np.inf]]), np.array([0]), np.arange(4))
    np.testing.assert_array_equal(huge, 0.0)


@pytest.mark.parametrize(("kernel", "plain"), [
    (Kernel("rbf", 0.3), lambda A, B: rbf(A, B, 0.3)), (Kernel("linear", None), lambda A, B: A @ B.T),
])  # fmt: skip
def test_kernel_values_of_rows(kernel, plain):
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(500, 5)), rng.normal(size=(33, 5))
    np.testing.assert_allclose(kernel.between(A, B), plain(A, B), rtol=1e-10, atol=1e-13)
    gram = kernel.gram(A)
    np.testing.assert_allclose(gram, plain(A, A), rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(gram, gram.T)
    rows = np.array([3, 1, 60])
    shared = shared_matrix(A, kernel.name)
    np.testing.assert_allclose(kernel.gram_from_shared(shared, rows, rows), gram[np.ix_(rows, rows)], rtol=1e-12)
    single = kernel.gram_in_single(A)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, gram.astype(np.float32))
    if kernel.name == "rbf":  # distances survive a large offset
        np.testing.assert_array_equal(gram.diagonal(), 1.0)
        np.testing.assert_allclose(shared_matrix(A + 1e6, "rbf"), ((A[:, None] - A[None]) ** 2).sum(-1), atol=1e-7)


def test_scaling_uses_the_sample_deviation_and_leaves_constant_columns():
    X = np.array([[1.0, 7.0], [2.0, 7.0], [6.0, 7.0]])
    scaled = fit_scaling(X, True)(X)
    np.testing.assert_allclose(scaled[:, 0], (X[:, 0] - 3.0) / np.sqrt(7.0))
    np.testing.assert_array_equal(scaled[:, 1], 0.0)
    # kernlab scales nothing when one column is constant; the kernel sees differences only.
    np.testing.assert_allclose(np.diff(fit_scaling(X, "kernlab")(X), axis=0), np.diff(X, axis=0))
    np.testing.assert_array_equal(fit_scaling(X, False)(X), X)
    X = np.random.default_rng(0).normal(size=(20, 3)) * [1.0, 10.0, 100.0]
    for scale in (True, "kernlab"):
        scaled = fit_scaling(X, scale)(X)
        np.testing.assert_allclose(scaled.std(axis=0, ddof=1), 1.0)
        np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-14)


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.3), Kernel("linear", None)])
def test_same_bits_in_one_call_and_in_many(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(700, 3)), rng.normal(size=(300, 3))
    rows = rng.permutation(700)[:400]
    results, steps = [], []
    monkeypatch.setattr(module, "progress", lambda name, total: nullcontext(steps.append))
    for terms in (2**60, 1):
        monkeypatch.setattr(module, "_TERMS_PER_PART", terms)
        shared = shared_matrix(A, kernel.name)
        parts = [kernel.gram(A), kernel.between(A, B), shared, kernel.gram_from_shared(shared, rows, rows[::-1].copy())]
        results.append([part.tobytes() for part in parts])
        # Three tiles of columns, or six blocks of a triangle.
        assert steps == [1] * (2 * (3 if terms > 1 else 6))
        steps.clear()
    assert results[0] == results[1]


class RSample:
    """R's `sample(1:n, size, replace = TRUE)` after `set.seed`: Mersenne Twister, sampling by rejection."""

    def __init__(self, seed):
        for _ in range(50):
            seed = (69069 * seed + 1) % 2**32
        key = []
        for _ in range(625):
            seed = (69069 * seed + 1) % 2**32
            key.append(seed)
        self._source = np.random.RandomState()
        self._source.set_state(("MT19937", key[1:], 624))

    def _uniform(self):
        return int(self._source.randint(0, 2**32, dtype=np.uint32)) * 2.3283064365386963e-10

    def __call__(self, n, size):
        bits = math.ceil(math.log2(n))
        drawn = []
        while len(drawn) < size:
            value = 0
            for _ in range(0, bits + 1, 16):
                value = 65536 * value + math.floor(self._uniform() * 65536)
            value &= 2**bits - 1
            if value < n:
                drawn.append(value)
        return np.array(drawn)


@pytest.mark.parametrize(
    ("frac", "scaled", "first", "last"),
    [
        # kernlab 0.9-32: x <- as.matrix(iris[,1:4]); set.seed(7); print(sigest(x, frac=0.5, scaled=FALSE), digits=17)
        (0.5, False, 0.042613031064899651, 2.463054187192120104),
        # set.seed(7); print(sigest(x, frac=1, scaled=TRUE), digits=17)
        (1.0, True, 0.053377230758122229, 1.137645921229940571),
    ],
)
def test_same_value_as_kernlab(frac, scaled, first, last):
    X = load_iris().data
    if scaled:
        X = (X - X.mean(0)) / X.std(0, ddof=1)
    # R 4.2.2: set.seed(1); sample(1:50, 25, replace = TRUE)
    expected = [4, 39, 1, 34, 23, 43, 14, 18, 33, 21, 21, 42, 46, 10, 7, 9, 15, 21, 37, 41, 25, 46, 37, 37, 34]
    assert (RSample(1)(50, 25) + 1).tolist() == expected
    sample = RSample(7)
    pairs = int(frac * len(X))
    sigma = sigma_from_pairs(X, sample(len(X), pairs), sample(len(X), pairs))
    # `ksvm` uses the mean of the first and the last value of `sigest`.
    assert sigma == pytest.approx((first + last) / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("X", "arguments", "message"),
    [
        (np.ones((5, 2)), {}, "all are equal"),
        ([[1.0], [np.nan]], {}, "NaN"),
        ([[1.0]], {}, "minimum of 2"),
        ([[1.0], [2.0]], {"frac": 0.0}, "frac must be positive, got 0.0"),
        ([[1.0], [2.0]], {"frac": 0.1}, "at least one pair"),
        ([[0.0], [1e-200]], {}, "all are equal"),
        ([[0.0], [1e-160]], {}, "not too small"),
        ([[0.0], [1.0]], {"random_state": -1}, "random_state must not be negative"),
    ],
)
def test_wrong_input(X, arguments, message):
    with pytest.raises(ValueError, match=message):
        sigest(X, **{"random_state": 0, **arguments})
    with pytest.raises(TypeError, match="random_state must be an integer"):
        sigest([[0.0], [1.0]], random_state="today")
