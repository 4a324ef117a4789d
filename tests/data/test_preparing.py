"""`prepare`: fitted on the training rows, and on nothing else."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.data.certified import certified

from pacbayes import CertifiedClassifier, StochasticSVC, load, save, svm_set
from pacbayes.data.encoder import TableEncoder
from pacbayes.data.preprocessing import resolve_preprocessor

LAMBDAS = [0.05, 0.5, 5.0]


def mixed(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "colour": rng.choice(["red", "green", None], rows),
            "age": rng.integers(1, 9, rows),
        }
    )
    labels = np.where(frame["x"] + (frame["colour"] == "red") > 0.4, "yes", "no")
    frame.loc[rng.random(rows) < 0.1, "age"] = np.nan
    return TableEncoder(), frame, labels


def test_the_same_as_by_hand():
    prepare, X, y = mixed()
    found = svm_set(X, y, LAMBDAS, preprocessor=prepare, random_state=3)
    train, validation = found.splits(0)
    numbers = prepare.fit(X.iloc[train], y[train]).transform(X)
    by_hand = svm_set(numbers, y, LAMBDAS, random_state=3)
    np.testing.assert_array_equal(found.errors, by_hand.errors)
    np.testing.assert_array_equal(found.predict(X), by_hand.predict(numbers))
    for i in range(len(LAMBDAS)):
        wrong = found[i].predict(X.iloc[validation]) != y[validation]
        assert np.count_nonzero(wrong) == found.errors[i]


def test_validation_rows_change_nothing_that_is_fitted():
    prepare, X, y = mixed()
    first = svm_set(X, y, LAMBDAS, preprocessor=prepare, random_state=3)
    other = X.copy()
    validation = first.splits(0)[1]
    other.loc[validation, "colour"] = "never seen"
    other.loc[validation, ["x", "age"]] = [1e6, np.nan]
    second = svm_set(other, y, LAMBDAS, preprocessor=prepare, random_state=3)
    assert (first.errors != second.errors).any()
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    np.testing.assert_array_equal(first[1][-1].support_vectors_, second[1][-1].support_vectors_)


def test_a_transformer_that_sees_more_is_noticed():
    """The spy counts the rows it is fitted on: what the test above would miss if nothing depended on them."""

    seen = []

    class Spy(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            seen.append((len(X), len(y)))
            return self

        def transform(self, X):
            return X

    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 2
    StochasticSVC(LAMBDAS, preprocessor=Spy(), validation_size=20, random_state=0).fit(X, y)
    assert seen == [(30, 30)]


def test_estimator_with_mixed_columns(tmp_path):
    prepare, X, y = mixed(300)
    clf = StochasticSVC(LAMBDAS, preprocessor=prepare, random_state=0).fit(X, y)
    assert clf.feature_names_in_.tolist() == ["x", "colour", "age"]
    assert clf.score(X, y) > 0.7
    assert not hasattr(prepare, "schema_")
    digest = save(clf, tmp_path / "model")
    again = load(tmp_path / "model", sha256=digest)
    for voting in ("stochastic", "majority", "best"):
        np.testing.assert_array_equal(
            again.set_params(voting=voting).predict(X), clf.set_params(voting=voting).predict(X)
        )


def test_wrong_transformers_are_refused():
    _, X, y = mixed()
    for wrong in ("one-hot", MinMaxScaler, 3):
        with pytest.raises(TypeError, match="preprocessor must be an unfitted scikit-learn transformer or None"):
            svm_set(X, y, LAMBDAS, preprocessor=wrong)
    with pytest.raises(ValueError, match="preprocessor must be None with split='independent'"):
        StochasticSVC(LAMBDAS, preprocessor=MinMaxScaler(), split="independent").fit(X, y)

    class Shorter(MinMaxScaler):
        def transform(self, X):
            return super().transform(X)[1:]

    with pytest.raises(ValueError, match="preprocessor must keep every row, got 59 of 60"):
        svm_set(X[["x"]].to_numpy(), y, LAMBDAS, preprocessor=Shorter())


def test_what_was_fitted_before_is_refused():
    """Labels of pure noise were certified at 1.1 %: a frozen tree knew all of them."""
    X = np.random.default_rng(0).normal(size=(120, 2))
    y = np.random.default_rng(1).integers(0, 2, 120)
    frozen = FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(X, y))
    for model in (
        certified(CalibratedClassifierCV(frozen), {"method": ["sigmoid", "isotonic"]}),
        certified(None, [DecisionTreeClassifier(), frozen]),
        certified(CalibratedClassifierCV(), {"estimator": [DecisionTreeClassifier(), frozen]}),
        certified(make_pipeline(FrozenEstimator(MinMaxScaler().fit(X)), SVC()), {"svc__C": [1.0]}),
        StochasticSVC([1.0], preprocessor=FrozenEstimator(MinMaxScaler().fit(X))),
        certified(VotingClassifier([("a", SVC())]), {"estimators": [[("f", frozen)]]}),
        certified(make_pipeline(SVC()), {"steps": [[("f", frozen)]]}),
        certified(GridSearchCV(make_pipeline(SVC()), {"svc": [frozen]}), {"cv": [2]}),
        certified(make_pipeline(FunctionTransformer(frozen.predict_proba), SVC()), {"svc__C": [1.0]}),
    ):
        with pytest.raises(ValueError, match="must be unfitted, but contains Frozen"):
            model.fit(X, y)


def test_names_that_are_whole_numbers_are_no_places():
    """An attack found columns exchanged without a word where names were numbers."""
    frame = pd.DataFrame({1: [0.5, 1.5, 2.5, 3.5], 0: ["a", "b", "a", "b"]})
    made = resolve_preprocessor("auto", frame).fit_transform(frame, [0, 1, 0, 1])
    np.testing.assert_array_equal(made[:, 0], frame[1])
    assert made.shape == (4, 3)


def test_texts_with_pandas_own_gaps():
    """What convert_dtypes() makes of a text with gaps: scikit-learn's encoders refuse its NA."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    frame = pd.DataFrame({"a": np.where(y == 1, "x", "z"), "b": rng.normal(size=80)})
    frame.loc[::9, "a"] = None
    frame = frame.convert_dtypes()
    assert frame["a"].isna().any()
    clf = CertifiedClassifier(["svm", "boosting"], cv=3, random_state=0).fit(frame, y)
    assert clf.certificate_.bound < 0.4
    assert clf.predict(frame.iloc[:3]).tolist() == clf.predict(frame).tolist()[:3]
