"""One-vs-one support vector machines for every lambda on one training sample, and how they decide about new rows."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.checks import MOST, need, need_array, need_number, need_rows
from pacbayes._utils.memory import BLOCK_BYTES
from pacbayes._utils.progress import progress
from pacbayes._utils.threads import one_core, parallel_for
from pacbayes.svm.kernel import load_compiled
from pacbayes.svm.path import SVMPath, solve_path

# A change costs about this many times more per row scored than a coefficient in a matrix product.
_CHANGE_PRICE = 16
# SVMs in one part of a product, at most.
_MACHINES_PER_PART = 64
# Decisions closer to zero than this part of the sum of the terms' sizes are rounding, hence ties.
_TIE = 1e-13
# Kernel values of some new rows with some training rows: training rows down, new rows across.
KernelBlock = Callable[[slice], FloatArray]


@dataclass(frozen=True)
class Changes:
    """Changes of s = y alpha / C, those of machine `order[p]` at ``starts[p]:starts[p + 1]``."""

    order: NDArray[np.int64]
    #: 1/C of each machine, in this order.
    scales: FloatArray
    #: How far each machine's scores can be off, see decisions.py.
    doubts: FloatArray
    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: FloatArray


@dataclass(frozen=True)
class PathScores:
    r"""A path in the form in which new rows are scored: by what changes from one machine to the next.

    In :math:`s = y \alpha / C`, neighbours on a fine grid differ in few variables: the scores of all machines are sums
    of these changes times rows of the kernel.  Where most variables change, the ordinary product is cheaper and is
    used.  Either way the labels are those of the decisions as `decisions_of_one` computes them.
    """

    path: SVMPath
    changes: Changes | None
    sizes: FloatArray
    ties: FloatArray

    def positive(self, K: FloatArray) -> NDArray[np.bool_]:
        """Return which decisions are at least zero, shape (H, n), for kernel values of training rows by new rows.

        Ties go to the positive class, as in scikit-learn's `SVC`.
        """
        changes, path = self.changes, self.path
        rows = np.require(K, np.float64, ["C", "A"])
        _check_rows(path.dual_coef.shape[1], rows)
        positive = np.empty((len(self.ties), K.shape[1]), dtype=np.bool_)
        if changes is None:
            self._multiply(rows, positive)
            return positive
        parts = (changes.starts, changes.columns, changes.values, changes.order, changes.scales, changes.doubts)
        load_compiled().accumulate(*parts, path.dual_coef, path.intercept, self.ties, rows, positive)
        return positive

    def _multiply(self, rows: FloatArray, positive: NDArray[np.bool_]) -> None:
        """Set which decisions are at least zero, from ordinary products."""
        compare = load_compiled().compare_products
        # Parts of equal size, an even number of them.
        number = 2 * -(-len(positive) // (2 * _MACHINES_PER_PART))
        size = -(-len(positive) // number)

        def work(start: int) -> None:
            some = slice(start, start + size)
            coefs = self.path.dual_coef[some]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # what is no number is decided otherwise
                products = coefs @ rows
            compare(products, self.sizes[some], coefs, self.path.intercept[some], self.ties[some], rows, positive[some])

        parallel_for(work, range(0, len(positive), size))


def path_scores(path: SVMPath, kernel_size: float) -> PathScores:
    """Prepare a path for scoring; `kernel_size` is the size of its kernel's entries, for telling ties from rounding."""
    h = len(path.lambdas)
    order = np.argsort(-path.lambdas, kind="stable").astype(np.int64)
    scales, doubts, starts = path.lambdas[order], np.empty(h), np.zeros(h + 1, dtype=np.int64)
    room = path.dual_coef.size // _CHANGE_PRICE
    columns, values = np.empty(room, dtype=np.int32), np.empty(room)
    count = load_compiled().collect(path.dual_coef, order, scales, doubts, starts, columns, values)
    changes = (
        None if count < 0 else Changes(order, scales, doubts, starts, columns[:count].copy(), values[:count].copy())
    )
    sizes = sizes_of(path.dual_coef)
    return PathScores(path, changes, sizes, tie_widths(path.intercept, sizes, kernel_size))


def sizes_of(coefs: FloatArray) -> FloatArray:
    """Return the sum of the sizes of every row's coefficients: the same with zeros among them and without.

    Examples
    --------
    >>> sizes_of(np.array([[0.5, 0.0, -1.5]]))
    array([2.])
    """
    sizes = np.empty(len(coefs))
    load_compiled().absolute_sums(coefs, sizes)
    return sizes


