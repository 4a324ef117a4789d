"""One-vs-one support vector machines: training by a path per pair of classes, and prediction by votes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.checks import MAX_STORED_INT, require, require_array, require_number, require_row_indices
from pacbayes._utils.memory import BLOCK_BYTES
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import limit_to_one_core, parallel_for
from pacbayes.svm.kernel import load_compiled
from pacbayes.svm.path import SVMPath, solve_path

# Time to update one changed coefficient, relative to one coefficient of a matrix product.
_CHANGE_COST = 16
# Maximum number of SVMs per part of a matrix product.
_SVMS_PER_PART = 64
# Decision values below this share of the sum of absolute values of their terms are ties.
_TIE = 1e-13
# Computes the kernel matrix of the training rows by a block of new rows.
KernelBlock = Callable[[slice], FloatArray]


@dataclass(frozen=True)
class Changes:
    """Changes of s = y alpha / C along a path; ``starts[p]:starts[p + 1]`` are the changes of SVM `order[p]`."""

    order: NDArray[np.int64]
    #: 1/C of each SVM, in this order.
    scales: FloatArray
    #: Error bound of the scores of each SVM, see decisions.py.
    error_bounds: FloatArray
    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: FloatArray


@dataclass(frozen=True)
class PathScores:
    r"""Path prepared for predictions by all of its SVMs.

    In :math:`s = y \alpha / C`, neighbouring SVMs on a fine grid differ in few
    variables: their scores are sums of these changes times rows of the kernel matrix.  If most variables change, a
    matrix product is faster and `changes` is None.  In both cases the labels equal those of `binary_decisions`.
    """

    path: SVMPath
    changes: Changes | None
    sizes: FloatArray
    ties: FloatArray

    def positive(self, K: FloatArray) -> NDArray[np.bool_]:
        """Mask of shape (H, n) of non-negative decision values, for kernel values of training rows by new rows.

        Ties go to the positive class, as in scikit-learn's `SVC`.
        """
        changes, path = self.changes, self.path
        rows = np.require(K, np.float64, ["C", "A"])
        _check_kernel_rows(path.dual_coef.shape[1], rows)
        positive = np.empty((len(self.ties), K.shape[1]), dtype=np.bool_)
        if changes is None:
            self._multiply(rows, positive)
            return positive
        parts = (changes.starts, changes.columns, changes.values, changes.order, changes.scales, changes.error_bounds)
        scores, largest = np.zeros(K.shape[1]), np.empty(K.shape[1])
        arguments = (path.dual_coef, path.intercept, self.ties, rows, scores, largest, positive)
        load_compiled("compare_accumulated")(*parts, *arguments)
        return positive

    def _multiply(self, rows: FloatArray, positive: NDArray[np.bool_]) -> None:
        """Set `positive` by matrix products."""
        compare = load_compiled("compare_products")
        # Use an even number of parts of equal size.
        number = 2 * -(-len(positive) // (2 * _SVMS_PER_PART))
        size = -(-len(positive) // number)

        def work(start: int) -> None:
            part = slice(start, start + size)
            coefs = self.path.dual_coef[part]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # `compare` decides about NaN
                products = coefs @ rows
            largest = np.empty(rows.shape[1])
            arguments = (self.path.intercept[part], self.ties[part], rows, largest, positive[part])
            compare(products, self.sizes[part], coefs, *arguments)

        parallel_for(work, range(0, len(positive), size))


def path_scores(path: SVMPath, kernel_size: float) -> PathScores:
    """Prepare a path for predictions; `kernel_size` is the largest absolute kernel value, which scales ties."""
    h = len(path.lambdas)
    order = np.argsort(-path.lambdas, kind="stable").astype(np.int64)
    scales, error_bounds, starts = path.lambdas[order], np.empty(h), np.zeros(h + 1, dtype=np.int64)
    most = path.dual_coef.size // _CHANGE_COST
    columns, values = np.empty(most, dtype=np.int32), np.empty(most)
    buffers = np.empty(path.dual_coef.shape[1]), np.zeros(path.dual_coef.shape[1])
    count = load_compiled("collect_changes")(
        path.dual_coef, order, scales, error_bounds, *buffers, starts, columns, values
    )
    changes = (
        None
        if count < 0
        else Changes(order, scales, error_bounds, starts, columns[:count].copy(), values[:count].copy())
    )
    sizes = l1_norms(path.dual_coef)
    return PathScores(path, changes, sizes, tie_widths(path.intercept, sizes, kernel_size))


def l1_norms(coefs: FloatArray) -> FloatArray:
    """1-norm of each row of coefficients, which additional zeros do not change to the last bit.

    Examples
    --------
    >>> l1_norms(np.array([[0.5, 0.0, -1.5]]))
    array([2.])
    """
    sizes = np.empty(len(coefs))
    load_compiled("absolute_sums")(coefs, sizes)
    return sizes


def tie_widths(intercepts: FloatArray, sizes: FloatArray, kernel_size: float | FloatArray) -> FloatArray:
    """Largest absolute value of a decision that counts as a tie, for the `l1_norms` the dual coefficients."""
    return _TIE * (1.0 + np.abs(intercepts) + kernel_size * sizes)


def binary_decisions(coef: FloatArray, intercept: float, K: FloatArray) -> FloatArray:
    """Decision values of one SVM for kernel values of training rows by new rows.

    Examples
    --------
    >>> binary_decisions(np.array([1.0, -1.0]), 0.5, np.array([[1.0, 0.25], [0.0, 0.5]]))
    array([1.5 , 0.25])
    """
    _check_kernel_rows(coef.size, K)
    decisions = np.empty(K.shape[1])
    load_compiled("weighted_sums")(np.flatnonzero(coef), coef, K, decisions)
    decisions += intercept
    return decisions


def _check_kernel_rows(n: int, K: FloatArray) -> None:
    """Raise unless K has n rows, since compiled code does not check bounds."""
    if len(K) != n:
        raise ValueError(f"K must have {n} rows, one per coefficient, got {len(K)}")


@dataclass(frozen=True)
class Pair:
    """Path of SVMs trained on `rows` for a pair of classes, of which `second` is the positive class."""

    first: int
    second: int
    rows: Rows
    path: SVMPath
    kernel_size: float

    def __post_init__(self) -> None:
        require(isinstance(self.path, SVMPath), "Pair.path", "must be an SVMPath")
        require_row_indices(self.rows, "Pair.rows", MAX_STORED_INT)
        require(self.rows.size == self.path.dual_coef.shape[1], "Pair.rows", "must be one for each coefficient")
        require_number(self.kernel_size, "Pair.kernel_size")


@dataclass(frozen=True)
class OneVsOnePaths:
    """One path of SVMs per pair of the training classes, whose codes are `codes`."""

    codes: Rows
    pairs: tuple[Pair, ...]

    def __post_init__(self) -> None:
        """Raise unless there is one path per pair of classes, in order, all over the same lambdas."""
        _check_codes(self.codes, "OneVsOnePaths.codes")
        of_pairs = type(self.pairs) is tuple and all(isinstance(pair, Pair) for pair in self.pairs)
        require(of_pairs, "OneVsOnePaths.pairs", "must be a tuple of Pair")
        pairs = [(pair.first, pair.second) for pair in self.pairs]
        whole = all(type(code) is int for pair in pairs for code in pair)  # 0.0 and False equal 0 but are no indices
        complete = whole and pairs == class_pairs(self.codes)
        require(complete, "OneVsOnePaths.pairs", "must be all pairs of the classes, in order")
        lambdas = self.pairs[0].path.lambdas
        same = all(np.array_equal(pair.path.lambdas, lambdas) for pair in self.pairs)
        require(same, "SVMPath.lambdas", "must be the same for all pairs")

    def check_rows(self, n_rows: int) -> None:
        """Raise unless `rows` are valid indices of training rows, and include all of them for a single pair."""
        for pair in self.pairs:
            require(pair.rows.size > 0, "Pair.rows", "must not be empty")
            require_row_indices(pair.rows, "Pair.rows", n_rows)
            require(len(self.pairs) > 1 or pair.rows.size == n_rows, "Pair.rows", "must be all training rows")

    def select(self, indices: Rows) -> tuple["OneVsOnePaths", NDArray[np.bool_]]:
        """Select SVMs of each path; return them restricted to their support vectors, and the mask of these rows."""
        support = np.zeros(self.n_rows, dtype=bool)
        duals = [pair.path.dual_coef[indices] for pair in self.pairs]
        for pair, dual in zip(self.pairs, duals, strict=True):
            support[pair.rows[dual.any(axis=0)]] = True
        numbers = np.cumsum(support) - 1
        pairs = []
        for pair, dual in zip(self.pairs, duals, strict=True):
            inside = support[pair.rows]
            path = pair.path
            part = SVMPath(
                path.lambdas[indices],
                np.ascontiguousarray(dual[:, inside]),
                path.intercept[indices],
                path.n_iter[indices],
                path.kkt_violation[indices],
                path.converged[indices],
            )
            pairs.append(replace(pair, rows=numbers[pair.rows[inside]], path=part))
        return replace(self, pairs=tuple(pairs)), support

    @property
    def kkt_violation(self) -> FloatArray:
        """KKT violation at each lambda, the largest over pairs of classes."""
        return np.asarray(np.max([pair.path.kkt_violation for pair in self.pairs], axis=0))

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Mask of lambdas at which the SVMs of all pairs converged."""
        return np.asarray(np.all([pair.path.converged for pair in self.pairs], axis=0))

    @property
    def n_rows(self) -> int:
        """Number of training rows, or landmarks, with coefficients."""
        return max(int(pair.rows.max()) for pair in self.pairs) + 1

    @property
    def number(self) -> int:
        """Number of lambdas."""
        return int(self.pairs[0].path.lambdas.size)

    def predict(self, kernel_block: KernelBlock, n: int, n_train: int) -> Iterator[tuple[slice, NDArray[np.intp]]]:
        """Yield blocks of new rows with their predicted class codes, shape (H, block).

        Blocks are determined by the sizes alone, so that results do not depend on the number of workers.
        """
        scores = [path_scores(pair.path, pair.kernel_size) for pair in self.pairs]
        for block in row_blocks(n, 2 * n_train + (4 + len(self.pairs)) * self.number):
            K = kernel_block(block)
            parts = (K if len(self.pairs) == 1 else K[pair.rows] for pair in self.pairs)
            positive = (score.positive(part) for score, part in zip(scores, parts, strict=True))
            yield block, one_vs_one_winners(self.codes, positive)

    def decisions(self, K: FloatArray) -> FloatArray:
        """Decision values of shape (H, n, pairs) for training rows by new rows, positive for the second class.

        Ties are set to zero.  Used for cross-validation, since the last bits of matrix products depend on the batch.
        """
        decisions = np.empty((self.number, K.shape[1], len(self.pairs)))
        for p, pair in enumerate(self.pairs):
            path, part = pair.path, K if pair.rows.size == len(K) else K[pair.rows]
            ties = tie_widths(path.intercept, l1_norms(path.dual_coef), pair.kernel_size)
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                products = path.dual_coef @ part + path.intercept[:, None]
            decisions[:, :, p] = np.where(np.abs(products) <= ties[:, None], 0.0, products)
        return decisions

    def decisions_at(self, i: int, K: FloatArray) -> FloatArray:
        """Decision values of shape (n, pairs) at the i-th lambda, with bits that do not depend on the batch."""
        decisions = np.empty((K.shape[1], len(self.pairs)))
        for p, pair in enumerate(self.pairs):
            part = K if pair.rows.size == len(K) else K[pair.rows]
            coef, intercept = pair.path.dual_coef[i], float(pair.path.intercept[i])
            decisions[:, p] = binary_decisions(coef, intercept, part)
        return decisions

    def winners(self, decisions: FloatArray) -> NDArray[np.intp]:
        """Predicted class codes of shape (H, n) from `decisions`."""
        positive = decisions >= 0.0
        return one_vs_one_winners(self.codes, (positive[:, :, p] for p in range(len(self.pairs))))

    def svm(self, i: int) -> "OneVsOneSVM":
        """Extract the SVM of the i-th lambda, restricted to its support vectors."""
        coefs = np.zeros((len(self.pairs), self.n_rows))
        for coef, pair in zip(coefs, self.pairs, strict=True):
            coef[pair.rows] = pair.path.dual_coef[i]
        support = np.flatnonzero(coefs.any(axis=0))
        return OneVsOneSVM(
            self.codes,
            np.array([(pair.first, pair.second) for pair in self.pairs]),
            support,
            np.ascontiguousarray(coefs[:, support]),
            np.array([pair.path.intercept[i] for pair in self.pairs]),
            np.array([pair.kernel_size for pair in self.pairs]),
        )


