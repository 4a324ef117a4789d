"""Classifiers that predict a column of shape (n, 1), like CatBoost for more than two classes."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.data.certified import certified
from tests.estimators.models import two_classes

from pacbayes import Abstain, CertifiedClassifier, ClassifierSet, Grid, compare_classifiers

GRID = {"max_depth": [1, 2, 4]}


class LabelTree(DecisionTreeClassifier):
    """Has no probabilities, so that predicted labels are calibrated."""

    predict_proba = property()


class ColumnTree(LabelTree):
    def predict(self, X):
        return super().predict(X)[:, None]


class TwoColumnTree(LabelTree):
    def predict(self, X):
        return np.stack([super().predict(X)] * 2, axis=1)


def named():
    X, y = two_classes()
    return X, np.where(y == 1, "good", "bad")


@pytest.mark.parametrize("voting", ["stochastic", "majority"])
@pytest.mark.parametrize("options", [{}, {"decision": Abstain(0.1)}], ids=str)
def test_columns_are_flattened(voting, options):
    X, y = named()
    labels, column = (
        CertifiedClassifier(
            Grid(cls(random_state=0), GRID), voting=voting, random_state=0, **options, cv=3, validation_size=0.5
        ).fit(X, y)
        for cls in (LabelTree, ColumnTree)
    )
    assert column.certificate_.sentence == labels.certificate_.sentence
    assert np.array_equal(column.predict(X), labels.predict(X))
    assert np.array_equal(column.vote_share(X), labels.vote_share(X))


def test_two_labels_for_a_row_are_rejected():
    X, y = named()
    fitted = TwoColumnTree(random_state=0).fit(X[:200], y[:200])
    with pytest.raises(ValueError, match=r"one label for each of the 369 rows, shape \(369,\), got shape \(369, 2\)"):
        ClassifierSet.from_fitted([fitted], X[200:], y[200:])
    with pytest.raises(ValueError, match=r"got shape \(369, 2\)"):
        compare_classifiers(fitted, fitted, X[200:], y[200:])
    with pytest.raises(ValueError, match=r"got shape \(\d+, 2\)"):
        certified(TwoColumnTree(), GRID).fit(X, y)
