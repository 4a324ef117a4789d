"""Column names and values made to break messages and the detection of identifiers."""

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process

from pacbayes.data.leakage import looks_like_row_id


@pytest.mark.parametrize("name", ["%s", "{0}", "\\", "a'b\"c", "\x1b[31m", "\u202e", " ", "x" * 5000])
def test_odd_names_stay_one_line_of_text(name, tmp_path, capsys):
    pd.DataFrame({name: range(30), "a": [1, 2, 2] * 10, "kind": ["a", "b"] * 15}).to_parquet(tmp_path / "data.parquet")
    done = in_process(["certify", tmp_path / "data.parquet"], capsys)
    assert done.code == 2
    assert "looks like a row number" in done.error
    assert "\x1b" not in done.error


@pytest.mark.parametrize(
    "values",
    [
        np.array([np.nan] * 20),
        np.array([np.inf, -np.inf, *range(18)]),
        np.array([-(2**63), 2**63 - 1, *range(18)], dtype=np.int64),
        np.array([], dtype=np.int64),
        np.array(["1e400", *["1"] * 19], dtype=object),
        np.array([{}, [], (), *range(17)], dtype=object),
        np.array([True, False] * 10),
        np.array([1.7e308, *[1.0] * 19]),
    ],
)
def test_odd_values_are_not_taken_for_row_ids(values):
    assert looks_like_row_id(values, len(values)) == ""


def test_unnamed_columns(tmp_path, capsys):
    """Two columns without names, one with a name of pandas for such columns, and trailing commas."""
    rows = "".join(f"{i},{i % 3},{i % 5},{i % 7},{'ab'[i % 2]},\n" for i in range(40))
    (tmp_path / "data.csv").write_text(",,Unnamed: 2,a,kind,\n" + rows, encoding="utf-8")
    words = ["certify", tmp_path / "data.csv", "--lambdas", "0.1,1", "-q"]
    done = in_process(words, capsys)
    assert "the last column of" in done.error
    done = in_process([*words, "--drop", "Unnamed: 5"], capsys)
    assert "3 columns cannot be used" in done.error
    drops = [word for i in (0, 1, 2, 5) for word in ("--drop", f"Unnamed: {i}")]
    assert in_process([*words, *drops], capsys).code == 0