@dataclass(frozen=True)
class OneVsOneSVM:
    """SVMs of all pairs of classes for one lambda, restricted to their support vectors."""

    codes: Rows
    pairs: Rows
    support: Rows
    coefs: FloatArray
    intercepts: FloatArray
    kernel_sizes: FloatArray

    def __post_init__(self) -> None:
        """Raise unless the shapes match the pairs of classes and the support vectors."""
        _check_codes(self.codes, "OneVsOneSVM.codes")
        pairs = class_pairs(self.codes)
        require_array(self.pairs, "OneVsOneSVM.pairs", "i", (len(pairs), 2))
        require(np.array_equal(self.pairs, pairs), "OneVsOneSVM.pairs", "must be all pairs of the classes, in order")
        require_row_indices(self.support, "OneVsOneSVM.support", MAX_STORED_INT)
        require_array(self.coefs, "OneVsOneSVM.coefs", "f", (len(pairs), self.support.size), finite=False)
        require(self.coefs.flags.c_contiguous, "OneVsOneSVM.coefs", "must be stored by rows")
        require_array(self.intercepts, "OneVsOneSVM.intercepts", "f", (len(pairs),), finite=False)
        require_array(self.kernel_sizes, "OneVsOneSVM.kernel_sizes", "f", (len(pairs),), finite=False)

    def decisions(self, K: FloatArray) -> FloatArray:
        """Decision values of shape (n, pairs) for support vectors by new rows, positive for the second class."""
        ties = tie_widths(self.intercepts, l1_norms(self.coefs), self.kernel_sizes)
        decisions = np.empty((K.shape[1], len(self.pairs)))
        for p, (coef, intercept) in enumerate(zip(self.coefs, self.intercepts, strict=True)):
            decisions[:, p] = binary_decisions(coef, float(intercept), K)
        decisions[np.abs(decisions) <= ties] = 0.0
        return decisions

    def predict(self, decisions: FloatArray) -> NDArray[np.intp]:
        """Predicted class codes by one-vs-one votes; ties go to the first class."""
        return one_vs_one_winners(self.codes, (column >= 0.0 for column in decisions.T))

    def votes(self, decisions: FloatArray) -> FloatArray:
        """Votes of each class, plus its sum of decision values mapped to below one half, as in scikit-learn's `SVC`."""
        votes = np.zeros((len(decisions), self.codes.size))
        sizes = np.zeros_like(votes)
        for column, (first, second) in zip(decisions.T, np.searchsorted(self.codes, self.pairs), strict=True):
            votes[:, second] += column > 0.0
            votes[:, first] += column <= 0.0
            sizes[:, second] += column
            sizes[:, first] -= column
        total: FloatArray = votes + sizes / (3.0 * (np.abs(sizes) + 1.0))
        return total


