"""The binomial limit and Chernoff's against arbitrary precision: never too small, and hardly too large."""

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from tests.oracles import kl_upper

from pacbayes.bounds.binomial import binomial_upper, chernoff_upper


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
def test_limits_round_up_and_are_tight(delta):
    for k, m in CASES:
        limit = float(binomial_upper(k, m, delta))
        if limit == 1.0:
            assert delta < 1e-11
            continue
        assert tail(k, m, limit) <= delta, (k, m)
        assert tail(k, m, limit * (1 - 1e-7)) > delta, (k, m)


@pytest.mark.parametrize("delta", [1e-200, 1e-281, 1e-300, 1e-308, 1e-310, 3e-323, 1e-323, 5e-324])
def test_small_levels(delta):
    # Down to the smallest positive number the tail is at most the level, and not less than a tenth below it.
    for k, m in [*CASES, (10, 10**9), (10**6, 10**12), (10, 2**53), (2**53 - 1, 2**53)]:
        limit = float(binomial_upper(k, m, delta))
        if limit == 1.0:
            assert tail(k, m, 1.0 - 2**-53) > 0.9 * mpf(delta), (k, m)
            continue
        assert tail(k, m, limit) <= delta, (k, m)
        assert tail(k, m, limit - 2**-53) > 0.9 * mpf(delta), (k, m)


def test_a_sample_size_for_each():
    errors, sizes = np.array([0, 3, 7, 9, 2]), np.array([5, 50, 7, 10**6, 40])
    for delta in (0.05, 1e-150, np.array([0.05, 1e-290, 0.1, 1e-6, 1.0])):
        levels = np.broadcast_to(delta, 5)
        alone = [float(binomial_upper(int(k), int(m), d)) for k, m, d in zip(errors, sizes, levels, strict=True)]
        assert binomial_upper(errors, sizes, delta).tolist() == alone
    with pytest.raises(ValueError, match="errors must lie between 0 and m = 7, got 8"):
        binomial_upper([0, 8], [8, 7], 0.05)


def test_ends():
    assert binomial_upper([10, 0, 3], 10, [0.05, 0.0, 0.0]).tolist() == [1.0, 1.0, 1.0]
    assert binomial_upper([0, 1, 2], 2, 1.0).tolist() == [0.0, 0.0, 1.0]
    assert binomial_upper(np.array([0, 5]), 50, 0.05)[0] < binomial_upper(np.array([0, 5]), 50, 0.05)[1]


@pytest.mark.parametrize(
    ("errors", "m", "delta", "message"),
    [
        (11, 10, 0.05, "between 0 and m = 10"),
        (-1, 10, 0.05, "between 0"),
        (1, 10, 1.5, "delta must lie in"),
        (1, 0, 0.05, "m must"),
    ],
)
def test_wrong_input(errors, m, delta, message):
    with pytest.raises(ValueError, match=message):
        binomial_upper(errors, m, delta)


def test_fractions_are_no_errors():
    with pytest.raises(TypeError, match="errors must be integers"):
        binomial_upper(0.5, 10, 0.05)


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-3, 1e-12, 1e-300])
@pytest.mark.parametrize("m", [1, 7, 100, 12345])
def test_chernoffs_limit_is_the_root_rounded_up(m, delta):
    risks = np.array([0.0, 1e-9, 0.01, 1 / 3, 0.5, 0.9, 1 - 1e-12, 1.0])
    found = chernoff_upper(risks, m, delta)
    for risk, limit in zip(risks, found, strict=True):
        exact = kl_upper(mpmath.mpf(float(risk)), -mpmath.log(mpmath.mpf(delta)) / m)
        assert exact <= mpmath.mpf(float(limit)) <= min(exact * (1 + mpmath.mpf("1e-12")), mpmath.mpf(1))


def test_chernoffs_limit_at_the_end_levels():
    assert chernoff_upper([0.2, 0.2], 10, [0.0, 1.0]).tolist()[0] == 1.0
    assert 0.2 <= chernoff_upper(0.2, 10, 1.0) < 0.2 + 1e-9
    with pytest.raises(ValueError, match="delta"):
        chernoff_upper(0.2, 10, 1.5)
    with pytest.raises(ValueError, match="risks"):
        chernoff_upper(1.2, 10, 0.5)


def test_the_callers_floating_point_errors_do_not_matter_to_chernoffs_limit():
    expected = chernoff_upper([0.0, 1e-300, 0.3], 10, [0.0, 1e-300, 0.05])
    with np.errstate(all="raise"):
        assert np.array_equal(chernoff_upper([0.0, 1e-300, 0.3], 10, [0.0, 1e-300, 0.05]), expected)


def test_chernoffs_limit_is_never_below_the_exact_one():
    m = 40
    errors = np.arange(m + 1)
    exact, chernoff = binomial_upper(errors, m, 0.05), chernoff_upper(errors / m, m, 0.05)
    assert np.all(exact <= chernoff + 1e-12)
    assert np.all(exact[1:-1] < chernoff[1:-1])
