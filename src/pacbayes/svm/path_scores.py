"""Decision values of a whole path on new rows, at the price of what changes along it."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.progress import compile_notice
from pacbayes._utils.threads import on_cores
from pacbayes.svm.path import SVMPath

# A change costs about this many times more per row scored than a coefficient in a matrix product.
_CHANGE_PRICE = 16
# Machines in one part of a product, at most.
_MACHINES_PER_PART = 64
# Decisions closer to zero than this part of the sum of the terms' sizes are rounding, hence ties.
_TIE = 1e-13


@dataclass(frozen=True)
class Changes:
    """Changes of s = y alpha / C, those of machine `order[p]` at ``starts[p]:starts[p + 1]``."""

    order: NDArray[np.int64]
    #: 1/C of each machine, in this order.
    scales: FloatArray
    #: How far each machine's scores can be off, see path_changes.py.
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
        _compiled().accumulate(*parts, path.dual_coef, path.intercept, self.ties, rows, positive)
        return positive

    def _multiply(self, rows: FloatArray, positive: NDArray[np.bool_]) -> None:
        """Set which decisions are at least zero, from ordinary products."""
        compare = _compiled().compare_products
        # Parts of equal size, an even number of them.
        number = 2 * -(-len(positive) // (2 * _MACHINES_PER_PART))
        size = -(-len(positive) // number)

        def work(start: int) -> None:
            some = slice(start, start + size)
            coefs = self.path.dual_coef[some]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # what is no number is decided otherwise
                products = coefs @ rows
            compare(products, self.sizes[some], coefs, self.path.intercept[some], self.ties[some], rows, positive[some])

        on_cores(work, range(0, len(positive), size))


def path_scores(path: SVMPath, kernel_size: float) -> PathScores:
    """Prepare a path for scoring; `kernel_size` is the size of its kernel's entries, for telling ties from rounding."""
    h = len(path.lambdas)
    order = np.argsort(-path.lambdas, kind="stable").astype(np.int64)
    scales, doubts, starts = path.lambdas[order], np.empty(h), np.zeros(h + 1, dtype=np.int64)
    room = path.dual_coef.size // _CHANGE_PRICE
    columns, values = np.empty(room, dtype=np.int32), np.empty(room)
    count = _compiled().collect(path.dual_coef, order, scales, doubts, starts, columns, values)
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
    _compiled().absolute_sums(coefs, sizes)
    return sizes


def tie_widths(intercepts: FloatArray, sizes: FloatArray, kernel_size: float | FloatArray) -> FloatArray:
    """Return how far from zero decisions are still ties, given `sizes_of` the dual coefficients."""
    return _TIE * (1.0 + np.abs(intercepts) + kernel_size * sizes)


def decisions_of_one(coef: FloatArray, intercept: float, K: FloatArray, start: int, stop: int) -> FloatArray:
    """Return the decision values of one machine for the new rows ``start:stop``, K holding training rows by new rows.

    Examples
    --------
    >>> decisions_of_one(np.array([1.0, -1.0]), 0.5, np.array([[1.0, 0.25], [0.0, 0.5]]), 0, 2)
    array([1.5 , 0.25])
    """
    _check_rows(coef.size, K)
    decisions = np.empty(stop - start)
    _compiled().weighted_sums(coef, K, start, decisions)
    decisions += intercept
    return decisions


def _check_rows(n: int, K: FloatArray) -> None:
    """Raise unless K has a row for each of n coefficients: compiled code does not look."""
    if len(K) != n:
        raise ValueError(f"K must have a row for each of {n} coefficients, got {len(K)}")


@cache
def _compiled() -> Any:
    """Return the compiled functions; numba is imported here, when first needed."""
    from pacbayes.svm import path_changes

    functions = ("collect", "accumulate", "compare_products", "weighted_sums", "absolute_sums")
    with compile_notice(*(getattr(path_changes, name) for name in functions)):
        path_changes.compile_all()
    return path_changes
