"""Decision thresholds: predictions, sentences, files, reports and plots."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression

from pacbayes import CertifiedClassifier, Grid, Threshold

GRID = Grid(LogisticRegression(), {"C": [0.1, 1.0]})


def rows(n=900, seed=0):
    X, y = make_classification(n, 6, n_informative=4, weights=[0.7], class_sep=1.0, random_state=seed)
    return X, np.where(y == 1, "late", "punctual")


def fitted(decision, **options):
    params = {"decision": decision, "pos_label": "late", "cv": 3, "random_state": 0} | options
    return CertifiedClassifier(GRID, **params)


@pytest.fixture(scope="module")
def model():
    return fitted(Threshold(recall=0.8)).fit(*rows())


def test_threshold_changes_predictions_only(model):
    X, _ = rows()
    plain = fitted(None).fit(*rows())
    assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))
    late = model.predict_proba(X)[:, 0] >= model.certificate_.decision.threshold
    assert np.array_equal(model.predict(X), np.where(late, "late", "punctual"))
    assert not np.array_equal(model.predict(X), plain.predict(X))


def test_observed_counts(model):
    X, y = rows()
    validation = model.classifiers_.splits(0)[1]
    y_pred, y_true, result = model.predict(X[validation]), y[validation], model.certificate_.decision
    assert result.m == validation.size
    assert result.positives == (y_true == "late").sum()
    assert result.predicted_positives == (y_pred == "late").sum()
    assert result.true_positives == ((y_pred == "late") & (y_true == "late")).sum()
    assert model.certificate_.empirical_risk == pytest.approx((y_pred != y_true).mean())


def test_thresholds_do_not_depend_on_validation_rows(model):
    X, y = rows()
    plan = model._fitted.plan
    validation = plan.split.validation_rows
    rng = np.random.default_rng(1)
    other_X, other_y = X.copy(), y.copy()
    other_X[validation] = 10 * rng.normal(size=(validation.size, X.shape[1]))
    other_y[validation] = rng.permutation(y[validation])
    other = fitted(Threshold(recall=0.8)).fit(other_X, other_y)._fitted.plan
    for name in ("values", "predicted_positives", "true_positives"):
        assert np.array_equal(getattr(plan.thresholds, name), getattr(other.thresholds, name))


@pytest.mark.parametrize("pos_label", [None, "late"])
def test_positive_class(pos_label):
    clf = fitted(Threshold(recall=0.8), pos_label=pos_label).fit(*rows())
    assert clf.certificate_.decision.positive == (pos_label or "punctual")


@pytest.mark.parametrize(
    ("share", "why"),
    [
        (0.95, r"At the first threshold tested, .* and its precision at least .*\. This is information"),
        # 131 of 450 validation rows are late: .05 ** (1 / 131) = .9774, and log(.05) / log(.99) = 298.1.
        (
            0.99,
            r"requires at least 299 .* class 'late', but there are 131; the best possible bound is .*97\.7 %",
        ),
    ],
)
def test_no_threshold_passes(share, why):
    X, y = rows()
    clf = fitted(Threshold(recall=share, precision=share)).fit(X, y)
    sentence = clf.certificate_.sentence
    words = f"the recall of class 'late' is at least {100 * share:.1f} %"
    assert sentence.startswith(f"No threshold could be certified at which {words}")
    assert re.search(why, sentence), sentence
    assert "Observed" not in str(clf.certificate_)
    assert clf.certificate_.vacuous
    assert np.array_equal(clf.predict(X), fitted(None).fit(X, y).predict(X))


def test_three_classes_are_rejected():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"Threshold\(\.\.\.\) requires two classes, got 3"):
        fitted(Threshold(recall=0.8), pos_label=None).fit(X, y)
