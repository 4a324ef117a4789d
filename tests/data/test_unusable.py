"""Dates, text and missing labels: the error names the column and what to do, and that works."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.estimators.models import fitted, two_classes

from pacbayes import CertifiedClassifier, Grid, StochasticSVC

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {"a": RNG.normal(size=60), "day": pd.date_range("2024-01-01", periods=60), "colour": ["red", "blue"] * 30}
)
Y = np.array([0, 1] * 30)
MODELS = {
    "svc": lambda: StochasticSVC([0.1, 1.0], random_state=0),
    "grid": lambda: CertifiedClassifier(
        Grid(LogisticRegression(), {"C": [0.1, 1.0]}), random_state=0, voting="stochastic", cv=3, validation_size=0.5
    ),
}
ENCODER = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough")


@pytest.mark.parametrize("kind", MODELS)
def test_dates_are_named(kind):
    with pytest.raises(ValueError, match=r"column 'day' of X holds dates or times \('2024-01-01.*into numbers"):
        MODELS[kind]().fit(X[["a", "day"]], Y)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("dtype", [object, "category"])
def test_text_is_named(kind, dtype):
    rows = X[["a", "colour"]].astype({"colour": dtype})
    advice = r"prepare=\.\.\." if kind == "svc" else "pipeline"
    with pytest.raises(ValueError, match=rf"column 'colour' of X holds text \('red'\).*{advice}.*\['colour'\]"):
        MODELS[kind]().fit(rows, Y)
    with pytest.raises(ValueError, match=r"column 1 of X holds text \('red'\)"):
        MODELS[kind]().fit(rows.to_numpy(), Y)


def test_what_is_advised_works():
    rows = X[["a", "colour"]]
    assert StochasticSVC([0.1, 1.0], prepare=ENCODER, random_state=0).fit(rows, Y).predict(rows).shape == (60,)
    pipeline = make_pipeline(ENCODER, LogisticRegression())
    clf = CertifiedClassifier(
        Grid(pipeline, {"logisticregression__C": [0.1, 1.0]}),
        random_state=0,
        voting="stochastic",
        cv=3,
        validation_size=0.5,
    ).fit(rows, Y)
    assert clf.predict(rows).shape == (60,)


def test_other_errors_stay_as_they_are():
    with pytest.raises(ValueError, match=r"^Found input variables with inconsistent numbers of samples"):
        StochasticSVC([0.1, 1.0]).fit(X[["a", "day"]].to_numpy()[:, :1].astype(float), Y[:-1])


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    "labels",
    [
        np.where(Y == 1, np.nan, 0.0),
        pd.Series(["a", None] * 30),
        np.array(["a", None] * 30, dtype=object),
        ["a", None] * 30,
        pd.Series([0, None] * 30, dtype="Int64"),
    ],
)
def test_missing_labels_are_said_to_be_labels(kind, labels):
    with pytest.raises(ValueError, match=r"Input y contains NaN or None: row 1 has no label \(30 missing\)"):
        MODELS[kind]().fit(X[["a"]], labels)


def test_a_report_needs_a_path():
    with pytest.raises(TypeError, match=r"^report\(\) needs the path"):
        fitted("svc", two_classes).report()
