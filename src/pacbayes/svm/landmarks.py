r"""Machines on landmarks by Nyström's features: a Gaussian kernel from the values of all rows with a few of them.

With landmarks :math:`z_1, \dots, z_D` among the training rows, their kernel matrix :math:`U \Lambda U^T` and
:math:`k(x) = (k(z_1, x), \dots, k(z_D, x))`, the features are :math:`\phi(x) = \Lambda^{-1/2} U^T k(x)`, equation
(nystroem) of docs/mathematics.md: :math:`\phi(x) \cdot \phi(x')` is the kernel wherever one of the two is a landmark.
A linear machine with weights `w` on them decides by

.. math:: w \cdot \phi(x) + b = \sum_j c_j k(z_j, x) + b, \qquad c = U \Lambda^{-1/2} w,

so that it is a machine on the landmarks with coefficients `c`, and is kept, counted and asked like any other.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.memory import BLOCK_BYTES
from pacbayes._utils.progress import progress
from pacbayes.svm.hinge_path import TOL, RowProducts, hinge_path
from pacbayes.svm.kernel import Kernel
from pacbayes.svm.machines import Machines, Pair, pairs_of
from pacbayes.svm.path import SVMPath

#: Landmarks where nobody says how many.
N_COMPONENTS = 300
# Directions in which the landmarks vary by less than this part of the most are left out: 1/sqrt of it is how much
# larger coefficients are than weights.
_LEAST = 1e-7


@dataclass(frozen=True)
class NystroemMap:
    """Landmarks (scaled rows), the kernel, and the matrix from kernel values to features."""

    landmarks: FloatArray
    kernel: Kernel
    matrix: FloatArray

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features of scaled rows, computed in blocks."""
        features = np.empty((len(rows), self.matrix.shape[1]))
        height = max(1, BLOCK_BYTES // (8 * len(self.landmarks)))
        with progress("features", len(rows)) as advance:
            for start in range(0, len(rows), height):
                block = slice(start, start + height)
                # Landmarks down, rows across: the one order in which kernel values are computed.
                np.matmul(self.kernel.between(self.landmarks, rows[block]).T, self.matrix, out=features[block])
                advance(len(rows[block]))
        return features

    def coefficients(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients of the landmarks, shape (H, D), from the weights of the features."""
        return np.ascontiguousarray(weights @ self.matrix.T)


def check_components(n_components: Any) -> int:
    """Return the number of landmarks, or raise if it is not an integer of at least 1.

    Examples
    --------
    >>> check_components(0)
    Traceback (most recent call last):
    ValueError: n_components must be at least 1, got 0
    """
    if isinstance(n_components, bool | np.bool_) or not isinstance(n_components, int | np.integer):
        raise TypeError(f"n_components must be an integer of at least 1, got {n_components!r}")
    if n_components < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components}")
    return int(n_components)


def choose_landmarks(n: int, n_components: int, rng: np.random.Generator) -> Rows:
    """Return which of n training rows are landmarks: so many drawn at random, in order; all where there are fewer.

    Examples
    --------
    >>> choose_landmarks(3, 5, np.random.default_rng(0)), choose_landmarks(9, 2, np.random.default_rng(0)).size
    (array([0, 1, 2]), 2)
    """
    return np.sort(rng.choice(n, min(n, n_components), replace=False)).astype(np.int64)


def nystroem_map(landmarks: FloatArray, kernel: Kernel) -> NystroemMap:
    """Return the map to the features of given landmarks, which have so many dimensions as differ.

    Examples
    --------
    >>> found = nystroem_map(np.array([[0.0], [0.0], [1.0]]), Kernel("rbf", 1.0))
    >>> features = found.features(np.array([[0.0], [1.0]]))
    >>> (features @ features.T).round(6)
    array([[1.      , 0.367879],
           [0.367879, 1.      ]])
    """
    values, vectors = np.linalg.eigh(kernel.gram(landmarks))
    kept = values > _LEAST * values[-1]
    return NystroemMap(landmarks, kernel, vectors[:, kept] / np.sqrt(values[kept]))


def train_on_landmarks(
    rows: FloatArray,
    kernel: Kernel,
    codes: Rows,
    lambdas: FloatArray,
    n_components: int,
    rng: np.random.Generator,
) -> tuple[Rows, Machines]:
    """Choose landmarks among scaled training rows; return which they are, and the machines on them."""
    places = choose_landmarks(len(rows), n_components, rng)
    found = nystroem_map(rows[places], kernel)
    return places, train_on_features(found, found.features(rows), codes, lambdas)


def train_on_features(found: NystroemMap, features: FloatArray, codes: Rows, lambdas: FloatArray) -> Machines:
    """Train linear machines for every pair of classes among `codes` and return them as machines on the landmarks."""
    present = np.unique(codes)
    pairs = pairs_of(present)
    every = np.arange(len(found.landmarks))
    trained = []
    with progress("support vector machines", len(pairs) * lambdas.size) as advance:
        for first, second in pairs:
            rows = np.flatnonzero((codes == first) | (codes == second))
            part = features if rows.size == len(features) else features[rows]
            signs = np.where(codes[rows] == second, 1.0, -1.0)
            path = hinge_path(RowProducts(part), signs, lambdas, advance)
            machine = SVMPath(
                lambdas,
                found.coefficients(path.weights),
                path.intercept,
                path.n_iter,
                path.kkt_violation,
                path.kkt_violation <= TOL,
            )
            # The Gaussian kernel is 1 on its diagonal.
            trained.append(Pair(first, second, every, machine, 1.0))
    return Machines(present, tuple(trained))
