"""Clopper-Pearson and Chernoff bounds, bounds for a batch, and sample sizes."""

from fractions import Fraction
from itertools import product
from math import comb
from time import perf_counter

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy.special import ndtr
from scipy.stats import beta, binom
from tests.oracles import kl_upper

from pacbayes import rows_needed
from pacbayes.bounds import chances
from pacbayes.bounds.binary_kl import kl_divergence
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper, hypergeometric_upper


def tail(k, m, r):
    """P(Binomial(m, r) <= k) to 40 digits, by summing the terms from the largest down."""
    with mpmath.workdps(40):
        r = mpf(float(r))
        term = mpmath.binomial(m, k) * r**k * (1 - r) ** (m - k)
        total = mpf(0)
        for j in range(k, -1, -1):
            total += term
            if j == 0 or term < total * mpf(10) ** -35:
                return total
            term *= mpf(j) / (m - j + 1) * (1 - r) / r
        return total


CASES = [(k, m) for m in (1, 2, 7, 100, 1840, 10**6) for k in (0, 1, 3, m // 10, m // 2, m - 1) if k < m]


@pytest.mark.parametrize("delta", [0.5, 0.05, 0.05 / 1990, 1e-12, 1e-100, 0.999])
def test_bounds_are_rounded_up_and_tight(delta):
    for k, m in CASES:
        bound = float(binomial_upper(k, m, delta))
        if bound == 1.0:
            assert delta < 1e-11
            continue
        assert tail(k, m, bound) <= delta, (k, m)
        assert tail(k, m, bound * (1 - 1e-7)) > delta, (k, m)


@pytest.mark.parametrize("delta", [1e-200, 1e-281, 1e-300, 1e-308, 1e-310, 3e-323, 1e-323, 5e-324])
def test_small_levels(delta):
    # Down to the smallest positive number the tail is at most the level; the bound is at most Chernoff's.
    for k, m in [*CASES, (10, 10**9), (10**6, 10**12), (10, 2**53), (2**53 - 1, 2**53)]:
        bound = float(binomial_upper(k, m, delta))
        assert bound == 1.0 or tail(k, m, bound) <= delta, (k, m)
        assert bound <= max(float(chernoff_upper(k / m, m, delta)) * (1 + 1e-13), 1e-300), (k, m)


def test_arrays_and_ends():
    errors, sizes = np.array([0, 3, 7, 9, 2]), np.array([5, 50, 7, 10**6, 40])
    for delta in (0.05, 1e-150, np.array([0.05, 1e-290, 0.1, 1e-6, 1.0])):
        levels = np.broadcast_to(delta, 5)
        alone = [float(binomial_upper(int(k), int(m), d)) for k, m, d in zip(errors, sizes, levels, strict=True)]
        assert binomial_upper(errors, sizes, delta).tolist() == alone
    assert binomial_upper([10, 0, 3], 10, [0.05, 0.0, 0.0]).tolist() == [1.0, 1.0, 1.0]
    assert binomial_upper([0, 1, 2], 2, 1.0).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-3, 1e-12, 1e-300])
@pytest.mark.parametrize("m", [1, 7, 100, 12345])
def test_chernoff_bound_is_the_root_rounded_up(m, delta):
    risks = np.array([0.0, 1e-9, 0.01, 1 / 3, 0.5, 0.9, 1 - 1e-12, 1.0])
    for risk, bound in zip(risks, chernoff_upper(risks, m, delta), strict=True):
        exact = kl_upper(mpf(float(risk)), -mpmath.log(mpf(delta)) / m)
        assert exact <= mpf(float(bound)) <= min(exact * (1 + mpf("1e-12")), mpf(1))


# Errors among new rows.

LEVELS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5)


def new_tail(k, m, rows, f):
    """P(Hypergeometric(m + N, k + f, m) <= k) as a fraction."""
    wrong, right = k + f, m + rows - k - f
    return Fraction(sum(comb(wrong, j) * comb(right, m - j) for j in range(min(k, m) + 1)), comb(m + rows, m))


def exact(k, m, rows, level):
    """Bound for new rows by definition; the tail decreases with the number of errors."""
    low, high = 0, rows + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if new_tail(k, m, rows, middle) > Fraction(level) else (low, middle)
    return low


