"""How rows are divided, what belongs together, and what is refused: the same for svm_set and grid_set."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from pacbayes import grid_set, svm_set
from pacbayes.data.dataset import check_groups

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 2))
Y = np.where(X[:, 0] > 0.0, "yes", "no")


def machines(X, y, **arguments):
    return svm_set(X, y, [0.1, 1.0, 10.0], random_state=3, **arguments)


def trees(X, y, **arguments):
    return grid_set(DecisionTreeClassifier(), {"max_depth": [1, 2, 3]}, X, y, random_state=3, **arguments)


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"validation_size": 11},
        {"groups": np.arange(40) // 2},
        {"duplicates": "together"},
    ],
    ids=["share", "number", "groups", "together"],
)
def test_both_divide_alike(split, arguments):
    one, other = machines(X, Y, split=split, **arguments), trees(X, Y, split=split, **arguments)
    for i in range(3):
        for first, second in zip(one.splits(i), other.splits(i), strict=True):
            np.testing.assert_array_equal(first, second)
    facts = [(found.m, found.unit, found.copies) for found in (one, other)]
    assert facts[0] == facts[1]


@pytest.mark.parametrize("make", [machines, trees])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "both"}, "unknown split 'both'; known are shared, independent"),
        ({"duplicates": "twice"}, "unknown duplicates 'twice'"),
        ({"groups": np.arange(40), "duplicates": "together"}, "duplicates must not be 'together' with groups"),
    ],
)
def test_choices_that_cannot_be_are_refused_before_the_rows_are_looked_at(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(None, None, **arguments)


@pytest.mark.parametrize("make", [machines, trees])
def test_labels_that_are_objects_are_named_as_any_others(make):
    rows, labels = np.arange(8.0).reshape(8, 1), np.array(["no"] * 8, dtype=object)
    with pytest.raises(ValueError, match="y must hold at least two classes, got class 'no' only"):
        make(rows, labels)
    labels[0] = "yes"
    with pytest.raises(ValueError, match=r"all 4 rows of the training set of classifier \d are of class 'no'"):
        make(rows, labels, split="independent")


WDBC = load_breast_cancer(return_X_y=True)


def test_rows_are_divided_without_a_look_at_their_labels():
    X, y = WDBC
    for split in ("shared", "independent"):
        one, other = (svm_set(X, labels, [1.0], split=split, random_state=3).splits(0) for labels in (y, y[::-1]))
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (["b", "a", "b"], [0, 1, 0]),
        ([1, 2, 1.0], [0, 1, 0]),
        (pd.Series(["x", "y", "x"], dtype="category"), [0, 1, 0]),
        (pd.to_datetime(pd.Series(["2024-01-01", "2024-01-02", "2024-01-01"])), [0, 1, 0]),
        (np.array([3.5, 3.5, -0.0]), [0, 0, 1]),
    ],
)
def test_any_names_are_groups(groups, expected):
    assert check_groups(groups, 3).tolist() == expected


@pytest.mark.parametrize(
    ("groups", "kind", "message"),
    [
        (["a", "b"], ValueError, r"groups must hold one entry per row of X, shape \(3,\), got shape \(2,\)"),
        (np.zeros((3, 1)), ValueError, r"shape \(3,\), got shape \(3, 1\)"),
        ("abc", TypeError, "groups must hold one entry per row of X, got 'abc'"),
        (7, TypeError, "groups must hold one entry per row of X, got 7"),
        (["a", None, "b"], ValueError, "groups must not contain missing values, got None for row 1"),
        (pd.Series([1, 2, pd.NA], dtype="Int64"), ValueError, "got <NA> for row 2"),
        ([{}, {}, {}], TypeError, "groups must be names or numbers"),
    ],
)
def test_rows_without_a_group_are_refused(groups, kind, message):
    with pytest.raises(kind, match=message):
        check_groups(groups, 3)
