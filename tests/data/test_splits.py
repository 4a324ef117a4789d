"""Sizes of the parts, splits of each classifier, and division by label only where it is asked for."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from pacbayes import svm_set

GRID = np.array([0.1, 20.0, 0.02, 1.0, 5.0, 0.3])
WDBC = load_breast_cancer(return_X_y=True)


def test_independent_splits_differ_between_classifiers():
    X, y = WDBC
    classifiers = svm_set(X, y, GRID, split="independent", random_state=0, test=50)
    trains = [tuple(classifiers.splits(i)[0]) for i in range(len(classifiers))]
    assert len(set(trains)) == len(trains)
    assert not np.isin(classifiers.splits.test, np.array(trains)).any()


def test_sizes():
    X, y = WDBC
    classifiers = svm_set(X, y, [1.0], test=0.2, random_state=0)
    assert (classifiers.m_test, classifiers.splits.n_train, classifiers.m) == (114, 228, 227)
    classifiers = svm_set(X, y, [1.0], test=69, validation_size=100, split="independent", random_state=0)
    assert (classifiers.m_test, classifiers.splits.n_train, classifiers.m) == (69, 400, 100)
    assert svm_set(X, y, [1.0], random_state=0).test_risks is None


def test_rows_are_divided_by_label_only_where_asked_for():
    X, y = WDBC
    kept = []
    for seed in range(5):
        asked = svm_set(X, y, [1.0], random_state=seed, stratify=True)
        train, validation = asked.splits(0)
        assert abs(y[train].mean() - y[validation].mean()) < 0.004
        assert asked.stratified
        assert asked.splits.stratified
        plain = svm_set(X, y, [1.0], random_state=seed)
        train, validation = plain.splits(0)
        kept.append(abs(y[train].mean() - y[validation].mean()))
        assert not plain.stratified
    assert max(kept) > 0.01


@pytest.mark.parametrize(
    ("arguments", "stratified"),
    [
        ({"split": "independent"}, False),
        # What is left beside a test sample that was divided by label is not an independent sample either.
        ({"split": "independent", "test": 0.2}, True),
        ({"split": "shared", "test": 0.2}, True),
    ],
)
def test_a_set_knows_whether_its_rows_were_divided_by_label(arguments, stratified):
    X, y = WDBC
    assert svm_set(X, y, [1.0], stratify=True, random_state=0, **arguments).stratified == stratified
    assert not svm_set(X, y, [1.0], random_state=0, **arguments).stratified


def test_class_with_one_row_is_not_stratified():
    X, y = load_iris(return_X_y=True)
    y = y.copy()
    y[0] = 7
    classifiers = svm_set(X, y, [1.0], stratify=True, random_state=0)
    assert classifiers.m == 75
    assert not classifiers.stratified
