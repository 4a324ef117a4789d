"""Cross-validation within the training rows: every candidate is asked about every fold, once for all uses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.checks import read_only
from pacbayes.ensemble.members import Predictions

# Classifiers that are cross-validated where each costs a fit of its own, evenly spread over the set.
CANDIDATES = 50


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What one classifier, trained without a row's fold, said of every training row."""

    #: Numbers of classes, shape (n,), or the number of classes for what is none.
    y_pred: Predictions
    #: One of `calibration.KINDS`.
    kind: str
    #: How sure it was, of the classes that the training rows have, shape (n, scores); see `calibration.calibrate`.
    scores: FloatArray


class Folds(Protocol):
    """The classifiers of a set together with their training rows: they can be trained anew on parts of these."""

    @property
    def codes(self) -> Rows:
        """The class numbers of the training rows."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""

    @property
    def families(self) -> Rows:
        """Of each family one classifier has a part in the soft vote; the family of each, shape (H,)."""

    def tried(self, proposes: bool) -> Rows:
        """Return which classifiers are cross-validated, ascending; more where something is proposed."""

    def out_of_fold(self, which: Rows, fold: Rows) -> Iterator[OutOfFold]:
        """Yield what some classifiers say of every training row when trained on the other folds."""


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What the cross-validation counted.

    Examples
    --------
    >>> found = CrossValidation(np.arange(5), np.array([[2, 3], [2, 1], [1, 2], [0, 3], [4, 4]]), np.array([9, 9]))
    >>> found.totals, found.first, found.middle
    (array([5, 3, 3, 3, 8]), 1, 2)
    """

    #: Which classifiers took part, shape (c,).
    candidates: Rows
    #: The errors of each in each fold, shape (c, folds).
    errors: Rows
    #: The rows of each fold, 0 where nothing could be trained for it.
    sizes: Rows
    #: The errors in all folds of the votes that were tried on the same answers; None where none was.
    errors_of_votes: tuple[int, ...] | None = None
    #: The log-loss of the calibrated probabilities of each on all training rows, shape (c,), and the family of each;
    #: None where nothing was calibrated.
    log_losses: FloatArray | None = None
    families: Rows | None = None

    def __post_init__(self) -> None:
        read_only(self.candidates, self.errors, self.sizes, self.log_losses, self.families)

    @property
    def totals(self) -> Rows:
        """The errors of each candidate in all folds, shape (c,)."""
        totals: Rows = self.errors.sum(axis=1)
        return totals

    @property
    def first(self) -> int:
        """The classifier with the fewest errors, the first of several."""
        return int(self.candidates[np.argmin(self.totals)])

    @property
    def middle(self) -> int:
        """The classifier with the fewest errors; of several the middle one of their longest run."""
        return int(self.candidates[middle_of_fewest(self.totals)])


def middle_of_fewest(errors: NDArray[Any]) -> int:
    """Return the place of the fewest errors; of several places the middle one of their longest run.

    Neighbours of a grid err on nearly the same rows.  Where many have equally few errors, those at the ends of the run
    owe it to luck more often than those in between.

    Examples
    --------
    >>> middle_of_fewest(np.array([2, 5, 2, 2, 2])), middle_of_fewest(np.array([7, 3, 3]))
    (3, 1)
    """
    least = np.concatenate([[False], errors == errors.min(), [False]])
    starts, ends = np.flatnonzero(np.diff(least.astype(np.int8))).reshape(-1, 2).T
    longest = int(np.argmax(ends - starts))
    return int(starts[longest] + ends[longest] - 1) // 2


def candidates_of(number: int) -> Rows:
    """Return which of so many classifiers are cross-validated where each costs a fit of its own.

    Examples
    --------
    >>> candidates_of(3), candidates_of(1990)[[0, 1, -1]]
    (array([0, 1, 2]), array([   0,   41, 1989]))
    """
    return np.unique(np.linspace(0, number - 1, min(number, CANDIDATES)).round().astype(np.int64))


def folds_of(codes: Rows, number: int, rng: np.random.Generator, units: Rows | None = None) -> Rows:
    """Return a fold number for every training row, every class spread evenly over the folds.

    Rows of one unit (a group, or copies) are in one fold; units are dealt out at random, without a look at classes.

    Examples
    --------
    >>> folds = folds_of(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0))
    >>> [sorted(folds[:3].tolist()), sorted(folds[3:].tolist())]
    [[0, 1, 2], [0, 1, 2]]
    """
    if units is not None:
        numbers, places = np.unique(units, return_inverse=True)
        return (rng.permutation(numbers.size) % number)[places]
    order = np.lexsort((rng.random(codes.size), codes))
    folds = np.empty(codes.size, dtype=np.int64)
    folds[order] = np.arange(codes.size) % number
    return folds


def assign_folds(codes: Rows, folds: int, rng: np.random.Generator, units: Rows | None) -> Rows:
    """Return the fold of every training row; there are no more folds than what is dealt out."""
    return folds_of(codes, min(folds, codes.size if units is None else np.unique(units).size), rng, units)


def trainable(codes: Rows, fold: Rows) -> NDArray[np.bool_]:
    """Return for each fold whether the other folds have two classes: else there is nothing to train."""
    return np.array([np.unique(codes[fold != k]).size > 1 for k in range(int(fold.max()) + 1)])


def counted_by_fold(y_pred: Predictions, codes: Rows, fold: Rows) -> tuple[Rows, Rows]:
    """Return the errors of every classifier in every fold, and the rows of each.

    Folds for which nothing could be trained count for nothing: they do not tell the classifiers apart.

    Examples
    --------
    >>> counted_by_fold(np.array([[0, 1, 1, 1]]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    (array([[0, 1]]), array([2, 2]))
    """
    wrong, used = y_pred != codes, trainable(codes, fold)
    counts = [
        np.count_nonzero(wrong[:, fold == k], axis=1) if ok else np.zeros(len(wrong)) for k, ok in enumerate(used)
    ]
    sizes = np.where(used, np.bincount(fold, minlength=used.size), 0)
    return np.stack(counts, axis=1).astype(np.int64), sizes.astype(np.int64)


@dataclass(frozen=True, eq=False)
class CompositeFolds:
    """The parts of a joined set with their training rows.  Of a part of machines one has a part in the soft vote."""

    parts: tuple[Folds, ...]
    #: How many classifiers each part has.
    sizes: tuple[int, ...]
    families: Rows

    @property
    def codes(self) -> Rows:
        """The class numbers of the training rows."""
        return self.parts[0].codes

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.parts[0].n_classes

    def tried(self, proposes: bool) -> Rows:
        """Return which classifiers are cross-validated: those that each part tries."""
        firsts = np.cumsum([0, *self.sizes[:-1]])
        return np.concatenate([part.tried(proposes) + first for part, first in zip(self.parts, firsts, strict=True)])

    def out_of_fold(self, which: Rows, fold: Rows) -> Iterator[OutOfFold]:
        """Yield what some classifiers say of every training row when trained on the other folds."""
        first = 0
        for part, size in zip(self.parts, self.sizes, strict=True):
            mine = which[(which >= first) & (which < first + size)] - first
            yield from part.out_of_fold(mine, fold)
            first += size
