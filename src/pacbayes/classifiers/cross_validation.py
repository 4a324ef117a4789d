"""Cross-validation within the training rows: every candidate is asked about every fold, once for all uses."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from pacbayes.classifiers.members import Answers
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.numeric.checks import MOST, need, need_array, need_rows, need_whole
from pacbayes.runtime.progress import current_stage, progress, working_for
from pacbayes.runtime.threads import at_most_cores, cores

# Classifiers that are cross-validated where each costs a fit of its own, evenly spread over the set.
CANDIDATES = 50


class Refitted(Protocol):
    """Classifiers trained on some of the training rows, asked about others of them by their places."""

    def answers(self, test: Rows) -> Answers:
        """Return their class numbers, shape (classifiers, test), or the number of classes for what is none."""

    def scores(self, test: Rows, weights: FloatArray) -> FloatArray:
        """Return how sure they are, with some weights, of every class of training rows, shape (test, classes)."""


class Folds(Protocol):
    """The classifiers of a set together with their training rows: they can be trained anew on parts of these."""

    @property
    def all_cost_little(self) -> bool:
        """Whether all classifiers cost little more than some: those of a path do."""

    @property
    def codes(self) -> Rows:
        """The class numbers of the training rows."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""

    def refit(self, which: Rows, train: Rows) -> Refitted:
        """Return some of the classifiers, trained anew on some of the training rows."""

    def at_once(self, folds: int) -> int:
        """Return how many of some folds to train side by side."""


class Trials(Protocol):
    """Votes that are tried on the answers of candidates."""

    def hear(self, test: Rows, answers: Answers) -> None:
        """Hear what was answered in a fold."""

    def errors(self, totals: Rows) -> tuple[int, ...] | None:
        """Return the errors of the votes, given those of each candidate in all folds; None where none was tried."""


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

    def __post_init__(self) -> None:
        """Raise unless errors are those of some classifiers on the rows of each fold."""
        need_rows(self.candidates, "CrossValidation.candidates", MOST)
        need_array(self.sizes, "CrossValidation.sizes", "i", (None,))
        need_array(self.errors, "CrossValidation.errors", "i", (self.candidates.size, self.sizes.size))
        need(self.errors.size > 0, "CrossValidation.errors", "must not be empty")
        counted = (self.errors >= 0).all() and (self.errors <= self.sizes).all()
        need(bool(counted), "CrossValidation.errors", "must be at most the rows of a fold")
        need(sum(self.sizes.tolist()) <= MOST, "CrossValidation.sizes", f"must be at most {MOST} rows")
        votes = self.errors_of_votes
        need(votes is None or type(votes) is tuple, "CrossValidation.errors_of_votes", "must be a tuple, or None")
        for errors in votes or ():
            need_whole(errors, "CrossValidation.errors_of_votes", 0, int(self.sizes.sum()))

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


def cross_validate(
    members: Folds,
    candidates: Rows,
    folds: int,
    rng: np.random.Generator,
    units: Rows | None = None,
    trials: Trials | None = None,
) -> CrossValidation:
    """Count the errors of some classifiers of a set in cross-validation over its training rows.

    `units` are the numbers of what the training rows belong to.  `trials` hear all answers.
    """
    codes = members.codes
    fold = _dealt(codes, folds, rng, units)
    sizes = np.zeros(int(fold.max()) + 1, dtype=np.int64)
    errors = np.zeros((candidates.size, sizes.size), dtype=np.int64)

    def count(k: int) -> None:
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        # With a single class there is nothing to train, and nothing to tell the candidates apart.
        if np.unique(codes[train]).size > 1:
            answers = members.refit(candidates, train).answers(test)
            errors[:, k], sizes[k] = np.count_nonzero(answers != codes[test], axis=1), test.size
            if trials is not None:
                trials.hear(test, answers)

    for some in rounds_of(sizes.size, members.at_once(folds)):
        if len(some) > 1:
            _side_by_side(count, some, sizes.size)
            continue
        with progress(f"cross-validation, fold {some[0] + 1} of {sizes.size}", candidates.size):
            count(some[0])
    return CrossValidation(candidates, errors, sizes, None if trials is None else trials.errors(errors.sum(axis=1)))


def _dealt(codes: Rows, folds: int, rng: np.random.Generator, units: Rows | None) -> Rows:
    """Return the fold of every training row; there are no more folds than what is dealt out."""
    return folds_of(codes, min(folds, codes.size if units is None else np.unique(units).size), rng, units)


def rounds_of(folds: int, at_once: int) -> list[range]:
    """Divide folds into rounds of up to so many at once, as even as they can be.

    Examples
    --------
    >>> rounds_of(5, 3), rounds_of(2, 1)
    ([range(0, 3), range(3, 5)], [range(0, 1), range(1, 2)])
    """
    number = -(-folds // at_once)
    ends = [-(-folds * k // number) for k in range(number + 1)]
    return [range(start, stop) for start, stop in pairwise(ends)]


def _side_by_side(count: Callable[[int], None], some: range, folds: int) -> None:
    """Count some folds in threads, which share the cores."""
    each = max(1, cores() // len(some))
    with progress(f"cross-validation, folds {some[0] + 1} to {some[-1] + 1} of {folds}", len(some)) as advance:
        stage = current_stage()

        def count_elsewhere(k: int) -> None:
            with working_for(stage), at_most_cores(each):
                count(k)
                advance(1)

        Parallel(n_jobs=len(some), require="sharedmem")(delayed(count_elsewhere)(k) for k in some)


def cross_score(
    members: Folds, weights: FloatArray, folds: int, rng: np.random.Generator, units: Rows | None = None
) -> FloatArray:
    """Return what a weighted set, trained without a row's fold, scores its classes: shape (n, n_classes).

    The folds are those of `cross_validate` with an equal `rng`.  Where a fold leaves a single class to train with, that
    class is the only one with a score, zero.
    """
    codes, chosen = members.codes, np.flatnonzero(weights)
    fold = _dealt(codes, folds, rng, units)
    scores = np.full((codes.size, members.n_classes), -np.inf)
    for k in range(int(fold.max()) + 1):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        known = np.unique(codes[train])
        if known.size > 1:
            with progress(f"confidence in cross-validation, fold {k + 1} of {int(fold.max()) + 1}", None):
                scores[test] = members.refit(chosen, train).scores(test, weights[chosen])
        else:
            scores[np.ix_(test, known)] = 0.0
    return scores
