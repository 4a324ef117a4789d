r"""The convex-concave procedure for the kl bound.

The bound is the smallest r >= L(q) with :math:`K(q) + c \le m\,kl(L(q), r)`, c = ln I - ln delta; both sides of the
constraint are convex.  The procedure replaces the right side by its tangent plane at the current point
:math:`(q^0, r^0)`,

.. math:: \widehat{kl}(q, r) = kl(L^0, r^0) - \frac{\rho^0}{m}\,(L - L^0) + \frac{r^0 - L^0}{r^0 (1 - r^0)} (r - r^0),
          \qquad \frac{\rho^0}{m} = \ln\frac{r^0}{1 - r^0} - \ln\frac{L^0}{1 - L^0},

and solves the resulting convex program: minimise r subject to :math:`K(q) + c \le m\,\widehat{kl}(q, r)` and
r >= L.  The tangent plane is below the function, so the new point satisfies the original constraint, and r never
increases because the current point is feasible.  This is ``formulation="one-sided"``.  The paper adds the reverse
inequality, :math:`kl(L, r) \le` (the tangent plane of the divergence, :math:`\sum_i q_i \ln(q_i^0/p_i)` plus c, over
m).  With both inequalities :math:`q^0` is the only feasible point, by equation (stuck) of docs/mathematics.md;
docs/paper-notes.md shows that a one-sided round is one step of the paper's fixed-point iteration.
"""

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import SMALLEST, FloatArray
from pacbayes._utils.checks import check_choice, import_optional
from pacbayes.bounds.binary_kl import kl_divergence, kl_roots
from pacbayes.bounds.bound import average_risk, kullback_leibler
from pacbayes.posteriors.paper_schemes import initial_weights
from pacbayes.posteriors.posterior import Posterior, Problem

