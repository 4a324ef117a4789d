r"""The inverse of the kernel matrix of the free variables, kept up to date as they come and go.

With :math:`A = K_{FF} + \varepsilon I`, `k` variables that join or leave change :math:`A^{-1}` by a matrix of rank `k`,
equation (free-inverse) of the mathematics page: matrix products of :math:`O(k |F|^2)` instead of a factorisation of
:math:`O(|F|^3)`.  Rounding errors add up in it; it is used for corrections only, whose result is looked at.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from pacbayes.classifiers.svm.solver.row_sums import add_rows
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.cores import on_cores
from pacbayes.runtime.memory import memory_limit

# Variables that join or leave in one update.
_AT_ONCE = 256
# Rows of the inverse changed in one part of the work.
_BLOCK = 128


class UnusableError(Exception):
    """The inverse cannot be had: no memory for it, or the kernel matrix of the free variables is singular."""


class FreeInverse:
    """The inverse of ``K[F, F] + ridge * I`` for a set F that changes, `members` in the order of its rows."""

    def __init__(self, kernel: NDArray[Any], ridge: float) -> None:
        self._kernel, self._ridge = kernel, ridge
        self._room: FloatArray = np.empty((0, 0))
        self._members: Rows = np.empty(0, dtype=np.int64)

    @property
    def members(self) -> Rows:
        """The free variables, in the order of rows and columns of the inverse."""
        return self._members

    def values(self) -> FloatArray:
        """Return the inverse, a view."""
        n = self._members.size
        return self._room[:n, :n]

    def times(self, vector: FloatArray) -> FloatArray:
        """Return the inverse times a vector."""
        product = np.zeros(vector.size)
        add_rows(self._room, np.arange(vector.size), vector, product)
        return product

    def change(self, leave: NDArray[np.bool_], join: Rows) -> None:
        """Let the members marked leave, then others join; raise `UnusableError` if that cannot be done."""
        if 2 * np.count_nonzero(leave) > leave.size:
            # To begin again costs less.
            join, leave = np.concatenate([self._members[~leave], join]), np.zeros(0, dtype=np.bool_)
            self._members = self._members[:0]
        places = np.flatnonzero(leave)[::-1]
        # From the end, so that places still to come stay what they are.
        for first in range(0, places.size, _AT_ONCE):
            self._remove(places[first : first + _AT_ONCE][::-1])
        self._reserve(self._members.size + join.size)
        for first in range(0, join.size, _AT_ONCE):
            self._append(join[first : first + _AT_ONCE])

    def _remove(self, places: Rows) -> None:
        """Take some members out: what is left is the Schur complement of their block."""
        n = self._members.size
        inverse = self.values()
        rows = inverse[places]
        solved = _solve_positive(rows[:, places], rows)
        _subtract_product(inverse, rows, solved)
        # The last ones fill the holes.
        kept = np.ones(n, dtype=np.bool_)
        kept[places] = False
        last = np.arange(n - places.size, n)
        holes, movers = places[places < n - places.size], last[kept[last]]
        inverse[holes] = inverse[movers]
        inverse[:, holes] = inverse[:, movers]
        self._members[holes] = self._members[movers]
        self._members = self._members[: n - places.size]

    def _append(self, new: Rows) -> None:
        """Border the inverse by new members."""
        old, n = self._members, self._members.size
        inverse = self.values()
        borders = self._kernel[np.ix_(new, old)].astype(np.float64, copy=False)
        products = np.empty((new.size, n))

        def multiply(start: int) -> None:
            columns = slice(start, start + _BLOCK)
            np.matmul(borders, inverse[:, columns], out=products[:, columns])

        on_cores(multiply, range(0, n, _BLOCK))
        corner = self._kernel[np.ix_(new, new)].astype(np.float64)
        corner[np.diag_indices(new.size)] += self._ridge
        corner -= products @ borders.T
        inside = _solve_positive((corner + corner.T) / 2.0, np.eye(new.size))
        solved = inside @ products
        _subtract_product(inverse, products, -solved)
        whole = self._room
        end = n + new.size
        whole[n:end, :n], whole[:n, n:end], whole[n:end, n:end] = -solved, -solved.T, inside
        self._members = np.concatenate([old, new])

    def _reserve(self, size: int) -> None:
        """Make room for so many members, with some to spare, if memory allows."""
        if size <= len(self._room):
            return
        size = min(len(self._kernel), size + size // 4 + _AT_ONCE)
        limit, _ = memory_limit(None)
        if limit is not None and 8 * size * size > limit:
            raise UnusableError
        n = self._members.size
        room = np.empty((size, size))
        room[:n, :n] = self.values()
        self._room = room


def _solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a positive definite matrix; raise `UnusableError` if it is not."""
    try:
        solution: FloatArray = cho_solve(cho_factor(matrix, lower=True), right)
    except (LinAlgError, ValueError):  # not positive, or not finite
        raise UnusableError from None
    return solution


def _subtract_product(inverse: FloatArray, left: FloatArray, right: FloatArray) -> None:
    """Set inverse -= left.T @ right, in blocks of rows."""

    def work(start: int) -> None:
        block = slice(start, start + _BLOCK)
        inverse[block] -= left[:, block].T @ right

    on_cores(work, range(0, len(inverse), _BLOCK))
