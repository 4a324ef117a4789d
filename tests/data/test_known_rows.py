"""Whether rows were seen before: copies are recognised in any order and container, chance is not taken for copying."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pacbayes.data.known_rows import hashed_rows, overlap

RNG = np.random.default_rng(0)
FINE = RNG.normal(size=(200, 3))


@pytest.mark.parametrize("container", [lambda X: X, pd.DataFrame, sp.csr_matrix, lambda X: X.tolist()])
def test_a_copy_is_recognised(container):
    known = hashed_rows(FINE, b"key")
    for copy in (FINE, FINE[::-1], FINE[RNG.permutation(200)], FINE[:60]):
        found = overlap(known, hashed_rows(container(copy), b"key"))
        assert (found.seen, found.rows) == (len(copy), len(copy))
        assert found.is_copy
        assert found.is_large


def test_new_rows_are_new():
    found = overlap(hashed_rows(FINE, b""), hashed_rows(RNG.normal(size=(200, 3)), b""))
    assert (found.seen, found.is_copy, found.is_large) == (0, False, False)


def test_some_copies_are_counted():
    mixture = np.concatenate([FINE[:40], RNG.normal(size=(160, 3))])
    found = overlap(hashed_rows(FINE, b""), hashed_rows(mixture, b""))
    assert (found.seen, found.is_copy, found.is_large) == (40, False, True)
    assert found.said == "40 of 200 rows equal a row"


@pytest.mark.parametrize("values", [2, 3, 10])
def test_coarse_columns_meet_by_chance(values):
    """Two samples of the same coarse distribution are never taken for one table."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        one, other = rng.integers(0, values, (2, 300, 3))
        found = overlap(hashed_rows(one, b""), hashed_rows(other, b""))
        assert not found.is_copy
        assert not found.is_large


def test_too_many_values_are_not_hashed(monkeypatch):
    monkeypatch.setattr("pacbayes.data.known_rows.MOST_VALUES", 599)
    assert hashed_rows(FINE, b"") is None
