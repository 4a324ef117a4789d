"""Data and fitted models that tests share and do not change."""

import traceback
from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Grid, StochasticSVC

LAMBDAS = np.round(np.geomspace(0.02, 30.0, 40), 3)
TREES = {"max_depth": [1, 2, 3], "min_samples_leaf": [1, 5]}


def two_classes():
    return load_breast_cancer(return_X_y=True)


def three_classes():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def why_not(clf, method):
    """Traceback of a method that `available_if` hides."""
    try:
        getattr(clf, method)
    except AttributeError as error:
        return "".join(traceback.format_exception(error))
    return ""


def by_draws(candidates, **choices):
    """Stochastic voting with half of the rows in the validation set."""
    return certified(candidates, **{"voting": "stochastic", "validation_size": 0.5} | choices)


def certified(candidates, **choices):
    return CertifiedClassifier(candidates, **{"cv": 3, "random_state": 0} | choices)


@cache
def fitted(kind, data, split="shared", hedge="auto"):
    """Model fitted on `data()`; `split` is for "svc" only."""
    X, y = data()
    if kind == "svc":
        # A wide posterior: so few validation rows do not distinguish the SVMs.
        return StochasticSVC(LAMBDAS, split=split, validation_size=40, hedge=hedge, cv=3, random_state=0).fit(X, y)
    return by_draws(Grid(DecisionTreeClassifier(), TREES), hedge=hedge).fit(X, y)
