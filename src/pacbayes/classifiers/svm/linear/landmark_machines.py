"""From training rows to machines on landmarks: features, a linear path for every pair of classes, coefficients."""

import numpy as np

from pacbayes.classifiers.svm.kernel import Kernel
from pacbayes.classifiers.svm.linear.hinge_path import TOL, hinge_path
from pacbayes.classifiers.svm.linear.nystroem import NystroemMap, choose_landmarks, nystroem_map
from pacbayes.classifiers.svm.linear.row_products import RowProducts
from pacbayes.classifiers.svm.machines import Machines, Pair, pairs_of
from pacbayes.classifiers.svm.path import SVMPath
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.progress import progress


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
