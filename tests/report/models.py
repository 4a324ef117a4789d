"""Fitted models that reports are written about."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from tests.estimators.models import LAMBDAS, two_classes

from pacbayes import StochasticClassifier, StochasticSVC
from pacbayes.report import report_html

SCRIPT = "<script>alert(1)</script>"
IMAGE = "\"'><img src=x onerror=alert(1)>"


@cache
def breast_cancer():
    """Return a model fitted with 455 rows, those rows, and 114 test rows."""
    X, y = two_classes()
    order = np.random.default_rng(0).permutation(len(X))
    data, test = order[:455], order[455:]
    clf = StochasticSVC(LAMBDAS, validation_size=150, cv=3, random_state=0).fit(X[data], y[data])
    return clf, (X[data], y[data]), (X[test], y[test])


@cache
def breast_cancer_page():
    clf, data, test = breast_cancer()
    return report_html(clf, title="Breast cancer", test=test, data=data, extra={"file": "wdbc.csv"})


@cache
def hostile():
    """Return a model whose classes and columns are named to break the page."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=[IMAGE, "Größe in µm", "x" * 300])
    y = np.where(X.iloc[:, 0] > 0, SCRIPT, "</style></script>&amp;日本語")
    return StochasticSVC([0.1, 1.0], random_state=0).fit(X, y), (X, y)


@cache
def hostile_page():
    clf, data = hostile()
    return report_html(clf, title=f"{SCRIPT} {IMAGE} " + "long" * 60, data=data, extra={IMAGE: SCRIPT})


def constant_grid(n=40, classes=2, **params):
    """Return a model of classifiers that each always say one class, on labels that are evenly mixed."""
    grid = [DummyClassifier(strategy="constant", constant=k) for k in range(classes)]
    y = np.arange(n) % classes
    return StochasticClassifier(None, grid, random_state=0, **params).fit(np.arange(n)[:, None] * 1.0, y)
