r"""The curve of Gibbs posteriors, on which every optimal posterior lies.

For a given empirical risk `L` between the least risk and the prior's, the smallest divergence `K` from the prior is
that of

.. math:: q_i(\beta) \propto p_i e^{-\beta \hat l_i}, \qquad 0 \le \beta \le \infty,

equation (gibbs) of docs/mathematics.md, and for larger `L` the prior itself is better in both.  A bound that is
non-decreasing in `L` and in `K` is therefore minimised over the whole simplex by some :math:`q(\beta)`: a problem in
`H` dimensions has become one in a single one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import EPS, FloatArray, usual_float_errors
from pacbayes._utils.checks import check_distribution, check_risks
from pacbayes.posteriors.grouping import Groups, group_risks

# Up to this many groups the worst error of a sum in any order stays small.
_FEW = 2_048
# Logarithm of a mass next to which terms lost by underflow do not count.
_SAFE = -600.0
# exp(-_VANISHED) is nothing next to any positive number of double precision, even multiplied by _VANISHED.
_VANISHED = 2_000.0


class CurvePoint(NamedTuple):
    """A Gibbs posterior: its inverse temperature, empirical risk, divergence and log-normaliser."""

    beta: float
    risk: float
    kl: float
    #: ln sum_i p_i exp(-beta (l_i - least risk))
    log_normaliser: float


class GibbsCurve:
    """The Gibbs posteriors of grouped classifiers as points (L, K).

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
        self.least = float(risks[0])
        self._above = risks - risks[0]
        self.spread = float(self._above[-1])
        self.least_log_mass = float(log_mass.min())
        # Few groups, of which the first has a mass far from underflow: both sums as one matrix product.
        self._moments: FloatArray | None = None
        if risks.size <= _FEW and log_mass[0] > _SAFE:
            mass = np.exp(log_mass)
            self._moments = np.array([mass, mass * self._above])
            self._below = -self._above
        # Worst error of a sum in units of EPS, pairwise or (as in a matrix product) in any order.
        self._sum_error = 2.0 * math.log2(risks.size + 1) + (0.5 * risks.size if self._moments is not None else 0.0)

    @classmethod
    def of(cls, groups: Groups) -> GibbsCurve:
        """Return the curve of grouped classifiers."""
        return cls(groups.risks, np.log(groups.mass) - math.log(groups.total), groups.mass_error)

    @property
    def next_above(self) -> float:
        """How far the second smallest risk lies above the least; infinity if there is none."""
        return float(self._above[1]) if self._above.size > 1 else math.inf

    def at(self, beta: float) -> CurvePoint:
        """Return the point of inverse temperature `beta`, infinity included."""
        if beta == math.inf:
            log_mass = float(self.log_mass[0])
            return CurvePoint(beta, self.least, -log_mass, log_mass)
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
        return CurvePoint(beta, self.least + above, max(-beta * above - log_normaliser, 0.0), log_normaliser)

    def shares(self, point: CurvePoint) -> FloatArray:
        """Return the posterior mass of each group at a point of the curve, summing to one."""
        if point.beta == math.inf:
            return np.where(self._above == 0.0, 1.0, 0.0)
        shares = np.exp(self.log_mass - point.beta * self._above - point.log_normaliser)
        return np.asarray(shares / shares.sum())

    def errors(self, point: CurvePoint) -> tuple[float, float, float]:
        r"""Return bounds of the rounding errors of a point's risk, divergence and log-normaliser.

        An exponent of size e carries an error of a few e units in the last place, which becomes a relative error of its
        term.  Averaged over the posterior, :math:`-\ln p_i` is at most :math:`K + \ln G` and :math:`\beta(\hat l_i -
        \min)` is :math:`\beta(L - \min)`.  The error of :math:`L - \min` is at most this average times the spread of
        the risks, and at most the largest error of a term times :math:`L - \min`, which is less for a large beta.
        Terms with exponents beyond `_VANISHED` are so small that their errors do not count.
        """
        beta = 0.0 if point.beta == math.inf else point.beta
        # L is rounded, and L - min, from which K was computed, is not known better than that.
        above = point.risk - self.least + EPS * point.risk
        drop = beta * above
        size = 16.0 + point.kl + self._sum_error + drop + abs(point.log_normaliser)
        in_normaliser = 2 * EPS * size + self.mass_error
        exponent = min(beta * self.spread, _VANISHED) - self.least_log_mass
        largest = 2 * EPS * (16.0 + self._sum_error + exponent) + self.mass_error
        in_above = 2.0 * min(in_normaliser * self.spread, largest * above)
        in_kl = beta * in_above + in_normaliser + 4 * EPS * (drop + abs(point.log_normaliser))
        return in_above + 4 * EPS * point.risk, in_kl, in_normaliser


def check_prior(prior: ArrayLike | None, size: int) -> tuple[FloatArray | None, float]:
    """Return the prior, not yet divided by its sum, and the sum; None and one for the uniform one."""
    return (None, 1.0) if prior is None else check_distribution("prior", prior, size)


def gibbs_posterior(risks: ArrayLike, beta: float, prior: ArrayLike | None = None) -> FloatArray:
    r"""Gibbs posterior :math:`q_i \propto p_i e^{-\beta \hat l_i}`.

    Parameters
    ----------
    risks : array_like of shape (H,)
        Empirical risks in [0, 1].
    beta : float
        Inverse temperature, from 0 (the prior) to infinity (the prior restricted to the classifiers of least risk among
        those of positive prior weight).
    prior : array_like of shape (H,), optional
        Uniform by default.

    Returns
    -------
    ndarray of shape (H,)
        Non-negative weights that sum to one.

    See Also
    --------
    optimal_posterior : The inverse temperature with the smallest bound, with proof.
    bound : The bound of any weights.

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
    if not _is_number(beta) or isinstance(beta, bool):
        raise TypeError(f"beta must be a number, got {beta!r}")
    if not beta >= 0.0:
        raise ValueError(f"beta must be at least 0 (infinity is allowed), got {beta!r}")
    with usual_float_errors():
        groups = group_risks(risks, None, *check_prior(prior, risks.size))
        curve = GibbsCurve.of(groups)
        return groups.spread(curve.shares(curve.at(float(beta))))


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int | np.floating | np.integer)
