"""Weights of rows reach the training, through a pipeline too, and no count of errors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import zero_one_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from tests.ensemble.grids import X, Y, scaled

from pacbayes import grid_set


def test_weights_reach_the_training_only():
    weights = np.where(Y == 1, 100.0, 1.0)
    grid = {"classify__C": [0.1, 1.0]}
    plain = grid_set(scaled(LogisticRegression()), grid, X, Y, random_state=0)
    weighted = grid_set(scaled(LogisticRegression()), grid, X, Y, sample_weight=weights, random_state=0)
    train, validation = weighted.splits(0)
    for i in range(2):
        again = clone(weighted[i]).fit(X[train], Y[train], classify__sample_weight=weights[train])
        np.testing.assert_array_equal(again[-1].coef_, weighted[i][-1].coef_)
        assert not np.array_equal(plain[i][-1].coef_, weighted[i][-1].coef_)
        predicted = weighted[i].predict(X[validation])
        assert weighted.errors[i] == zero_one_loss(Y[validation], predicted, normalize=False)
    with pytest.raises(ValueError, match=r"sample_weight must be None for .*KNeighborsClassifier"):
        grid_set(None, [GaussianNB(), KNeighborsClassifier()], X, Y, sample_weight=weights)
