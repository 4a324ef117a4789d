"""Classifiers grouped by their risk: equal risks share one weight ratio, so a posterior is computed on the groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbayes.bounds.rounding import EPS
from pacbayes.bounds.validation import FloatArray

_BLOCK = 65_536
_SUM_BLOCK = 2_048


@dataclass(frozen=True, eq=False)
class Groups:
    """The distinct risks of a set of classifiers, in increasing order, and which classifier has which.

    Groups whose prior mass is zero are left out of `risks` and `mass`; their classifiers have the index -1.
    """

    #: Distinct risks, increasing, shape (G,).
    risks: FloatArray
    #: Prior mass of each, shape (G,), summing to `total`.
    mass: FloatArray
    #: The group of each classifier, shape (H,).
    index: NDArray[np.int32]
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
            return (shares / (self.mass * self.size)).take(self.index)
        inside = self.prior / self.mass.take(self.index)
        return np.where(self.index < 0, 0.0, inside * shares.take(self.index))


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
    (array([0.1, 0.2, 0.5]), array([0.25, 0.5 , 0.25]), array([1, 0, 1, 2], dtype=int32))
    """
    counted = None if m is None else _count(risks, m)
    if m is None or counted is None:
        values, inverse = np.unique(risks, return_inverse=True)
        index = inverse.astype(np.int32)
    else:
        index, occurring = counted
        values = occurring / m
    if prior is None:
        mass, error = np.bincount(index, minlength=values.size) / risks.size, EPS
    else:
        mass, error = _sum_by_group(index, prior, values.size)
    positive = mass > 0.0
    if not positive.all():
        renumbered = np.where(positive, np.cumsum(positive) - 1, -1).astype(np.int32)
        values, mass, index = values[positive], mass[positive], renumbered[index]
    return Groups(values, mass, index, prior, total, error)


def _sum_by_group(index: NDArray[np.int32], prior: FloatArray, groups: int) -> tuple[FloatArray, float]:
    """Sum the prior over each group, and a bound of the relative error.

    `np.bincount` adds one after the other, which is off by up to a unit in the last place per term: so in blocks, whose
    sums are added with compensation.
    """
    total, lost = np.zeros(groups), np.zeros(groups)
    block = max(_SUM_BLOCK, groups)
    for start in range(0, index.size, block):
        part = np.bincount(index[start : start + block], prior[start : start + block], groups)
        new = total + part
        larger, smaller = np.maximum(total, part), np.minimum(total, part)
        lost += (larger - new) + smaller
        total = new
    most = min(block, int(np.bincount(index, minlength=groups).max()))
    return total + lost, (0.5 * most + 4.0) * EPS


def _count(risks: FloatArray, m: int) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """Place of each classifier among the occurring counts, and these; None unless all risks are multiples of 1/m."""
    if m > max(4 * risks.size, 100_000):
        return None  # a table of all counts would be larger than the risks: sorting is cheaper
    index = np.empty(risks.size, dtype=np.int32)
    seen = np.zeros(m + 1, dtype=bool)
    blocks = [slice(start, start + _BLOCK) for start in range(0, risks.size, _BLOCK)]
    for block in blocks:
        scaled = risks[block] * m
        counts = np.rint(scaled)
        scaled -= counts
        if (np.abs(scaled, out=scaled) > 4 * EPS * counts).any():
            return None
        index[block] = counts
        seen[index[block]] = True
    occurring = seen.nonzero()[0]
    place = np.empty(m + 1, dtype=np.int32)
    place[occurring] = np.arange(occurring.size, dtype=np.int32)
    for block in blocks:
        index[block] = place.take(index[block])
    return index, occurring
