"""Decision values of a whole path on new rows, at the price of what changes along it."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.bounds.validation import FloatArray
from pacbayes.classifiers.compiled import compile_notice
from pacbayes.classifiers.svm_path import SVMPath

# A change costs about this many times more per row scored than a coefficient in a matrix product.
_CHANGE_PRICE = 16
# Decisions closer to zero than this part of the sum of the terms' sizes are rounding, hence ties.
_TIE = 1e-13


@dataclass(frozen=True)
class Changes:
    """Changes of s = y alpha / C, those of machine `order[p]` at ``starts[p]:starts[p + 1]``."""

    order: NDArray[np.int64]
    #: 1/C of each machine, in this order.
    scales: FloatArray
    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: FloatArray


@dataclass(frozen=True)
class PathScores:
    r"""A path in the form in which new rows are scored: by what changes from one machine to the next.

    In :math:`s = y \alpha / C`, neighbours on a fine grid differ in few variables: the scores of all machines are sums
    of these changes times rows of the kernel.  Where most variables change, the ordinary product is cheaper and is
    used.
    """

    path: SVMPath
    changes: Changes | None
    ties: FloatArray

    def positive(self, K: FloatArray) -> NDArray[np.bool_]:
        """Return which decisions are at least zero, shape (H, n), for kernel values of training rows by new rows.

        Ties go to the positive class, as in scikit-learn's `SVC`.
        """
        changes = self.changes
        if changes is None:
            decisions = self.path.dual_coef @ K
            decisions += self.path.intercept[:, None]
            return decisions >= -self.ties[:, None]
        positive = np.empty((len(self.ties), K.shape[1]), dtype=np.bool_)
        # C f + b >= -tie
        thresholds = (-self.ties - self.path.intercept)[changes.order] * changes.scales
        rows = np.require(K, np.float64, ["C", "A"])
        parts = (changes.starts, changes.columns, changes.values)
        _load().accumulate(*parts, rows, changes.order, thresholds, positive)
        return positive


def path_scores(path: SVMPath, kernel_size: float) -> PathScores:
    """Prepare a path for scoring; `kernel_size` is the size of its kernel's entries, for telling ties from rounding."""
    h = len(path.lambdas)
    order = np.argsort(-path.lambdas, kind="stable").astype(np.int64)
    scales, sizes, starts = path.lambdas[order], np.empty(h), np.zeros(h + 1, dtype=np.int64)
    room = path.dual_coef.size // _CHANGE_PRICE
    columns, values = np.empty(room, dtype=np.int32), np.empty(room)
    count = _load().collect(path.dual_coef, order, scales, sizes, starts, columns, values)
    if count < 0:
        sizes, changes = np.array([np.abs(row).sum() for row in path.dual_coef]), None
    else:
        sizes[order] = sizes.copy()
        changes = Changes(order, scales, starts, columns[:count].copy(), values[:count].copy())
    return PathScores(path, changes, tie_widths(path.intercept, sizes, kernel_size))


def tie_widths(intercepts: FloatArray, sizes: FloatArray, kernel_size: float) -> FloatArray:
    """Return how far from zero decisions are still ties, given the sums of the sizes of the dual coefficients."""
    return _TIE * (1.0 + np.abs(intercepts) + kernel_size * sizes)


@cache
def _load() -> Any:
    """Return the compiled functions; numba is imported here, when first needed."""
    from pacbayes.classifiers import path_changes

    with compile_notice(path_changes.collect, path_changes.accumulate):
        path_changes.compile_all()
    return path_changes


def decisions_of_one(coef: FloatArray, intercept: float, K: FloatArray, kernel_size: float) -> FloatArray:
    """Return the decision values of one machine, ties as zero, for kernel values of new rows by training rows."""
    decisions: Any = K @ coef + intercept
    tie = _TIE * (1.0 + abs(intercept) + kernel_size * float(np.abs(coef).sum()))
    decisions[np.abs(decisions) <= tie] = 0.0
    return np.asarray(decisions, dtype=np.float64)
