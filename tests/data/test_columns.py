"""Types of columns, and the transformer they lead to."""

import numpy as np
import pandas as pd
import pytest

from pacbayes.data.columns import check_classes, read_columns


def test_types():
    frame = pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "gaps": [1.5, None, 3.0],
            "truth": [True, False, None],
            "text": ["a", "b", "a"],
            "text of numbers": ["1", "2", None],
            "category": pd.Categorical(["x", None, "y"]),
            "code": [7.0, None, 8.0],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
        }
    )
    columns, data = read_columns(frame, ["code"])
    assert columns.numeric == ("whole", "gaps", "truth", "text of numbers", "nullable")
    assert columns.categorical == ("text", "category", "code")
    assert columns.missing == dict.fromkeys(["gaps", "truth", "text of numbers", "category", "code", "nullable"], 1)
    assert all(data[name].dtype == np.float64 for name in columns.numeric)
    # With gaps pandas reads whole numbers as fractions: they are the same category.
    assert data["code"].tolist()[0] == "7"
    assert np.isnan(data["code"].tolist()[1])


def test_all_numbers_at_once_or_one_by_one():
    numbers = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, np.nan, 2.0]})
    columns, data = read_columns(numbers)
    with_text, more = read_columns(numbers.assign(c=["x", "y", "x"]))
    assert with_text.numeric == columns.numeric == ("a", "b")
    assert with_text.missing == columns.missing == {"b": 1}
    pd.testing.assert_frame_equal(data, more[["a", "b"]])
    for bad, message in (
        ([np.nan] * 3, "column 'c' has no values"),
        ([1.0, np.inf, 0.0], "column 'c' .* inf in example 2"),
    ):
        with pytest.raises(ValueError, match=message):
            read_columns(numbers.assign(c=bad))
        with pytest.raises(ValueError, match=message):
            read_columns(numbers.assign(c=bad, d=["x", "y", "x"]))


def test_classes():
    check_classes(np.array(["a", "b"]), "y")
    check_classes(np.arange(100) % 100, "y")
    with pytest.raises(ValueError, match="at most 100 classes, but it holds 101 different values in 101 rows"):
        check_classes(np.arange(101), "y")
