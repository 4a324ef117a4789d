"""The guarantee of a comparison, by simulation with known truth: both limits at once, of rows and of groups."""

from functools import cache

import numpy as np
import pytest
from tests.validity.square import compatible, fits

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


@fits(100, 2000)
@pytest.mark.parametrize("truth", TRUTHS)
def test_both_limits_hold_at_once(truth, fits):
    assert compatible(failures(certified, truth, 20 if fits < 1000 else 150, fits, 1), fits, 0.2, 1e-3)


def test_a_planted_fault_is_caught():
    # The rate of disagreement taken for the true one fails where it is rare.
    assert not compatible(failures(of_paired_rows_as_if_they_agreed, TRUTHS[0], 60, 200, 3), 200, 0.2, 1e-6)


# -- groups ------------------------------------------------------------------------------------------------------------

# In each group, of which 30 are drawn, A and B err on every row with the same chance, of these pairs (with weights).
GROUPED = [
    ((0.5, 0.5), [(0.0, 1.0), (1.0, 0.0)]),
    ((0.9, 0.1), [(0.1, 0.1), (0.0, 1.0)]),
    ((0.2, 0.8), [(1.0, 0.9), (0.0, 0.0)]),
    ((0.98, 0.02), [(0.0, 0.0), (1.0, 0.0)]),
]


def grouped_failures(limits, truth, number, seed, groups=30):
    """How often the difference of the mean group error rates is outside of the limits, of so many samples."""
    weights, chances = np.array(truth[0]), np.array(truth[1])
    d, rng, failed = float(weights @ (chances[:, 1] - chances[:, 0])), np.random.default_rng(seed), 0
    for _ in range(number):
        kinds, sizes = rng.choice(weights.size, groups, p=weights), rng.integers(1, 20, groups)
        of = np.repeat(np.arange(groups), sizes)
        wrong = rng.random((of.size, 2)) < chances[kinds[of]]
        found = limits(wrong[:, 0], wrong[:, 1], of)
        failed += not found.lower <= d <= found.upper
    return failed


@pytest.mark.parametrize("groups", [30, 300])
@pytest.mark.parametrize("truth", GROUPED)
def test_both_limits_of_groups_hold_at_once(truth, groups):
    failed = grouped_failures(lambda a, b, of: certify_difference(a, b, 0.2, groups=of), truth, 200, 4, groups)
    assert compatible(failed, 200, 0.2, 1e-3)


def test_rows_of_a_group_taken_for_draws_are_caught():
    # The planted fault: that is what the comparison did with groups before it knew of them.
    failed = grouped_failures(lambda a, b, _: certify_difference(a, b, 0.2), GROUPED[0], 50, 5)
    assert not compatible(failed, 50, 0.2, 1e-6)
