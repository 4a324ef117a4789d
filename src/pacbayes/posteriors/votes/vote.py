"""The weights of a majority vote with the smallest bound on its risk."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_choice, check_tolerance
from pacbayes.numeric.rounding import usual_float_errors
from pacbayes.posteriors.optimal import optimal_posterior
from pacbayes.posteriors.posterior import Posterior
from pacbayes.posteriors.votes.descent import VoteDescent
from pacbayes.posteriors.votes.tandem import TandemSearch
from pacbayes.posteriors.votes.vote_bounds import VOTE_BOUNDS, VoteProblem, VoteValues
from pacbayes.posteriors.votes.vote_posterior import VotePosterior


def _tandem(problem: VoteProblem, tol: float, *, max_problems: int = 500) -> VotePosterior:
    """Find the global minimum of the tandem bound with proof; see `pacbayes.posteriors.votes.tandem`."""
    minimum = TandemSearch(problem.factor, problem.pairs).run(tol, max_problems)
    return _proved(
        problem,
        problem.factor.groups.spread(minimum.weights),
        minimum.lower_bound,
        tol,
        minimum.problems,
        {"kappa": minimum.kappa, "products": minimum.products},
    )


def _first_order(problem: VoteProblem, tol: float, *, max_evaluations: int = 100_000) -> VotePosterior:
    """Find the global minimum of the first-order bound with proof; see `pacbayes.posteriors.certified`."""
    found = _gibbs(problem, 0.5 * tol, max_evaluations)
    return _proved(problem, found.weights, 2.0 * found.lower_bound, tol, found.n_iter, {"beta": found.beta})


def _cantelli(problem: VoteProblem, tol: float, *, max_iter: int = 500) -> VotePosterior:
    """Descend from the prior and from the optima of the two other bounds; see `pacbayes.posteriors.votes.descent`."""
    tandem = TandemSearch(problem.factor, problem.pairs).run(1e-3, 50).weights
    return _descend(problem, {"tandem": tandem} | _starts(problem, tol), tol, max_iter)


def _own_rows(problem: VoteProblem, tol: float, *, max_iter: int = 500) -> VotePosterior:
    """Descend from the prior and from the optimum of the first-order bound, for classifiers with rows of their own."""
    return _descend(problem, _starts(problem, tol), tol, max_iter)


def _starts(problem: VoteProblem, tol: float) -> dict[str, FloatArray]:
    groups = problem.factor.groups
    # The weights of the distinct classifiers are sums over the groups.
    grouped = np.bincount(groups.index, _gibbs(problem, tol).weights, groups.n_keys)[groups.keys]
    return {"first-order": grouped / grouped.sum(), "prior": groups.mass / groups.mass.sum()}


def _descend(problem: VoteProblem, starts: dict[str, FloatArray], tol: float, max_iter: int) -> VotePosterior:
    descent = VoteDescent(problem)
    ends = {name: descent.run(start, tol, max_iter) for name, start in starts.items()}
    name = min(ends, key=lambda name: ends[name].state.bound)
    best = ends[name]
    message = f"the bound falls by less than {0.01 * tol:g} in a step" if best.converged else f"{max_iter} steps taken"
    weights = problem.factor.groups.spread(best.state.weights)
    return _result(
        problem,
        weights,
        problem.evaluate(weights),
        lower_bound=-math.inf,
        converged=best.converged,
        n_iter=sum(end.steps for end in ends.values()),
        message=f"{message}, from the start {name!r}",
        details={"start": name, "bounds": {name: end.state.bound for name, end in ends.items()}},
    )


def _gibbs(problem: VoteProblem, tol: float, max_evaluations: int = 100_000) -> Posterior:
    function = problem.singles
    return optimal_posterior(
        problem.risks,
        function.m,
        delta=function.delta,
        prior=problem.prior,
        constant=function.constant,
        tol=tol,
        max_evaluations=max_evaluations,
    )


def _proved(
    problem: VoteProblem, weights: FloatArray, lower: float, tol: float, n_iter: int, details: dict[str, Any]
) -> VotePosterior:
    """Return a result judged by the bound of the weights as they are returned, not by the search's own value."""
    values = problem.evaluate(weights)
    gap = values.bound - lower
    converged = gap <= tol
    message = f"gap {gap:.1e} {'<=' if converged else '>'} tol = {tol:g} after {n_iter} inner problems"
    return _result(
        problem,
        weights,
        values,
        lower_bound=lower,
        converged=converged,
        n_iter=n_iter,
        message=message,
        details=details,
    )


