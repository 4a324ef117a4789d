"""Classifiers grouped by their risk: equal risks share one weight ratio, so a posterior is computed on the groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbayes.bounds.rounding import EPS
from pacbayes.bounds.validation import FloatArray

_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class Groups:
    """The distinct risks of a set of classifiers, in increasing order, and which classifier has which.

    Groups whose prior mass is zero are left out of `risks` and `mass`; their classifiers have the index -1.
    """

    #: Distinct risks, increasing, shape (G,).
    risks: FloatArray
    #: Prior mass of each, shape (G,), summing to one.
    mass: FloatArray
    #: The group of each classifier, shape (H,).
    index: NDArray[np.int32]
    #: The normalised prior, or None for the uniform one.
    prior: FloatArray | None

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


def group_risks(risks: FloatArray, m: int, prior: FloatArray | None) -> Groups:
    """Group classifiers of equal risk: by counting where ``risks * m`` are integers, by sorting otherwise.

    A risk within a few units in the last place of a multiple of 1/m counts as that multiple.

    Parameters
    ----------
    risks : ndarray of shape (H,)
        Checked risks.
    m : int
        Number of validation examples.
    prior : ndarray of shape (H,) or None
        The normalised prior; None for the uniform one.

    Examples
    --------
    >>> groups = group_risks(np.array([0.2, 0.1, 0.2, 0.5]), 10, None)
    >>> groups.risks, groups.mass, groups.index
    (array([0.1, 0.2, 0.5]), array([0.25, 0.5 , 0.25]), array([1, 0, 1, 2], dtype=int32))
    """
    counted = _count(risks, m)
    if counted is None:
        values, inverse = np.unique(risks, return_inverse=True)
        index = inverse.astype(np.int32)
    else:
        index, occurring = counted
        values = occurring / m
    mass = np.bincount(index, weights=prior, minlength=values.size) / (risks.size if prior is None else 1.0)
    positive = mass > 0.0
    if not positive.all():
        renumbered = np.where(positive, np.cumsum(positive) - 1, -1).astype(np.int32)
        values, mass, index = values[positive], mass[positive], renumbered[index]
    return Groups(values, mass, index, prior)


def _count(risks: FloatArray, m: int) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """Place of each classifier among the occurring counts, and these; None unless all risks are multiples of 1/m."""
    if m > max(4 * risks.size, 100_000):
        return None  # a table of all counts would be larger than the risks: sorting is cheaper
    index = np.empty(risks.size, dtype=np.int32)
    seen = np.zeros(m + 1, dtype=bool)
    for start in range(0, risks.size, _BLOCK):
        scaled = risks[start : start + _BLOCK] * m
        counts = np.rint(scaled)
        if (np.abs(scaled - counts) > 4 * EPS * counts).any():
            return None
        index[start : start + _BLOCK] = counts
        seen[index[start : start + _BLOCK]] = True
    occurring = np.flatnonzero(seen)
    place = np.cumsum(seen, dtype=np.int32) - 1
    for start in range(0, risks.size, _BLOCK):
        index[start : start + _BLOCK] = place.take(index[start : start + _BLOCK])
    return index, occurring
