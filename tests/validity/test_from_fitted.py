"""Certificates of classifiers trained elsewhere hold where every risk is known; a proposal that peeks is caught.

There are 64 kinds of rows, each as likely as another, and classifiers that were made before any of them was drawn: a
classifier is 64 labels, and its true risk a mean over 64 kinds.
"""

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import StochasticClassifier

KINDS, NUMBER, M, DELTA, NOISE = 64, 24, 40, 0.1, 0.2
VOTINGS = ("stochastic", "majority", "best")
ROWS = np.arange(KINDS)[:, None]


class Lookup:
    """A classifier that is a list of labels."""

    def __init__(self, labels):
        self.labels = labels

    def predict(self, X):
        return self.labels[np.asarray(X)[:, 0].astype(int)]


def made(wrong):
    """Return the true labels of the kinds, and classifiers that err on a random share of them."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=KINDS)
    return truth, [Lookup(np.where(rng.random(KINDS) < wrong, 1 - truth, truth)) for _ in range(NUMBER)]


def drawn(truth, rng):
    """Return rows with labels, of which some are wrong whoever is asked."""
    rows = rng.integers(KINDS, size=M)
    return rows[:, None], np.where(rng.random(M) < NOISE, 1 - truth[rows], truth[rows])


def failures(choices, samples, wrong=0.2, proposal=lambda fitted, X, y: 3):
    """Return how often the true risk of what predicts is above its certificate, by voting."""
    truth, fitted = made(wrong)
    risks = np.array([np.where(one.labels == truth, NOISE, 1 - NOISE).mean() for one in fitted])
    counts = dict.fromkeys(VOTINGS, 0)
    for seed in range(samples):
        X, y = drawn(truth, np.random.default_rng([seed, 1]))
        clf = StochasticClassifier.from_fitted(
            fitted, X, y, proposal=proposal(fitted, X, y), delta=DELTA, random_state=seed, **choices
        )
        for voting in VOTINGS:
            certificate = clf.certificates_[voting]
            said = clf.set_params(voting=voting).predict(ROWS)
            risk = np.where(said == truth, NOISE, 1 - NOISE).mean()
            if voting == "stochastic" and certificate.rule == "posterior":
                risk = clf.posterior_.weights @ risks  # on average over keys
            counts[voting] += risk > certificate.bound
    return counts


def largest(samples):
    """More failures than this have a probability below 1e-4 if each has at most the probability delta."""
    return binom.ppf(1 - 1e-4, samples, DELTA)


WEIGHTS = np.arange(1.0, NUMBER + 1) / np.arange(1.0, NUMBER + 1).sum()
CASES = {
    "without a proposal": ({}, lambda fitted, X, y: None),
    "one": ({}, lambda fitted, X, y: 3),
    "weights": ({}, lambda fitted, X, y: WEIGHTS),
    "weights, no hedge": ({"hedge": 0}, lambda fitted, X, y: WEIGHTS),
}


@pytest.mark.parametrize("case", CASES)
def test_failures_are_compatible_with_delta(case):
    choices, proposal = CASES[case]
    assert max(failures(choices, 60, proposal=proposal).values()) <= largest(60)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_failures_are_compatible_with_delta_at_length(case):
    choices, proposal = CASES[case]
    assert max(failures(choices, 1500, proposal=proposal).values()) <= largest(1500)


def test_a_proposal_that_looked_at_the_rows_is_caught():
    def peeking(fitted, X, y):
        return int(np.argmin([(one.predict(X) != y).sum() for one in fitted]))

    found = failures({"hedge": 0}, 60, wrong=0.5, proposal=peeking)
    assert min(found.values()) > largest(60)