def tie_widths(intercepts: FloatArray, sizes: FloatArray, kernel_size: float | FloatArray) -> FloatArray:
    """Return how far from zero decisions are still ties, given `sizes_of` the dual coefficients."""
    return _TIE * (1.0 + np.abs(intercepts) + kernel_size * sizes)


def decisions_of_one(coef: FloatArray, intercept: float, K: FloatArray) -> FloatArray:
    """Return the decision values of one machine, K holding training rows by new rows.

    Examples
    --------
    >>> decisions_of_one(np.array([1.0, -1.0]), 0.5, np.array([[1.0, 0.25], [0.0, 0.5]]))
    array([1.5 , 0.25])
    """
    _check_rows(coef.size, K)
    decisions = np.empty(K.shape[1])
    load_compiled().weighted_sums(coef, K, decisions)
    decisions += intercept
    return decisions


def _check_rows(n: int, K: FloatArray) -> None:
    """Raise unless K has a row for each of n coefficients: compiled code does not look."""
    if len(K) != n:
        raise ValueError(f"K must have a row for each of {n} coefficients, got {len(K)}")


@dataclass(frozen=True)
class Pair:
    """SVMs that tell class `first` from class `second`, which is the positive one."""

    first: int
    second: int
    rows: Rows
    path: SVMPath
    kernel_size: float

    def __post_init__(self) -> None:
        need(isinstance(self.path, SVMPath), "Pair.path", "must be an SVMPath")
        need_rows(self.rows, "Pair.rows", MOST)
        need(self.rows.size == self.path.dual_coef.shape[1], "Pair.rows", "must be one for each coefficient")
        need_number(self.kernel_size, "Pair.kernel_size")


