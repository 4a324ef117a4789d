"""Whatever is warned of, the line named is the user's, not one of this package or of a library below it."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, bound, grid_set, save

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] > 0).astype(int)


class OfBatches(ClassifierMixin, BaseEstimator):
    """Answers differently for rows that come together."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > np.mean(X)).astype(int)]


def saved(tmp_path):
    clf = CertifiedClassifier(
        Grid(KNeighborsClassifier(metric="chebyshev"), {"n_neighbors": [1, 3]}),
        cv=None,
        random_state=0,
        voting="stochastic",
        validation_size=0.5,
    ).fit(X, Y)
    save(clf, tmp_path / "model")


CASES = {
    "a level, SVMs": lambda: StochasticSVC([1.0, 2.0], delta=0.9, random_state=0).fit(X, Y),
    "a level, a grid": lambda: CertifiedClassifier(
        Grid(LogisticRegression(), {"C": [1.0]}), delta=0.9, voting="stochastic", cv=3, validation_size=0.5
    ).fit(X, Y),
    "in a pipeline": lambda: make_pipeline(
        StandardScaler(),
        CertifiedClassifier(
            Grid(LogisticRegression(), {"C": [1.0]}), delta=0.9, voting="stochastic", cv=3, validation_size=0.5
        ),
    ).fit(X, Y),
    "in a search": lambda: GridSearchCV(
        CertifiedClassifier(
            Grid(LogisticRegression(), {"C": [1.0]}), delta=0.9, voting="stochastic", cv=3, validation_size=0.5
        ),
        {"duplicates": ["keep"]},
        cv=2,
    ).fit(X, Y),
    "a constant": lambda: bound([1.0], [0.5], 1, distance="ch", constant="paper"),
    "batches": lambda: grid_set(OfBatches(), [{}], X, Y, random_state=0),
    "batches, an estimator": lambda: CertifiedClassifier(
        Grid(OfBatches(), [{}]), cv=None, random_state=0, voting="stochastic", validation_size=0.5
    ).fit(X, Y),
    "settings that cannot be fitted": lambda: grid_set(
        LogisticRegression(), {"C": [1.0, -1.0]}, X, Y, error_score="drop", random_state=0
    ),
    "copies": lambda: StochasticSVC([1.0], random_state=0, cv=None).fit(np.repeat(X, 4, axis=0), np.repeat(Y, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_line_is_the_users(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        CASES[name]()
    assert {one.filename for one in caught if one.category is UserWarning} == {__file__}


def test_a_model_that_must_be_trusted(tmp_path):
    with pytest.warns(UserWarning, match="trusted") as caught:
        saved(tmp_path)
    assert {one.filename for one in caught} == {__file__}
