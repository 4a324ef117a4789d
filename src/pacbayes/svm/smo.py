r"""Sequential minimal optimisation (SMO) with warm starts along a path of costs, compiled.

The dual problem is solved in :math:`s_i = y_i \alpha_i / C`, which lies in [lower, upper] = [0, 1] for positive and
[-1, 0] for negative labels.  In these variables the solution for one `C` starts the next unchanged: variables at their
bound are exactly at their new bound, and :math:`K s` needs no update.  With :math:`v = y - C K s`, a solution is
optimal when the largest `v` among variables that can grow does not exceed the smallest among those that can shrink; the
excess is the KKT violation.  Working sets are pairs, selected by second-order information [1]_.

There is no shrinking, unlike in LIBSVM: the active-set method (active_set.py) solves most costs where there are many
rows, and passes over all variables took 14 % of the processor time of `svm_set` at 2500 training rows, 6 % at 5000 and
5 % at 10 000 (`python benchmarks/bench_rows.py --paths`).

Calls are short, since compiled code does not handle interrupts: a call returns when its budget of kernel rows is spent.
The next call continues, with the same result as a single call.

Importing this module imports numba; `svm_path` does so when it is first called.

References
----------
.. [1] R.-E. Fan, P.-H. Chen and C.-J. Lin, "Working set selection using second order information for training support
   vector machines", Journal of Machine Learning Research 6, 2005.
"""

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from pacbayes._utils.arrays import EPS, FloatArray, Rows
from pacbayes._utils.progress import cached_njit
from pacbayes._utils.threads import parallel_for

# Smallest curvature of a pair of rows: (nearly) equal rows have none, and the step goes to a bound, as in LIBSVM.
_MIN_CURVATURE = 1e-12
# `g` is recomputed when the accumulated rounding errors may exceed this share of the tolerance.
_DRIFT = 0.01
# Largest ratio of successive costs for which a warm start is considered close.
_NEARBY = 2.0
# A factorisation of n free variables takes about n**3 divided by this number of SMO iterations.
FACTORISATION = 13.0
# There are no NaN in these loops, and signs of zeros do not matter; without both assumptions maxima are not vectorised.
_FAST = {"nnan", "nsz", "contract"}
# Columns per part of a parallel sum of rows, which stay in the cache while all rows are added.
_COLUMNS = 1024
# Sums over at most this many columns are not divided into parts.
_MIN_PARALLEL_COLUMNS = 512

# Entries of the state between calls:
_UPDATES = 0  # updates of g since it was computed from scratch
_ITERATIONS = 1  # iterations since the last stored row
# Settled: no variable is at its bound, so the solution is that of all larger costs.
_SETTLED, _SETTLED_COST, _SETTLED_VIOLATION, _SETTLED_INTERCEPT = 2, 3, 4, 5
_COST = 6  # cost of g
_UNDER_WAY = 7  # 1 within a stage
_RECOMPUTED = 8  # rows done of an interrupted recomputation of g
_PATIENCE = 9  # iterations left until a stage counts as hard
_HARD = 10  # 1 if the stage is hard: the active-set method may solve it
_FACTORED = 11  # 1 if the active-set method has a factor already, which then costs nothing
_TOTAL_ITERATIONS = 12  # iterations in total
_STATE_SIZE = 13

_inner = cached_njit(internal=True, fastmath=_FAST, error_model="numpy")

# The loops over all variables below write one array and read few: with more, the compiler cannot prove that they
# do not overlap and does not vectorise.  Hence `up` and `down`: the label where a variable can grow (shrink), minus
# (plus) infinity where it cannot, so that v among them is up - g and down - g, without comparisons.  The state has
# g = C K s rather than v = y - g, which would lose the digits of g where C is small.


# The compiler does not vectorise a maximum in a loop, but it vectorises element-wise maxima of two halves of an array.


@_inner
def _max_by_folding(folded, size, largest):
    """Maximum of `largest` and the first `size` entries of a buffer, by repeated halving."""
    while size > 1:
        half = size // 2
        tail = folded[size - half : size]
        for t in range(half):
            folded[t] = folded[t] if folded[t] > tail[t] else tail[t]
        size -= half
    return max(largest, folded[0]) if size == 1 else largest


@_inner
def _max_value(values, folded):
    """Maximum of `values`; `folded` is a buffer of half the size."""
    half = values.size // 2
    tail = values[values.size - half :]
    for t in range(half):
        folded[t] = values[t] if values[t] > tail[t] else tail[t]
    return _max_by_folding(folded, half, values[half])


