"""The certificates for groups, by simulation on a distribution where every true risk is known exactly.

A group is one of 400 points of a square, all equally likely, and all its rows lie there.  Its label is that of the
quadrant, or in 15 % of groups another; of its rows a tenth has another label again.  Groups of the wrong label have
nine rows, the others one to five, so that the mean over groups is not the share among rows.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest
from sklearn.tree import DecisionTreeClassifier
from tests.validity.test_estimators import CLEAN, POINTS

from pacbayes import CertifiedClassifier, Grid, StochasticSVC, SVMs
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper
from pacbayes.certificates.plan import without_reserve

DELTA, OF_GROUP, OF_ROW, GROUPS = 0.1, 0.15, 0.1, 80
VOTINGS = ("stochastic", "majority", "best")
LAMBDAS = np.geomspace(1e-3, 30.0, 12)
# The mean over groups of the share of rows that do not have the quadrant's label.
NOISE = OF_GROUP * (1 - OF_ROW) + (1 - OF_GROUP) * OF_ROW
# The same among rows: groups of the wrong label have nine rows, the others three on average.
WEIGHT = OF_GROUP * 9 / (OF_GROUP * 9 + (1 - OF_GROUP) * 3)
NOISE_OF_ROWS = WEIGHT * (1 - OF_ROW) + (1 - WEIGHT) * OF_ROW


def sample(rng, number=GROUPS):
    """Rows, labels and groups of so many groups."""
    points, wrong = rng.integers(0, 400, number), rng.random(number) < OF_GROUP
    sizes = np.where(wrong, 9, rng.integers(1, 6, number))
    groups = np.repeat(np.arange(number), sizes)
    y = (CLEAN[points] ^ wrong)[groups] ^ (rng.random(groups.size) < OF_ROW)
    order = rng.permutation(groups.size)
    return POINTS[points][groups][order], y[order], groups[order]


def true_risk(labels, noise):
    """The exact risk of a classifier that gives the 400 points these labels; of several, by rows."""
    return np.where(labels == CLEAN, noise, 1 - noise).mean(axis=-1)


def svc(seed, **choices):
    return StochasticSVC(LAMBDAS, gamma=8.0, scale=False, delta=DELTA, cv=None, random_state=seed, **choices)


independent = partial(svc, split="independent")


def grid(seed):
    trees = {"max_depth": [1, 2, 3, 4, 6, 8, 12, None]}
    choices = {"delta": DELTA, "cv": None, "random_state": seed}
    return CertifiedClassifier(Grid(DecisionTreeClassifier(), trees), **choices)


def failures(make, fits, grouped=True, noise=NOISE):
    """How often the true risk is above each certificate, and how often outside both sides of the stochastic one."""
    counts = dict.fromkeys((*VOTINGS, "two-sided"), 0)
    for seed in range(fits):
        X, y, groups = sample(np.random.default_rng([seed, 11]))
        clf = make(seed).fit(X, y, groups=groups if grouped else None)
        risks = {
            "stochastic": float(clf.posterior_.weights @ true_risk(clf.classifiers_.predict(POINTS), noise)),
            "majority": float(true_risk(clf.set_params(voting="majority").predict(POINTS), noise)),
            "best": float(true_risk(clf.set_params(voting="best").predict(POINTS), noise)),
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
        pytest.param(svc, 40, id="svc"),
        pytest.param(svc, 300, id="svc-long", marks=pytest.mark.slow),
        pytest.param(independent, 40, id="independent"),
        pytest.param(independent, 300, id="independent-long", marks=pytest.mark.slow),
        pytest.param(grid, 300, id="grid-long", marks=pytest.mark.slow),
    ],
)
def test_failures_are_compatible_with_delta(make, fits):
    counts = failures(make, fits)
    assert max(counts.values()) <= largest(fits), counts


def soft_failures(fits):
    """The same for what the training rows propose: the soft vote, and one of them."""
    counts = dict.fromkeys(("soft", "majority", "best"), 0)
    candidates = [SVMs(LAMBDAS[::3], gamma=[2.0, 8.0]), DecisionTreeClassifier(max_depth=4)]
    for seed in range(fits):
        X, y, groups = sample(np.random.default_rng([seed, 11]))
        clf = CertifiedClassifier(candidates, delta=DELTA, cv=3, random_state=seed).fit(X, y, groups=groups)
        assert clf.voting_ == "soft"
        for voting in counts:
            said = clf.set_params(voting=voting).predict(POINTS)
            counts[voting] += float(true_risk(said, NOISE)) > clf.certificates_[voting].bound
        clf.set_params(voting="auto")
    return counts


@pytest.mark.parametrize("fits", [20, pytest.param(600, marks=pytest.mark.slow)])
def test_failures_of_soft_votes_are_compatible_with_delta(fits):
    counts = soft_failures(fits)
    assert max(counts.values()) <= largest(fits), counts


@pytest.mark.filterwarnings("ignore:.* validation rows equal a training row")
@pytest.mark.parametrize("noise", [NOISE, NOISE_OF_ROWS], ids=["mean over groups", "share of rows"])
def test_groups_that_are_ignored_are_caught(noise):
    """Rows of one group on both sides: whatever the certificate is held against, it fails."""
    counts = failures(svc, 40, grouped=False, noise=noise)
    assert counts["stochastic"] > largest(40), counts
    assert counts["best"] > largest(40), counts


def test_rows_counted_as_draws_are_caught():
    """A fixed rule: the exact binomial limit of its rows fails, Chernoff's of its groups holds."""
    runs, m, rng = 4000, 30, np.random.default_rng(5)
    as_rows = as_groups = 0
    for _ in range(runs):
        X, y, groups = sample(rng, m)
        wrong = y != (X[:, 0] * X[:, 1] > 0)
        shares = np.bincount(groups, wrong) / np.bincount(groups)
        as_rows += binomial_upper(np.count_nonzero(wrong), wrong.size, DELTA) < NOISE_OF_ROWS
        as_groups += chernoff_upper(min(shares.mean() * (1 + 1e-12), 1.0), m, DELTA) < NOISE
    assert as_rows > binom.ppf(1 - 1e-4, runs, DELTA)
    assert as_groups <= binom.ppf(1 - 1e-4, runs, DELTA)


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_always_the_same_answer_keeps_its_limit(share):
    """Of the two limits of the baseline the smaller counts: each has half of delta."""
    from pacbayes.certificates.certify import no_skill
    from pacbayes.certificates.plan import Plan
    from pacbayes.certificates.predictions import _evidence
    from pacbayes.certificates.proposals import given_rules
    from pacbayes.data.division import all_validate
    from pacbayes.data.labelled import Labelled

    rng, failures, tries = np.random.default_rng(11), 0, 300
    for _ in range(tries):
        rates = rng.beta(0.5 * share / (1 - share), 0.5, 60)
        truth = (rng.random((60, 8)) < rates[:, None]).astype(int).ravel()
        data = Labelled.checked(np.zeros((480, 1)), truth, np.repeat(np.arange(60), 8), classes=np.array([0, 1]))
        rules = tuple(replace(rule, bet=0.89) for rule in without_reserve(given_rules(0, 1)))
        plan = Plan(all_validate(data, "keep"), delta=0.2, hedge=0.0, planned=rules, no_skill=0)
        failures += no_skill(plan, _evidence(data, np.zeros(480, dtype=int), len(rules))).bound < share
    assert failures <= binom.ppf(1 - 1e-4, tries, 0.2)


