"""Samples for comparisons of support vector machines: easy, noisy, degenerate."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification


def waveform(n, rng):
    """Two classes of the waveform generator: noisy mixtures of three triangles, 21 features."""
    x = np.arange(1, 22)
    peaks = [np.maximum(6 - np.abs(x - centre), 0) for centre in (7, 15, 11)]
    y = rng.integers(0, 2, n)
    u = rng.random((n, 1))
    return u * peaks[0] + (1 - u) * np.where(y[:, None] == 0, peaks[1], peaks[2]) + rng.normal(size=(n, 21)), y


def one_hot(n, rng):
    """Ten categorical features as 40 binary columns, with repeated rows and noisy labels."""
    values = rng.integers(0, 4, (n, 10))
    values[n // 2 : n // 2 + n // 10] = values[: n // 10]
    X = (values[:, :, None] == np.arange(4)).reshape(n, -1).astype(float)
    return X, ((values[:, 0] + values[:, 1] * values[:, 2] + rng.integers(0, 2, n)) % 3 > 0).astype(int)


def two_class_samples():
    """Yield name, X (scaled) and y in {-1, +1} of 2n rows, training rows first."""
    rng = np.random.default_rng(0)
    X, y = load_breast_cancer(return_X_y=True)
    yield "wdbc", *_shuffle_and_scale(X, y, rng)
    X, y = load_wine(return_X_y=True)
    yield "wine", *_shuffle_and_scale(X, (y == 1).astype(int), rng)
    X, y = load_iris(return_X_y=True)
    yield "iris", *_shuffle_and_scale(X[y > 0], y[y > 0] - 1, rng)
    yield "waveform", *_shuffle_and_scale(*waveform(500, rng), rng)
    X, y = make_classification(500, 57, n_informative=20, n_redundant=5, flip_y=0.05, weights=[0.6], random_state=1)
    yield "spam-like", *_shuffle_and_scale(X, y, rng)
    yield "one-hot", *_shuffle_and_scale(*one_hot(400, rng), rng)


def _shuffle_and_scale(X, y, rng):
    order = rng.permutation(len(y))[: len(y) // 2 * 2]
    X = X[order]
    half = X[: len(X) // 2]
    return (X - half.mean(0)) / np.maximum(half.std(0), 1e-3), np.where(y[order] == 1, 1.0, -1.0)


def rbf(A, B, gamma):
    """Gaussian kernel matrix from differences: slow, and exact for equal rows."""
    return np.exp(-gamma * ((A[:, None, :] - B[None, :, :]) ** 2).sum(-1))