def _result(problem: VoteProblem, weights: FloatArray, values: VoteValues, **fields: Any) -> VotePosterior:
    if problem.own is not None:
        fields["details"] |= {"m_pairs": problem.own.least_pair}
    return VotePosterior(
        weights=weights,
        m=problem.singles.m,
        delta=problem.delta,
        constant=problem.singles.constant,
        method=problem.bound,
        **values._asdict(),
        **fields,
    )


METHODS: dict[str, Callable[..., VotePosterior]] = {
    "tandem": _tandem,
    "cantelli": _cantelli,
    "first-order": _first_order,
}
# For classifiers with rows of their own, where the tandem risk need not be convex.
METHODS_OF_OWN_ROWS: dict[str, Callable[..., VotePosterior]] = {
    "tandem": _own_rows,
    "cantelli": _own_rows,
    "first-order": _first_order,
}


def optimal_vote(
    error_rows: ArrayLike,
    m: int,
    *,
    bound: str = "tandem",
    delta: float = 0.05,
    prior: ArrayLike | None = None,
    constant: str = "exact",
    tol: float = 1e-6,
    validated: ArrayLike | None = None,
    **options: Any,
) -> VotePosterior:
    r"""Weights of a majority vote with the smallest bound on its risk.

    The bounds hold for all weights at once, so the rows that count the errors may choose the weights too.

    Parameters
    ----------
    error_rows : array_like of shape (H, m)
        True (or 1) where a classifier errs: a row per classifier, a column per validation example, none of which any
        classifier was trained on.
    m : int
        Number of validation examples, the number of columns.
    bound : {"tandem", "cantelli", "first-order"}
        As for `vote_bound`.  For "tandem" and "first-order" the weights are the best of all, with proof; "cantelli" is
        often smaller where single classifiers err often, and its weights are the best of three descents.
    delta, prior, constant
        As for `vote_bound`.
    tol : float
        tandem and first-order: the absolute gap between bound and lower bound; cantelli: a descent ends where a step
        gains less than a hundredth of it.
    validated : array_like of shape (H, m), optional
        Which row validates which classifier, as for `vote_bound`.  With it the tandem risk need not be convex: "tandem"
        too is then the best of descents, and nothing is proved about other weights.
    **options
        tandem: ``max_problems=500``, inner problems.  cantelli, and tandem with `validated`: ``max_iter=500``, steps of
        a descent.  first-order: ``max_evaluations=100_000``.

    Returns
    -------
    VotePosterior
        The weights, the bound (computed anew by `vote_bound`), and a `lower_bound` below which no weights' bound lies,
        minus infinity where nothing is proved.

    See Also
    --------
    vote_bound : The bound of given weights.
    VotePosterior : What is returned.
    optimal_posterior : The same for the stochastic classifier.

    References
    ----------
    .. [1] A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Second order PAC-Bayesian bounds for the weighted majority
       vote", NeurIPS, 2020.
    .. [2] Y.-S. Wu, A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Chebyshev-Cantelli PAC-Bayes-Bennett inequality
       for the weighted majority vote", NeurIPS, 2021.
    .. [3] P. Germain, A. Lacasse, F. Laviolette, M. Marchand and J.-F. Roy, "Risk bounds for the majority vote: from a
       PAC-Bayesian analysis to a learning algorithm", Journal of Machine Learning Research 16, 2015.

    Examples
    --------
    >>> from pacbayes.posteriors.votes.vote import optimal_vote
    >>> rng = np.random.default_rng(0)
    >>> errors = rng.random((25, 1000)) < np.linspace(0.1, 0.3, 25)[:, None]
    >>> for name in ("first-order", "cantelli", "tandem"):
    ...     vote = optimal_vote(errors, 1000, bound=name)
    ...     print(f"{name}: {vote.bound:.4f}, {vote.n_effective:.1f} classifiers")
    first-order: 0.2689, 1.0 classifiers
    cantelli: 0.2261, 10.5 classifiers
    tandem: 0.2207, 10.6 classifiers
    """
    methods = METHODS if validated is None else METHODS_OF_OWN_ROWS
    solve = methods[check_choice("bound", bound, VOTE_BOUNDS)]
    if options:
        known = [p.name for p in inspect.signature(solve).parameters.values() if p.kind is p.KEYWORD_ONLY]
        for option in options:
            if option not in known:
                raise TypeError(f"bound {bound!r} has no option {option!r}; its options are {', '.join(known)}")
    accuracy = check_tolerance(tol)
    with usual_float_errors():
        problem = VoteProblem.checked(error_rows, m, bound, delta, prior, constant, validated)
        return solve(problem, accuracy, **options)