@_inner
def _max_difference(a, b, folded):
    """Maximum of a - b; `folded` is a buffer of half the size."""
    half = a.size // 2
    a_tail, b_tail = a[a.size - half :], b[a.size - half :]
    for t in range(half):
        first, second = a[t] - b[t], a_tail[t] - b_tail[t]
        folded[t] = first if first > second else second
    return _max_by_folding(folded, half, a[half] - b[half])


@_inner
def _extremes(g, up, down, folded):
    """Largest v among growable and smallest v among shrinkable variables."""
    return _max_difference(up, g, folded), -_max_difference(g, down, folded)


@_inner
def _move(g, step, row_i, row_j):
    """Update g after a `step` (times C) along the pair (i, j)."""
    for t in range(g.size):
        # The difference of two single-precision entries must not be rounded to single precision.
        g[t] += step * (np.float64(row_i[t]) - np.float64(row_j[t]))


@_inner
def _partner_gains(largest, diagonal_i, diagonal, row_i, g, down, gain, folded):
    """Store the decrease of the dual objective for each partner j, up to a factor; return the largest."""
    for t in range(g.size):
        slope = largest - (down[t] - g[t])
        slope = slope if slope > 0.0 else 0.0
        curvature = diagonal_i + diagonal[t] - 2.0 * row_i[t]
        curvature = curvature if curvature > _MIN_CURVATURE else _MIN_CURVATURE
        gain[t] = slope * slope / curvature
    return _max_value(gain, folded)


@_inner
def _step(i, j, longest, s, lower, upper):
    """Move the pair by at most `longest`, stopping exactly at bounds; return the step length."""
    room_i, room_j = upper[i] - s[i], s[j] - lower[j]
    if longest < room_i and longest < room_j:
        s[i] += longest
        s[j] -= longest
        return longest
    if room_i < room_j:
        s[i] = upper[i]
        s[j] -= room_i
        return room_i
    s[j] = lower[j]
    s[i] = upper[i] if room_i == room_j else s[i] + room_j
    return room_j


@_inner
def _update_index_sets(t, s, lower, upper, up, down):
    """Update `up` and `down` for variable t, whose label is the sum of its bounds."""
    up[t] = lower[t] + upper[t] if s[t] < upper[t] else -np.inf
    down[t] = lower[t] + upper[t] if s[t] > lower[t] else np.inf


@_inner
def _recompute(K, cost, s, g, first, budget):
    """Recompute g = C K s from row `first` on; return the next row and the remaining budget."""
    if first == 0:
        for t in range(g.size):
            g[t] = 0.0
    j = first
    while j < s.size and budget > 0:
        if s[j] != 0.0:
            for t in range(s.size):
                g[t] += s[j] * K[j, t]
            budget -= 1
        j += 1
    if j == s.size:
        for t in range(g.size):
            g[t] *= cost
    return j, budget


@_inner
def _factorisation_work(s):
    """Estimate the work to factorise the kernel matrix of the free variables, in SMO iterations."""
    free = 0
    for value in s:
        free += 0.0 < abs(value) < 1.0
    return np.float64(free) ** 3 / (FACTORISATION * s.size)


@_inner
def _solve(K, y, diagonal, size, cost, s, g, state, tol, max_iter, budget, lower, upper, up, down, gain, folded):
    """Move (s, g) to the solution at `cost`; return the KKT violation and the remaining budget.

    The violation is -1 if the budget is exhausted or the stage is hard.
    """
    # |K s| <= m max K, so this bounds the rounding error of g per update; `size` is max K.
    error = EPS * cost * size * s.size
    # Within a stage, reuse the extremes from the last move.
    largest, smallest = _extremes(g, up, down, folded)
    while budget > 0:
        converged = largest - smallest <= tol
        drifted = state[_UPDATES] * error > _DRIFT * tol
        # Recomputing costs as much as m iterations: once per m of them, and before convergence is reported.
        if state[_RECOMPUTED] > 0.0 or (drifted and (converged or state[_UPDATES] > s.size)):
            done, budget = _recompute(K, cost, s, g, int(state[_RECOMPUTED]), budget)
            if done < s.size:
                state[_RECOMPUTED] = done
                break
            state[_RECOMPUTED], state[_UPDATES] = 0.0, 0.0
            largest, smallest = _extremes(g, up, down, folded)
            converged = largest - smallest <= tol
        if converged or state[_ITERATIONS] >= max_iter:
            # Without free variables there may be a gap between the two sets, which is no violation.
            return max(largest - smallest, 0.0), budget
        if state[_PATIENCE] <= 0.0:
            # If more variables are free than at the start of the stage, the factorisation became more expensive.
            state[_PATIENCE] = _factorisation_work(s) - state[_TOTAL_ITERATIONS]
            if state[_FACTORED] == 1.0 or state[_PATIENCE] <= 0.0:
                state[_HARD] = 1.0
                break
        i = 0
        while up[i] - g[i] != largest:
            i += 1
        top = _partner_gains(largest, diagonal[i], diagonal, K[i], g, down, gain, folded)
        j = 0
        while gain[j] != top:
            j += 1
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * K[i, j], _MIN_CURVATURE)
        step = _step(i, j, ((y[i] - g[i]) - (y[j] - g[j])) / (cost * curvature), s, lower, upper)
        _update_index_sets(i, s, lower, upper, up, down)
        _update_index_sets(j, s, lower, upper, up, down)
        _move(g, cost * step, K[i], K[j])
        largest, smallest = _extremes(g, up, down, folded)
        state[_ITERATIONS] += 1.0
        state[_UPDATES] += 1.0
        state[_TOTAL_ITERATIONS] += 1.0
        state[_PATIENCE] -= 1.0
        budget -= 1
    return -1.0, 0


