r"""Majority votes whose weights minimise a bound on their risk.

The tandem and the first-order bound are minimised globally, by `pacbayes.posteriors.tandem` and
`pacbayes.posteriors.certified_search`.  The Chebyshev-Cantelli bound, and the tandem bound of classifiers with their
own validation rows, are minimised by a descent (a convex-concave procedure).

The descent
-----------
For fixed :math:`\mu` the Chebyshev-Cantelli bound is, up to a positive factor and a constant,

.. math:: h_\mu(T, K, G) = T^+(T, 2K) - 2\mu\, g(G, K),

where g is the lower root :math:`G^-` for :math:`\mu \ge 0` and the upper root :math:`G^+` for :math:`\mu < 0`; the
tandem bound corresponds to :math:`\mu = 0`.

The upper roots are concave and the lower root is convex (see `pacbayes.posteriors.tandem`; the argument for the
smallest `r` is the same), so :math:`h_\mu` is concave and lies below its tangent plane.  If T is a difference of two
sums of squares (`TandemFactor.concave`), its concave part lies below its tangent plane too.  Minimising the tangent
plane over the weights is a problem :math:`T + \kappa K + c^\top\rho` of `TandemDual`.  Its solution has a smaller
:math:`h_\mu` than the current weights, and the best :math:`\mu` for it decreases the bound further.  The bound never
increases and converges to a stationary point, which depends on the start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, default_errstate
from pacbayes._utils.checks import check_choice, check_tolerance
from pacbayes._utils.words import format_rounded_up
from pacbayes.bounds.binary_kl import lower_root
from pacbayes.bounds.distance import BoundFunction
from pacbayes.posteriors.optimal import optimal_posterior, validate_options
from pacbayes.posteriors.posterior import Posterior, Result
from pacbayes.posteriors.tandem import TandemDual, TandemSearch
from pacbayes.posteriors.vote_bounds import VoteProblem, VoteValues

# Tolerance of an inner problem as a fraction of the tolerance of the search.
_INNER_TOLERANCE_SHARE = 1e-3


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VotePosterior(Result):
    """Weights of a majority vote with a bound on its risk, the result of `optimal_vote`.

    `bound` is recomputed from `weights` by `vote_bound`, so that results are comparable.

    See Also
    --------
    optimal_vote : The weights with the smallest bound.
    vote_bound : The bound of any weights.

    References
    ----------
    .. [1] A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Second order PAC-Bayesian bounds for the weighted majority
       vote", NeurIPS, 2020.
    .. [2] Y.-S. Wu, A. Masegosa, S. Lorenzen, C. Igel and Y. Seldin, "Chebyshev-Cantelli PAC-Bayes-Bennett inequality
       for the weighted majority vote", NeurIPS, 2021.

    Examples
    --------
    >>> from pacbayes import optimal_vote
    >>> errors = np.random.default_rng(0).random((25, 1000)) < 0.2
    >>> optimal_vote(errors, 1000)  # doctest: +ELLIPSIS
    VotePosterior(bound=0.2924, proved to be within ... of the global minimum; tandem, m=1000, delta=0.05)
    """

    #: T, the empirical tandem risk, rounded up.
    tandem_risk: float
    #: G, the empirical Gibbs risk, rounded up.
    gibbs_risk: float
    #: Parameter of the Chebyshev-Cantelli inequality; None for the other bounds.
    mu: float | None

    _title = "Vote of"

    def _repr_params(self) -> tuple[str, dict[str, str], dict[str, str]]:
        line = f"{self.method}, m={self.m}, delta={self.delta:g}"
        first = {
            "tandem risk T": format_rounded_up(self.tandem_risk, 4),
            "validation risk G": format_rounded_up(self.gibbs_risk, 4),
        }
        return line, first, {"inequality": f"{self.method}, {self.constant} constant"}


class State(NamedTuple):
    """Weights of the distinct classifiers with their T, K, G and bound."""

    weights: FloatArray
    tandem: float
    kl: float
    gibbs: float
    bound: float
    #: Parameter of the Chebyshev-Cantelli inequality; 0 for the tandem bound.
    mu: float


@dataclass(frozen=True)
class Descent:
    """Final state of a descent, its number of inner problems, and whether the bound converged."""

    state: State
    steps: int
    converged: bool


class VoteDescent:
    """Descent method for a vote problem, started from weights of the distinct classifiers."""

    def __init__(self, problem: VoteProblem) -> None:
        self.problem = problem
        self.dual = TandemDual(problem.factor)

    def run(self, weights: FloatArray, tol: float, max_iter: int) -> Descent:
        """Descend from `weights` until a step gains less than a hundredth of `tol`, or for `max_iter` steps."""
        state = self._state(weights)
        u: FloatArray | None = None
        for step in range(max_iter):
            slopes = self._slopes(state)
            if slopes is None:
                return Descent(state, step, True)
            kappa, gamma = slopes
            linear = gamma * self.problem.factor.risks + self.problem.factor.tangent(state.weights)
            point = self.dual.solve(kappa, linear=linear, start=u, tol=_INNER_TOLERANCE_SHARE * tol)
            u = point.u
            new = self._state(point.weights)
            if not new.bound < state.bound - 0.01 * tol:
                return Descent(min(state, new, key=lambda candidate: candidate.bound), step + 1, True)
            state = new
        return Descent(state, max_iter, False)

    def _state(self, weights: FloatArray) -> State:
        """Compute T, K, G and the bound for weights of the distinct classifiers, without directed rounding."""
        factor = self.problem.factor
        tandem, gibbs = factor.value(weights), min(float(weights @ factor.risks), 1.0)
        logs = np.log(np.maximum(weights, np.finfo(np.float64).tiny)) - factor.log_mass
        kl = max(float(weights @ logs), 0.0)
        bound, mu = self.problem.evaluate_bound(tandem, kl, gibbs, gibbs)
        return State(weights, tandem, kl, gibbs, bound, 0.0 if mu is None else mu)

    def _slopes(self, state: State) -> tuple[float, float] | None:
        """Slopes kappa and gamma of h in K and G relative to the slope in T; None if no descent is possible."""
        pairs, singles = self.problem.pairs, self.problem.singles
        in_tandem, in_pair = pairs.partials(state.tandem, 2.0 * state.kl)
        if state.mu == -math.inf or not 0.0 < in_tandem < math.inf:
            return None  # the bound is 1, or no two classifiers of the vote are wrong on the same row
        if state.mu >= 0.0:
            in_gibbs, in_kl = lower_slopes(singles, state.gibbs, state.kl)
        else:
            in_gibbs, in_kl = singles.partials(state.gibbs, state.kl)
        kappa = (2.0 * in_pair - 2.0 * state.mu * in_kl) / in_tandem
        gamma = -2.0 * state.mu * in_gibbs / in_tandem
        return (kappa, gamma) if 0.0 < kappa < math.inf and math.isfinite(gamma) else None


def lower_slopes(function: BoundFunction, risk: float, kl: float) -> tuple[float, float]:
    r"""Partial derivatives of the lower kl root in the risk L and the divergence K.

    From :math:`kl(L, r) = x`: :math:`dr = [(\mathrm{logit}\,L - \mathrm{logit}\,r)\,dL - dx]\, r (1-r)/(L-r)`.

    Examples
    --------
    >>> from pacbayes.bounds import get_distance
    >>> in_risk, in_kl = lower_slopes(get_distance("kl").bound_function(100), 0.2, 1.0)
    >>> print(f"{in_risk:.6f} {in_kl:.6f}")
    0.663554 -0.006583
    """
    root = lower_root(risk, function.threshold(kl))
    if root == 0.0 or not root < risk < 1.0:
        return 0.0, 0.0
    factor = root * (1.0 - root) / (risk - root)
    logits = math.log(risk / root) + math.log((1.0 - root) / (1.0 - risk))
    return logits * factor, -factor / function.factor


def _minimize_tandem_bound(problem: VoteProblem, tol: float, *, max_problems: int = 500) -> VotePosterior:
    """Find the certified global minimum of the tandem bound; see `pacbayes.posteriors.tandem`."""
    minimum = TandemSearch(problem.factor, problem.pairs).run(tol, max_problems)
    return _certified_result(
        problem,
        problem.factor.groups.spread(minimum.weights),
        minimum.lower_bound,
        tol,
        minimum.problems,
        {"kappa": minimum.kappa, "products": minimum.products},
    )


def _minimize_first_order_bound(problem: VoteProblem, tol: float, *, max_evaluations: int = 100_000) -> VotePosterior:
    """Find the certified global minimum of the first-order bound; see `pacbayes.posteriors.certified_search`."""
    posterior = _minimize_gibbs_bound(problem, 0.5 * tol, max_evaluations)
    lower_bound, details = 2.0 * posterior.lower_bound, {"beta": posterior.beta}
    return _certified_result(problem, posterior.weights, lower_bound, tol, posterior.n_iter, details)


def _descend_cantelli_bound(problem: VoteProblem, tol: float, *, max_iter: int = 500) -> VotePosterior:
    """Minimise the Chebyshev-Cantelli bound by descents from the prior and from the optima of the two other bounds."""
    tandem = TandemSearch(problem.factor, problem.pairs).run(1e-3, 50).weights
    return _best_descent(problem, {"tandem": tandem} | _initial_weights(problem, tol), tol, max_iter)


def _descend_pairwise_tandem_bound(problem: VoteProblem, tol: float, *, max_iter: int = 500) -> VotePosterior:
    """Minimise the tandem bound by descents, for classifiers that have their own validation rows."""
    return _best_descent(problem, _initial_weights(problem, tol), tol, max_iter)


def _initial_weights(problem: VoteProblem, tol: float) -> dict[str, FloatArray]:
    groups = problem.factor.groups
    # Sum the weights of each group to get the weights of the distinct classifiers.
    grouped = np.bincount(groups.index, _minimize_gibbs_bound(problem, tol).weights, groups.n_keys)[groups.keys]
    return {"first-order": grouped / grouped.sum(), "prior": groups.mass / groups.mass.sum()}


def _best_descent(problem: VoteProblem, starts: dict[str, FloatArray], tol: float, max_iter: int) -> VotePosterior:
    descent = VoteDescent(problem)
    ends = {name: descent.run(start, tol, max_iter) for name, start in starts.items()}
    name = min(ends, key=lambda name: ends[name].state.bound)
    best = ends[name]
    if best.converged:
        message = f"the last step decreased the bound by less than {0.01 * tol:g}"
    else:
        message = f"maximum number of steps reached, {max_iter}"
    weights = problem.factor.groups.spread(best.state.weights)
    return _make_result(
        problem,
        weights,
        problem.evaluate(weights),
        lower_bound=-math.inf,
        converged=best.converged,
        n_iter=sum(end.steps for end in ends.values()),
        message=f"{message}; start {name!r}",
        details={"start": name, "bounds": {name: end.state.bound for name, end in ends.items()}},
    )


def _minimize_gibbs_bound(problem: VoteProblem, tol: float, max_evaluations: int = 100_000) -> Posterior:
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


def _certified_result(
    problem: VoteProblem, weights: FloatArray, lower: float, tol: float, n_iter: int, details: dict[str, Any]
) -> VotePosterior:
    """Create a result; its gap is recomputed from the weights, independently of the search."""
    values = problem.evaluate(weights)
    gap = values.bound - lower
    converged = gap <= tol
    message = f"gap {gap:.1e} {'<=' if converged else '>'} tol = {tol:g} after {n_iter} inner problems"
    return _make_result(
        problem,
        weights,
        values,
        lower_bound=lower,
        converged=converged,
        n_iter=n_iter,
        message=message,
        details=details,
    )


def _make_result(problem: VoteProblem, weights: FloatArray, values: VoteValues, **fields: Any) -> VotePosterior:
    if problem.own is not None:
        fields["details"] |= {"m_pairs": problem.own.min_pair_rows}
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
    "tandem": _minimize_tandem_bound,
    "cantelli": _descend_cantelli_bound,
    "first-order": _minimize_first_order_bound,
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

    The bounds hold for all weights simultaneously, so the weights may be chosen on the validation set.

    Parameters
    ----------
    error_rows : array_like of shape (H, m)
        True (or 1) if a classifier is wrong: a row per classifier, a column per validation example.  No classifier may
        be trained on any of the examples.
    m : int
        Number of validation examples, the number of columns.
    bound : {"tandem", "cantelli", "first-order"}
        As for `vote_bound`.  "tandem" and "first-order" are minimised globally, with a proved lower bound.  "cantelli"
        is the best of three descents; it is often smaller if the single classifiers have high error rates.
    delta, prior, constant
        As for `vote_bound`.
    tol : float
        tandem and first-order: the absolute gap between bound and lower bound; cantelli: a descent has converged when a
        step gains less than a hundredth of `tol`.
    validated : array_like of shape (H, m), optional
        The validation rows of each classifier, as for `vote_bound`.  The tandem risk is then not convex in general, so
        "tandem" is also the best of several descents, without a lower bound.
    **options
        tandem: ``max_problems=500``, inner problems.  cantelli, and tandem with `validated`: ``max_iter=500``, steps of
        a descent.  first-order: ``max_evaluations=100_000``.

    Returns
    -------
    VotePosterior
        The weights, their bound (recomputed by `vote_bound`), and a `lower_bound` on the bounds of all weights, minus
        infinity if there is none.

    See Also
    --------
    vote_bound : The bound of any weights.
    VotePosterior : The result.
    optimal_posterior : The posterior of a stochastic classifier with the smallest bound.

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
    >>> from pacbayes.posteriors.optimal_vote import optimal_vote
    >>> rng = np.random.default_rng(0)
    >>> errors = rng.random((25, 1000)) < np.linspace(0.1, 0.3, 25)[:, None]
    >>> for name in ("first-order", "cantelli", "tandem"):
    ...     vote = optimal_vote(errors, 1000, bound=name)
    ...     print(f"{name}: {vote.bound:.4f}, {vote.n_effective:.1f} classifiers")
    first-order: 0.2689, 1.0 classifiers
    cantelli: 0.2261, 10.5 classifiers
    tandem: 0.2207, 10.6 classifiers
    """
    solve = METHODS[check_choice("bound", bound, METHODS)]
    if validated is not None and solve is not _minimize_first_order_bound:
        solve = _descend_pairwise_tandem_bound  # the tandem risk need not be convex
    validate_options(f"bound {bound!r}", solve, options)
    accuracy = check_tolerance(tol)
    with default_errstate():
        problem = VoteProblem.from_arguments(error_rows, m, bound, delta, prior, constant, validated)
        return solve(problem, accuracy, **options)
