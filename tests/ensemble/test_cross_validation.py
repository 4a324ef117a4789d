"""Cross-validation within the training rows: folds, candidates, and which of several with equally few errors."""

import numpy as np
import pytest

from pacbayes.ensemble.cross_validation import (
    CANDIDATES,
    CrossValidation,
    candidates_of,
    counted_by_fold,
    dealt,
    folds_of,
    trainable,
)


def test_errors_are_kept_by_candidate_and_fold():
    codes, fold = np.array([0, 1] * 10), np.repeat([0, 1], 10)
    wrong = np.zeros((3, 20), dtype=bool)
    for line, errors in zip(wrong, ([3, 0], [1, 1], [1, 1]), strict=True):
        line[: errors[0]] = line[10 : 10 + errors[1]] = True
    errors, sizes = counted_by_fold(np.where(wrong, 1 - codes, codes), codes, fold)
    found = CrossValidation(np.arange(3), errors, sizes)
    assert found.first == 1
    assert found.totals.tolist() == [3, 2, 2]
    assert found.errors.tolist() == [[3, 0], [1, 1], [1, 1]]
    assert found.sizes.tolist() == [10, 10]


def test_a_fold_without_which_one_class_is_left_counts_for_nothing():
    codes, fold = np.array([0, 1, 0, 0, 1, 0]), np.array([0, 1, 0, 2, 1, 2])
    assert trainable(codes, fold).tolist() == [True, False, True]
    errors, sizes = counted_by_fold(np.array([[1, 0, 0, 0, 0, 0]]), codes, fold)
    assert errors.tolist() == [[1, 0, 0]]
    assert sizes.tolist() == [2, 0, 2]


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


def test_no_more_folds_than_rows_or_units():
    rng = np.random.default_rng(0)
    assert sorted(dealt(np.array([0, 1, 0]), 5, rng, None).tolist()) == [0, 1, 2]
    units = np.array([4, 4, 9, 9, 9, 4])
    fold = dealt(np.array([0, 1, 0, 1, 0, 1]), 5, rng, units)
    assert np.unique(fold).tolist() == [0, 1]
    assert len(set(fold[units == 4])) == len(set(fold[units == 9])) == 1
