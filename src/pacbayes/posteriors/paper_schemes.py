"""The paper's schemes: the fixed-point iteration with normalised weights, and the search over ordered subsets."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import EPS, FloatArray
from pacbayes._utils.checks import check_choice, check_distribution
from pacbayes.bounds.bound import average_risk, kullback_leibler
from pacbayes.posteriors.certified_search import CertifiedSearch, Minimum
from pacbayes.posteriors.gibbs import GibbsCurve
from pacbayes.posteriors.posterior import Posterior, Problem

START_OPTIONS = ("random", "prior")
# Tolerance of the minima on subsets, smaller than the user's because these minima are compared.
_SOLVE_TOL = 1e-11
# Maximum relative difference between the weights of a uniform prior.
_UNIFORM_TOLERANCE = 1e-12


def initial_weights(start: str | ArrayLike, random_state: int, problem: Problem) -> FloatArray:
    """Create the initial weights: normalised exponential weights (as in the paper), the prior, or an array."""
    prior, size = problem.normalised_prior, problem.risks.size
    if isinstance(start, str):
        if check_choice("start", start, START_OPTIONS) == "prior":
            return prior
        weights = np.random.default_rng(random_state).exponential(size=size) * (prior > 0.0)
        return np.asarray(weights / weights.sum())
    weights, total = check_distribution("start", start, size)
    if np.any((weights > 0.0) & (prior == 0.0)):
        raise ValueError("start must be zero where the prior is zero")
    return weights / total


def solve_fixed_point(
    problem: Problem, tol: float, *, start: str | ArrayLike = "random", random_state: int = 0, max_iter: int = 10_000
) -> Posterior:
    r"""Iterate :math:`q_i \leftarrow p_i e^{-\rho(q) \hat l_i} / Z` until the weights converge.

    Here :math:`\rho = (\partial B/\partial L)/(\partial B/\partial K)`, equation (ratio) of docs/mathematics.md.  For
    kl, pinsker, ch and squared these are the paper's fixed-point equations, equation (fixed-point); for linear the
    ratio is m and one step gives the closed form, equation (closed-form).  From the first step on every iterate is a
    Gibbs posterior, so the iteration runs on groups of equal risk.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    tol : float
        The iteration has converged when the Euclidean norm of the change of the weights is at most `tol`.
    start : {"random", "prior"} or array_like
        Initial weights; "random" draws exponential weights.
    random_state : int
        Seed of the random start.
    max_iter : int
        Maximum number of steps.
    """
    if not max_iter >= 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter!r}")
    function, curve, groups = problem.function, problem.curve, problem.groups
    weights = initial_weights(start, random_state, problem)
    risk = average_risk(weights, problem.risks, 1.0)
    kl = kullback_leibler(weights, 1.0, problem.prior, problem.prior_total)
    trace = [function(risk, kl)]
    beta, change, steps = math.nan, math.inf, 0
    while steps < max_iter and change > tol:
        beta = function.ratio(risk, kl)
        point = curve.at(beta)
        new = groups.spread(curve.shares(point))
        change = float(np.linalg.norm(new - weights))
        weights, risk, kl = new, point.risk, point.kl
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
        weights,
        method="fixed-point",
        beta=beta,
        converged=converged,
        n_iter=steps,
        message=message,
        details=details,
    )


class _Subsets:
    """Smallest bounds on the first H' classifiers, computed on demand.

    The optimum on a subset is the optimum on the Gibbs curve of its groups, whose prior mass sums to H'/H < 1.
    """

    def __init__(self, problem: Problem, tol: float, max_evaluations: int) -> None:
        self.problem = problem
        self.tol, self.max_evaluations = min(tol, _SOLVE_TOL), max_evaluations
        groups = problem.groups
        self.counts = np.rint(groups.mass / groups.total * groups.size).astype(np.int64)
        self.ends = np.cumsum(self.counts)
        # Relative error of counts / H, since the prior is uniform only up to rounding.
        self.mass_error = 4 * EPS
        if problem.prior is not None:
            self.mass_error += 2.0 * float(np.ptp(problem.prior) / problem.prior.min())
        self.solved: dict[int, tuple[GibbsCurve, Minimum]] = {}

    def solve(self, size: int) -> tuple[GibbsCurve, Minimum]:
        """Compute the Gibbs curve of the first `size` classifiers and its certified minimum."""
        if size not in self.solved:
            last = int(np.searchsorted(self.ends, size))
            counts = self.counts[: last + 1].copy()
            counts[-1] = size - (self.ends[last - 1] if last else 0)
            log_mass = np.log(counts / self.problem.groups.size)
            curve = GibbsCurve(self.problem.groups.risks[: last + 1], log_mass, self.mass_error)
            search = CertifiedSearch(curve, self.problem.function)
            self.solved[size] = curve, search.run(self.tol, self.max_evaluations)
        return self.solved[size]

    def bound(self, size: int) -> float:
        """Smallest bound on the first `size` classifiers."""
        point = self.solve(size)[1].point
        return self.problem.function(point.risk, point.kl)

    def smallest_size(self, threshold: float) -> int:
        """Smallest size whose bound is at most `threshold`, by bisection: the bound never increases with the size."""
        low, high = 0, self.problem.groups.size
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.bound(middle) <= threshold else (middle, high)
        return high


def solve_ordered_subsets(
    problem: Problem, tol: float, *, size_tol: float = 1e-6, max_evaluations: int = 100_000
) -> Posterior:
    """Minimise on the first H' classifiers by risk, and find the smallest H' with the smallest bound by bisection.

    A posterior on a subset is also one on every larger subset, so the minimum never increases with H'.

    Parameters
    ----------
    problem : Problem
        The problem to solve; its prior must be uniform up to a relative 1e-12, which `lower_bound` allows for.
    tol : float
        Absolute gap of each minimum.
    size_tol : float
        `H_star` is the smallest H' whose bound exceeds the smallest bound by at most `size_tol`.
    max_evaluations : int
        Maximum number of evaluations of the curve in each search.
    """
    if problem.prior is not None and np.ptp(problem.prior) > _UNIFORM_TOLERANCE * float(problem.prior.max()):
        raise ValueError("method 'ordered-subsets' requires a uniform prior, got unequal weights")
    if not size_tol >= 0.0:
        raise ValueError(f"size_tol must be at least 0, got {size_tol!r}")
    subsets = _Subsets(problem, tol, max_evaluations)
    smallest = subsets.bound(problem.groups.size)
    h_star, best = (subsets.smallest_size(smallest + tolerance) for tolerance in (size_tol, 2 * _SOLVE_TOL))
    curve, minimum = subsets.solve(h_star)
    full = subsets.solve(problem.groups.size)[1]

    order = np.argsort(problem.risks, kind="stable")[:h_star]
    weights = np.zeros(problem.risks.size)
    shares = curve.shares(minimum.point)
    counts = np.rint(np.exp(curve.log_mass) * problem.risks.size)
    weights[order] = (shares / counts).take(_group_of_rank(counts, h_star))
    gaps = [problem.function(f.point.risk, f.point.kl) - f.lower_bound for _, f in subsets.solved.values()]
    converged = max(gaps) <= tol
    return problem.posterior(
        weights,
        method="ordered-subsets",
        lower_bound=full.lower_bound,
        converged=converged,
        n_iter=len(subsets.solved),
        message=f"H* = {h_star} of {problem.risks.size}: the smallest H' within {size_tol:g} of the smallest bound; "
        f"{len(subsets.solved)} subsets solved",
        details={"H_star": h_star, "best_size": best, "size_tol": size_tol},
    )


def _group_of_rank(counts: FloatArray, size: int) -> NDArray[np.int64]:
    """Group index of each of the first `size` classifiers, ordered by risk."""
    return np.repeat(np.arange(counts.size), counts.astype(np.int64))[:size]