@pytest.mark.parametrize("level", LEVELS)
def test_batch_bound_in_all_small_cases(level):
    """Equal to the definition, except that it is larger by one if a probability equals the level."""
    ties = 0
    for m, rows in product(range(1, 13), repeat=2):
        for k in range(m + 1):
            found, true = hypergeometric_upper(k, m, rows, level), exact(k, m, rows, level)
            if found != true:
                assert found == true + 1
                assert abs(new_tail(k, m, rows, found) / Fraction(level) - 1) < 1e-9
                ties += 1
            # It never falls with errors, rows or confidence.
            assert found <= hypergeometric_upper(min(k + 1, m), m, rows, level)
            assert found <= hypergeometric_upper(k, m, rows + 1, level)
            assert hypergeometric_upper(k, m + 1, rows, level) <= found <= hypergeometric_upper(k, m, rows, level / 2)
    assert (ties > 0) == (level >= 0.05)


def test_rounding_of_the_batch_bound():
    """At the largest level below a probability, to the last bit, the bound is not smaller."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        m, rows = (int(number) for number in rng.integers(20, 600, 2))
        k = int(rng.integers(0, m // 2))
        f = int(rng.integers(1, rows + 1))
        probability = new_tail(k, m, rows, f)
        level = float(probability)
        while Fraction(level) >= probability:
            level = float(np.nextafter(level, 0.0))
        if level > 1e-280:
            assert hypergeometric_upper(k, m, rows, level) >= f


def long_tail(k, m, rows, f):
    """The same probability to 40 digits: first term by gamma functions, the others by recursion."""
    with mpmath.workdps(40):
        term = mpmath.binomial(m, k) * mpmath.binomial(rows, f) / mpmath.binomial(m + rows, k + f)
        total, wrong = mpf(0), k + f
        for j in range(k, -1, -1):
            total += term
            if term < total * mpf(10) ** -35:
                break
            term *= mpf(j * (rows - wrong + j)) / ((m - j + 1) * (wrong - j + 1))
        return total


@pytest.mark.parametrize(("k", "m", "rows"), [(20_000, 10**6, 10**6), (500, 10**6, 3 * 10**5), (900, 2000, 10**8)])
@pytest.mark.parametrize("level", [0.05, 1e-9])
def test_batch_bound_of_many_rows_to_forty_digits(k, m, rows, level):
    begun = perf_counter()
    found = hypergeometric_upper(k, m, rows, level)
    assert perf_counter() - begun < 5.0
    assert long_tail(k, m, rows, found) > level * (1 - 1e-8)
    assert long_tail(k, m, rows, found + 1) <= level


def test_batch_bound_at_the_ends():
    for k, m, rows, level, bound in [
        (0, 5, 0, 0.05, 0), (5, 5, 7, 0.05, 7), (5, 5, 7, 1.0, 7), (3, 5, 7, 0.0, 7), (3, 5, 7, 1e-300, 7),
        (0, 10**6, 10**6, 1e-300, 10**6), (0, 1000, 1, 0.05, 0), (9, 900, 1000, 0.05, exact(9, 900, 1000, 0.05)),
    ]:  # fmt: skip
        with np.errstate(all="raise"):
            assert hypergeometric_upper(np.int64(k), m, rows, level) == bound
    # With very many new rows the bound is that of the risk.
    assert hypergeometric_upper(7, 300, 2**31, 0.05) / 2**31 == pytest.approx(binomial_upper(7, 300, 0.05), rel=1e-5)


# How many rows a target needs.

# error, target, delta, chance
SETTINGS = [
    (0.05, 0.08, 0.05, 0.8), (0.0, 0.02, 0.05, 0.8), (0.1, 0.2, 0.01, 0.95), (0.5, 0.9, 0.05, 0.8),
    (0.9, 0.99, 0.05, 0.8), (0.05, 0.06, 0.05, 0.05), (0.5, 0.6, 0.6, 0.05), (0.05, 0.9, 0.9, 0.9),
]  # fmt: skip


def chance_by_quantiles(m, error, target, delta):
    """Probability of certifying, by SciPy's beta quantiles and binomial distribution alone."""
    k = np.arange(m)
    passes = np.flatnonzero(beta.ppf(1 - delta, k + 1, m - k) <= target)
    return binom.cdf(passes[-1], m, error) if passes.size else 0.0


