"""The soft vote: its limit holds where every risk is known, and faults planted in it are caught.

A row is one of 400 points of a square, its label that of its region or, with probability 0.15, another, so that a true
risk is a mean over 400 points.  Faults are planted where labels are pure noise: the risk of whatever predicts is 1/2.
"""

import warnings
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import RadiusNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.validity.test_hedge import CLEAN, NOISE, POINTS, sample, true_risk

from pacbayes import Abstain, CertifiedClassifier, Grid, SVMs
from pacbayes.certificates.voting import PROPOSAL, SOFT, parts_of_one
from pacbayes.data.rows import pick_rows
from pacbayes.ensemble.calibration import PAIRS, Calibration, scores_of
from pacbayes.ensemble.evidence import observe
from pacbayes.ensemble.members import Calibrated
from pacbayes.estimators.planning import make_plan

DELTA = 0.1
#: Rows, and how many of them validate.
SIZES = {"usual": (160, 0.5), "tiny": (20, 5), "large": (3000, "auto")}
FEW = (0.01, 0.1, 1.0, 10.0)


def assorted(hedge, size, classes, seed):
    """Machines of five widths beside two estimators with probabilities, and one grid."""
    candidates = [
        SVMs(FEW),
        GaussianNB(),
        LogisticRegression(),
        Grid(DecisionTreeClassifier(), {"max_depth": [2, 5]}),
    ]
    return CertifiedClassifier(
        candidates, hedge=hedge, validation_size=SIZES[size][1], delta=DELTA, cv=3, random_state=seed
    )


def machines(hedge, size, classes, seed):
    """Machines of five widths alone: all of them vote."""
    return CertifiedClassifier(
        SVMs(FEW), hedge=hedge, validation_size=SIZES[size][1], delta=DELTA, cv=3, random_state=seed
    )


def failures(make, hedge, size, classes, fits):
    """How often the true risk of what predicts is above its certificate, by voting; and which rules predicted."""
    counts: dict[str, int] = {}
    rules = set()
    for seed in range(fits):
        X, y = sample(SIZES[size][0], classes, np.random.default_rng([seed, classes]))
        clf = make(hedge, size, classes, seed).fit(X, y)
        for voting, certificate in clf.certificates_.items():
            if voting == "stochastic" and certificate.rule == "posterior":
                risks = true_risk(clf.classifiers_.predict(POINTS), classes)
                risk = float(clf.posterior_.weights @ risks)
            else:
                risk = float(true_risk(clf.set_params(voting=voting).predict(POINTS), classes))
            counts[voting] = counts.get(voting, 0) + (risk > certificate.bound)
            rules.add((voting, certificate.rule))
    return counts, rules


def largest(fits):
    """More failures than this have a probability below 1e-4 if each has at most the probability delta."""
    return binom.ppf(1 - 1e-4, fits, DELTA)


def check(make, hedge, size, classes, fits):
    counts, rules = failures(make, hedge, size, classes, fits)
    assert max(counts.values()) <= largest(fits), counts
    assert ((SOFT, PROPOSAL) in rules) == (hedge < 1)


@pytest.mark.parametrize(
    ("make", "hedge", "size", "classes"),
    [
        (assorted, 0.02, "usual", 2),
        (assorted, 0.02, "tiny", 5),
        (assorted, 0, "tiny", 2),
        (machines, 0.02, "usual", 5),
        (machines, 1, "tiny", 2),
    ],
)
def test_failures_are_compatible_with_delta(make, hedge, size, classes):
    check(make, hedge, size, classes, 15)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "hedge", "size", "classes"),
    [*product((assorted, machines), (0, 0.02, 1), ("usual", "tiny"), (2, 5))],
)
def test_failures_are_compatible_with_delta_in_many_fits(make, hedge, size, classes):
    """2400 fits in all."""
    check(make, hedge, size, classes, 100)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "classes"), [*product((assorted, machines), (2, 5))])
def test_failures_are_compatible_with_delta_in_large_sets(make, classes):
    """100 fits in all."""
    check(make, 0.02, "large", classes, 25)


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
    assert p_value(false_shares(many_machines, 40), 40) > 0.01
    assert p_value(false_shares(bayes, 40), 40) > 0.01


