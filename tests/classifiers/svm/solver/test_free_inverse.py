"""The inverse of the free variables' kernel matrix against NumPy's, as they come and go."""

import numpy as np
import pytest
from tests.classifiers.data import rbf

from pacbayes.classifiers.svm.solver import free_inverse
from pacbayes.classifiers.svm.solver.free_inverse import FreeInverse, UnusableError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(500, 6))
K = rbf(X, X, 0.2)


def check(inverse, kernel, ridge, rtol):
    F = inverse.members
    expected = np.linalg.inv(kernel[np.ix_(F, F)].astype(np.float64) + ridge * np.eye(F.size))
    np.testing.assert_allclose(inverse.values(), expected, rtol=0, atol=rtol * np.abs(expected).max())
    vector = RNG.normal(size=F.size)
    product, ones = inverse.times(vector)
    scale = rtol * np.abs(expected).sum()
    np.testing.assert_allclose(product, expected @ vector, rtol=0, atol=scale)
    np.testing.assert_allclose(ones, expected.sum(axis=1), rtol=0, atol=scale)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("at_once", [1, 7, 256])
def test_members_come_and_go(dtype, at_once, monkeypatch):
    monkeypatch.setattr(free_inverse, "_AT_ONCE", at_once)
    monkeypatch.setattr(free_inverse, "_BLOCK", 16)
    monkeypatch.setattr(free_inverse, "_WIDTH", 32)
    rng, kernel, ridge = np.random.default_rng(at_once), K.astype(dtype), 1e-3
    inverse, expected = FreeInverse(kernel, ridge), set()
    for _ in range(25):
        members = inverse.members
        leave = rng.random(members.size) < rng.choice([0.0, 0.1, 0.4, 0.9])
        outside = np.setdiff1d(np.arange(500), members)
        join = rng.permutation(outside)[: rng.integers(0, 40)]
        expected = (expected - set(members[leave].tolist())) | set(join.tolist())
        inverse.change(leave, join)
        assert set(inverse.members.tolist()) == expected
        assert inverse.members.size == len(expected)
        if expected:
            check(inverse, kernel, ridge, 1e-9)


def test_all_may_leave():
    inverse = FreeInverse(K, 1e-6)
    inverse.change(np.zeros(0, dtype=bool), np.arange(5))
    inverse.change(np.ones(5, dtype=bool), np.arange(0))
    assert inverse.members.size == 0
    inverse.change(np.zeros(0, dtype=bool), np.array([7]))
    np.testing.assert_allclose(inverse.values(), [[1.0 / (1.0 + 1e-6)]])


def test_a_singular_matrix_is_refused():
    inverse = FreeInverse(np.ones((4, 4)), 0.0)
    with pytest.raises(UnusableError):
        inverse.change(np.zeros(0, dtype=bool), np.arange(4))


def test_no_memory_is_refused_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(free_inverse, "memory_limit", lambda _: (8 * 100 * 100, "test"))
    inverse = FreeInverse(K, 1e-6)
    with pytest.raises(UnusableError):
        inverse.change(np.zeros(0, dtype=bool), np.arange(200))
