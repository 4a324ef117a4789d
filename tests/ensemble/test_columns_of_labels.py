"""Classifiers whose answers are a column, shape (n, 1), as CatBoost's are for more than two classes."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.data.certified import certified
from tests.estimators.models import two_classes

from pacbayes import Abstain, CertifiedClassifier, ClassifierSet, Grid, compare_classifiers

GRID = {"max_depth": [1, 2, 4]}


class Flat(DecisionTreeClassifier):
    """Has no probabilities: it is asked for labels, whatever is wanted of it."""

    predict_proba = property()


class Column(Flat):
    def predict(self, X):
        return super().predict(X)[:, None]


class Pair(Flat):
    def predict(self, X):
        return np.stack([super().predict(X)] * 2, axis=1)


KINDS = (Flat, Column)


def named():
    X, y = two_classes()
    return X, np.where(y == 1, "good", "bad")


@pytest.mark.parametrize("choices", [{}, {"decision": Abstain(0.1)}], ids=str)
def test_a_grid_of_columns_is_one_of_labels(choices):
    X, y = named()
    for voting in ("stochastic", "majority"):
        flat, column = (
            CertifiedClassifier(
                Grid(kind(random_state=0), GRID), voting=voting, random_state=0, **choices, cv=3, validation_size=0.5
            ).fit(X, y)
            for kind in KINDS
        )
        assert column.certificate_.sentence == flat.certificate_.sentence
        assert np.array_equal(column.predict(X), flat.predict(X))
        assert np.array_equal(column.vote_share(X), flat.vote_share(X))


def test_two_labels_for_a_row_are_refused():
    X, y = named()
    pair = Pair(random_state=0).fit(X[:200], y[:200])
    with pytest.raises(ValueError, match=r"one label for each of the 369 rows, shape \(369,\), got shape \(369, 2\)"):
        ClassifierSet.from_fitted([pair], X[200:], y[200:])
    with pytest.raises(ValueError, match=r"got shape \(369, 2\)"):
        compare_classifiers(pair, pair, X[200:], y[200:])
    with pytest.raises(ValueError, match=r"got shape \(\d+, 2\)"):
        certified(Pair(), GRID).fit(X, y)