@dataclass(frozen=True)
class OneVsOnePaths:
    """All pairs of classes that occur in the training sample, with one path each."""

    codes: Rows
    pairs: tuple[Pair, ...]

    def __post_init__(self) -> None:
        """Raise unless there is a path of as many machines for every pair of classes, in order."""
        _check_codes(self.codes, "OneVsOnePaths.codes")
        of_pairs = type(self.pairs) is tuple and all(isinstance(pair, Pair) for pair in self.pairs)
        need(of_pairs, "OneVsOnePaths.pairs", "must be a tuple of Pair")
        found = [(pair.first, pair.second) for pair in self.pairs]
        whole = all(type(code) is int for pair in found for code in pair)  # 0.0 and False are equal to 0, and no index
        need(
            whole and found == pairs_of(self.codes), "OneVsOnePaths.pairs", "must be all pairs of the classes, in order"
        )
        lambdas = self.pairs[0].path.lambdas
        same = all(np.array_equal(pair.path.lambdas, lambdas) for pair in self.pairs)
        need(same, "SVMPath.lambdas", "must be the same for all pairs")

    def check_rows(self, number: int) -> None:
        """Raise unless the machines are on so many rows: that of a single pair on all of them."""
        for pair in self.pairs:
            need(pair.rows.size > 0, "Pair.rows", "must not be empty")
            need_rows(pair.rows, "Pair.rows", number)
            need(len(self.pairs) > 1 or pair.rows.size == number, "Pair.rows", "must be all training rows")

    def some(self, which: Rows) -> tuple["OneVsOnePaths", NDArray[np.bool_]]:
        """Return some machines of each pair on the rows that support any of them, and which rows these are."""
        kept = np.zeros(self.n_rows, dtype=bool)
        duals = [pair.path.dual_coef[which] for pair in self.pairs]
        for pair, dual in zip(self.pairs, duals, strict=True):
            kept[pair.rows[dual.any(axis=0)]] = True
        numbers = np.cumsum(kept) - 1
        pairs = []
        for pair, dual in zip(self.pairs, duals, strict=True):
            inside = kept[pair.rows]
            path = pair.path
            part = SVMPath(
                path.lambdas[which],
                np.ascontiguousarray(dual[:, inside]),
                path.intercept[which],
                path.n_iter[which],
                path.kkt_violation[which],
                path.converged[which],
            )
            pairs.append(replace(pair, rows=numbers[pair.rows[inside]], path=part))
        return replace(self, pairs=tuple(pairs)), kept

    @property
    def kkt_violation(self) -> FloatArray:
        """How far the machine of each lambda is from optimal, the worst over pairs of classes."""
        return np.asarray(np.max([pair.path.kkt_violation for pair in self.pairs], axis=0))

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether it is near enough for all pairs of classes."""
        return np.asarray(np.all([pair.path.converged for pair in self.pairs], axis=0))

    @property
    def n_rows(self) -> int:
        """How many training rows, or landmarks, they sum over."""
        return max(int(pair.rows.max()) for pair in self.pairs) + 1

    @property
    def number(self) -> int:
        """How many machines there are for each pair: one per lambda."""
        return int(self.pairs[0].path.lambdas.size)

    def predict(self, kernel_block: KernelBlock, n: int, n_train: int) -> Iterator[tuple[slice, NDArray[np.intp]]]:
        """Yield blocks of new rows and the class numbers, shape (H, block), every machine gives them.

        Blocks depend on the sizes only, so that the results do not depend on who computes them.
        """
        scores = [path_scores(pair.path, pair.kernel_size) for pair in self.pairs]
        for block in blocks(n, 2 * n_train + (4 + len(self.pairs)) * self.number):
            K = kernel_block(block)
            parts = (K if len(self.pairs) == 1 else K[pair.rows] for pair in self.pairs)
            positive = (score.positive(part) for score, part in zip(scores, parts, strict=True))
            yield block, most_votes(self.codes, positive)

    def decisions(self, K: FloatArray) -> FloatArray:
        """Return decisions of shape (H, n, pairs) for training rows by new rows, by products: above zero the second.

        Ties are zero.  For rows of cross-validation: last bits may depend on the rows around a row.
        """
        found = np.empty((self.number, K.shape[1], len(self.pairs)))
        for place, pair in enumerate(self.pairs):
            path, part = pair.path, K if pair.rows.size == len(K) else K[pair.rows]
            ties = tie_widths(path.intercept, sizes_of(path.dual_coef), pair.kernel_size)
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                products = path.dual_coef @ part + path.intercept[:, None]
            found[:, :, place] = np.where(np.abs(products) <= ties[:, None], 0.0, products)
        return found

    def decisions_of(self, i: int, K: FloatArray) -> FloatArray:
        """Return the decisions of the i-th machine of every pair, shape (n, pairs): functions of each row alone."""
        found = np.empty((K.shape[1], len(self.pairs)))
        for place, pair in enumerate(self.pairs):
            part = K if pair.rows.size == len(K) else K[pair.rows]
            coef, intercept = pair.path.dual_coef[i], float(pair.path.intercept[i])
            found[:, place] = decisions_of_one(coef, intercept, part)
        return found

    def winners(self, decisions: FloatArray) -> NDArray[np.intp]:
        """Return the class numbers, shape (H, n), that decisions stand for."""
        positive = decisions >= 0.0
        return most_votes(self.codes, (positive[:, :, place] for place in range(len(self.pairs))))

    def one(self, i: int) -> "OneVsOneSVM":
        """Return the i-th machine of every pair with the training rows it needs."""
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
    """The machines of all pairs for one lambda, on the rows that support any of them."""

    codes: Rows
    pairs: Rows
    support: Rows
    coefs: FloatArray
    intercepts: FloatArray
    kernel_sizes: FloatArray

    def __post_init__(self) -> None:
        """Raise unless there are coefficients for every pair of the classes and every support vector."""
        _check_codes(self.codes, "OneVsOneSVM.codes")
        pairs = pairs_of(self.codes)
        need_array(self.pairs, "OneVsOneSVM.pairs", "i", (len(pairs), 2))
        need(np.array_equal(self.pairs, pairs), "OneVsOneSVM.pairs", "must be all pairs of the classes, in order")
        need_rows(self.support, "OneVsOneSVM.support", MOST)
        need_array(self.coefs, "OneVsOneSVM.coefs", "f", (len(pairs), self.support.size), finite=False)
        need(self.coefs.flags.c_contiguous, "OneVsOneSVM.coefs", "must be stored by rows")
        need_array(self.intercepts, "OneVsOneSVM.intercepts", "f", (len(pairs),), finite=False)
        need_array(self.kernel_sizes, "OneVsOneSVM.kernel_sizes", "f", (len(pairs),), finite=False)

    def decisions(self, K: FloatArray) -> FloatArray:
        """Return decisions of shape (n, pairs) for support rows by new rows: above zero the second class."""
        ties = tie_widths(self.intercepts, sizes_of(self.coefs), self.kernel_sizes)
        decisions = np.empty((K.shape[1], len(self.pairs)))
        for p, (coef, intercept) in enumerate(zip(self.coefs, self.intercepts, strict=True)):
            decisions[:, p] = decisions_of_one(coef, float(intercept), K)
        decisions[np.abs(decisions) <= ties] = 0.0
        return decisions

    def predict(self, decisions: FloatArray) -> NDArray[np.intp]:
        """Return class numbers: the class that wins most pairs, the first of several."""
        return most_votes(self.codes, (column >= 0.0 for column in decisions.T))

    def votes(self, decisions: FloatArray) -> FloatArray:
        """Return per class its votes plus a share below one half from the sizes of the decisions, as `SVC` does."""
        votes = np.zeros((len(decisions), self.codes.size))
        sizes = np.zeros_like(votes)
        for column, (first, second) in zip(decisions.T, self._places, strict=True):
            votes[:, second] += column > 0.0
            votes[:, first] += column <= 0.0
            sizes[:, second] += column
            sizes[:, first] -= column
        total: FloatArray = votes + sizes / (3.0 * (np.abs(sizes) + 1.0))
        return total

    @property
    def _places(self) -> Rows:
        """The pairs, by their places among the classes that occur."""
        return np.searchsorted(self.codes, self.pairs)


def train_one_vs_one(
    gram: Callable[[Rows], NDArray[Any]],
    codes: Rows,
    lambdas: FloatArray,
    n_jobs: int = 1,
    linear_from: int | None = None,
) -> OneVsOnePaths:
    """Train a path for every pair of classes among `codes`; `gram` gives the kernel matrix of some training rows.

    From `linear_from` rows on linear algebra may be used, see `solve_path`.
    """
    present = np.unique(codes)
    jobs = [
        (first, second, np.flatnonzero((codes == first) | (codes == second))) for first, second in pairs_of(present)
    ]
    # Together the kernels of concurrent pairs must not exceed the one of the whole sample.
    largest = max(rows.size for _, _, rows in jobs)
    n_jobs = max(1, min(n_jobs, len(jobs), codes.size**2 // largest**2))

    with progress("support vector machines", len(jobs) * lambdas.size) as advance:

        def train(first: int, second: int, rows: Rows) -> Pair:
            kernel = gram(rows)
            size = float(np.abs(kernel.diagonal()).mean())
            signs = np.where(codes[rows] == second, 1.0, -1.0)
            path = solve_path(kernel, signs, lambdas, advance=advance, linear_from=linear_from)
            return Pair(first, second, rows, path, size)

        def train_elsewhere(*job: Any) -> Pair:
            with one_core():
                return train(*job)

        if n_jobs == 1:
            pairs = [train(*job) for job in jobs]
        else:
            pairs = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(train_elsewhere)(*job) for job in jobs)
    return OneVsOnePaths(present, tuple(pairs))


def most_votes(codes: Rows, positive: Iterable[NDArray[np.bool_]]) -> NDArray[np.intp]:
    """Return the class that wins most pairs, from which rows every pair gives its second class; the first of several.

    Examples
    --------
    >>> most_votes(np.array([2, 5]), [np.array([True, False])])
    array([5, 2])
    """
    votes: NDArray[np.int16] | None = None
    for (first, second), one in zip(combinations(range(codes.size), 2), positive, strict=True):
        if codes.size == 2:
            return codes[one.astype(np.intp)]
        if votes is None:
            # One place for each class that occurs, not for each there is.
            votes = np.zeros((codes.size, *one.shape), dtype=np.int16)
        votes[second] += one
        votes[first] += ~one
    assert votes is not None
    # As in LIBSVM.
    winners: NDArray[np.intp] = codes[votes.argmax(axis=0)]
    return winners


def _check_codes(codes: Any, name: str) -> None:
    need_rows(codes, name, MOST)
    need(codes.size >= 2, name, "must be at least two classes")


def pairs_of(present: Rows) -> list[tuple[int, int]]:
    """Return the pairs of classes in LIBSVM's order.

    Examples
    --------
    >>> pairs_of(np.array([0, 1, 3]))
    [(0, 1), (0, 3), (1, 3)]
    """
    return list(combinations(present.tolist(), 2))


def blocks(n: int, width: int) -> list[slice]:
    """Divide n new rows into blocks for which `width` numbers per row stay within `BLOCK_BYTES`.

    Examples
    --------
    >>> blocks(2500, 4096)
    [slice(0, 2048, None), slice(2048, 2500, None)]
    """
    length = max(1, BLOCK_BYTES // (8 * width))
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]
