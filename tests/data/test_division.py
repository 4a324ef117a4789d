"""What svm_set and grid_set share: what is refused, and how rows are divided, is the same for both."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from pacbayes import grid_set, svm_set

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
        {"test": 0.2},
        {"test": 5, "validation_size": 11},
        {"groups": np.arange(40) // 2, "test": 0.25},
        {"duplicates": "together", "test": (X[:4], Y[:4])},
    ],
    ids=["share", "numbers", "groups", "given"],
)
def test_both_divide_alike(split, arguments):
    one, other = machines(X, Y, split=split, **arguments), trees(X, Y, split=split, **arguments)
    for i in range(3):
        for first, second in zip(one.splits(i), other.splits(i), strict=True):
            np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(one.splits.test, other.splits.test)
    facts = [(found.m, found.m_test, found.unit, found.copies) for found in (one, other)]
    assert facts[0] == facts[1]


@pytest.mark.parametrize("make", [machines, trees])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "both"}, "unknown split 'both'; known are shared, independent"),
        ({"duplicates": "twice"}, "unknown duplicates 'twice'"),
        ({"test": (X, Y, Y)}, r"test must be a fraction, a number of rows or a pair \(X_test, y_test\), got 3 entries"),
        ({"test": (X, Y), "groups": np.arange(40)}, "test must be None, a share or a number of groups"),
        ({"groups": np.arange(40), "duplicates": "together"}, "duplicates must be 'keep' with groups"),
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
    with pytest.raises(ValueError, match=r"all 4 rows of the training sample of classifier \d are of class 'no'"):
        make(rows, labels, split="independent")
