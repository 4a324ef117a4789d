"""A file block by block, and its columns of known types."""

import csv
import gzip

import numpy as np
import pandas as pd
import pytest

from pacbayes.data.blocks import ColumnFit, FileBlocks
from pacbayes.data.reading import read_frame
from pacbayes.data.tables import TableReading, TextColumn

FRAME = pd.DataFrame(
    {
        "whole": [1, 2, 3, 2**53 + 1, 5, 6, 7],
        "real": [0.1, 1e-300, 3.0, np.nan, 1 / 3, -2.5, 0.0],
        "text": ["a", None, "01", "TRUE", "b,c", 'q"q', "z"],
        "truth": [True, False, True, True, False, False, True],
    }
)


def written(folder, ending):
    path = folder / f"data{ending}"
    if ending == ".parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.to_csv(path, index=False, sep="\t" if ".tsv" in ending else ",")
    return path


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".tsv.xz", ".csv.bz2", ".csv.zip", ".parquet"])
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100, None])
def test_blocks_put_together_are_the_file(tmp_path, ending, rows):
    path = written(tmp_path, ending)
    blocks = FileBlocks(path, as_text=["text"], rows=rows)
    found = []
    for block in blocks:
        assert 0 < blocks.done <= blocks.total
        found.append(block)
    assert blocks.done == blocks.total
    assert all(0 < len(block) <= (rows or 7) for block in found)
    whole = read_frame(path, as_text=["text"])
    together = pd.concat(found, ignore_index=True)
    assert list(together.columns) == list(whole.columns)
    for name in FRAME:
        assert together[name].tolist() == pytest.approx(whole[name].tolist(), abs=0.0, nan_ok=True) or (
            together[name].isna().tolist() == whole[name].isna().tolist()
            and together[name].dropna().tolist() == whole[name].dropna().tolist()
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read"),
        ("a,b\n", "has column names but no rows"),
        ("1,2\n3,4\n", "must hold column names"),
        ("a,a\n3,4\n", "column names .* must differ"),
        ("a,b\n1,2\n1,2\n1,2,3\n", "more fields|cannot read"),
        (b"a,b\n1,2\n1,2\n\xff,3\n", "not UTF-8"),
    ],
)
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_what_is_refused_as_a_whole_is_refused_in_blocks(tmp_path, text, message, rows):
    path = tmp_path / "data.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        read_frame(path)
    with pytest.raises(ValueError, match=message):
        list(FileBlocks(path, rows=rows))


# What the whole file is, with any version of pandas.
FIELDS = {
    'a,b\n1,"2\n,3"\n\n \n4,"5, ""6"""\n7,8\n': True,
    "a,b\n1,2,\n3,4,\n5,6\n7,8,\n": True,
    "\ufeffa,b\r\n1,2\r\n3\r\n4,5\r\n": True,
    f"a,b\n{'long ' * 60_000},2\n3,4\n5,6\n": True,
    "a,b\n1,2\n1,2\n1,2,3\n": False,
    "a,b\n1,2\n1,2\n1,2,\n": False,
    "a,b\n1,2,\n3,4,\n5,6,7,8\n": False,
    'a,b\n1,"2\n,3"\n4,5\n"6,7",8,"9"\n': False,
    "a,b\n1,2\n1,2\n1,2\n1,2\n1,2,3\n1,2,3\n": False,
}


@pytest.mark.parametrize("text", FIELDS, ids=lambda text: repr(text[:40]))
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("counted", [True, False], ids=["as pandas is", "as if pandas did not count"])
def test_fields_of_lines_are_counted_whatever_the_version_of_pandas(tmp_path, monkeypatch, text, rows, counted):
    if not counted:
        monkeypatch.setattr("pacbayes.data.blocks._lines_are_counted", lambda: False)
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8", newline="")
    limit = csv.field_size_limit()
    if FIELDS[text]:
        whole = read_frame(path, as_text=["a", "b"])
        found = pd.concat(FileBlocks(path, rows=rows, as_text=["a", "b"]), ignore_index=True)
        pd.testing.assert_frame_equal(found, whole)
    else:
        for read in (read_frame, lambda path: list(FileBlocks(path, rows=rows))):
            with pytest.raises(ValueError, match=r"more fields|cannot read"):
                read(path)
    assert csv.field_size_limit() == limit


def test_the_own_count_of_fields_says_where(tmp_path, monkeypatch):
    monkeypatch.setattr("pacbayes.data.blocks.csv_frames", lambda *args, **kwargs: iter([pd.DataFrame({"a": [1]})] * 2))
    monkeypatch.setattr("pacbayes.data.blocks._lines_are_counted", lambda: False)
    path = tmp_path / "data.tsv"
    path.write_text("a\tb\n1\t2\n3\t4\n5\t6\t7\n")
    with pytest.raises(ValueError, match=r"data.tsv': line 4 has 3 fields, the lines before it have 2$"):
        list(FileBlocks(path, rows=1))


def test_a_damaged_file_is_one_line(tmp_path):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 10_000)[:60])
    with pytest.raises(ValueError, match=r"cannot read .*data.csv.gz"):
        list(FileBlocks(path))
    other = tmp_path / "data.parquet"
    other.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"cannot read .* as Parquet"):
        FileBlocks(other)


def test_blocks_have_about_a_million_cells(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(200)) + "\n" + (",".join(["1"] * 200) + "\n") * 6000)
    sizes = [len(block) for block in FileBlocks(path)]
    assert sizes == [5242, 758]


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
