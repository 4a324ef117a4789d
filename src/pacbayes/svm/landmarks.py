r"""Nyström approximation of the Gaussian kernel, with linear SVMs trained by Newton's method.

With landmarks :math:`z_1, \dots, z_D` among the training rows, their kernel matrix :math:`U \Lambda U^T` and
:math:`k(x) = (k(z_1, x), \dots, k(z_D, x))`, the features are :math:`\phi(x) = \Lambda^{-1/2} U^T k(x)`, equation
(nystroem) of docs/mathematics.md [1]_: :math:`\phi(x) \cdot \phi(x')` equals the kernel if one of the two is a
landmark.  A linear SVM with weights `w` has the decision function

.. math:: w \cdot \phi(x) + b = \sum_j c_j k(z_j, x) + b, \qquad c = U \Lambda^{-1/2} w,

so that it is a kernel SVM with the landmarks as support vectors and coefficients `c`.

Linear SVMs
-----------
For every :math:`\lambda`, with :math:`C = 1/\lambda`, Newton's method [2]_ solves the C-SVC in its primal form,
equation (primal) of docs/mathematics.md,

.. math:: \min_{w, b} \tfrac12 |w|^2 + C \sum_i h(y_i (w \cdot x_i + b)), \qquad h(t) = \max(1 - t, 0),

with a hinge that is smoothed for margins within `_SMOOTHING` of one.  The derivative of the smoothed loss is
:math:`-a_i \in [-1, 0]`, and :math:`\alpha_i = C a_i` are feasible for the dual of the C-SVC itself, with a KKT
violation of at most twice the smoothing; the violation is computed.  Only rows within the smoothed part have second
derivatives, about as many as there are features.  A step takes two passes over the rows and a factorisation, and a warm
start from the neighbouring :math:`\lambda` of a fine grid takes about five steps.

Products with the rows use all cores, with bits that do not depend on their number: the shape of the matrix alone
determines the blocks of rows, each block is a call of BLAS in one thread, and sums over blocks have a fixed order.

References
----------
.. [1] C. Williams and M. Seeger, "Using the Nyström method to speed up kernel machines", NIPS, 2001.
.. [2] O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19, 2007.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.memory import BLOCK_BYTES
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import parallel_for
from pacbayes.svm.kernel import Kernel
from pacbayes.svm.one_vs_one import OneVsOnePaths, Pair, class_pairs
from pacbayes.svm.path import SVMPath

#: Default number of landmarks.
N_COMPONENTS = 300
# Smallest eigenvalue of the landmarks' kernel matrix that is used, relative to the largest: coefficients exceed weights
# by at most the inverse of its square root.
_MIN_EIGENVALUE = 1e-7
#: Largest KKT violation (as defined by LIBSVM) of a converged SVM.
TOL = 0.01
# Half the width of the smoothed part of the hinge.
_SMOOTHING = 0.45 * TOL
# Tolerance of the gradient, relative to the smoothing; both together give `TOL`.
_GRADIENT_TOL = 0.1
# Tolerance of the dual equality constraint, in rows.
_BALANCE_TOL = 1e-3
# Sequence of decreasing smoothing parameters for an SVM without a warm start.
_SMOOTHING_STEPS = (2.0, 0.6, 0.2, 0.06, 0.02)
_STEPS = 25
#: Maximum number of Newton steps.
MAX_STEPS = 100
# A line search stops when the derivative has decreased to this share.
_LINE_SEARCH_TOL = 1e-3
# Number of entries per block of rows, a few milliseconds of work.
_BLOCK = 2**20
#: Maximum number of square matrices in memory at a time.
GRAM_BLOCKS = 32


@dataclass(frozen=True)
class NystroemMap:
    """Nyström feature map: landmarks (scaled rows), the kernel, and the matrix that maps kernel values to features."""

    landmarks: FloatArray
    kernel: Kernel
    matrix: FloatArray

    def features(self, rows: FloatArray) -> FloatArray:
        """Features of scaled rows, computed in blocks."""
        features = np.empty((len(rows), self.matrix.shape[1]))
        height = max(1, BLOCK_BYTES // (8 * len(self.landmarks)))
        with progress("features", len(rows)) as advance:
            for start in range(0, len(rows), height):
                block = slice(start, start + height)
                # Landmarks by rows, as in `predict`.
                np.matmul(self.kernel.between(self.landmarks, rows[block]).T, self.matrix, out=features[block])
                advance(len(rows[block]))
        return features

    def coefficients(self, weights: FloatArray) -> FloatArray:
        """Convert weights of the features to coefficients of the landmarks, shape (H, D)."""
        return np.ascontiguousarray(weights @ self.matrix.T)


def choose_landmarks(n: int, n_components: int, rng: np.random.Generator) -> Rows:
    """Draw the indices of landmarks among n training rows, sorted; all rows if there are fewer.

    Examples
    --------
    >>> choose_landmarks(3, 5, np.random.default_rng(0)), choose_landmarks(9, 2, np.random.default_rng(0)).size
    (array([0, 1, 2]), 2)
    """
    return np.sort(rng.choice(n, min(n, n_components), replace=False)).astype(np.int64)


def nystroem_map(landmarks: FloatArray, kernel: Kernel) -> NystroemMap:
    """Create the Nyström feature map of landmarks; duplicate landmarks share a dimension.

    Examples
    --------
    >>> nystroem = nystroem_map(np.array([[0.0], [0.0], [1.0]]), Kernel("rbf", 1.0))
    >>> features = nystroem.features(np.array([[0.0], [1.0]]))
    >>> (features @ features.T).round(6)
    array([[1.      , 0.367879],
           [0.367879, 1.      ]])
    """
    values, vectors = np.linalg.eigh(kernel.gram(landmarks))
    large = values > _MIN_EIGENVALUE * values[-1]
    return NystroemMap(landmarks, kernel, vectors[:, large] / np.sqrt(values[large]))


def train_on_features(nystroem: NystroemMap, features: FloatArray, codes: Rows, lambdas: FloatArray) -> OneVsOnePaths:
    """Train linear SVMs for every pair of classes, and return them as kernel SVMs on the landmarks."""
    present = np.unique(codes)
    pairs = class_pairs(present)
    all_landmarks = np.arange(len(nystroem.landmarks))
    trained = []
    with progress("support vector machines", len(pairs) * lambdas.size) as advance:
        for first, second in pairs:
            rows = np.flatnonzero((codes == first) | (codes == second))
            part = features if rows.size == len(features) else features[rows]
            signs = np.where(codes[rows] == second, 1.0, -1.0)
            weights, intercept, steps, violation = hinge_path(RowProducts(part), signs, lambdas, advance)
            path = SVMPath(lambdas, nystroem.coefficients(weights), intercept, steps, violation, violation <= TOL)
            # The Gaussian kernel is 1 on its diagonal.
            trained.append(Pair(first, second, all_landmarks, path, 1.0))
    return OneVsOnePaths(present, tuple(trained))


class RowProducts:
    """Parallel products with a matrix of rows; BLAS must be limited to one thread.

    Examples
    --------
    >>> products = RowProducts(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> products.times(np.array([1.0, 1.0])), products.transposed_times(np.array([1.0, 1.0]))
    (array([3., 7.]), array([4., 6.]))
    """

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix
        self._height = max(1, _BLOCK // max(1, matrix.shape[1]))
        self._blocks = _row_slices(len(matrix), self._height)

    def times(self, vector: FloatArray) -> FloatArray:
        """Product of the matrix and a vector."""
        products = np.empty(len(self.matrix))

        def work(block: slice) -> None:
            np.matmul(self.matrix[block], vector, out=products[block])

        parallel_for(work, self._blocks)
        return products

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        """Product of the transposed matrix and a vector."""
        parts = np.empty((len(self._blocks), self.matrix.shape[1]))

        def work(i: int) -> None:
            block = self._blocks[i]
            np.matmul(vector[block], self.matrix[block], out=parts[i])

        parallel_for(work, range(len(self._blocks)))
        return _sum_in_order(parts)

    def gram(self, selected: Rows) -> FloatArray:
        """Gram matrix of the columns, and a column of ones, over selected rows."""
        width = self.matrix.shape[1]
        # Use small blocks, since few rows are selected near a solution, but not too many, since each block needs a
        # matrix.
        blocks = _row_slices(selected.size, max(width, self._height // 4, -(-selected.size // GRAM_BLOCKS)))
        parts = np.empty((len(blocks), width + 1, width + 1))

        def work(i: int) -> None:
            block = blocks[i]
            rows = np.empty((block.stop - block.start, width + 1))
            rows[:, :width] = self.matrix[selected[block]]
            rows[:, width] = 1.0
            np.matmul(rows.T, rows, out=parts[i])

        parallel_for(work, range(len(blocks)))
        return _sum_in_order(parts)


def _row_slices(n: int, height: int) -> list[slice]:
    return [slice(start, min(start + height, n)) for start in range(0, n, height)]


def _sum_in_order(parts: FloatArray) -> FloatArray:
    """Sum over the first axis in its order; zeros if it is empty."""
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total


def hinge_path(
    products: RowProducts,
    signs: FloatArray,
    lambdas: FloatArray,
    advance: Callable[[int], None] = lambda n_trained: None,
) -> tuple[FloatArray, FloatArray, NDArray[np.int64], FloatArray]:
    """Train a linear SVM for every lambda, from the largest to the smallest, with warm starts.

    `signs` are labels -1 and +1 of both classes; `advance` is called after every SVM.

    Returns
    -------
    weights, intercept, n_iter, kkt_violation : ndarrays of shapes (H, d) and (H,)
        In the order of `lambdas`.

    Examples
    --------
    >>> products = RowProducts(np.array([[-1.0], [1.0], [3.0]]))
    >>> weights, _, _, violation = hinge_path(products, np.array([-1.0, 1.0, 1.0]), np.array([0.1, 1.0]))
    >>> weights.round(2), (violation < TOL).all()
    (array([[1.],
           [1.]]), np.True_)
    """
    width, h = products.matrix.shape[1], lambdas.size
    weights, intercept, violation = np.empty((h, width)), np.empty(h), np.empty(h)
    n_iter = np.zeros(h, dtype=np.int64)
    solver = _NewtonSolver(products, signs)
    for k, i in enumerate(np.argsort(-lambdas, kind="stable").tolist()):
        solver.cost = 1.0 / float(lambdas[i])
        if k == 0 or not solver.run(_SMOOTHING, _STEPS):
            for smoothing in _SMOOTHING_STEPS:
                solver.run(smoothing, _STEPS)
            solver.run(_SMOOTHING, MAX_STEPS)
        weights[i], intercept[i], violation[i] = solver.weights, solver.intercept, solver.kkt_violation()
        n_iter[i], solver.steps = solver.steps, 0
        advance(1)
    return weights, intercept, n_iter, violation


class _NewtonSolver:
    """Newton's method for the smoothed hinge loss; stores weights, intercept, and the decision values of all rows."""

    def __init__(self, products: RowProducts, signs: FloatArray) -> None:
        self._products, self._signs = products, signs
        self.weights, self.intercept = np.zeros(products.matrix.shape[1]), 0.0
        self._decisions = np.zeros(signs.size)
        self.cost, self.steps = 0.0, 0
        squares = np.einsum("ij,ij->i", products.matrix, products.matrix)
        self._largest_norm = float(np.sqrt(squares.max(initial=0.0)))

    def run(self, smoothing: float, max_steps: int) -> bool:
        """Iterate until the gradient vanishes; return whether the method converged."""
        for _ in range(max_steps):
            margins = self._signs * self._decisions
            duals = _dual_variables(margins, smoothing)
            gradient, balance = self._gradient(duals)
            size = min(1.0, float(np.linalg.norm(self.weights)))
            # The tolerance is relative to the weights, which may be tiny.
            if np.linalg.norm(gradient) <= _GRADIENT_TOL * smoothing * size and abs(balance) <= _BALANCE_TOL:
                return True
            direction = self._newton_direction(duals, gradient, balance, smoothing)
            if not self._line_search(direction, margins, smoothing):
                return False
            self.steps += 1
        return False

    def kkt_violation(self) -> float:
        """KKT violation of the dual coefficients, in LIBSVM's measure."""
        duals = _dual_variables(self._signs * self._decisions, _SMOOTHING)
        gradient, _ = self._gradient(duals)
        v = self._signs - self._decisions
        positive = self._signs > 0.0
        can_grow = np.where(positive, duals < 1.0, duals > 0.0)
        can_shrink = np.where(positive, duals > 0.0, duals < 1.0)
        largest, smallest = v.max(where=can_grow, initial=-np.inf), v.min(where=can_shrink, initial=np.inf)
        # Decision values are computed from the weights; those of the dual variables differ by the gradient times a row.
        return float(max(largest - smallest, 0.0) + 2.0 * self._largest_norm * np.linalg.norm(gradient))

    def _gradient(self, duals: FloatArray) -> tuple[FloatArray, float]:
        """Gradient in the weights, and minus the derivative in the intercept divided by the cost."""
        signed = self._signs * duals
        return self.weights - self.cost * self._products.transposed_times(signed), float(signed.sum())

    def _newton_direction(
        self, duals: FloatArray, weights_gradient: FloatArray, balance: float, smoothing: float
    ) -> FloatArray:
        """Newton step of the weights and the intercept, with a ridge if the Hessian is singular."""
        smoothed = np.flatnonzero((duals > 0.0) & (duals < 1.0))
        scale = 2.0 * smoothing / self.cost
        hessian = self._products.gram(smoothed)
        gradient = np.append(scale * weights_gradient, -2.0 * smoothing * balance)
        diagonal = np.full(gradient.size, scale)
        # Without rows in the smoothed part, the second derivative in the intercept is zero.
        diagonal[-1] = 0.0 if smoothed.size else 1.0
        largest = max(float(hessian.diagonal().max()), scale)
        for power in range(-13, 1):
            try:
                factor = cho_factor(hessian + np.diag(diagonal + largest * 10.0**power), lower=True)
            except LinAlgError:
                continue
            break
        step: FloatArray = -cho_solve(factor, gradient)
        return step

    def _line_search(self, direction: FloatArray, margins: FloatArray, smoothing: float) -> bool:
        """Move to the minimum along a direction; return whether the step is positive."""
        step, intercept_step = direction[:-1], float(direction[-1])
        decision_steps = self._products.times(step)
        decision_steps += intercept_step
        margin_steps = self._signs * decision_steps
        start, curvature = float(self.weights @ step), float(step @ step)

        def slope(t: float) -> float:
            duals = _dual_variables(margins + t * margin_steps, smoothing)
            return start + t * curvature - self.cost * float(duals @ margin_steps)

        t = _find_slope_zero(slope)
        self.weights = self.weights + t * step
        self.intercept += t * intercept_step
        self._decisions += t * decision_steps
        return t > 0.0


def _dual_variables(margins: FloatArray, smoothing: float) -> FloatArray:
    """Dual variables divided by C: the negative derivative of the smoothed hinge loss."""
    duals = margins - (1.0 + smoothing)
    duals *= -0.5 / smoothing
    return np.clip(duals, 0.0, 1.0, out=duals)


def _find_slope_zero(slope: Callable[[float], float]) -> float:
    """Approximate the zero of a non-decreasing function that is negative at 0, by regula falsi starting at 1.

    Examples
    --------
    >>> _find_slope_zero(lambda t: t - 1.0), round(_find_slope_zero(lambda t: t - 3.0), 2)
    (1.0, 3.0)
    """
    low, high, below, above = 0.0, 1.0, slope(0.0), slope(1.0)
    if below >= 0.0:
        return 0.0
    tolerance = -_LINE_SEARCH_TOL * below
    while above < -tolerance and high < 2.0**40:
        low, below, high = high, above, 2.0 * high
        above = slope(high)
    if abs(above) <= tolerance or above < 0.0:
        return high
    for _ in range(60):
        # Stay away from the ends of the interval, since the function is piecewise linear.
        t = low + (high - low) * min(max(below / (below - above), 0.05), 0.95)
        middle = slope(t)
        if abs(middle) <= tolerance:
            return t
        if middle < 0.0:
            low, below = t, middle
        else:
            high, above = t, middle
    return low
