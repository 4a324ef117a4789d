"""Bounds of `certify_difference` hold jointly, for rows and for groups, by simulation with known truth."""

from functools import cache

import numpy as np
import pytest
from tests.validity.square import compatible, fits

from pacbayes import certify_difference
from pacbayes.bounds.binomial import binomial_upper

# Probabilities that only A is wrong, only B is wrong, both are wrong.
TRUTHS = [(0.0, 0.02, 0.1), (0.02, 0.02, 0.1), (0.3, 0.1, 0.0), (0.001, 0.0, 0.0), (0.25, 0.25, 0.25)]


def failures(bounds, truth, m, number, seed):
    """Number of samples in which the true difference is outside the bounds."""
    a, b, both = truth
    rng, failed = np.random.default_rng(seed), 0
    for _ in range(number):
        kinds = rng.choice(4, m, p=[1 - a - b - both, a, b, both])
        lower, upper = bounds((kinds == 1) | (kinds == 3), (kinds == 2) | (kinds == 3))
        failed += not lower <= b - a <= upper
    return failed


@cache
def certified_counts(m, only_a, only_b):
    wrong_a, wrong_b = np.arange(m) < only_a, np.arange(m) >= m - only_b
    difference = certify_difference(wrong_a, wrong_b, 0.2)
    return difference.lower, difference.upper


def certified(wrong_a, wrong_b):
    """Bounds of `certify_difference`, cached by the counts of discordant rows."""
    return certified_counts(wrong_a.size, int((wrong_a & ~wrong_b).sum()), int((wrong_b & ~wrong_a).sum()))


def conditional_on_discordant_rows(wrong_a, wrong_b):
    """The planted fault: bounds among discordant rows, scaled by their observed share."""
    m, n, k = wrong_a.size, np.count_nonzero(wrong_a != wrong_b), np.count_nonzero(wrong_b & ~wrong_a)
    if n == 0:
        return 0.0, 0.0
    high, low = float(binomial_upper(k, n, 0.1)), 1.0 - float(binomial_upper(n - k, n, 0.1))
    return (2 * low - 1) * n / m, (2 * high - 1) * n / m


@fits(100, 2000)
@pytest.mark.parametrize("truth", TRUTHS)
def test_both_bounds_hold_jointly(truth, fits):
    assert compatible(failures(certified, truth, 20 if fits < 1000 else 150, fits, 1), fits, 0.2, 1e-3)


def test_the_observed_rate_of_discordant_rows_is_caught():
    assert not compatible(failures(conditional_on_discordant_rows, TRUTHS[0], 60, 200, 3), 200, 0.2, 1e-6)


# -- groups ------------------------------------------------------------------------------------------------------------

# Weights of kinds of groups, and the error probabilities of A and B in each kind.
GROUPED = [
    ((0.5, 0.5), [(0.0, 1.0), (1.0, 0.0)]),
    ((0.9, 0.1), [(0.1, 0.1), (0.0, 1.0)]),
    ((0.2, 0.8), [(1.0, 0.9), (0.0, 0.0)]),
    ((0.98, 0.02), [(0.0, 0.0), (1.0, 0.0)]),
]


def grouped_failures(bounds, truth, number, seed, groups=30):
    """Number of samples in which the true difference of mean group error rates is outside the bounds."""
    weights, chances = np.array(truth[0]), np.array(truth[1])
    d, rng, failed = float(weights @ (chances[:, 1] - chances[:, 0])), np.random.default_rng(seed), 0
    for _ in range(number):
        kinds, sizes = rng.choice(weights.size, groups, p=weights), rng.integers(1, 20, groups)
        of_row = np.repeat(np.arange(groups), sizes)
        wrong = rng.random((of_row.size, 2)) < chances[kinds[of_row]]
        difference = bounds(wrong[:, 0], wrong[:, 1], of_row)
        failed += not difference.lower <= d <= difference.upper
    return failed


@pytest.mark.parametrize("groups", [30, 300])
@pytest.mark.parametrize("truth", GROUPED)
def test_both_bounds_of_groups_hold_jointly(truth, groups):
    failed = grouped_failures(lambda a, b, groups: certify_difference(a, b, 0.2, groups=groups), truth, 200, 4, groups)
    assert compatible(failed, 200, 0.2, 1e-3)


def test_rows_of_groups_taken_for_independent_draws_are_caught():
    failed = grouped_failures(lambda a, b, _: certify_difference(a, b, 0.2), GROUPED[0], 50, 5)
    assert not compatible(failed, 50, 0.2, 1e-6)
