"""`pacbayes certify --counts` and `--fail-above`."""

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import as_json, error_of, in_process

from pacbayes import Cost, certify_counts

TABLE = "true,predicted,count\nno,no,900\nno,yes,20\nyes,no,10\nyes,yes,70\n"
CONFUSION = [[900, 20], [10, 70]]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "counts.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path / "counts.csv"


def test_certificate(path, tmp_path, capsys):
    (tmp_path / "costs.csv").write_text("class,no,yes\nno,0,1\nyes,10,0\n", encoding="utf-8")
    args = ["certify", "--counts", path, "--metrics", "recall,f1", "--cost", tmp_path / "costs.csv", "--delta", "1%"]
    output = as_json([*args, "--positive", "yes"], capsys)["details"]
    cost = Cost([[0, 1], [10, 0]], ["no", "yes"])
    expected = certify_counts(
        CONFUSION, classes=["no", "yes"], metrics=("recall", "f1", cost), delta=0.01, pos_label="yes"
    ).to_dict()
    assert (output["bound"], output["m"], output["missed"]) == (expected["bound"], 1000, list(expected["missed"]))
    assert [entry["bound"] for entry in output["metrics"]] == [entry["bound"] for entry in expected["metrics"]]


def test_output_names_assumptions_without_rows(path, capsys):
    result = in_process(["certify", "--counts", path, "--by-class"], capsys, as_given=True)
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].startswith("With 95 % confidence, the error rate of this classifier on new examples is at most 4.")
    assert sum("class 'yes'" in line.lower() for line in lines) == 1
    assert "duplicates" in lines[-1]
    assert "1000 rows, 2 classes" in result.err


def test_counts_of_several_partitions_are_added(path, tmp_path, capsys):
    half = TABLE + TABLE.partition("\n")[2]
    (tmp_path / "twice.tsv").write_text(half.replace(",", "\t"), encoding="utf-8")
    once, twice = (
        as_json(["certify", "--counts", entry], capsys)["details"] for entry in (path, tmp_path / "twice.tsv")
    )
    assert (once["m"], twice["m"]) == (1000, 2000)
    assert once["empirical_risk"] == twice["empirical_risk"]


def test_parquet_with_numbers_as_classes(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"true": [0, 0, 1], "predicted": [0.0, 1.0, 1.0], "count": np.array([90, 3, 7])})
    frame.to_parquet(tmp_path / "counts.parquet")
    output = as_json(["certify", "--counts", tmp_path / "counts.parquet"], capsys)
    assert output["classes"] == ["0", "1"]
    assert output["details"]["empirical_risk"] == pytest.approx(0.03)


@pytest.mark.parametrize(("share", "code"), [("0.05", 0), ("4%", 3)])
def test_fail_above(path, capsys, share, code):
    assert in_process(["certify", "--counts", path, "--fail-above", share], capsys).code == code


@pytest.mark.parametrize(
    ("text", "args", "message"),
    [
        (TABLE.replace("count", "rows"), [], "has no 'count'"),
        (TABLE.replace("900", "900.5"), [], "numbers of rows"),
        (TABLE.replace("900", "-900"), [], "numbers of rows"),
        (TABLE + "no,yes,4611686018427387904\n" * 4, [], "a sum of at most"),
        (TABLE.replace("no,no,900", "no,no,"), [], "has a missing value in row 1"),
        (TABLE, ["--target", "true"], "remove --target"),
        (TABLE, ["--recall", "0.5"], "remove --recall"),
        (TABLE, ["--metrics", "recal"], "did you mean 'recall'"),
        (TABLE, ["--positive", "maybe"], "--positive must be one of the classes no, yes"),
        ("true,predicted,count\na,x,3\nb,y,4\n", [], "no prediction of column 'predicted'"),
    ],
)
def test_invalid_tables(tmp_path, capsys, text, args, message):
    (tmp_path / "counts.csv").write_text(text, encoding="utf-8")
    error_of(["certify", "--counts", tmp_path / "counts.csv", *args], capsys, message)
