"""The result of a search for the weights of a vote."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.rounding import format_up
from pacbayes.runtime.html_card import card


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
    >>> from pacbayes.posteriors.votes.vote import optimal_vote
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
            f"VotePosterior(bound={format_up(self.bound, 4)}, {self._proved()}; {self.method}, m={self.m}, "
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
        said = self._proved() if self.converged else f"{self._proved()}; not converged: {self.message}"
        return card(f"Vote of {self.weights.size} classifiers", [f"{said[0].upper()}{said[1:]}."], facts)

    def _proved(self) -> str:
        if self.lower_bound == -math.inf:
            return "nothing proved about others"
        if self.converged:
            decade = 10.0 ** math.ceil(math.log10(max(self.gap, 1e-12)))
            return f"proved within {decade:.0e} of the least of all weights"
        return f"within {self.gap:.1e} of the least of all weights"
