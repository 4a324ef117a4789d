r"""Local minima of the bound over the whole simplex by Ipopt, a general interior-point solver, for reference.

There are two formulations of the problem.  The paper's has the variables q, and r for kl:

.. math:: \min_{q, r} r \quad\text{s.t.}\quad kl(L(q), r) = \frac{K(q) + \ln I - \ln\delta}{n},\; r \ge L(q),\;
          \sum_i q_i = 1,\; q_i \ge \epsilon,

and for the other distances :math:`\min_q f(L(q), K(q))`.  Its Hessian is a dense H x H matrix.  The lifted formulation
has L, K and r as additional variables and scales the weights to :math:`v_i = H q_i`:

.. math:: \min_{v, L, K, r} r \quad\text{s.t.}\quad \phi(L, r) = \frac{K + \ln I - \ln\delta}{n},\; r \ge L,\;
          L = \sum_i \hat l_i q_i,\; K = \sum_i q_i \ln\frac{q_i}{p_i},\; \sum_i q_i = 1,\; q_i \ge \epsilon.

Its Hessian is diagonal except for four entries, and a start near the simplex stays there.  Ipopt moves every variable
of the start to a distance of at least `bound_push` = 0.01 from its bounds, which in the paper's formulation with
H > 100 results in weights that sum to H/100 (see docs/paper-notes.md).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.checks import check_choice, import_optional
from pacbayes.bounds.bound import average_risk, kullback_leibler
from pacbayes.bounds.distance import BoundFunction
from pacbayes.bounds.distances import ch_polynomial
from pacbayes.posteriors.paper_schemes import initial_weights
from pacbayes.posteriors.posterior import Posterior, Problem

FORMULATIONS = ("lifted", "paper")

_SOLVED = {"Solve_Succeeded", "Solved_To_Acceptable_Level"}
# The paper's table uses E (unknown error), R (restoration failed) and M (maximum iterations); T (time limit) is added.
# Through AMPL, Ipopt reports invalid numbers and failed steps as "unknown error"; here E also covers all other failures
# (infeasible, tiny steps).  `message` distinguishes them.
_STATUS_LETTERS = {
    "Restoration_Failed": "R",
    "Maximum_Iterations_Exceeded": "M",
    "Maximum_WallTime_Exceeded": "T",
    "Maximum_CpuTime_Exceeded": "T",
}


@dataclass(frozen=True)
class Program:
    """Nonlinear program in CasADi symbols; the first variables are the weights divided by `scale`."""

    variables: Any
    objective: Any
    constraints: Any
    #: Upper bounds of the constraints: 0 for an equation, infinity for an inequality >= 0.
    upper: list[float]
    start: FloatArray
    lower_bounds: FloatArray
    upper_bounds: FloatArray
    scale: float
    options: dict[str, Any]


def solve_ipopt(
    problem: Problem,
    tol: float,
    *,
    formulation: str = "lifted",
    eps: float = 1e-10,
    start: str | ArrayLike = "random",
    random_state: int = 0,
    max_iter: int = 3000,
    time_limit: float | None = None,
    solver_options: Mapping[str, Any] | None = None,
) -> Posterior:
    """Minimise the bound by Ipopt; the result is a local minimum without a certified lower bound.

    Parameters
    ----------
    problem : Problem
        The problem to solve, with one of the paper's five distances.
    tol : float
        Ipopt's `tol`: the scaled error of the optimality conditions.
    formulation : {"lifted", "paper"}
        See the module docstring; "paper" is slow, and fails with many classifiers.
    eps : float
        Smallest weight of a classifier with positive prior weight; all others have weight zero.
    start : {"random", "prior"} or array_like
        Initial weights; "random" draws exponential weights.
    random_state : int
        Seed of the random start.
    max_iter : int
        Maximum number of iterations.
    time_limit : float, optional
        CPU time of the solver in seconds, checked once per iteration; building the program does not count.
    solver_options : mapping, optional
        Options of Ipopt, such as ``{"bound_push": 1e-9}``; they take precedence over the other parameters.

    Examples
    --------
    >>> from pacbayes import optimal_posterior
    >>> posterior = optimal_posterior([0.10, 0.12, 0.30], m=200, method="ipopt")
    >>> print(f"{posterior.bound:.6f} {posterior.message}")
    0.196984 Ipopt: Solve_Succeeded
    """
    check_choice("formulation", formulation, FORMULATIONS)
    first = initial_weights(start, random_state, problem)
    used = np.flatnonzero(problem.normalised_prior)
    if not 0.0 < eps < 1.0 / used.size:
        raise ValueError(f"eps must lie between 0 and 1/{used.size} (one over the number of classifiers), got {eps!r}")
    if time_limit is not None and not time_limit > 0.0:
        raise ValueError(f"time_limit must be positive, got {time_limit!r}")
    casadi = import_optional("casadi", "method 'ipopt'")
    build = _build_lifted if formulation == "lifted" else _build_paper
    program = build(casadi, problem, used, np.maximum(first[used], eps), eps)
    options = {"tol": tol, "max_iter": max_iter} | ({} if time_limit is None else {"max_cpu_time": float(time_limit)})
    solution, status, n_iter = _run_ipopt(casadi, program, options | dict(solver_options or {}))
    return problem.posterior(
        _normalize_iterate(solution[: used.size] * program.scale, used, first),
        method="ipopt",
        converged=status in _SOLVED,
        n_iter=n_iter,
        message=f"Ipopt: {status}",
        details={
            "status": "" if status in _SOLVED else _STATUS_LETTERS.get(status, "E"),
            "solver_status": status,
            "formulation": formulation,
            "eps": eps,
        },
    )


def _run_ipopt(casadi: Any, program: Program, options: Mapping[str, Any]) -> tuple[FloatArray, str, int]:
    """Run Ipopt silently; return the last iterate, the status and the number of iterations."""
    # By default Ipopt relaxes bounds by 1e-8, which would allow weights below eps and logarithms of negative numbers.
    quiet = {"print_level": 0, "sb": "yes", "bound_relax_factor": 0.0}
    settings = {"print_time": False, "show_eval_warnings": False} | program.options
    settings |= {f"ipopt.{name}": value for name, value in (quiet | dict(options)).items()}
    nlp = {"x": program.variables, "f": program.objective, "g": program.constraints}
    try:
        solver = casadi.nlpsol("solver", "ipopt", nlp, settings)
    except RuntimeError as error:
        raise ValueError(
            f"Ipopt rejected the options {dict(options)}: {str(error).strip().splitlines()[-1]}"
        ) from error
    result = solver(x0=program.start, lbx=program.lower_bounds, ubx=program.upper_bounds, lbg=0.0, ubg=program.upper)
    stats = solver.stats()
    return np.asarray(result["x"], dtype=np.float64).ravel(), stats["return_status"], int(stats["iter_count"])


def _normalize_iterate(solution: FloatArray, used: Any, first: FloatArray) -> FloatArray:
    """Normalise the last iterate; return the start if the solver failed without a usable iterate."""
    weights = np.zeros_like(first)
    if np.isfinite(solution).all() and solution.max() > 0.0:
        weights[used] = np.maximum(solution, 0.0)
    else:
        weights = first
    return np.asarray(weights / weights.sum())


def _build_lifted(casadi: Any, problem: Problem, used: Any, weights: FloatArray, eps: float) -> Program:
    """Build the lifted formulation: L, K and r are variables, and the weights are scaled to an average of one."""
    function, risks, prior = problem.function, problem.risks[used], problem.normalised_prior[used]
    size = used.size
    weights = weights / weights.sum()
    v, risk, kl, r = (casadi.MX.sym(name, length) for name, length in (("v", size), ("L", 1), ("K", 1), ("r", 1)))
    excess = _bound_constraint(casadi, function, casadi.MX(0.0) if risks.max() == 0.0 else risk, kl, r)
    constraints = casadi.vertcat(
        excess,
        r - risk,
        casadi.sum1(v) / size - 1.0,
        casadi.dot(risks / size, v) - risk,
        casadi.dot(v, casadi.log(v / (size * prior))) / size - kl,
    )
    first_risk, first_kl = average_risk(weights, risks, 1.0), kullback_leibler(weights, 1.0, prior, 1.0)
    bounded = function.distance.name == "kl"
    return Program(
        variables=casadi.vertcat(v, risk, kl, r),
        objective=r,
        constraints=constraints,
        upper=[0.0, math.inf, 0.0, 0.0, 0.0],
        start=np.append(weights * size, [first_risk, first_kl, function(first_risk, first_kl)]),
        # For kl, logarithms of L and r are computed, unless all risks are zero.
        lower_bounds=np.append(np.full(size, eps * size), [0.0 if risks.max() > 0.0 else -1.0, -math.inf, 0.0]),
        upper_bounds=np.append(
            np.full(size, math.inf), [1.0 if bounded else math.inf, math.inf, 1.0 if bounded else math.inf]
        ),
        scale=1.0 / size,
        options={},
    )


def _build_paper(casadi: Any, problem: Problem, used: Any, weights: FloatArray, eps: float) -> Program:
    """Build the paper's formulation: the variables are the weights, and r for kl."""
    function, risks, prior = problem.function, problem.risks[used], problem.normalised_prior[used]
    with_root = function.distance.name == "kl"
    q = casadi.MX.sym("q", used.size)
    r = casadi.MX.sym("r", int(with_root))
    risk, kl = casadi.dot(risks, q), casadi.dot(q, casadi.log(q / prior))
    if with_root:
        excess = _bound_constraint(casadi, function, casadi.MX(0.0) if risks.max() == 0.0 else risk, kl, r)
        objective, constraints = r, casadi.vertcat(casadi.sum1(q) - 1.0, excess, r - risk)
    else:
        objective, constraints = _bound_expression(casadi, function, risk, kl), casadi.sum1(q) - 1.0
    first_risk, first_kl = (
        average_risk(weights, risks, weights.sum()),
        kullback_leibler(weights, weights.sum(), prior, 1.0),
    )
    return Program(
        variables=casadi.vertcat(q, r),
        objective=objective,
        constraints=constraints,
        upper=[0.0, 0.0, math.inf] if with_root else [0.0],
        start=np.append(weights, [function(first_risk, first_kl)] * with_root),
        lower_bounds=np.append(np.full(used.size, eps), [0.0] * with_root),
        upper_bounds=np.append(np.full(used.size, math.inf), [1.0] * with_root),
        scale=1.0,
        options={"hess_lag": _dense_hessian(casadi, function, risks, prior, with_root)},
    )


