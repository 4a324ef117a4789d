r"""Primal-dual active-set method for support vector machines.

If it is known which :math:`\beta_i = y_i \alpha_i` are zero (set `L`), which are at their bound :math:`y_i C` (`U`) and
which are between (`F`), the optimality conditions are linear equations for those of `F` and the intercept, equation
(active-set) of docs/mathematics.md.  Variables of the solution that leave their interval then move to `L` or `U`, and
variables that violate their condition there join `F`, until no set changes.  From the sets of a neighbouring `C` this
takes about three steps, however many variables are free; SMO (smo.py) takes thousands.

The method may fail: sets may cycle, and a kernel matrix may be singular.  Then the iterate is restored and SMO solves
the problem.  smo.py computes the KKT violation of every solution, whichever method found it.

A Cholesky factor of the kernel matrix is updated as variables join and leave `F`.  Variables that join border it,
equation (free-factor); variables that leave stay in it, with steps held at zero, equation (shadows), until they rejoin
or the factor is rebuilt: :math:`O(|F|^2)` per variable instead of :math:`O(|F|^3)` for all.  Rounding errors in the
factor cost steps, not accuracy, since its solutions are corrections of an iterate.

Importing this module imports numba.

References
----------
M. Hintermueller, K. Ito and K. Kunisch, "The primal-dual active set strategy as a semismooth Newton method", SIAM
Journal on Optimization 13, 2002.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from pacbayes._utils.arrays import EPS, FloatArray, Rows
from pacbayes._utils.memory import memory_limit
from pacbayes._utils.threads import parallel_for
from pacbayes.svm.smo import add_rows, compile_sums

# Maximum number of steps from one cost to the next; three are typical.
_MAX_STEPS = 20
# The attempt is abandoned as diverging if a step changes the sets this many times as often as the step before.
_MAX_GROWTH = 10
# Tolerance for the condition of one variable, as a share of `tol`: the KKT violation is a difference of two.
_TOLERANCE_SHARE = 0.25
# Ridge of the linear equations, relative to the largest diagonal entry of the kernel matrix.  It penalises the distance
# from the iterate, which shortens steps without changing the solution.
_RIDGE = 1e-6
# Size of a diagonal block of the factor.
_BLOCK = 128
# Share of inactive rows above which the factor is rebuilt.
_MAX_INACTIVE = 0.15
# Right-hand sides per part of a parallel triangular solve, and rows of the factor per part when it is built or moved.
_SIDES_PER_PART = 64
_ROWS_PER_PART = 256


class FactorizationError(Exception):
    """The factor does not fit into memory, or the kernel matrix of the free variables is singular."""


class FreeFactor:
    """Updated Cholesky factor of ``K[F, F] + ridge * I`` for the free variables F.

    The factor has a row for every free variable, and inactive rows for variables that have left F since the last
    rebuild.  Solutions are projected to be zero at inactive rows; the projection uses the shadows of the inactive rows,
    the solutions of the
    triangular system for their unit vectors.
    """

    def __init__(self, kernel: NDArray[Any], ridge: float) -> None:
        self._kernel, self._ridge = kernel, ridge
        self._matrix: FloatArray = np.empty((0, 0))
        #: The variable of each row of the factor; the active and the inactive rows.
        self._variables = self._active = self._inactive = np.empty(0, dtype=np.int64)
        #: Diagonal blocks of the factor: first row, row after the last, inverse.
        self._blocks: list[tuple[int, int, FloatArray]] = []
        #: Solutions of the triangular system: for a vector of ones; for the unit vectors of the inactive rows.
        self._ones: FloatArray = np.empty((1, 0))
        self._shadows = np.empty((0, 0))
        #: Inverse Cholesky factor of the Gram matrix of the shadows.
        self._shadow_inverse = np.empty((0, 0))

    @property
    def free(self) -> Rows:
        """The free variables, in the order of the vectors of `solve`."""
        return self._variables[self._active]

    def solve(self, vector: FloatArray, total: float) -> tuple[FloatArray, float]:
        """Solve ``(K[F, F] + ridge * I) x + b = vector`` with the sum of x equal to `total`, for x and b."""
        right, matrix = np.zeros(self._variables.size), self._matrix
        right[self._active] = vector
        for start, stop, inverse in self._blocks:
            right[start:stop] = inverse @ (right[start:stop] - matrix[start:stop, :start] @ right[:start])
        both = np.vstack([right, self._ones])
        both -= (self._shadow_inverse.T @ (self._shadow_inverse @ (self._shadows @ both.T))).T @ self._shadows
        right, ones = both
        intercept = float((ones @ right - total) / (ones @ ones))
        right -= intercept * ones
        for start, stop, inverse in reversed(self._blocks):
            right[start:stop] = right[start:stop] @ inverse
            right[:start] -= right[start:stop] @ matrix[start:stop, :start]
        return right[self._active], intercept

    def update(self, free: NDArray[np.bool_], bound_proximity: FloatArray) -> None:
        """Update the set of free variables; raise `FactorizationError` if the factor cannot be updated.

        New rows are ordered by `bound_proximity`: the variables most likely to leave come last, since removing the last
        rows is cheapest.
        """
        stays, join = free[self._variables], free.copy()
        join[self._variables] = False
        joining = np.flatnonzero(join)
        if joining.size == 0 and np.array_equal(np.flatnonzero(stays), self._active):
            return
        inactive, first = np.flatnonzero(~stays), stays.size
        if inactive.size > _MAX_INACTIVE * stays.size:
            first = int(inactive[0])
        rebuilt = first + np.flatnonzero(stays[first:])
        rebuilt = rebuilt[np.argsort(bound_proximity[self._variables[rebuilt]], kind="stable")]
        joining = joining[np.argsort(bound_proximity[joining], kind="stable")]
        new = np.concatenate([self._variables[rebuilt], joining])
        self._reserve(first + new.size)
        self._matrix[first : first + rebuilt.size, :first] = self._matrix[rebuilt, :first]
        self._variables = np.concatenate([self._variables[:first], new])
        self._blocks = [
            (start, min(stop, first), inverse[: first - start, : first - start])
            for start, stop, inverse in self._blocks
            if start < first
        ]
        self._append(first, first + rebuilt.size)
        self._set_active(stays[:first])

    def _append(self, first: int, joining: int) -> None:
        """Compute all rows from `first` on; rows before `joining` already contain valid columns up to `first`."""
        matrix, variables, size = self._matrix, self._variables, self._variables.size

        def fill(start: int) -> None:
            stop = min(start + _BLOCK, size)
            for row, variable in enumerate(variables[start:stop].tolist(), start):
                begin = first if row < joining else 0
                matrix[row, begin:stop] = self._kernel[variable].take(variables[begin:stop])
            rows = np.arange(start, stop)
            matrix[rows, rows] += self._ridge

        parallel_for(fill, range(first, size, _BLOCK))
        self._solve_rows(matrix[joining:size], np.zeros(size - joining, dtype=np.int64), 0)
        for start in range(first, size, _BLOCK):
            self._factorise(start, min(start + _BLOCK, size))

    def _factorise(self, start: int, stop: int) -> None:
        """Compute the columns of a block from the preceding columns, in the rows of the block and all later rows."""
        matrix, size = self._matrix, self._variables.size

        def subtract(row: int) -> None:
            rows = slice(row, min(row + _ROWS_PER_PART, size))
            matrix[rows, start:stop] -= matrix[rows, :start] @ matrix[start:stop, :start].T

        parallel_for(subtract, range(start, size, _ROWS_PER_PART))
        factor, inverse = _cholesky(matrix[start:stop, start:stop])
        matrix[start:stop, start:stop] = factor

        def divide(row: int) -> None:
            rows = slice(row, min(row + _ROWS_PER_PART, size))
            matrix[rows, start:stop] = matrix[rows, start:stop] @ inverse.T

        parallel_for(divide, range(stop, size, _ROWS_PER_PART))
        self._blocks.append((start, stop, inverse))

    def _set_active(self, stays: NDArray[np.bool_]) -> None:
        """Set the active rows (`stays` for the first rows, all later ones) and compute the shadows of the others."""
        size, first = self._variables.size, stays.size
        known = self._inactive < first
        known[known] = ~stays[self._inactive[known]]
        old, leaves = self._inactive[known], ~stays
        leaves[old] = False
        new = np.flatnonzero(leaves)
        shadows = np.zeros((old.size + new.size, size))
        shadows[: old.size, :first] = self._shadows[known, :first]
        shadows[old.size + np.arange(new.size), new] = 1.0
        self._solve_rows(shadows[: old.size], old, first)
        self._solve_rows(shadows[old.size :], new, 0)
        self._shadows, self._shadow_inverse = shadows, _cholesky(shadows @ shadows.T)[1]
        ones = np.ones((1, size))
        ones[:, :first] = self._ones[:, :first]
        self._solve_rows(ones, np.zeros(1, dtype=np.int64), first)
        self._ones, self._inactive = ones, np.concatenate([old, new])
        self._active = np.concatenate([np.flatnonzero(stays), np.arange(first, size)])

    def _solve_rows(self, rows: FloatArray, zeros: Rows, first: int) -> None:
        """Replace rows by the solutions of ``x L.T = row``, which columns before `first` already contain.

        `zeros` is the number of leading zeros of each row.
        """

        def work(part: int) -> None:
            sides, begin = rows[part : part + _SIDES_PER_PART], int(zeros[part : part + _SIDES_PER_PART].min())
            for start, stop, inverse in self._blocks:
                if stop > max(begin, first):
                    known = slice(min(begin, start), start)
                    sides[:, start:stop] -= sides[:, known] @ self._matrix[start:stop, known].T
                    sides[:, start:stop] = sides[:, start:stop] @ inverse.T

        parallel_for(work, range(0, len(rows), _SIDES_PER_PART))

    def _reserve(self, size: int) -> None:
        """Allocate memory for 1.5 times `size` rows, or raise `FactorizationError` if there is not enough."""
        if size <= len(self._matrix):
            return
        size = min(len(self._kernel), size + size // 2 + _BLOCK)
        available, _ = memory_limit(None)
        if available is not None and 8 * size * size * (1.0 + _MAX_INACTIVE) > available:
            raise FactorizationError
        matrix = np.empty((size, size))

        def copy(start: int) -> None:
            rows = slice(start, min(start + _ROWS_PER_PART, self._variables.size))
            matrix[rows, : rows.stop] = self._matrix[rows, : rows.stop]

        parallel_for(copy, range(0, self._variables.size, _ROWS_PER_PART))
        self._matrix = matrix


def _cholesky(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lower Cholesky factor and its inverse; raise `FactorizationError` if a matrix is not positive definite."""
    if len(matrix) == 0:
        return matrix, matrix
    factor, failed = dpotrf(matrix, lower=1)
    if failed != 0:
        raise FactorizationError
    inverse, _ = dtrtri(factor, lower=1)
    return factor, np.ascontiguousarray(inverse)


