"""Predictions of many classifiers at once: one drawn for every row, or all of them voting with weights."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from pacbayes.certificates.posterior_choice import BITS, Counts
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.probabilities import mean_margins, probabilities
from pacbayes.data.labels import check_same_kind, one_label_each
from pacbayes.data.rows import copy_rows, pick_rows
from pacbayes.numeric.arrays import Codes, FloatArray
from pacbayes.runtime.progress import progress
from pacbayes.runtime.threads import one_thread


class Voters(Protocol):
    """What the estimators ask of a set of classifiers; numbers of labels instead of labels."""

    @property
    def labels(self) -> NDArray[Any]:
        """What the numbers stand for: the classes, then whatever else a classifier answered so far."""

    def predict_assigned(self, X: Any, which: Codes) -> Codes:
        """Return the number of the label that classifier ``which[j]`` gives row j."""

    def votes(self, X: Any, chosen: Codes, parts: Counts) -> FloatArray:
        """Return for every row and label the sum of `parts` over the chosen classifiers that vote for it, exactly."""

    def answers(self, X: Any, chosen: Codes) -> Codes:
        """Return the numbers of the labels that the chosen classifiers give the rows, shape (chosen, n)."""

    def scores(self, X: Any, chosen: Codes, weights: FloatArray) -> FloatArray:
        """Return how sure the chosen classifiers, with their weights, are of every class, shape (n, classes)."""


class EachVoters:
    """Any classifiers, asked one by one, in one thread as when their errors were counted.

    A classifier may answer with a label that is none of the classes, such as `outlier_label` of scikit-learn's
    `RadiusNeighborsClassifier`.  That is its answer, as it was where errors were counted.
    """

    def __init__(self, classifiers: ClassifierSet, classes: NDArray[Any]) -> None:
        self._classifiers, self._classes = classifiers, classes
        self._labels = classes

    @property
    def labels(self) -> NDArray[Any]:
        """What the numbers stand for: the classes, then whatever else a classifier answered so far."""
        return self._labels

    def predict_assigned(self, X: Any, which: Codes) -> Codes:
        """Return the number of the label that classifier ``which[j]`` gives row j."""
        codes = np.empty(which.size, dtype=np.intp)
        order = np.argsort(which, kind="stable")
        with one_thread(), progress("predictions", which.size) as advance:
            for run in runs_of(which[order]):
                rows = order[run]
                codes[rows] = self._codes(int(which[rows[0]]), pick_rows(X, rows))
                advance(rows.size)
        return codes

    def votes(self, X: Any, chosen: Codes, parts: Counts) -> FloatArray:
        """Return for every row and label the sum of `parts` over the chosen classifiers that vote for it, exactly."""
        votes = np.zeros((number_of_rows(X), self._labels.size))
        rows = np.arange(len(votes))
        with one_thread(), progress("predictions", chosen.size) as advance:
            for i, part in zip(chosen.tolist(), parts.tolist(), strict=True):
                codes = self._codes(i, X)
                votes = _widened(votes, self._labels.size)
                votes[rows, codes] += part
                advance(1)
        return votes

    def answers(self, X: Any, chosen: Codes) -> Codes:
        """Return the numbers of the labels that the chosen classifiers give the rows, shape (chosen, n)."""
        codes = np.empty((chosen.size, number_of_rows(X)), dtype=np.intp)
        with one_thread(), progress("predictions", chosen.size) as advance:
            for place, i in enumerate(chosen.tolist()):
                codes[place] = self._codes(i, X)
                advance(1)
        return codes

    def scores(self, X: Any, chosen: Codes, weights: FloatArray) -> FloatArray:
        """Return how far each class is ahead of the others in the weighted mean of probabilities, or votes."""
        total = np.zeros((number_of_rows(X), self._classes.size))
        learnt = np.zeros(self._classes.size, dtype=bool)
        with one_thread(), progress("confidence", chosen.size) as advance:
            for i, weight in zip(chosen.tolist(), weights.tolist(), strict=True):
                classifier = self._classifiers[i]
                total += weight * probabilities(classifier, copy_rows(X), self._classes)
                learnt |= np.isin(self._classes, getattr(classifier, "classes_", ()))
                advance(1)
        margins = mean_margins(total)
        # A class that no classifier has learnt is one by the validation rows alone, which must not make a score.
        margins[:, ~learnt] = np.nan
        return margins

    def _codes(self, i: int, X: Any) -> Codes:
        # A classifier may write into its rows (StandardScaler(copy=False)): each gets its own, and none the user's.
        name = f"classifier {i}.predict"
        predicted = one_label_each(name, self._classifiers[i].predict(copy_rows(X)), number_of_rows(X))
        check_same_kind(name, predicted, self._classes, "y")
        codes = np.minimum(np.searchsorted(self._classes, predicted), self._classes.size - 1)
        others = self._classes[codes] != predicted
        if others.any():
            found, places = np.unique(predicted[others], return_inverse=True)
            codes[others] = np.array([self._code_of_other(label) for label in found])[places]
        return codes

    def _code_of_other(self, label: Any) -> int:
        """Return the number of a label that is no class, a new one where it was not met before."""
        for code in range(self._classes.size, self._labels.size):
            known = self._labels[code]
            if known == label or (known != known and label != label):  # NaN is one label
                return code
        self._labels = np.append(self._labels, [label])
        return self._labels.size - 1


def majority(voters: Voters, X: Any, parts: Counts) -> Codes:
    """Return the number of the label with the largest weight behind it, of several the first: see `winners_of`.

    The heaviest classifiers are asked first.  Those left are asked about a row only while their weight together could
    still change its vote.
    """
    order = np.argsort(-parts, kind="stable")[: np.count_nonzero(parts)]
    votes = np.zeros((number_of_rows(X), voters.labels.size))
    undecided = np.arange(len(votes))
    left = 2**BITS
    for chosen in np.split(order, _cuts(parts[order])):
        part = X if undecided.size == len(votes) else pick_rows(X, undecided)
        more = voters.votes(part, chosen, parts[chosen])
        votes = _widened(votes, more.shape[1])
        votes[undecided] += more
        left -= int(parts[chosen].sum())
        first_two = np.partition(votes[undecided], votes.shape[1] - 2, axis=1)[:, -2:]
        # An equality may still become a tie, which goes to the first class.
        undecided = undecided[first_two[:, 1] - first_two[:, 0] <= left]
        if undecided.size == 0:
            break
    return winners_of(votes, voters)


def winners_of(votes: FloatArray, voters: Voters) -> Codes:
    """Return the number of the label with most votes in each row, shape (..., labels): of several the first.

    The first in the order of the labels themselves, whether or not they are classes: which labels are classes may be
    known from validation rows only, and a vote whose ties these rows decide would not have been fixed before.
    """
    order = np.argsort(voters.labels[: votes.shape[-1]], kind="stable")
    winners: Codes = order[votes[..., order].argmax(axis=-1)]
    return winners


def _widened(votes: FloatArray, columns: int) -> FloatArray:
    """Return votes with columns of zeros for labels that were met since."""
    return votes if votes.shape[1] == columns else np.pad(votes, ((0, 0), (0, columns - votes.shape[1])))


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