@_inner
def _intercept(y, g, s, lower, upper):
    """Mean of v over the free variables, or the centre of the interval of optimal intercepts if none is free."""
    total, free, largest, smallest = 0.0, 0, -np.inf, np.inf
    for t in range(y.size):
        v = y[t] - g[t]
        if lower[t] < s[t] < upper[t]:
            total += v
            free += 1
        elif s[t] < upper[t]:
            largest = max(largest, v)
        else:
            smallest = min(smallest, v)
    return total / free if free > 0 else (largest + smallest) / 2.0


@_inner
def _all_below_cost(s):
    """Whether all alpha are below C."""
    for value in s:  # noqa: SIM110 (numba compiles the loop, not the generator)
        if not -1.0 < value < 1.0:
            return False
    return True


@_inner
def _patience(s, ratio, patience, factored, spent):
    """Compute the number of iterations after which a stage counts as hard; infinite unless the warm start is close.

    A factor also serves all later stages: it pays off once SMO has spent as much work as a factorisation takes.
    """
    if patience < 0 or ratio > _NEARBY:
        return np.inf
    support = 0
    for value in s:
        support += value != 0.0
    if support == 0:
        return np.inf
    return np.float64(patience) if factored == 1.0 else max(np.float64(patience), _factorisation_work(s) - spent)


@cached_njit(fastmath=_FAST, error_model="numpy")
def run_stages(
    problem, costs, rows, s, g, state, tol, max_iter, patience, budget, dual_coef, intercept, n_iter, violation
):
    """Solve for increasing `costs` and store the solutions in `rows` of the results; -1 marks intermediate costs.

    Return the number of solved costs when the budget is spent or a stage is hard (`is_hard`), after at least `patience`
    iterations (never if negative).  Call again with the remaining costs to continue.
    """
    K, y, lower, upper, diagonal, size, up, down, gain, folded = problem
    m = y.size
    for t in range(m):
        _update_index_sets(t, s, lower, upper, up, down)
    offset = 0.0
    for stage in range(costs.size):
        if budget <= 0:
            return stage
        budget -= 1
        row, cost, excess = rows[stage], costs[stage], 0.0
        if state[_SETTLED] == 0.0:
            if state[_UNDER_WAY] == 0.0:
                ratio = cost / state[_COST]
                for t in range(m):
                    g[t] *= ratio
                state[_COST], state[_UNDER_WAY] = cost, 1.0
                state[_UPDATES] += 1.0
                state[_PATIENCE] = _patience(s, ratio, patience, state[_FACTORED], state[_TOTAL_ITERATIONS])
            excess, budget = _solve(
                K, y, diagonal, size, cost, s, g, state, tol, max_iter, budget, lower, upper, up, down, gain, folded
            )
            if excess < 0.0:
                return stage
            state[_UNDER_WAY] = 0.0
            offset = _intercept(y, g, s, lower, upper)
            if excess <= tol and _all_below_cost(s):
                state[_SETTLED], state[_SETTLED_COST], state[_SETTLED_VIOLATION] = 1.0, cost, excess
                state[_SETTLED_INTERCEPT] = offset
        if row < 0:
            continue
        settled = state[_SETTLED] == 1.0
        scale = state[_SETTLED_COST] if settled else cost
        for t in range(m):
            dual_coef[row, t] = scale * s[t]
        intercept[row] = state[_SETTLED_INTERCEPT] if settled else offset
        violation[row] = state[_SETTLED_VIOLATION] if settled else excess
        n_iter[row] = int(state[_ITERATIONS])
        state[_ITERATIONS] = 0.0
    return costs.size


