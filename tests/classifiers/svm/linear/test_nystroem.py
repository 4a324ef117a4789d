"""Nyström's features, against scikit-learn's and against the kernel itself."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem

from pacbayes.classifiers.svm.kernel import Kernel
from pacbayes.classifiers.svm.linear import nystroem
from pacbayes.classifiers.svm.linear.nystroem import check_components, choose_landmarks, nystroem_map

RBF = Kernel("rbf", 0.2)


def rows_of(seed, n=200, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_products_are_those_of_scikit_learn():
    rows, landmarks = rows_of(0), rows_of(1, 25)
    ours = nystroem_map(landmarks, RBF).features(rows)
    theirs = Nystroem(gamma=0.2, n_components=25).fit(landmarks).transform(rows)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-5)


def test_the_kernel_is_exact_at_landmarks_and_never_too_large():
    rows, landmarks = rows_of(2), rows_of(3, 25)
    found = nystroem_map(landmarks, RBF)
    features, own = found.features(rows), found.features(landmarks)
    np.testing.assert_allclose(own @ features.T, RBF.between(landmarks, rows), atol=1e-5)
    assert (np.square(features).sum(axis=1) <= 1.0 + 1e-9).all()


def test_weights_and_coefficients_decide_alike():
    rows, found = rows_of(4), nystroem_map(rows_of(5, 40), RBF)
    weights = np.random.default_rng(6).normal(size=(3, found.matrix.shape[1]))
    by_landmarks = found.coefficients(weights) @ RBF.between(found.landmarks, rows)
    np.testing.assert_allclose(by_landmarks, weights @ found.features(rows).T, atol=1e-8)


def test_blocks_change_nothing_that_matters(monkeypatch):
    rows, found = rows_of(7, 300), nystroem_map(rows_of(8, 20), RBF)
    whole = found.features(rows)
    monkeypatch.setattr(nystroem, "BLOCK_BYTES", 8 * 20 * 7)
    np.testing.assert_allclose(found.features(rows), whole, rtol=1e-12, atol=1e-12)


def test_equal_landmarks_are_one():
    landmarks = np.repeat(rows_of(9, 3), 5, axis=0)
    assert nystroem_map(landmarks, RBF).matrix.shape == (15, 3)
    assert np.isfinite(nystroem_map(np.zeros((4, 2)), RBF).matrix).all()


def test_landmarks_are_rows_without_repetition():
    chosen = choose_landmarks(1000, 300, np.random.default_rng(0))
    assert np.unique(chosen).size == 300
    assert (np.diff(chosen) > 0).all()
    assert chosen.max() < 1000
    np.testing.assert_array_equal(choose_landmarks(7, 300, np.random.default_rng(0)), np.arange(7))


@pytest.mark.parametrize("wrong", [True, 2.0, "9", None])
def test_numbers_of_landmarks_that_are_none(wrong):
    with pytest.raises(TypeError, match="n_components must be an integer of at least 1"):
        check_components(wrong)
