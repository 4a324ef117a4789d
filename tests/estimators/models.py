"""Fitted models that several tests look at; none of them changes one."""

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
    """What the traceback says, cause included, where scikit-learn's `available_if` leaves a method out."""
    try:
        getattr(clf, method)
    except AttributeError as error:
        return "".join(traceback.format_exception(error))
    return ""


def by_draws(candidates, **choices):
    """Half of the rows validates, and draws predict."""
    return certified(candidates, **{"voting": "stochastic", "validation_size": 0.5} | choices)


def certified(candidates, **choices):
    return CertifiedClassifier(candidates, **{"cv": 3, "random_state": 0} | choices)


@cache
def fitted(kind, data, split="shared", hedge="auto"):
    """Return the model, fitted with all rows of `data()`; only "svc" has another split."""
    X, y = data()
    if kind == "svc":
        # A wide posterior: a validation part this small does not tell the machines apart.
        return StochasticSVC(LAMBDAS, split=split, validation_size=40, hedge=hedge, cv=3, random_state=0).fit(X, y)
    return by_draws(Grid(DecisionTreeClassifier(), TREES), hedge=hedge).fit(X, y)
