"""Errors by class, a target with abstention, and members below a target: in both estimators, saved and loaded."""

import json
from html import escape

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import LAMBDAS, three_classes, two_classes
from tests.files.model_files import Forged

from pacbayes import Abstain, CertifiedClassifier, Grid, StochasticSVC, load, save
from pacbayes._utils.words import percent_up
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.certify import threshold_counts

VOTINGS = ("soft", "stochastic", "majority", "best")


def svc(**params):
    return StochasticSVC(LAMBDAS[::4], **{"hedge": 0.1, "cv": 3, "random_state": 0} | params)


def trees(**params):
    grid = {"max_depth": [2, 4], "min_samples_leaf": [1, 5]}
    return CertifiedClassifier(Grid(DecisionTreeClassifier(), grid), random_state=0, cv=3, **params)


@pytest.fixture(scope="module")
def by_class():
    X, y = two_classes()
    return svc(metrics=("error",)).fit(X, y, slices=np.where(X[:, 0] > 14, "large", "small"))


@pytest.fixture(scope="module")
def with_target():
    return svc(max_error=0.05).fit(*two_classes())


@pytest.mark.parametrize("voting", VOTINGS)
def test_class_limits_are_those_of_what_predicts(voting, by_class):
    X, y = two_classes()
    rows = by_class.classifiers_.splits(0)[1]
    wrong = by_class.set_params(voting=voting).predict(X[rows]) != y[rows]
    certificate = by_class.certificate_
    parts = [y[rows] == 0, y[rows] == 1, X[rows, 0] > 14, X[rows, 0] <= 14]
    assert [one.of for one in certificate.metrics] == [0, 1, "large", "small"]
    for one, part in zip(certificate.metrics, parts, strict=True):
        assert (one.rows, one.count) == (part.sum(), (wrong & part).sum())
        level = 0.2 * certificate.level / 0.8 / 4  # half of it for two classes, half for two slices
        assert one.bound == pytest.approx(float(binomial_upper(one.count, one.rows, level)), rel=1e-9)
    assert certificate.delta == 0.05
    # The bound and all limits together have no more than the rule's share of delta.
    assert certificate.level <= 0.05 * (1.0 if voting == "soft" else 0.9) * 0.8
    assert "In class 0 (false positives)" in certificate.explain()
    assert json.loads(json.dumps(certificate.to_dict()))["metrics"][0]["rows"] == parts[0].sum()
    card = certificate._repr_html_()
    for one in certificate.metrics:
        assert escape(one.label) in card
        assert f"{percent_up(one.bound)} of it; {one.count} error" in card


def test_occam_that_wins_has_limits_at_the_share_of_its_prior_weight():
    # A proposal that is bad on the validation rows: nearly all of delta is kept for what these show.
    X, y = two_classes()
    clf = trees(metrics=("error",), metrics_share=0.5, hedge=0.9999, voting="best").fit(X, y)
    certificate = clf.certificate_
    assert certificate.rule == "Occam"
    first = certificate.metrics[0]
    level = 0.5 * (certificate.level / 0.5) / len(clf.classifiers_) / 2
    assert first.bound == pytest.approx(float(binomial_upper(first.count, first.rows, level)), rel=1e-6)
    assert sum(one.count for one in certificate.metrics) == clf.classifiers_.errors[clf.best_index_]


@pytest.mark.parametrize("voting", VOTINGS)
def test_the_target_is_tested_on_what_is_answered(voting, with_target):
    X, y = two_classes()
    clf = with_target.set_params(voting=voting)
    rows = clf.classifiers_.splits(0)[1]
    answers, labels = clf.accepts(X[rows]), clf.predict(X[rows])
    answered = clf.certificate_.decision
    assert (answered.rows, answered.errors) == (answers.sum(), (labels != y[rows])[answers].sum())
    assert float(binomial_upper(answered.errors, answered.rows, 0.05)) <= 0.05 == clf.certificate_.bound
    assert clf.certificate_.rule == "primary"
    assert clf.certificate_.level == clf.delta_ == 0.05
    assert "of the examples that it answers; it answered" in clf.certificate_.sentence
    assert "Not at once with it" in clf.certificate_.explain()
    stored = json.loads(json.dumps(clf.certificate_.to_dict(), allow_nan=False))["decision"]
    assert (stored["rows"], stored["errors"], stored["max_error"]) == (answered.rows, answered.errors, 0.05)


