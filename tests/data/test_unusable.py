"""Missing values, dates, text and missing labels: the error says where they are and what to do, and that works."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.data.certified import certified
from tests.estimators.models import fitted, two_classes

from pacbayes import StochasticSVC
from pacbayes.data.preprocessing import check_finite

GRID = {"C": [0.1, 1.0]}
PATIENT = LogisticRegression(max_iter=10_000)
IMPUTED = make_pipeline(SimpleImputer(), PATIENT)
IMPUTED_GRID = {"logisticregression__C": [0.1, 1.0]}


def holed(frame=False):
    X, y = two_classes()
    X = X[:, :4].copy()
    X[7, 2] = X[30, 0] = np.nan
    return (pd.DataFrame(X, columns=["a", "b", "size", "d"]) if frame else X), y


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (StochasticSVC([0.1, 1.0]), r"NaN in row 7, column 2 \(2 missing\).*preprocessor=SimpleImputer\(\)"),
        (
            StochasticSVC([0.1, 1.0], split="independent"),
            r"column 2 .*\(split='shared', preprocessor=SimpleImputer\(\)\)",
        ),
        (
            StochasticSVC([0.1, 1.0], preprocessor=SimpleImputer(missing_values=-1.0)),
            r"contains NaN.*preprocessor=SimpleImputer",
        ),
        # Wherever the division puts the two missing values: among validation rows, and training rows.
        *(
            (
                certified(PATIENT, GRID, random_state=seed),
                r"X contains NaN\. Impute missing values .*CertifiedClassifier\(make_pipeline\(SimpleImputer\(\), "
                r"LogisticRegression\(\)\)\), with logisticregression__ before the names in a Grid",
            )
            for seed in (0, 2)
        ),
        (certified(make_pipeline(PATIENT), {"logisticregression__C": [1.0]}), "first step of the pipeline"),
        (certified(None, [PATIENT]), "around each estimator of the list"),
        # No line of the original message is lost.
        (certified(PATIENT, GRID), r"(?s)make_pipeline\(SimpleImputer\(\).*HistGradientBoostingClassifier"),
    ],
)
def test_missing_values_are_named_with_a_remedy(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*holed())


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        StochasticSVC([0.1, 1.0], preprocessor=SimpleImputer(), random_state=0),
        certified(IMPUTED, IMPUTED_GRID),
        certified(HistGradientBoostingClassifier(max_iter=3), {"max_depth": [1, 2]}),
    ],
)
def test_what_takes_missing_values_gets_them(model, frame):
    X, y = holed(frame)
    assert model.fit(X, y).predict(X).shape == y.shape


@pytest.mark.parametrize("method", ["predict", "vote_share"])
def test_missing_values_in_prediction(method):
    X, y = two_classes()
    clf = certified(LogisticRegression(solver="liblinear"), GRID).fit(X[:, :4], y)
    for rows in (np.asarray, sp.csr_matrix):
        with pytest.raises(ValueError, match=r"make_pipeline\(SimpleImputer\(\), LogisticRegression\(\)\)"):
            getattr(clf, method)(rows(holed()[0]))
    X = X.copy()
    X[0, 3] = np.nan
    with pytest.raises(ValueError, match=r"NaN in row 0, column 3 .*preprocessor=SimpleImputer"):
        getattr(fitted("svc", two_classes), method)(X)


def test_infinities_are_no_missing_values_and_large_numbers_are_numbers():
    X, y = two_classes()
    X = X.copy()
    X[5, 1] = -np.inf
    with pytest.raises(ValueError, match=r"got -inf in row 5, column 1\. Replace infinities"):
        StochasticSVC([0.1, 1.0]).fit(X, y)
    X = np.full((10, 2), 1e308)  # the sum of which is not finite
    check_finite(X, X, "")
    X[9, 1] = np.inf
    with pytest.raises(ValueError, match="got inf in row 9, column 1"):
        check_finite(X, X, "")


RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {"a": RNG.normal(size=60), "day": pd.date_range("2024-01-01", periods=60), "colour": ["red", "blue"] * 30}
)
Y = np.array([0, 1] * 30)
MODELS = {
    "svc": lambda: StochasticSVC([0.1, 1.0], random_state=0),
    "grid": lambda: certified(LogisticRegression(), GRID),
}
ENCODER = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough")


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("dtype", [object, "category"])
def test_dates_and_text_are_named(kind, dtype):
    with pytest.raises(ValueError, match=r"column 'day' of X holds dates or times \('2024-01-01.*to numbers"):
        MODELS[kind]().fit(ROWS[["a", "day"]], Y)
    rows = ROWS[["a", "colour"]].astype({"colour": dtype})
    advice = r"preprocessor=\.\.\." if kind == "svc" else "pipeline"
    with pytest.raises(ValueError, match=rf"column 'colour' of X holds strings \('red'\).*{advice}.*\['colour'\]"):
        MODELS[kind]().fit(rows, Y)
    with pytest.raises(ValueError, match=r"column 1 of X holds strings \('red'\)"):
        MODELS[kind]().fit(rows.to_numpy(), Y)


def test_what_is_advised_works():
    rows = ROWS[["a", "colour"]]
    encoded = certified(make_pipeline(ENCODER, LogisticRegression()), IMPUTED_GRID)
    for model in (StochasticSVC([0.1, 1.0], preprocessor=ENCODER, random_state=0), encoded):
        assert model.fit(rows, Y).predict(rows).shape == (60,)


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
        MODELS[kind]().fit(ROWS[["a"]], labels)
