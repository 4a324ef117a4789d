"""How strongly the proposed vote prefers classifiers with few errors: cross-validation of the votes themselves.

The answers behind the errors of cross-validation are all that is needed to cross-validate votes.  What a vote says of a
fold is decided by weights from the errors in the *other* folds: one that leans on the few best would else be judged by
the rows that made them the best.  No validation row is looked at, so any choice keeps the limits of what is proposed.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pacbayes.certificates.posterior_choice import BITS, Counts
from pacbayes.certificates.rules.proposals import STRENGTHS, vote_parts
from pacbayes.classifiers.cross_validation import AnswersInFold, CrossValidation, cross_validate, kept_as
from pacbayes.numeric.arrays import Codes, FloatArray, Rows

#: Answers are kept up to this number, a byte each where there are at most 255 classes; with more nothing is tried.
MOST_ANSWERS = 2**28
# Weights and answers that are multiplied at once.
_BLOCK = 4_000_000


def cross_validate_votes(
    answers_in_fold: AnswersInFold,
    candidates: Rows,
    codes: Rows,
    folds: int,
    rng: np.random.Generator,
    units: Rows | None = None,
    at_once: int = 1,
) -> CrossValidation:
    """Do what `cross_validate` does, and choose the strength of the proposed vote."""
    trials = VoteTrials(codes, candidates.size)
    found = cross_validate(answers_in_fold, candidates, codes, folds, rng, units, at_once, trials.hear)
    return replace(found, strength=trials.strength(found))


class VoteTrials:
    """The answers of all candidates in cross-validation, and what votes would have made of them.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 1, 1, 1])
    >>> trials = VoteTrials(codes, 3)
    >>> trials.hear(np.array([0, 3]), np.array([[0, 1], [1, 1], [0, 0]]))
    >>> trials.hear(np.array([1, 4]), np.array([[1, 1], [0, 1], [0, 1]]))
    >>> trials.hear(np.array([2, 5]), np.array([[0, 0], [0, 0], [0, 1]]))
    >>> trials.strength(CrossValidation(np.arange(3), np.array([[0, 1, 1], [1, 0, 1], [1, 0, 0]]), np.array([2, 2, 2])))
    0.0
    """

    def __init__(self, codes: Rows, number: int) -> None:
        # A class that no training row has wins no vote that matters here.
        self._codes, self._n_classes = codes, int(codes.max()) + 1
        self._kept: NDArray[np.unsignedinteger] | None = None
        if number * codes.size <= MOST_ANSWERS:
            # What no fold asks about is no answer.
            self._kept = np.full((number, codes.size), self._n_classes, dtype=kept_as(self._n_classes))
        self._folds: list[Rows] = []

    def hear(self, test: Rows, answers: Codes) -> None:
        """Keep what all candidates say of the rows of a fold."""
        if self._kept is not None:
            self._kept[:, test] = np.minimum(answers, self._n_classes)
            self._folds.append(test)

    def strength(self, found: CrossValidation) -> float | None:
        """Return the strength whose votes err least, of several the one with the smallest tandem risk.

        None where nothing could be tried.
        """
        if self._kept is None or not self._folds:
            return None
        results = [(0, 0.0)] * len(STRENGTHS)
        for test in sorted(self._folds, key=lambda rows: int(rows[0])):  # they may have been heard in any order
            elsewhere = found.totals - self._errors_in(test)
            parts = np.array([vote_parts(elsewhere, strength) for strength in STRENGTHS])
            for start in range(0, test.size, max(1, _BLOCK // len(elsewhere))):
                rows = test[start : start + max(1, _BLOCK // len(elsewhere))]
                wrong, erring = self._tried(parts, rows)
                results = [
                    (errors + int(more), tandem + float(square))
                    for (errors, tandem), more, square in zip(results, wrong, erring, strict=True)
                ]
        return STRENGTHS[results.index(min(results))]

    def _errors_in(self, test: Rows) -> Rows:
        assert self._kept is not None
        errors: Rows = np.count_nonzero(self._kept[:, test] != self._codes[test], axis=1)
        return errors

    def _tried(self, parts: Counts, rows: Rows) -> tuple[Rows, FloatArray]:
        """Return for votes of some weights their errors on some rows, and the sum of squares of the weight that errs.

        The weights are whole numbers with a sum below 2^53: votes are exact, and ties go to the first class.
        """
        assert self._kept is not None
        answers, weights = self._kept[:, rows], parts.astype(np.float64)
        sums = np.stack([weights @ (answers == code) for code in range(self._n_classes)], axis=-1)
        behind_truth = np.take_along_axis(sums, self._codes[rows][None, :, None], axis=-1)[..., 0]
        wrong = sums.argmax(axis=-1) != self._codes[rows]
        erring = 1.0 - np.ldexp(behind_truth, -BITS)
        return np.count_nonzero(wrong, axis=1), np.square(erring).sum(axis=1)
