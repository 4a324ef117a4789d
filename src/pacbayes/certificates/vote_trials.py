"""How strongly the proposed vote should prefer classifiers with few errors: cross-validation of the votes themselves.

The answers behind the errors of cross-validation are all that is needed to cross-validate votes.  What a vote says of a
fold is decided by weights from the errors in the *other* folds: one that leans on the few best would else be judged by
the rows that made them the best.  No validation row is looked at, so any choice keeps the limits of what is proposed.
"""

import numpy as np

from pacbayes.certificates.proposals import STRENGTHS, vote_parts
from pacbayes.certificates.weights import Counts
from pacbayes.classifiers.members import Answers, kept_as
from pacbayes.numeric.arrays import Rows

#: Answers are kept up to this number, a byte each where there are at most 255 classes; with more nothing is tried.
MOST_ANSWERS = 2**28
# Weights and answers that are multiplied at once.
_BLOCK = 4_000_000


class VoteTrials:
    """The answers of all candidates in cross-validation, and what votes would have made of them.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 1, 1, 1])
    >>> trials = VoteTrials(codes, 3)
    >>> trials.hear(np.array([0, 3]), np.array([[0, 1], [1, 1], [0, 0]]))
    >>> trials.hear(np.array([1, 4]), np.array([[1, 1], [0, 1], [0, 1]]))
    >>> trials.hear(np.array([2, 5]), np.array([[0, 0], [0, 0], [0, 1]]))
    >>> trials.errors(np.array([2, 2, 1]))
    (1, 1, 2, 2, 2, 2, 3)
    """

    def __init__(self, codes: Rows, number: int) -> None:
        # A class that no training row has wins no vote that matters here.
        self._codes, self._n_classes = codes, int(codes.max()) + 1
        self._kept: Answers | None = None
        if number * codes.size <= MOST_ANSWERS:
            # What no fold asks about is no answer.
            self._kept = np.full((number, codes.size), self._n_classes, dtype=kept_as(self._n_classes))
        self._folds: list[Rows] = []

    def hear(self, test: Rows, answers: Answers) -> None:
        """Keep what all candidates say of the rows of a fold."""
        if self._kept is not None:
            self._kept[:, test] = np.minimum(answers, self._n_classes)
            self._folds.append(test)

    def errors(self, totals: Rows) -> tuple[int, ...] | None:
        """Return the errors of the votes of all strengths, given each candidate's; None where none could be tried."""
        if self._kept is None or not self._folds:
            return None
        errors = np.zeros(len(STRENGTHS), dtype=np.int64)
        for test in self._folds:
            elsewhere = totals - self._errors_in(test)
            parts = np.array([vote_parts(elsewhere, strength) for strength in STRENGTHS])
            step = max(1, _BLOCK // len(elsewhere))
            for start in range(0, test.size, step):
                errors += self._tried(parts, test[start : start + step])
        return tuple(errors.tolist())

    def _errors_in(self, test: Rows) -> Rows:
        assert self._kept is not None
        errors: Rows = np.count_nonzero(self._kept[:, test] != self._codes[test], axis=1)
        return errors

    def _tried(self, parts: Counts, rows: Rows) -> Rows:
        """Return the errors of votes of some weights on some rows.

        The weights are whole numbers with a sum below 2^53: votes are exact, and ties go to the first class.
        """
        assert self._kept is not None
        answers, weights = self._kept[:, rows], parts.astype(np.float64)
        sums = np.stack([weights @ (answers == code) for code in range(self._n_classes)], axis=-1)
        errors: Rows = np.count_nonzero(sums.argmax(axis=-1) != self._codes[rows], axis=1)
        return errors
