"""Files of every format are read to the last bit; those that pandas would guess about are refused."""

import sys

import numpy as np
import pandas as pd
import pytest
from tests.data.own_file import write

from pacbayes import load_dataset
from pacbayes.data import io
from pacbayes.data.io import ReadOptions, open_table
from pacbayes.data.schema import NumberFormat, UnsupportedValue

RNG = np.random.default_rng(0)
STYLES = {
    "thousands": (".", ","),
    "decimals": (",", None),
    "both": (",", "."),
    "apostrophes": (".", "'"),
    "blanks": (",", " "),
}


def prices(style, rows=200):
    decimal, thousands = STYLES[style]
    values = RNG.normal(3000, 900, rows).round(2)
    cells = [f"{value:_.2f}".replace(".", decimal).replace("_", thousands or "") for value in values]
    return values, pd.DataFrame(
        {"price": cells, "kind": RNG.choice(["a", "b"], rows), "größe": RNG.integers(0, 9, rows)}
    )


def test_numbers_are_read_to_the_last_bit(tmp_path):
    texts = [repr(float(x)) for x in RNG.standard_normal(2000) * 10.0 ** RNG.integers(-30, 30, 2000)]
    path = write(tmp_path / "own.csv", "x,y\n" + "".join(f"{text},0\n" for text in texts))
    assert open_table(path).read()["x"].tolist() == [float(text) for text in texts]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"])
@pytest.mark.parametrize("sep", [";", "\t", "|", ","])
@pytest.mark.parametrize("style", STYLES)
def test_separator_encoding_and_number_format_are_detected(style, sep, encoding, tmp_path):
    values, frame = prices(style)
    frame.to_csv(tmp_path / "own.csv", index=False, sep=sep, encoding=encoding)
    file = open_table(tmp_path / "own.csv")
    read = file.read()
    assert read["price"].tolist() == values.tolist()
    assert read["größe"].tolist() == frame["größe"].tolist()
    assert read["kind"].tolist() == frame["kind"].tolist()
    assert (file.format.separator, file.format.numbers) == (sep, NumberFormat(*STYLES[style]))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_a_first_line_that_names_the_separator_is_no_row(encoding, tmp_path):
    text = "SEP=|\r\na,x|größe,y\r\n1,5|2\r\n2,5|3\r\n"
    (tmp_path / "own.csv").write_bytes(text.encode(encoding))
    for frame in (open_table(tmp_path / "own.csv").read(), *open_table(tmp_path / "own.csv").blocks()):
        assert frame.to_dict("list") == {"a,x": [1.5, 2.5], "größe,y": [2, 3]}


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b;y,z\n1,2;3,4\n5,6;7,8\n", {}, "may be separated by ',' or ';': give sep=',' or sep=';'"),
        ('a,y\n"1,000",0\n"2,500",1\n', {}, r"may be read in 2 ways \('1,000'\): give thousands=',', or decimal=','"),
        ("a;y\n1,5;0\n2.5;1\n7,25;1\n", {"numbers": NumberFormat(",")}, "'2.5', but the decimal sign of the file"),
        ("a;y\n1,5;0\n2.5;1\n7,25;1\n", {}, r"column 'a' .* writes numbers in several ways \('1,5', '2\.5', '7,25'\)"),
        ("a,y\n\0,0\n", {}, "holds NUL bytes"),
        ("a,y\n" + "1,0\n" * 300_000 + "\0,0\n", {}, "holds NUL bytes"),
        ("a,y\nä,0\n", {"encoding": "ascii"}, "is not text in the encoding ascii; give another"),
        ("a,y\n1,0\n", {"encoding": "utf-99"}, "unknown encoding 'utf-99'"),
        (
            "5.1,3.5,setosa\n4.9,3.0,setosa\n4.7,3.2,virginica\n",
            {},
            "must hold column names, but it holds numbers, and",
        ),
        ("p,x,s\ne,x,s\np,f,y\ne,x,s\n", {}, "must hold column names, but it holds numbers, and values"),
        ("alice,5.1,yes\nbob,4.9,no\ncarl,4.7,yes\n", {}, "must hold column names, but it holds numbers, and values"),
        ("5.1,,yes\n4.9,3.0,yes\n", {}, "must hold column names, but it holds numbers, and values"),
        ("1,2,0\n3,4,1\n", {}, r"must hold column names, but it holds only numbers \('1', '2', '0'\)"),
        ("", {}, "cannot read .* as CSV: No columns"),
        ("a,b,y\n", {}, "has column names but no rows"),
        ("a,a,y\n0,1,0\n1,2,1\n", {}, "must differ, got more than once: 'a'"),
        ("a,y\n0,1,0\n1,2,1\n", {}, "more fields than its line of 2 column names"),
        ("a,y\n0,1\n1,2,1\n", {}, "cannot read .* as CSV|more fields"),
        ("a,y\n0,1\n1,2,1,5\n", {}, "cannot read .* as CSV|more fields"),
    ],
)
def test_what_is_ambiguous_or_no_table_is_refused(text, options, message, tmp_path):
    path = write(tmp_path / "own.csv", text)
    with pytest.raises(ValueError, match=message):
        open_table(path, ReadOptions(**options)).read()