class HalfBlind(ClassifierMixin, BaseEstimator):
    """Says probabilities that are not numbers of some rows, where its answers are right; and writes into its rows."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        found = (X[:, 0] > self.shift).astype(int)
        X[:] = np.nan
        return found

    def predict_proba(self, X):
        second = np.where(X[:, 1] > 0, np.nan, 1 / (1 + np.exp(self.shift - X[:, 0])))
        X[:] = np.nan
        return np.column_stack([1 - second, second])


def half_blind_rows(n, rng):
    X = rng.normal(size=(n, 2))
    flipped = (X[:, 1] <= 0) & (rng.random(n) < 0.15)
    return X, np.where(flipped, X[:, 0] <= 0, X[:, 0] > 0).astype(int)


def test_of_rows_whose_probabilities_are_no_numbers_nothing_is_known():
    """They are no surer than the shares of the classes make them, and counted among the others."""
    X, y = half_blind_rows(2000, np.random.default_rng(0))
    before = X.copy()
    family = Grid(HalfBlind(), {"shift": [0.0, 1e-9]})
    clf = CertifiedClassifier(family, decision=Abstain(0.25), random_state=0, cv=3).fit(X, y)
    plan, predictions, rows = clf._fitted.plan, clf._fitted.predictions, clf.classifiers_.splits(0)[1]
    shares = clf.set_params(voting="soft").predict_proba(X[rows])
    blind = X[rows, 1] > 0
    assert len(np.unique(shares[blind], axis=0)) == 1
    assert np.abs(shares[blind] - 0.5).max() < 0.05
    for voting in clf.certificates_:
        counted, _ = threshold_counts(plan, predictions, voting)
        assert counted[-1] == rows.size
        answers, answered = clf.set_params(voting=voting).accepts(X[rows]), clf.certificate_.decision
        wrong = clf.predict(X[rows]) != y[rows]
        assert (answered.rows, answered.errors) == (answers.sum(), wrong[answers].sum())
        assert answered.passed
    assert np.array_equal(X, before)


def test_the_target_of_machines_on_landmarks():
    X, y = two_classes()
    machines = StochasticSVC([0.1, 1.0], kernel="nystroem", n_components=40, hedge=0.1, max_error=0.1, random_state=0)
    clf = machines.fit(X, y)
    assert clf.accepts(X).mean() > 0.5


def test_the_proposals_draws_are_those_of_its_key():
    # The posterior has the smaller bound; the target is about the proposal.
    clf = svc(max_error=0.1, hedge=0.999999).fit(*two_classes())
    certificate = clf.certificates_["stochastic"]
    assert certificate.alternatives[0].rule == "posterior"
    assert any("draws of this key" in one for one in certificate.assumptions)
    assert not any("average over the draws" in one for one in certificate.assumptions)


def test_a_target_that_every_example_meets_is_ready_for_json(tmp_path):
    clf = svc(max_error=np.float32(0.5)).fit(*two_classes())
    assert clf.certificate_.decision.threshold == -np.inf
    found = json.loads(json.dumps(clf.certificate_.to_dict(), allow_nan=False))["decision"]
    assert (found["threshold"], found["passed"], found["share"]) == (None, True, 1.0)
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").certificates_ == clf.certificates_


def test_what_is_set_after_fitting_changes_no_certificate():
    X, y = two_classes()
    clf = svc(max_error=0.05, voting="majority").fit(X, y)
    said, answers = clf.certificate_.sentence, clf.accepts(X)
    clf.set_params(max_error=0.5, metrics=("error",), metrics_share=0.3, delta=0.5, hedge=1)
    assert clf.certificate_.sentence == said
    assert np.array_equal(clf.accepts(X), answers)


def test_answers_depend_on_a_row_alone(with_target):
    X, _ = two_classes()
    clf = with_target.set_params(voting="majority")
    whole = clf.accepts(X)
    assert 0.3 < whole.mean() < 1.0
    assert np.array_equal(clf.accepts(X[::-1])[::-1], whole)
    assert np.array_equal([clf.accepts(X[i : i + 1])[0] for i in range(25)], whole[:25])


def test_more_classes():
    X, y = three_classes()
    for make, target in ((svc, {"max_error": 0.2}), (trees, {"decision": Abstain(0.2)})):
        clf = make(**target, voting="majority").fit(X, y)
        answers = clf.accepts(X)
        assert answers.sum() >= 0.5 * len(X)
        assert (clf.predict(X) == y)[answers].mean() >= (clf.predict(X) == y).mean()
        table = make(metrics=("error",), metrics_share=0.3).fit(X, y).certificate_.metrics
        assert [(one.of, one.also) for one in table] == [("setosa", ""), ("versicolor", ""), ("virginica", "")]


def test_nothing_is_answered_and_it_says_so():
    X, y = two_classes()
    clf = trees(decision=Abstain(0.001)).fit(X, y)
    assert not clf.accepts(X).any()
    assert clf.predict(X).shape == y.shape
    assert "answers no example" in clf.certificate_.sentence
    assert "information and no guarantee" in clf.certificate_.sentence
    assert clf.certificate_.vacuous


def test_without_a_target_every_row_is_answered(by_class):
    assert by_class.accepts(two_classes()[0]).all()


@pytest.mark.parametrize("name", ["by_class", "with_target"])
def test_saved_and_loaded(name, request, tmp_path):
    clf = request.getfixturevalue(name)
    X, _ = two_classes()
    save(clf, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.certificates_ == clf.certificates_
    assert np.array_equal(loaded.accepts(X), clf.accepts(X))
    assert np.array_equal(loaded.predict(X), clf.predict(X))


# A question as a file holds it.
ERRORS = {"@": "MetricSpec", "name": "error", "of": None, "cost": None, "bets": {"@": "tuple", "values": []}}


def change(place, how):
    """Return a change of one entry of a file, as somebody with an editor would make it."""

    def changed(forged):
        forged[place] = how(forged[place])

    return changed


@pytest.mark.parametrize(
    "change",
    [
        change("plan.thresholds.values", lambda values: np.where(values == values[0], np.nan, values)),
        change("plan.thresholds.values", lambda values: values[::-1].copy()),
        change("plan.thresholds.values", lambda values: values[:-1]),
        change("plan.thresholds.answered", lambda answered: answered + 1),
        change("plan.thresholds.wrong", lambda wrong: wrong + 300),
        change("plan.thresholds", lambda thresholds: None),
        change("plan.decision", lambda target: target | {"max_error": 7.0}),
        change("plan.decision", lambda target: 0.1),
        change("plan.decision", lambda target: None),
        change("plan.metrics", lambda limits: limits | {"values": [ERRORS]}),
        change("plan.metrics_share", lambda share: 1.5),
        change("predictions.scores", lambda scores: None),
        change("predictions.scores", lambda scores: scores[:-1]),
        change("predictions.scores", lambda scores: scores * np.nan),
        change("predictions.rule_predictions", lambda said: 1 - said),
    ],
)
def test_what_a_target_rests_on_and_cannot_be_is_refused(change, tmp_path):
    forged = Forged.of(StochasticSVC([0.1, 1.0], hedge=0.1, random_state=0, max_error=0.1).fit(*two_classes()))
    change(forged)
    with pytest.raises(ValueError, match="is not a model saved by pacbayes"):
        load(forged.write(tmp_path / "model"))


def test_a_target_follows_from_the_scores_that_are_stored(tmp_path):
    """With no confidence in any row every row is answered, or none."""
    clf = StochasticSVC([0.1, 1.0], hedge=0.1, random_state=0, max_error=0.05).fit(*two_classes())
    assert clf.certificate_.decision.passed
    forged = Forged.of(clf)
    forged["predictions.scores"] = np.full_like(forged["predictions.scores"], -np.inf)
    again = load(forged.write(tmp_path / "model")).certificate_
    assert (again.decision.threshold, again.decision.rows, again.bound) == (None, 0, 1.0)


@pytest.mark.parametrize(
    "change",
    [
        change("predictions.rule_predictions", lambda said: 1 - said),
        change("predictions.slices", lambda slices: slices + 1),
        change("predictions.slices", lambda slices: slices - 1),
        change("predictions.slices", lambda slices: slices[:-1]),
        change("predictions.slices", lambda slices: None),
        change("plan.slices", lambda names: ("large",)),
        change("plan.slices", lambda names: ()),
        change("plan.slices", lambda names: (None, None)),
        change("plan.metrics_share", lambda share: 0.0),
    ],
)
def test_what_limits_rest_on_and_cannot_be_is_refused(change, by_class, tmp_path):
    forged = Forged.of(by_class)
    change(forged)
    with pytest.raises(ValueError, match="is not a model saved by pacbayes"):
        load(forged.write(tmp_path / "model"))


def test_copies_count_once_in_all_words():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(int)
    rows = np.concatenate([np.arange(300), np.repeat(np.arange(20), 5)])
    once = "each counted once however often it is copied"
    target = trees(decision=Abstain(0.3), duplicates="together", voting="best").fit(X[rows], y[rows]).certificate_
    assert target.decision.passed
    assert f"of the examples that it answers, {once}; it answered" in str(target)
    assert "of the validation distinct rows" in str(target)
    limits = trees(metrics=("error",), duplicates="together", voting="best").fit(X[rows], y[rows]).certificate_.metrics
    assert all(f"of it, {once}; " in str(one) for one in limits)
    assert all(str(one).endswith("validation distinct rows") for one in limits)
