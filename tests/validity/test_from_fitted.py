"""Certificates of classifiers trained elsewhere hold where every risk is known; a proposal that peeks is caught.

There are 64 kinds of rows, each as likely as another, and classifiers that were made before any of them was drawn: a
classifier is 64 labels, and its true risk a mean over 64 kinds.
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


def failures(choices, samples, wrong=0.2, primary=lambda fitted, X, y: 3):
    """Return how often the true risk of what predicts is above its certificate, by voting."""
    truth, fitted = made(wrong)
    risks = np.array([np.where(one.labels == truth, NOISE, 1 - NOISE).mean() for one in fitted])
    counts = dict.fromkeys(VOTINGS, 0)
    for seed in range(samples):
        X, y = drawn(truth, np.random.default_rng([seed, 1]))
        clf = CertifiedClassifier.from_fitted(
            fitted, X, y, primary=primary(fitted, X, y), delta=DELTA, random_state=seed, **choices
        )
        for voting in VOTINGS:
            certificate = clf.certificates_[voting]
            said = clf.set_params(voting=voting).predict(ROWS)
            risk = np.where(said == truth, NOISE, 1 - NOISE).mean()
            if voting == "stochastic" and certificate.rule == "posterior":
                risk = clf.posterior_.weights @ risks  # on average over keys
            counts[voting] += risk > certificate.bound
    return counts


WEIGHTS = np.arange(1.0, NUMBER + 1) / np.arange(1.0, NUMBER + 1).sum()
CASES = {
    "without a proposal": ({}, lambda fitted, X, y: None),
    "one": ({}, lambda fitted, X, y: 3),
    "weights": ({}, lambda fitted, X, y: WEIGHTS),
    "weights, no hedge": ({"hedge": 0}, lambda fitted, X, y: WEIGHTS),
}


@fits(60, 1500)
@pytest.mark.parametrize("case", CASES)
def test_failures_are_compatible_with_delta(case, fits):
    choices, primary = CASES[case]
    assert max(failures(choices, fits, primary=primary).values()) <= largest(fits)


def test_a_proposal_that_looked_at_the_rows_is_caught():
    def peeking(fitted, X, y):
        return int(np.argmin([(one.predict(X) != y).sum() for one in fitted]))

    found = failures({"hedge": 0}, 60, wrong=0.5, primary=peeking)
    assert min(found.values()) > largest(60)


class Word:
    """A classifier without `classes_` that says a word of its own in one half of the rows, "c" in the other."""

    def __init__(self, word):
        self.word = word

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] == 0, self.word, "c")


@pytest.mark.parametrize(("m", "delta"), [(6, 0.3), (12, 0.1)])
@pytest.mark.parametrize("words", [("a", "b"), ("b", "a")])
def test_ties_of_a_vote_do_not_depend_on_which_labels_validate(m, delta, words):
    """Two classifiers that never agree in one half of the rows, and all samples of `m` rows with their probabilities.

    Did a tie go to a label that validation rows have, each of two votes would have its own samples in which to fail.
    """
    first, share = 0.9, (1 - (0.999 * delta) ** (1 / m)) / 0.9
    failing = 0.0
    for n_a in range(m + 1):
        for n_b in range(m + 1 - n_a):
            n_c = m - n_a - n_b
            likely = comb(m, n_a) * comb(m - n_a, n_b) * (first * share) ** n_a * (first * (1 - share)) ** n_b
            X = np.repeat([0.0, 1.0], [n_a + n_b, n_c])[:, None]
            y = np.array(["a"] * n_a + ["b"] * n_b + ["c"] * n_c)
            try:
                clf = CertifiedClassifier.from_fitted(
                    [Word(word) for word in words], X, y, primary=[0.5, 0.5], hedge=0, voting="majority", delta=delta,
                    random_state=0,
                )  # fmt: skip
            except ValueError:  # rows of one class alone are refused
                continue
            risk = first * ((1 - share) if clf.predict([[0.0]])[0] == "a" else share)
            failing += likely * (1 - first) ** n_c * (risk > clf.certificate_.bound)
    assert failing <= delta