def test_the_best_of_130_machines_by_validation_rows_is_caught(monkeypatch):
    """A false bound in about half of the fits.  p < .001 takes 12 of 40; then its power is .997."""

    def peeking(choices, trained, data, *arguments):
        plan, number = make_plan(choices, trained, data, *arguments), len(trained.members)
        assert number == 130
        errors = observe(trained.members, data, trained.division).count(trained.division).errors[:, 0]
        best = int(np.argmin(errors))
        # Its decision decides as it is.
        plain = Calibration(PAIRS, trained.division.n_train, 1.0, np.zeros(2), np.zeros(2))
        # Not through the constructor, which insists on the weights of cross-validation: that is the first guard.
        for rule in plan.planned:
            if rule.voting == SOFT:
                object.__setattr__(rule, "weights", parts_of_one(best, number))
                object.__setattr__(rule, "soft", Calibrated(np.array([0, 1]), {best: plain}))
        return plan

    monkeypatch.setattr("pacbayes.estimators.base.make_plan", peeking)
    assert p_value(false_shares(many_machines, 40), 40) < 0.001


@dataclass(frozen=True, eq=False)
class Isotonic(Calibration):
    """A map fitted on rows that it must not see."""

    fitted: Any = None

    def __call__(self, scores):
        share = self.fitted.predict(scores[:, 1])
        return np.stack([1.0 - share, share], axis=1)


def test_isotonic_maps_fitted_on_validation_rows_are_caught(monkeypatch):
    """A false bound in about half of the fits.  p < .001 takes 12 of 40; then its power is .997."""

    def peeking(choices, trained, data, *arguments):
        plan = make_plan(choices, trained, data, *arguments)
        validation = plan.division.validating
        planned = []
        for rule in plan.planned:
            if rule.voting == "soft":
                maps = {}
                for i, known in rule.soft.maps.items():
                    scores = scores_of(trained.members[i], pick_rows(data.rows, validation), known.kind, data.classes)
                    line = IsotonicRegression(out_of_bounds="clip").fit(scores[:, 1], data.codes[validation])
                    maps[i] = Isotonic(known.kind, known.n, known.slope, known.shift, known.bias, fitted=line)
                rule = replace(rule, soft=Calibrated(rule.soft.classes, maps))
            planned.append(rule)
        return replace(plan, planned=tuple(planned))

    monkeypatch.setattr("pacbayes.estimators.base.make_plan", peeking)
    assert p_value(false_shares(bayes, 40), 40) < 0.001


# -- by structure: a plan does not depend on validation rows -------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 5])
def test_a_plan_is_the_same_whatever_the_validation_rows_are(classes):
    """Other rows and labels there: calibrations, weights, log-losses, prior and thresholds keep their bits."""
    X, y = sample(200, classes, np.random.default_rng(3))
    model = assorted(0.02, "usual", classes, 5).set_params(target=Abstain(0.3))
    first = model.fit(X, y)._fitted.plan
    rng = np.random.default_rng(4)
    validation = first.division.validating
    other_X, other_y = X.copy(), y.copy()
    other_X[validation] = rng.normal(size=(validation.size, 2)) * 100
    other_y[validation] = rng.integers(0, classes, validation.size)
    second = assorted(0.02, "usual", classes, 5).set_params(target=Abstain(0.3)).fit(other_X, other_y)._fitted.plan
    assert np.array_equal(first.cross_validation.log_losses, second.cross_validation.log_losses)
    assert np.array_equal(first.cross_validation.errors, second.cross_validation.errors)
    assert np.array_equal(first.thresholds.values, second.thresholds.values)
    for one, other in zip(first.planned, second.planned, strict=True):
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
        other[first.division.validating[0]] = -1
        second = CertifiedClassifier(near, cv=3, random_state=3).fit(X, other)._fitted.plan
    assert first.cross_validation.errors_of_votes == second.cross_validation.errors_of_votes
    for one, again in zip(first.planned, second.planned, strict=True):
        assert np.array_equal(one.weights, again.weights), (one.voting, one.name)


def test_the_clean_classes_can_be_learnt():
    """So that the simulations are about votes that mean something."""
    X, y = sample(600, 2, np.random.default_rng(0))
    said = assorted(0.02, "usual", 2, 0).fit(X, y).predict(POINTS)
    assert true_risk(said, 2) < NOISE + 0.1
    assert np.mean(said == CLEAN[2]) > 0.85
