r"""Bounds on the risk of a weighted majority vote: first-order, tandem and Chebyshev-Cantelli.

If the vote is wrong, ties included, the weight `W` of the wrong classifiers is at least 1/2.  Markov's inequality for
`W`, :math:`W^2` and :math:`(W - \mu)^2` gives

.. math:: R \le 2\,E W, \qquad R \le 4\,E W^2, \qquad R \le \frac{E W^2 - 2 \mu\, E W + \mu^2}{(1/2 - \mu)^2}
   \quad (\mu < 1/2),

and the PAC-Bayes-kl bound applies to the two means: to :math:`E W` with the empirical Gibbs risk G and the divergence
K, and to :math:`E W^2`, the probability that two classifiers drawn independently are both wrong, with the empirical
tandem risk T and the divergence 2K of the pair: equation (vote) and equation (tandem) of docs/mathematics.md.  For
fixed `m` and `delta` each bound is a function of T, K and G.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from numpy.typing import ArrayLike

from pacbayes._utils.arrays import EPS, BoolArray, FloatArray, cached_property, default_errstate, round_up
from pacbayes._utils.checks import check_choice, check_distribution
from pacbayes.bounds.binary_kl import lower_root
from pacbayes.bounds.bound import kullback_leibler
from pacbayes.bounds.distance import BoundFunction
from pacbayes.bounds.distances import get_distance
from pacbayes.posteriors.error_rows import (
    PairwiseRisks,
    TandemFactor,
    check_error_rows,
    check_validated,
    empirical_risks,
    gibbs_risks,
    tandem_risk,
)
from pacbayes.posteriors.gibbs import check_prior

VOTE_BOUNDS = ("tandem", "cantelli", "first-order")


class VoteValues(NamedTuple):
    """Bound of a weighted vote with its components, each rounded up."""

    bound: float
    tandem_risk: float
    gibbs_risk: float
    kl: float
    #: Parameter of the Chebyshev-Cantelli inequality; None for the other bounds.
    mu: float | None


def tandem_bound(function: BoundFunction, tandem: float, kl: float) -> float:
    """Tandem bound: four times the upper kl root of the tandem risk, with twice the divergence.

    Examples
    --------
    >>> function = get_distance("kl").bound_function(1000, 0.05)
    >>> print(f"{tandem_bound(function, 0.02, 1.0):.4f}")
    0.1771
    """
    return 4.0 * function(tandem, 2.0 * kl)


def cantelli_bound(tandem: float, gibbs_low: float, gibbs_high: float) -> tuple[float, float]:
    r"""Chebyshev-Cantelli bound, minimised over all :math:`\mu < 1/2`, rounded up, and the minimiser.

    Parameters
    ----------
    tandem : float
        Upper bound on the true tandem risk.
    gibbs_low, gibbs_high : float
        Lower and upper bound on the true Gibbs risk that hold simultaneously with `tandem`.  The lower bound is used
        for positive mu, the upper bound for negative mu.

    Returns
    -------
    bound, mu : float
        At most 1, the limit of the bound as mu tends to minus infinity.

    Notes
    -----
    With :math:`v = 1/(1/2-\mu)` the right side is :math:`1 - (1-2g) v + (t-g+1/4) v^2`, a parabola with its minimum at
    :math:`\mu = (g-2t)/(1-2g)` if it opens upwards.  The bound is evaluated at the returned mu, so rounding errors of
    mu do not affect its validity.

    Examples
    --------
    >>> bound, mu = cantelli_bound(0.02, 0.1, 0.1)
    >>> print(f"{bound:.6f} {mu:.6f}")
    0.058824 0.075000
    """
    best = (1.0, -math.inf)
    for gibbs, sign in ((gibbs_low, 1.0), (gibbs_high, -1.0)):
        mu = (gibbs - 2.0 * tandem) / (1.0 - 2.0 * gibbs) if gibbs < 0.5 else 0.0
        if tandem - gibbs + 0.25 <= 0.0 or mu * sign < 0.0:
            mu = 0.0
        if mu < 0.5:
            best = min(best, (_cantelli_at(mu, tandem, gibbs), mu))
    return best


def _cantelli_at(mu: float, tandem: float, gibbs: float) -> float:
    """Evaluate (t - 2 mu g + mu^2) / (1/2 - mu)^2, rounded up."""
    product, square = 2.0 * mu * gibbs, mu * mu
    numerator = tandem - product + square + 4 * EPS * (tandem + abs(product) + square)
    # 1/2 - mu has an error of half a unit in its last place.
    return round_up(max(numerator, 0.0) / (0.5 - mu) ** 2, 8.0)


def halve_level(delta: float) -> float:
    """Half of `delta`, rounded down; the smallest subnormal number gives zero, which is an invalid level.

    Examples
    --------
    >>> halve_level(0.05), halve_level(1.5e-323) < 1e-323
    (0.025, True)
    """
    half = 0.5 * delta
    return half if 2.0 * half <= delta else math.nextafter(half, 0.0)


@dataclass(frozen=True, eq=False)
class VoteProblem:
    """Validated errors, prior, sample sizes and level of a bound on a weighted vote."""

    errors: BoolArray
    #: The unnormalised prior (None if uniform) and its sum.
    prior: FloatArray | None
    prior_total: float
    #: One of `VOTE_BOUNDS`.
    bound: str
    delta: float
    #: Bound functions for E W^2 and E W at level delta, or delta / 2 for cantelli, which combines both.
    pairs: BoundFunction
    singles: BoundFunction
    #: Risks and tandem losses if classifiers have different validation rows; None if they share all rows.
    own: PairwiseRisks | None

    @classmethod
    def from_arguments(
        cls,
        error_rows: ArrayLike,
        m: int,
        bound: str,
        delta: float,
        prior: ArrayLike | None,
        constant: str,
        validated: ArrayLike | None = None,
    ) -> VoteProblem:
        """Validate the arguments of `vote_bound`."""
        name, kl = check_choice("bound", bound, VOTE_BOUNDS), get_distance("kl")
        function = kl.bound_function(m, delta, constant)
        level = function.delta
        errors = check_error_rows(error_rows, m)
        own = None if validated is None else PairwiseRisks.from_masks(errors, check_validated(validated, errors))
        if own is not None and own.min_pair_rows == 0 and name != "first-order":
            raise ValueError(
                f"validated must contain a common row for every pair of classifiers if bound={name!r}; use "
                "bound='first-order' otherwise"
            )
        if own is None and name != "cantelli":
            pairs = singles = function
        else:
            least, least_pair = (m, m) if own is None else (own.min_rows, max(own.min_pair_rows, 1))
            level_per_bound = halve_level(level) if name == "cantelli" else level
            pairs, singles = (kl.bound_function(rows, level_per_bound, constant) for rows in (least_pair, least))
        return cls(errors, *check_prior(prior, errors.shape[0]), name, level, pairs, singles, own)

    @cached_property
    def risks(self) -> FloatArray:
        """Empirical risks of the classifiers."""
        return empirical_risks(self.errors) if self.own is None else self.own.risks

    @cached_property
    def factor(self) -> TandemFactor:
        """Factorisation of the tandem risk over distinct classifiers."""
        if self.own is not None:
            return TandemFactor.from_losses(self.own.losses, self.own.risks, self.prior, self.prior_total)
        return TandemFactor.from_errors(self.errors, self.prior, self.prior_total)

    def tandem_risk(self, weights: FloatArray, total: float) -> float:
        """Tandem risk T, rounded up."""
        return tandem_risk(weights, self.errors, total) if self.own is None else self.own.tandem_risk(weights, total)

    def evaluate(self, weights: FloatArray) -> VoteValues:
        """Compute the bound of non-negative weights and its components."""
        total = float(weights.sum())
        tandem = self.tandem_risk(weights, total)
        gibbs = gibbs_risks(weights, self.risks, total)
        kl = kullback_leibler(weights, total, self.prior, self.prior_total)
        bound, mu = self.evaluate_bound(tandem, kl, *gibbs)
        return VoteValues(bound, tandem, gibbs[1], kl, mu)

    def evaluate_bound(
        self, tandem: float, kl: float, gibbs_low: float, gibbs_high: float
    ) -> tuple[float, float | None]:
        """Compute the bound, rounded up, and mu from T and K, rounded up, and G, rounded down and up."""
        if self.bound == "first-order":
            return 2.0 * self.singles(gibbs_high, kl), None
        if self.bound == "tandem":
            return tandem_bound(self.pairs, tandem, kl), None
        upper = self.pairs(tandem, 2.0 * kl)
        lower_gibbs = lower_root(gibbs_low, self.singles.threshold(kl))
        return cantelli_bound(upper, lower_gibbs, self.singles(gibbs_high, kl))


def vote_bound(
    weights: ArrayLike,
    error_rows: ArrayLike,
    m: int,
    *,
    bound: str = "tandem",
    delta: float = 0.05,
    prior: ArrayLike | None = None,
    constant: str = "exact",
    validated: ArrayLike | None = None,
) -> float:
    r"""Upper bound on the true risk of a weighted majority vote.

    The bound holds with probability at least :math:`1 - \delta` over the `m` validation examples, for all weights
    simultaneously, so the weights may be chosen on the validation set.  Ties count as errors.  Neither the classifiers
    nor the prior may depend on the validation examples.

    Parameters
    ----------
    weights : array_like of shape (H,)
        The weights of the vote.  Weights whose sum differs from 1 by at most 1e-8 (1e-4 in single precision) are
        normalised; a larger difference is an error.
    error_rows : array_like of shape (H, m)
        True (or 1) if a classifier is wrong: a row per classifier, a column per validation example.
    m : int
        Number of validation examples, the number of columns.
    bound : {"tandem", "cantelli", "first-order"}
        "first-order" is twice the PAC-Bayes-kl bound on the Gibbs risk [3]_; "tandem" is four times the PAC-Bayes-kl
        bound on the tandem risk [1]_; "cantelli" is the Chebyshev-Cantelli inequality with bounds on both [2]_.
    delta : float
        The bound fails with probability at most `delta`.
    prior : array_like of shape (H,), optional
        Uniform by default; normalised like `weights`.
    constant : {"exact", "paper"}
        "exact" uses :math:`\xi(m)`, "paper" its upper bound :math:`2\sqrt m`; see `log_constant`.
    validated : array_like of shape (H, m), optional
        Mask of the validation rows of each classifier, if classifiers have different ones (out-of-bag rows,
        independent splits); `error_rows` must be zero outside of it.  The mask must not depend on the labels.  A pair
        is evaluated on its common validation rows; the bounds use the smallest number of rows of a classifier and of a
        pair (equation (own-rows) of docs/mathematics.md).

    Returns
    -------
    float
        Rounded up.  Not clipped: "first-order" can reach 2 and "tandem" 4, where they are vacuous.

    See Also
    --------
    optimal_vote : The weights with the smallest bound.
    bound : The PAC-Bayesian bound of the stochastic classifier.

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
    >>> import numpy as np
    >>> from pacbayes.posteriors.vote_bounds import vote_bound
    >>> errors = np.random.default_rng(0).random((25, 1000)) < 0.2
    >>> for name in VOTE_BOUNDS:
    ...     print(f"{name}: {vote_bound(np.full(25, 0.04), errors, 1000, bound=name):.4f}")
    tandem: 0.2968
    cantelli: 0.3034
    first-order: 0.4948
    """
    with default_errstate():
        problem = VoteProblem.from_arguments(error_rows, m, bound, delta, prior, constant, validated)
        checked, _ = check_distribution("weights", weights, problem.errors.shape[0])
        return problem.evaluate(checked).bound
