"""Files of every format, read to the last bit; those that pandas would guess about are refused."""

import sys

import numpy as np
import pandas as pd
import pytest
from tests.data.own_file import write

from pacbayes import load_dataset
from pacbayes.data.reading import read_frame


def test_numbers_are_read_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    texts = [repr(float(x)) for x in rng.standard_normal(2000) * 10.0 ** rng.integers(-30, 30, 2000)]
    path = write(tmp_path / "own.csv", "x,y\n" + "".join(f"{text},0\n" for text in texts))
    assert load_dataset(path).data[:, 0].tolist() == [float(text) for text in texts]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip", ".CSV", ".parquet"])
def test_formats_agree(tmp_path, ending):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.1, 0.2, 0.3], "kind": ["x", "y", "x"]})
    path = tmp_path / f"own{ending}"
    if ending == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    bunch = load_dataset(path)
    np.testing.assert_array_equal(bunch.data, frame[["a", "b"]].to_numpy())
    assert bunch.target.tolist() == ["x", "y", "x"]
    assert bunch.target.dtype.kind == "U"


def test_parquet_types(tmp_path):
    path = tmp_path / "own.parquet"
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, 2, 3], dtype="Int64"),
            "flag": pd.array([True, False, True], dtype="boolean"),
            "single": np.array([0.5, 1.5, 2.5], dtype=np.float32),
            "kind": pd.Categorical(["x", "y", "x"]),
            "code": pd.Categorical([7, 8, 7]),
            "truth": [True, False, True],
            "label": pd.array([4, 5, 4], dtype="Int8"),
            "real": [0.0, 1.0, 0.0],
        }
    )
    frame.to_parquet(path)
    numbers = ["whole", "flag", "single"]
    for target, expected in (
        ("kind", ["x", "y", "x"]),
        ("code", [7, 8, 7]),
        ("truth", [True, False, True]),
        ("label", [4, 5, 4]),
        ("real", [0.0, 1.0, 0.0]),
    ):
        frame[[*numbers, target]].to_parquet(path)
        bunch = load_dataset(path)
        np.testing.assert_array_equal(bunch.data, [[1, 1, 0.5], [2, 0, 1.5], [3, 1, 2.5]])
        assert bunch.target.tolist() == expected
        assert bunch.target.dtype.kind == {"kind": "U", "truth": "b", "real": "f"}.get(target, "i")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read .* as CSV"),
        ("a,b,y\n", "has column names but no rows"),
        ("a;b;y\n1;2;0\n", r"separated by commas; its only column is \['a;b;y'\]"),
        ("1,2,0\n3,4,1\n", r"must hold column names, but it holds only numbers \('1', '2', '0'\)"),
        (",a,y\n0,1,0\n1,2,1\n", r"'Unnamed: 0' has no name.*drop=\['Unnamed: 0'\].*to_csv\(index=False\)"),
        ("a,\n0,1\n1,2\n", r"last column of .* has no name; .*drop=\['Unnamed: 1'\].* target='a'"),
        ("a,a,y\n0,1,0\n1,2,1\n", "must differ, got more than once: 'a'"),
        ("a,y\n0,1,0\n1,2,1\n", "more fields than its line of 2 column names"),
        ("a,y\n5,1,0\n4,2,1\n", "more fields than its line of 2 column names"),
        ("a,y\n0,1\n1,2,1,5\n", "cannot read .* as CSV|more fields"),
        ("a,y\n0,1\n1,2,1\n", "cannot read .* as CSV|more fields"),
        ("a,b,y\n1,red,0\n2,blue,1\n", r"these columns are not: 'b' \('b' holds 'red'\).*get_dummies.*target="),
        ("a,b,y\n1,3,0\n2,?,1\n", r"not: 'b' \('b' holds '\?'\)"),
        ("a,b,y\n1,3,0\n2,,1\n", "1 values in .* missing or infinite, first in column 'b', example 2"),
        ("a,b,y\n1,3,0\n2\n", "every example needs a class, but 1 in column 'y'"),
        ("a,b,y\n1,inf,0\n2,3,1\n", "missing or infinite, first in column 'b', example 1"),
        ("a,b,y\n1,2,\n2,3,1\n", "every example needs a class, but 1 .* the first in example 1"),
    ],
)
def test_bad_csv(tmp_path, text, message):
    path = write(tmp_path / "own.csv", text)
    with pytest.raises(ValueError, match=message):
        load_dataset(path)


def test_other_formats_and_folders(tmp_path):
    with pytest.raises(ValueError, match=r"must end in one of \.csv, .*\.parquet"):
        load_dataset(write(tmp_path / "own.txt", "a,y\n1,0\n"))
    with pytest.raises(ValueError, match="is a folder, not a CSV, TSV or Parquet file"):
        load_dataset(tmp_path)
    (tmp_path / "bad.csv").write_bytes(b"a,y\n\xff\xfe,0\n")
    for sep in (None, ",", ";"):
        with pytest.raises(ValueError, match=r"cannot read .*bad.csv' as CSV"):
            load_dataset(tmp_path / "bad.csv", sep=sep)
    (tmp_path / "bad.tsv").write_bytes(b"a,y\n\xff\xfe,0\n")
    with pytest.raises(ValueError, match=r"cannot read .*bad.tsv' as TSV"):
        load_dataset(tmp_path / "bad.tsv", sep=",")
    with pytest.raises(ValueError, match=r"cannot read .*bad.parquet' as Parquet"):
        load_dataset(write(tmp_path / "bad.parquet", "not parquet"))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path / "own.parquet", "")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"own\.parquet' needs pyarrow, .*: pip install pyarrow$"):
        load_dataset(path)


def test_the_line_of_progress_says_which_file_is_read(tmp_path, monkeypatch, capsys):
    path = tmp_path / "long\x1b[2J.csv"
    path.write_text("a,b\n1,2\n")
    monkeypatch.setattr("pacbayes._utils.progress.WORDS_SECONDS", 0.0)
    read_frame(path)
    assert capsys.readouterr().err.startswith(r"pacbayes: reading 'long\x1b[2J.csv'; 0 s so far")