def _dense_hessian(casadi: Any, function: BoundFunction, risks: FloatArray, prior: FloatArray, with_root: bool) -> Any:
    r"""Hessian of the Lagrangian in the paper's formulation, by the chain rule through (L, K, r).

    CasADi can derive it automatically, but takes half a minute for 1000 classifiers.  With the Jacobian J of (L, K, r)
    and the Hessian G and gradient g of the Lagrangian in (L, K, r), it is :math:`J^T G J + g_K\, diag(1/q_i)`.
    """
    risk, kl, r = (casadi.SX.sym(name) for name in "LKr")
    factor, multipliers = casadi.SX.sym("factor"), casadi.SX.sym("multipliers", 3 if with_root else 1)
    if with_root:
        excess = _bound_constraint(casadi, function, casadi.SX(0.0) if risks.max() == 0.0 else risk, kl, r)
        lagrangian = factor * r + multipliers[1] * excess + multipliers[2] * (r - risk)
    else:
        lagrangian = factor * _bound_expression(casadi, function, risk, kl)
    hessian, gradient = casadi.hessian(lagrangian, casadi.vertcat(risk, kl, r))
    small = casadi.Function(
        "small", [risk, kl, r, factor, multipliers], [casadi.densify(hessian), casadi.densify(gradient)]
    )

    size = risks.size
    x = casadi.MX.sym("x", size + with_root)
    parameters, factor = casadi.MX.sym("p", 0), casadi.MX.sym("lam_f")
    multipliers = casadi.MX.sym("lam_g", 3 if with_root else 1)
    q, logs = x[:size], casadi.log(x[:size] / prior)
    root = x[size] if with_root else casadi.MX(0.0)
    inner, slope = small(casadi.dot(risks, q), casadi.dot(q, logs), root, factor, multipliers)
    jacobian = casadi.horzcat(casadi.DM(risks), logs + 1.0)
    diagonal = slope[1] / q
    if with_root:
        corner = casadi.DM([[0.0, 0.0, 1.0]])
        jacobian = casadi.vertcat(casadi.horzcat(jacobian, casadi.DM.zeros(size, 1)), corner)
        diagonal = casadi.vertcat(diagonal, 0.0)
    else:
        inner = inner[:2, :2]
    dense = casadi.mtimes([jacobian, inner, jacobian.T]) + casadi.diag(diagonal)
    names = ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"]
    return casadi.Function("nlp_hess_l", [x, parameters, factor, multipliers], [casadi.triu(dense)], *names)