def train_one_vs_one(
    gram: Callable[[Rows], NDArray[Any]],
    codes: Rows,
    lambdas: FloatArray,
    n_jobs: int = 1,
    active_set_from: int | None = None,
) -> OneVsOnePaths:
    """Train a path for every pair of classes; `gram` computes the kernel matrix of selected training rows.

    The active-set method may be used from `active_set_from` rows on; see `solve_path`.
    """
    present = np.unique(codes)
    jobs = [
        (first, second, np.flatnonzero((codes == first) | (codes == second))) for first, second in class_pairs(present)
    ]
    # Limit the number of concurrent pairs: their kernel matrices must not exceed that of the whole sample.
    largest = max(rows.size for _, _, rows in jobs)
    n_jobs = max(1, min(n_jobs, len(jobs), codes.size**2 // largest**2))

    with progress("support vector machines", len(jobs) * lambdas.size) as advance:

        def train(first: int, second: int, rows: Rows) -> Pair:
            kernel = gram(rows)
            size = float(np.abs(kernel.diagonal()).mean())
            signs = np.where(codes[rows] == second, 1.0, -1.0)
            path = solve_path(kernel, signs, lambdas, advance=advance, active_set_from=active_set_from)
            return Pair(first, second, rows, path, size)

        def train_on_one_core(*job: Any) -> Pair:
            with limit_to_one_core():
                return train(*job)

        if n_jobs == 1:
            pairs = [train(*job) for job in jobs]
        else:
            pairs = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(train_on_one_core)(*job) for job in jobs)
    return OneVsOnePaths(present, tuple(pairs))


def one_vs_one_winners(codes: Rows, positive: Iterable[NDArray[np.bool_]]) -> NDArray[np.intp]:
    """Class code with the most one-vs-one votes; ties go to the first class, as in LIBSVM.

    For each pair of classes, `positive` yields the mask of rows for which the second class wins.

    Examples
    --------
    >>> one_vs_one_winners(np.array([2, 5]), [np.array([True, False])])
    array([5, 2])
    """
    votes: NDArray[np.int16] | None = None
    for (first, second), second_wins in zip(combinations(range(codes.size), 2), positive, strict=True):
        if codes.size == 2:
            return codes[second_wins.astype(np.intp)]
        if votes is None:
            votes = np.zeros((codes.size, *second_wins.shape), dtype=np.int16)
        votes[second] += second_wins
        votes[first] += ~second_wins
    assert votes is not None
    winners: NDArray[np.intp] = codes[votes.argmax(axis=0)]
    return winners


def _check_codes(codes: Any, name: str) -> None:
    require_row_indices(codes, name, MAX_STORED_INT)
    require(codes.size >= 2, name, "must be at least two classes")


def class_pairs(present: Rows) -> list[tuple[int, int]]:
    """Pairs of classes in LIBSVM's order.

    Examples
    --------
    >>> class_pairs(np.array([0, 1, 3]))
    [(0, 1), (0, 3), (1, 3)]
    """
    return list(combinations(present.tolist(), 2))


def row_blocks(n: int, width: int) -> list[slice]:
    """Divide n rows into blocks such that `width` numbers per row take at most `BLOCK_BYTES`.

    Examples
    --------
    >>> row_blocks(2500, 4096)
    [slice(0, 2048, None), slice(2048, 2500, None)]
    """
    length = max(1, BLOCK_BYTES // (8 * width))
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]
