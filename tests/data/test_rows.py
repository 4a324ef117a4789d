"""Rows by their values and rows known again, in whatever container and order they come."""

import math
from datetime import date
from decimal import Decimal
from enum import Enum

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pacbayes.data.duplicates import exceeds_chance_overlap, measure_overlap
from pacbayes.data.rows import index_distinct_rows, row_hashes, sorted_row_hashes


@pytest.mark.parametrize("container", [np.asarray, lambda X: X.astype(object), pd.DataFrame, sp.csr_array])
def test_equal_rows_are_equal_by_value(container):
    X = np.array([[1.0, -0.0], [1.0, 0.0], [np.nan, 2.0], [np.nan, 2.0], [0.0, 1.0]])
    assert index_distinct_rows(container(X)).tolist() == [0, 0, 1, 1, 2]


DAYS = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2021-02-03"]), "hours": pd.to_timedelta([1, 30], "h")})
LENGTHS = pd.DataFrame({"hours": pd.to_timedelta([1, 30], "h"), "n": [5, 7]})


class Letter(str, Enum):  # noqa: UP042 - the text of such a member is not its letters
    A = "a"


MIXED = pd.DataFrame({"n": [1, 2], "x": [0.5, np.nan], "s": ["a", None], "b": [True, False]})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(MIXED, [[1, 0.5, "a", True], [2, None, None, False]], id="frame and lists"),
        pytest.param(MIXED, [(np.int8(1), np.float16(0.5), np.str_("a"), np.bool_(True)), (2.0, pd.NA, np.nan, 0)],
                     id="numpy's values"),
        pytest.param(MIXED, MIXED.convert_dtypes(), id="nullable columns"),
        pytest.param(MIXED, MIXED.astype({"s": "category", "n": "category"}), id="categories"),
        pytest.param([["a", 1.5]], np.array([["a", 1.5]], dtype=object), id="list and array"),
        pytest.param([["a", 1.5]], [["a", Decimal("1.5")]], id="decimal"),
        pytest.param(DAYS, [[day.to_pydatetime(), hours] for day, hours in DAYS.itertuples(index=False)], id="times"),
        pytest.param(DAYS[["day"]], [[date(2020, 1, 1)], [date(2021, 2, 3)]], id="days"),
        pytest.param(DAYS[["day"]], np.array([["2020-01-01"], ["2021-02-03"]], dtype="M8[D]"), id="numpy's days"),
        pytest.param(DAYS[["hours"]], np.array([[1], [30]], dtype="m8[h]"), id="numpy's hours"),
        pytest.param(LENGTHS, [[np.timedelta64(1, "h"), 5], [np.timedelta64(30, "h"), 7]], id="hours beside numbers"),
        pytest.param(DAYS, [[np.datetime64(day), np.timedelta64(hours)] for day, hours in DAYS.itertuples(index=False)],
                     id="days beside hours"),
        pytest.param(pd.DataFrame({"s": [Letter.A]}), [[Letter.A]], id="texts of an enumeration"),
    ],
)  # fmt: skip
def test_a_row_has_one_hash_in_every_container(one, other):
    assert np.array_equal(row_hashes(one, b"key"), row_hashes(other, b"key"))


def test_the_hash_of_a_row_does_not_depend_on_the_rows_beside_it():
    rows = [[1.5, "a"], [2, None], [np.nan, "b"], [True, "1.5"]]
    alone = [row_hashes([row], b"key")[0] for row in rows]
    assert row_hashes(rows, b"key").tolist() == alone
    assert len(set(alone)) == 4


def test_numbers_and_their_texts_are_different_values():
    assert row_hashes([[1.5, "a"]], b"key") != row_hashes([["1.5", "a"]], b"key")


RNG = np.random.default_rng(0)
FINE = RNG.normal(size=(200, 3))


