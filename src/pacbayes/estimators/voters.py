"""Predictions of many classifiers at once: one drawn for every row, or all of them voting with weights."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from pacbayes.bounds.validation import FloatArray
from pacbayes.certificates.choice import BITS, Counts
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.progress import progress

Codes = NDArray[np.intp]


class Voters(Protocol):
    """What the estimators ask of a set of classifiers; class numbers instead of labels."""

    def drawn(self, X: Any, which: Codes) -> Codes:
        """Return the class number that classifier ``which[j]`` gives row j."""

    def votes(self, X: Any, chosen: Codes, parts: Counts) -> FloatArray:
        """Return for every row and class the sum of `parts` over the chosen classifiers that vote for it, exactly."""


class EachVoters:
    """Any classifiers, asked one by one."""

    def __init__(self, classifiers: ClassifierSet, classes: NDArray[Any]) -> None:
        self._classifiers, self._classes = classifiers, classes

    def drawn(self, X: Any, which: Codes) -> Codes:
        """Return the class number that classifier ``which[j]`` gives row j."""
        codes = np.empty(which.size, dtype=np.intp)
        order = np.argsort(which, kind="stable")
        with progress("predictions", which.size) as advance:
            for run in runs_of(which[order]):
                rows = order[run]
                codes[rows] = self._codes(int(which[rows[0]]), _safe_indexing(X, rows))
                advance(rows.size)
        return codes

    def votes(self, X: Any, chosen: Codes, parts: Counts) -> FloatArray:
        """Return for every row and class the sum of `parts` over the chosen classifiers that vote for it, exactly."""
        votes = np.zeros((number_of_rows(X), self._classes.size))
        rows = np.arange(len(votes))
        with progress("predictions", chosen.size) as advance:
            for i, part in zip(chosen.tolist(), parts.tolist(), strict=True):
                votes[rows, self._codes(i, X)] += part
                advance(1)
        return votes

    def _codes(self, i: int, X: Any) -> Codes:
        return np.searchsorted(self._classes, np.asarray(self._classifiers[i].predict(X)))


def majority(voters: Voters, X: Any, parts: Counts, n_classes: int) -> Codes:
    """Return the class with the largest weight behind it, the first of several.

    The heaviest classifiers are asked first.  Those left are asked about a row only while their weight together could
    still change its vote.
    """
    order = np.argsort(-parts, kind="stable")[: np.count_nonzero(parts)]
    votes = np.zeros((number_of_rows(X), n_classes))
    undecided = np.arange(len(votes))
    left = 2**BITS
    for chosen in np.split(order, _cuts(parts[order])):
        part = X if undecided.size == len(votes) else _safe_indexing(X, undecided)
        votes[undecided] += voters.votes(part, chosen, parts[chosen])
        left -= int(parts[chosen].sum())
        first_two = np.partition(votes[undecided], n_classes - 2, axis=1)[:, -2:]
        # An equality may still become a tie, which goes to the first class.
        undecided = undecided[first_two[:, 1] - first_two[:, 0] <= left]
        if undecided.size == 0:
            break
    winners: Codes = votes.argmax(axis=1)
    return winners


def _cuts(parts: Counts) -> list[int]:
    """Return where to pause in a descending list of parts: after 1/2 of the whole, then after 1/2 of the rest, ...

    Examples
    --------
    >>> _cuts(np.array([2**50] * 4))
    [3]
    """
    sums = np.cumsum(parts)
    thresholds = [2**BITS - (2**BITS >> halving) for halving in range(1, 8)]
    cuts = np.searchsorted(sums, thresholds, side="right") + 1
    return sorted({int(cut) for cut in cuts if cut < parts.size})


def runs_of(values: NDArray[Any]) -> list[slice]:
    """Return the runs of equal neighbours.

    Examples
    --------
    >>> runs_of(np.array([3, 3, 5]))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    if values.size == 0:
        return []
    ends = [*(np.flatnonzero(np.diff(values)) + 1).tolist(), values.size]
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def number_of_rows(X: Any) -> int:
    """Return the number of rows of an array, a frame, a sparse matrix or a list."""
    return int(_num_samples(X))
