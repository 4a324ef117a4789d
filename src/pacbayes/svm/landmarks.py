r"""SVMs on landmarks by Nyström's features: a Gaussian kernel from the values of all rows with a few of them.

With landmarks :math:`z_1, \dots, z_D` among the training rows, their kernel matrix :math:`U \Lambda U^T` and
:math:`k(x) = (k(z_1, x), \dots, k(z_D, x))`, the features are :math:`\phi(x) = \Lambda^{-1/2} U^T k(x)`, equation
(nystroem) of docs/mathematics.md: :math:`\phi(x) \cdot \phi(x')` is the kernel wherever one of the two is a landmark.
A linear machine with weights `w` on them decides by

.. math:: w \cdot \phi(x) + b = \sum_j c_j k(z_j, x) + b, \qquad c = U \Lambda^{-1/2} w,

so that it is a machine on the landmarks with coefficients `c`, and is kept, counted and asked like any other.

The linear machines
-------------------
They are trained for many regularisation parameters by Newton's method on all rows.  For every :math:`\lambda`, with
:math:`C = 1/\lambda`, the C-SVC in its primal form, equation (primal) of docs/mathematics.md,

.. math:: \min_{w, b} \tfrac12 |w|^2 + C \sum_i h(y_i (w \cdot x_i + b)), \qquad h(t) = \max(1 - t, 0),

with the corner of the hinge rounded off over the margins within `_WIDTH` of one.  The derivative of the rounded loss is
minus the share :math:`a_i \in [0, 1]` of a row, and :math:`\alpha_i = C a_i` are duals of the C-SVC itself that violate
its optimality conditions by at most twice the width: that is what rounding costs, and it is measured.  The second
derivative concerns only the rows in between, about as many as there are features.  A step costs two passes over the
rows and a factorisation, and from one :math:`\lambda` to the next of a fine grid it takes about five.

Products with the rows are computed on all cores, with the same bits for any number of them.  A sum's bits depend on how
its terms are divided: here rows are divided into blocks by the shape of the matrix alone, each block is one call of
linear algebra in one thread, and what the blocks give is added in their order.
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
from pacbayes.svm.one_vs_one import OneVsOnePaths, Pair, pairs_of
from pacbayes.svm.path import SVMPath

#: Landmarks where nobody says how many.
N_COMPONENTS = 300
# Directions in which the landmarks vary by less than this part of the most are left out: 1/sqrt of it is how much
# larger coefficients are than weights.
_LEAST = 1e-7
#: Largest KKT violation, in LIBSVM's measure, of a machine that is called converged.
TOL = 0.01
# Margins this close to one are between the two straight parts of the loss.
_WIDTH = 0.45 * TOL
# What is left of the gradient when a search ends, as a part of the width: the rest of the tolerance.
_REST = 0.1
# How far the duals of the two classes may be from balance, in rows.
_BALANCE = 1e-3
# Where there is no neighbour to start from, the corner is rounded off less and less.
_LADDER = (2.0, 0.6, 0.2, 0.06, 0.02)
_STEPS = 25
#: Steps after which a search ends wherever it is.
MOST_STEPS = 100
# A search along a line ends where the derivative has fallen to this part.
_LINE = 1e-3
# Numbers in a block: a few milliseconds of work.
_BLOCK = 2**20
#: Square matrices that exist at once.
GRAM_BLOCKS = 32


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


def train_on_features(found: NystroemMap, features: FloatArray, codes: Rows, lambdas: FloatArray) -> OneVsOnePaths:
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
            weights, intercept, steps, violation = hinge_path(RowProducts(part), signs, lambdas, advance)
            path = SVMPath(lambdas, found.coefficients(weights), intercept, steps, violation, violation <= TOL)
            # The Gaussian kernel is 1 on its diagonal.
            trained.append(Pair(first, second, every, path, 1.0))
    return OneVsOnePaths(present, tuple(trained))


class RowProducts:
    """A matrix with a row for each example, to be multiplied many times; linear algebra must be limited to one thread.

    Examples
    --------
    >>> products = RowProducts(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> products.times(np.array([1.0, 1.0])), products.transposed_times(np.array([1.0, 1.0]))
    (array([3., 7.]), array([4., 6.]))
    """

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix
        self._height = max(1, _BLOCK // max(1, matrix.shape[1]))
        self._blocks = _slices(len(matrix), self._height)

    def times(self, vector: FloatArray) -> FloatArray:
        """Return the products of all rows and a vector."""
        products = np.empty(len(self.matrix))

        def work(block: slice) -> None:
            np.matmul(self.matrix[block], vector, out=products[block])

        parallel_for(work, self._blocks)
        return products

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        """Return the sum of all rows, each times its entry of a vector."""
        parts = np.empty((len(self._blocks), self.matrix.shape[1]))

        def work(place: int) -> None:
            block = self._blocks[place]
            np.matmul(vector[block], self.matrix[block], out=parts[place])

        parallel_for(work, range(len(self._blocks)))
        return _sum_in_order(parts)

    def gram(self, which: Rows) -> FloatArray:
        """Return the sum over some rows of their outer products, each with a one behind its last number."""
        width = self.matrix.shape[1]
        # Small blocks: near the end of a search there are few rows.  Not too many: each has a matrix of its own.
        blocks = _slices(which.size, max(width, self._height // 4, -(-which.size // GRAM_BLOCKS)))
        parts = np.empty((len(blocks), width + 1, width + 1))

        def work(place: int) -> None:
            block = blocks[place]
            rows = np.empty((block.stop - block.start, width + 1))
            rows[:, :width] = self.matrix[which[block]]
            rows[:, width] = 1.0
            np.matmul(rows.T, rows, out=parts[place])

        parallel_for(work, range(len(blocks)))
        return _sum_in_order(parts)


def _slices(n: int, height: int) -> list[slice]:
    return [slice(start, min(start + height, n)) for start in range(0, n, height)]


def _sum_in_order(parts: FloatArray) -> FloatArray:
    """Add arrays one after the other; zero where there are none."""
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total


def hinge_path(
    products: RowProducts,
    signs: FloatArray,
    lambdas: FloatArray,
    advance: Callable[[int], None] = lambda machines: None,
) -> tuple[FloatArray, FloatArray, NDArray[np.int64], FloatArray]:
    """Train a linear machine for every lambda, from the largest to the smallest, each from the one before.

    `signs` are -1 and +1, both of them; `advance` is told of every machine that is done.

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
    search = _Search(products, signs)
    for place, i in enumerate(np.argsort(-lambdas, kind="stable").tolist()):
        search.cost = 1.0 / float(lambdas[i])
        if place == 0 or not search.run(_WIDTH, _STEPS):
            for corner in _LADDER:
                search.run(corner, _STEPS)
            search.run(_WIDTH, MOST_STEPS)
        weights[i], intercept[i], violation[i] = search.weights, search.intercept, search.kkt_violation()
        n_iter[i], search.steps = search.steps, 0
        advance(1)
    return weights, intercept, n_iter, violation


class _Search:
    """Where a search stands: weights, intercept, and the decisions of all rows."""

    def __init__(self, products: RowProducts, signs: FloatArray) -> None:
        self._products, self._signs = products, signs
        self.weights, self.intercept = np.zeros(products.matrix.shape[1]), 0.0
        self._decisions = np.zeros(signs.size)
        self.cost, self.steps = 0.0, 0
        squares = np.einsum("ij,ij->i", products.matrix, products.matrix)
        self._longest = float(np.sqrt(squares.max(initial=0.0)))

    def run(self, corner: float, most: int) -> bool:
        """Take steps until the gradient vanishes, for margins rounded off within `corner` of one; say if it did."""
        for _ in range(most):
            margins = self._signs * self._decisions
            shares = _shares(margins, corner)
            residual, balance = self._gradient(shares)
            size = min(1.0, float(np.linalg.norm(self.weights)))
            # The weights of a single lambda may be tiny; a gradient is small beside them or not at all.
            if np.linalg.norm(residual) <= _REST * corner * size and abs(balance) <= _BALANCE:
                return True
            direction = self._newton(shares, residual, balance, corner)
            if not self._move(direction, margins, corner):
                return False
            self.steps += 1
        return False

    def kkt_violation(self) -> float:
        """Return the violation of the optimality conditions by the shares as duals, in LIBSVM's measure."""
        shares = _shares(self._signs * self._decisions, _WIDTH)
        residual, _ = self._gradient(shares)
        gradient = self._signs - self._decisions
        positive = self._signs > 0.0
        up = np.where(positive, shares < 1.0, shares > 0.0)
        down = np.where(positive, shares > 0.0, shares < 1.0)
        most, least = gradient.max(where=up, initial=-np.inf), gradient.min(where=down, initial=np.inf)
        # The decisions are those of the weights; those of the duals differ by the residual times a row.
        return float(max(most - least, 0.0) + 2.0 * self._longest * np.linalg.norm(residual))

    def _gradient(self, shares: FloatArray) -> tuple[FloatArray, float]:
        """Return the gradient in the weights, and minus that in the intercept in units of the cost."""
        signed = self._signs * shares
        return self.weights - self.cost * self._products.transposed_times(signed), float(signed.sum())

    def _newton(self, shares: FloatArray, residual: FloatArray, balance: float, corner: float) -> FloatArray:
        """Return the step to the minimum of the quadratic around here, the intercept last."""
        between = np.flatnonzero((shares > 0.0) & (shares < 1.0))
        scale = 2.0 * corner / self.cost
        hessian = self._products.gram(between)
        gradient = np.append(scale * residual, -2.0 * corner * balance)
        diagonal = np.full(gradient.size, scale)
        # Without rows in between nothing holds the intercept.
        diagonal[-1] = 0.0 if between.size else 1.0
        largest = max(float(hessian.diagonal().max()), scale)
        for power in range(-13, 1):
            try:
                factor = cho_factor(hessian + np.diag(diagonal + largest * 10.0**power), lower=True)
            except LinAlgError:
                continue
            break
        step: FloatArray = -cho_solve(factor, gradient)
        return step

    def _move(self, direction: FloatArray, margins: FloatArray, corner: float) -> bool:
        """Go along a direction to the least value on it; say whether that is anywhere else."""
        step, change = direction[:-1], float(direction[-1])
        moves = self._products.times(step)
        moves += change
        along = self._signs * moves
        start, curvature = float(self.weights @ step), float(step @ step)

        def slope(t: float) -> float:
            return start + t * curvature - self.cost * float(_shares(margins + t * along, corner) @ along)

        t = _zero_of_slope(slope)
        self.weights = self.weights + t * step
        self.intercept += t * change
        self._decisions += t * moves
        return t > 0.0


def _shares(margins: FloatArray, corner: float) -> FloatArray:
    """Return minus the derivative of the rounded hinge: 1 below 1 - corner, 0 above 1 + corner, a line in between."""
    shares = margins - (1.0 + corner)
    shares *= -0.5 / corner
    return np.clip(shares, 0.0, 1.0, out=shares)


def _zero_of_slope(slope: Callable[[float], float]) -> float:
    """Return where a non-decreasing function that is negative at 0 has its zero, nearly; 1, the usual place, first.

    Examples
    --------
    >>> _zero_of_slope(lambda t: t - 1.0), round(_zero_of_slope(lambda t: t - 3.0), 2)
    (1.0, 3.0)
    """
    low, high, below, above = 0.0, 1.0, slope(0.0), slope(1.0)
    if below >= 0.0:
        return 0.0
    goal = -_LINE * below
    while above < -goal and high < 2.0**40:
        low, below, high = high, above, 2.0 * high
        above = slope(high)
    if abs(above) <= goal or above < 0.0:
        return high
    for _ in range(60):
        # The chord, kept away from the ends: a piecewise straight line may bend anywhere.
        t = low + (high - low) * min(max(below / (below - above), 0.05), 0.95)
        middle = slope(t)
        if abs(middle) <= goal:
            return t
        if middle < 0.0:
            low, below = t, middle
        else:
            high, above = t, middle
    return low
