"""Decision values of a whole path on new rows, at the price of what changes along it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pacbayes.bounds.rounding import EPS
from pacbayes.bounds.validation import FloatArray
from pacbayes.classifiers.svm_path import SVMPath

# Memory of the machines looked at together when the changes are collected.
_BYTES_PER_BLOCK = 2**18
# A sparse product costs about this many times more per entry than a dense one.
_SPARSE_PRICE = 16
# Decisions closer to zero than this part of the sum of the terms' sizes are rounding, hence ties.
_TIE = 1e-13


@dataclass(frozen=True)
class PathScores:
    r"""A path in the form in which new rows are scored: by what changes from one machine to the next.

    In :math:`s = y \alpha / C`, neighbours on a fine grid differ in few variables.  With the differences as a sparse
    matrix the scores of all machines are its product with the kernel, summed up from machine to machine.  Where most
    variables change, the ordinary product is cheaper and is used.
    """

    path: SVMPath
    order: NDArray[np.int64]
    changes: csr_array | None
    units: FloatArray
    ties: FloatArray

    def positive(self, K: FloatArray) -> NDArray[np.bool_]:
        """Return which decisions are at least zero, shape (H, n), for kernel values of training rows by new rows.

        Ties go to the positive class, as in scikit-learn's `SVC`.
        """
        if self.changes is None:
            decisions = self.path.dual_coef @ K
            decisions += self.path.intercept[:, None]
            return decisions >= -self.ties[:, None]
        decisions = self.changes @ K
        np.cumsum(decisions, axis=0, out=decisions)
        # u f + b >= -tie, without another pass over the matrix
        positive = np.empty(decisions.shape, dtype=np.bool_)
        thresholds = (-self.ties - self.path.intercept)[self.order] / self.units
        positive[self.order] = decisions >= thresholds[:, None]
        return positive


def path_scores(path: SVMPath, kernel_size: float) -> PathScores:
    """Prepare a path for scoring; `kernel_size` is the size of its kernel's entries, for telling ties from rounding."""
    order = np.argsort(-path.lambdas, kind="stable")
    h, m = path.dual_coef.shape
    length = max(1, _BYTES_PER_BLOCK // (8 * m))
    units, sizes = 1.0 / path.lambdas[order], np.empty(h)
    counts, columns, values = np.zeros(h, dtype=np.int64), [], []
    before, s_before = np.zeros((1, m)), np.zeros((1, m))
    for start in range(0, h, length):
        block = slice(start, start + length)
        coefs = path.dual_coef[order[block]]
        same = (coefs == np.concatenate([before, coefs[:-1]])).all(axis=1)
        _share_units(units, start, same)
        s = coefs / units[block, None]
        differences = np.diff(s, axis=0, prepend=s_before)
        size = np.abs(s)
        sizes[order[block]] = size.sum(axis=1) * units[block]
        # Multiplying by C and dividing again may move a variable that stood still by a unit in the last place.
        size *= 4.0 * EPS
        machines, changed = np.nonzero(np.abs(differences) > size)
        counts[block] = np.bincount(machines, minlength=len(s))
        columns.append(changed.astype(np.int32))
        values.append(differences[machines, changed])
        before, s_before = coefs[-1:], s[-1:]
        if counts.sum() > path.dual_coef.size // _SPARSE_PRICE:
            columns = []
            break
    changes = None
    if columns:
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        changes = csr_array((np.concatenate(values), np.concatenate(columns), starts), shape=(h, m))
    else:
        sizes = np.array([np.abs(row).sum() for row in path.dual_coef])
    return PathScores(path, order, changes, units, tie_widths(path.intercept, sizes, kernel_size))


def tie_widths(intercepts: FloatArray, sizes: FloatArray, kernel_size: float) -> FloatArray:
    """Return how far from zero decisions are still ties, given the sums of the sizes of the dual coefficients."""
    return _TIE * (1.0 + np.abs(intercepts) + kernel_size * sizes)


def _share_units(units: FloatArray, start: int, same: NDArray[np.bool_]) -> None:
    """Give machines that share the solution of the one before its unit as well: nothing changes there."""
    for position in np.flatnonzero(same) + start:
        if position > 0:
            units[position] = units[position - 1]


def decisions_of_one(coef: FloatArray, intercept: float, K: FloatArray, kernel_size: float) -> FloatArray:
    """Return the decision values of one machine, ties as zero, for kernel values of new rows by training rows."""
    decisions: Any = K @ coef + intercept
    tie = _TIE * (1.0 + abs(intercept) + kernel_size * float(np.abs(coef).sum()))
    decisions[np.abs(decisions) <= tie] = 0.0
    return np.asarray(decisions, dtype=np.float64)
