"""Warnings name the line of the user, not one of this package or of a library."""

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
CHOICES = {"cv": None, "random_state": 0, "voting": "stochastic", "validation_size": 0.5}
GRID = CertifiedClassifier(Grid(LogisticRegression(), {"C": [1.0]}), delta=0.9, **CHOICES)
UNTRUSTED = Grid(KNeighborsClassifier(metric="chebyshev"), {"n_neighbors": [1, 3]})


class BatchDependentClassifier(ClassifierMixin, BaseEstimator):
    """Classifier whose predictions depend on the batch."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > np.mean(X)).astype(int)]


CASES = {
    "a function": lambda _: bound([1.0], [0.5], 1, distance="ch", constant="paper"),
    "an estimator": lambda _: StochasticSVC([1.0], random_state=0, cv=None).fit(np.repeat(X, 4, 0), np.repeat(Y, 4)),
    "a pipeline in a search": lambda _: GridSearchCV(
        make_pipeline(StandardScaler(), GRID), {"certifiedclassifier__duplicates": ["keep"]}, cv=2
    ).fit(X, Y),
    "an estimator inside": lambda _: grid_set(BatchDependentClassifier(), [{}], X, Y, random_state=0),
    "a file": lambda folder: save(CertifiedClassifier(UNTRUSTED, **CHOICES).fit(X, Y), folder / "model"),
}


@pytest.mark.parametrize("name", CASES)
def test_warning_names_the_line_of_the_user(name, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        CASES[name](tmp_path)
    assert {one.filename for one in caught if one.category is UserWarning} == {__file__}
