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
