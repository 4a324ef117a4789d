"""Groups stay on one side of every split and have one loss each; risks are exact means rounded up."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.ensemble.grouped import exact_risk, is_rounded_up, sample

from pacbayes import grid_set, svm_set

LAMBDAS = np.geomspace(0.01, 10.0, 4)


def svms(split, **options):
    X, y, groups = sample()
    return svm_set(X, y, LAMBDAS, split=split, random_state=3, **{"groups": groups} | options)


def trees(split, **options):
    X, y, groups = sample()
    grid = {"max_depth": [1, 2, 4, None]}
    return grid_set(DecisionTreeClassifier(), grid, X, y, split=split, random_state=3, **{"groups": groups} | options)


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("make", [svms, trees])
def test_risk_is_the_mean_error_rate_of_whole_groups(make, split):
    classifiers = make(split, validation_size=0.3)
    X, y, groups = sample()
    assert (classifiers.unit, classifiers.errors) == ("group", None)
    assert (classifiers.m, classifiers.splits.n_train) == (12, 28)
    assert classifiers.splits.n_rows == y.size
    for i in range(4):
        train, validation = classifiers.splits(i)
        sides = [set(groups[rows]) for rows in (train, validation)]
        assert [len(side) for side in sides] == [28, 12]
        assert len(set().union(*sides)) == 40
        assert sorted(np.concatenate([train, validation])) == list(range(y.size))
        wrong = classifiers[i].predict(X[validation]) != y[validation]
        assert is_rounded_up(classifiers.risks[i], exact_risk(wrong, groups[validation]))
    splits = {classifiers.splits(i)[1].tobytes() for i in range(4)}
    assert len(splits) == (1 if split == "shared" else 4)
