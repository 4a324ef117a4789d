"""Missing values where a classifier takes none: the message says where, and how to fill them in; and that works."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.estimators.models import fitted, two_classes

from pacbayes import CertifiedClassifier, Grid, StochasticSVC
from pacbayes.data.preprocessing import check_finite

GRID = {"C": [0.1, 1.0]}


def holed(frame=False):
    X, y = two_classes()
    X = X[:, :4].copy()
    X[7, 2] = X[30, 0] = np.nan
    return (pd.DataFrame(X, columns=["a", "b", "size", "d"]) if frame else X), y


def test_svc_in_fit_and_what_it_advises_works():
    X, y = holed(frame=True)
    with pytest.raises(ValueError, match=r"NaN in row 7, column 'size' \(2 missing\).*prepare=SimpleImputer\(\)"):
        StochasticSVC([0.1, 1.0]).fit(X, y)
    clf = StochasticSVC([0.1, 1.0], prepare=SimpleImputer(), random_state=0).fit(X, y)
    assert clf.predict(X).shape == y.shape


def test_svc_where_prepare_is_not_to_be_had():
    X, y = holed()
    with pytest.raises(ValueError, match=r"column 2 .*StochasticSVC\(split='shared', prepare=SimpleImputer\(\)\)"):
        StochasticSVC([0.1, 1.0], split="independent").fit(X, y)


def test_svc_with_a_prepare_that_leaves_them():
    X, y = holed()
    with pytest.raises(ValueError, match=r"contains NaN.*prepare=SimpleImputer"):
        StochasticSVC([0.1, 1.0], prepare=SimpleImputer(missing_values=-1.0)).fit(X, y)


@pytest.mark.parametrize("method", ["predict", "vote_share"])
def test_svc_in_prediction(method):
    X, _ = two_classes()
    X = X.copy()
    X[0, 3] = np.nan
    with pytest.raises(ValueError, match=r"NaN in row 0, column 3 .*prepare=SimpleImputer"):
        getattr(fitted("svc", two_classes), method)(X)


def test_infinities_are_no_missing_values():
    X, y = two_classes()
    X = X.copy()
    X[5, 1] = -np.inf
    with pytest.raises(ValueError, match=r"got -inf in row 5, column 1\. Replace infinities"):
        StochasticSVC([0.1, 1.0]).fit(X, y)


def test_large_numbers_are_numbers():
    X = np.full((10, 2), 1e308)  # the sum of which is not finite
    check_finite(X, X, "")
    X[9, 1] = np.inf
    with pytest.raises(ValueError, match="got inf in row 9, column 1"):
        check_finite(X, X, "")


@pytest.mark.parametrize("seed", [0, 2], ids=["validation rows", "training rows"])
def test_classifier_in_fit_and_what_it_advises_works(seed):
    """Wherever the division puts the two gaps."""
    X, y = holed()
    advised = (
        r"X contains NaN\. Fill missing values in .*CertifiedClassifier\(make_pipeline\(SimpleImputer\(\), "
        r"LogisticRegression\(\)\)\), with logisticregression__ before the names in a Grid"
    )
    with pytest.raises(ValueError, match=advised):
        CertifiedClassifier(
            Grid(LogisticRegression(max_iter=10_000), GRID),
            random_state=seed,
            voting="stochastic",
            cv=3,
            validation_size=0.5,
        ).fit(X, y)
    pipeline = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=10_000))
    grid = {f"logisticregression__{name}": values for name, values in GRID.items()}
    clf = CertifiedClassifier(
        Grid(pipeline, grid), random_state=seed, voting="stochastic", cv=3, validation_size=0.5
    ).fit(X, y)
    assert clf.predict(X).shape == y.shape


def test_classifier_in_a_pipeline_and_in_a_list():
    X, y = holed()
    patient = LogisticRegression(max_iter=10_000)
    with pytest.raises(ValueError, match="first step of the pipeline"):
        CertifiedClassifier(
            Grid(make_pipeline(patient), {"logisticregression__C": [1.0]}),
            random_state=0,
            voting="stochastic",
            cv=3,
            validation_size=0.5,
        ).fit(X, y)
    with pytest.raises(ValueError, match="around each estimator of the list"):
        CertifiedClassifier(Grid(None, [patient]), random_state=0, voting="stochastic", cv=3, validation_size=0.5).fit(
            X, y
        )


@pytest.mark.parametrize("method", ["predict", "vote_share"])
@pytest.mark.parametrize("rows", [lambda X: X, sp.csr_matrix])
def test_classifier_in_prediction(method, rows):
    X, y = two_classes()
    clf = CertifiedClassifier(
        Grid(LogisticRegression(solver="liblinear"), GRID),
        random_state=0,
        voting="stochastic",
        cv=3,
        validation_size=0.5,
    ).fit(X[:, :4], y)
    with pytest.raises(ValueError, match=r"make_pipeline\(SimpleImputer\(\), LogisticRegression\(\)\)"):
        getattr(clf, method)(rows(holed()[0]))


def test_classifiers_that_take_missing_values_get_them():
    X, y = holed()
    clf = CertifiedClassifier(
        Grid(HistGradientBoostingClassifier(max_iter=3), {"max_depth": [1, 2]}),
        random_state=0,
        voting="stochastic",
        cv=3,
        validation_size=0.5,
    )
    assert clf.fit(X, y).predict(X).shape == y.shape


def test_other_errors_stay_what_they_are():
    X, y = holed()
    with pytest.raises(ValueError, match="could not be fitted") as caught:
        CertifiedClassifier(
            Grid(LogisticRegression(solver="none such"), GRID), voting="stochastic", cv=3, validation_size=0.5
        ).fit(SimpleImputer().fit_transform(X), y)
    assert "SimpleImputer" not in str(caught.value)


def test_a_column_that_new_rows_lack_is_not_called_a_missing_value():
    X, y = holed(frame=True)
    clf = CertifiedClassifier(
        Grid(
            make_pipeline(SimpleImputer(), LogisticRegression(max_iter=10_000)), {"logisticregression__C": [0.1, 1.0]}
        ),
        random_state=0,
        voting="stochastic",
        cv=3,
        validation_size=0.5,
    ).fit(X, y)
    with pytest.raises(ValueError, match=r"(?s)yet now missing:\n- size") as caught:
        clf.predict(X.drop(columns="size"))
    assert "SimpleImputer" not in str(caught.value)


def test_no_line_of_the_original_message_is_lost():
    X, y = holed()
    with pytest.raises(ValueError, match=r"(?s)make_pipeline\(SimpleImputer\(\).*HistGradientBoostingClassifier"):
        CertifiedClassifier(
            Grid(LogisticRegression(max_iter=10_000), GRID),
            random_state=0,
            voting="stochastic",
            cv=3,
            validation_size=0.5,
        ).fit(X, y)
