"""Bounds on the AUC of fitted models and of scores, and what is rejected."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

from pacbayes import CertifiedClassifier, certify_counts, certify_predictions, load, save


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:700], y[:700]


def fit(digits, classes=10, **params):
    X, y = digits
    return CertifiedClassifier("logistic", random_state=0, **({"cv": 2} | params)).fit(X, y % classes)


def test_one_class_against_the_rest(digits, tmp_path):
    clf = fit(digits, metrics=("auc", "recall"))
    bounds = {metric.of: metric for metric in clf.certificate_.metrics if metric.name == "auc"}
    validating = clf._fitted.plan.split.validation_rows
    y, probabilities = digits[1][validating], clf.predict_proba(digits[0][validating])
    for c, metric in bounds.items():
        observed = roc_auc_score(y == c, probabilities[:, c])
        assert metric.count / metric.rows == pytest.approx(observed, abs=1e-5)
        assert 0.5 < metric.bound < observed
    assert list(bounds) == list(range(10))
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").certificate_ == clf.certificate_


def test_two_classes_have_one_bound(digits):
    (metric,) = fit(digits, 2, metrics=("auc",)).certificate_.metrics
    (other,) = fit(digits, 2, metrics=("auc",), pos_label=0).certificate_.metrics
    assert (metric.of, other.of) == (1, 0)
    assert metric.bound == other.bound or abs(metric.bound - other.bound) < 0.05
    assert metric.count == pytest.approx(other.count, rel=1e-5)
    assert str(metric).startswith("AUC of class 1: at least ")


def test_only_the_soft_vote_has_an_auc(digits):
    clf = fit(digits, 2, metrics=("auc", "recall"))
    assert {metric.name for metric in clf.certificates_["majority"].metrics} == {"recall"}


def test_scores_of_finished_models(digits):
    X, y = digits[0], digits[1] % 2
    fitted = GaussianNB().fit(X[:300], y[:300])
    X, y = X[300:], y[300:]
    score, y_pred = fitted.predict_proba(X)[:, 1], fitted.predict(X)

    def bound(y_score, **params):
        (metric,) = certify_predictions(y, y_pred, y_score=y_score, metrics=("auc",), **params).metrics
        assert metric.count / metric.rows == pytest.approx(roc_auc_score(y, score))
        return metric.bound

    # Increasing functions of the scores have the same AUC.
    assert bound(score) == bound(2.0 * score) == bound(np.column_stack([-score, score]))
    assert bound(-score, pos_label=0) > 0.5


SWAPPED = pd.DataFrame(np.ones((4, 2)), columns=[1, 0])


@pytest.mark.parametrize("score", [[0.1] * 3, [[0.1] * 3] * 4, [np.nan] * 4, SWAPPED])
def test_invalid_scores(score):
    with pytest.raises(ValueError, match="y_score"):
        certify_predictions([0, 1, 0, 1], [0, 1, 1, 1], y_score=score, metrics=("auc",))


def test_scores_in_another_order_than_the_labels():
    y, score = pd.Series([0, 1, 0, 1]), pd.Series([0.1, 0.2, 0.3, 0.4])
    with pytest.raises(ValueError, match="y_true and y_score have the same index in different orders"):
        certify_predictions(y, y, y_score=score[::-1], metrics=("auc",))


def test_scores_are_for_the_auc():
    with pytest.raises(ValueError, match=r"y_score requires metrics=\('auc',\)"):
        certify_predictions([0, 1], [0, 1], y_score=[0.0, 1.0])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"voting": "majority"}, "requires probabilities or scores, but with voting='majority' there are none"),
        ({"cv": None}, "primary rule"),
        ({"refit": True}, "'auc': only means of losses carry over"),
    ],
)
def test_rejected_combinations(params, message, digits):
    with pytest.raises(ValueError, match=message):
        fit(digits, metrics=("auc",), **params)


def test_groups_and_counts_and_finished_models_without_scores_are_rejected(digits):
    X, y = digits
    with pytest.raises(ValueError, match="groups"):
        CertifiedClassifier("logistic", metrics=("auc",)).fit(X, y, groups=np.arange(700) // 2)
    with pytest.raises(ValueError, match="use certify_predictions with y_score"):
        certify_counts([[3, 1], [0, 4]], classes=["a", "b"], metrics=("auc",))
    fitted = GaussianNB().fit(X[:300], y[:300])
    with pytest.raises(ValueError, match="use certify_predictions with y_score"):
        CertifiedClassifier.from_fitted(fitted, X[300:], y[300:], metrics=("auc",))
