"""The guarantee of a comparison, by simulation with known truth: both limits at once."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import certify_difference
from pacbayes.bounds.binomial import binomial_upper

# Probabilities that A errs alone, B errs alone, both err.
TRUTHS = [(0.0, 0.02, 0.1), (0.02, 0.02, 0.1), (0.3, 0.1, 0.0), (0.001, 0.0, 0.0), (0.25, 0.25, 0.25)]


def failures(limits, truth, m, number, seed):
    """How often of so many samples the true difference is outside of the limits."""
    a, b, both = truth
    rng, failed = np.random.default_rng(seed), 0
    for _ in range(number):
        kinds = rng.choice(4, m, p=[1 - a - b - both, a, b, both])
        lower, upper = limits((kinds == 1) | (kinds == 3), (kinds == 2) | (kinds == 3))
        failed += not lower <= b - a <= upper
    return failed


@cache
def certified_counts(m, only_a, only_b):
    wrong_a, wrong_b = np.arange(m) < only_a, np.arange(m) >= m - only_b
    found = certify_difference(wrong_a, wrong_b, 0.2)
    return found.lower, found.upper


def certified(wrong_a, wrong_b):
    """The limits; they depend on the rows that only one gets wrong, so that each pair of counts is computed once."""
    return certified_counts(wrong_a.size, int((wrong_a & ~wrong_b).sum()), int((wrong_b & ~wrong_a).sum()))


def of_paired_rows_as_if_they_agreed(wrong_a, wrong_b):
    """The planted fault: only the rows that disagree, as a share of which the difference is then read."""
    m, n, k = wrong_a.size, np.count_nonzero(wrong_a != wrong_b), np.count_nonzero(wrong_b & ~wrong_a)
    if n == 0:
        return 0.0, 0.0
    high, low = float(binomial_upper(k, n, 0.1)), 1.0 - float(binomial_upper(n - k, n, 0.1))
    return (2 * low - 1) * n / m, (2 * high - 1) * n / m


@pytest.mark.parametrize("truth", TRUTHS)
def test_both_limits_hold_at_once(truth):
    number = 100
    assert binom.sf(failures(certified, truth, 20, number, 1) - 1, number, 0.2) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
def test_both_limits_hold_at_once_in_many_samples(truth):
    number = 2000
    assert binom.sf(failures(certified, truth, 150, number, 2) - 1, number, 0.2) > 1e-3


def test_a_planted_fault_is_caught():
    # The rate of disagreement taken for the true one fails where it is rare.
    number = 200
    failed = failures(of_paired_rows_as_if_they_agreed, (0.0, 0.02, 0.1), 60, number, 3)
    assert binom.sf(failed - 1, number, 0.2) < 1e-6
