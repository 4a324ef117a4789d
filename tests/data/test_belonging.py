"""Names of groups of any kind, and a group for every row."""

import numpy as np
import pandas as pd
import pytest

from pacbayes.data.belonging import check_groups


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (["b", "a", "b"], [0, 1, 0]),
        ([1, "1", 1.0], [0, 1, 0]),
        (pd.Series(["x", "y", "x"], dtype="category"), [0, 1, 0]),
        (pd.to_datetime(pd.Series(["2024-01-01", "2024-01-02", "2024-01-01"])), [0, 1, 0]),
        (np.array([3.5, 3.5, -0.0]), [0, 0, 1]),
    ],
)
def test_any_names_are_groups(groups, expected):
    assert check_groups(groups, 3).tolist() == expected


@pytest.mark.parametrize(
    ("groups", "kind", "message"),
    [
        (["a", "b"], ValueError, r"groups must hold one entry per row of X, shape \(3,\), got shape \(2,\)"),
        (np.zeros((3, 1)), ValueError, r"shape \(3,\), got shape \(3, 1\)"),
        ("abc", TypeError, "groups must hold one entry per row of X, got 'abc'"),
        (7, TypeError, "groups must hold one entry per row of X, got 7"),
        (["a", None, "b"], ValueError, "groups must name the group of every row, got None for row 1"),
        (pd.Series([1, 2, pd.NA], dtype="Int64"), ValueError, "got <NA> for row 2"),
        ([{}, {}, {}], TypeError, "groups must be names or numbers"),
    ],
)
def test_rows_without_a_group_are_refused(groups, kind, message):
    with pytest.raises(kind, match=message):
        check_groups(groups, 3)
