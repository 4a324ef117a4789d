r"""Bounds on the risk of a weighted majority vote: first order, tandem, and Chebyshev-Cantelli on tandem.

Where the vote errs, ties included, the weight `W` that errs is at least 1/2.  Markov's inequality for `W`, for
:math:`W^2` and for :math:`(W - \mu)^2` gives

.. math:: R \le 2\,E W, \qquad R \le 4\,E W^2, \qquad R \le \frac{E W^2 - 2 \mu\, E W + \mu^2}{(1/2 - \mu)^2}
   \quad (\mu < 1/2),

and PAC-Bayes-kl bounds the two means: :math:`E W` with the empirical Gibbs risk G and the divergence K, :math:`E W^2`,
the probability that two classifiers drawn independently both err, with the empirical tandem risk T and the divergence
2K of the pair: equation (vote) and equation (tandem) of docs/mathematics.md.  For given `m` and `delta` each bound is a
function of T, K and G.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from numpy.typing import ArrayLike

from pacbayes._utils.arrays import EPS, BoolArray, FloatArray, cached_property, round_up, usual_float_errors
from pacbayes._utils.checks import check_choice, check_distribution
from pacbayes.bounds.binary_kl import lower_root
from pacbayes.bounds.bound import divergence
from pacbayes.bounds.distance import BoundFunction
from pacbayes.bounds.distances import get_distance
from pacbayes.posteriors.error_rows import (
    OwnRows,
    TandemFactor,
    check_error_rows,
    check_validated,
    gibbs_risks,
    risks_of,
    tandem_risk,
)
from pacbayes.posteriors.gibbs import check_prior

VOTE_BOUNDS = ("tandem", "cantelli", "first-order")


class VoteValues(NamedTuple):
    """The bound of a vote's weights and what it is made of, each rounded up."""

    bound: float
    tandem_risk: float
    gibbs_risk: float
    kl: float
    #: Where Chebyshev-Cantelli's inequality is taken; None for the other bounds.
    mu: float | None


def tandem_bound(function: BoundFunction, tandem: float, kl: float) -> float:
    """Return four times the upper kl root of the tandem risk, whose divergence is that of two classifiers.

    Examples
    --------
    >>> function = get_distance("kl").bound_function(1000, 0.05)
    >>> print(f"{tandem_bound(function, 0.02, 1.0):.4f}")
    0.1771
    """
    return 4.0 * function(tandem, 2.0 * kl)