def certified_in_order(order, fits):
    """How often the bound fails where the groups are those of a shuffled table, handed over in some order."""
    count = 0
    for seed in range(fits):
        rng = np.random.default_rng([seed, 42])
        X, y, patient = sample(rng)
        # No two rows are equal, and yet all of a patient are told by their features.
        table = pd.DataFrame(X + 1e-6 * rng.random(X.shape), columns=["a", "b"]).assign(y=y, patient=patient)
        rows = table.sample(frac=1, random_state=seed)
        tree = CertifiedClassifier(DecisionTreeClassifier(random_state=0), cv=3, delta=DELTA, voting="best")
        tree.set_params(random_state=seed).fit(rows[["a", "b"]], rows["y"], groups=order(table["patient"], rows.index))
        said = tree.predict(pd.DataFrame(POINTS, columns=["a", "b"]))
        count += float(true_risk(said, NOISE)) > tree.certificate_.bound
    return count


def test_groups_of_an_unshuffled_table_are_refused():
    """An attack had 8 of 8 certificates false, with groups=df.patient beside X=df.sample(frac=1)."""
    with pytest.raises(ValueError, match=r"X and groups have the same index .* give groups.loc\[X.index\], or groups"):
        certified_in_order(lambda patient, index: patient, 1)
    taken_by_position = certified_in_order(lambda patient, index: patient.to_numpy(), 40)
    assert binomtest(taken_by_position, 40, DELTA, "greater").pvalue < 1e-4
    aligned = certified_in_order(lambda patient, index: patient.loc[index], 40)
    assert binomtest(aligned, 40, DELTA, "greater").pvalue > 1e-4
