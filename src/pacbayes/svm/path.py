"""Support vector machines for many regularisation parameters at the price of a few."""

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
from pacbayes._utils.checks import check_numbers, need, need_array, warn_caller
from pacbayes._utils.progress import compile_notice, progress
from pacbayes._utils.threads import one_thread

# LIBSVM's own limit on the iterations for one machine.
MAX_ITER = 10_000_000
# From one cost to the next at most this factor; larger gaps get stepping stones in between.
_LADDER = 10.0
# Rows of K compared with its columns at a time, so that the check needs no second matrix.
_ROWS_PER_CHECK = 256
_SYMMETRY = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-4}
# Entries of K used between two calls, when the bar moves and an interrupt is heard: about a tenth of a second.
_ENTRIES_PER_CALL = 2**25
# On fewer rows pairs of variables are about as fast, and the machines of the paper keep their bits.
_LINEAR_FROM = 2400
# Iterations on pairs that a neighbouring cost may take before all free variables are solved for at once.
_PATIENCE = 500
# Stepping stones on the way to a cost, at most, before it is left to pairs.
_NEARER = 12
# After so few changes of sets the next cost is so near that pairs are faster.
_FEW = 2


@dataclass(frozen=True)
class SVMPath:
    r"""Support vector machines for many :math:`\lambda` on one training sample; the result of `svm_path`.

    Attributes
    ----------
    lambdas : ndarray of shape (H,)
        In the order they were given.
    dual_coef : ndarray of shape (H, m)
        :math:`y_i \alpha_i`.
    intercept, n_iter, kkt_violation, converged : ndarrays of shape (H,)
        `kkt_violation` is the optimality gap of the dual, at most the tolerance where `converged`; `n_iter` counts
        steps on pairs of variables, and those of linear algebra on all free ones.

    See Also
    --------
    svm_path : What makes one.

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
        """Raise unless there is a machine for each lambda, in memory as compiled code reads it."""
        need_array(self.lambdas, "SVMPath.lambdas", "f", (None,))
        number = self.lambdas.size
        need_array(self.dual_coef, "SVMPath.dual_coef", "f", (number, None), finite=False)
        need(self.dual_coef.flags.c_contiguous, "SVMPath.dual_coef", "must be stored by rows")
        need_array(self.intercept, "SVMPath.intercept", "f", (number,), finite=False)
        need_array(self.n_iter, "SVMPath.n_iter", "i", (number,))
        need_array(self.kkt_violation, "SVMPath.kkt_violation", "f", (number,), finite=False)
        need_array(self.converged, "SVMPath.converged", "b", (number,))

    def decision_function(self, K: ArrayLike) -> FloatArray:
        """Return the decision values, shape (H, n), for kernel values `K` of shape (n, m): new rows by training rows.

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
    """Return the regularisation parameters as float64, or raise if there are none or one is not positive."""
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
    """Return K as a C-contiguous float64 or float32 matrix, or raise if it is not square, finite and symmetric."""
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
    """Return labels -1 and +1 as float64, or raise if there are others, one class only, or another number than m."""
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

    From the largest :math:`\lambda` to the smallest, each solution starts from the one before, scaled by the ratio of
    the two `C`: nearly optimal on a fine grid.  If no :math:`\alpha_i` is at its bound `C`, the solution is also that
    of every smaller :math:`\lambda`, and is returned for all of them: all its optimality conditions but
    :math:`\alpha_i \le C` do not mention `C`, and that one only becomes easier.

    Pairs of variables are changed until the solution is optimal [1]_; from 2400 rows on, where a neighbouring
    :math:`\lambda` would take many of these steps, the free variables are solved for all at once, on all cores, and the
    sets of variables at their bounds corrected until they fit [3]_.  Every solution is measured by the same optimality
    gap, and has the same bits on any number of cores.

    Parameters
    ----------
    K : array_like of shape (m, m)
        Symmetric, positive semi-definite kernel matrix.  Single precision is used as it is, not copied.
    y : array_like of shape (m,)
        Labels -1 and +1.
    lambdas : array_like of shape (H,)
        Positive, in any order.
    tol : float
        Largest KKT violation at which to stop, the tolerance of scikit-learn's `SVC`.
    max_iter : int
        Limit on the steps per :math:`\lambda`; where it is reached a `ConvergenceWarning` is issued, once.

    Returns
    -------
    SVMPath
        In the order of `lambdas`.

    See Also
    --------
    svm_set : SVMs from rows, with their validation errors.
    sigest : The width of a Gaussian kernel.
    sklearn.svm.SVC : One machine.

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
    """Issue one `ConvergenceWarning` if any machine stopped early."""
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
    advance: Callable[[int], None] = lambda machines: None,
    linear_from: int | None = None,
) -> SVMPath:
    """Do the work of `svm_path` on arguments already checked, without its warning.

    From `linear_from` rows on linear algebra may be used; by default from where it nearly always pays.

    `advance` is told how many machines were trained since the last time, several times a second.
    """
    h = lambdas.size
    stages = _stages(lambdas, float(np.abs(np.diagonal(kernel)).mean()))
    dual_coef, intercept, violation = np.empty((h, len(signs))), np.empty(h), np.empty(h)
    n_iter = np.empty(h, dtype=np.int64)
    follower = _Follower(kernel, signs, tol, max_iter, linear_from)
    follower.run(stages, (dual_coef, intercept, n_iter, violation), advance)
    return SVMPath(lambdas, dual_coef, intercept, n_iter, violation, violation <= tol)


