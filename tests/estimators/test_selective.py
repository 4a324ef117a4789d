"""Bounds by class and slice, and selective classification, in both estimators and in files."""

import json
from html import escape

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import LAMBDAS, two_classes
from tests.files.model_files import Forged

from pacbayes import Abstain, CertifiedClassifier, Grid, StochasticSVC, load, save
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.certify import abstention_counts

VOTINGS = ("soft", "stochastic", "majority", "best")


def svc(**params):
    return StochasticSVC(LAMBDAS[::4], **{"hedge": 0.1, "cv": 3, "random_state": 0} | params)


def trees(**params):
    grid = {"max_depth": [2, 4], "min_samples_leaf": [1, 5]}
    return CertifiedClassifier(Grid(DecisionTreeClassifier(), grid), random_state=0, cv=3, **params)


@pytest.fixture(scope="module")
def with_metrics():
    X, y = two_classes()
    return svc(metrics=("error",)).fit(X, y, slices=np.where(X[:, 0] > 14, "large", "small"))


@pytest.fixture(scope="module")
def with_max_error():
    return svc(max_error=0.05).fit(*two_classes())


@pytest.mark.parametrize("voting", VOTINGS)
def test_bounds_by_class_and_slice_are_those_of_the_rule(voting, with_metrics):
    X, y = two_classes()
    rows = with_metrics.classifiers_.splits(0)[1]
    wrong = with_metrics.set_params(voting=voting).predict(X[rows]) != y[rows]
    certificate = with_metrics.certificate_
    parts = [y[rows] == 0, y[rows] == 1, X[rows, 0] > 14, X[rows, 0] <= 14]
    assert [metric.of for metric in certificate.metrics] == [0, 1, "large", "small"]
    level = 0.2 * certificate.level / 0.8 / 4  # for two classes and two slices
    for metric, part in zip(certificate.metrics, parts, strict=True):
        assert (metric.rows, metric.count) == (part.sum(), (wrong & part).sum())
        assert metric.bound == pytest.approx(float(binomial_upper(metric.count, metric.rows, level)), rel=1e-9)
    assert certificate.delta == 0.05
    # All bounds together use the rule's share of delta.
    assert certificate.level <= 0.05 * (1.0 if voting == "soft" else 0.9) * 0.8
    assert "Class 0 (false positives)" in certificate.explain()
    assert json.loads(json.dumps(certificate.to_dict()))["metrics"][0]["rows"] == parts[0].sum()
    card = certificate._repr_html_()
    for metric in certificate.metrics:
        assert escape(metric.sentence) in card


def test_occam_rule_bounds_metrics_at_its_prior_share():
    # Nearly all of delta is for choices made on the validation set.
    X, y = two_classes()
    clf = trees(metrics=("error",), metrics_share=0.5, hedge=0.9999, voting="best").fit(X, y)
    certificate = clf.certificate_
    assert certificate.rule == "Occam"
    first = certificate.metrics[0]
    level = 0.5 * (certificate.level / 0.5) / len(clf.classifiers_) / 2
    assert first.bound == pytest.approx(float(binomial_upper(first.count, first.rows, level)), rel=1e-6)
    assert sum(metric.count for metric in certificate.metrics) == clf.classifiers_.errors[clf.best_index_]


@pytest.mark.parametrize("voting", VOTINGS)
def test_maximum_error_is_tested_on_accepted_rows(voting, with_max_error):
    X, y = two_classes()
    clf = with_max_error.set_params(voting=voting)
    rows = clf.classifiers_.splits(0)[1]
    accepted, wrong = clf.accepts(X[rows]), clf.predict(X[rows]) != y[rows]
    result = clf.certificate_.decision
    assert (result.accepted, result.errors) == (accepted.sum(), wrong[accepted].sum())
    assert float(binomial_upper(result.errors, result.accepted, 0.05)) <= 0.05 == clf.certificate_.bound
    assert clf.certificate_.rule == "primary"
    assert clf.certificate_.level == clf.delta_ == 0.05
    assert "on the examples that it accepts is at most" in clf.certificate_.sentence
    assert "Not jointly, on all examples" in clf.certificate_.explain()
    stored = json.loads(json.dumps(clf.certificate_.to_dict(), allow_nan=False))["decision"]
    assert (stored["accepted"], stored["errors"], stored["max_error"]) == (result.accepted, result.errors, 0.05)


