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


@pytest.mark.parametrize("choices", [{}, {"target": Abstain(0.1)}], ids=str)
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


def test_classifiers_trained_elsewhere():
    X, y = named()
    flat, column = ([kind(max_depth=d, random_state=0).fit(X[:200], y[:200]) for d in (1, 3)] for kind in KINDS)
    sets = [ClassifierSet.from_fitted(one, X[200:], y[200:]) for one in (flat, column)]
    assert np.array_equal(sets[0].errors, sets[1].errors)
    assert np.array_equal(sets[0].predict(X), sets[1].predict(X))
    models = [CertifiedClassifier.from_fitted(one, X[200:], y[200:], random_state=0) for one in (flat, column)]
    assert np.array_equal(models[0].predict(X), models[1].predict(X))
    same = compare_classifiers(flat[0], column[0], X[200:], y[200:])
    assert (same.only_a, same.only_b) == (0, 0)


def test_two_labels_for_a_row_are_refused():
    X, y = named()
    pair = Pair(random_state=0).fit(X[:200], y[:200])
    with pytest.raises(ValueError, match=r"one label for each of the 369 rows, shape \(369,\), got shape \(369, 2\)"):
        ClassifierSet.from_fitted([pair], X[200:], y[200:])
    with pytest.raises(ValueError, match=r"got shape \(369, 2\)"):
        compare_classifiers(pair, pair, X[200:], y[200:])
    with pytest.raises(ValueError, match=r"got shape \(\d+, 2\)"):
        certified(Pair(), GRID).fit(X, y)


def test_one_that_changes_its_mind_after_the_fit_is_refused():
    X, y = named()
    trees = [Flat(max_depth=d, random_state=0).fit(X[:200], y[:200]) for d in (1, 3)]
    found = ClassifierSet.from_fitted(trees, X[200:], y[200:])
    trees[1].__class__ = Pair
    with pytest.raises(ValueError, match=r"got shape \(569, 2\)"):
        found.predict(X)
