"""Cross-validation within the training rows: folds, candidates, and which of several with equally few errors."""

import numpy as np
import pytest
from tests.classifiers.told import ToldFolds

from pacbayes.classifiers.cross_validation import (
    CANDIDATES,
    CrossValidation,
    candidates_of,
    cross_validate,
    folds_of,
)


def test_errors_are_kept_by_candidate_and_fold():
    table = {0: [3, 1, 1], 1: [0, 1, 1]}
    calls = iter(table.values())
    codes = np.array([0, 1] * 10)
    heard = []

    def answers(candidates, train, test):
        assert sorted([*train, *test]) == list(range(20))
        return np.array([np.where(np.arange(10) < errors, 1 - codes[test], codes[test]) for errors in next(calls)])

    class Votes:
        def hear(self, test, said):
            heard.append(np.count_nonzero(said != codes[test], axis=1).tolist())

        def errors(self, totals):
            return (7, *totals.tolist())

    found = cross_validate(ToldFolds(codes, answers), np.arange(3), 2, np.random.default_rng(0), trials=Votes())
    assert heard == [[3, 1, 1], [0, 1, 1]]
    assert found.errors_of_votes == (7, 3, 2, 2)
    assert found.first == 1
    assert found.errors.tolist() == [[3, 0], [1, 1], [1, 1]]
    assert found.sizes.tolist() == [10, 10]


@pytest.mark.parametrize(
    ("totals", "first", "middle"),
    [
        ([4], 0, 0),
        ([2, 2], 0, 0),
        ([2, 2, 2], 0, 1),
        ([1, 3, 1, 1, 1, 3, 1, 1], 0, 3),
        ([9, 1, 1, 5, 1, 1, 5], 1, 1),
        ([3, 2, 1], 2, 2),
    ],
)
def test_of_several_with_equally_few_errors_the_middle_of_the_longest_run(totals, first, middle):
    candidates = 10 * np.arange(len(totals))
    found = CrossValidation(candidates, np.array(totals)[:, None], np.array([20]))
    assert (found.first, found.middle) == (10 * first, 10 * middle)


def test_folds_divide_the_training_rows():
    codes = np.repeat([0, 1, 2], [50, 7, 1])
    folds = folds_of(codes, 5, np.random.default_rng(0))
    counts = np.array([np.bincount(codes[folds == k], minlength=3) for k in range(5)])
    assert counts.sum() == 58
    assert (np.ptp(counts, axis=0) <= 1).all()


def test_at_most_fifty_candidates():
    assert candidates_of(1990).size == CANDIDATES
    assert candidates_of(7).tolist() == list(range(7))
