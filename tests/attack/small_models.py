"""Small models of every kind, and tools to change their files."""

import io
import zipfile
from functools import cache

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OutputCodeClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Cost, Grid, PredictionSet, StochasticSVC, SVMs, Threshold

COLUMNS = 2
# Primary draws, votes and a single SVM, with a hedge.
HEDGED = {"hedge": 0.1, "cv": 2, "random_state": 0}
TWO_CLASSES = (
    "two",
    "posterior",
    "independent",
    "boosting",
    "landmarks",
    "abstain",
    "threshold",
    "cost threshold",
    "prior",
    "holdout",
)


def rows(classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, COLUMNS)).round(3)
    return X, np.clip((X[:, 0] * classes / 2 + classes / 2).astype(int), 0, classes - 1)


@cache
def model(name):
    """Fit a small model; it must not be changed."""
    X, y = rows(2 if name in TWO_CLASSES else 3)
    if name in ("two", "three"):
        return StochasticSVC([0.1, 1.0, 10.0], **HEDGED).fit(X, y)
    if name == "posterior":
        return StochasticSVC([0.1, 1.0, 10.0], cv=2, random_state=0).fit(X, y)
    if name == "widths":
        return CertifiedClassifier(SVMs([0.1, 1.0], gamma=[0.1, 1.0]), cv=2, random_state=0).fit(X, y)
    if name == "composite":
        return CertifiedClassifier(composite(), cv=2, random_state=0).fit(X, y)
    if name == "groups":
        return StochasticSVC([0.1, 1.0], **HEDGED).fit(X, y, groups=np.arange(60) // 2 % 23)
    if name == "groups, independent":
        return StochasticSVC([0.1, 1.0], split="independent", random_state=0).fit(X, y, groups=np.arange(60) // 2 % 23)
    if name == "duplicates":
        twice = np.arange(60) // 2
        return StochasticSVC([0.1, 1.0], duplicates="together", **HEDGED).fit(X[twice], y[twice])
    if name == "landmarks":
        return StochasticSVC([0.1, 1.0], kernel="nystroem", n_components=8, **HEDGED).fit(X, y)
    if name == "prepared":
        return StochasticSVC([0.1, 1.0], preprocessor=StandardScaler(), **HEDGED).fit(X, y)
    if name == "abstain":
        return StochasticSVC([0.1, 1.0], max_error=0.3, **HEDGED).fit(X, y)
    if name == "threshold":
        decision = Threshold(recall=0.3, fpr=0.9)
        return CertifiedClassifier(SVMs([0.1, 1.0], gamma=0.5), decision=decision, **HEDGED).fit(X, y)
    if name == "cost threshold":
        decision = Threshold(cost=Cost([[0, 1], [5, 0]], np.unique(y)))
        return CertifiedClassifier(SVMs([0.1, 1.0], gamma=0.5), decision=decision, **HEDGED).fit(X, y)
    if name == "sets":
        return CertifiedClassifier(SVMs([0.1, 1.0], gamma=0.5), decision=PredictionSet(0.6), **HEDGED).fit(X, y)
    if name == "prefit sets":
        trees = [DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[:30], y[:30]) for depth in (1, 2)]
        choices = {"primary": [0.25, 0.75], "decision": PredictionSet(0.6, by_class=True)}
        return CertifiedClassifier.from_fitted(trees, X[30:], y[30:], random_state=0, **choices)
    if name == "slices":
        slices = np.where(X[:, 1] > 0, "high", "low")
        classes = np.unique(y)
        cost = Cost(1.0 - np.eye(classes.size) + 2.0 * (np.arange(classes.size) == 0), classes)
        metrics = ("error", "f1", "balanced_error", "auc", cost)
        return StochasticSVC([0.1, 1.0], voting="soft", metrics=metrics, **HEDGED).fit(X, y, slices=slices)
    if name == "prior":
        choices = {"prior": "cross-validation", "distance": ["kl", "catoni"], "hedge": 0.5}
        return StochasticSVC([0.1, 1.0, 10.0], cv=2, random_state=0, **choices).fit(X, y)
    if name == "holdout":
        return StochasticSVC([0.1, 1.0], hedge=0, cv=2, random_state=0).fit(X, y)
    if name == "refit":
        return CertifiedClassifier(SVMs([0.1, 1.0], gamma=0.5), refit=True, **HEDGED).fit(X, y)
    if name == "grid":
        return CertifiedClassifier(Grid(LogisticRegression(), {"C": [0.1, 1.0]}), **HEDGED).fit(X, y)
    if name == "independent":
        return StochasticSVC([0.1, 1.0], split="independent", random_state=0).fit(X, y)
    if name == "text":
        words = np.array(["NA", "a", " b"], dtype=object)[np.digitize(X, [-0.5, 0.5])]
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        return StochasticSVC([0.1, 1.0], preprocessor=encoder, **HEDGED).fit(words, y)
    if name == "categories":
        encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=4, sparse_output=False)
        return StochasticSVC([0.1, 1.0], preprocessor=encoder, random_state=0, cv=None).fit(X.round(0), y)
    if name == "prefit":
        trees = [DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[:30], y[:30]) for depth in (1, 2, 3)]
        weights = [0.25, 0.25, 0.5]
        return CertifiedClassifier.from_fitted(trees, X[30:], y[30:], primary=weights, most_frequent=1, random_state=0)
    kinds = {
        "trees": DecisionTreeClassifier(max_depth=3),
        "forest": RandomForestClassifier(3, max_depth=3),
        "boosting": GradientBoostingClassifier(n_estimators=3, max_depth=2),
        "boosting of three": GradientBoostingClassifier(n_estimators=3, max_depth=2),
        "histogram": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3, early_stopping=False),
    }
    return CertifiedClassifier(Grid(kinds[name], {"random_state": [0, 1]}), cv=None, random_state=0).fit(X, y)


def composite():
    """Families with scores of every kind: of pairs, probabilities, decision values, and labels alone."""
    return [
        ("svm", SVMs([0.1, 1.0], gamma=0.5)),
        ("logistic", LogisticRegression()),
        ("ridge", RidgeClassifier()),
        ("labels", OutputCodeClassifier(DecisionTreeClassifier(max_depth=2, random_state=0))),
    ]


SVM_MODELS = (
    *("two", "three", "posterior", "widths", "prepared", "text", "landmarks", "independent", "groups"),
    *("groups, independent", "duplicates", "composite"),
)
CONFIGURED = ("abstain", "threshold", "cost threshold", "sets", "prefit sets", "slices", "prior", "holdout", "refit")
ENSEMBLES = ("trees", "prefit", "forest", "boosting", "boosting of three", "histogram", "grid")


def with_parts(contents, parts):
    """Replace some parts of an archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(contents)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, parts.get(name, old.read(name)))
    return out.getvalue()


def nodes_of(tree):
    """Yield the nodes of a skops schema."""
    left = [tree]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if "__loader__" in value:
                yield value
            left += value.values()
        elif isinstance(value, list):
            left += value
