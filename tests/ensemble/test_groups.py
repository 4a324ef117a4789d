"""Groups: all rows on one side of every division, one loss for each, means that are exact and rounded up."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble.grouped import exact_risk, is_rounded_up, sample

from pacbayes import grid_set, svm_set

LAMBDAS = np.geomspace(0.01, 10.0, 4)


def machines(split, **choices):
    X, y, groups = sample()
    return svm_set(X, y, LAMBDAS, split=split, random_state=3, **{"groups": groups} | choices)


def trees(split, **choices):
    X, y, groups = sample()
    grid = {"max_depth": [1, 2, 4, None]}
    return grid_set(DecisionTreeClassifier(), grid, X, y, split=split, random_state=3, **{"groups": groups} | choices)


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("make", [machines, trees])
def test_whole_groups_are_divided_and_their_mean_error_is_the_risk(make, split):
    found = make(split, validation_size=0.3)
    X, y, groups = sample()
    assert (found.unit, found.errors) == ("group", None)
    assert (found.m, found.splits.n_train) == (12, 28)
    assert found.splits.n_rows == y.size
    for i in range(4):
        train, validation = found.splits(i)
        sides = [set(groups[rows]) for rows in (train, validation)]
        assert [len(side) for side in sides] == [28, 12]
        assert len(set().union(*sides)) == 40
        assert sorted(np.concatenate([train, validation])) == list(range(y.size))
        wrong = found[i].predict(X[validation]) != y[validation]
        assert is_rounded_up(found.risks[i], exact_risk(wrong, groups[validation]))
    divisions = {found.splits(i)[1].tobytes() for i in range(4)}
    assert len(divisions) == (1 if split == "shared" else 4)
