"""Cross-validation within the training rows: folds, candidates, and which of several with equally few errors."""

import numpy as np
import pytest

from pacbayes.ensemble.cross_validation import (
    CrossValidation,
    counted_by_fold,
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
