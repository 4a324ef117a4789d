"""The paper's search over the first classifiers in the order of their risks."""

import math

import numpy as np
from numpy.typing import NDArray

from pacbayes.bounds.validation import FloatArray
from pacbayes.posteriors.certified import CertifiedSearch, Minimum
from pacbayes.posteriors.gibbs import GibbsCurve
from pacbayes.posteriors.posterior import Posterior
from pacbayes.posteriors.problem import Problem

# Sizes between two whose bounds differ by less than this share one value: the bound never rises with the size.
_FLAT = 1e-12
# Minima on different subsets are compared, so they are found more exactly than asked for.
_SOLVE_TOL = 1e-11


class _Subsets:
    """Least bounds of the posteriors on the first H' classifiers, solved where needed.

    The optimum on a subset is that of the Gibbs curve of the groups in it, whose prior mass sums to H'/H < 1.
    """

    def __init__(self, problem: Problem, tol: float, max_evaluations: int) -> None:
        self.problem = problem
        self.tol, self.max_evaluations = min(tol, _SOLVE_TOL), max_evaluations
        counts = np.rint(problem.groups.mass * problem.groups.size).astype(np.int64)
        self.ends = np.cumsum(counts)
        self.counts = counts
        self.solved: dict[int, tuple[GibbsCurve, Minimum]] = {}

    def solve(self, size: int) -> tuple[GibbsCurve, Minimum]:
        """Return the curve of the first `size` classifiers and its certified minimum."""
        if size not in self.solved:
            last = int(np.searchsorted(self.ends, size))
            counts = self.counts[: last + 1].copy()
            counts[-1] = size - (self.ends[last - 1] if last else 0)
            curve = GibbsCurve(self.problem.groups.risks[: last + 1], np.log(counts / self.problem.groups.size))
            search = CertifiedSearch(curve, self.problem.function)
            self.solved[size] = curve, search.run(self.tol, self.max_evaluations)
        return self.solved[size]

    def bound(self, size: int) -> float:
        """Return the least bound on the first `size` classifiers."""
        point = self.solve(size)[1].point
        return self.problem.function(point.risk, point.kl)

    def bounds(self) -> FloatArray:
        """Return the least bound for every size, solving only where it changes."""
        size = self.problem.groups.size
        values = np.full(size + 1, math.inf)
        values[1], values[size] = self.bound(1), self.bound(size)
        intervals = [(1, size)]
        while intervals:
            low, high = intervals.pop()
            if high - low < 2:
                continue
            if values[low] - values[high] <= _FLAT:
                values[low + 1 : high] = values[low]
                continue
            middle = (low + high) // 2
            values[middle] = self.bound(middle)
            intervals += [(low, middle), (middle, high)]
        return values[1:]


def ordered_subsets(
    problem: Problem, tol: float, *, size_tol: float = 1e-6, max_evaluations: int = 100_000
) -> Posterior:
    """Minimise on the first H' classifiers by risk, for every H', and return the smallest H' that is good enough.

    A posterior on a subset is one on every larger subset, so the least bound never rises with H'; the best H' is the
    smallest that reaches the least bound.

    Parameters
    ----------
    problem : Problem
        What to minimise; its prior must be uniform.
    tol : float
        Absolute gap of each minimum.
    size_tol : float
        `H_star` is the smallest H' whose bound is within this of the least bound.
    max_evaluations : int
        Limit of evaluations of the curve in each search.
    """
    if problem.prior is not None and np.ptp(problem.prior) > 1e-12 * problem.prior.max():
        raise ValueError('method "ordered-subsets" needs a uniform prior, got one with unequal weights')
    if not size_tol >= 0.0:
        raise ValueError(f"size_tol must be at least 0, got {size_tol!r}")
    subsets = _Subsets(problem, tol, max_evaluations)
    bounds = subsets.bounds()
    h_star = int(np.argmax(bounds <= bounds[-1] + size_tol)) + 1
    best = int(np.argmax(bounds <= bounds[-1] + 2 * _SOLVE_TOL)) + 1
    curve, minimum = subsets.solve(h_star)
    full = subsets.solve(problem.groups.size)[1]

    order = np.argsort(problem.risks, kind="stable")[:h_star]
    weights = np.zeros(problem.risks.size)
    shares = curve.shares(minimum.point)
    counts = np.rint(np.exp(curve.log_mass) * problem.risks.size)
    weights[order] = (shares / counts).take(_group_of_rank(counts, h_star))
    converged = all(found.evaluations < max_evaluations for _, found in subsets.solved.values())
    return problem.posterior(
        weights,
        method="ordered-subsets",
        lower_bound=full.lower_bound,
        converged=converged,
        n_iter=len(subsets.solved),
        message=f"H* = {h_star} of {problem.risks.size}: the smallest within {size_tol:g} of the least bound; "
        f"{len(subsets.solved)} sizes solved",
        details={"H_star": h_star, "best_size": best, "bounds": bounds, "size_tol": size_tol},
    )


def _group_of_rank(counts: FloatArray, size: int) -> NDArray[np.int64]:
    """Return the group of each of the first `size` classifiers in the order of risks."""
    return np.repeat(np.arange(counts.size), counts.astype(np.int64))[:size]