class NanClassifier(ClassifierMixin, BaseEstimator):
    """Classifier with NaN probabilities for rows that it predicts correctly; overwrites its input."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        y_pred = (X[:, 0] > self.shift).astype(int)
        X[:] = np.nan
        return y_pred

    def predict_proba(self, X):
        second = np.where(X[:, 1] > 0, np.nan, 1 / (1 + np.exp(self.shift - X[:, 0])))
        X[:] = np.nan
        return np.column_stack([1 - second, second])


def rows_with_nan_scores(n, rng):
    X = rng.normal(size=(n, 2))
    flipped = (X[:, 1] <= 0) & (rng.random(n) < 0.15)
    return X, np.where(flipped, X[:, 0] <= 0, X[:, 0] > 0).astype(int)


def test_rows_with_nan_probabilities_are_uninformative():
    X, y = rows_with_nan_scores(2000, np.random.default_rng(0))
    before = X.copy()
    family = Grid(NanClassifier(), {"shift": [0.0, 1e-9]})
    clf = CertifiedClassifier(family, decision=Abstain(0.25), random_state=0, cv=3).fit(X, y)
    plan, predictions, rows = clf._fitted.plan, clf._fitted.predictions, clf.classifiers_.splits(0)[1]
    probabilities = clf.set_params(voting="soft").predict_proba(X[rows])[X[rows, 1] > 0]
    assert len(np.unique(probabilities, axis=0)) == 1
    assert np.abs(probabilities - 0.5).max() < 0.05
    for voting in clf.certificates_:
        assert abstention_counts(plan, predictions, voting)[0][-1] == rows.size
        accepted, result = clf.set_params(voting=voting).accepts(X[rows]), clf.certificate_.decision
        wrong = clf.predict(X[rows]) != y[rows]
        assert (result.accepted, result.errors) == (accepted.sum(), wrong[accepted].sum())
        assert result.passed
    assert np.array_equal(X, before)


def test_draws_of_the_primary_rule_depend_on_the_key():
    # The posterior has the smaller bound, but the decision is for the primary rule.
    clf = svc(max_error=0.1, hedge=0.999999).fit(*two_classes())
    certificate = clf.certificates_["stochastic"]
    assert certificate.alternatives[0].rule == "posterior"
    assert any("draws of this key" in assumption for assumption in certificate.assumptions)
    assert not any("average over random draws" in assumption for assumption in certificate.assumptions)


def test_infinite_threshold_is_valid_json(tmp_path):
    clf = svc(max_error=np.float32(0.5)).fit(*two_classes())
    assert clf.certificate_.decision.threshold == -np.inf
    decision = json.loads(json.dumps(clf.certificate_.to_dict(), allow_nan=False))["decision"]
    assert (decision["threshold"], decision["passed"], decision["acceptance_rate"]) == (None, True, 1.0)
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").certificates_ == clf.certificates_


def test_accepted_rows_do_not_depend_on_the_batch(with_max_error):
    X, _ = two_classes()
    clf = with_max_error.set_params(voting="majority")
    accepted = clf.accepts(X)
    assert 0.3 < accepted.mean() < 1.0
    assert np.array_equal(clf.accepts(X[::-1])[::-1], accepted)
    assert np.array_equal([clf.accepts(X[i : i + 1])[0] for i in range(25)], accepted[:25])


# The metric "error" in a file.
ERROR = {"@": "MetricSpec", "name": "error", "of": None, "cost": None, "bets": {"@": "tuple", "values": []}}


@pytest.mark.parametrize(
    ("model", "place", "edit"),
    [
        ("with_max_error", "plan.thresholds.values", lambda values: np.where(values == values[0], np.nan, values)),
        ("with_max_error", "plan.thresholds.values", lambda values: values[:-1]),
        ("with_max_error", "plan.thresholds.wrong", lambda wrong: wrong + 300),
        ("with_max_error", "plan.decision", lambda decision: decision | {"max_error": 7.0}),
        ("with_max_error", "plan.metrics", lambda metrics: metrics | {"values": [ERROR]}),
        ("with_max_error", "plan.metrics_share", lambda share: 1.5),
        ("with_max_error", "predictions.scores", lambda scores: scores[:-1]),
        ("with_max_error", "predictions.rule_predictions", lambda y_pred: 1 - y_pred),
        ("with_metrics", "predictions.rule_predictions", lambda y_pred: 1 - y_pred),
        ("with_metrics", "predictions.slices", lambda slices: slices[:-1]),
        ("with_metrics", "plan.slices", lambda names: ("large",)),
    ],
)
def test_invalid_files_are_rejected(model, place, edit, request, tmp_path):
    forged = Forged.of(request.getfixturevalue(model))
    forged[place] = edit(forged[place])
    with pytest.raises(ValueError, match="is not a model saved by pacbayes"):
        load(forged.write(tmp_path / "model"))


def test_decision_follows_from_stored_scores(with_max_error, tmp_path):
    assert with_max_error.certificate_.decision.passed
    forged = Forged.of(with_max_error)
    forged["predictions.scores"] = np.full_like(forged["predictions.scores"], -np.inf)
    certificate = load(forged.write(tmp_path / "model")).certificate_
    assert (certificate.decision.threshold, certificate.decision.accepted, certificate.bound) == (None, 0, 1.0)
