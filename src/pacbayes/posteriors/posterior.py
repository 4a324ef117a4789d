"""The results of a search: a posterior over classifiers, or the weights of a vote."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray, usual_float_errors
from pacbayes._utils.words import card, format_up
from pacbayes.bounds.distance import Distance


@dataclass(frozen=True, eq=False)
class Posterior:
    """A distribution over classifiers, its bound, and what is proved about it.

    Every method returns one, with `bound` computed anew from `weights` by `pacbayes.bound`, so that methods compare.

    See Also
    --------
    optimal_posterior : What makes one.
    Certificate : What a posterior guarantees, in words.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.

    Examples
    --------
    >>> from pacbayes import optimal_posterior
    >>> posterior = optimal_posterior([0.10, 0.12, 0.30], m=200)
    >>> posterior
    Posterior(bound=0.1970, proved within 1e-10 of the least of all posteriors; kl, m=200, delta=0.05, certified)
    >>> posterior.support_size, round(posterior.n_effective, 2)
    (3, 1.09)
    """

    #: The posterior q, shape (H,).
    weights: FloatArray
    #: Its PAC-Bayesian bound, rounded up.
    bound: float
    #: No posterior on the simplex has a bound below this; -inf where the method proves nothing.
    lower_bound: float
    #: Inverse temperature of a Gibbs posterior; None where the weights are not one.
    beta: float | None
    #: L, the posterior's empirical risk, rounded up.
    empirical_risk: float
    #: K, its divergence from the prior, rounded up.
    kl: float
    #: Number of validation examples; the least, where classifiers have different ones.
    m: int
    #: The bound fails with at most this probability.
    delta: float
    #: Name of the distance.
    distance: str
    #: "exact" or "paper".
    constant: str
    #: Name of the method.
    method: str
    #: Whether the method reached its own goal; `message` says which.
    converged: bool
    #: Number of steps or evaluations.
    n_iter: int
    #: How the search ended, in words.
    message: str
    #: What else the method knows: trace, bounds of subsets, statuses, starts.
    details: dict[str, Any] = field(default_factory=dict)
    #: The distance itself, which need not be known by its name.
    used_distance: Distance | None = None

    @property
    def gap(self) -> float:
        """How far `bound` can be from the least bound of all posteriors: ``bound - lower_bound``."""
        return self.bound - self.lower_bound

    @property
    def hhi(self) -> float:
        r"""Herfindahl-Hirschman index :math:`\sum_i q_i^2`, between 1/H (uniform) and 1 (one classifier)."""
        with usual_float_errors():
            return float(np.square(self.weights).sum())

    @property
    def n_effective(self) -> float:
        """Effective number of classifiers, the inverse of `hhi`."""
        return 1.0 / self.hhi

    @property
    def support_size(self) -> int:
        """Number of classifiers with a positive weight."""
        return self.support_size_above(0.0)

    def support_size_above(self, threshold: float) -> int:
        """Return the number of classifiers whose weight exceeds `threshold`."""
        return int(np.count_nonzero(self.weights > threshold))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python numbers, strings and lists, ready for JSON but for infinities."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "used_distance"}
        values |= {name: getattr(self, name) for name in ("gap", "hhi", "n_effective", "support_size")}
        return {name: _plain(value) for name, value in values.items()}

    def __repr__(self) -> str:
        ending = "" if self.converged else f", not converged: {self.message}"
        return (
            f"Posterior(bound={format_up(self.bound, 4)}, {_proved(self, 'posteriors')}; {self.distance}, m={self.m}, "
            f"delta={self.delta:g}, {self.method}{ending})"
        )

    def _repr_html_(self) -> str:
        facts = {
            "bound": format_up(self.bound, 4),
            "validation risk L": format_up(self.empirical_risk, 4),
            "divergence K": format_up(self.kl, 4),
            "classifiers with weight": f"{self.support_size} of {self.weights.size}",
            "effective number of classifiers": f"{self.n_effective:.4g}",
            "validation examples m": str(self.m),
            "δ": f"{self.delta:g}",
            "distance": f"{self.distance}, {self.constant} constant",
            "method": self.method,
        }
        said = _proved(self, "posteriors") + ("" if self.converged else f"; not converged: {self.message}")
        return card(f"Posterior over {self.weights.size} classifiers", [f"{said[0].upper()}{said[1:]}."], facts)


@dataclass(frozen=True, eq=False)
class VotePosterior:
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
    >>> from pacbayes.posteriors.optimal_vote import optimal_vote
    >>> errors = np.random.default_rng(0).random((25, 1000)) < 0.2
    >>> optimal_vote(errors, 1000)  # doctest: +ELLIPSIS
    VotePosterior(bound=0.2924, proved within ... of the least of all weights; tandem, m=1000, delta=0.05)
    """

    #: The weights of the vote, shape (H,).
    weights: FloatArray
    #: The bound of the vote's risk, rounded up; not clipped at 1.
    bound: float
    #: No weights on the simplex have a bound below this; -inf where nothing is proved.
    lower_bound: float
    #: T, the share of rows on which two classifiers drawn by the weights both err, rounded up.
    tandem_risk: float
    #: G, the empirical risk of one classifier drawn by the weights, rounded up.
    gibbs_risk: float
    #: K, the divergence of the weights from the prior, rounded up.
    kl: float
    #: Where the Chebyshev-Cantelli inequality is taken; None for the other bounds.
    mu: float | None
    #: Number of validation examples; the least of a classifier, where each has its own.
    m: int
    #: The bound fails with at most this probability.
    delta: float
    #: "exact" or "paper".
    constant: str
    #: Which bound: "tandem", "cantelli" or "first-order".
    method: str
    #: Whether the search reached its goal; `message` says which.
    converged: bool
    #: Number of inner problems solved; for first order, of points of the Gibbs curve.
    n_iter: int
    #: How the search ended, in words.
    message: str
    #: What else the search knows.
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """How far `bound` can be from the least bound of all weights: ``bound - lower_bound``."""
        return self.bound - self.lower_bound

    @property
    def n_effective(self) -> float:
        """Effective number of classifiers, the inverse of the sum of the squared weights."""
        return 1.0 / float(np.square(self.weights).sum())

    @property
    def support_size(self) -> int:
        """Number of classifiers with a positive weight."""
        return int(np.count_nonzero(self.weights > 0.0))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python numbers, strings and lists, ready for JSON but for infinities."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values |= {name: getattr(self, name) for name in ("gap", "n_effective", "support_size")}
        return values | {"weights": self.weights.tolist(), "details": dict(self.details)}

    def __repr__(self) -> str:
        ending = "" if self.converged else f", not converged: {self.message}"
        return (
            f"VotePosterior(bound={format_up(self.bound, 4)}, {_proved(self, 'weights')}; {self.method}, m={self.m}, "
            f"delta={self.delta:g}{ending})"
        )

    def _repr_html_(self) -> str:
        facts = {
            "bound": format_up(self.bound, 4),
            "tandem risk T": format_up(self.tandem_risk, 4),
            "validation risk G": format_up(self.gibbs_risk, 4),
            "divergence K": format_up(self.kl, 4),
            "classifiers with weight": f"{self.support_size} of {self.weights.size}",
            "effective number of classifiers": f"{self.n_effective:.4g}",
            "validation examples m": str(self.m),
            "δ": f"{self.delta:g}",
            "inequality": f"{self.method}, {self.constant} constant",
        }
        said = _proved(self, "weights") + ("" if self.converged else f"; not converged: {self.message}")
        return card(f"Vote of {self.weights.size} classifiers", [f"{said[0].upper()}{said[1:]}."], facts)


def _proved(found: Posterior | VotePosterior, others: str) -> str:
    """Say how far the bound can be from the least of all others."""
    if found.lower_bound == -math.inf:
        return "nothing proved about others"
    if found.converged:
        decade = 10.0 ** math.ceil(math.log10(max(found.gap, 1e-12)))
        return f"proved within {decade:.0e} of the least of all {others}"
    return f"within {found.gap:.1e} of the least of all {others}"


def _plain(value: Any) -> Any:
    """Arrays to lists and NumPy scalars to numbers, inside dicts and lists too."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
