"""Both estimators in scikit-learn: pipelines, searches, data frames, displays and metadata routing."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay, roc_auc_score
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score, cross_validate
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import by_draws, three_classes, two_classes, why_not

from pacbayes import CertifiedClassifier, Grid, StochasticSVC

LAMBDAS = [0.1, 1.0, 10.0]


@pytest.mark.parametrize("voting", ["stochastic"])
def test_pipeline_search_and_cross_validation(voting):
    X, y = three_classes()
    svc = StochasticSVC(LAMBDAS, voting=voting, random_state=0)
    assert cross_val_score(svc, X, y, cv=3).min() > 0.8
    assert make_pipeline(StandardScaler(), svc).fit(X, y).score(X, y) > 0.9
    search = GridSearchCV(svc, {"gamma": [0.1, "sigest"], "distance": ["kl", ["kl", "ch"]]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.8
    expected = StochasticSVC(LAMBDAS, voting=voting, random_state=0, **search.best_params_).fit(X, y)
    assert search.best_estimator_.certificate_ == expected.certificate_


@pytest.fixture
def figures():
    pytest.importorskip("matplotlib").use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    yield
    plt.close("all")


MODELS = [
    CertifiedClassifier("logistic", cv=3, random_state=0),
    StochasticSVC(LAMBDAS, voting="majority", random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_calibration_and_roc_curves(model, figures):
    X, y = two_classes()
    names, test = np.where(y == 1, "good", "bad"), slice(400, None)
    clf = clone(model).fit(X[:400], names[:400])
    probabilities = clf.predict_proba(X[test])[:, 1]
    display = CalibrationDisplay.from_estimator(clf, X[test], names[test], pos_label="good", n_bins=4)
    expected = calibration_curve(names[test] == "good", probabilities, n_bins=4)
    np.testing.assert_array_equal([display.prob_true, display.prob_pred], expected)
    area = roc_auc_score(names[test], probabilities)
    roc = RocCurveDisplay.from_estimator(clf, X[test], names[test], pos_label="good")
    assert np.trapezoid(roc.tpr, roc.fpr) == pytest.approx(area, rel=1e-12)
    assert area > 0.9
    assert cross_val_score(model, X, y, cv=2, scoring="roc_auc", error_score="raise").min() > 0.9


@pytest.mark.parametrize("labels", [["bad", "good"], [1, 0]])
def test_decision_function_of_a_single_classifier(labels, figures):
    X, y = two_classes()
    names = np.array(labels)[y]
    svm = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X[:300], names[:300])
    clf = CertifiedClassifier.from_fitted(svm, X[300:], names[300:])
    assert not hasattr(clf, "predict_proba")
    np.testing.assert_array_equal(clf.decision_function(X), svm.decision_function(X))
    np.testing.assert_array_equal(clf.classes_[(clf.decision_function(X) > 0).astype(int)], clf.predict(X))
    assert RocCurveDisplay.from_estimator(clf, X, names).roc_auc > 0.9
    # The classifier may lack a class of the validation set.
    X, y = three_classes()
    two = LinearSVC(random_state=0).fit(X[:100], y[:100])
    clf = CertifiedClassifier.from_fitted(two, X, y)
    values = clf.decision_function(X)
    assert values.shape == (150, 3)
    np.testing.assert_array_equal(clf.classes_[values.argmax(axis=1)], clf.predict(X))


def test_missing_decision_function_is_explained():
    X, y = two_classes()
    clf = StochasticSVC(LAMBDAS, voting="best", random_state=0)
    assert not hasattr(clf, "decision_function")
    clf.fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X), clf.best_estimator_.decision_function(X))
    assert cross_val_score(clf, X, y, cv=2, scoring="roc_auc", error_score="raise").min() > 0.9
    for voting in ("stochastic", "majority"):
        assert "requires a fitted model whose voting_ is 'best'" in why_not(
            clf.set_params(voting=voting), "decision_function"
        )
    tree = CertifiedClassifier.from_fitted(DecisionTreeClassifier().fit(X[:300], y[:300]), X[300:], y[300:])
    assert "DecisionTreeClassifier, the classifier that predicts, has no decision" in why_not(tree, "decision_function")
    params = {"cv": 3, "voting": "best", "refit": True, "random_state": 0}
    refitted = CertifiedClassifier(LogisticRegression(max_iter=5000), preprocessor=StandardScaler(), **params).fit(X, y)
    assert hasattr(refitted.best_estimator_, "decision_function")
    assert "not available after a refit" in why_not(refitted, "decision_function")


@pytest.mark.parametrize("prefit", [False, True])
def test_tuned_threshold_has_no_certificate(prefit):
    X, y = two_classes()
    clf = clone(MODELS[0])
    params = {"cv": "prefit", "refit": False} if prefit else {"cv": 2}
    tuned = TunedThresholdClassifierCV(clf.fit(X[:300], y[:300]) if prefit else clf, scoring="recall", **params)
    tuned.fit(X[300:], y[300:])
    assert not hasattr(tuned, "certificate_")
    positive = tuned.estimator_.predict_proba(X)[:, 1] >= tuned.best_threshold_
    np.testing.assert_array_equal(tuned.predict(X), positive.astype(int))
    # The certified classifier predicts other labels.
    assert (tuned.predict(X) != tuned.estimator_.predict(X)).any()


def test_feature_names():
    X, y = three_classes()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    for model in (
        StochasticSVC(LAMBDAS, random_state=0),
        by_draws(Grid(DecisionTreeClassifier(), {"max_depth": [1, 2]})),
    ):
        model.fit(frame, pd.Series(y))
        assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
        labels = model.predict(frame)
        assert set(labels) <= {"setosa", "versicolor", "virginica"}
        assert np.array_equal(model.predict(frame.iloc[::-1]), labels[::-1])
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"distance": ["kl", "l2"]}, ValueError, "unknown distance 'l2'"),
        ({"distance": "Catoni"}, ValueError, "unknown distance 'Catoni'"),
        ({"distance": "catoni(0)"}, ValueError, "C must be positive"),
        ({"distance": ["catoni", "catoni"]}, ValueError, "contains duplicates"),
        ({"distance": []}, TypeError, "distance must be"),
        ({"hedge": True}, TypeError, "hedge must be 'auto' or a number from 0 to 1, got True"),
        ({"delta": 1e-100, "hedge": 1e-300}, ValueError, r"^hedge \* delta must not underflow"),
        ({"delta": 5e-324, "hedge": 0.02}, ValueError, r"^hedge \* delta must not underflow"),
        ({"lambdas": [0.0]}, ValueError, "lambdas must be positive"),
        ({"metrics": ("recal",)}, ValueError, "did you mean 'recall'"),
    ],
)
def test_invalid_parameters_are_rejected_before_the_data(params, error, message):
    with pytest.raises(error, match=message):
        StochasticSVC(**({"lambdas": LAMBDAS} | params)).fit("no rows", "no labels")


INVALID = [
    *({"voting": value} for value in ("loud", None)),
    *({"delta": value} for value in (0, 1.0, True, np.nan, "0.1")),
    *({"validation_size": value} for value in ("half", 0, 1.0, 1.5, np.nan, None)),
    *({"duplicates": value} for value in ("drop", None)),
    *({"hedge": value} for value in (1.5, -0.1, "much", None, np.nan)),
    *({"prior": value} for value in ("flat", 5, None)),
    *({"distance": value} for value in (5, None)),
    *({"metrics": value} for value in ("recall", None)),
    *({"metrics_share": value} for value in (0, 1, True, "a")),
    *({"cv": value} for value in (1, 2.5, True, "5")),
    *({"n_jobs": value} for value in (1.5, "two")),
]
INVALID_BY_CLASS = {
    StochasticSVC: [
        {"split": "none"},
        {"constant": "best"},
        {"max_error": 1.5},
        {"max_error": True},
        {"preprocessor": "auto"},
    ],
    CertifiedClassifier: [
        *({"decision": value} for value in (0.02, "recall", {"recall": 0.9})),
        *({"refit": value} for value in ("yes", 1, None)),
        *({"preprocessor": value} for value in ("numbers", MultinomialNB())),
    ],
}


@pytest.mark.parametrize(
    ("kind", "params"), [(kind, value) for kind in INVALID_BY_CLASS for value in INVALID + INVALID_BY_CLASS[kind]]
)
def test_parameter_constraints_are_checked_before_the_data(kind, params):
    ((name, value),) = params.items()
    with pytest.raises(ValueError, match=f"^The '{name}' parameter of {kind.__name__} must be ") as caught:
        kind(**params).fit("no rows", "no labels")
    assert str(caught.value).endswith(f"Got {value!r} instead.")


def test_metadata_routing_of_groups():
    X, y = two_classes()
    groups, model = np.arange(y.size) // 4, StochasticSVC(LAMBDAS, random_state=0)
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y, groups=groups)
        last = pipeline[-1]
        assert last.certificate_.unit == "group"
        assert last.certificate_.m == last.classifiers_.splits.m < y.size // 4
        results = cross_validate(
            pipeline, X, y, params={"groups": groups}, cv=3, error_score="raise", return_estimator=True
        )
        assert [fitted[-1].certificate_.unit for fitted in results["estimator"]] == ["group"] * 3
    assert clone(model).fit(X, y).certificate_.unit == "example"