@dataclass(frozen=True)
class _Stages:
    """Increasing costs, and for each its row in the results or -1 for a stepping stone."""

    costs: FloatArray
    rows: Rows

    def reported(self, start: int, stop: int) -> int:
        """Return how many of some stages have a row."""
        return int(np.count_nonzero(self.rows[start:stop] >= 0))


def _stages(lambdas: FloatArray, scale: float) -> _Stages:
    """Return the increasing costs C = 1/lambda, with stepping stones.

    A cost far above the one before (or, for the first, above 1/scale, where bounds stop to dominate) is approached by
    factors of at most ten: from afar the low-rank kernels of few features take a thousand times more iterations.
    """
    order = np.argsort(-lambdas, kind="stable")
    costs = 1.0 / lambdas[order]
    before = np.maximum(np.concatenate([[0.0], costs[:-1]]), 1.0 / scale if scale > 0.0 else np.inf)
    parts, rows, done = [], [], 0
    for gap in np.flatnonzero(costs > _LADDER * before):
        stones = np.geomspace(before[gap], costs[gap], 1 + math.ceil(math.log(costs[gap] / before[gap], _LADDER)))[1:-1]
        parts += [costs[done:gap], stones]
        rows += [order[done:gap], np.full(stones.size, -1)]
        done = int(gap)
    every = np.concatenate([*rows, order[done:]]).astype(np.int64)
    return _Stages(np.concatenate([*parts, costs[done:]]), every)


