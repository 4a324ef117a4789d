"""The limit of always answering the most frequent class holds for the class that was chosen, whichever it is."""

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes.certificates import constant_baseline, most_frequent
from pacbayes.ensemble.evidence import Counted

DELTA = 0.1


def limit(label, errors, m):
    """The limit of always answering a label that is wrong so often among m rows."""
    return constant_baseline(label, Counted(np.array([[errors]]), None, m), DELTA).bound


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.994, 0.006], [0.34, 0.33, 0.33], [0.01] * 100])
def test_the_limit_fails_no_more_often_than_delta(shares):
    rng = np.random.default_rng(7)
    trials, half = 1500, 60
    failed = 0
    for _ in range(trials):
        labels = rng.choice(len(shares), size=2 * half, p=shares)
        label, errors = most_frequent(labels[:half], labels[half:])
        failed += limit(label, errors, half) < 1.0 - shares[label]
    # One in ten thousand for a limit that just holds.
    assert failed <= binom.ppf(1.0 - 1e-4, trials, DELTA)


def test_counted_on_the_rows_it_was_chosen_on_it_would_not_hold():
    """Why independent splits take one classifier's parts: the class most frequent in all rows looks too good there."""
    rng = np.random.default_rng(7)
    trials, rows, classes = 1500, 60, 100
    failed = 0
    for _ in range(trials):
        labels = rng.integers(classes, size=rows)
        label, errors = most_frequent(labels, labels)
        failed += limit(label, errors, rows) < 1.0 - 1.0 / classes
    assert failed > binom.ppf(1.0 - 1e-4, trials, DELTA)
