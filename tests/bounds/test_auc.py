"""Lower bounds of the AUC: enumeration of all samples, all pairings by brute force, and other implementations."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from math import comb, factorial, prod

import numpy as np
import pytest
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score

from pacbayes.bounds.auc import (
    _auc_lower_all_pairings,
    _log_mean_polynomials,
    _ordered_counts,
    auc_lower,
    count_ordered_pairs,
)

#: Values of the scores, with their probabilities in the positive and in the negative class.
LAWS = (
    {0: (Fraction(1, 5), Fraction(3, 5)), 1: (Fraction(1, 5), Fraction(1, 5)), 2: (Fraction(3, 5), Fraction(1, 5))},
    {0: (Fraction(1, 10), Fraction(1, 2)), 1: (Fraction(9, 10), Fraction(1, 2))},
    {0: (Fraction(1, 3), Fraction(1, 3)), 1: (Fraction(1, 3), Fraction(1, 3)), 2: (Fraction(1, 3), Fraction(1, 3))},
)


def true_auc(law):
    """Probability that a positive row has the larger score; ties count half."""
    return sum(
        p[0] * q[1] * (1 if s > t else Fraction(1, 2) if s == t else 0) for s, p in law.items() for t, q in law.items()
    )


def samples(law, side, n):
    """Yield all samples of a class in any order, with their probabilities."""
    for sample in combinations_with_replacement(law, n):
        probability = Fraction(factorial(n))
        for value in law:
            probability *= law[value][side] ** sample.count(value) / Fraction(factorial(sample.count(value)))
        yield np.array(sample, dtype=float), probability


@cache
def averaged(positive, negative, delta):
    return _auc_lower_all_pairings(np.array(positive), np.array(negative), delta)


@pytest.mark.parametrize("delta", [0.05, 0.3])
@pytest.mark.parametrize("sizes", [(1, 2), (2, 4), (4, 2), (2, 8), (3, 7), (7, 3), (5, 5)])
def test_the_average_over_pairings_by_enumeration(sizes, delta):
    """All samples of up to ten rows: the bound is above the AUC with probability at most delta, for P(s+ > s-) too."""
    for law in LAWS:
        strict = sum(p[0] * q[1] for s, p in law.items() for t, q in law.items() if s > t)
        assert strict <= true_auc(law)
        failed = Fraction(0)
        for positive, p in samples(law, 0, sizes[0]):
            for negative, q in samples(law, 1, sizes[1]):
                if averaged(tuple(positive), tuple(negative), delta) > strict:
                    failed += p * q
        assert failed <= Fraction(delta)


@pytest.mark.parametrize("delta", [0.05, 0.3])
@pytest.mark.parametrize("n", [1, 3, 5])
def test_pairs_by_enumeration(n, delta):
    """All ordered samples of n rows of each class, paired by one permutation that is fixed in advance."""
    law = LAWS[1]
    strict, failed = law[1][0] * law[0][1], Fraction(0)
    for values in product(law, repeat=2 * n):
        positive, negative = np.array(values[:n], dtype=float), np.array(values[n:], dtype=float)
        probability = prod([law[s][0] for s in values[:n]] + [law[t][1] for t in values[n:]])
        failed += probability * (auc_lower(positive, negative, delta, np.random.default_rng(0)) > strict)
    assert failed <= Fraction(delta)
    best = auc_lower(np.ones(n), np.zeros(n), delta, np.random.default_rng(0))
    assert best == pytest.approx(delta ** (1 / n), rel=1e-9)


@pytest.mark.parametrize(("n", "larger"), [(1, 3), (2, 2), (3, 4), (3, 5), (4, 5)])
@pytest.mark.parametrize("swapped", [False, True])
def test_means_over_all_pairings_by_brute_force(n, larger, swapped):
    rng = np.random.default_rng([n, larger])
    for _ in range(5):
        small, large = rng.integers(0, 5, n).astype(float), rng.integers(0, 5, larger).astype(float)
        positive, negative = (-large, -small) if swapped else (small, large)
        sums, number = np.zeros(n + 1), 0
        for order in permutations(range(larger), n):
            wins = sum(small[j] > large[order[j]] for j in range(n))
            sums += [comb(wins, k) for k in range(n + 1)]
            number += 1
        assert np.exp(_log_mean_polynomials(_ordered_counts(positive, negative), larger)) == pytest.approx(
            sums / number
        )


@pytest.mark.parametrize("sizes", [(1, 5), (7, 7), (200, 30)])
def test_observed_auc_is_that_of_other_libraries(sizes):
    rng = np.random.default_rng(0)
    positive, negative = (rng.integers(0, 9, n).astype(float) for n in sizes)
    ordered, pairs = count_ordered_pairs(positive, negative), sizes[0] * sizes[1]
    assert ordered == mannwhitneyu(positive, negative).statistic
    labels = np.repeat([1, 0], sizes)
    assert ordered / pairs == pytest.approx(roc_auc_score(labels, np.concatenate([positive, negative])))


@pytest.mark.parametrize("sizes", [(2000, 4000), (3, 100_000), (2001, 100_000)])
def test_many_rows(sizes):
    rng = np.random.default_rng(0)
    positive, negative = rng.normal(1.5, size=sizes[0]), rng.normal(size=sizes[1])
    true = count_ordered_pairs(positive, negative) / (sizes[0] * sizes[1])
    bound = auc_lower(positive, negative, 0.05, rng)
    assert true - 6.0 / np.sqrt(min(sizes)) < bound < true


@pytest.mark.parametrize("delta", [0.0, 5e-324, 1e-300])
@pytest.mark.parametrize("sizes", [(40, 50), (10, 50)])
def test_the_smallest_levels(sizes, delta):
    rng = np.random.default_rng(0)
    assert 0.0 <= auc_lower(np.ones(sizes[0]), np.zeros(sizes[1]), delta, rng) <= delta ** (1 / min(sizes))


@pytest.mark.parametrize("delta", [1e-12, 0.05, 0.999])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 2), (30, 60), (60, 30)])
def test_extreme_scores(sizes, delta):
    rng = np.random.default_rng(0)
    n = min(sizes)
    best = auc_lower(np.ones(sizes[0]), np.zeros(sizes[1]), delta, rng)
    assert 0.0 <= best <= delta ** (1 / n) * (1 + 1e-9)
    assert auc_lower(np.zeros(sizes[0]), np.ones(sizes[1]), delta, rng) <= 1.0 - (1.0 - delta) ** (1 / n) + 1e-9
    assert auc_lower(np.ones(sizes[0]), np.ones(sizes[1]), delta, rng) <= best
