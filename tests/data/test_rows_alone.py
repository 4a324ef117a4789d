"""Estimators whose answer for a row depends on the rows around it: noticed at fit, and named."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.data.certified import certified

from pacbayes import ClassifierSet, grid_set, svm_set
from pacbayes.data import rows as rows_module
from pacbayes.data.rows import find_batch_dependence, warn_if_batch_dependent


def data(n=120, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


class Centred(TransformerMixin, BaseEstimator):
    """Takes the mean of the batch; counts the rows of every batch."""

    def __init__(self, seen=None):
        self.seen = seen

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        if self.seen is not None:
            self.seen.append(len(X))
        return X - X.mean(axis=0)


class Ranked(ClassifierMixin, BaseEstimator):
    """Says 1 of the upper half of the batch."""

    def __init__(self, offset=0.0):
        self.offset = offset

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] + self.offset > np.median(X[:, 0])).astype(int)


class Raises(Centred):
    """Cannot take a row alone."""

    def transform(self, X):
        if len(X) < 2:
            raise ValueError("one row has no spread")
        return X


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (make_pipeline(Centred(), LogisticRegression()), "Centred"),
        (make_pipeline(StandardScaler(), FunctionTransformer(lambda X: X / X.std(axis=0)), GaussianNB()), "Function"),
        (make_pipeline(StandardScaler(), Ranked()), "Ranked"),
        (Ranked(0.1), "Ranked"),
        (make_pipeline(Raises(), GaussianNB()), "Raises"),
        (DummyClassifier(strategy="uniform", random_state=0), "DummyClassifier"),
    ],
)
@pytest.mark.parametrize("split", ["shared", "independent"])
def test_grids_that_look_around_are_named(estimator, name, split):
    X, y = data()
    with pytest.warns(UserWarning, match=f"{name}.* predicts differently, or fails, for single rows"):
        grid_set(None, [estimator], X, y, split=split, random_state=0)
    fitted = estimator.fit(X[:60], y[:60])
    with pytest.warns(UserWarning, match=f"{name}.* predicts differently"):
        ClassifierSet.from_fitted([fitted], X[60:], y[60:])


@pytest.mark.parametrize("preprocessor", [Centred(), make_pipeline(MinMaxScaler(), Centred()), Raises()])
def test_transformers_that_look_around_are_named(preprocessor):
    X, y = data()
    with pytest.warns(UserWarning, match="(Centred|Raises) predicts differently"):
        svm_set(X, y, [1.0], preprocessor=preprocessor, random_state=0)


def test_the_warning_points_at_the_call():
    X, y = data()
    calls = [
        lambda: grid_set(Ranked(), {"offset": [0.0]}, X, y, random_state=0),
        lambda: svm_set(X, y, [1.0], preprocessor=Centred(), random_state=0),
        lambda: ClassifierSet.from_fitted([Ranked().fit(X, y)], X, y),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match="predicts differently") as found:
            call()
        assert [warning.filename for warning in found] == [__file__]


TEXTS = ["good film", "bad film", "good book", "bad book", "fine film", "poor book"] * 10


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (make_pipeline(StandardScaler(copy=False), PCA(3), SVC()), data()[0] * 1e6 + 1e6),
        (make_pipeline(PCA(), LogisticRegression()), np.repeat(data()[0], 3, axis=1).astype(np.float32)),
        (RandomForestClassifier(5), data()[0]),
        (MLPClassifier(5, max_iter=2000), data()[0][:, :2]),
        (KNeighborsClassifier(algorithm="brute"), data()[0]),
        (KNeighborsClassifier(), sp.csr_array(data()[0] * (np.abs(data()[0]) > 1))),
        (make_pipeline(TfidfVectorizer(), LogisticRegression()), TEXTS * 2),
        (make_pipeline(OneHotEncoder(handle_unknown="ignore"), GaussianNB()), None),
        (make_pipeline("passthrough", GaussianNB()), data()[0]),
        (DummyClassifier(), data()[0]),
    ],
)
def test_others_are_not(estimator, X):
    if X is None:
        X = pd.DataFrame({"colour": ["red", "green", "blue"] * 40, "size": list("smlx") * 30})
        estimator.set_params(onehotencoder__sparse_output=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grid_set(None, [estimator], X, data()[1], random_state=0)


def test_one_of_each_kind_is_asked_and_every_fiftieth(monkeypatch):
    asked = []
    monkeypatch.setattr(rows_module, "find_batch_dependence", lambda model, X, method: asked.append(model) or None)
    first, second = FunctionTransformer(np.abs), FunctionTransformer(np.sign)
    estimators = [DecisionTreeClassifier()] * 120
    estimators[7] = GaussianNB()
    estimators[9] = estimators[11] = make_pipeline(first, GaussianNB())
    estimators[13] = make_pipeline(second, GaussianNB())
    warn_if_batch_dependent(estimators, lambda i: i)
    assert asked == [estimators[i] for i in (0, 7, 9, 13, 50, 100)]


class Switched(Centred):
    """Takes the mean of the batch where it is told to."""

    def __init__(self, on=False):
        self.on = on

    def transform(self, X):
        return X - X.mean(axis=0) if self.on else X


SCALED_TREE = Pipeline([("scale", StandardScaler()), ("tree", DecisionTreeClassifier())])
SCALERS = [StandardScaler(), Centred()]


@pytest.mark.parametrize(
    ("estimator", "grid", "name"),
    [
        (Pipeline([("inner", SCALED_TREE)]), {"inner__scale": SCALERS}, "Pipeline"),
        (OneVsRestClassifier(SCALED_TREE), {"estimator__scale": SCALERS}, "OneVsRestClassifier"),
        (make_pipeline(FeatureUnion([("s", StandardScaler())]), GaussianNB()), {"featureunion__s": SCALERS}, "Feature"),
        (make_pipeline(Switched(), GaussianNB()), {"switched__on": [False, True]}, "Switched"),
        (
            make_pipeline(make_pipeline(FunctionTransformer()), GaussianNB()),
            {"pipeline__functiontransformer__func": [None, lambda X: X - X.mean(axis=0)]},
            "Pipeline",
        ),
    ],
)
def test_one_that_looks_around_deep_in_a_grid_is_found(estimator, grid, name):
    """The first of the grid does not; the second is of the same class."""
    X, y = data()
    with pytest.warns(UserWarning, match=f"{name}.* predicts differently"):
        found = grid_set(estimator, grid, X, y, random_state=0)
    with pytest.warns(UserWarning, match=f"{name}.* predicts differently"):
        ClassifierSet.from_fitted([found[0], found[1]], X, y)


def test_only_training_rows_are_asked_about():
    X, y = data()
    X[:, 3] = np.arange(len(X))
    asked = []

    class Spy(GaussianNB):
        def predict(self, X):
            asked.append(X[:, 3].astype(int).tolist())
            return super().predict(X)

    for split in ("shared", "independent"):
        asked.clear()
        classifiers = grid_set(Spy(), {"var_smoothing": [1e-9, 1e-8]}, X, y, split=split, random_state=0)
        train, validation = (rows.tolist() for rows in classifiers.splits(0))
        *check, counted, other = asked
        assert counted == validation
        assert other == classifiers.splits(1)[1].tolist()
        assert [len(rows) for rows in check] == [60, 1, 1]
        assert set(np.concatenate(check).tolist()) <= set(train)


def test_samples_are_prepared_apart():
    X, y = data()
    seen = []
    with pytest.warns(UserWarning, match="Centred predicts"):
        classifiers = svm_set(X, y, [1.0], preprocessor=Centred(seen), validation_size=30, random_state=0)
    assert seen == [90, 90, 1, 1, 30]
    # Centred apart, it makes no difference where either sample lies.
    for rows in classifiers.splits(0):
        moved = X.copy()
        moved[rows] += 100.0
        with pytest.warns(UserWarning, match="Centred predicts"):
            again = svm_set(moved, y, [1.0], preprocessor=Centred(), validation_size=30, random_state=0)
        np.testing.assert_array_equal(again.predictions.y_pred, classifiers.predictions.y_pred)


def test_every_certificate_assumes_it():
    X, y = data()
    clf = certified(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}).fit(X, y)
    for certificate in clf.certificates_.values():
        assert any("depends on that row alone" in assumption for assumption in certificate.assumptions)


def test_a_transformer_in_place_of_a_classifier():
    X, _ = data()
    assert find_batch_dependence(StandardScaler().fit(X), X, "transform") is None
    assert find_batch_dependence(Centred(), X, "transform") == "Centred"