@pytest.mark.parametrize("container", [lambda X: X, pd.DataFrame, sp.csr_matrix, lambda X: X.tolist()])
def test_a_copy_is_recognised(container):
    known = sorted_row_hashes(FINE, b"key")
    for copy in (FINE, FINE[::-1], FINE[RNG.permutation(200)], FINE[:60]):
        found = measure_overlap(known, sorted_row_hashes(container(copy), b"key"))
        assert (found.seen, found.rows) == (len(copy), len(copy))
        assert found.is_copy
        assert found.is_large


def test_new_rows_are_new():
    found = measure_overlap(sorted_row_hashes(FINE, b""), sorted_row_hashes(RNG.normal(size=(200, 3)), b""))
    assert (found.seen, found.is_copy, found.is_large) == (0, False, False)


def test_some_copies_are_counted():
    mixture = np.concatenate([FINE[:40], RNG.normal(size=(160, 3))])
    found = measure_overlap(sorted_row_hashes(FINE, b""), sorted_row_hashes(mixture, b""))
    assert (found.seen, found.is_copy, found.is_large) == (40, False, True)
    assert found.summary == "40 of 200 rows equal a row"


@pytest.mark.parametrize("values", [2, 3, 10])
def test_coarse_columns_meet_by_chance(values):
    """Two samples of the same coarse distribution are never taken for one table."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        one, other = rng.integers(0, values, (2, 300, 3))
        found = measure_overlap(sorted_row_hashes(one, b""), sorted_row_hashes(other, b""))
        assert not found.is_copy
        assert not found.is_large


@pytest.mark.parametrize(
    "shares",
    [np.r_[0.3, np.full(10_000, 7e-5)], np.full(200, 0.005), 1.0 / np.arange(1, 5001), np.r_[0.9, 0.1]],
    ids=["one frequent row", "200 rows alike", "Zipf", "two rows"],
)
@pytest.mark.parametrize(("n", "m"), [(900, 100), (100, 900), (300, 20), (5000, 500)])
def test_equal_rows_by_chance_are_not_refused(shares, n, m):
    """A review found one honest division in six refused, where one row was frequent."""
    rng = np.random.default_rng([n, m])
    p = shares / shares.sum()
    draws = ((rng.choice(p.size, n, p=p), rng.choice(p.size, m, p=p)) for _ in range(100))
    assert sum(exceeds_chance_overlap(known, new) for known, new in draws) == 0


@pytest.mark.parametrize(("n", "m"), [(150, 90), (300, 250), (5000, 500)])
def test_trained_rows_are_seen_among_copies(n, m):
    rng = np.random.default_rng(0)
    known = rng.choice(n, 3 * n)
    assert exceeds_chance_overlap(known, rng.permutation(np.unique(known))[:m])
    assert not exceeds_chance_overlap(known, np.arange(m) + 10**6)


@pytest.mark.parametrize(("n", "m"), [(150, 90), (60, 60), (500, 100)])
def test_the_chance_of_few_repeats_is_never_taken_for_less_than_it_is(n, m):
    """Exactly, for draws from equally frequent rows, by the number of different ones after each draw."""
    chances = np.eye(m + 1)[0]
    for _ in range(m):
        here = np.arange(m + 1) / n
        chances = chances * here + np.append(0.0, (chances * (1.0 - here))[:-1])
    known = np.arange(n)
    for different in range(1, m + 1):
        new = np.append(np.arange(different), np.zeros(m - different, dtype=np.int64))
        if exceeds_chance_overlap(np.repeat(known, [1, *[2] * (n - 1)]), new):  # copies beside it, so that no pair is
            assert chances[different:].sum() <= 1e-3


def test_a_table_of_few_values_is_recognised_where_it_is_long_enough():
    """Exactly: all ways to divide the rows of both tables among two."""
    for n, refused in ((10, False), (1000, True)):
        coins = np.random.default_rng(0).integers(0, 8, n)
        times = np.bincount(coins, minlength=8)
        ways = math.prod(math.comb(2 * int(k), int(k)) for k in times)
        assert (ways * 1000 <= math.comb(2 * n, n)) == refused
        assert exceeds_chance_overlap(coins, coins[::-1]) == refused
