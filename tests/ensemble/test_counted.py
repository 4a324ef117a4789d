"""Risks that are never below the exact quotient, of rows, groups and losses, and their limits."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.ensemble.grouped import is_rounded_up

from pacbayes import ClassifierSet
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper
from pacbayes.ensemble.evidence import Counted, risks_of_errors, risks_of_losses


@given(st.integers(1, 10**7).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m))))
def test_risk_is_the_smallest_double_not_below_the_quotient(case):
    m, k = case
    risk = float(risks_of_errors(np.array([k]), m)[0])
    assert Fraction(risk) >= Fraction(k, m)
    assert k == 0 or Fraction(float(np.nextafter(risk, 0.0))) < Fraction(k, m)
    assert 0.0 <= risk <= 1.0
    assert (risk == 0.0) == (k == 0)


def test_some_quotients_are_rounded_up():
    assert risks_of_errors(np.array([1]), 3)[0] > 1 / 3


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50))
def test_mean_loss_is_never_below_the_exact_mean(losses):
    risk = Fraction(float(risks_of_losses(np.array([losses]))[0]))
    exact = sum(map(Fraction, losses)) / len(losses)
    assert exact <= risk <= min(1, exact * (1 + Fraction(1, 2**50)) + Fraction(1, 2**1070))
    assert (risk == 0) == (exact == 0)


def test_zero_one_losses_give_the_risks_of_counts():
    losses = np.random.default_rng(0).integers(0, 2, (20, 37))
    np.testing.assert_array_equal(
        ClassifierSet.from_losses(losses).risks, risks_of_errors(losses.sum(axis=1), losses.shape[1])
    )


def test_risks_of_groups_are_the_exact_means_rounded_up():
    rng = np.random.default_rng(0)
    for _ in range(300):
        sizes = rng.integers(1, 60, rng.integers(1, 30))
        errors = rng.integers(0, sizes + 1, (2, sizes.size))
        m = int(rng.integers(1, sizes.size + 1))
        found = Counted(errors, sizes, m)
        for risk, row in zip(found.risks, errors, strict=True):
            exact = sum(Fraction(int(k), int(s)) for k, s in zip(row, sizes, strict=True)) / m
            assert is_rounded_up(risk, exact)


def test_limits_are_exact_for_rows_and_chernoffs_for_groups():
    rows = Counted(np.array([[3], [7]]), None, 40)
    assert rows.exact
    np.testing.assert_array_equal(rows.upper(0.05), binomial_upper([3, 7], 40, 0.05))
    assert rows[1].risks == rows.risks[1]
    groups = Counted(np.array([[1, 0, 2], [3, 1, 4]]), np.array([3, 1, 5]), 3)
    assert not groups.exact
    np.testing.assert_array_equal(groups.upper([0.05, 0.01]), chernoff_upper(groups.risks, 3, [0.05, 0.01]))
    assert groups.total.tolist() == [3, 8]
