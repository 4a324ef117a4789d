"""The certificates of the estimators, by simulation on a distribution where every true risk is known exactly.

A row is one of 400 points of a square, all equally likely; its label is that of its quadrant (as in exclusive or), or
with probability 0.15 another.  The true risk of a classifier is a mean over the 400 points.
"""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Grid, StochasticSVC
from pacbayes.data.division import Division, divide

DELTA, NOISE, N = 0.1, 0.15, 160
VOTINGS = ("stochastic", "majority", "best")
SIDE = (np.arange(20) - 9.5) / 10
POINTS = np.array([(a, b) for a in SIDE for b in SIDE])
CLEAN = (POINTS[:, 0] * POINTS[:, 1] > 0).astype(int)
# Machines from nearly none to far too much freedom.
LAMBDAS = np.geomspace(1e-3, 30.0, 20)


def sample(n, rng):
    rows = rng.integers(0, 400, n)
    return POINTS[rows], CLEAN[rows] ^ (rng.random(n) < NOISE)


def true_risk(labels):
    """The exact risk of a classifier that gives the 400 points these labels; of several, by rows."""
    return np.where(labels == CLEAN, NOISE, 1 - NOISE).mean(axis=-1)


def svc(seed, **choices):
    return StochasticSVC(LAMBDAS, gamma=8.0, scale=False, delta=DELTA, cv=None, random_state=seed, **choices)


independent = partial(svc, split="independent")


def grid(seed):
    trees = {"max_depth": [1, 2, 3, 4, 6, 8, 12, None]}
    choices = {"delta": DELTA, "cv": None, "random_state": seed}
    return CertifiedClassifier(Grid(DecisionTreeClassifier(), trees), **choices)


def failures(make, fits):
    """How often the true risk is above each certificate, and how often outside both sides of the stochastic one."""
    counts = dict.fromkeys((*VOTINGS, "two-sided"), 0)
    for seed in range(fits):
        clf = make(seed).fit(*sample(N, np.random.default_rng([seed, 7])))
        risks = {
            "stochastic": float(clf.posterior_.weights @ true_risk(clf.classifiers_.predict(POINTS))),
            "majority": float(true_risk(clf.set_params(voting="majority").predict(POINTS))),
            "best": float(true_risk(clf.set_params(voting="best").predict(POINTS))),
        }
        for voting in VOTINGS:
            counts[voting] += risks[voting] > clf.certificates_[voting].bound
        stochastic = clf.certificates_["stochastic"]
        counts["two-sided"] += not stochastic.lower <= risks["stochastic"] <= stochastic.bound
    return counts


def largest(fits):
    """More failures than this have a probability below 1e-4 if each has at most the probability delta."""
    return binom.ppf(1 - 1e-4, fits, DELTA)


@pytest.mark.parametrize(
    ("make", "fits"),
    [
        pytest.param(svc, 60, id="svc"),
        pytest.param(svc, 300, id="svc-long", marks=pytest.mark.slow),
        pytest.param(independent, 60, id="independent"),
        pytest.param(independent, 300, id="independent-long", marks=pytest.mark.slow),
        pytest.param(grid, 300, id="grid-long", marks=pytest.mark.slow),
    ],
)
def test_failures_are_compatible_with_delta(make, fits):
    counts = failures(make, fits)
    assert max(counts.values()) <= largest(fits), counts


def test_a_distance_list_and_a_prior_of_the_training_rows_stay_valid():
    def prior(params, X_train, y_train):
        """Favour the machines whose lambda is near the share of rows that have a neighbour of another label."""
        near = KNeighborsClassifier(1).fit(X_train[::2], y_train[::2]).score(X_train[1::2], y_train[1::2])
        distance = np.abs(np.log([setting["lambda"] for setting in params]) - np.log(2 * (1 - near) + 1e-3))
        return np.exp(-distance) / np.exp(-distance).sum()

    counts = failures(partial(svc, prior=prior, distance=["kl", "pinsker", "ch"]), 60)
    assert max(counts.values()) <= largest(60), counts


@pytest.mark.parametrize("make", [svc, independent])
def test_validation_rows_used_in_training_are_caught(make, monkeypatch):
    def leak(*arguments):
        division = divide(*arguments)
        if division.shared is not None:
            # Past the constructor, which refuses rows on both sides.
            object.__setattr__(division, "shared", (np.arange(division.n_rows), division.shared[1]))
        return division

    honest = Division.__call__

    def leak_each(self, i):
        train, validation = honest(self, i)
        return (train, validation) if self.shared is not None else (np.arange(self.n_rows), validation)

    monkeypatch.setattr("pacbayes.ensemble.classifier_set.divide", leak)
    monkeypatch.setattr(Division, "__call__", leak_each)
    counts = failures(make, 60)
    assert counts["stochastic"] > largest(60)
    assert counts["best"] > largest(60)
