"""Plans do not depend on validation rows, and plans that peek at them are detected.

With noise labels the risk of every classifier is 1/2.
"""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.isotonic import IsotonicRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import RadiusNeighborsClassifier
from tests.validity.square import CLEAN, DELTA, failures, fits, largest, sample
from tests.validity.test_estimators import assorted, rows

from pacbayes import Abstain, CertifiedClassifier, Grid, SVMs, load, save
from pacbayes.certificates import primary_weights
from pacbayes.certificates.plan import select_primary_rules
from pacbayes.certificates.primary import primary_soft_vote
from pacbayes.certificates.voting import SOFT, single_weight
from pacbayes.data.rows import pick_rows
from pacbayes.ensemble.calibration import LABELS, PAIRS, Calibration, compute_scores
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.members import Calibrations
from pacbayes.ensemble.svm_pilot import choose_svms
from pacbayes.ensemble.validation import collect_predictions
from pacbayes.estimators.planning import make_plan

# -- many classifiers with equal risks -------------------------------------------------------------------------------


class Table(ClassifierMixin, BaseEstimator):
    """Predicts the clean label, but the wrong one at a random 30 % of the points, drawn by `number`."""

    def __init__(self, number=0):
        self.number = number

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        wrong = np.random.default_rng(self.number).random(400) < 0.3
        rows = np.rint((np.asarray(X) * 10 + 9.5) @ [20, 1]).astype(int)
        return np.where(wrong[rows], 1 - CLEAN[2][rows], CLEAN[2][rows])


def tables(hedge):
    def make(seed):
        grid = [Table(1000 * seed + i) for i in range(50)]
        return CertifiedClassifier(Grid(None, grid), hedge=hedge, delta=DELTA, cv=2, random_state=seed)

    return make


@fits(12, 600)
def test_many_classifiers_with_equal_risks_keep_delta(fits):
    counts, rules = failures(tables(0.1), partial(rows, 120, 2), fits)
    assert max(counts.values()) <= largest(fits), counts
    assert {rule for _, rule in rules} >= {"primary"}


def calibrations(number):
    """Equal calibrations of the classifiers of a set."""
    table = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    calibration = Calibration(LABELS, 60, 0.0, np.zeros(2), np.zeros(2), table=table)
    return Calibrations(np.array([0, 1]), dict.fromkeys(range(number), calibration))


@pytest.mark.parametrize("hedge", [0, 0.1])
def test_primary_rules_chosen_by_validation_errors_are_caught(hedge, monkeypatch):
    def peeking(choices, trained, data, *arguments):
        plan, number = make_plan(choices, trained, data, *arguments), len(trained.members)
        counted = collect_predictions(trained.members, data, trained.split).count_errors(trained.split)
        # With the number of training rows, which a plan requires; differences are tripled.
        rows = trained.split.n_train
        errors = np.minimum(3 * (counted.errors - counted.errors.min()), rows)
        # The strengths of votes are chosen by validation errors, too: the single best has the fewest.
        counts = np.arange(number), errors, np.array([rows]), (*[rows] * 6, 0)
        # A single family, so that the best classifier alone is in the soft vote.
        peeked = CrossValidation(*counts, errors[:, 0].astype(float), np.zeros(number, dtype=np.int64))
        rules = primary_weights(peeked.candidates, peeked.totals, number, peeked.errors_of_votes)
        rules = (primary_soft_vote(peeked, number, rows, calibrations(number)), *rules)
        return replace(plan, cross_validation=peeked, fixed_rules=rules if hedge else select_primary_rules(rules))

    monkeypatch.setattr("pacbayes.estimators.base.make_plan", peeking)
    counts, _ = failures(tables(hedge), partial(rows, 120, 2), 16)
    assert counts["best"] > largest(16), counts
    assert counts["soft"] > largest(16), counts
    assert counts["stochastic"] > largest(16), counts
    # With a hedge other votes, whose bounds hold, predict now and then.
    assert counts["majority"] > (0 if hedge else largest(16)), counts


# -- planted faults, on noise --------------------------------------------------------------------------------------


def noise(n, rng):
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n)


def false_bounds(make, fits, n=160):
    """Number of fits in which the bound of the soft vote is below 1/2."""
    false = 0
    for seed in range(fits):
        clf = make(seed).fit(*noise(n, np.random.default_rng([seed, 11])))
        false += clf.certificates_[SOFT].bound < 0.5
    return false


def p_value(false, fits):
    """P-value of the number of failures, if each has the probability delta."""
    return float(binom.sf(false - 1, fits, DELTA))