class ActiveSet:
    """Primal-dual active-set method; keeps the sets F and U between costs.

    Attributes
    ----------
    steps, changes : int
        Number of steps of the last `solve`, and number of variables that changed sets.
    size : float
        Largest diagonal entry of the kernel matrix.
    error : float
        Bound on the rounding errors in `g` from the last `solve`.
    """

    def __init__(self, kernel: NDArray[Any], y: FloatArray, tol: float) -> None:
        self._kernel, self._y, self._tolerance = kernel, y, _TOLERANCE_SHARE * tol
        compile_sums(kernel.dtype)
        self.size = float(np.abs(np.diagonal(kernel)).max())
        #: Sum of y_i K_i over U: the derivative of g in C for fixed free variables.
        self._slope = np.zeros(y.size)
        self.steps = self.changes = 0
        self.error = 0.0
        self._reset()

    def _reset(self) -> None:
        """Reset the sets to those before the first cost."""
        self._factor = FreeFactor(self._kernel, _RIDGE * self.size)
        self._at_bound = np.zeros(self._y.size, dtype=np.bool_)
        self._slope[:], self._slope_error = 0.0, 0.0

    def solve(self, cost: float, s: FloatArray, g: FloatArray, before: float, max_steps: int) -> bool:
        """Move s and ``g = before * K s`` to the solution at `cost`; return False, with both unchanged, on failure."""
        self.steps, self.changes, self.error = 0, 0, 0.0
        try:
            # Overflow is ignored here: infinities and NaN are detected in the result.
            with np.errstate(all="ignore"):
                beta, values = self._iterate(cost, s, g, before, min(max_steps, _MAX_STEPS))
        except FactorizationError:
            self._reset()
            return False
        if beta is None:
            return False
        with np.errstate(under="ignore"):
            s[:] = np.where(self._at_bound, self._y, beta / cost)
        g[:] = values
        return True

    @property
    def n_free(self) -> int:
        """Number of free variables."""
        return int(self._factor.free.size)

    def _iterate(
        self, cost: float, s: FloatArray, g: FloatArray, before: float, max_steps: int
    ) -> tuple[FloatArray | None, FloatArray]:
        """Iterate to the solution at `cost`; return the dual coefficients beta (None on failure) and K beta."""
        y = self._y
        self._set_index_sets(np.abs(s) >= 1.0, (s != 0.0) & (np.abs(s) < 1.0), np.abs(s))
        beta = np.where(self._at_bound, cost * y, before * s)
        values = g + (cost - before) * self._slope
        self.error += (cost - before) * self._slope_error
        n_last = 0
        while self.steps < max_steps and self._factor.free.size > 0:
            self.steps += 1
            residual = self._step(beta, values)
            free = np.zeros(y.size, dtype=np.bool_)
            free[self._factor.free] = True
            alpha = y * beta
            to_zero, to_bound = free & (alpha <= 0.0), free & (alpha >= cost)
            to_free = ~free & (np.where(self._at_bound, -y, y) * residual > self._tolerance)
            changed = np.flatnonzero(to_zero | to_bound | to_free)
            if changed.size == 0:
                if float(np.abs(residual[free]).max()) <= self._tolerance:
                    return beta, values
                continue  # the ridge shortened the step: repeat it
            if self.steps > 2 and changed.size > n_last + _MAX_GROWTH:
                break
            n_last = changed.size
            self.changes += n_last
            target = np.where(to_zero, 0.0, np.where(to_bound, cost * y, beta))
            moved = np.flatnonzero(target != beta)
            self._add(moved, (target - beta)[moved], values)
            beta = target
            self._set_index_sets(
                (self._at_bound & ~to_free) | to_bound, (free & ~to_zero & ~to_bound) | to_free, alpha / cost
            )
        return None, values

    def _step(self, beta: FloatArray, values: FloatArray) -> FloatArray:
        """Solve for the free variables; update beta and K beta, and return the residual y - K beta - intercept."""
        free = self._factor.free
        # After the step the coefficients sum to zero.
        step, intercept = self._factor.solve(self._y[free] - values[free], -math.fsum(beta[beta != 0.0].tolist()))
        if not math.isfinite(intercept):
            raise FactorizationError
        beta[free] += step
        self._add(free, step, values)
        return self._y - values - intercept

    def _add(self, rows: NDArray[np.int64], coefs: FloatArray, values: FloatArray) -> None:
        """Add weighted rows of the kernel matrix to `values`, and their rounding errors to `error`."""
        add_rows(self._kernel, rows, coefs, values)
        # Each addition has an error of at most half a unit in the last place of its result.
        largest = float(np.abs(values).max()) + 2.0 * self.size * float(np.abs(coefs).sum())
        self.error += EPS * rows.size * largest

    def _set_index_sets(self, at_bound: NDArray[np.bool_], free: NDArray[np.bool_], share: FloatArray) -> None:
        """Set U and F, and update the sum over U and the factor of F; `share` is alpha / C."""
        changed = np.flatnonzero(at_bound != self._at_bound)
        if changed.size > 0:
            signs = np.where(at_bound[changed], 1.0, -1.0) * self._y[changed]
            add_rows(self._kernel, changed, signs, self._slope)
            self._slope_error += EPS * changed.size * (float(np.abs(self._slope).max()) + self.size * changed.size)
        self._at_bound = at_bound
        self._factor.update(free, np.abs(share - 0.5))
