r"""The weights of a majority vote with the smallest bound on its risk; how votes are counted: certificates/voting.py.

Where a proof is to be had, the search is that of `pacbayes.posteriors.tandem` or, for the first-order bound, of
`pacbayes.posteriors.certified_search`.  Two bounds are minimised by a descent by convex problems: Chebyshev-Cantelli's,
and the tandem bound of classifiers with rows of their own.

The descent
-----------
For a fixed :math:`\mu` the former is, but for a positive factor and a constant,

.. math:: h_\mu(T, K, G) = T^+(T, 2K) - 2\mu\, g(G, K),

with g the lower root :math:`G^-` for :math:`\mu \ge 0` and the upper root :math:`G^+` for :math:`\mu < 0`; the latter
is that with :math:`\mu = 0`.

The upper roots are concave functions and the lower root is a convex one (the argument of `pacbayes.posteriors.tandem`,
and the same for the smallest `r`), so :math:`h_\mu` is concave: it lies below its tangent plane.  Where T is a
difference of two sums of squares (`TandemFactor.concave`), so does its concave part.  The weights that minimise what is
left, a problem :math:`T + \kappa K + c^\top\rho` of `TandemDual`, therefore have a smaller :math:`h_\mu` than those
where the plane touches, and the best mu for them makes the bound smaller still.  The bound never rises; it ends at a
stationary point, one for each start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, usual_float_errors
from pacbayes._utils.checks import check_choice, check_tolerance
from pacbayes._utils.words import format_up
from pacbayes.bounds.binary_kl import lower_root
from pacbayes.bounds.distance import BoundFunction
from pacbayes.posteriors.optimal import check_options, optimal_posterior
from pacbayes.posteriors.posterior import Posterior, Result
from pacbayes.posteriors.tandem import TandemDual, TandemSearch
from pacbayes.posteriors.vote_bounds import VoteProblem, VoteValues

# The share of the tolerance to which an inner problem is solved.
_INNER = 1e-3


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VotePosterior(Result):
    """The weights of a majority vote, the bound of its risk, and what is proved about it.

    `bound` is computed anew from `weights` by `vote_bound`, so that results compare.

    See Also
    --------
    optimal_vote : What makes one.
    vote_bound : How its bound is computed.

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
    VotePosterior(bound=0.2924, proved within ... of the least of all weights; tandem, m=1000, delta=0.05)
    """

    #: T, the share of rows on which two classifiers drawn by the weights both err, rounded up.
    tandem_risk: float
    #: G, the empirical risk of one classifier drawn by the weights, rounded up.
    gibbs_risk: float
    #: Where the Chebyshev-Cantelli inequality is taken; None for the other bounds.
    mu: float | None

    _title, _others = "Vote of", "weights"

    def _facts(self) -> tuple[str, dict[str, str], dict[str, str]]:
        line = f"{self.method}, m={self.m}, delta={self.delta:g}"
        first = {"tandem risk T": format_up(self.tandem_risk, 4), "validation risk G": format_up(self.gibbs_risk, 4)}
        return line, first, {"inequality": f"{self.method}, {self.constant} constant"}


class State(NamedTuple):
    """Weights of the distinct classifiers, their T, K and G, and their bound."""

    weights: FloatArray
    tandem: float
    kl: float
    gibbs: float
    bound: float
    #: Where Chebyshev-Cantelli's inequality is taken; 0 for the tandem bound.
    mu: float


@dataclass(frozen=True)
class Descent:
    """Where a descent ended, after how many inner problems, and whether the bound had stopped falling."""

    state: State
    steps: int
    converged: bool


class VoteDescent:
    """Descents for one problem, from weights of the distinct classifiers."""

    def __init__(self, problem: VoteProblem) -> None:
        self.problem = problem
        self.dual = TandemDual(problem.factor)

    def run(self, weights: FloatArray, tol: float, max_iter: int) -> Descent:
        """Go down from `weights` until a step gains less than a hundredth of `tol`, or for `max_iter` steps."""
        state = self._state(weights)
        u: FloatArray | None = None
        for step in range(max_iter):
            slopes = self._slopes(state)
            if slopes is None:
                return Descent(state, step, True)
            kappa, gamma = slopes
            linear = gamma * self.problem.factor.risks + self.problem.factor.tangent(state.weights)
            point = self.dual.solve(kappa, linear=linear, start=u, tol=_INNER * tol)
            u = point.u
            new = self._state(point.weights)
            if not new.bound < state.bound - 0.01 * tol:
                return Descent(min(state, new, key=lambda found: found.bound), step + 1, True)
            state = new
        return Descent(state, max_iter, False)

    def _state(self, weights: FloatArray) -> State:
        """Return T, K, G and the bound of weights of the distinct classifiers, without directed rounding."""
        factor = self.problem.factor
        tandem, gibbs = factor.value(weights), min(float(weights @ factor.risks), 1.0)
        logs = np.log(np.maximum(weights, np.finfo(np.float64).tiny)) - factor.log_mass
        kl = max(float(weights @ logs), 0.0)
        bound, mu = self.problem.bound_of(tandem, kl, gibbs, gibbs)
        return State(weights, tandem, kl, gibbs, bound, 0.0 if mu is None else mu)

    def _slopes(self, state: State) -> tuple[float, float] | None:
        """Return kappa and gamma, the slopes of h in K and G as multiples of that in T; None where nothing descends."""
        pairs, singles = self.problem.pairs, self.problem.singles
        in_tandem, in_pair = pairs.partials(state.tandem, 2.0 * state.kl)
        if state.mu == -math.inf or not 0.0 < in_tandem < math.inf:
            return None  # the bound is 1 here, or no two classifiers of the vote err together
        if state.mu >= 0.0:
            in_gibbs, in_kl = lower_slopes(singles, state.gibbs, state.kl)
        else:
            in_gibbs, in_kl = singles.partials(state.gibbs, state.kl)
        kappa = (2.0 * in_pair - 2.0 * state.mu * in_kl) / in_tandem
        gamma = -2.0 * state.mu * in_gibbs / in_tandem
        return (kappa, gamma) if 0.0 < kappa < math.inf and math.isfinite(gamma) else None


def lower_slopes(function: BoundFunction, risk: float, kl: float) -> tuple[float, float]:
    r"""Return the partial derivatives of the lower kl root in the risk L and the divergence K.

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


def _tandem(problem: VoteProblem, tol: float, *, max_problems: int = 500) -> VotePosterior:
    """Find the global minimum of the tandem bound with proof; see `pacbayes.posteriors.tandem`."""
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
    """Find the global minimum of the first-order bound with proof; see `pacbayes.posteriors.certified_search`."""
    found = _gibbs(problem, 0.5 * tol, max_evaluations)
    return _proved(problem, found.weights, 2.0 * found.lower_bound, tol, found.n_iter, {"beta": found.beta})


def _cantelli(problem: VoteProblem, tol: float, *, max_iter: int = 500) -> VotePosterior:
    """Descend from the prior and from the optima of the two other bounds."""
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
    if validated is not None and solve is not _first_order:
        solve = _own_rows  # where the tandem risk need not be convex
    check_options(f"bound {bound!r}", solve, options)
    accuracy = check_tolerance(tol)
    with usual_float_errors():
        problem = VoteProblem.checked(error_rows, m, bound, delta, prior, constant, validated)
        return solve(problem, accuracy, **options)