def cantelli_bound(tandem: float, gibbs_low: float, gibbs_high: float) -> tuple[float, float]:
    r"""Return the least Chebyshev-Cantelli bound over all :math:`\mu < 1/2`, rounded up, and where it is.

    Parameters
    ----------
    tandem : float
        An upper limit of the true tandem risk.
    gibbs_low, gibbs_high : float
        Limits of the true Gibbs risk that hold at once with it: the lower one counts for positive mu, the upper one for
        negative mu.

    Returns
    -------
    bound, mu : float
        At most 1, the limit for mu to minus infinity.

    Notes
    -----
    With :math:`v = 1/(1/2-\mu)` the right side is :math:`1 - (1-2g) v + (t-g+1/4) v^2`, a parabola whose lowest point
    is :math:`\mu = (g-2t)/(1-2g)` where it opens upwards.  Whatever the rounding of mu, the bound is computed for the
    mu that is returned.

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
    """Return (t - 2 mu g + mu^2) / (1/2 - mu)^2, rounded up."""
    product, square = 2.0 * mu * gibbs, mu * mu
    numerator = tandem - product + square + 4 * EPS * (tandem + abs(product) + square)
    # 1/2 - mu is off by half a unit in its last place.
    return round_up(max(numerator, 0.0) / (0.5 - mu) ** 2, 8.0)


def half_level(delta: float) -> float:
    """Return delta / 2, exactly unless it is subnormal: then not above it, and zero, which is refused, at the end.

    Examples
    --------
    >>> half_level(0.05), half_level(1.5e-323) < 1e-323
    (0.025, True)
    """
    half = 0.5 * delta
    return half if 2.0 * half <= delta else math.nextafter(half, 0.0)


@dataclass(frozen=True, eq=False)
class VoteProblem:
    """Errors, prior, sample size and level of a bound on a vote, checked."""

    errors: BoolArray
    #: The prior, or None for the uniform one, and its sum, by which it is still to be divided.
    prior: FloatArray | None
    prior_total: float
    #: Which bound: one of `VOTE_BOUNDS`.
    bound: str
    delta: float
    #: The kl bounds of the means of the squares and of W, at delta; for cantelli, which needs both, at delta / 2.
    pairs: BoundFunction
    singles: BoundFunction
    #: What was counted where classifiers have rows of their own; None where all rows validate each.
    own: OwnRows | None

    @classmethod
    def checked(
        cls,
        error_rows: ArrayLike,
        m: int,
        bound: str,
        delta: float,
        prior: ArrayLike | None,
        constant: str,
        validated: ArrayLike | None = None,
    ) -> VoteProblem:
        """Check everything, naming what is wrong."""
        name, kl = check_choice("bound", bound, VOTE_BOUNDS), get_distance("kl")
        whole = kl.bound_function(m, delta, constant)
        level = whole.delta
        errors = check_error_rows(error_rows, m)
        own = None if validated is None else OwnRows.of(errors, check_validated(validated, errors))
        if own is not None and own.least_pair == 0 and name != "first-order":
            raise ValueError(
                f"validated must leave every two classifiers a common row for bound={name!r}; 'first-order' needs none"
            )
        if own is None and name != "cantelli":
            pairs = singles = whole
        else:
            least, least_pair = (m, m) if own is None else (own.least, max(own.least_pair, 1))
            part = half_level(level) if name == "cantelli" else level
            pairs, singles = (kl.bound_function(rows, part, constant) for rows in (least_pair, least))
        return cls(errors, *check_prior(prior, errors.shape[0]), name, level, pairs, singles, own)

    @cached_property
    def risks(self) -> FloatArray:
        """The classifiers' empirical risks."""
        return risks_of(self.errors) if self.own is None else self.own.risks

    @cached_property
    def factor(self) -> TandemFactor:
        """The tandem risk as a sum of squares, over distinct classifiers, or a difference of such sums."""
        if self.own is not None:
            return TandemFactor.of_losses(self.own.losses, self.own.risks, self.prior, self.prior_total)
        return TandemFactor.of(self.errors, self.prior, self.prior_total)

    def tandem_risk(self, weights: FloatArray, total: float) -> float:
        """Return T, rounded up."""
        return tandem_risk(weights, self.errors, total) if self.own is None else self.own.tandem_risk(weights, total)

    def evaluate(self, weights: FloatArray) -> VoteValues:
        """Return the bound of non-negative weights and what it is made of."""
        total = float(weights.sum())
        tandem = self.tandem_risk(weights, total)
        gibbs = gibbs_risks(weights, self.risks, total)
        kl = divergence(weights, total, self.prior, self.prior_total)
        bound, mu = self.bound_of(tandem, kl, *gibbs)
        return VoteValues(bound, tandem, gibbs[1], kl, mu)

    def bound_of(self, tandem: float, kl: float, gibbs_low: float, gibbs_high: float) -> tuple[float, float | None]:
        """Return the bound, rounded up, and mu from T and K, rounded up, and G, rounded down and up."""
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

    With probability at least :math:`1 - \delta` over the `m` validation examples the risk of the vote, ties counted as
    errors, is at most this, for all weights at once; so the weights may be chosen after seeing the errors.  No
    classifier and no prior weight may depend on the examples.

    Parameters
    ----------
    weights : array_like of shape (H,)
        The weights of the vote.  A sum off by at most 1e-8 (1e-4 in single precision) is normalised, more is an error.
    error_rows : array_like of shape (H, m)
        True (or 1) where a classifier errs: a row per classifier, a column per validation example.
    m : int
        Number of validation examples, the number of columns.
    bound : {"tandem", "cantelli", "first-order"}
        "first-order" is twice the PAC-Bayes-kl bound of the Gibbs risk; "tandem" four times that of the tandem risk
        (Masegosa et al., 2020); "cantelli" is the Chebyshev-Cantelli inequality with bounds of both (Wu et al., 2021).
    delta : float
        The bound fails with at most this probability.
    prior : array_like of shape (H,), optional
        Uniform by default; normalised like `weights`.
    constant : {"exact", "paper"}
        "exact" uses :math:`\xi(m)`, "paper" its upper bound :math:`2\sqrt m`; see `log_constant`.
    validated : array_like of shape (H, m), optional
        True where a row validates a classifier, for classifiers with validation rows of their own (out-of-bag rows,
        independent splits); elsewhere `error_rows` must be zero.  Which rows validate whom must not depend on the
        labels.  A pair is measured on the rows that validate both; the bounds use the least numbers of rows of a
        classifier and of a pair (equation (own-rows) of docs/mathematics.md).

    Returns
    -------
    float
        Rounded up.  Not clipped: "first-order" can reach 2 and "tandem" 4, where they say nothing.

    See Also
    --------
    optimal_vote : The weights with the smallest bound.
    bound : The bound of the stochastic classifier.

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
    with usual_float_errors():
        problem = VoteProblem.checked(error_rows, m, bound, delta, prior, constant, validated)
        checked, _ = check_distribution("weights", weights, problem.errors.shape[0])
        return problem.evaluate(checked).bound
