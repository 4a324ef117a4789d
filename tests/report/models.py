"""Fitted models by name, and their reports."""

from functools import cache, partial

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import LAMBDAS, fitted, three_classes, two_classes

from pacbayes import DISTANCES, Abstain, CertifiedClassifier, Cost, Grid, PredictionSet, StochasticSVC, SVMs, Threshold
from pacbayes.report import report_html

SCRIPT = "<script>alert(1)</script>"
IMAGE = "\"'><img src=x onerror=alert(1)>"


@cache
def rows():
    """Split into 455 rows for fit and 114 test rows, with labels."""
    X, y = two_classes()
    order = np.random.default_rng(0).permutation(len(X))
    return [(X[some], y[some]) for some in (order[:455], order[455:])]


def posterior():
    return StochasticSVC(LAMBDAS, validation_size=150, hedge=1, cv=3, random_state=0).fit(*rows()[0])


def abstaining_svms(max_error):
    clf = StochasticSVC(LAMBDAS, hedge=0.1, max_error=max_error, cv=3, voting="majority", random_state=0)
    return clf.fit(*rows()[0])


def by_class():
    X, y = rows()[0]
    clf = StochasticSVC(LAMBDAS, hedge=0.1, metrics=("error",), cv=3, random_state=0)
    return clf.fit(X, np.array([IMAGE, "benign"])[y], slices=np.where(X[:, 0] > 14, SCRIPT, "small"))


def several_families():
    """Fit a soft vote of SVMs of two widths, a grid and a single classifier."""
    candidates = [
        ("svms", SVMs([0.1, 0.2, 1.0, 5.0], gamma=[0.01, 0.05], scale=True)),
        ("trees", Grid(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]})),
        ("bayes", GaussianNB()),
    ]
    return CertifiedClassifier(candidates, cv=3, random_state=0).fit(*rows()[0])


def hostile_rows():
    """Rows with names of classes and columns that are HTML."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=[IMAGE, "Größe in µm", "x" * 300])
    return X, np.where(X.iloc[:, 0] > 0, SCRIPT, "</style></script>&amp;日本語")


def controlling():
    """Fit a model with names that contain control and bidirectional characters."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a\x1b[2J", "\u2066b"])
    y = np.where(X.iloc[:, 0] > 0, "yes\x1b[2J\x9b", "no\u202e\u2028\x07\U000e0001")
    candidates = [("bayes\u202e", GaussianNB()), ("tree\u2067", DecisionTreeClassifier(max_depth=2, random_state=0))]
    clf = CertifiedClassifier(candidates, metrics=("error", "recall"), random_state=0, cv=3)
    return clf.fit(X, y, slices=pd.Series(np.where(X.iloc[:, 1] > 0, "l\x1bm", "n\u2069"), name="side\u202e"))


def long_parameters():
    """Fit a model of two classifiers with very long parameters."""
    grid = [DummyClassifier(strategy="constant", constant="y" * size) for size in (180, 200)]
    params = {"distance": "squared", "voting": "stochastic", "cv": 3, "validation_size": 0.5}
    clf = CertifiedClassifier(Grid(None, grid), random_state=0, **params)
    return clf.fit(np.arange(8.0)[:, None], ["y" * 180, "y" * 200] * 4)


def constant_grid(n=40, number=2, **params):
    """Fit constant classifiers on two balanced classes."""
    grid = [DummyClassifier(strategy="constant", constant=k) for k in range(number)]
    clf = CertifiedClassifier(Grid(None, grid), random_state=0, cv=3, validation_size=0.5, **{"hedge": 1} | params)
    return clf.fit(np.arange(n)[:, None] * 1.0, np.arange(n) % 2)


def svms(lambdas, data=None, **params):
    return StochasticSVC(lambdas, random_state=0, **params).fit(*(data or two_classes()))


def logistic(names=None, groups=None, **params):
    X, y = two_classes()
    clf = CertifiedClassifier("logistic", cv=3, random_state=0, **params)
    return clf.fit(X, y if names is None else np.array(names)[y], groups=groups)


def rare():
    """Fit a model that mostly misses its rare class."""
    X, y = make_classification(1500, 12, n_informative=4, weights=[0.976], flip_y=0.03, random_state=0)
    return CertifiedClassifier("logistic", cv=3, random_state=0).fit(X, np.array(["ok", "fraud"])[y])


def many_classes(**params):
    X, y = load_digits(return_X_y=True)
    return CertifiedClassifier("neighbours", cv=3, random_state=0, **params).fit(X[:900], y[:900])


def prefit():
    """Certify a prefit classifier."""
    X, y = two_classes()
    return CertifiedClassifier.from_fitted([GaussianNB().fit(X[:200], y[:200])], X[200:], y[200:], random_state=0)


MODELS = {
    "posterior": posterior,
    "soft": several_families,
    "hedge 0": partial(fitted, "svc", two_classes, hedge=0),
    "hedge 0.1": partial(fitted, "svc", two_classes, hedge=0.1),
    "grid": partial(fitted, "grid", three_classes),
    "independent": partial(fitted, "svc", two_classes, "independent"),
    "five distances": lambda: StochasticSVC([0.1, 50.0], distance=[*DISTANCES], cv=None, random_state=0).fit(
        *two_classes()
    ),
    "metrics": by_class,
    "one classifier": partial(constant_grid, 400, 1, voting="best"),
    "target": partial(abstaining_svms, 0.05),
    "nothing accepted": partial(abstaining_svms, 0.001),
    "abstain": partial(logistic, decision=Abstain(0.02)),
    "threshold": partial(logistic, ["malignant", "benign"], decision=Threshold(recall=0.9), pos_label="malignant"),
    "threshold failed": partial(logistic, decision=Threshold(recall=0.999)),
    "cost threshold": lambda: logistic(["no", "yes"], decision=Threshold(cost=Cost([[0, 1], [5, 0]], ["no", "yes"]))),
    "sets": partial(logistic, decision=PredictionSet(0.9)),
    "sets by class": lambda: many_classes(decision=PredictionSet(0.8, by_class=True)),
    "refit": partial(logistic, refit=True),
    "groups": lambda: logistic(groups=np.arange(569) // 4),
    "rare": rare,
    "many classes": many_classes,
    "prefit": prefit,
    "long parameters": long_parameters,
    "hostile": lambda: svms([0.1, 1.0], hostile_rows()),
}


@cache
def model(name):
    return MODELS[name]()


@cache
def page_of(name):
    """Report of a model, for two of them with all options."""
    if name == "hostile":
        title = f"{SCRIPT} {IMAGE} " + "long" * 60
        return report_html(model(name), title=title, data=hostile_rows(), notes=[IMAGE, SCRIPT])
    if name == "posterior":
        data, test = rows()
        return report_html(model(name), title="Breast cancer", test=test, data=data, notes=["wdbc.csv"])
    return report_html(model(name))
