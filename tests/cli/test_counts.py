"""`pacbayes certify --counts`: the certificate of a table that a database wrote, and `--fail-above`."""

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import as_json, in_process, refused

from pacbayes import Cost, certify_counts

TABLE = "true,predicted,count\nno,no,900\nno,yes,20\nyes,no,10\nyes,yes,70\n"
CONFUSION = [[900, 20], [10, 70]]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "counts.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path / "counts.csv"


def test_the_certificate_of_the_counts(path, tmp_path, capsys):
    (tmp_path / "costs.csv").write_text("class,no,yes\nno,0,1\nyes,10,0\n", encoding="utf-8")
    words = ["certify", "--counts", path, "--metrics", "recall,f1", "--cost", tmp_path / "costs.csv", "--delta", "1%"]
    found = as_json([*words, "--positive", "yes"], capsys)["details"]
    cost = Cost([[0, 1], [10, 0]], ["no", "yes"])
    expected = certify_counts(
        CONFUSION, classes=["no", "yes"], metrics=("recall", "f1", cost), delta=0.01, pos_label="yes"
    ).to_dict()
    assert (found["bound"], found["m"], found["missed"]) == (expected["bound"], 1000, list(expected["missed"]))
    assert [one["bound"] for one in found["metrics"]] == [one["bound"] for one in expected["metrics"]]


def test_the_screen_names_what_counts_cannot_show(path, capsys):
    done = in_process(["certify", "--counts", path, "--by-class"], capsys, as_given=True)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("With 95 % confidence, the error rate of this classifier on new examples is at most 4.")
    assert sum("class 'yes'" in line.lower() for line in lines) == 1
    assert "duplicates" in lines[-1]
    assert "1000 rows, 2 classes" in done.err


def test_counts_of_several_partitions_are_added(path, tmp_path, capsys):
    half = TABLE + TABLE.partition("\n")[2]
    (tmp_path / "twice.tsv").write_text(half.replace(",", "\t"), encoding="utf-8")
    once, twice = (as_json(["certify", "--counts", one], capsys)["details"] for one in (path, tmp_path / "twice.tsv"))
    assert (once["m"], twice["m"]) == (1000, 2000)
    assert once["empirical_risk"] == twice["empirical_risk"]


def test_parquet_with_numbers_as_classes(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"true": [0, 0, 1], "predicted": [0.0, 1.0, 1.0], "count": np.array([90, 3, 7])})
    frame.to_parquet(tmp_path / "counts.parquet")
    found = as_json(["certify", "--counts", tmp_path / "counts.parquet"], capsys)
    assert found["classes"] == ["0", "1"]
    assert found["details"]["empirical_risk"] == pytest.approx(0.03)


@pytest.mark.parametrize(("share", "code"), [("0.05", 0), ("4%", 3)])
def test_fail_above(path, capsys, share, code):
    assert in_process(["certify", "--counts", path, "--fail-above", share], capsys).code == code


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (TABLE.replace("count", "rows"), [], "lacks 'count'"),
        (TABLE.replace("900", "900.5"), [], "numbers of rows"),
        (TABLE.replace("900", "-900"), [], "numbers of rows"),
        (TABLE.replace("no,no,900", "no,no,"), [], "lacks a value in row 1"),
        (TABLE, ["--target", "true"], "leave out --target"),
        (TABLE, ["--recall", "0.5"], "leave out --recall"),
        (TABLE, ["--metrics", "recal"], "did you mean 'recall'"),
        (TABLE, ["--positive", "maybe"], "--positive must be one of the classes no, yes"),
        ("true,predicted,count\na,x,3\nb,y,4\n", [], "no prediction of column 'predicted'"),
    ],
)
def test_invalid_tables_are_refused(tmp_path, capsys, text, words, message):
    (tmp_path / "counts.csv").write_text(text, encoding="utf-8")
    refused(["certify", "--counts", tmp_path / "counts.csv", *words], capsys, message)
