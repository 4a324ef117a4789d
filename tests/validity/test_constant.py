"""The limit of always answering the most frequent class holds for the class that was chosen, whichever it is."""

from dataclasses import replace

import numpy as np
import pytest
from tests.validity.square import DELTA, largest

from pacbayes.certificates import Plan, fixed_label_baseline, most_frequent
from pacbayes.certificates.certify import majority_class
from pacbayes.certificates.plan import without_hedge
from pacbayes.certificates.predictions import _evidence
from pacbayes.certificates.primary import prefit_rules
from pacbayes.data.dataset import Dataset
from pacbayes.data.split import all_validate
from pacbayes.ensemble.validation import Counted


def limit(label, errors, m):
    """The limit of always answering a label that is wrong so often among m rows."""
    return fixed_label_baseline(label, Counted(np.array([[errors]]), None, m), DELTA).bound


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.994, 0.006], [0.34, 0.33, 0.33], [0.01] * 100])
def test_the_limit_fails_no_more_often_than_delta(shares):
    rng = np.random.default_rng(7)
    trials, half = 800, 60
    failed = 0
    for _ in range(trials):
        labels = rng.choice(len(shares), size=2 * half, p=shares)
        label, errors = most_frequent(labels[:half], labels[half:])
        failed += limit(label, errors, half) < 1.0 - shares[label]
    # One in ten thousand for a limit that just holds.
    assert failed <= largest(trials)


def test_counted_on_the_rows_it_was_chosen_on_it_would_not_hold():
    """Why independent splits take one classifier's parts: the class most frequent in all rows looks too good there."""
    rng = np.random.default_rng(7)
    trials, rows, classes = 300, 60, 100
    failed = 0
    for _ in range(trials):
        labels = rng.integers(classes, size=rows)
        label, errors = most_frequent(labels, labels)
        failed += limit(label, errors, rows) < 1.0 - 1.0 / classes
    assert failed > largest(trials)


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_always_the_same_answer_keeps_its_limit(share):
    """Of the two limits of the baseline the smaller counts: each has half of delta."""
    rng, failures, tries = np.random.default_rng(11), 0, 150
    for _ in range(tries):
        rates = rng.beta(0.5 * share / (1 - share), 0.5, 60)
        truth = (rng.random((60, 8)) < rates[:, None]).astype(int).ravel()
        data = Dataset.checked(np.zeros((480, 1)), truth, np.repeat(np.arange(60), 8), classes=np.array([0, 1]))
        rules = tuple(replace(rule, bet=0.89) for rule in without_hedge(prefit_rules(0, 1)))
        plan = Plan(all_validate(data, "keep"), delta=0.2, hedge=0.0, fixed_rules=rules, majority_class=0)
        failures += majority_class(plan, _evidence(data, np.zeros(480, dtype=int), len(rules))).bound < share
    assert failures <= largest(tries, 0.2)
