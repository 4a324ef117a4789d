"""Fitted models that reports are written about."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import LAMBDAS, two_classes

from pacbayes import DISTANCES, Abstain, CertifiedClassifier, Grid, StochasticSVC, SVMs, Threshold
from pacbayes.report import report_html

SCRIPT = "<script>alert(1)</script>"
IMAGE = "\"'><img src=x onerror=alert(1)>"


@cache
def breast_cancer():
    """Return a model fitted with 455 rows, those rows, and 114 test rows."""
    X, y = two_classes()
    order = np.random.default_rng(0).permutation(len(X))
    data, test = order[:455], order[455:]
    clf = StochasticSVC(LAMBDAS, validation_size=150, hedge=1, cv=3, random_state=0).fit(X[data], y[data])
    return clf, (X[data], y[data]), (X[test], y[test])


@cache
def breast_cancer_page():
    clf, data, test = breast_cancer()
    return report_html(clf, title="Breast cancer", test=test, data=data, notes=["wdbc.csv"])


@cache
def hostile():
    """Return a model whose classes and columns are named to break the page."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=[IMAGE, "Größe in µm", "x" * 300])
    y = np.where(X.iloc[:, 0] > 0, SCRIPT, "</style></script>&amp;日本語")
    return StochasticSVC([0.1, 1.0], random_state=0).fit(X, y), (X, y)


@cache
def controlling():
    """Return a model whose classes, slices and candidates are named to clear a screen and to turn a line around."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a\x1b[2J", "\u2066b"])
    y = np.where(X.iloc[:, 0] > 0, "yes\x1b[2J\x9b", "no\u202e\u2028\x07\U000e0001")
    candidates = [("bayes\u202e", GaussianNB()), ("tree\u2067", DecisionTreeClassifier(max_depth=2, random_state=0))]
    clf = CertifiedClassifier(candidates, limits=("error", "recall"), random_state=0, cv=3)
    return clf.fit(X, y, slices=pd.Series(np.where(X.iloc[:, 1] > 0, "l\x1bm", "n\u2069"), name="side\u202e")), (X, y)


@cache
def hostile_page():
    clf, data = hostile()
    return report_html(clf, title=f"{SCRIPT} {IMAGE} " + "long" * 60, data=data, notes=[IMAGE, SCRIPT])


@cache
def several_distances():
    return report_html(
        StochasticSVC([0.01, 0.1, 50.0], distance=list(DISTANCES), cv=None, random_state=0).fit(*two_classes())
    )


@cache
def long_parameters():
    """Return the page of a vacuous certificate for two classifiers with an endless name."""
    grid = [DummyClassifier(strategy="constant", constant="y" * size) for size in (180, 200)]
    y = ["y" * 180, "y" * 200] * 4
    clf = CertifiedClassifier(
        Grid(None, grid),
        distance="squared",
        random_state=0,
        voting="stochastic",
        cv=3,
        validation_size=0.5,
    )
    return report_html(clf.fit(np.arange(8.0)[:, None], y))


@cache
def one_classifier():
    return report_html(constant_grid(classes=2, n=400, number=1, voting="best"))


def constant_grid(n=40, classes=2, number=None, **params):
    """Return a model of classifiers that each always say one class, on labels that are evenly mixed."""
    grid = [DummyClassifier(strategy="constant", constant=k) for k in range(number or classes)]
    y = np.arange(n) % classes
    params = {"hedge": 1} | params
    return CertifiedClassifier(Grid(None, grid), random_state=0, **params, cv=3, validation_size=0.5).fit(
        np.arange(n)[:, None] * 1.0, y
    )


@cache
def several_families():
    """Return a soft vote of machines of two widths, a grid and a single classifier, and its page."""
    _, data, test = breast_cancer()
    candidates = [
        ("machines", SVMs([0.1, 0.2, 1.0, 5.0], gamma=[0.01, 0.05], scale=True)),
        ("trees", Grid(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]})),
        ("bayes", GaussianNB()),
    ]
    clf = CertifiedClassifier(candidates, cv=3, random_state=0).fit(*data)
    return clf, report_html(clf, test=test, data=data)


@cache
def by_class():
    """Return a model with limits by class and in slices, and its page."""
    (X, y), _ = breast_cancer()[1:]
    names = np.array([IMAGE, "benign"])[y]
    clf = StochasticSVC(LAMBDAS, hedge=0.1, limits=("error",), cv=3, random_state=0)
    clf.fit(X, names, slices=np.where(X[:, 0] > 14, SCRIPT, "small"))
    return clf, report_html(clf)


@cache
def with_target(max_error=0.05):
    """Return a model that answers where it is sure, and its page."""
    clf, data, test = breast_cancer()
    clf = StochasticSVC(LAMBDAS, hedge=0.1, max_error=max_error, cv=3, voting="majority", random_state=0).fit(*data)
    return clf, report_html(clf, test=test)


def _logistic(**params):
    return CertifiedClassifier("logistic", cv=3, random_state=0, **params)


@cache
def threshold():
    """Return a model with a threshold for the recall of one class."""
    X, y = two_classes()
    return _logistic(target=Threshold(recall=0.9), pos_label="malignant").fit(X, np.array(["malignant", "benign"])[y])


@cache
def abstaining():
    """Return a model that answers most rows."""
    return _logistic(target=Abstain(0.02)).fit(*two_classes())


@cache
def refitted():
    """Return a model that was trained once more on all rows."""
    return _logistic(refit=True).fit(*two_classes())


@cache
def grouped():
    """Return a model of groups of four rows."""
    X, y = two_classes()
    return _logistic().fit(X, y, groups=np.arange(len(y)) // 4)


@cache
def rare():
    """Return a model of two classes, of which the rare one is mostly missed."""
    X, y = make_classification(1500, 12, n_informative=4, weights=[0.976], flip_y=0.03, random_state=0)
    return _logistic().fit(X, np.array(["ok", "fraud"])[y])


@cache
def many_classes():
    """Return a model of ten classes."""
    X, y = load_digits(return_X_y=True)
    return CertifiedClassifier("neighbours", cv=3, random_state=0).fit(X[:900], y[:900])
