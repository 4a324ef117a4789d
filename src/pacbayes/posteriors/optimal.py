"""Posteriors with the smallest PAC-Bayes bound, the common interface of all methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from pacbayes._utils.arrays import default_errstate
from pacbayes._utils.checks import check_choice, check_tolerance
from pacbayes.bounds.chi_square import CHI2, DIVERGENCES
from pacbayes.bounds.distance import Distance
from pacbayes.posteriors.ccp import solve_ccp
from pacbayes.posteriors.certified_search import CertifiedSearch
from pacbayes.posteriors.chi_square import optimal_chi_square
from pacbayes.posteriors.ipopt import solve_ipopt
from pacbayes.posteriors.paper_schemes import solve_fixed_point, solve_ordered_subsets
from pacbayes.posteriors.posterior import Posterior, Problem

#: Default tolerance of the gap between bound and lower bound.
DEFAULT_TOL = 1e-9


def solve_certified(problem: Problem, tol: float, *, max_evaluations: int = 100_000) -> Posterior:
    """Find the certified global minimum; see `pacbayes.posteriors.certified_search`."""
    search = CertifiedSearch(problem.curve, problem.function)
    # With a tolerance below the default, the search continues down to rounding errors; earlier lower bounds remain
    # valid.
    minima = [search.run(goal, max_evaluations) for goal in ((tol,) if tol >= DEFAULT_TOL else (DEFAULT_TOL, tol))]
    last, lower_bound = minima[-1], max(minimum.lower_bound for minimum in minima)
    point = search.polish()
    weights, values = problem.at(point)
    gap = values.bound - lower_bound
    converged = gap <= tol
    return problem.posterior(
        weights,
        values,
        method="certified",
        lower_bound=lower_bound,
        beta=point.beta,
        converged=converged,
        n_iter=search.evaluations,
        message=f"gap {gap:.1e} {'<=' if converged else '>'} tol = {tol:g} after {search.evaluations} evaluations",
        details={"cells": last.cells, "groups": problem.groups.risks.size},
    )


METHODS: dict[str, Callable[..., Posterior]] = {
    "certified": solve_certified,
    "fixed-point": solve_fixed_point,
    "ordered-subsets": solve_ordered_subsets,
    "ipopt": solve_ipopt,
    "ccp": solve_ccp,
}


def validate_options(method: str, solve: Callable[..., Any], options: dict[str, Any]) -> None:
    """Raise if an option is not supported by a method."""
    valid = [p.name for p in inspect.signature(solve).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in valid:
            raise TypeError(f"{method} has no option {option!r}; its options are {', '.join(valid)}")


def optimal_posterior(
    risks: ArrayLike,
    m: int | ArrayLike,
    *,
    distance: str | Distance = "kl",
    delta: float = 0.05,
    prior: ArrayLike | None = None,
    constant: str = "exact",
    method: str = "certified",
    tol: float = DEFAULT_TOL,
    divergence: str = "kl",
    **options: Any,
) -> Posterior:
    r"""Posterior with the smallest PAC-Bayesian bound.

    .. math:: \min_{q \in \Delta^H} B(q) = f\Big(\sum_i q_i \hat l_i,\; \sum_i q_i \ln\frac{q_i}{p_i}\Big)

    Parameters
    ----------
    risks : array_like of shape (H,)
        Empirical risks in [0, 1], each measured on `m` examples that the classifier was not trained on.
    m : int or array_like of int, shape (H,)
        Number of validation examples behind each risk: one number for all, or one per classifier.  If they differ, the
        smallest is used, as in `bound`.
    distance, delta, prior, constant
        As for `bound`.
    method : {"certified", "fixed-point", "ordered-subsets", "ipopt", "ccp"}
        - "certified": the global minimum over the whole simplex, by branch and bound, with a proved lower bound.
        - "fixed-point": the paper's fixed-point iteration, which converges to a stationary point.
        - "ordered-subsets": the paper's search over the first H' classifiers by risk (uniform prior only).
        - "ipopt" and "ccp" (kl only): general solvers for comparison, slow and without a lower bound.  They require
          ``pip install casadi cvxpy clarabel``.
    tol : float
        certified and ordered-subsets: the absolute gap between bound and lower bound; fixed-point: the Euclidean norm
        of the last change of the weights; ipopt: Ipopt's `tol`; ccp: the decrease of the bound in a round.
    divergence : {"kl", "chi2"}
        As for `bound`; "chi2" has the method "certified" and ``max_evaluations=10_000``.
    **options
        certified: ``max_evaluations=100_000``.  fixed-point: ``start="random"`` ("prior", or an array),
        ``random_state=0``, ``max_iter=10_000``.  ordered-subsets: ``size_tol=1e-6``, ``max_evaluations=100_000``.
        ipopt: ``formulation="lifted"`` ("paper"), ``eps=1e-10``, ``start``, ``random_state``, ``max_iter=3000``,
        ``time_limit=None`` (seconds), ``solver_options=None`` (of Ipopt); see `pacbayes.posteriors.ipopt`.
        ccp: ``formulation="one-sided"`` ("paper"), ``start``, ``random_state``, ``n_init=1``, ``max_iter=100``,
        ``solver_options=None`` (of Clarabel); see `pacbayes.posteriors.ccp`.

    Returns
    -------
    Posterior
        The weights, their bound (recomputed by `bound`), and for "certified" a `lower_bound` on the bounds of all
        posteriors.  With ``divergence="chi2"`` also `chi2`.

    See Also
    --------
    bound : The PAC-Bayesian bound of any posterior.
    gibbs_posterior : The Gibbs posteriors, which include every optimal posterior.
    Posterior : The result.
    StochasticSVC : Estimator that trains classifiers and certifies their posterior.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.
    .. [2] O. Catoni, "PAC-Bayesian supervised classification: the thermodynamics of statistical learning", IMS Lecture
       Notes Monograph Series 56, 2007.

    Examples
    --------
    >>> from pacbayes import optimal_posterior
    >>> posterior = optimal_posterior([0.10, 0.12, 0.30], m=200)
    >>> posterior.weights.round(4)
    array([0.9581, 0.0419, 0.    ])
    >>> print(f"{posterior.bound:.6f}, gap {posterior.gap:.0e}")
    0.196984, gap 1e-11
    """
    name = check_choice("method", method, METHODS)
    solve = METHODS[name]
    validate_options(f"method {name!r}", solve, options)
    accuracy = check_tolerance(tol)
    if check_choice("divergence", divergence, DIVERGENCES) == CHI2:
        if name != "certified":
            raise ValueError(f"divergence='chi2' has the method 'certified' only, got {method!r}")
        with default_errstate():
            return optimal_chi_square(
                risks, m, accuracy, distance=distance, delta=delta, prior=prior, constant=constant, **options
            )
    with default_errstate():
        return solve(Problem.from_arguments(risks, m, distance, delta, prior, constant), accuracy, **options)
