"""Rules fixed on the training rows: their limits hold, alone and as the smallest of several, where every risk is known.

Exactly for one rule, by summing the binomial distribution.  By simulation for the estimators: a row is one of 400
points of a square, its label that of its region or, with probability 0.15, another, so that a true risk is a mean over
400 points.
"""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin

from pacbayes import CertifiedClassifier, ClassifierSet, Grid, StochasticSVC
from pacbayes.certificates import Found, Plan, certify, propose
from pacbayes.certificates.plan import without_reserve
from pacbayes.certificates.proposals import given_rules, propose_soft
from pacbayes.ensemble.calibration import ANSWERS, Calibration
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.evidence import observe
from pacbayes.ensemble.members import Calibrated
from pacbayes.estimators.planning import make_plan

DELTA, NOISE = 0.1, 0.15
SIDE = (np.arange(20) - 9.5) / 10
POINTS = np.array([(a, b) for a in SIDE for b in SIDE])
QUADRANT = 2 * (POINTS[:, 0] > 0) + (POINTS[:, 1] > 0)
# The classes of the points: two as in exclusive or; five with the middle of the square.
CLEAN = {2: (POINTS[:, 0] * POINTS[:, 1] > 0).astype(int), 5: np.where(np.abs(POINTS).max(axis=1) < 0.5, 4, QUADRANT)}
LAMBDAS = np.geomspace(1e-3, 30.0, 12)


def limits_of_one_rule(m, level):
    """The limits of a single classifier that was proposed beforehand, by its errors among m rows."""
    limits = []
    for errors in range(m + 1):
        classifiers = ClassifierSet.from_predictions([np.arange(m) < errors], np.zeros(m, dtype=bool))
        plan = Plan(classifiers.splits, delta=level, hedge=0.0, planned=without_reserve(given_rules(0, 1)))
        evidence = replace(classifiers.evidence, said=np.repeat(classifiers.evidence.answers, 3, axis=0))
        limits.append(certify(plan, evidence, Found())["best"].bound)
    return np.array(limits)


@pytest.mark.parametrize("level", [0.3, 0.05, 0.045, 1e-4])
@pytest.mark.parametrize("m", [1, 2, 7, 60, 284])
def test_the_limit_of_one_rule_fails_with_at_most_its_level(m, level):
    """Summed over the binomial distribution, on a grid of true risks that holds the limits themselves."""
    limits = limits_of_one_rule(m, level)
    assert limits[-1] == 1.0
    for risk in (*np.linspace(0.0, 1.0, 101), *limits, *np.nextafter(limits, 1.0)):
        failing = float(binom.pmf(np.flatnonzero(risk > limits), m, risk).sum())
        assert failing <= level * (1 + 1e-9)


def sample(n, classes, rng):
    rows = rng.integers(0, 400, n)
    other = rng.random(n) < NOISE
    return POINTS[rows], (CLEAN[classes][rows] + other * rng.integers(1, classes, n)) % classes


def true_risk(labels, classes):
    """The exact risk of a classifier that gives the 400 points these labels; of several, by rows."""
    return np.where(labels == CLEAN[classes], NOISE, 1 - NOISE / (classes - 1)).mean(axis=-1)


def failures(make, classes, n, fits):
    """How often the true risk of what predicts is above its certificate, or above that of another rule: by voting."""
    counts = Counter()
    rules = set()
    for seed in range(fits):
        clf = make(seed).fit(*sample(n, classes, np.random.default_rng([seed, 7])))
        for voting, certificate in clf.certificates_.items():
            said = clf.set_params(voting=voting).predict(POINTS)
            risk = float(true_risk(said, classes))
            if voting == "stochastic" and certificate.rule == "posterior":
                # On average over keys.
                risk = float(clf.posterior_.weights @ true_risk(clf.classifiers_.predict(POINTS), classes))
            counts[voting] += risk > certificate.bound
            rules.add(certificate.rule)
    return counts, rules


def largest(fits):
    """More failures than this have a probability below 1e-4 if each has at most the probability delta."""
    return binom.ppf(1 - 1e-4, fits, DELTA)


# Rows, and how many of them validate; the last is as small as can be.
SIZES = {"usual": (160, 0.5), "tiny": (20, 5)}
CASES = [*product((2, 5), (0, 0.1, 1), ("usual", "tiny"))]


def machines(hedge, validation_size):
    def make(seed):
        return StochasticSVC(
            LAMBDAS, gamma=8.0, scale=False, hedge=hedge, validation_size=validation_size, delta=DELTA, cv=3,
            random_state=seed,
        )  # fmt: skip

    return make


def check_machines(classes, hedge, size, fits):
    n, validation_size = SIZES[size]
    counts, rules = failures(machines(hedge, validation_size), classes, n, fits)
    assert max(counts.values()) <= largest(fits), counts
    assert rules & ({"proposal"} if hedge < 1 else {"posterior", "Occam"})


@pytest.mark.parametrize(
    ("classes", "hedge", "size"), [(2, 0.1, "usual"), (5, 0.1, "tiny"), (2, 0, "tiny"), (2, 1, "tiny")]
)
def test_failures_are_compatible_with_delta(classes, hedge, size):
    check_machines(classes, hedge, size, 20)


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "hedge", "size"), CASES)
def test_failures_are_compatible_with_delta_in_many_fits(classes, hedge, size):
    check_machines(classes, hedge, size, 600)


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


@pytest.mark.parametrize(("hedge", "fits"), [(0.1, 12), pytest.param(0.1, 600, marks=pytest.mark.slow)])
def test_many_classifiers_that_are_equally_good(hedge, fits):
    counts, rules = failures(tables(hedge), 2, 120, fits)
    assert max(counts.values()) <= largest(fits), counts
    assert rules >= {"proposal"}


def believed(number):
    """Maps by which the classifiers of a set are believed."""
    table = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    one = Calibration(ANSWERS, 60, 0.0, np.zeros(2), np.zeros(2), table=table)
    return Calibrated(np.array([0, 1]), dict.fromkeys(range(number), one))


@pytest.mark.parametrize("hedge", [0, 0.1])
def test_a_proposal_chosen_by_validation_errors_is_caught(hedge, monkeypatch):
    def peeking(choices, trained, data, *arguments):
        plan, number = make_plan(choices, trained, data, *arguments), len(trained.members)
        counted = observe(trained.members, data, trained.division).count(trained.division)
        # As many rows as train, which a plan insists on; differences count three times, so that the best stand out.
        rows = trained.division.n_train
        errors = np.minimum(3 * (counted.errors - counted.errors.min()), rows)
        # The strengths of votes, too, are judged by validation errors: the best alone has the fewest.
        counts = np.arange(number), errors, np.array([rows]), (*[rows] * 6, 0)
        # All are of one family, of which the best alone has a part in the soft vote.
        seen = CrossValidation(*counts, errors[:, 0].astype(float), np.zeros(number, dtype=np.int64))
        rules = propose(seen.candidates, seen.totals, number, seen.errors_of_votes)
        rules = (propose_soft(seen, number, rows, believed(number)), *rules)
        return replace(plan, cross_validation=seen, planned=rules if hedge else without_reserve(rules))

    monkeypatch.setattr("pacbayes.estimators.base.make_plan", peeking)
    counts, _ = failures(tables(hedge), 2, 120, 16)
    assert counts["best"] > largest(16), counts
    assert counts["soft"] > largest(16), counts
    assert counts["stochastic"] > largest(16), counts
    # With a hedge other votes win now and then, whose bounds hold.
    assert counts["majority"] > (0 if hedge else largest(16)), counts
