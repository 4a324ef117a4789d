r"""The curve of Gibbs posteriors, which contains every optimal posterior.

For an empirical risk `L` between the smallest risk and the risk of the prior, the divergence `K` from the prior is
minimised by

.. math:: q_i(\beta) \propto p_i e^{-\beta \hat l_i}, \qquad 0 \le \beta \le \infty,

equation (gibbs) of docs/mathematics.md; for larger `L` the prior has both a smaller risk and a smaller divergence.  A
bound that is
non-decreasing in `L` and `K` is therefore minimised over the whole simplex by some :math:`q(\beta)`, which reduces a
problem in `H` dimensions to one dimension.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import EPS, FloatArray, default_errstate
from pacbayes._utils.checks import check_distribution, check_number, check_risks

# Number of prior weights summed sequentially.
_SUM_BLOCK = 2_048
# With at most this many groups, a sum in any order is accurate enough.
_FEW = 2_048
# Smallest log mass compared with which underflowing terms are negligible.
_SAFE = -600.0
# _VANISHED * exp(-_VANISHED) is negligible compared with any positive double.
_VANISHED = 2_000.0


@dataclass(frozen=True, eq=False)
class Groups:
    """Classifiers grouped by risk: the distinct risks in increasing order, and the group of each classifier."""

    #: Distinct risks, increasing, shape (G,).
    risks: FloatArray
    #: Prior mass of each group, shape (G,), summing to `total`.
    mass: FloatArray
    #: Index of the distinct risk of each group, shape (G,), and of each classifier, shape (H,).  Risks without prior
    #: mass have no group.
    keys: NDArray[np.intp]
    index: NDArray[np.intp]
    n_keys: int
    #: The prior (None if uniform) and its sum.  It is not normalised, since subnormal weights would lose digits.
    prior: FloatArray | None
    total: float
    #: Bound on the relative rounding error of `mass`.
    mass_error: float

    @property
    def size(self) -> int:
        """Number of classifiers, H."""
        return self.index.size

    def spread(self, shares: FloatArray) -> FloatArray:
        """Distribute the posterior mass of each group over its classifiers, proportionally to the prior."""
        table, mass = np.zeros(self.n_keys), np.ones(self.n_keys)
        if self.prior is None:
            table[self.keys] = shares / (self.mass * self.size)
            return table[self.index]
        table[self.keys], mass[self.keys] = shares, self.mass
        return np.asarray(self.prior / mass[self.index] * table[self.index])


def group_risks(risks: FloatArray, m: int | None, prior: FloatArray | None, total: float = 1.0) -> Groups:
    """Group classifiers by risk; risks are rounded to multiples of 1/m if all of them are close to one.

    A risk within a few units in the last place of a multiple of 1/m counts as that multiple.

    Parameters
    ----------
    risks : ndarray of shape (H,)
        Validated risks.
    m : int or None
        Number of validation examples; None to group exactly equal risks only.
    prior : ndarray of shape (H,) or None
        The prior; None for the uniform one.
    total : float
        Sum of the prior.

    Examples
    --------
    >>> groups = group_risks(np.array([0.2, 0.1, 0.2, 0.5]), 10, None)
    >>> groups.risks, groups.mass, groups.index
    (array([0.1, 0.2, 0.5]), array([0.25, 0.5 , 0.25]), array([1, 0, 1, 2]))
    """
    if m is not None:
        counts = np.rint(risks * m)
        if (np.abs(risks * m - counts) <= 4 * EPS * counts).all():
            risks = counts / m
    values, index, sizes = np.unique(risks, return_inverse=True, return_counts=True)
    if prior is None:
        mass, error = sizes / risks.size, EPS
    else:
        mass, error = _sum_by_key(index, prior, values.size)
    keys = mass.nonzero()[0]
    return Groups(values[keys], mass[keys], keys, index, values.size, prior, total, error)


def _sum_by_key(index: NDArray[np.intp], prior: FloatArray, n_keys: int) -> tuple[FloatArray, float]:
    """Sum the prior for each key, and bound the relative error of the sums.

    `np.bincount` sums sequentially, with an error of up to one unit in the last place per term.  So it is applied to
    blocks, whose sums are added with compensation.
    """
    total, compensation = np.zeros(n_keys), np.zeros(n_keys)
    block = max(_SUM_BLOCK, n_keys)
    for start in range(0, index.size, block):
        block_sum = np.bincount(index[start : start + block], prior[start : start + block], n_keys)
        new = total + block_sum
        larger, smaller = np.maximum(total, block_sum), np.minimum(total, block_sum)
        compensation += (larger - new) + smaller
        total = new
    max_terms = min(block, int(np.bincount(index, minlength=n_keys).max()))
    return total + compensation, (0.5 * max_terms + 4.0) * EPS


class CurvePoint(NamedTuple):
    """A Gibbs posterior: its inverse temperature, empirical risk, divergence and log normaliser."""

    beta: float
    risk: float
    kl: float
    #: ln sum_i p_i exp(-beta (l_i - smallest risk))
    log_normaliser: float


class GibbsCurve:
    """Gibbs posteriors of grouped classifiers as points (L, K).

    Examples
    --------
    >>> curve = GibbsCurve(np.array([0.1, 0.3]), np.log([0.5, 0.5]))
    >>> point = curve.at(10.0)
    >>> print(f"{point.risk:.6f} {point.kl:.6f}")
    0.123841 0.327813
    """

    def __init__(self, risks: FloatArray, log_mass: FloatArray, mass_error: float = EPS) -> None:
        self.risks = risks
        self.log_mass = log_mass
        self.mass_error = mass_error
        self.min_risk = float(risks[0])
        self._above = risks - risks[0]
        self.spread = float(self._above[-1])
        self.min_log_mass = float(log_mass.min())
        # With few groups, and if the first mass is far from underflow, compute both sums by one matrix product.
        self._moments: FloatArray | None = None
        if risks.size <= _FEW and log_mass[0] > _SAFE:
            mass = np.exp(log_mass)
            self._moments = np.array([mass, mass * self._above])
            self._below = -self._above
        # Error bound of a sum in units of EPS: pairwise, or in any order for a matrix product.
        self._sum_error = 2.0 * math.log2(risks.size + 1) + (0.5 * risks.size if self._moments is not None else 0.0)

    @classmethod
    def from_groups(cls, groups: Groups) -> GibbsCurve:
        """Create the curve of grouped classifiers."""
        return cls(groups.risks, np.log(groups.mass) - math.log(groups.total), groups.mass_error)

    @property
    def risk_gap(self) -> float:
        """Difference of the second smallest and the smallest risk; infinity if there is only one."""
        return float(self._above[1]) if self._above.size > 1 else math.inf

    def at(self, beta: float) -> CurvePoint:
        """Evaluate the curve at inverse temperature `beta`, which may be infinite."""
        if beta == math.inf:
            log_mass = float(self.log_mass[0])
            return CurvePoint(beta, self.min_risk, -log_mass, log_mass)
        if self._moments is not None:
            terms = self._below * beta
            total, above = (self._moments @ np.exp(terms, terms)).tolist()
            log_normaliser = math.log(total)
        else:
            exponents = self.log_mass - beta * self._above
            top = float(exponents.max())
            terms = np.exp(exponents - top)
            total, above = float(terms.sum()), float((terms * self._above).sum())
            log_normaliser = top + math.log(total)
        above /= total
        return CurvePoint(beta, self.min_risk + above, max(-beta * above - log_normaliser, 0.0), log_normaliser)

    def shares(self, point: CurvePoint) -> FloatArray:
        """Posterior mass of each group at a point of the curve, summing to one."""
        if point.beta == math.inf:
            return np.where(self._above == 0.0, 1.0, 0.0)
        shares = np.exp(self.log_mass - point.beta * self._above - point.log_normaliser)
        return np.asarray(shares / shares.sum())

    def errors(self, point: CurvePoint) -> tuple[float, float, float]:
        r"""Bounds on the rounding errors of a point's risk, divergence and log normaliser.

        An exponent of size e has an error of a few e units in the last place, which is a relative error of its term.
        Averaged over the posterior, :math:`-\ln p_i` is at most :math:`K + \ln G` and :math:`\beta(\hat l_i - \min)` is
        :math:`\beta(L - \min)`.  The error of :math:`L - \min` is at most this average times the spread of the risks,
        and at most the largest error of a term times :math:`L - \min`, which is smaller for large beta.  The errors of
        terms with exponents beyond `_VANISHED` are negligible.
        """
        beta = 0.0 if point.beta == math.inf else point.beta
        # L is rounded, so L - min, from which K was computed, has the same absolute error.
        above = point.risk - self.min_risk + EPS * point.risk
        drop = beta * above
        size = 16.0 + point.kl + self._sum_error + drop + abs(point.log_normaliser)
        in_normaliser = 2 * EPS * size + self.mass_error
        exponent = min(beta * self.spread, _VANISHED) - self.min_log_mass
        largest = 2 * EPS * (16.0 + self._sum_error + exponent) + self.mass_error
        in_above = 2.0 * min(in_normaliser * self.spread, largest * above)
        in_kl = beta * in_above + in_normaliser + 4 * EPS * (drop + abs(point.log_normaliser))
        return in_above + 4 * EPS * point.risk, in_kl, in_normaliser


def check_prior(prior: ArrayLike | None, size: int) -> tuple[FloatArray | None, float]:
    """Validate the prior; return it unnormalised with its sum, or None and 1 for the uniform prior."""
    return (None, 1.0) if prior is None else check_distribution("prior", prior, size)


def gibbs_posterior(risks: ArrayLike, beta: float, prior: ArrayLike | None = None) -> FloatArray:
    r"""Gibbs posterior :math:`q_i \propto p_i e^{-\beta \hat l_i}`.

    Parameters
    ----------
    risks : array_like of shape (H,)
        Empirical risks in [0, 1].
    beta : float
        Inverse temperature, from 0 (the prior) to infinity (the prior restricted to the classifiers with the smallest
        risk among those with positive prior weight).
    prior : array_like of shape (H,), optional
        Uniform by default.

    Returns
    -------
    ndarray of shape (H,)
        Non-negative weights that sum to one.

    See Also
    --------
    optimal_posterior : The posterior with the smallest bound.
    bound : The PAC-Bayesian bound of any posterior.

    References
    ----------
    .. [1] O. Catoni, "PAC-Bayesian supervised classification: the thermodynamics of statistical learning", IMS Lecture
       Notes Monograph Series 56, 2007.

    Examples
    --------
    >>> from pacbayes import gibbs_posterior
    >>> gibbs_posterior([0.1, 0.2, 0.2], beta=10.0).round(4)
    array([0.5761, 0.2119, 0.2119])
    >>> gibbs_posterior([0.1, 0.2, 0.1], beta=float("inf"))
    array([0.5, 0. , 0.5])
    """
    risks = check_risks(risks)
    inverse_temperature = check_number("beta", beta, "a number")
    if not inverse_temperature >= 0.0:
        raise ValueError(f"beta must be at least 0 (infinity is allowed), got {beta!r}")
    with default_errstate():
        groups = group_risks(risks, None, *check_prior(prior, risks.size))
        curve = GibbsCurve.from_groups(groups)
        return groups.spread(curve.shares(curve.at(inverse_temperature)))
