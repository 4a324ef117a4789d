"""From one cost to the next, by the method that suits: pairs of variables, or all free ones at once."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.numeric.rounding import EPS
from pacbayes.runtime.compiled import compile_notice
from pacbayes.runtime.threads import one_thread

# Entries of K used between two calls, when the bar moves and an interrupt is heard: about a tenth of a second.
_ENTRIES_PER_CALL = 2**25
# On fewer rows pairs of variables are about as fast, and the machines of the paper keep their bits.
ROWS = 2400
# Iterations on pairs that a neighbouring cost may take before all free variables are solved for at once.
PATIENCE = 500
# After so few changes of sets the next cost is so near that pairs are faster.
_FEW = 2


@dataclass(frozen=True)
class Stages:
    """Increasing costs, and for each its row in the results or -1 for a stepping stone."""

    costs: FloatArray
    rows: Rows

    def reported(self, start: int, stop: int) -> int:
        """Return how many of some stages have a row."""
        return int(np.count_nonzero(self.rows[start:stop] >= 0))


class Follower:
    """A path under way.

    Pairs of variables (smo.py) as long as that is quick; a cost that takes longer is left to linear algebra
    (active_set.py), and so are those after it.  Which is decided by counting, never by a clock.
    """

    def __init__(
        self, kernel: NDArray[Any], signs: FloatArray, tol: float, max_iter: int, linear_from: int | None = None
    ) -> None:
        self._kernel, self._signs, self._tol, self._max_iter = kernel, signs, tol, max_iter
        self._may_be_linear = len(signs) >= (ROWS if linear_from is None else linear_from)
        m = len(signs)
        self._smo: Any = load_solver(kernel.dtype)
        self._s, self._g, self._state = np.zeros(m), np.zeros(m), self._smo.new_state()
        self._active: Any = None
        # Whether linear algebra goes on, the last stage it tried, and up to which one it is not tried again.
        self._linear, self._tried, self._rests_until, self._failures = False, -1, 0, 0

    def run(
        self,
        stages: Stages,
        results: tuple[FloatArray, FloatArray, Rows, FloatArray],
        advance: Callable[[int], None],
    ) -> None:
        """Fill the results: dual coefficients, intercepts, iterations and violations."""
        m, number, start = len(self._signs), stages.costs.size, 0
        # With a floor, so that a call always does more than to begin.
        budget = max(64, _ENTRIES_PER_CALL // m)
        with ExitStack() as stack:
            while start < number:
                if self._may_be_linear and self._wants_linear(start):
                    if self._active is None:
                        # The bits of a product depend on how many threads share it.
                        stack.enter_context(one_thread())
                    self._solve_linear(start, float(stages.costs[start]))
                stop, patience = number, PATIENCE if self._may_be_linear else -1
                if self._tried == start or start < self._rests_until:
                    stop, patience = min(number, max(start + 1, self._rests_until)), -1
                done = self._smo.run_stages(
                    *(self._kernel, self._signs, stages.costs[start:stop], stages.rows[start:stop], self._s, self._g),
                    *(self._state, self._tol, self._max_iter, patience, budget, *results),
                )
                advance(stages.reported(start, start + done))
                start += done

    def _wants_linear(self, start: int) -> bool:
        """Return whether to solve for all free variables at the stage that is next, or under way."""
        state = self._state
        return self._tried < start and not self._smo.is_settled(state) and (self._linear or self._smo.is_hard(state))

    def _solve_linear(self, start: int, cost: float) -> None:
        """Bring s and g to the solution at a cost, if that succeeds; smo.py looks at it in any case."""
        if self._active is None:
            from pacbayes.classifiers.svm.solver.active_set import ActiveSet

            self._active = ActiveSet(self._kernel, self._signs, self._tol)
        smo, active, self._tried = self._smo, self._active, start
        before = smo.cost_of(self._state)
        if active.solve(cost, self._s, self._g, before, self._max_iter):
            # In the unit in which smo.py counts.
            error = EPS * cost * active.size * len(self._signs)
            smo.go_on(self._state, cost, active.steps, active.doubt / error if error > 0.0 else 0.0)
            self._linear, self._failures = active.changes > _FEW, 0
            return
        self._linear, self._failures = False, self._failures + 1
        self._rests_until = start + 2**self._failures
        with np.errstate(under="ignore"):
            self._g *= cost / before
        smo.go_on(self._state, cost, active.steps, 1.0)


@cache
def load_solver(dtype: np.dtype[Any]) -> Any:
    """Return the compiled solver for kernels of this precision; numba is imported here, when first needed."""
    from pacbayes.classifiers.svm.solver import smo

    with compile_notice(smo.run_stages):
        smo.compile_for(dtype)
    return smo