def test_years_are_names_and_utf_32_is_refused(tmp_path):
    path = write(tmp_path / "own.csv", "2019,2020,kind\n1,2,a\n2,1,b\n")
    assert open_table(path).columns == ["2019", "2020", "kind"]
    path.write_bytes("a,y\n1,0\n".encode("utf-32"))
    with pytest.raises(ValueError, match="holds NUL bytes"):
        open_table(path)


def test_a_point_among_german_numbers_is_a_thousands_separator(tmp_path):
    path = write(tmp_path / "own.csv", "a;b;y\n1,5;1.000;x\n2,25;2.500;y\n")
    assert open_table(path).read()["b"].tolist() == [1000.0, 2500.0]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip", ".CSV", ".tsv", ".parquet"])
def test_formats_agree(tmp_path, ending):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.1, 0.2, 0.3], "kind": ["x", "y", "x"]})
    path = tmp_path / f"own{ending}"
    if ending == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    bunch = load_dataset(path)
    np.testing.assert_array_equal(bunch.data, frame[["a", "b"]].to_numpy())
    assert bunch.target.tolist() == ["x", "y", "x"]
    blocks = list(open_table(path).blocks())
    pd.testing.assert_frame_equal(pd.concat(blocks, ignore_index=True), open_table(path).read())


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_parquet_of_other_types(backend, tmp_path):
    frame = pd.DataFrame(
        {
            "whole": [1, 2, None],
            "flag": [True, None, False],
            "kind": pd.Categorical(["x", "y", None]),
            "text": ["a", None, "b"],
            "day": pd.to_datetime(["2024-05-31", None, "2024-06-01"]),
        }
    )
    frame.convert_dtypes(dtype_backend=backend).to_parquet(tmp_path / "own.parquet")
    read = open_table(tmp_path / "own.parquet").read()
    np.testing.assert_array_equal(read["whole"], [1.0, 2.0, np.nan])
    for name in ("flag", "kind", "text"):
        assert read[name].dropna().tolist() == frame[name].dropna().tolist()
    assert read["day"].tolist() == frame["day"].tolist()


def test_parquet_columns_of_lists_are_not_read(tmp_path):
    pd.DataFrame({"a": [1.0, 2.0], "words": [["x"], ["y", "z"]]}).to_parquet(tmp_path / "own.parquet")
    words = open_table(tmp_path / "own.parquet").read()["words"].tolist()
    assert words == [UnsupportedValue("list<element: string>")] * 2


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_strings_stay_as_they_are_and_missing_markers_count_everywhere(ending, tmp_path):
    frame = pd.DataFrame({"code": ["01", "1", "NA", "?"], "x": ["999", "1", "2", "3"]})
    path = tmp_path / f"own{ending}"
    frame.to_csv(path, index=False) if ending == ".csv" else frame.astype({"x": int}).to_parquet(path)
    file = open_table(path, ReadOptions(missing=("?", "999")))
    assert file.read(verbatim=["code"])["code"].tolist() == ["01", "1", "NA", "?"]
    assert file.read(strings=["code"])["code"].isna().tolist() == [False, False, ending == ".csv", True]
    assert file.read()["x"].isna().tolist() == [True, False, False, False]


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_blocks_hold_the_same_rows(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(io, "_MIN_BLOCK_ROWS", rows)
    monkeypatch.setattr(io, "_MAX_BLOCK_ROWS", rows)
    frame = pd.DataFrame({"a": np.arange(10) / 7, "b": [f"t{i}" for i in range(10)]})
    frame.to_csv(tmp_path / "own.csv", index=False)
    file = open_table(tmp_path / "own.csv")
    blocks = list(file.blocks())
    assert max(len(block) for block in blocks) == min(rows, 10)
    pd.testing.assert_frame_equal(pd.concat(blocks, ignore_index=True), frame.astype({"b": object}))
    assert file.done == file.total


def test_other_formats_and_folders(tmp_path):
    with pytest.raises(ValueError, match=r"must end in one of \.csv, .*\.parquet"):
        open_table(write(tmp_path / "own.txt", "a,y\n1,0\n"))
    with pytest.raises(ValueError, match="is a folder, not a CSV, TSV or Parquet file"):
        open_table(tmp_path)
    with pytest.raises(ValueError, match=r"cannot read .*bad.parquet' as Parquet"):
        open_table(write(tmp_path / "bad.parquet", "not parquet"))
    with pytest.raises(ValueError, match=r"cannot read .*bad.csv.gz' as CSV"):
        open_table(write(tmp_path / "bad.csv.gz", "not packed"))


def test_parquet_without_pyarrow_names_the_package(tmp_path, monkeypatch):
    path = write(tmp_path / "own.parquet", "")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"own\.parquet' needs pyarrow, .*: pip install pyarrow$"):
        open_table(path)


def test_the_line_of_progress_names_the_file(tmp_path, monkeypatch, capsys):
    path = tmp_path / "long\x1b[2J.csv"
    path.write_text("a,b\n1,2\n")
    monkeypatch.setattr("pacbayes._utils.progress.LINE_INTERVAL_SECONDS", 0.0)
    open_table(path).read()
    assert capsys.readouterr().err.startswith(r"pacbayes: reading 'long\x1b[2J.csv'; 0 s so far")
