"""Sizes of the parts, splits of each classifier, and no division by label."""

import numpy as np
from sklearn.datasets import load_breast_cancer

from pacbayes import svm_set

GRID = np.array([0.1, 20.0, 0.02, 1.0, 5.0, 0.3])
WDBC = load_breast_cancer(return_X_y=True)


def test_independent_splits_differ_between_classifiers():
    X, y = WDBC
    classifiers = svm_set(X, y, GRID, split="independent", random_state=0)
    trains = [tuple(classifiers.splits(i)[0]) for i in range(len(classifiers))]
    assert len(set(trains)) == len(trains)


def test_sizes():
    X, y = WDBC
    classifiers = svm_set(X, y, [1.0], random_state=0)
    assert (classifiers.splits.n_train, classifiers.m) == (285, 284)
    classifiers = svm_set(X, y, [1.0], validation_size=100, split="independent", random_state=0)
    assert (classifiers.splits.n_train, classifiers.m) == (469, 100)


def test_rows_are_divided_without_a_look_at_their_labels():
    X, y = WDBC
    for split in ("shared", "independent"):
        one, other = (svm_set(X, labels, [1.0], split=split, random_state=3).splits(0) for labels in (y, y[::-1]))
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
