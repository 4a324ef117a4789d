"""The bound of the majority-class baseline holds for the class that the training rows choose."""

from dataclasses import replace

import numpy as np
import pytest
from tests.validity.square import DELTA, largest

from pacbayes.certificates import Plan, fixed_label_baseline, most_frequent
from pacbayes.certificates.certify import majority_class_baseline
from pacbayes.certificates.plan import select_primary_rules
from pacbayes.certificates.primary import prefit_rules
from pacbayes.data.dataset import Dataset
from pacbayes.data.split import make_prefit_split
from pacbayes.ensemble.validation import ErrorCounts, ValidationPredictions


def bound(label, errors, m):
    """Bound of always predicting `label`, which is wrong on `errors` of m rows."""
    return fixed_label_baseline(label, ErrorCounts(np.array([[errors]]), None, m), DELTA).bound


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.994, 0.006], [0.34, 0.33, 0.33], [0.01] * 100])
def test_failures_are_compatible_with_delta(shares):
    rng = np.random.default_rng(7)
    trials, half = 800, 60
    failed = 0
    for _ in range(trials):
        labels = rng.choice(len(shares), size=2 * half, p=shares)
        label, errors = most_frequent(labels[:half], labels[half:])
        failed += bound(label, errors, half) < 1.0 - shares[label]
    assert failed <= largest(trials)


def test_a_class_chosen_on_the_validation_rows_is_caught():
    """The majority class of all rows looks too good: independent splits use the rows of a single classifier."""
    rng = np.random.default_rng(7)
    trials, rows, classes = 300, 60, 100
    failed = 0
    for _ in range(trials):
        labels = rng.integers(classes, size=rows)
        label, errors = most_frequent(labels, labels)
        failed += bound(label, errors, rows) < 1.0 - 1.0 / classes
    assert failed > largest(trials)


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_the_baseline_of_groups_keeps_delta(share):
    """The smaller of two bounds, each at half of delta."""
    rng, failures, trials = np.random.default_rng(11), 0, 150
    for _ in range(trials):
        rates = rng.beta(0.5 * share / (1 - share), 0.5, 60)
        y_true = (rng.random((60, 8)) < rates[:, None]).astype(np.uint8).ravel()
        data = Dataset.from_arrays(np.zeros((480, 1)), y_true, np.repeat(np.arange(60), 8), classes=np.array([0, 1]))
        rules = tuple(replace(rule, bet=0.89) for rule in select_primary_rules(prefit_rules(0, 1)))
        plan = Plan(make_prefit_split(data, "keep"), delta=0.2, hedge=0.0, fixed_rules=rules, majority_class=0)
        predictions = ValidationPredictions(data.classes, 2, np.zeros((1, 480), dtype=np.uint8), y_true)
        failures += majority_class_baseline(plan, predictions).bound < share
    assert failures <= largest(trials, 0.2)
