"""Columns of known types, block by block."""

import numpy as np
import pandas as pd
import pytest

from pacbayes.data.files.column_fit import ColumnFit
from pacbayes.data.files.table_reading import TableReading, TextColumn

NAMES, READING = ["a", "k"], TableReading((TextColumn(1),), as_written=False)


def verdict(values, cuts):
    """What becomes of a column `a` cut into blocks, each with the type that pandas gives it alone."""
    fit = ColumnFit(NAMES, READING, "'new.csv'")
    found = []
    try:
        for part in np.split(np.arange(len(values)), cuts):
            block = pd.DataFrame({"a": [values[i] for i in part], "k": ["x"] * part.size})
            found += fit.fit(block)["a"].tolist()
    except ValueError as error:
        return str(error)
    return found


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3, 4],
        [1, 2.5, np.nan, 4],
        [True, False, True, True],
        [True, np.nan, False, True],
        [np.nan, np.nan, 3, np.nan],
        ["1", "2", "1e3", "4"],
    ],
)
def test_numbers_in_any_blocks(values):
    whole = [float(value) for value in values]
    for cuts in ([], [1], [2], [1, 2, 3]):
        np.testing.assert_array_equal(verdict(values, cuts), whole)


@pytest.mark.parametrize(
    ("values", "cuts", "message"),
    [
        ([True, False, 3, 4], [2], "must hold numbers, got 'True' in example 1"),
        ([3, 4, False, True], [2], "must hold numbers, got 'False' in example 3"),
        ([3, 4, np.nan, True], [3], "must hold numbers, got 'True' in example 4"),
        ([1, 2, 3, "old"], [2], "must hold numbers, got 'old' in example 4"),
        ([1, 2, 3, np.inf], [3], "must hold finite numbers, got inf in example 4"),
        (["1", "2", "3", "inf"], [3], "must hold finite numbers, got 'inf' in example 4"),
    ],
)
def test_what_is_refused_names_the_example_of_the_file(values, cuts, message):
    assert message in verdict(values, cuts).replace("np.float64(inf)", "inf")


def test_absent_columns():
    with pytest.raises(ValueError, match="lacks the columns 'a', which the model was trained with"):
        ColumnFit(NAMES, READING, "'new.csv'").fit(pd.DataFrame({"k": ["x"]}))


def test_other_columns_and_categories_that_are_numbers():
    fitted = ColumnFit(NAMES, READING, "'new.csv'").fit(pd.DataFrame({"k": [1, 2.0], "z": [0, 0], "a": ["3", None]}))
    assert fitted.columns.tolist() == NAMES
    assert fitted["k"].tolist() == ["1", "2"]
    assert fitted["a"].tolist()[0] == 3.0
