r"""Support vector machines by linear algebra: the free variables solved for, then the sets corrected.

Importing this module imports numba.

A primal-dual active set method.  If it is known which :math:`\beta_i = y_i \alpha_i` are zero (set `L`), which are at
their bound :math:`y_i C` (`U`) and which are between (`F`), the optimality conditions are linear equations for those
of `F` and the intercept, equation (active-set) of the mathematics page.  What then leaves its bounds goes to `L` or
`U`; what violates its condition there joins `F`; and again, until nothing changes.  From the sets of a neighbouring `C`
that takes about three steps, however many free variables there are; one at a time, as in smo.py, it takes thousands.

It may fail: sets may go round in circles, a kernel matrix may be singular.  Then nothing has changed, and the other
method does the work.  Neither is believed: every solution is measured by the same check in smo.py.

A Cholesky factor of the kernel matrix is kept up to date as free variables come and go.  Those that join border it,
equation (free-factor) of the mathematics page; those that leave stay in it, held at zero, equation (shadows), until
they come back or it is built again: :math:`O(|F|^2)` for each instead of :math:`O(|F|^3)` for all.  Rounding errors do
not matter much: it is used for corrections only, whose result is looked at.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from pacbayes._utils.arrays import EPS, FloatArray, Rows
from pacbayes._utils.memory import memory_limit
from pacbayes._utils.threads import parallel_for
from pacbayes.svm.smo import add_rows

# Steps until the sets must have settled; three is usual.
_STEPS = 20
# Changes that a later step may make more than the one before; sets that grow apart will not meet again.
_MORE = 10
# Part of the tolerance that a variable's condition may be violated by: two of them make the KKT violation.
_SHARE = 0.25
# The ridge that makes the equations solvable, as a part of the kernel's size.  It is the weight of the distance from
# the last iterate, so it slows the steps down and does not move the solution.
_RIDGE = 1e-6
# Rows and columns of a block on the factor's diagonal.
_BLOCK = 128
# The part of the factor's rows that may be dead before it is built again.
_DEAD = 0.15
# Rows divided by the factor in one part of the work, and rows of the factor itself built or moved.
_PART = 64
_ROWS = 256


class UnusableError(Exception):
    """The factor cannot be had: no memory for it, or the kernel matrix of the free variables is singular."""


class FreeFactor:
    """The free variables F, and a Cholesky factor that solves with ``K[F, F] + ridge * I`` as they come and go.

    It is the factor for F and some more: the row of a variable that is no longer free is dead until it comes back or
    the factor is built again.  Solutions are zero there.  The dead rows' shadows see to that: their unit vectors,
    divided by the factor.
    """

    def __init__(self, kernel: NDArray[Any], ridge: float) -> None:
        self._kernel, self._ridge = kernel, ridge
        self._room: FloatArray = np.empty((0, 0))
        #: Which variable each row of the factor belongs to, and the rows that are alive or dead.
        self._variables = self._alive = self._dead = np.empty(0, dtype=np.int64)
        #: The blocks on the factor's diagonal: their first row, the one after their last, their inverse.
        self._blocks: list[tuple[int, int, FloatArray]] = []
        #: Divided by the factor: a vector of ones; the shadows, and the inverse of a factor of their products.
        self._ones: FloatArray = np.empty((1, 0))
        self._shadows = self._weights = np.empty((0, 0))

    @property
    def members(self) -> Rows:
        """The free variables, in the order of the vectors of `solve`."""
        return self._variables[self._alive]

    def solve(self, vector: FloatArray, total: float) -> tuple[FloatArray, float]:
        """Return x and b with ``(K[F, F] + ridge * I) x + b = vector``, and `total` as the sum of x."""
        right, room = np.zeros(self._variables.size), self._room
        right[self._alive] = vector
        for start, stop, inverse in self._blocks:
            right[start:stop] = inverse @ (right[start:stop] - room[start:stop, :start] @ right[:start])
        both = np.vstack([right, self._ones])
        both -= (self._weights.T @ (self._weights @ (self._shadows @ both.T))).T @ self._shadows
        right, ones = both
        intercept = float((ones @ right - total) / (ones @ ones))
        right -= intercept * ones
        for start, stop, inverse in reversed(self._blocks):
            right[start:stop] = right[start:stop] @ inverse
            right[:start] -= right[start:stop] @ room[start:stop, :start]
        return right[self._alive], intercept

    def change(self, free: NDArray[np.bool_], hurry: FloatArray) -> None:
        """Let the variables marked be the free ones; raise `UnusableError` if that cannot be done.

        Those in a hurry to leave get the last rows where rows are built: what follows a dead one is work.
        """
        lives, join = free[self._variables], free.copy()
        join[self._variables] = False
        joining = np.flatnonzero(join)
        if joining.size == 0 and np.array_equal(np.flatnonzero(lives), self._alive):
            return
        dead, first = np.flatnonzero(~lives), lives.size
        if dead.size > _DEAD * lives.size:
            first = int(dead[0])
        again = first + np.flatnonzero(lives[first:])
        again = again[np.argsort(hurry[self._variables[again]], kind="stable")]
        new = np.concatenate([self._variables[again], joining[np.argsort(hurry[joining], kind="stable")]])
        self._reserve(first + new.size)
        self._room[first : first + again.size, :first] = self._room[again, :first]
        self._variables = np.concatenate([self._variables[:first], new])
        self._blocks = [
            (start, min(stop, first), inverse[: first - start, : first - start])
            for start, stop, inverse in self._blocks
            if start < first
        ]
        self._append(first, first + again.size)
        self._bury(lives[:first])

    def _append(self, first: int, halfway: int) -> None:
        """Build the rows from `first` on; those before `halfway` have their first columns, as many as `first`."""
        room, variables, size = self._room, self._variables, self._variables.size

        def fill(start: int) -> None:
            stop = min(start + _BLOCK, size)
            for row, variable in enumerate(variables[start:stop].tolist(), start):
                begin = first if row < halfway else 0
                room[row, begin:stop] = self._kernel[variable].take(variables[begin:stop])
            rows = np.arange(start, stop)
            room[rows, rows] += self._ridge

        parallel_for(fill, range(first, size, _BLOCK))
        self._divide(room[halfway:size], np.zeros(size - halfway, dtype=np.int64), 0)
        for start in range(first, size, _BLOCK):
            self._factorise(start, min(start + _BLOCK, size))

    def _factorise(self, start: int, stop: int) -> None:
        """Build the columns of a block from those before it, for all rows from its own on."""
        room, size = self._room, self._variables.size

        def subtract(row: int) -> None:
            rows = slice(row, min(row + _ROWS, size))
            room[rows, start:stop] -= room[rows, :start] @ room[start:stop, :start].T

        parallel_for(subtract, range(start, size, _ROWS))
        factor, inverse = _factor(room[start:stop, start:stop])
        room[start:stop, start:stop] = factor

        def divide(row: int) -> None:
            rows = slice(row, min(row + _ROWS, size))
            room[rows, start:stop] = room[rows, start:stop] @ inverse.T

        parallel_for(divide, range(stop, size, _ROWS))
        self._blocks.append((start, stop, inverse))

    def _bury(self, lives: NDArray[np.bool_]) -> None:
        """Note which of the first rows live, with the shadows of the others; all later rows are new, and live."""
        size, first = self._variables.size, lives.size
        known = self._dead < first
        known[known] = ~lives[self._dead[known]]
        old, fresh = self._dead[known], ~lives
        fresh[old] = False
        new = np.flatnonzero(fresh)
        shadows = np.zeros((old.size + new.size, size))
        shadows[: old.size, :first] = self._shadows[known, :first]
        shadows[old.size + np.arange(new.size), new] = 1.0
        self._divide(shadows[: old.size], old, first)
        self._divide(shadows[old.size :], new, 0)
        self._shadows, self._weights = shadows, _factor(shadows @ shadows.T)[1]
        ones = np.ones((1, size))
        ones[:, :first] = self._ones[:, :first]
        self._divide(ones, np.zeros(1, dtype=np.int64), first)
        self._ones, self._dead = ones, np.concatenate([old, new])
        self._alive = np.concatenate([np.flatnonzero(lives), np.arange(first, size)])

    def _divide(self, rows: FloatArray, zeros: Rows, first: int) -> None:
        """Divide rows by the factor: solve ``x L.T = row``, where x is known before column `first`.

        Each row begins with so many zeros.
        """

        def work(part: int) -> None:
            some, begin = rows[part : part + _PART], int(zeros[part : part + _PART].min())
            for start, stop, inverse in self._blocks:
                if stop > max(begin, first):
                    known = slice(min(begin, start), start)
                    some[:, start:stop] -= some[:, known] @ self._room[start:stop, known].T
                    some[:, start:stop] = some[:, start:stop] @ inverse.T

        parallel_for(work, range(0, len(rows), _PART))

    def _reserve(self, size: int) -> None:
        """Make room for so many rows, with some to spare, if memory allows."""
        if size <= len(self._room):
            return
        size = min(len(self._kernel), size + size // 2 + _BLOCK)
        limit, _ = memory_limit(None)
        if limit is not None and 8 * size * size * (1.0 + _DEAD) > limit:
            raise UnusableError
        room = np.empty((size, size))

        def copy(start: int) -> None:
            rows = slice(start, min(start + _ROWS, self._variables.size))
            room[rows, : rows.stop] = self._room[rows, : rows.stop]

        parallel_for(copy, range(0, self._variables.size, _ROWS))
        self._room = room


def _factor(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the lower Cholesky factor and its inverse; raise `UnusableError` if a matrix is not positive definite."""
    if len(matrix) == 0:
        return matrix, matrix
    factor, failed = dpotrf(matrix, lower=1)
    if failed != 0:
        raise UnusableError
    inverse, _ = dtrtri(factor, lower=1)
    return factor, np.ascontiguousarray(inverse)


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
        self._factor = FreeFactor(kernel, _RIDGE * self.size)
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
        return int(self._factor.members.size)

    def forget(self) -> None:
        """Begin anew with the next `solve`."""
        self._factor = FreeFactor(self._kernel, _RIDGE * self.size)
        self._bound[:] = False
        self._pull[:], self._pull_doubt = 0.0, 0.0

    def _iterate(
        self, cost: float, s: FloatArray, g: FloatArray, before: float, limit: int
    ) -> tuple[FloatArray | None, FloatArray]:
        y = self._y
        self._set(np.abs(s) >= 1.0, (s != 0.0) & (np.abs(s) < 1.0), np.abs(s))
        beta = np.where(self._bound, cost * y, before * s)
        values = g + (cost - before) * self._pull
        self.doubt += (cost - before) * self._pull_doubt
        last = 0
        while self.steps < limit and self._factor.members.size > 0:
            self.steps += 1
            excess = self._step(beta, values)
            free = np.zeros(y.size, dtype=np.bool_)
            free[self._factor.members] = True
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
            self._set((self._bound & ~back) | high, (free & ~low & ~high) | back, alpha / cost)
        return None, values

    def _step(self, beta: FloatArray, values: FloatArray) -> FloatArray:
        """Solve for the free variables, moving them and K beta; return what is left: y - K beta - intercept."""
        free = self._factor.members
        # The step ends where the coefficients sum to zero.
        step, intercept = self._factor.solve(self._y[free] - values[free], -math.fsum(beta[beta != 0.0].tolist()))
        if not math.isfinite(intercept):
            raise UnusableError
        beta[free] += step
        self._add(free, step, values)
        return self._y - values - intercept

    def _add(self, rows: NDArray[np.int64], coefs: FloatArray, values: FloatArray) -> None:
        add_rows(self._kernel, rows, coefs, values)
        # Each of as many additions is off by half a unit in the last place of what it adds up to.
        reach = float(np.abs(values).max()) + 2.0 * self.size * float(np.abs(coefs).sum())
        self.doubt += EPS * rows.size * reach

    def _set(self, bound: NDArray[np.bool_], free: NDArray[np.bool_], share: FloatArray) -> None:
        """Change the sets, with the factor of the one and the sum of the other; `share` is alpha as a part of C."""
        changed = np.flatnonzero(bound != self._bound)
        if changed.size > 0:
            add_rows(self._kernel, changed, np.where(bound[changed], 1.0, -1.0) * self._y[changed], self._pull)
            self._pull_doubt += EPS * changed.size * (float(np.abs(self._pull).max()) + self.size * changed.size)
        self._bound = bound
        self._factor.change(free, np.abs(share - 0.5))
