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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import EPS, FloatArray, usual_float_errors
from pacbayes._utils.checks import check_distribution, check_number, check_risks

# Classifiers looked up at a time, and prior weights added one after the other.
_BLOCK, _SUM_BLOCK = 65_536, 2_048
# Up to this many groups the worst error of a sum in any order stays small.
_FEW = 2_048
# Logarithm of a mass next to which terms lost by underflow do not count.
_SAFE = -600.0
# exp(-_VANISHED) is nothing next to any positive number of double precision, even multiplied by _VANISHED.
_VANISHED = 2_000.0


@dataclass(frozen=True, eq=False)
class Groups:
    """The distinct risks of a set of classifiers, in increasing order, and which classifier has which.

    A classifier's risk is known by its key; `keys` are those of the groups.  Keys without a classifier, or whose prior
    mass is zero, belong to no group.
    """

    #: Distinct risks, increasing, shape (G,).
    risks: FloatArray
    #: Prior mass of each, shape (G,), summing to `total`.
    mass: FloatArray
    #: The key of each group, shape (G,), and of each classifier, shape (H,); keys lie below `n_keys`.
    keys: NDArray[np.intp]
    index: NDArray[np.int32]
    n_keys: int
    #: The prior, or None for the uniform one, and its sum: not divided, for a subnormal weight would lose digits.
    prior: FloatArray | None
    total: float
    #: Bound of the relative rounding error of `mass`.
    mass_error: float

    @property
    def size(self) -> int:
        """Number of classifiers, H."""
        return self.index.size

    def spread(self, shares: FloatArray) -> FloatArray:
        """Return the weights of all classifiers from the posterior mass of each group, shared out as in the prior."""
        if self.prior is None:
            return self._take(self.table(self.equal_parts(shares)))
        return self._share_of_group(self.prior) * self._take(self.table(shares))

    def equal_parts(self, shares: FloatArray) -> FloatArray:
        """Return the weight of one classifier of each group, for the uniform prior."""
        return shares / (self.mass * self.size)

    def table(self, values: FloatArray) -> FloatArray:
        """Return a number for each group as a table of all keys, zero where a key has no group."""
        table = np.zeros(self.n_keys)
        table[self.keys] = values
        return table

    def _take(self, table: FloatArray) -> FloatArray:
        """Return each classifier's entry of a table of all keys."""
        entries = np.empty(self.size)
        # In blocks: NumPy widens the index, which for all classifiers takes as much memory again as the result.  Keys
        # are inside the table, and only a mode that does not look writes straight into the result.
        for start in range(0, self.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            table.take(self.index[block], out=entries[block], mode="clip")
        return entries

    def concentration(self) -> FloatArray:
        """Return the sum of squares of the classifiers' shares of each group, shape (G,)."""
        if self.prior is None:
            return 1.0 / (self.mass * self.size)
        squares = np.square(self._share_of_group(self.prior))
        return np.bincount(self.index, squares, self.n_keys).astype(np.float64)[self.keys]

    def _share_of_group(self, prior: FloatArray) -> FloatArray:
        """Return the prior weight of each classifier as a share of its group's, zero where that has none."""
        mass = np.ones(self.n_keys)
        mass[self.keys] = self.mass
        return prior / self._take(mass)


def group_risks(risks: FloatArray, m: int | None, prior: FloatArray | None, total: float = 1.0) -> Groups:
    """Group classifiers of equal risk: by counting where ``risks * m`` are integers, by sorting otherwise.

    A risk within a few units in the last place of a multiple of 1/m counts as that multiple.

    Parameters
    ----------
    risks : ndarray of shape (H,)
        Checked risks.
    m : int or None
        Number of validation examples; None to group exactly equal numbers only.
    prior : ndarray of shape (H,) or None
        The prior; None for the uniform one.
    total : float
        Sum of the prior.

    Examples
    --------
    >>> groups = group_risks(np.array([0.2, 0.1, 0.2, 0.5]), 10, None)
    >>> groups.risks, groups.mass, groups.index
    (array([0.1, 0.2, 0.5]), array([0.25, 0.5 , 0.25]), array([2, 1, 2, 5], dtype=int32))
    """
    counted = None if m is None else _count(risks, m)
    if m is None or counted is None:
        values, inverse, sizes = np.unique(risks, return_inverse=True, return_counts=True)
        index = inverse.astype(np.int32)
    else:
        index, sizes = counted
        values = np.arange(m + 1) / m
    if prior is None:
        mass, error = sizes / risks.size, EPS
    else:
        mass, error = _sum_by_key(index, prior, values.size)
    keys = mass.nonzero()[0]
    return Groups(values[keys], mass[keys], keys, index, values.size, prior, total, error)


def _sum_by_key(index: NDArray[np.int32], prior: FloatArray, n_keys: int) -> tuple[FloatArray, float]:
    """Sum the prior over each group, and a bound of the relative error.

    `np.bincount` adds one after the other, which is off by up to a unit in the last place per term: so in blocks, whose
    sums are added with compensation.
    """
    total, lost = np.zeros(n_keys), np.zeros(n_keys)
    block = max(_SUM_BLOCK, n_keys)
    for start in range(0, index.size, block):
        part = np.bincount(index[start : start + block], prior[start : start + block], n_keys)
        new = total + part
        larger, smaller = np.maximum(total, part), np.minimum(total, part)
        lost += (larger - new) + smaller
        total = new
    most = min(block, int(np.bincount(index, minlength=n_keys).max()))
    return total + lost, (0.5 * most + 4.0) * EPS


def _count(risks: FloatArray, m: int) -> tuple[NDArray[np.int32], NDArray[np.intp]] | None:
    """Return ``risks * m`` and how often each number occurs; None unless all are integers."""
    if m > max(4 * risks.size, 100_000):
        return None  # a table of all counts would be larger than the risks: sorting is cheaper
    index = np.empty(risks.size, dtype=np.int32)
    sizes = np.zeros(m + 1, dtype=np.intp)
    block = max(_BLOCK, m)
    for start in range(0, risks.size, block):
        scaled = risks[start : start + block] * m
        counts = np.rint(scaled)
        # Nearly always the risks are quotients as a computer rounds them, which is seen with fewer passes.
        if not (counts / m == risks[start : start + block]).all():
            scaled -= counts
            if (np.abs(scaled, out=scaled) > 4 * EPS * counts).any():
                return None
        part = index[start : start + block]
        part[:] = counts
        sizes += np.bincount(part, minlength=m + 1)
    return index, sizes


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
    inverse_temperature = check_number("beta", beta, "a number")
    if not inverse_temperature >= 0.0:
        raise ValueError(f"beta must be at least 0 (infinity is allowed), got {beta!r}")
    with usual_float_errors():
        groups = group_risks(risks, None, *check_prior(prior, risks.size))
        curve = GibbsCurve.of(groups)
        return groups.spread(curve.shares(curve.at(inverse_temperature)))
