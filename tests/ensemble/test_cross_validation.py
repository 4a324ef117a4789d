"""Error counts of a cross-validation, and the choice among classifiers with equally few errors."""

import numpy as np
import pytest

from pacbayes.ensemble.cross_validation import CrossValidation, count_fold_errors, trainable_fold_mask


def test_errors_are_counted_by_classifier_and_fold():
    codes, fold = np.array([0, 1] * 10), np.repeat([0, 1], 10)
    expected = [[3, 0], [1, 1], [1, 1]]
    wrong = np.array([np.tile(np.arange(10), 2) < np.repeat(errors, 10) for errors in expected])
    errors, sizes = count_fold_errors(np.where(wrong, 1 - codes, codes), codes, fold)
    assert errors.tolist() == expected
    assert sizes.tolist() == [10, 10]
    assert CrossValidation(np.arange(3), errors, sizes).totals.tolist() == [3, 2, 2]


def test_folds_without_which_a_single_class_remains_do_not_count():
    codes, fold = np.array([0, 1, 0, 0, 1, 0]), np.array([0, 1, 0, 2, 1, 2])
    assert trainable_fold_mask(codes, fold).tolist() == [True, False, True]
    errors, sizes = count_fold_errors(np.array([[1, 0, 0, 0, 0, 0]]), codes, fold)
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
def test_first_and_middle_of_the_fewest_errors(totals, first, middle):
    counts = CrossValidation(10 * np.arange(len(totals)), np.array(totals)[:, None], np.array([20]))
    assert (counts.first_best, counts.middle_best) == (10 * first, 10 * middle)
