"""Regularisation path of support vector machines, with a warm-started solution for each parameter."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from pacbayes._utils.arrays import EPS, FloatArray, Rows
from pacbayes._utils.checks import check_numbers, require, require_array, warn_caller
from pacbayes._utils.progress import COMPILING, progress
from pacbayes._utils.threads import limit_to_one_thread

# LIBSVM's maximum number of iterations per SVM.
MAX_ITER = 10_000_000
# Largest ratio of successive costs; larger gaps are filled with intermediate costs.
_MAX_COST_RATIO = 10.0
# The symmetry check processes this many rows at a time, to avoid a copy of the matrix.
_ROWS_PER_CHECK = 256
_SYMMETRY = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-4}
# Number of entries of K per compiled call, about 100 ms of work: between calls, progress is shown and interrupts are
# handled.
_ENTRIES_PER_CALL = 2**25
# Minimum number of rows for the active-set method; below it, SMO is about as fast.
_ACTIVE_SET_FROM = 2400
# Number of SMO iterations after which the active-set method is tried for a neighbouring cost.
_PATIENCE = 500
# Maximum number of intermediate costs for which the active-set method is tried before a cost.
_MAX_INTERMEDIATE = 12
# If at most this many variables changed sets, the next cost is so close that SMO is faster.
_FEW = 2


@dataclass(frozen=True)
class SVMPath:
    r"""Support vector machines for many :math:`\lambda` on one training sample; the result of `svm_path`.

    Attributes
    ----------
    lambdas : ndarray of shape (H,)
        In the order of the argument.
    dual_coef : ndarray of shape (H, m)
        :math:`y_i \alpha_i`.
    intercept, n_iter, kkt_violation, converged : ndarrays of shape (H,)
        `kkt_violation` is the optimality gap of the dual, at most the tolerance where `converged`; `n_iter` counts
        SMO iterations and active-set steps.

    See Also
    --------
    svm_path : Train one.

    References
    ----------
    .. [1] R.-E. Fan, P.-H. Chen and C.-J. Lin, "Working set selection using second order information for training
       support vector machines", Journal of Machine Learning Research 6, 2005.

    Examples
    --------
    >>> from pacbayes import svm_path
    >>> path = svm_path([[1.0, 0.0], [0.0, 1.0]], [1, -1], [2.0, 1.0])
    >>> path.dual_coef
    array([[ 0.5, -0.5],
           [ 1. , -1. ]])
    """

    lambdas: FloatArray
    dual_coef: FloatArray
    intercept: FloatArray
    n_iter: NDArray[np.int64]
    kkt_violation: FloatArray
    converged: NDArray[np.bool_]

    def __post_init__(self) -> None:
        """Check shapes, and the memory layout that compiled code requires."""
        require_array(self.lambdas, "SVMPath.lambdas", "f", (None,))
        number = self.lambdas.size
        require_array(self.dual_coef, "SVMPath.dual_coef", "f", (number, None), finite=False)
        require(self.dual_coef.flags.c_contiguous, "SVMPath.dual_coef", "must be stored by rows")
        require_array(self.intercept, "SVMPath.intercept", "f", (number,), finite=False)
        require_array(self.n_iter, "SVMPath.n_iter", "i", (number,))
        require_array(self.kkt_violation, "SVMPath.kkt_violation", "f", (number,), finite=False)
        require_array(self.converged, "SVMPath.converged", "b", (number,))

    def decision_function(self, K: ArrayLike) -> FloatArray:
        """Decision values of shape (H, n) for kernel values `K` of shape (n, m), new rows by training rows.

        Examples
        --------
        >>> from pacbayes import svm_path
        >>> path = svm_path([[1.0, 0.0], [0.0, 1.0]], [1, -1], [2.0, 1.0])
        >>> path.decision_function([[1.0, 0.5]]).tolist()
        [[0.25], [0.5]]
        """
        kernel = check_numbers("K", K)
        if kernel.ndim != 2 or kernel.shape[1] != self.dual_coef.shape[1]:
            raise ValueError(
                f"K must have one column per training example, shape (n, {self.dual_coef.shape[1]}), "
                f"got shape {kernel.shape}"
            )
        decisions: FloatArray = self.dual_coef @ kernel.T
        decisions += self.intercept[:, None]
        return decisions


def check_lambdas(lambdas: ArrayLike) -> FloatArray:
    """Convert regularisation parameters to float64; raise if there are none or if some are not positive."""
    values = np.atleast_1d(check_numbers("lambdas", lambdas))
    if values.ndim != 1:
        raise ValueError(f"lambdas must be one-dimensional, got shape {values.shape}")
    if values.size == 0:
        raise ValueError("lambdas must hold at least one value, got an empty grid")
    with np.errstate(divide="ignore", over="ignore"):
        good = (values > 0.0) & np.isfinite(values) & np.isfinite(1.0 / values)
    if not good.all():
        raise ValueError(f"lambdas must be positive and finite, and so must 1/lambda; got {values[~good][0]}")
    return values


def _check_kernel(K: ArrayLike) -> NDArray[Any]:
    """Convert K to a C-contiguous float64 or float32 array; raise unless it is square, finite and symmetric."""
    single = getattr(K, "dtype", None) == np.float32
    kernel: NDArray[Any] = np.asarray(K) if single else check_numbers("K", K)
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1]:
        raise ValueError(f"K must be a square matrix, got shape {kernel.shape}")
    if kernel.size == 0:
        raise ValueError("K must hold at least two examples, got shape (0, 0)")
    kernel = np.ascontiguousarray(kernel)
    for start in range(0, len(kernel), _ROWS_PER_CHECK):
        rows = slice(start, start + _ROWS_PER_CHECK)
        if not np.isfinite(kernel[rows]).all():
            raise ValueError("K must be finite, got NaN or infinity")
        difference = float(np.abs(kernel[rows, start:] - kernel[start:, rows].T).max())
        if difference > _SYMMETRY[kernel.dtype] * float(np.abs(kernel[rows, start:]).max()):
            raise ValueError(f"K must be symmetric, got entries that differ from their transpose by {difference:g}")
    return kernel


def _check_signs(y: ArrayLike, m: int) -> FloatArray:
    """Convert labels to float64; raise unless there are m labels -1 and +1 of both classes."""
    signs = check_numbers("y", y)
    if signs.shape != (m,):
        raise ValueError(f"y must have one label per row of K, shape ({m},), got shape {signs.shape}")
    good = np.abs(signs) == 1.0
    if not good.all():
        raise ValueError(f"y must hold labels -1 and +1, got {signs[~good][0]}")
    if (signs == signs[0]).all():
        raise ValueError(f"y must hold both classes, got {signs[0]:+.0f} only")
    return np.ascontiguousarray(signs)


def svm_path(K: ArrayLike, y: ArrayLike, lambdas: ArrayLike, *, tol: float = 1e-3, max_iter: int = MAX_ITER) -> SVMPath:
    r"""Train a support vector machine for every regularisation parameter on one kernel matrix.

    For every :math:`\lambda`, with :math:`C = 1/\lambda`, the C-SVC

    .. math:: \min_\alpha \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j K_{ij} - \sum_i \alpha_i
              \quad\text{with } 0 \le \alpha_i \le C, \ \sum_i y_i \alpha_i = 0.

    The path runs from the largest :math:`\lambda` to the smallest, with warm starts: each solution, scaled by the ratio
    of the two `C`, starts the next [2]_ and is nearly optimal on a fine grid.  If no :math:`\alpha_i` is at its bound
    `C`, the solution is also that of every smaller :math:`\lambda` and is returned for all of them:
    :math:`\alpha_i \le C` is the only optimality condition with `C`, and a larger `C` relaxes it.

    Sequential minimal optimisation (SMO) with second-order working-set selection solves each problem [1]_.  From 2400
    rows on, a primal-dual active-set method replaces it where a neighbouring :math:`\lambda` would take many
    iterations [3]_: it solves for all free variables jointly, on all cores, and corrects the sets of variables at their
    bounds.  The same KKT violation measures every solution, whose bits do not depend on the number of cores.

    Parameters
    ----------
    K : array_like of shape (m, m)
        Symmetric, positive semi-definite kernel matrix.  A matrix in single precision is not copied.
    y : array_like of shape (m,)
        Labels -1 and +1.
    lambdas : array_like of shape (H,)
        Positive, in any order.
    tol : float
        Largest KKT violation at which to stop, the tolerance of scikit-learn's `SVC`.
    max_iter : int
        Maximum number of iterations per :math:`\lambda`; a `ConvergenceWarning` tells if any reached it.

    Returns
    -------
    SVMPath
        In the order of `lambdas`.

    See Also
    --------
    svm_set : SVMs from rows, with their validation errors.
    sigest : Width of a Gaussian kernel.
    sklearn.svm.SVC : A single SVM.

    References
    ----------
    .. [1] R.-E. Fan, P.-H. Chen and C.-J. Lin, "Working set selection using second order information for training
       support vector machines", Journal of Machine Learning Research 6, 2005.
    .. [2] D. DeCoste and K. Wagstaff, "Alpha seeding for support vector machines", KDD, 2000.
    .. [3] M. Hintermueller, K. Ito and K. Kunisch, "The primal-dual active set strategy as a semismooth Newton
       method", SIAM Journal on Optimization 13, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from pacbayes import svm_path
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> path = svm_path(np.outer(x, x), [-1, -1, 1, 1], [10.0, 1.0, 1e-23])
    >>> path.dual_coef.round(3)
    array([[-0.04, -0.1 ,  0.1 ,  0.04],
           [ 0.  , -0.5 ,  0.5 ,  0.  ],
           [ 0.  , -0.5 ,  0.5 ,  0.  ]])
    >>> path.converged.all()
    np.True_
    """
    lambdas = check_lambdas(lambdas)
    kernel = _check_kernel(K)
    signs = _check_signs(y, len(kernel))
    if not 0.0 < tol < np.inf:
        raise ValueError(f"tol must be positive and finite, got {tol!r}")
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}")
    with progress("support vector machines", lambdas.size) as advance:
        path = solve_path(kernel, signs, lambdas, tol, max_iter, advance)
    warn_unconverged(path.lambdas, path.kkt_violation, path.converged, max_iter)
    return path


def warn_unconverged(
    lambdas: FloatArray, kkt_violation: FloatArray, converged: NDArray[np.bool_], max_iter: int = MAX_ITER
) -> None:
    """Issue a single `ConvergenceWarning` if any SVM did not converge."""
    if not converged.all():
        worst = int(np.argmax(kkt_violation))
        warn_caller(
            f"{np.count_nonzero(~converged)} of {converged.size} support vector machines stopped at max_iter="
            f"{max_iter} iterations; the largest KKT violation is {kkt_violation[worst]:.3g} at "
            f"lambda={lambdas[worst]:g}",
            ConvergenceWarning,
        )


def solve_path(
    kernel: NDArray[Any],
    signs: FloatArray,
    lambdas: FloatArray,
    tol: float = 1e-3,
    max_iter: int = MAX_ITER,
    advance: Callable[[int], None] = lambda n_trained: None,
    active_set_from: int | None = None,
) -> SVMPath:
    """Compute `svm_path` for validated arguments, without convergence warnings.

    The active-set method may be used from `active_set_from` rows on.  `advance` is called several times a second with
    the number of SVMs trained since the last call.
    """
    h = lambdas.size
    schedule = _cost_schedule(lambdas, float(np.abs(np.diagonal(kernel)).mean()))
    dual_coef, intercept, violation = np.empty((h, len(signs))), np.empty(h), np.empty(h)
    n_iter = np.empty(h, dtype=np.int64)
    solver = _PathSolver(kernel, signs, tol, max_iter, active_set_from)
    solver.run(schedule, (dual_coef, intercept, n_iter, violation), advance)
    return SVMPath(lambdas, dual_coef, intercept, n_iter, violation, violation <= tol)


@dataclass(frozen=True)
class _Schedule:
    """Increasing costs, and the row of the results for each cost (-1 for intermediate costs)."""

    costs: FloatArray
    rows: Rows

    def n_results(self, start: int, stop: int) -> int:
        """Count the stages whose solution is stored."""
        return int(np.count_nonzero(self.rows[start:stop] >= 0))


def _cost_schedule(lambdas: FloatArray, scale: float) -> _Schedule:
    """Create the increasing costs C = 1/lambda, with intermediate costs.

    A cost far above the preceding one (or, for the first, above 1/scale, from where bounds no longer dominate) is
    approached by factors of at most ten: in a single step, low-rank kernels take a thousand times more iterations.
    """
    order = np.argsort(-lambdas, kind="stable")
    costs = 1.0 / lambdas[order]
    before = np.maximum(np.concatenate([[0.0], costs[:-1]]), 1.0 / scale if scale > 0.0 else np.inf)
    parts, rows, done = [], [], 0
    for gap in np.flatnonzero(costs > _MAX_COST_RATIO * before):
        number = math.ceil(math.log(costs[gap] / before[gap], _MAX_COST_RATIO))
        intermediate = np.geomspace(before[gap], costs[gap], 1 + number)[1:-1]
        parts += [costs[done:gap], intermediate]
        rows += [order[done:gap], np.full(intermediate.size, -1)]
        done = int(gap)
    result_rows = np.concatenate([*rows, order[done:]]).astype(np.int64)
    return _Schedule(np.concatenate([*parts, costs[done:]]), result_rows)


class _PathSolver:
    """Solver of a path, which chooses between SMO (smo.py) and the active-set method (active_set.py).

    SMO is used while it is fast; a cost that takes longer, and those after it, are solved by the active-set method.
    The choice depends on iteration counts, never on time, so that results are reproducible.
    """

    def __init__(
        self, kernel: NDArray[Any], signs: FloatArray, tol: float, max_iter: int, active_set_from: int | None = None
    ) -> None:
        self._kernel, self._signs, self._tol, self._max_iter = kernel, signs, tol, max_iter
        self._active_set_allowed = len(signs) >= (_ACTIVE_SET_FROM if active_set_from is None else active_set_from)
        m = len(signs)
        self._smo: Any = load_solver(kernel.dtype)
        self._problem = self._smo.problem(kernel, signs)
        self._s, self._g, self._state = np.zeros(m), np.zeros(m), self._smo.new_state()
        self._active_set: Any = None
        # State of the active-set method: whether it continues with the next stage, the last stage that it tried, the
        # stage before which it is not tried again, and its number of consecutive failures.
        self._continues, self._tried, self._suspended_until, self._failures = False, -1, 0, 0
        # Number of changed variables and of iterations of the most recent solution.
        self._last_work = (0, 0)
        # Trials of SMO instead: the stage of the last trial, the stage of the next one, and the number of consecutive
        # failures.
        self._trial, self._next_trial, self._failed_trials = -1, 0, 0
        self._before_trial = self._s, self._g, 1.0

    def run(
        self,
        schedule: _Schedule,
        results: tuple[FloatArray, FloatArray, Rows, FloatArray],
        advance: Callable[[int], None],
    ) -> None:
        """Store the results: dual coefficients, intercepts, numbers of iterations and KKT violations."""
        m, number, start = len(self._signs), schedule.costs.size, 0
        # At least two, so that every call makes progress.
        budget = max(64, _ENTRIES_PER_CALL // m)
        with ExitStack() as stack:
            while start < number:
                stop, patience = number, _PATIENCE if self._active_set_allowed else -1
                if self._active_set_allowed and self._use_active_set(start):
                    if self._try_smo(start):
                        stop, patience = start + 1, self._start_trial(start)
                    else:
                        if self._active_set is None:
                            # The last bits of a matrix product depend on the number of threads.
                            stack.enter_context(limit_to_one_thread())
                        self._solve_active_set(start, float(schedule.costs[start]))
                if self._tried == start or start < self._suspended_until:
                    stop, patience = min(number, max(start + 1, self._suspended_until)), -1
                self._smo.set_factored(self._state, self._continues)
                costs, rows = schedule.costs[start:stop], schedule.rows[start:stop]
                done = self._smo.run_stages(
                    *(self._problem, costs, rows, self._s, self._g),
                    *(self._state, self._tol, self._max_iter, patience, budget, *results),
                )
                advance(schedule.n_results(start, start + done))
                if done > 0 and self._trial == start != self._tried:
                    # SMO took less time than the active-set method would have: try it for the next stage, too.
                    self._failed_trials, self._next_trial = 0, start + 1
                start += done

    def _use_active_set(self, start: int) -> bool:
        """Whether to use the active-set method for a stage."""
        state = self._state
        return self._tried < start and not self._smo.is_settled(state) and (self._continues or self._smo.is_hard(state))

    def _try_smo(self, start: int) -> bool:
        """Whether to try SMO for a stage, since the active-set method became expensive."""
        if self._trial == start:
            return not self._smo.is_hard(self._state)  # the trial continues
        return self._continues and start >= self._next_trial and self._active_set_work() > 2 * _PATIENCE

    def _start_trial(self, start: int) -> int:
        """Store the state before a trial of SMO; return its maximum number of iterations."""
        if self._trial != start:
            self._before_trial = self._s.copy(), self._g.copy(), self._smo.estimate_cost(self._state)
            self._trial, self._failed_trials = start, self._failed_trials + 1
            self._next_trial = start + 2**self._failed_trials
        return int(self._active_set_work())

    def _active_set_work(self) -> float:
        """Estimate the work of the active-set method for the next stage, in SMO iterations.

        The work consists of matrix products for the changes since the last stage, and passes over memory in each step.
        """
        (changes, steps), m = self._last_work, len(self._signs)
        free = int(np.count_nonzero((self._s != 0.0) & (np.abs(self._s) < 1.0)))
        changes += abs(free - self._active_set.n_free)
        work = 0.35 * changes * free + 1.5 * steps * (free + m)
        return float(free * work / (self._smo.FACTORISATION * m))

    def _solve_active_set(self, start: int, cost: float) -> None:
        """Try to move s and g to the solution at a cost by the active-set method; smo.py checks the result."""
        if self._active_set is None:
            from pacbayes.svm.active_set import ActiveSet

            self._active_set = ActiveSet(self._kernel, self._signs, self._tol)
        smo, active_set, self._tried = self._smo, self._active_set, start
        if self._trial == start:
            # A failed trial does not end at a solution: restore its start, which is one.
            self._s[:], self._g[:], before = self._before_trial
            smo.restore(self._state, before)
        at, steps, error, changes = smo.estimate_cost(self._state), 0, 0.0, 0
        # A stage that turned out to be hard is already at its cost; later stages start at the preceding cost.
        goal, intermediate, solved = cost, _MAX_INTERMEDIATE if at == cost else 0, False
        while not (solved and at == cost) and intermediate <= _MAX_INTERMEDIATE:
            solved = active_set.solve(goal, self._s, self._g, at, self._max_iter)
            steps, error, changes = steps + active_set.steps, error + active_set.error, changes + active_set.changes
            if solved:
                at, goal = goal, cost
            else:
                # The sets of a distant cost are a poor start: insert an intermediate cost.
                goal, intermediate = math.sqrt(at * goal), intermediate + 1
        if solved and at == cost:
            # smo.py measures rounding errors in units of updates of g.
            per_update = EPS * cost * active_set.size * len(self._signs)
            smo.resume(self._state, cost, steps, error / per_update if per_update > 0.0 else 0.0)
            self._continues, self._failures = changes > _FEW, 0
            self._last_work = changes, steps
            return
        self._continues, self._failures = False, self._failures + 1
        self._suspended_until = start + 2**self._failures
        with np.errstate(under="ignore"):
            self._g *= cost / at
        smo.resume(self._state, cost, steps, 1.0)


@cache
def load_solver(dtype: np.dtype[Any]) -> Any:
    """Load the solver compiled for kernel matrices of this precision, which imports numba."""
    from pacbayes.svm import smo

    with progress(COMPILING, None):
        smo.compile_for(dtype)
    return smo
