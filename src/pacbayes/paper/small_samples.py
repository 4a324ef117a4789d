"""Support vector machines trained on one small sample, and their errors on several others."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers import sigest
from pacbayes.classifiers.svm.kernels.kernel import Kernel, fit_scaling
from pacbayes.classifiers.svm.solver.path import solve_path
from pacbayes.numeric.arrays import FloatArray, Rows

# With lambda = 1e-23 on data that cannot be separated there is no solution to converge to.
_MAX_ITER = 100_000


def errors_on(
    X: FloatArray, y: Rows, train: Rows, targets: Sequence[Rows], lambdas: FloatArray, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the errors of every lambda's machine (across) on each of the targets (down): raw features, sigest.

    Examples
    --------
    >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> everything = np.arange(4)
    >>> errors_on(X, y, everything, [everything], np.array([0.1]), np.random.default_rng(0))
    array([[0]])
    """
    scaling = fit_scaling(X[train], False)
    rows = scaling(X[train])
    kernel = Kernel("rbf", sigest(rows, random_state=rng))
    path = solve_path(kernel.gram(rows), np.where(y[train] == 1, 1.0, -1.0), lambdas, max_iter=_MAX_ITER)
    errors = []
    for part in targets:
        scores = path.dual_coef @ kernel.between(rows, scaling(X[part])) + path.intercept[:, None]
        errors.append(np.count_nonzero((scores >= 0.0) != (y[part] == 1), axis=1))
    return np.array(errors, dtype=np.int64)
