"""Levels are rounded down: in exact arithmetic, their sum is at most delta."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacbayes.certificates.levels import (
    check_hedge,
    divide_delta,
    hedged_level,
    level_per_bound,
    main_level,
    primary_level,
    resolve_hedge,
)

deltas = st.floats(1e-320, 1.0, exclude_max=True, allow_subnormal=True)


@given(deltas, st.floats(0.0, 1.0), st.integers(1, 1000))
def test_levels_sum_to_at_most_delta(delta, hedge, number):
    primary, other = primary_level(delta, hedge), hedged_level(delta, hedge, number)
    assert primary >= 0.0
    assert other >= 0.0
    assert Fraction(primary) + number * Fraction(other) <= Fraction(delta)


@given(st.floats(1e-200, 1.0, exclude_max=True), st.floats(0.0, 1.0), st.integers(1, 1000))
def test_levels_sum_to_almost_delta(delta, hedge, number):
    total = Fraction(primary_level(delta, hedge)) + number * Fraction(hedged_level(delta, hedge, number))
    assert total >= Fraction(delta) * (1 - Fraction(1, 10**12))


@given(deltas)
def test_a_hedge_of_0_or_1_leaves_delta_undivided(delta):
    assert (primary_level(delta, 0.0), hedged_level(delta, 0.0, 1)) == (delta, 0.0)
    assert (primary_level(delta, 1.0), hedged_level(delta, 1.0, 1)) == (0.0, delta)
    assert main_level(delta, 0.0) == delta


@given(deltas, st.floats(0.0, 1.0, exclude_max=True), st.integers(1, 1000))
def test_levels_of_metrics_and_distances_sum_to_at_most_delta(level, share, number):
    parts = number * Fraction(level_per_bound(level, share, number)) if share > 0.0 else 0
    assert Fraction(main_level(level, share)) + parts <= Fraction(level)
    assert number * Fraction(divide_delta(level, number)) <= Fraction(level)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), float("inf"), "0.1", ""])
def test_invalid_hedge(wrong):
    with pytest.raises(ValueError, match="hedge must"):
        check_hedge(wrong)


@pytest.mark.parametrize("wrong", [True, None, [0.1], 1j])
def test_hedge_of_another_type(wrong):
    with pytest.raises(TypeError, match="hedge must be 'auto' or a number from 0 to 1"):
        check_hedge(wrong)


def test_the_hedge_is_1_without_a_primary_rule():
    assert resolve_hedge("auto", "reason") == resolve_hedge(1, "reason") == 1.0
    with pytest.raises(ValueError, match=r"without a primary rule: reason; got 0\.5"):
        resolve_hedge(0.5, "reason")
