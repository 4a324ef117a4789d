"""Cross-validation within the training rows: every candidate is asked about every fold, once for all uses."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from pacbayes.numeric.arrays import Codes, FloatArray, Rows
from pacbayes.runtime.progress import current_stage, progress, working_for
from pacbayes.runtime.threads import at_most_cores, cores

# Classifiers that are cross-validated where each costs a fit of its own, evenly spread over the set.
CANDIDATES = 50

#: ``answers_in_fold(candidates, train, test)`` trains candidates on some training rows and asks them about others:
#: their class numbers, shape (candidates, test), or the number of classes for what is none.
AnswersInFold = Callable[[Rows, Rows, Rows], Codes]
#: ``scores_in_fold(train, test)`` trains a weighted set on some training rows and scores every class of others.
ScoresInFold = Callable[[Rows, Rows], FloatArray]


class Trials(Protocol):
    """Votes that are tried on the answers of candidates."""

    def hear(self, test: Rows, answers: Codes) -> None:
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


def kept_as(n_classes: int) -> Any:
    """Return the smallest type of numbers for answers: of so many classes, and one number for what is no class.

    Examples
    --------
    >>> kept_as(2), kept_as(255), kept_as(256)
    (dtype('uint8'), dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(n_classes)


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
    answers_in_fold: AnswersInFold,
    candidates: Rows,
    codes: Rows,
    folds: int,
    rng: np.random.Generator,
    units: Rows | None = None,
    at_once: int = 1,
    trials: Trials | None = None,
) -> CrossValidation:
    """Count the errors of some classifiers of a set in cross-validation over its training rows.

    `codes` are the class numbers of the training rows, `units` the numbers of what they belong to; up to `at_once`
    folds are counted side by side, in threads.  `trials` hear all answers.
    """
    fold = folds_of(codes, min(folds, codes.size if units is None else np.unique(units).size), rng, units)
    sizes = np.zeros(int(fold.max()) + 1, dtype=np.int64)
    errors = np.zeros((candidates.size, sizes.size), dtype=np.int64)

    def count(k: int) -> None:
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        # With a single class there is nothing to train, and nothing to tell the candidates apart.
        if np.unique(codes[train]).size > 1:
            answers = answers_in_fold(candidates, train, test)
            errors[:, k], sizes[k] = np.count_nonzero(answers != codes[test], axis=1), test.size
            if trials is not None:
                trials.hear(test, answers)

    for some in rounds_of(sizes.size, at_once):
        if len(some) > 1:
            _side_by_side(count, some, sizes.size)
            continue
        with progress(f"cross-validation, fold {some[0] + 1} of {sizes.size}", candidates.size):
            count(some[0])
    return CrossValidation(candidates, errors, sizes, None if trials is None else trials.errors(errors.sum(axis=1)))


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
    scores_in_fold: ScoresInFold,
    n_classes: int,
    codes: Rows,
    folds: int,
    rng: np.random.Generator,
    units: Rows | None = None,
) -> FloatArray:
    """Return what a weighted set, trained without a row's fold, scores its classes: shape (n, n_classes).

    The folds are those of `cross_validate` with an equal `rng`.  Where a fold leaves a single class to train with, that
    class is the only one with a score, zero.
    """
    fold = folds_of(codes, min(folds, codes.size if units is None else np.unique(units).size), rng, units)
    scores = np.full((codes.size, n_classes), -np.inf)
    for k in range(int(fold.max()) + 1):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        known = np.unique(codes[train])
        if known.size > 1:
            with progress(f"confidence in cross-validation, fold {k + 1} of {int(fold.max()) + 1}", None):
                scores[test] = scores_in_fold(train, test)
        else:
            scores[np.ix_(test, known)] = 0.0
    return scores
