"""The paper's fixed-point schemes, normalised at every step."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.bounds.bound import average_risk, divergence
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_choice, check_distribution
from pacbayes.posteriors.posterior import Posterior
from pacbayes.posteriors.problem import Problem

STARTS = ("random", "prior")


def start_weights(start: str | ArrayLike, random_state: int, problem: Problem) -> FloatArray:
    """Return the first iterate: exponential weights normalised (the paper's), the prior, or the given array."""
    size = problem.risks.size
    prior = np.full(size, 1.0 / size) if problem.prior is None else problem.prior / problem.prior_total
    if isinstance(start, str):
        if check_choice("start", start, STARTS) == "prior":
            return prior
        weights = np.random.default_rng(random_state).exponential(size=size) * (prior > 0.0)
        return np.asarray(weights / weights.sum())
    weights, total = check_distribution("start", start, size)
    if np.any((weights > 0.0) & (prior == 0.0)):
        raise ValueError("start must be zero where the prior is zero")
    return weights / total


def fixed_point(
    problem: Problem, tol: float, *, start: str | ArrayLike = "random", random_state: int = 0, max_iter: int = 10_000
) -> Posterior:
    r"""Iterate :math:`q_i \leftarrow p_i e^{-\rho(q) \hat l_i} / Z` until the weights stay.

    Here :math:`\rho = (\partial B/\partial L)/(\partial B/\partial K)`, equation (ratio) of docs/mathematics.md.  For
    kl, pinsker, ch and squared these are the paper's fixed-point equations, equation (fixed-point); for linear the
    ratio is m and one step is the closed form, equation (closed-form).  After the first step every iterate is a Gibbs
    posterior, so the rest runs on the groups of equal risk.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    tol : float
        Converged when the Euclidean norm of the change of the weights is at most this.
    start : {"random", "prior"} or array_like
        First iterate; "random" draws exponential weights.
    random_state : int
        Seed of the random start.
    max_iter : int
        Largest number of steps.
    """
    if not max_iter >= 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}")
    function, curve, groups = problem.function, problem.curve, problem.groups
    weights = start_weights(start, random_state, problem)
    risk = average_risk(weights, problem.risks, 1.0)
    kl = divergence(weights, 1.0, problem.prior, problem.prior_total)
    # ||q' - q||^2 for two Gibbs posteriors is a sum over groups with the groups' sums of (p_i / mass)^2.
    squares = groups.concentration()
    trace = [function(risk, kl)]
    beta, change, steps = math.nan, math.inf, 0
    shares = np.empty(0)
    while steps < max_iter and change > tol:
        beta = function.ratio(risk, kl)
        point = curve.at(beta)
        new = curve.shares(point)
        if steps == 0:
            change = float(np.linalg.norm(groups.spread(new) - weights))
        else:
            change = math.sqrt(float(squares @ (new - shares) ** 2))
        shares, risk, kl = new, point.risk, point.kl
        trace.append(function(risk, kl))
        steps += 1
    converged = change <= tol
    message = (
        f"the weights changed by {change:.1e}, at most tol = {tol:g}, in step {steps}"
        if converged
        else f"the weights still changed by {change:.1e}, more than tol = {tol:g}, after max_iter = {max_iter} steps"
    )
    details: dict[str, Any] = {"trace": trace, "change": change}
    return problem.posterior(
        groups.spread(shares),
        method="fixed-point",
        beta=beta,
        converged=converged,
        n_iter=steps,
        message=message,
        details=details,
    )