@pytest.mark.parametrize(("error", "target", "delta", "chance"), SETTINGS)
def test_rows_needed_is_the_smallest_number_from_which_the_probability_stays(error, target, delta, chance):
    rows = rows_needed(error, target, delta=delta, chance=chance)
    some = np.unique(np.concatenate([np.arange(rows, rows + 100), np.geomspace(rows, 6 * rows + 50, 60).astype(int)]))
    by_quantiles = [chance_by_quantiles(m, error, target, delta) for m in some.tolist()]
    assert min(by_quantiles) >= chance
    np.testing.assert_allclose(chances(some, error, target, delta=delta), by_quantiles, rtol=1e-9)
    assert rows == 1 or chance_by_quantiles(rows - 1, error, target, delta) < chance


def test_planted_upward_search_for_rows_needed_is_detected():
    """The probability is a sawtooth: an upward search stops at its first tooth."""
    rows = rows_needed(0.05, 0.08)
    first = int(np.flatnonzero(chances(np.arange(1, 1000), 0.05, 0.08) >= 0.8)[0]) + 1
    assert first < rows
    assert chances(np.arange(first, rows), 0.05, 0.08).min() < 0.8


@pytest.mark.parametrize("seed", range(3))
def test_rows_needed_against_all_numbers_of_rows(seed):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        error = float(rng.choice([0.0, rng.uniform(0, 0.3), rng.uniform(0, 0.9)]))
        target = float(rng.uniform(error + 0.05, 1.0))
        delta, chance = float(rng.choice([0.001, 0.05, 0.4])), float(rng.uniform(0.02, 0.98))
        rows = rows_needed(error, target, delta=delta, chance=chance)
        every = np.arange(1, 3 * rows + 100)
        low = np.flatnonzero(chances(every, error, target, delta=delta) < chance)
        assert rows == (1 if low.size == 0 else every[low[-1]] + 1)


@pytest.mark.parametrize("m", [1, 2, 3, 10, 57, 400])
def test_zubkov_serov_inequality(m):
    """The upper end of the search assumes it: P(Bin(m, p) <= k) is between C(k) and C(k + 1)."""
    k = np.arange(m + 1)
    for p in (1e-4, 0.01, 0.2, 0.5, 0.73, 0.99):
        C = ndtr(np.sign(k / m - p) * np.sqrt(2 * m * np.asarray(kl_divergence(k / m, p))))
        below = binom.cdf(k, m, p)
        assert (below[1:-1] >= C[1:-1] - 1e-12).all()
        assert (below[:-1] <= C[1:] + 1e-12).all()


@pytest.mark.parametrize(("call", "arguments", "error", "message"), [
    (binomial_upper, (11, 10, 0.05), ValueError, "errors must lie between 0 and m = 10, got 11"),
    (binomial_upper, (1, 10, 1.5), ValueError, "delta must lie in"),
    (binomial_upper, (1, 0, 0.05), ValueError, "m must"),
    (binomial_upper, (0.5, 10, 0.05), TypeError, "errors must be integers"),
    (chernoff_upper, (0.2, 10, 1.5), ValueError, "delta"),
    (hypergeometric_upper, (6, 5, 5, 0.05), ValueError, "errors must lie between 0 and 5, got 6"),
    (hypergeometric_upper, (0, 0, 5, 0.05), ValueError, "m must lie between 1 and"),
    (hypergeometric_upper, (0, 5, 5, 1.5), ValueError, "delta"),
    (rows_needed, (0.05, 0.05), ValueError, r"target must be above error = 0\.05, and at most 1, got 0\.05"),
    (rows_needed, (-0.1, 0.2), ValueError, r"error must lie in \[0, 1\]"),
    (rows_needed, (0.1, 0.1 + 1e-9), ValueError, "target must be farther from error"),
])  # fmt: skip
def test_wrong_arguments(call, arguments, error, message):
    with pytest.raises(error, match=message):
        call(*arguments)
    for chance in (0.0, 1.0):
        with pytest.raises(ValueError, match="chance must be strictly between 0 and 1"):
            rows_needed(0.1, 0.2, chance=chance)