def many_svms(seed):
    return CertifiedClassifier(SVMs(), hedge=0, delta=DELTA, cv=3, validation_size=0.5, random_state=seed)


def bayes(seed):
    return CertifiedClassifier(GaussianNB(), hedge=0, delta=DELTA, cv=3, validation_size=0.5, random_state=seed)


def test_the_bound_holds_on_noise():
    assert p_value(false_bounds(many_svms, 32), 32) > 0.01
    assert p_value(false_bounds(bayes, 32), 32) > 0.01


@pytest.fixture
def many_rows(monkeypatch):
    """Let the recipe for many rows start at a hundred: settings by a subsample, one part of the rows held out."""
    for name, value in {
        "portfolio.FEW_ROWS": 20,
        "svm_pilot._SUBSAMPLE_SIZE": 60,
        "svm_pilot._MAX_EXACT_ROWS": 20,
        "svm_pilot._MAX_EXACT_PAIR_ROWS": 40,
        "cross_validation._MAX_ROWS_FIVE_FOLDS": 10,
        "cross_validation.MAX_ROWS_THREE_FOLDS": 20,
        "cross_validation._MIN_HELD_OUT": 26,
    }.items():
        monkeypatch.setattr(f"pacbayes.ensemble.{name}", value)


def large(seed):
    families = ["svm", "logistic", "neighbours"]
    return CertifiedClassifier(families, hedge=0, delta=DELTA, validation_size=0.5, random_state=seed)


def test_the_bound_holds_on_noise_with_the_recipe_for_many_rows(many_rows):
    clf = large(0).fit(*noise(160, np.random.default_rng(0)))
    assert clf._fitted.plan.cross_validation.sizes.tolist() == [27]
    names = [params["candidate"] for params in clf.classifiers_.params]
    assert names == ["svm"] * 2 + ["logistic"] * 2 + ["neighbours"] * 4
    assert p_value(false_bounds(large, 32), 32) > 0.01


def test_a_held_out_part_with_all_rows_of_a_class_is_replaced_by_folds(many_rows, tmp_path):
    # The only row of a class is the last of an odd number of training rows: it would be in the first of two parts.
    X, y = np.random.default_rng(0).normal(size=(106, 2)), np.arange(106) == 0
    clf = CertifiedClassifier(GaussianNB(), hedge=0, validation_size=53, decision=Abstain(0.9), random_state=0).fit(
        X, y
    )
    split, counts = clf._fitted.plan.split, clf._fitted.plan.cross_validation
    assert 0 in split.shared[0]
    assert counts.sizes.size == 3
    assert counts.count_scored(53) == 53
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model", trusted=["sklearn."]).weights_.tolist() == [1.0]


def test_the_best_of_130_svms_on_validation_rows_is_caught(monkeypatch):
    """A false bound in about half of the fits.  p < .001 takes 10 of 32; then its power is .990."""

    def peeking(choices, trained, data, *arguments):
        plan, number = make_plan(choices, trained, data, *arguments), len(trained.members)
        assert number == 130
        errors = collect_predictions(trained.members, data, trained.split).count_errors(trained.split).errors[:, 0]
        best = int(np.argmin(errors))
        # The sign of its decision value predicts.
        plain = Calibration(PAIRS, trained.split.n_train, 1.0, np.zeros(2), np.zeros(2))
        # Bypass the constructor, which checks the weights against cross-validation.
        for rule in plan.fixed_rules:
            if rule.voting == SOFT:
                object.__setattr__(rule, "weights", single_weight(best, number))
                object.__setattr__(rule, "soft", Calibrations(np.array([0, 1]), {best: plain}))
        return plan

    monkeypatch.setattr("pacbayes.estimators.base.make_plan", peeking)
    assert p_value(false_bounds(many_svms, 32), 32) < 0.001


@dataclass(frozen=True, eq=False)
class Isotonic(Calibration):
    """The planted fault: an isotonic calibration fitted on validation rows."""

    fitted: Any = None

    def __call__(self, scores):
        probability = self.fitted.predict(scores[:, 1])
        return np.stack([1.0 - probability, probability], axis=1)


def calibrate_on_validation_rows(monkeypatch):
    """Plant isotonic calibrations of validation rows."""

    def peeking(choices, trained, data, *arguments):
        plan = make_plan(choices, trained, data, *arguments)
        validation = plan.split.validation_rows
        fixed_rules = []
        for rule in plan.fixed_rules:
            if rule.voting == "soft":
                maps = {}
                for i, known in rule.soft.maps.items():
                    scores = compute_scores(
                        trained.members[i], pick_rows(data.rows, validation), known.kind, data.classes
                    )
                    line = IsotonicRegression(out_of_bounds="clip").fit(scores[:, 1], data.codes[validation])
                    maps[i] = Isotonic(known.kind, known.n, known.slope, known.shift, known.bias, fitted=line)
                rule = replace(rule, soft=Calibrations(rule.soft.classes, maps))
            fixed_rules.append(rule)
        return replace(plan, fixed_rules=tuple(fixed_rules))

    monkeypatch.setattr("pacbayes.estimators.base.make_plan", peeking)


