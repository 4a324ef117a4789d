"""Outward rounding against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacbayes._utils.arrays import EPS, SMALLEST, round_down, round_up, subtract_down

FLOATS = st.floats(min_value=0.0, max_value=1e300) | st.sampled_from([0.0, SMALLEST, 2.0**-1022, 1.0 - EPS / 2, 1.0])
UNITS = st.sampled_from([1.5, 2.0, 4.0, 8.0, 64.0, 128.0])


@given(FLOATS, UNITS)
def test_rounding_passes_all_values_within_the_error(value, units):
    """The largest and the smallest exact value of a rounded `value`; one unit more if it is subnormal."""
    error = Fraction(units - 1.0) * Fraction(EPS)
    largest, smallest = Fraction(value) / (1 - error), Fraction(value) / (1 + error)
    assert Fraction(round_up(value, units)) >= largest
    assert Fraction(round_down(value, units)) <= smallest
    assert round_down(value, units) < value < round_up(value, units)


@given(FLOATS)
def test_arrays_are_rounded_like_numbers(value):
    for rounded in (round_up, round_down):
        assert rounded(np.array([value]))[0] == rounded(value)


@pytest.mark.parametrize("rounded", [round_up, round_down])
def test_rounding_is_tight(rounded):
    for value in (1e-300, 0.1, 1.0, 12345.678):
        assert abs(rounded(value) - value) <= 6 * EPS * value


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_difference_is_below_that_of_any_numbers_within_six_units(a, b):
    error = 6 * Fraction(EPS)
    least = Fraction(a) / (1 + error) - Fraction(b) / (1 - error)
    assert Fraction(subtract_down(a, b)) <= least
