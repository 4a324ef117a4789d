"""Certificates of prefit classifiers hold, by simulation with known risks; a primary rule that peeks is detected.

There are 64 equally likely kinds of rows.  A classifier is a list of 64 labels, made before rows are drawn, and its
true risk is a mean over the 64 kinds.
"""

from math import comb

import numpy as np
import pytest
from tests.validity.square import DELTA, fits, largest

from pacbayes import CertifiedClassifier

KINDS, NUMBER, M, NOISE = 64, 24, 40, 0.2
VOTINGS = ("stochastic", "majority", "best")
ROWS = np.arange(KINDS)[:, None]


class Lookup:
    """A classifier that is a table of labels."""

    def __init__(self, labels):
        self.labels = labels

    def predict(self, X):
        return self.labels[np.asarray(X)[:, 0].astype(int)]


def make_classifiers(wrong):
    """Make the labels of the kinds, and classifiers that are wrong on a random share of them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=KINDS)
    return labels, [Lookup(np.where(rng.random(KINDS) < wrong, 1 - labels, labels)) for _ in range(NUMBER)]


def draw(labels, rng):
    """Draw rows with noisy labels."""
    rows = rng.integers(KINDS, size=M)
    return rows[:, None], np.where(rng.random(M) < NOISE, 1 - labels[rows], labels[rows])


def failures(choices, samples, wrong=0.2, primary=lambda classifiers, X, y: 3):
    """Number of certificates with a bound below the true risk, by way of predicting."""
    labels, classifiers = make_classifiers(wrong)
    risks = np.array([np.where(one.labels == labels, NOISE, 1 - NOISE).mean() for one in classifiers])
    counts = dict.fromkeys(VOTINGS, 0)
    for seed in range(samples):
        X, y = draw(labels, np.random.default_rng([seed, 1]))
        clf = CertifiedClassifier.from_fitted(
            classifiers, X, y, primary=primary(classifiers, X, y), delta=DELTA, random_state=seed, **choices
        )
        for voting in VOTINGS:
            certificate = clf.certificates_[voting]
            y_pred = clf.set_params(voting=voting).predict(ROWS)
            risk = np.where(y_pred == labels, NOISE, 1 - NOISE).mean()
            if voting == "stochastic" and certificate.rule == "posterior":
                risk = clf.posterior_.weights @ risks  # on average over keys
            counts[voting] += risk > certificate.bound
    return counts


WEIGHTS = np.arange(1.0, NUMBER + 1) / np.arange(1.0, NUMBER + 1).sum()
CASES = {
    "no primary rule": ({}, lambda classifiers, X, y: None),
    "an index": ({}, lambda classifiers, X, y: 3),
    "weights": ({}, lambda classifiers, X, y: WEIGHTS),
    "weights, no hedge": ({"hedge": 0}, lambda classifiers, X, y: WEIGHTS),
}


@fits(60, 1500)
@pytest.mark.parametrize("case", CASES)
def test_failures_are_compatible_with_delta(case, fits):
    choices, primary = CASES[case]
    assert max(failures(choices, fits, primary=primary).values()) <= largest(fits)


def test_a_primary_rule_chosen_on_validation_rows_is_caught():
    def peeking(classifiers, X, y):
        return int(np.argmin([(classifier.predict(X) != y).sum() for classifier in classifiers]))

    counts = failures({"hedge": 0}, 60, wrong=0.5, primary=peeking)
    assert min(counts.values()) > largest(60)


class Word:
    """A classifier without `classes_` that predicts its word for one half of the rows, and "c" for the other."""

    def __init__(self, word):
        self.word = word

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] == 0, self.word, "c")


@pytest.mark.parametrize(("m", "delta"), [(6, 0.3), (12, 0.1)])
@pytest.mark.parametrize("words", [("a", "b"), ("b", "a")])
def test_ties_of_a_vote_do_not_depend_on_the_labels_of_validation_rows(m, delta, words):
    """Two classifiers that never agree on one half of the rows: exact sums over all samples of `m` rows.

    If ties went to a label of the validation rows, there would be two votes, each with its own samples of failure.
    """
    first, share = 0.9, (1 - (0.999 * delta) ** (1 / m)) / 0.9
    failing = 0.0
    for n_a in range(m + 1):
        for n_b in range(m + 1 - n_a):
            n_c = m - n_a - n_b
            probability = comb(m, n_a) * comb(m - n_a, n_b) * (first * share) ** n_a * (first * (1 - share)) ** n_b
            X = np.repeat([0.0, 1.0], [n_a + n_b, n_c])[:, None]
            y = np.array(["a"] * n_a + ["b"] * n_b + ["c"] * n_c)
            try:
                clf = CertifiedClassifier.from_fitted(
                    [Word(word) for word in words], X, y, primary=[0.5, 0.5], hedge=0, voting="majority", delta=delta,
                    random_state=0,
                )  # fmt: skip
            except ValueError:  # rows of a single class are rejected
                continue
            risk = first * ((1 - share) if clf.predict([[0.0]])[0] == "a" else share)
            failing += probability * (1 - first) ** n_c * (risk > clf.certificate_.bound)
    assert failing <= delta
