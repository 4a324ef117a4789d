r"""Support vector machines by linear algebra: the free variables solved for, then the sets corrected.

A primal-dual active set method.  If it is known which :math:`\beta_i = y_i \alpha_i` are zero (set `L`), which are at
their bound :math:`y_i C` (`U`) and which are between (`F`), the optimality conditions are linear equations for those
of `F` and the intercept, equation (active-set) of the mathematics page.  What then leaves its bounds goes to `L` or
`U`; what violates its condition there joins `F`; and again, until nothing changes.  From the sets of a neighbouring `C`
that takes about three steps, however many free variables there are; one at a time, as in smo.py, it takes thousands.

It may fail: sets may go round in circles, a kernel matrix may be singular.  Then nothing has changed, and the other
method does the work.  Neither is believed: every solution is measured by the same check in smo.py.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers.svm.solver.free_inverse import FreeInverse, UnusableError
from pacbayes.classifiers.svm.solver.row_sums import add_rows
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.rounding import EPS

# Steps until the sets must have settled; three is usual.
_STEPS = 20
# Changes that a later step may make more than the one before; sets that grow apart will not meet again.
_MORE = 10
# Part of the tolerance that a variable's condition may be violated by: two of them make the KKT violation.
_SHARE = 0.25
# The ridge that makes the equations solvable, as a part of the kernel's size.  It is the weight of the distance from
# the last iterate, so it slows the steps down and does not move the solution.
_RIDGE = 1e-6


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
