"""Classifiers grouped by their risk: equal risks share one weight ratio, so a posterior is computed on the groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import EPS, FloatArray

_BLOCK = 65_536
_SUM_BLOCK = 2_048


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
