"""Bound on a difference: exact validity, summed over the trinomial distribution; tightness; ends."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import multinomial

from pacbayes.bounds.binomial import binomial_upper
from pacbayes.bounds.trinomial import difference_upper, group_difference_upper


def outcomes(m):
    """All pairs of counts whose sum is at most m."""
    return np.array([(j, k) for j in range(m + 1) for k in range(m + 1 - j)])


def largest_failure(bounds, pairs, m, steps=16):
    """Largest probability, over a grid of true probabilities, that the bound is below the true difference."""
    rates = np.concatenate([np.linspace(0.0, 1.0, steps + 1), [0.01, 0.03, 0.99]])
    worst = 0.0
    for a in rates:
        for b in rates[rates <= 1.0 - a + 1e-12]:
            probabilities = multinomial.pmf(
                np.column_stack([pairs, m - pairs.sum(axis=1)]), m, [a, b, max(1 - a - b, 0)]
            )
            # With a tolerance, since the grid's differences are rounded.
            worst = max(worst, float(probabilities[bounds < b - a - 1e-12].sum()))
    return worst


def wald(j, k, m, delta):
    """The Wald bound, which is not valid."""
    return (k - j) / m - ndtri(delta) * np.sqrt(max(j + k - (k - j) ** 2 / m, 0)) / m


MORE = [pytest.param(m, delta, marks=pytest.mark.slow) for m, delta in [(30, 0.025), (30, 0.2), (45, 0.05)]]


@pytest.mark.parametrize(("m", "delta"), [(1, 0.1), (2, 0.025), (7, 0.3), (12, 0.025), *MORE])
def test_exact_validity(m, delta):
    pairs = outcomes(m)
    bounds = np.array([difference_upper(int(j), int(k), m, delta) for j, k in pairs])
    worst = largest_failure(bounds, pairs, m, 16 if m < 20 else 60)
    assert worst <= delta
    assert m < 20 or worst > 0.5 * delta
    # The same sum detects bounds that are too small.
    assert m > 20 or largest_failure(np.array([wald(j, k, m, delta) for j, k in pairs]), pairs, m) > delta


def largest_probability(j0, k0, m, delta, difference):
    """Largest probability, over rates of disagreement, of outcomes not above (j0, k0), term by term."""
    z = -ndtri(delta)
    pairs = outcomes(m)
    heights = pairs[:, 1] - pairs[:, 0] + z * np.sqrt(pairs.sum(axis=1) + z * z / 4)
    below = pairs[heights <= k0 - j0 + z * np.sqrt(j0 + k0 + z * z / 4) + 1e-9]
    counts = np.column_stack([below, m - below.sum(axis=1)])
    least = max(abs(difference), 1.0 - float(binomial_upper(m - j0 - k0, m, delta * 0.005)))
    rates = np.linspace(least, float(binomial_upper(j0 + k0, m, delta * 0.005)), 200)
    return max(multinomial.pmf(counts, m, [(s - difference) / 2, (s + difference) / 2, 1 - s]).sum() for s in rates)


@pytest.mark.parametrize(("j", "k"), [(0, 0), (3, 3), (8, 1), (1, 8), (15, 0), (0, 15), (25, 14)])
def test_bound_is_where_the_largest_probability_reaches_the_level(j, k):
    m, delta = 40, 0.025
    bound = difference_upper(j, k, m, delta)
    assert largest_probability(j, k, m, delta, bound) <= delta * 0.99
    nearer = bound - 0.04 * (bound - (k - j) / m)
    assert largest_probability(j, k, m, delta, nearer) > delta * 0.96


def test_tightness_for_few_discordant_rows_and_large_samples():
    # 10 against 10 of 1000 rows; a bound for each cell at a quarter of delta, and the difference of these.
    cells = float(binomial_upper(10, 1000, 0.0125)) - (1.0 - float(binomial_upper(990, 1000, 0.0125)))
    assert difference_upper(10, 10, 1000, 0.025) < 0.0104 < 0.015 < cells
    # Without a discordant row: the Clopper-Pearson bound, except for the share of the disagreement.
    for m in (50, 10**4):
        bound, exact = difference_upper(0, 0, m, 0.025), float(binomial_upper(0, m, 0.025))
        assert exact < bound < 1.01 * exact
    for j, k, m in [(300, 200, 10**5), (5000, 4000, 2 * 10**4)]:  # the normal limit is approached
        distance = difference_upper(j, k, m, 0.025) - (k - j) / m
        assert 1.0 < distance / (wald(j, k, m, 0.025) - (k - j) / m) < 1.04


@pytest.mark.parametrize(("call", "arguments", "message"), [
    (difference_upper, (3, 8, 10, 0.05), "only_a and only_b must be counts"),
    (difference_upper, (-1, 2, 10, 0.05), "only_a and only_b must be counts"),
    (difference_upper, (1, 2, 10, 0.7), "delta must lie in"),
    *((group_difference_upper, (more, sizes, 0.05), "excess_errors and sizes must be counts of rows")
      for more, sizes in (([4], [3]), ([-4], [3]), ([0], [0]), ([], []), ([0, 0], [1]))),
])  # fmt: skip
def test_wrong_input(call, arguments, message):
    with pytest.raises(ValueError, match=message):
        call(*arguments)


# -- groups ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("groups", "delta"), [(4, 0.4), (6, 0.1), (6, 0.025)])
def test_exact_validity_for_groups(groups, delta):
    """Summed over all samples of groups of two rows, in each of which B errs on -2 to 2 rows more than A."""
    samples = list(combinations_with_replacement(range(-2, 3), groups))
    bounds = np.array([group_difference_upper(list(one), [2] * groups, delta) for one in samples])
    counts = np.array([[one.count(more) for more in range(-2, 3)] for one in samples])
    rng, worst = np.random.default_rng(0), 0.0
    for alpha in (0.05, 0.2, 1.0):
        for p in rng.dirichlet([alpha] * 5, 300):
            true = float(p @ np.linspace(-1.0, 1.0, 5))
            worst = max(worst, float(multinomial.pmf(counts, groups, p)[bounds < true - 1e-12].sum()))
    assert 0.2 * delta < worst <= delta


@pytest.mark.parametrize("groups", [1, 10, 300])
def test_bound_for_groups_in_exact_arithmetic(groups):
    """At the bound one of the bets reaches its share of the level, in rational arithmetic."""
    rng, delta = np.random.default_rng(groups), 0.025
    sizes = rng.integers(1, 30, groups)
    more = np.array([int(rng.integers(-n, n + 1)) for n in sizes]) // 3
    found = Fraction(group_difference_upper(more, sizes, delta))
    if found == 1:
        assert groups == 1
        return
    bets = [Fraction(b) for b in (0.89, 0.3, 0.1)[: 1 if groups < 80 else 2 if groups < 700 else 3]]
    part, won = Fraction(delta) / len(bets), Fraction(0)
    differences = [Fraction(int(k), int(n)) for k, n in zip(more, sizes, strict=True)]
    for b in bets:
        capital = Fraction(1)
        for one in differences:
            capital *= 1 - b + b * (1 - one) / (1 - found)
        won = max(won, capital)
    assert 1 / part <= won < 1.000001 / part


def test_ends_of_the_bound_for_groups():
    assert group_difference_upper([3, 3], [3, 3], 0.05) == 1.0
    assert group_difference_upper([0, 1], [3, 3], 0.0) == group_difference_upper([0, 1], [3, 3], 5e-324) == 1.0
    assert -1.0 < group_difference_upper([-3] * 100, [3] * 100, 0.05) < -0.9