def test_isotonic_calibrations_of_validation_rows_are_caught(monkeypatch):
    """A false bound in about half of the fits.  p < .001 takes 10 of 32; then its power is .990."""
    calibrate_on_validation_rows(monkeypatch)
    assert p_value(false_bounds(bayes, 32), 32) < 0.001


def test_isotonic_calibrations_are_caught_with_the_recipe_for_many_rows(many_rows, monkeypatch):
    calibrate_on_validation_rows(monkeypatch)
    assert (
        p_value(false_bounds(lambda seed: large(seed).set_params(candidates=["logistic", "neighbours"]), 32), 32)
        < 0.001
    )


# -- a plan does not depend on validation rows -----------------------------------------------------------------------


def check_validation_rows_do_not_matter(make, classes, n=200):
    """Other validation rows and labels leave calibrations, weights, log-losses, prior and thresholds unchanged."""
    X, y = sample(n, classes, np.random.default_rng(3))
    first = make().fit(X, y)._fitted.plan
    rng = np.random.default_rng(4)
    validation = first.split.validation_rows
    other_X, other_y = X.copy(), y.copy()
    other_X[validation] = rng.normal(size=(validation.size, 2)) * 100
    other_y[validation] = rng.integers(0, classes, validation.size)
    second = make().fit(other_X, other_y)._fitted.plan
    assert np.array_equal(first.cross_validation.log_losses, second.cross_validation.log_losses)
    assert np.array_equal(first.cross_validation.errors, second.cross_validation.errors)
    assert np.array_equal(first.thresholds.values, second.thresholds.values)
    for one, other in zip(first.fixed_rules, second.fixed_rules, strict=True):
        assert (one.voting, one.name) == (other.voting, other.name)
        assert np.array_equal(one.weights, other.weights)
        if one.voting == "soft":
            assert one.soft.maps.keys() == other.soft.maps.keys()
            for i, known in one.soft.maps.items():
                again = other.soft.maps[i]
                assert (known.kind, known.n, known.slope) == (again.kind, again.n, again.slope)
                assert np.array_equal(known.bias, again.bias)
                assert np.array_equal(known.shift, again.shift)


def with_abstention(model):
    return model.set_params(decision=Abstain(0.3))


@pytest.mark.parametrize("classes", [2, 5])
def test_a_plan_does_not_depend_on_validation_rows(classes):
    check_validation_rows_do_not_matter(lambda: with_abstention(assorted(5)), classes)


@pytest.mark.parametrize("classes", [2, 5])
def test_a_plan_of_many_rows_does_not_depend_on_validation_rows(classes, many_rows):
    check_validation_rows_do_not_matter(lambda: with_abstention(large(5)), classes)


def test_a_subsample_of_all_rows_is_caught(many_rows, monkeypatch):
    """The planted fault: widths and costs of the recipe for many rows are compared on validation rows, too."""

    def peeking(family, job):
        rows = np.arange(job.data.n_rows)
        return choose_svms(family, replace(job, split=replace(job.split, shared=(rows, job.split.shared[1]))))

    monkeypatch.setattr("pacbayes.ensemble.training.choose_svms", peeking)
    with pytest.raises(AssertionError):
        check_validation_rows_do_not_matter(lambda: with_abstention(large(5)), 2)


def test_labels_of_validation_rows_alone_do_not_change_a_plan():
    """A label that members predict, but no training row has, is a class only if a validation row has it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + 0.8 * rng.normal(size=200) > 0).astype(int)
    near = [RadiusNeighborsClassifier(radius, outlier_label=-1) for radius in (0.05, 0.1, 0.15, 0.2, 0.3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outliers have no probabilities
        first = CertifiedClassifier(near, cv=3, random_state=3).fit(X, y)._fitted.plan
        other = y.copy()
        other[first.split.validation_rows[0]] = -1
        second = CertifiedClassifier(near, cv=3, random_state=3).fit(X, other)._fitted.plan
    assert first.cross_validation.errors_of_votes == second.cross_validation.errors_of_votes
    for one, again in zip(first.fixed_rules, second.fixed_rules, strict=True):
        assert np.array_equal(one.weights, again.weights), (one.voting, one.name)
