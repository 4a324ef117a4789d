"""Formatted numbers: conservative rounding, and not by more than a digit."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pacbayes._utils.words import (
    format_confidence,
    format_delta,
    format_rounded_up,
    format_share,
    percent_down,
    percent_up,
)


@given(st.floats(0.0, 1.0), st.integers(1, 12))
def test_bounds_are_rounded_up_by_less_than_a_digit(value, digits):
    shown = Fraction(format_rounded_up(value, digits))
    assert Fraction(value) <= shown < Fraction(value) + Fraction(1, 10**digits)


def test_infinity_and_nan():
    assert [format_rounded_up(value, 3) for value in (np.inf, -np.inf, np.nan)] == ["inf", "-inf", "nan"]


@given(st.floats(5e-324, 1 - 2**-53))
def test_confidence_is_rounded_down(delta):
    sure, fails = format_confidence(delta), format_delta(delta)
    with localcontext(prec=400):
        # repr is the shortest decimal that stands for the number: what a person wrote.
        truth = Decimal(repr(delta))
        if sure.endswith("%"):
            said, left = Decimal(sure[:-2]) / 100, Decimal(fails[:-2]) / 100
            assert 1 - truth - Decimal("1e-6") < said <= 1 - truth
        else:
            said, left = 1 - Decimal(sure.removeprefix("1 - ")), Decimal(fails)
            assert truth <= left <= truth * Decimal("1.1")
        assert said < 1
        assert said + left == 1


@given(st.floats(0.0, 1.0) | st.floats(0.0, 0.01) | st.floats(0.99, 1.0))
def test_percentages_are_conservative_with_two_significant_digits(share):
    up, down, near = (
        Fraction(text(share).removesuffix(" %")) / 100 for text in (percent_up, percent_down, format_share)
    )
    exact, tenth = Fraction(share), Fraction(1, 1000)

    def digit(small):
        return min(tenth, max(small / 10, Fraction(1, 10**8)))

    assert exact <= up < exact + digit(exact)
    assert exact - digit(min(exact, 1 - exact)) < down <= exact
    # An observed share is never above a larger upper bound.
    assert abs(near - exact) <= digit(exact) / 2
    assert near <= up


def test_percentages_of_zero_and_one():
    assert [percent_up(share) for share in (0.0, 5e-324, 1e-9, 0.00015, 1 - 2**-53, 1.0)] == [
        "0.0 %", "0.000001 %", "0.000001 %", "0.015 %", "100.0 %", "100.0 %"
    ]  # fmt: skip
    assert [percent_down(share) for share in (0.0, 5e-324, 0.00015, 0.99985, 1 - 2**-53, 1.0)] == [
        "0.0 %", "0.0 %", "0.014 %", "99.985 %", "99.999999 %", "100.0 %"
    ]  # fmt: skip