FORMULATIONS = ("one-sided", "paper")
# With Clarabel's default tolerances of 1e-8, the paper's procedure drifts three times as far from its start.
_TOLERANCES = {"tol_feas": 1e-10, "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10}
_NOT_APPLICABLE = (
    "not applicable: the average empirical risk of the start is zero, where kl(L, r) has no subgradient and hence no "
    "linear approximation"
)


class _ConvexProgram:
    """Convex program of one round, compiled once; each round only sets its parameters."""

    def __init__(self, problem: Problem, used: Any, two_sided: bool, options: Mapping[str, Any]) -> None:
        cp = self._cvxpy = import_optional("cvxpy", "method 'ccp'")
        import_optional("clarabel", "method 'ccp'")
        self.problem, self.used, self._options = problem, used, options
        function, risks = problem.function, problem.risks[used]
        if problem.prior is None:
            log_prior = np.full(used.size, -math.log(used.size))
        else:
            log_prior = np.log(problem.prior[used]) - math.log(problem.prior_total)
        self._log_prior = log_prior
        q, r = cp.Variable(used.size), cp.Variable()
        self._q = q
        self._in_risk, self._in_r, self._constant = cp.Parameter(nonpos=True), cp.Parameter(nonneg=True), cp.Parameter()
        risk = risks @ q
        tangent = self._constant + self._in_risk * risk + self._in_r * r
        kl = -cp.sum(cp.entr(q)) - log_prior @ q
        # The constraint is divided by m, as in the paper; otherwise Clarabel stops early from some starts if zero risk
        # is optimal.
        constraints = [(kl + function.log_term) / function.m <= tangent, r >= risk, cp.sum(q) == 1, q >= 0]
        self._log_ratio = cp.Parameter(used.size)
        if two_sided:
            distance = cp.rel_entr(risk, r) + cp.rel_entr(1 - risk, 1 - r)
            constraints.append(distance <= (self._log_ratio @ q + function.log_term) / function.m)
        self._program = cp.Problem(cp.Minimize(r), constraints)

    def value(self, weights: FloatArray) -> tuple[float, float, float]:
        """Empirical risk L, threshold (K + c)/m and bound of weights."""
        problem = self.problem
        risk = average_risk(weights, problem.risks, 1.0)
        kl = kullback_leibler(weights, 1.0, problem.prior, problem.prior_total)
        x = problem.function.threshold(kl)
        return risk, x, float(kl_roots(risk, x)[1])

    def next(self, weights: FloatArray) -> tuple[FloatArray | None, str]:
        """Solve one round; return the new weights (None if the solver failed) and Clarabel's status."""
        risk, _, r = self.value(weights)
        in_risk = math.log(risk / r) - math.log((1.0 - risk) / (1.0 - r))
        in_r = (r - risk) / (r * (1.0 - r))
        self._in_risk.value, self._in_r.value = in_risk, in_r
        self._constant.value = float(kl_divergence(risk, r)) - in_risk * risk - in_r * r
        self._log_ratio.value = np.log(np.maximum(weights[self.used], SMALLEST)) - self._log_prior
        try:
            with warnings.catch_warnings():
                # An inaccurate solution is acceptable: its bound is recomputed from its weights.
                warnings.filterwarnings("ignore", message="Solution may be inaccurate", category=UserWarning)
                self._program.solve(solver="CLARABEL", **self._options)
        except self._cvxpy.SolverError as error:
            return None, str(error).splitlines()[0]
        solution, status = self._q.value, str(self._program.status)
        if solution is None or not np.isfinite(solution).all() or not solution.max() > 0.0:
            return None, status
        new_weights = np.zeros_like(weights)
        new_weights[self.used] = np.maximum(solution, 0.0)
        return new_weights / new_weights.sum(), status


def solve_ccp(
    problem: Problem,
    tol: float,
    *,
    formulation: str = "one-sided",
    start: str | ArrayLike = "random",
    random_state: int = 0,
    n_init: int = 1,
    max_iter: int = 100,
    solver_options: Mapping[str, Any] | None = None,
) -> Posterior:
    """Minimise the kl bound by the convex-concave procedure, each round solved by Clarabel.

    Parameters
    ----------
    problem : Problem
        The problem to solve; its distance must be kl.
    tol : float
        A run has converged when a round decreases the bound by less than `tol`.
    formulation : {"one-sided", "paper"}
        See the module docstring; with "paper" the iterate moves away from the start only by the solver's tolerance.
    start : {"random", "prior"} or array_like
        Initial weights; "random" draws exponential weights.
    random_state : int
        Seed of the first random start; further starts use the following integers.
    n_init : int
        Number of random starts.  The best result is returned; `details` contains the bounds of all starts.
    max_iter : int
        Maximum number of rounds of a run.
    solver_options : mapping, optional
        Settings of Clarabel; `tol_feas`, `tol_gap_abs` and `tol_gap_rel` are 1e-10 by default.

    Examples
    --------
    >>> from pacbayes import optimal_posterior
    >>> posterior = optimal_posterior([0.10, 0.12, 0.30], m=200, method="ccp", n_init=3)
    >>> print(f"{posterior.bound:.6f}")
    0.196984
    >>> print(*(f"{bound:.3f}" for bound in posterior.details["start_bounds"]))
    0.209 0.379 0.337
    """
    if problem.function.distance.name != "kl":
        raise ValueError(f"method 'ccp' requires distance 'kl', got {problem.function.distance.name!r}")
    check_choice("formulation", formulation, FORMULATIONS)
    for name, value in (("n_init", n_init), ("max_iter", max_iter)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an integer, got {value!r}")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if n_init > 1 and not (isinstance(start, str) and start == "random"):
        raise ValueError(f"n_init = {n_init} requires start='random'; other starts are run once")
    used = np.flatnonzero(problem.normalised_prior)
    program = _ConvexProgram(problem, used, formulation == "paper", _TOLERANCES | dict(solver_options or {}))
    runs = [
        _run_from_start(program, initial_weights(start, random_state + i, problem), tol, max_iter)
        for i in range(n_init)
    ]
    bounds = np.array([run["trace"][-1] for run in runs])
    best = runs[int(np.argmin(bounds))]
    return problem.posterior(
        best["weights"],
        method="ccp",
        converged=best["converged"],
        n_iter=len(best["trace"]) - 1,
        message=best["message"],
        details={
            "formulation": formulation,
            "status": best["status"],
            "trace": best["trace"],
            "bounds": bounds,
            "start_bounds": np.array([run["trace"][0] for run in runs]),
            "rounds": np.array([len(run["trace"]) - 1 for run in runs]),
            "converged": np.array([run["converged"] for run in runs]),
        },
    )


def _run_from_start(program: _ConvexProgram, weights: FloatArray, tol: float, max_iter: int) -> dict[str, Any]:
    """Run the procedure from one start; return the best weights, the trace of bounds, and the final status."""
    risk, _, value = program.value(weights)
    run: dict[str, Any] = {"weights": weights, "trace": [value], "converged": False, "status": ""}
    if risk == 0.0:
        return run | {"message": _NOT_APPLICABLE, "status": "NA"}
    for step in range(1, max_iter + 1):
        if value == 1.0:
            return run | {"message": "the bound is 1, where kl(L, r) has no tangent plane", "status": "one"}
        new, status = program.next(run["weights"])
        if new is None:
            return run | {"message": f"Clarabel: {status} in round {step}", "status": status}
        risk, _, value = program.value(new)
        decrease = run["trace"][-1] - value
        if decrease > 0.0:
            run["weights"] = new
            run["trace"].append(value)
        if decrease < tol:
            message = f"the bound decreased by {max(decrease, 0.0):.1e}, less than tol = {tol:g}, in round {step}"
            return run | {"message": message, "converged": True}
        if risk == 0.0:
            return run | {"message": f"the average empirical risk reached zero in round {step}", "converged": True}
    return run | {"message": f"the bound still decreased by {decrease:.1e} in round max_iter = {max_iter}"}
