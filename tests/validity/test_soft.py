"""What is planned on the training rows does not depend on validation rows; plans that peeked at them are caught.

Where labels are pure noise the risk of whatever predicts is 1/2.
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

from pacbayes import Abstain, CertifiedClassifier, Grid, SVMs
from pacbayes.certificates import primary_weights
from pacbayes.certificates.plan import without_hedge
from pacbayes.certificates.primary import primary_soft_vote
from pacbayes.certificates.voting import SOFT, single_weight
from pacbayes.data.rows import pick_rows
from pacbayes.ensemble.calibration import ANSWERS, PAIRS, Calibration, scores_of
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.members import Calibrated
from pacbayes.ensemble.validation import observe
from pacbayes.estimators.planning import make_plan

# -- many classifiers that are equally good --------------------------------------------------------------------------


class Table(ClassifierMixin, BaseEstimator):
    """The clean label of a point, wrong at three in ten points drawn by its number: all are equally good."""

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
def test_many_classifiers_that_are_equally_good(fits):
    counts, rules = failures(tables(0.1), partial(rows, 120, 2), fits)
    assert max(counts.values()) <= largest(fits), counts
    assert {rule for _, rule in rules} >= {"primary"}


def believed(number):
    """Maps by which the classifiers of a set are believed."""
    table = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    one = Calibration(ANSWERS, 60, 0.0, np.zeros(2), np.zeros(2), table=table)
    return Calibrated(np.array([0, 1]), dict.fromkeys(range(number), one))


@pytest.mark.parametrize("hedge", [0, 0.1])
def test_a_proposal_chosen_by_validation_errors_is_caught(hedge, monkeypatch):
    def peeking(choices, trained, data, *arguments):
        plan, number = make_plan(choices, trained, data, *arguments), len(trained.members)
        counted = observe(trained.members, data, trained.split).count(trained.split)
        # As many rows as train, which a plan insists on; differences count three times, so that the best stand out.
        rows = trained.split.n_train
        errors = np.minimum(3 * (counted.errors - counted.errors.min()), rows)
        # The strengths of votes, too, are judged by validation errors: the best alone has the fewest.
        counts = np.arange(number), errors, np.array([rows]), (*[rows] * 6, 0)
        # All are of one family, of which the best alone has a part in the soft vote.
        seen = CrossValidation(*counts, errors[:, 0].astype(float), np.zeros(number, dtype=np.int64))
        rules = primary_weights(seen.candidates, seen.totals, number, seen.errors_of_votes)
        rules = (primary_soft_vote(seen, number, rows, believed(number)), *rules)
        return replace(plan, cross_validation=seen, fixed_rules=rules if hedge else without_hedge(rules))

    monkeypatch.setattr("pacbayes.estimators.base.make_plan", peeking)
    counts, _ = failures(tables(hedge), partial(rows, 120, 2), 16)
    assert counts["best"] > largest(16), counts
    assert counts["soft"] > largest(16), counts
    assert counts["stochastic"] > largest(16), counts
    # With a hedge other votes win now and then, whose bounds hold.
    assert counts["majority"] > (0 if hedge else largest(16)), counts


# -- planted faults, on pure noise ---------------------------------------------------------------------------------


def noise(n, rng):
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n)


def false_shares(make, fits, n=160):
    """In how many fits a bound of the soft vote is below 1/2, the risk of whatever predicts."""
    false = 0
    for seed in range(fits):
        clf = make(seed).fit(*noise(n, np.random.default_rng([seed, 11])))
        false += clf.certificates_[SOFT].bound < 0.5
    return false


def p_value(false, fits):
    """The probability of so many failures or more, if each has the probability delta."""
    return float(binom.sf(false - 1, fits, DELTA))


def many_machines(seed):
    return CertifiedClassifier(SVMs(), hedge=0, delta=DELTA, cv=3, validation_size=0.5, random_state=seed)


def bayes(seed):
    return CertifiedClassifier(GaussianNB(), hedge=0, delta=DELTA, cv=3, validation_size=0.5, random_state=seed)


def test_on_pure_noise_the_limit_holds():
    assert p_value(false_shares(many_machines, 32), 32) > 0.01
    assert p_value(false_shares(bayes, 32), 32) > 0.01


def test_the_best_of_130_machines_by_validation_rows_is_caught(monkeypatch):
    """A false bound in about half of the fits.  p < .001 takes 10 of 32; then its power is .990."""

    def peeking(choices, trained, data, *arguments):
        plan, number = make_plan(choices, trained, data, *arguments), len(trained.members)
        assert number == 130
        errors = observe(trained.members, data, trained.split).count(trained.split).errors[:, 0]
        best = int(np.argmin(errors))
        # Its decision decides as it is.
        plain = Calibration(PAIRS, trained.split.n_train, 1.0, np.zeros(2), np.zeros(2))
        # Not through the constructor, which insists on the weights of cross-validation: that is the first guard.
        for rule in plan.fixed_rules:
            if rule.voting == SOFT:
                object.__setattr__(rule, "weights", single_weight(best, number))
                object.__setattr__(rule, "soft", Calibrated(np.array([0, 1]), {best: plain}))
        return plan

    monkeypatch.setattr("pacbayes.estimators.base.make_plan", peeking)
    assert p_value(false_shares(many_machines, 32), 32) < 0.001


@dataclass(frozen=True, eq=False)
class Isotonic(Calibration):
    """A map fitted on rows that it must not see."""

    fitted: Any = None

    def __call__(self, scores):
        share = self.fitted.predict(scores[:, 1])
        return np.stack([1.0 - share, share], axis=1)


def test_isotonic_maps_fitted_on_validation_rows_are_caught(monkeypatch):
    """A false bound in about half of the fits.  p < .001 takes 10 of 32; then its power is .990."""

    def peeking(choices, trained, data, *arguments):
        plan = make_plan(choices, trained, data, *arguments)
        validation = plan.split.validating
        fixed_rules = []
        for rule in plan.fixed_rules:
            if rule.voting == "soft":
                maps = {}
                for i, known in rule.soft.maps.items():
                    scores = scores_of(trained.members[i], pick_rows(data.rows, validation), known.kind, data.classes)
                    line = IsotonicRegression(out_of_bounds="clip").fit(scores[:, 1], data.codes[validation])
                    maps[i] = Isotonic(known.kind, known.n, known.slope, known.shift, known.bias, fitted=line)
                rule = replace(rule, soft=Calibrated(rule.soft.classes, maps))
            fixed_rules.append(rule)
        return replace(plan, fixed_rules=tuple(fixed_rules))

    monkeypatch.setattr("pacbayes.estimators.base.make_plan", peeking)
    assert p_value(false_shares(bayes, 32), 32) < 0.001


# -- by structure: a plan does not depend on validation rows -------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 5])
def test_a_plan_is_the_same_whatever_the_validation_rows_are(classes):
    """Other rows and labels there: calibrations, weights, log-losses, prior and thresholds keep their bits."""
    X, y = sample(200, classes, np.random.default_rng(3))
    model = assorted(5).set_params(decision=Abstain(0.3))
    first = model.fit(X, y)._fitted.plan
    rng = np.random.default_rng(4)
    validation = first.split.validating
    other_X, other_y = X.copy(), y.copy()
    other_X[validation] = rng.normal(size=(validation.size, 2)) * 100
    other_y[validation] = rng.integers(0, classes, validation.size)
    second = assorted(5).set_params(decision=Abstain(0.3)).fit(other_X, other_y)._fitted.plan
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


def test_labels_that_only_validation_rows_have_do_not_count():
    """A label that members answer and no training row has: whether it is a class is known from validation rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + 0.8 * rng.normal(size=200) > 0).astype(int)
    near = [RadiusNeighborsClassifier(radius, outlier_label=-1) for radius in (0.05, 0.1, 0.15, 0.2, 0.3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outliers have no probabilities
        first = CertifiedClassifier(near, cv=3, random_state=3).fit(X, y)._fitted.plan
        other = y.copy()
        other[first.split.validating[0]] = -1
        second = CertifiedClassifier(near, cv=3, random_state=3).fit(X, other)._fitted.plan
    assert first.cross_validation.errors_of_votes == second.cross_validation.errors_of_votes
    for one, again in zip(first.fixed_rules, second.fixed_rules, strict=True):
        assert np.array_equal(one.weights, again.weights), (one.voting, one.name)