def problem(K: NDArray[Any], y: FloatArray) -> tuple[Any, ...]:
    """Create the first argument of `run_stages`: bounds, diagonal, its largest entry, and buffers."""
    diagonal = np.diagonal(K).astype(np.float64)
    size = float(np.abs(diagonal).max())
    return K, y, np.minimum(y, 0.0), np.maximum(y, 0.0), diagonal, size, *(np.empty(y.size) for _ in range(4))


def new_state() -> FloatArray:
    """Create the state for the first call of `run_stages`."""
    state = np.zeros(_STATE_SIZE)
    # At s = 0, g = 0 for any cost.
    state[_COST] = 1.0
    return state


def is_settled(state: FloatArray) -> bool:
    """Whether the solution is that of all larger costs."""
    return bool(state[_SETTLED])


def is_hard(state: FloatArray) -> bool:
    """Whether the last call returned because a stage takes many iterations."""
    return bool(state[_HARD])


def estimate_cost(state: FloatArray) -> float:
    """Cost C to which g = C K s belongs."""
    return float(state[_COST])


def set_factored(state: FloatArray, factored: bool) -> None:
    """Set whether the active-set method already has a factor, so that stages count as hard sooner."""
    state[_FACTORED] = float(factored)


def restore(state: FloatArray, cost: float) -> None:
    """Update the state after resetting s and g to an earlier cost."""
    state[_COST], state[_UNDER_WAY], state[_HARD] = cost, 0.0, 0.0


def resume(state: FloatArray, cost: float, iterations: int, updates: float) -> None:
    """Update the state after the active-set method moved s and g to `cost`; `run_stages` then finishes the stage.

    The rounding errors in g are measured in `updates` of g.
    """
    state[_COST], state[_UNDER_WAY], state[_HARD], state[_PATIENCE] = cost, 1.0, 0.0, np.inf
    state[_ITERATIONS] += iterations
    state[_UPDATES] += updates


@cached_njit(fastmath=_FAST)
def _add_range(matrix, rows, coefs, out, start, stop):
    """Add weighted rows to out[start:stop], four rows at a time."""
    sums = out[start:stop]
    k = 0
    while k + 4 <= rows.size:
        a, b, c, d = coefs[k], coefs[k + 1], coefs[k + 2], coefs[k + 3]
        p, q = matrix[rows[k], start:stop], matrix[rows[k + 1], start:stop]
        r, s = matrix[rows[k + 2], start:stop], matrix[rows[k + 3], start:stop]
        for t in range(sums.size):
            sums[t] += ((a * p[t] + b * q[t]) + c * r[t]) + d * s[t]
        k += 4
    while k < rows.size:
        a, p = coefs[k], matrix[rows[k], start:stop]
        for t in range(sums.size):
            sums[t] += a * p[t]
        k += 1


def _column_ranges(size: int) -> list[tuple[int, int]]:
    """Divide columns into a multiple of four ranges of about equal length.

    Examples
    --------
    >>> _column_ranges(300), _column_ranges(1000)
    ([(0, 300)], [(0, 256), (256, 512), (512, 768), (768, 1000)])
    """
    number = 4 * -(-size // (4 * _COLUMNS)) if size > _MIN_PARALLEL_COLUMNS else 1
    # Align ranges with cache lines.
    width = 8 * -(-size // (8 * number))
    return [(start, min(start + width, size)) for start in range(0, size, width)]


def add_rows(matrix: NDArray[Any], rows: Rows, coefs: FloatArray, out: FloatArray) -> None:
    """Add a weighted sum of rows of a matrix to `out`.

    Columns are divided among cores; the result does not depend on the number of cores.

    Examples
    --------
    >>> sums = np.zeros(2)
    >>> add_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0]), np.array([1.0, -1.0]), sums)
    >>> sums
    array([2., 2.])
    """
    parallel_for(lambda columns: _add_range(matrix, rows, coefs, out, *columns), _column_ranges(out.size))


def compile_for(dtype: np.dtype[Any]) -> None:
    """Compile `run_stages` for kernel matrices of this precision, or load them from the cache."""
    matrix = types.Array(types.float32 if dtype == np.float32 else types.float64, 2, "C")
    vector, integers, number = types.float64[::1], types.int64[::1], types.int64
    of_problem = types.Tuple((matrix, *(vector,) * 4, types.float64, *(vector,) * 4))
    of_call = (vector, integers, *(vector,) * 3, types.float64, number, number, number)
    run_stages.compile((of_problem, *of_call, types.float64[:, ::1], vector, integers, vector))


def compile_sums(dtype: np.dtype[Any]) -> None:
    """Compile `add_rows` for kernel matrices of this precision, or load it from the cache."""
    matrix = types.Array(types.float32 if dtype == np.float32 else types.float64, 2, "C")
    vector, number = types.float64[::1], types.int64
    _add_range.compile((matrix, types.int64[::1], vector, vector, number, number))
