r"""Support vector machines by linear algebra: the free variables solved for, then the sets corrected.

Importing this module imports numba.

A primal-dual active set method.  If it is known which :math:`\beta_i = y_i \alpha_i` are zero (set `L`), which are at
their bound :math:`y_i C` (`U`) and which are between (`F`), the optimality conditions are linear equations for those
of `F` and the intercept, equation (active-set) of the mathematics page.  What then leaves its bounds goes to `L` or
`U`; what violates its condition there joins `F`; and again, until nothing changes.  From the sets of a neighbouring `C`
that takes about three steps, however many free variables there are; one at a time, as in smo.py, it takes thousands.

It may fail: sets may go round in circles, a kernel matrix may be singular.  Then nothing has changed, and the other
method does the work.  Neither is believed: every solution is measured by the same check in smo.py.

The inverse of the kernel matrix of the free variables is kept up to date as they come and go.  With
:math:`A = K_{FF} + \varepsilon I`, `k` variables that join or leave change :math:`A^{-1}` by a matrix of rank `k`,
equation (free-inverse) of the mathematics page: matrix products of :math:`O(k |F|^2)` instead of a factorisation of
:math:`O(|F|^3)`.  Rounding errors add up in it; it is used for corrections only, whose result is looked at.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from pacbayes.classifiers.svm.smo import add_rows, multiply_and_add_up
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.numeric.rounding import EPS
from pacbayes.runtime.memory import memory_limit
from pacbayes.runtime.threads import on_cores

# Steps until the sets must have settled; three is usual.
_STEPS = 20
# Changes that a later step may make more than the one before; sets that grow apart will not meet again.
_MORE = 10
# Part of the tolerance that a variable's condition may be violated by: two of them make the KKT violation.
_SHARE = 0.25
# The ridge that makes the equations solvable, as a part of the kernel's size.  It is the weight of the distance from
# the last iterate, so it slows the steps down and does not move the solution.
_RIDGE = 1e-6
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


class ActiveSet:
    """The sets F and U with what belongs to them, from one cost to the next.

    Attributes
    ----------
    steps, changes : int
        How many steps the last `solve` took, and how many variables changed sets.
    size : float
        The largest diagonal entry of the kernel matrix.
    doubt : float
        A bound on the rounding errors that the last `solve` added to `g`.
    """

    def __init__(self, kernel: NDArray[Any], y: FloatArray, tol: float) -> None:
        self._kernel, self._y, self._margin = kernel, y, _SHARE * tol
        self.size = float(np.abs(np.diagonal(kernel)).max())
        self._inverse = FreeInverse(kernel, _RIDGE * self.size)
        self._bound = np.zeros(y.size, dtype=np.bool_)
        #: The sum of y_i K_i over U: how g moves with C where the free variables do not.
        self._pull = np.zeros(y.size)
        self._pull_doubt = 0.0
        self.steps = self.changes = 0
        self.doubt = 0.0

    def solve(self, cost: float, s: FloatArray, g: FloatArray, before: float, limit: int) -> bool:
        """Bring s and ``g = before * K s`` to the solution at `cost`; False, with both as they were, if that fails.

        It takes at most `limit` steps.
        """
        self.steps, self.changes, self.doubt = 0, 0, 0.0
        try:
            # What is no number is no solution either.
            with np.errstate(all="ignore"):
                beta, values = self._iterate(cost, s, g, before, min(limit, _STEPS))
        except UnusableError:
            self.forget()
            return False
        if beta is None:
            return False
        with np.errstate(under="ignore"):
            s[:] = np.where(self._bound, self._y, beta / cost)
        g[:] = values
        return True

    @property
    def free(self) -> int:
        """How many variables are free."""
        return int(self._inverse.members.size)

    def forget(self) -> None:
        """Begin anew with the next `solve`."""
        self._inverse = FreeInverse(self._kernel, _RIDGE * self.size)
        self._bound[:] = False
        self._pull[:], self._pull_doubt = 0.0, 0.0

    def _iterate(
        self, cost: float, s: FloatArray, g: FloatArray, before: float, limit: int
    ) -> tuple[FloatArray | None, FloatArray]:
        y = self._y
        self._set(np.abs(s) >= 1.0, (s != 0.0) & (np.abs(s) < 1.0))
        beta = np.where(self._bound, cost * y, before * s)
        values = g + (cost - before) * self._pull
        self.doubt += (cost - before) * self._pull_doubt
        last = 0
        while self.steps < limit and self._inverse.members.size > 0:
            self.steps += 1
            excess = self._step(beta, values)
            free = np.zeros(y.size, dtype=np.bool_)
            free[self._inverse.members] = True
            alpha = y * beta
            low, high = free & (alpha <= 0.0), free & (alpha >= cost)
            back = ~free & (np.where(self._bound, -y, y) * excess > self._margin)
            changed = np.flatnonzero(low | high | back)
            if changed.size == 0:
                if float(np.abs(excess[free]).max()) <= self._margin:
                    return beta, values
                continue  # the next step takes care of what this one left
            if self.steps > 2 and changed.size > last + _MORE:
                break
            last = changed.size
            self.changes += last
            target = np.where(low, 0.0, np.where(high, cost * y, beta))
            moved = np.flatnonzero(target != beta)
            self._add(moved, (target - beta)[moved], values)
            beta = target
            self._set((self._bound & ~back) | high, (free & ~low & ~high) | back)
        return None, values

    def _step(self, beta: FloatArray, values: FloatArray) -> FloatArray:
        """Solve for the free variables, moving them and K beta; return what is left: y - K beta - intercept."""
        free = self._inverse.members
        solved, ones = self._inverse.times(self._y[free] - values[free])
        total = float(ones.sum())
        # The step ends where the coefficients sum to zero.
        intercept = (float(solved.sum()) + math.fsum(beta[beta != 0.0].tolist())) / total if total > 0.0 else math.nan
        if not math.isfinite(intercept):
            raise UnusableError
        step = solved - intercept * ones
        beta[free] += step
        self._add(free, step, values)
        return self._y - values - intercept

    def _add(self, rows: NDArray[np.int64], coefs: FloatArray, values: FloatArray) -> None:
        add_rows(self._kernel, rows, coefs, values)
        # Each of as many additions is off by half a unit in the last place of what it adds up to.
        reach = float(np.abs(values).max()) + 2.0 * self.size * float(np.abs(coefs).sum())
        self.doubt += EPS * rows.size * reach

    def _set(self, bound: NDArray[np.bool_], free: NDArray[np.bool_]) -> None:
        """Change the sets, with the inverse of the one and the sum of the other."""
        changed = np.flatnonzero(bound != self._bound)
        if changed.size > 0:
            add_rows(self._kernel, changed, np.where(bound[changed], 1.0, -1.0) * self._y[changed], self._pull)
            self._pull_doubt += EPS * changed.size * (float(np.abs(self._pull).max()) + self.size * changed.size)
        self._bound = bound
        members = self._inverse.members
        join = free.copy()
        join[members] = False
        self._inverse.change(~free[members], np.flatnonzero(join))
