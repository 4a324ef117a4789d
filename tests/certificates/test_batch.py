"""Batches: the bound, sentences and invalid counts."""

import pytest

from pacbayes.bounds.binomial import hypergeometric_upper
from pacbayes.certificates import Batch

ONE_BATCH = "This holds for one batch, not jointly with the certificate."


def a_batch(**choices):
    return Batch(**({"rows": 1000, "errors": 8, "m": 284, "level": 0.049, "delta": 0.05} | choices))


def test_the_bound_is_that_of_the_counts():
    batch = a_batch()
    assert batch.wrong == hypergeometric_upper(8, 284, 1000, 0.049)
    assert batch.wrong <= a_batch(level=0.02).wrong
    assert a_batch(rows=0).wrong == 0


def test_predictions_that_are_not_covered_are_added():
    alone = a_batch().wrong
    assert a_batch(not_covered=11).wrong == alone + 11
    assert a_batch(not_covered=995).wrong == 1000
    assert a_batch(rows=20, not_covered=20).wrong == 20


@pytest.mark.parametrize(
    ("choices", "claim"),
    [
        ({}, "at most 53 of these 1000 predictions are wrong."),
        ({"not_covered": 11}, "at most 64 of these 1000 predictions are wrong, counting 11 not covered."),
        ({"rows": 2, "errors": 0}, "none of these 2 predictions is wrong."),
        ({"rows": 1, "errors": 0}, "this prediction is correct."),
    ],
)
def test_text(choices, claim):
    assert str(a_batch(**choices)) == f"With 95 % confidence over sample and batch, {claim} {ONE_BATCH}"


def test_rows_equal_to_fitted_rows_are_reported():
    assert str(a_batch(seen=3)).endswith(
        f"{ONE_BATCH} 3 rows equal rows that the model was fitted with: if they are the same examples, the bound does "
        "not hold."
    )
    assert "1 row equals a row that the model was fitted with" in str(a_batch(seen=1))


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"rows": -1}, "Batch.rows"),
        ({"errors": 285}, "Batch.errors"),
        ({"m": 0, "errors": 0}, "Batch.m"),
        ({"level": 0.06}, "Batch.level must be at most delta"),
        ({"delta": 1.0}, "delta must be strictly between 0 and 1"),
        ({"not_covered": 1001}, "Batch.not_covered"),
        ({"seen": 1.0}, "Batch.seen"),
    ],
)
def test_invalid_counts(choices, message):
    with pytest.raises(ValueError, match=message):
        a_batch(**choices)
