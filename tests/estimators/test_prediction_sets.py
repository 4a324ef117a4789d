"""`PredictionSet` in estimators: sets of new rows, finished models, files, and what is rejected."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB

from pacbayes import Abstain, CertifiedClassifier, PredictionSet, certify_sets, load, save

SETS = PredictionSet(0.9)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:700], np.array(list("abcdefghij"))[y[:700]]


@pytest.fixture(scope="module")
def clf(digits):
    return CertifiedClassifier("logistic", decision=SETS, cv=2, random_state=0).fit(*digits)


def test_sets_contain_the_prediction_and_the_likely_classes(clf, digits):
    X = digits[0]
    sets, probabilities = clf.predict_set(X), clf.predict_proba(X)
    assert sets.shape == (700, 10)
    assert sets[np.arange(700), clf.classes_.searchsorted(clf.predict(X))].all()
    (q,) = set(clf.certificate_.decision.thresholds)
    assert (sets == (probabilities >= q) | (probabilities == probabilities.max(axis=1, keepdims=True))).all()
    assert (clf.predict_set(X[:1]) == sets[:1]).all()
    assert (clf.voting_, clf.hedge_, clf.certificate_.bound) == ("soft", 0.0, 1.0)


def test_files_keep_the_sets(clf, digits, tmp_path):
    save(clf, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.predict_set(digits[0]) == clf.predict_set(digits[0])).all()
    assert loaded.certificate_ == clf.certificate_


@pytest.mark.parametrize("by_class", [False, True])
def test_finished_models_have_the_sets_of_their_probabilities(digits, by_class):
    (X, y), decision = digits, PredictionSet(0.8, by_class)
    fitted = LogisticRegression(max_iter=1000).fit(X[:300], y[:300])
    clf = CertifiedClassifier.from_fitted(fitted, X[300:], y[300:], decision=decision, random_state=0)
    table = certify_sets(y[300:], fitted.predict_proba(X[300:]), fitted.classes_, coverage=0.8, by_class=by_class)
    # Probabilities are rounded before and after they are normalised.
    near, q = 4 * 2.0**-20, np.array(table.decision.thresholds)
    assert np.abs(clf.certificate_.decision.thresholds - q).max() <= near
    probabilities = fitted.predict_proba(X)
    clear = np.abs(probabilities - q) > near
    assert (clf.predict_set(X) == table.decision.predict_set(probabilities))[clear].all()
    assert clear.mean() > 0.95
    assert clf.certificate_.sentence == table.sentence
    assert (clf.predict(X) == fitted.predict(X)).all()


def test_several_finished_models_predict_with_their_mean_probabilities(digits):
    X, y = digits
    fitted = [LogisticRegression(max_iter=1000).fit(X[:300], y[:300]), GaussianNB().fit(X[:300], y[:300])]
    options = {"decision": SETS, "primary": [0.75, 0.25], "random_state": 0}
    clf = CertifiedClassifier.from_fitted(fitted, X[300:], y[300:], **options)
    mean = 0.75 * fitted[0].predict_proba(X) + 0.25 * fitted[1].predict_proba(X)
    assert np.abs(clf.predict_proba(X) - mean).max() < 1e-5
    assert clf.predict_set(X).any(axis=1).all()


def test_a_class_without_training_rows_is_in_no_set(digits):
    X, y = digits
    fitted = LogisticRegression(max_iter=1000).fit(X[:300][y[:300] != "d"], y[:300][y[:300] != "d"])
    few = np.arange(700) % 5 == 0
    rows = (np.arange(700) >= 300) & ((y != "d") | few)
    clf = CertifiedClassifier.from_fitted(fitted, X[rows], y[rows], decision=SETS, random_state=0)
    assert clf.certificate_.decision.passed
    assert not clf.predict_set(X)[:, 3].any()


def test_sets_need_the_decision(digits):
    X, y = digits
    clf = CertifiedClassifier("logistic", cv=2, random_state=0)
    assert not hasattr(clf, "predict_set")
    with pytest.raises(AttributeError, match="predict_set"):
        clf.fit(X[:200], y[:200]).predict_set(X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"voting": "majority"}, "requires the probabilities of the soft vote"),
        ({"hedge": 1}, "leaves no share of delta"),
        ({"cv": None}, "omits the cross-validation"),
        ({"metrics": ("recall",)}, "which uses all of delta"),
        ({"refit": True}, "refit"),
    ],
)
def test_rejected_combinations(params, message, digits):
    with pytest.raises(ValueError, match=message):
        CertifiedClassifier("logistic", decision=SETS, **params).fit(*digits)


def test_groups_are_rejected(digits):
    with pytest.raises(ValueError, match="requires independent rows"):
        CertifiedClassifier("logistic", decision=SETS).fit(*digits, groups=np.arange(700) // 2)


@pytest.mark.parametrize(
    ("estimators", "params", "message"),
    [
        ([Perceptron()], {"decision": SETS}, "predict_proba"),
        ([GaussianNB(), GaussianNB()], {"decision": SETS}, "there is no primary"),
        ([GaussianNB()], {"decision": Abstain(0.1)}, "the training rows of prefit classifiers are unknown"),
        ([GaussianNB()], {"decision": SETS, "voting": "best"}, "requires the probabilities of the soft vote"),
    ],
)
def test_rejected_finished_models(estimators, params, message, digits):
    X, y = digits
    fitted = [estimator.fit(X[:300], y[:300]) for estimator in estimators]
    with pytest.raises(ValueError, match=message):
        CertifiedClassifier.from_fitted(fitted, X[300:], y[300:], **params)


def test_no_batch_and_no_monitor(clf, digits):
    with pytest.raises(ValueError, match=r"only PredictionSet\(.*\) is certified"):
        clf.certify_batch(digits[0])
    with pytest.raises(ValueError, match="certificate of PredictionSet"):
        clf.monitor()
