"""The limit of errors among new examples against exact rational arithmetic: never too small, and hardly too large."""

from fractions import Fraction
from itertools import product
from math import comb
from time import perf_counter

import mpmath
import numpy as np
import pytest
from scipy.stats import betabinom

from pacbayes.bounds.binomial import binomial_upper, hypergeometric_upper

LEVELS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5)


def tail(k, m, rows, f):
    """P(Hypergeometric(m + N, k + f, m) <= k), a fraction."""
    wrong, right = k + f, m + rows - k - f
    return Fraction(sum(comb(wrong, j) * comb(right, m - j) for j in range(min(k, m) + 1)), comb(m + rows, m))


def exact(k, m, rows, level):
    """The limit by its definition."""
    return max(f for f in range(rows + 1) if tail(k, m, rows, f) > Fraction(level))


@pytest.mark.parametrize("level", LEVELS)
def test_all_small_cases(level):
    """Equal to the definition, but for ties: where a probability is the level itself it is larger by one."""
    ties = 0
    for m, rows in product(range(1, 13), repeat=2):
        for k in range(m + 1):
            found, true = hypergeometric_upper(k, m, rows, level), exact(k, m, rows, level)
            if found != true:
                assert found == true + 1
                assert abs(tail(k, m, rows, found) / Fraction(level) - 1) < 1e-9
                ties += 1
    assert (ties > 0) == (level >= 0.05)


def test_larger_cases():
    rng = np.random.default_rng(0)
    for _ in range(60):
        m, rows = (int(number) for number in rng.integers(1, 900, 2))
        k = int(rng.integers(0, m) * rng.choice([0.02, 0.3, 1.0]))
        for level in (0.05, 1e-7, 1e-40, 0.9):
            assert hypergeometric_upper(k, m, rows, level) == exact_between(k, m, rows, level)


def test_rounding_never_makes_it_too_small():
    """At the largest level that is still below a probability, to the last bit, its number of errors is possible."""
    rng = np.random.default_rng(1)
    for _ in range(400):
        m, rows = (int(number) for number in rng.integers(20, 600, 2))
        k = int(rng.integers(0, m // 2))
        f = int(rng.integers(1, rows + 1))
        probability = tail(k, m, rows, f)
        level = float(probability)
        while Fraction(level) >= probability:
            level = float(np.nextafter(level, 0.0))
        if level > 1e-280:
            assert hypergeometric_upper(k, m, rows, level) >= f


def exact_between(k, m, rows, level):
    low, high = 0, rows + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(k, m, rows, middle) > Fraction(level) else (low, middle)
    return low


def test_it_is_a_quantile_of_the_beta_binomial_distribution():
    for k, m, rows in product((0, 3, 40), (41, 300), (1, 17, 5000)):
        found = hypergeometric_upper(k, m, rows, 0.05)
        assert found == int(betabinom.isf(0.05 * (1 - 1e-9), rows, k + 1, m - k))


@pytest.mark.parametrize(
    ("k", "m", "rows"), [(20_000, 10**6, 10**6), (999_990, 10**6, 10**6), (0, 10**6, 10**6), (7, 300, 2**31)]
)
def test_many_rows(k, m, rows):
    """Soon, and about the limit of the risk: above it, as the new rows vary too."""
    begun = perf_counter()
    found = hypergeometric_upper(k, m, rows, 0.05)
    assert perf_counter() - begun < 5.0
    limit = float(binomial_upper(k, m, 0.05))
    if rows > 1000 * m:
        assert found / rows == pytest.approx(limit, rel=1e-5)
    else:
        # The distance from the observed share is larger by about the root of two.
        above = (found / rows - k / m) / (limit - k / m)
        assert 1.0 < above < 1.6 or found == rows


@pytest.mark.parametrize(("k", "m", "rows"), [(20_000, 10**6, 10**6), (500, 10**6, 3 * 10**5), (900, 2000, 10**8)])
@pytest.mark.parametrize("level", [0.05, 1e-9])
def test_many_rows_to_forty_digits(k, m, rows, level):
    found = hypergeometric_upper(k, m, rows, level)
    assert long_tail(k, m, rows, found) > level * (1 - 1e-8)
    assert long_tail(k, m, rows, found + 1) <= level


def long_tail(k, m, rows, f):
    """The same probability to 40 digits: its first term by gamma functions, the others each from the one before."""
    with mpmath.workdps(40):
        term = mpmath.binomial(m, k) * mpmath.binomial(rows, f) / mpmath.binomial(m + rows, k + f)
        total, wrong = mpmath.mpf(0), k + f
        for j in range(k, -1, -1):
            total += term
            if term < total * mpmath.mpf(10) ** -35:
                break
            term *= mpmath.mpf(j * (rows - wrong + j)) / ((m - j + 1) * (wrong - j + 1))
        return total


def test_nothing_and_everything():
    assert hypergeometric_upper(0, 5, 0, 0.05) == 0
    assert hypergeometric_upper(5, 5, 7, 0.05) == 7
    assert hypergeometric_upper(5, 5, 7, 1.0) == 7
    assert hypergeometric_upper(3, 5, 7, 0.0) == 7
    assert hypergeometric_upper(3, 5, 7, 1e-300) == 7
    assert hypergeometric_upper(0, 10**6, 10**6, 1e-300) == 10**6
    assert hypergeometric_upper(0, 1000, 1, 0.05) == 0
    with np.errstate(all="raise"):
        assert hypergeometric_upper(np.int64(9), 900, 1000, 0.05) == exact_between(9, 900, 1000, 0.05)


def test_it_never_falls_with_errors_rows_or_confidence():
    for k, m, rows, level in product(range(6), (6, 30), (1, 10, 50), LEVELS):
        found = hypergeometric_upper(k, m, rows, level)
        assert found <= hypergeometric_upper(k + 1 if k < m else k, m, rows, level)
        assert found <= hypergeometric_upper(k, m, rows + 1, level)
        assert found <= hypergeometric_upper(k, m, rows, level / 2)
        assert found >= hypergeometric_upper(k, m + 1, rows, level)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((-1, 5, 5, 0.05), ValueError, "errors must lie between 0 and 5, got -1"),
        ((6, 5, 5, 0.05), ValueError, "errors must lie between 0 and 5, got 6"),
        ((0, 0, 5, 0.05), ValueError, "m must lie between 1 and"),
        ((0, 5, -1, 0.05), ValueError, "rows must lie between 0 and"),
        ((0.0, 5, 5, 0.05), TypeError, "errors must be an integer, got 0.0"),
        ((0, 5, True, 0.05), TypeError, "rows must be an integer, got True"),
        ((0, 5, 5, 1.5), ValueError, "delta"),
    ],
)
def test_wrong_arguments(given, error, message):
    with pytest.raises(error, match=message):
        hypergeometric_upper(*given)