def _bound_constraint(casadi: Any, function: BoundFunction, risk: Any, kl: Any, r: Any) -> Any:
    """Constraint phi(L, r) - (K + ln I - ln delta) / n, without the logarithm of a risk that is constantly zero."""
    name = function.distance.name
    if name == "kl":
        first = 0.0 if risk.is_constant() else risk * casadi.log(risk / r)
        distance = first + (1.0 - risk) * casadi.log((1.0 - risk) / (1.0 - r))
    elif name == "linear":
        distance = r - risk
    elif name == "ch":
        distance = ch_polynomial(r - risk)
    else:
        distance = _square_factor(function) * (r - risk) ** 2
    return distance - (kl + function.log_term) / function.factor


def _bound_expression(casadi: Any, function: BoundFunction, risk: Any, kl: Any) -> Any:
    """Bound f(L, K) of a distance with an explicit inverse; ch uses the paper's closed form with radicals."""
    x = (kl + function.log_term) / function.factor
    name = function.distance.name
    if name == "linear":
        return risk + x
    if name == "ch":
        # t^3 + (15/8) t^2 + (135/16) (t - x) = 0; the product of Cardano's two cube roots is -155/64.
        inner = 729.0 * x**2 + 6615.0 / 8.0 * x + 208980.0 / 256.0
        root = (1225.0 / 512.0 + 135.0 / 32.0 * x + 5.0 / 32.0 * casadi.sqrt(inner)) ** (1.0 / 3.0)
        return risk + casadi.sqrt(root - 155.0 / 64.0 / root - 5.0 / 8.0)
    return risk + casadi.sqrt(x / _square_factor(function))


def _square_factor(function: BoundFunction) -> float:
    """Factor c of the distance c (l - l^)^2."""
    distance = function.distance
    if distance.name not in ("squared", "pinsker"):
        raise ValueError(f"method 'ipopt' supports the five distances of the paper, not {distance.name!r}")
    return float(distance.value(0.0, 1.0))
