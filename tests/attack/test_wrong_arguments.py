"""Errors for wrong arguments name the parameter and its value, before any work."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler

from pacbayes import (
    CertifiedClassifier,
    ClassifierSet,
    StochasticSVC,
    grid_set,
    optimal_posterior,
    svm_set,
)
from pacbayes.bounds import Catoni
from pacbayes.svm.svm_classifier import SVMClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)
FITTED = LogisticRegression().fit(X[:30], Y[:30])
LOSSES = ClassifierSet.from_losses(RNG.random((3, 20)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: grid_set(None, [FITTED], X, Y, n_iter=2), ValueError, "n_iter must be None where"),
        (lambda: grid_set(LinearRegression(), {}, X, Y), ValueError, r"estimator must be a classifier, got LinearReg"),
        (lambda: svm_set(X, Y, [1.0], gamma=True), TypeError, "gamma must be 'widths', .*, got True"),
        (lambda: SVMClassifier(gamma="widths").fit(X, Y), ValueError, "SVMClassifier requires one kernel width"),
        (lambda: SVMClassifier(scale="auto").fit(X, Y), ValueError, "requires one kernel width and a fixed scaling"),
        (lambda: svm_set(X, Y, [1.0], validation_size=True), TypeError, "validation_size must be a fraction"),
        (lambda: ClassifierSet.from_fitted(FITTED, X, Y), TypeError, "the single LogisticRegression"),
        (lambda: CertifiedClassifier(LogisticRegression()).fit(X[:1], Y[:1]), ValueError, "1 sample"),
        (lambda: LOSSES.error_counts, ValueError, "made from losses: it holds risks, not error counts"),
        (lambda: optimal_posterior([0.1], 10, method="ipopt", distance=Catoni(1.0)), ValueError, "five distances"),
    ],
)  # fmt: skip
def test_the_error_names_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()


def models():
    return [StochasticSVC([0.1, 1.0], random_state=0), CertifiedClassifier(LogisticRegression(), random_state=0)]


@pytest.mark.filterwarnings("ignore:The number of unique classes is greater than 50%")  # scikit-learn's own
@pytest.mark.parametrize("y", [np.arange(40) % 29, (np.arange(40) % 29).astype(float), (np.arange(40) % 29).tolist()])
def test_a_regression_target_is_rejected(y):
    rows, sentence = (
        np.arange(40.0)[:, None],
        r"29 different numbers in 40 rows .* pass them as strings: y\.astype\(str\)",
    )
    calls = [
        *(lambda model=model: model.fit(rows, y) for model in models()),
        lambda: svm_set(rows, y, [1.0]),
        lambda: grid_set(LogisticRegression(), {"C": [1.0]}, rows, y),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=sentence):
            call()


LEVELS = pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("a", "u"), ("a", "v")]))


@pytest.mark.parametrize("rows", [LEVELS, LEVELS.set_axis(["a", "a"], axis=1)])
def test_column_names_are_unique_strings(rows):
    """Otherwise `predict` cannot check the order of columns, nor a ColumnTransformer select them."""
    fitted = [model.fit(X, Y) for model in models()]
    calls = [
        *(lambda model=model: model.fit(rows, Y) for model in models()),
        *(lambda model=model: model.predict(rows) for model in fitted),
        lambda: StochasticSVC([1.0], preprocessor=StandardScaler()).fit(rows, Y),
        lambda: CertifiedClassifier.from_fitted(FITTED, rows, Y),
        lambda: ClassifierSet.from_fitted([FITTED], rows, Y),
        lambda: grid_set(LogisticRegression(), {"C": [1.0]}, rows, Y),
        lambda: svm_set(rows, Y, [1.0]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"got a Multi|unique column names, got 'a' twice"):
            call()