class _Follower:
    """A path under way.

    Pairs of variables (smo.py) as long as that is quick; a cost that takes longer is left to linear algebra
    (active_set.py), and so are those after it.  Which is decided by counting, never by a clock.
    """

    def __init__(
        self, kernel: NDArray[Any], signs: FloatArray, tol: float, max_iter: int, linear_from: int | None = None
    ) -> None:
        self._kernel, self._signs, self._tol, self._max_iter = kernel, signs, tol, max_iter
        self._may_be_linear = len(signs) >= (_LINEAR_FROM if linear_from is None else linear_from)
        m = len(signs)
        self._smo: Any = load_solver(kernel.dtype)
        self._s, self._g, self._state = np.zeros(m), np.zeros(m), self._smo.new_state()
        self._active: Any = None
        # Whether linear algebra goes on, the last stage it tried, and up to which one it is not tried again.
        self._linear, self._tried, self._rests_until, self._failures = False, -1, 0, 0
        # Changes and steps that linear algebra took last; the last stage for which pairs were asked nevertheless,
        # and from which one on they are asked again.
        self._last, self._asked, self._asks_from, self._refusals = (0, 0), -1, 0, 0
        self._before = self._s, self._g, 1.0

    def run(
        self,
        stages: _Stages,
        results: tuple[FloatArray, FloatArray, Rows, FloatArray],
        advance: Callable[[int], None],
    ) -> None:
        """Fill the results: dual coefficients, intercepts, iterations and violations."""
        m, number, start = len(self._signs), stages.costs.size, 0
        # With a floor, so that a call always does more than to begin.
        budget = max(64, _ENTRIES_PER_CALL // m)
        with ExitStack() as stack:
            while start < number:
                stop, patience = number, _PATIENCE if self._may_be_linear else -1
                if self._may_be_linear and self._wants_linear(start):
                    if self._may_be_quick(start):
                        stop, patience = start + 1, self._ask(start)
                    else:
                        if self._active is None:
                            # The bits of a product depend on how many threads share it.
                            stack.enter_context(one_thread())
                        self._solve_linear(start, float(stages.costs[start]))
                if self._tried == start or start < self._rests_until:
                    stop, patience = min(number, max(start + 1, self._rests_until)), -1
                self._smo.set_factored(self._state, self._linear)
                done = self._smo.run_stages(
                    *(self._kernel, self._signs, stages.costs[start:stop], stages.rows[start:stop], self._s, self._g),
                    *(self._state, self._tol, self._max_iter, patience, budget, *results),
                )
                advance(stages.reported(start, start + done))
                if done > 0 and self._asked == start != self._tried:
                    # Pairs took less than linear algebra would have: they are asked about the next one, too.
                    self._refusals, self._asks_from = 0, start + 1
                start += done

    def _wants_linear(self, start: int) -> bool:
        """Return whether to solve for all free variables at the stage that is next, or under way."""
        state = self._state
        return self._tried < start and not self._smo.is_settled(state) and (self._linear or self._smo.is_hard(state))

    def _may_be_quick(self, start: int) -> bool:
        """Return whether to let pairs try a stage although linear algebra goes on: it is dear, and time has passed."""
        if self._asked == start:
            return not self._smo.is_hard(self._state)  # they try, or did
        return self._linear and start >= self._asks_from and self._price() > 2 * _PATIENCE

    def _ask(self, start: int) -> int:
        """Let pairs try a stage; return after how many iterations they have failed."""
        if self._asked != start:
            self._before = self._s.copy(), self._g.copy(), self._smo.cost_of(self._state)
            self._asked, self._refusals = start, self._refusals + 1
            self._asks_from = start + 2**self._refusals
        return int(self._price())

    def _price(self) -> float:
        """Return about what linear algebra would take for the next stage, in iterations on pairs.

        Products of matrices for what changed last time and what has since, passes over memory for each step.
        """
        (changes, steps), m = self._last, len(self._signs)
        free = int(np.count_nonzero((self._s != 0.0) & (np.abs(self._s) < 1.0)))
        changes += abs(free - self._active.free)
        work = 0.35 * changes * free + 1.5 * steps * (free + m)
        return float(free * work / (self._smo.FACTORISATION * m))

    def _solve_linear(self, start: int, cost: float) -> None:
        """Bring s and g to the solution at a cost, if that succeeds; smo.py looks at it in any case."""
        if self._active is None:
            from pacbayes.svm.active_set import ActiveSet

            self._active = ActiveSet(self._kernel, self._signs, self._tol)
        smo, active, self._tried = self._smo, self._active, start
        if self._asked == start:
            # What pairs left is neither here nor there: from where they began costs in between can be reached.
            self._s[:], self._g[:], before = self._before
            smo.go_back(self._state, before)
        at, steps, doubt, changes = smo.cost_of(self._state), 0, 0.0, 0
        # A stage that turned out to be hard is at its cost, and under way; a later one begins at the cost before it.
        goal, nearer, solved = cost, _NEARER if at == cost else 0, False
        while not (solved and at == cost) and nearer <= _NEARER:
            solved = active.solve(goal, self._s, self._g, at, self._max_iter)
            steps, doubt, changes = steps + active.steps, doubt + active.doubt, changes + active.changes
            if solved:
                at, goal = goal, cost
            else:
                # The sets of a cost so far away are not a start: a stepping stone in between.
                goal, nearer = math.sqrt(at * goal), nearer + 1
        if solved and at == cost:
            # In the unit in which smo.py counts.
            error = EPS * cost * active.size * len(self._signs)
            smo.go_on(self._state, cost, steps, doubt / error if error > 0.0 else 0.0)
            self._linear, self._failures = changes > _FEW, 0
            self._last = changes, steps
            return
        self._linear, self._failures = False, self._failures + 1
        self._rests_until = start + 2**self._failures
        with np.errstate(under="ignore"):
            self._g *= cost / at
        smo.go_on(self._state, cost, steps, 1.0)


@cache
def load_solver(dtype: np.dtype[Any]) -> Any:
    """Return the compiled solver for kernels of this precision; numba is imported here, when first needed."""
    from pacbayes.svm import smo

    with compile_notice(smo.run_stages):
        smo.compile_for(dtype)
    return smo
