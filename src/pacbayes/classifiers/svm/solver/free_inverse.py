r"""The inverse of the kernel matrix of the free variables, kept up to date as they come and go.

With :math:`A = K_{FF} + \varepsilon I`, `k` variables that join or leave change :math:`A^{-1}` by a matrix of rank `k`,
equation (free-inverse) of the mathematics page: matrix products of :math:`O(k |F|^2)` instead of a factorisation of
:math:`O(|F|^3)`.  Rounding errors add up in it; it is used for corrections only, whose result is looked at.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from pacbayes.classifiers.svm.solver.row_sums import multiply_and_add_up
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.memory import memory_limit
from pacbayes.runtime.threads import on_cores

# Variables that join or leave in one update.
_AT_ONCE = 256
# Rows of the inverse changed in one part of the work, so many columns at a time.
_BLOCK = 128
_WIDTH = 512
# Rows of it moved in one part of the work.
_ROWS = 256


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

    def times(self, vector: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the inverse times a vector, and times a vector of ones."""
        product, ones = np.zeros(vector.size), np.zeros(vector.size)
        multiply_and_add_up(self._room, vector, product, ones)
        return product, ones

    def change(self, leave: NDArray[np.bool_], join: Rows) -> None:
        """Let the members marked leave and others join; raise `UnusableError` if that cannot be done."""
        if 2 * np.count_nonzero(leave) > leave.size:
            # To begin again costs less.
            join, leave = np.concatenate([self._members[~leave], join]), np.zeros(0, dtype=np.bool_)
            self._members = self._members[:0]
        self._reserve(self._members.size + min(join.size, _AT_ONCE))
        places = np.flatnonzero(leave)
        while places.size + join.size > 0:
            # From the end, so that places still to come stay what they are.
            self._update(places[-_AT_ONCE:], join[:_AT_ONCE])
            places, join = places[:-_AT_ONCE], join[_AT_ONCE:]
            self._reserve(self._members.size + min(join.size, _AT_ONCE))

    def _update(self, places: Rows, new: Rows) -> None:
        """Take members out of some places, whose Schur complement is left, and border it by new ones, in one pass."""
        inverse, n, left = self.values(), self._members.size, self._members.size - places.size
        gone = inverse[places]
        solved_gone = _solve_positive(gone[:, places], gone) if places.size > 0 else gone
        borders = np.empty((new.size, n))
        for border, i in zip(borders, new, strict=True):
            border[:] = self._kernel[i].take(self._members)
        borders[:, places] = 0.0
        products = _multiply(borders, inverse)
        products -= products[:, places] @ solved_gone
        corner = self._kernel[np.ix_(new, new)].astype(np.float64, copy=False)
        corner[np.diag_indices(new.size)] += self._ridge
        corner -= products @ borders.T
        inside = _solve_positive((corner + corner.T) / 2.0, np.eye(new.size)) if new.size > 0 else corner
        solved = inside @ products
        _subtract_product(inverse, np.vstack([gone, products]), np.vstack([solved_gone, -solved]))
        # The last ones fill the holes.
        kept = np.ones(n, dtype=np.bool_)
        kept[places] = False
        holes, movers = places[places < left], left + np.flatnonzero(kept[left:])
        inverse[holes] = inverse[movers]
        solved[:, holes] = solved[:, movers]
        self._members[holes] = self._members[movers]
        beside = -solved[:, :left]

        def fill(start: int) -> None:
            rows = slice(start, min(start + _ROWS, left))
            inverse[rows, holes] = inverse[rows, movers]
            self._room[rows, left : left + new.size] = beside[:, rows].T

        on_cores(fill, range(0, left, _ROWS))
        self._room[left : left + new.size, :left] = beside
        self._room[left : left + new.size, left : left + new.size] = inside
        self._members = np.concatenate([self._members[:left], new])

    def _reserve(self, size: int) -> None:
        """Make room for so many members, with some to spare, if memory allows."""
        if size <= len(self._room):
            return
        size = min(len(self._kernel), size + size // 4 + _AT_ONCE)
        limit, _ = memory_limit(None)
        if limit is not None and 8 * size * size > limit:
            raise UnusableError
        before, room = self.values(), np.empty((size, size))

        def copy(start: int) -> None:
            rows = slice(start, min(start + _ROWS, len(before)))
            room[rows, : len(before)] = before[rows]

        on_cores(copy, range(0, len(before), _ROWS))
        self._room = room


def _solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a positive definite matrix; raise `UnusableError` if it is not."""
    try:
        solution: FloatArray = cho_solve(cho_factor(matrix, lower=True), right)
    except (LinAlgError, ValueError):  # not positive, or not finite
        raise UnusableError from None
    return solution


def _multiply(left: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return left @ inverse, in blocks of columns."""
    products = np.empty(left.shape)

    def work(start: int) -> None:
        columns = slice(start, start + _BLOCK)
        products[:, columns] = left @ inverse[:, columns]

    on_cores(work, range(0, len(inverse), _BLOCK))
    return products


def _subtract_product(inverse: FloatArray, left: FloatArray, right: FloatArray) -> None:
    """Set inverse -= left.T @ right, which is symmetric: one triangle, in blocks that fit the cache, and its copy."""

    def work(start: int) -> None:
        rows = slice(start, start + _BLOCK)
        factor = left[:, rows].T
        for first in range(start, len(inverse), _WIDTH):
            columns = slice(first, first + _WIDTH)
            inverse[rows, columns] -= factor @ right[:, columns]
            # Below the diagonal block, which is its own counterpart.
            below = slice(max(first, start + _BLOCK), first + _WIDTH)
            inverse[below, rows] = inverse[rows, below].T

    on_cores(work, range(0, len(inverse), _BLOCK))
