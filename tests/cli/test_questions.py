"""--by-class, --slice and --max-error: printed, saved, and left empty by predict."""

import csv
import io
import json

import numpy as np
import pytest
from tests.cli.bad_files import good
from tests.cli.running import in_process
from tests.report.browser_page import Page

from pacbayes import load


@pytest.fixture
def data(tmp_path):
    frame = good(240)
    frame["site"] = np.where(np.arange(240) % 3, "north", "south")
    frame[["site", "a", "b", "kind"]].to_csv(tmp_path / "data.csv", index=False)
    return frame, tmp_path / "data.csv", ["--lambdas", "0.1,1,3", "--target", "kind"]


def test_other_risks_and_costs(data, tmp_path, capsys):
    _, path, words = data
    table = tmp_path / "costs.csv"
    table.write_text("true,no,yes\nno,0,1\nyes,5,0\n", encoding="utf-8")
    asked = ["--metrics", "recall,precision,f1", "--slice", "site"]
    report, model = tmp_path / "report.html", tmp_path / "model"
    done = in_process(["certify", path, *words, *asked, "--cost", table, "--report", report, "--save", model], capsys)
    assert done.code == 0, done.err
    lines = [line.split("\t") for line in done.out.splitlines()]
    names = [line[0] for line in lines if " class '" in line[0] or line[0] == "cost" or line[0].startswith("site")]
    assert names == [
        "true class 'no' (false positives)", "true class 'yes' (false negatives)", "site = 'north'", "site = 'south'",
        *(f"{risk} of class '{name}'" for risk in ("recall", "precision", "F1") for name in ("no", "yes")), "cost",
    ]  # fmt: skip
    _, rows = Page(report.read_text(encoding="utf-8")).table("table-by-class")
    assert [row[0] for row in rows] == names
    printed = json.loads(in_process(["certify", path, *words, *asked, "--cost", table, "--json"], capsys).out)
    limits = printed["certificates"]["soft"]["metrics"]
    assert [one["name"] for one in limits][4:] == ["recall"] * 2 + ["precision"] * 2 + ["f1"] * 2 + ["cost"]
    stored = load(model).certificates_["soft"].metrics
    assert [one["bound"] for one in limits] == [one.bound for one in stored]
    assert stored[-1].bound < 5.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("true,no\nno,0\nyes,5\n", "one line and one column for each class"),
        ("true,no,maybe\nno,0,1\nmaybe,5,0\n", "'yes' is not among"),
        ("true,no,yes\nno,0,-1\nyes,5,0\n", "none below 0"),
        ("true,no,yes\nno,0,\nyes,5,0\n", "costs.csv"),
        (None, "no such file"),
    ],
)
def test_costs_that_are_none(data, text, message, tmp_path, capsys):
    _, path, words = data
    table = tmp_path / "costs.csv"
    if text is not None:
        table.write_text(text, encoding="utf-8")
    done = in_process(["certify", path, *words, "--drop", "site", "--cost", table], capsys)
    assert done.code == 2
    assert message in done.err
    assert "--cost" in done.err


@pytest.mark.parametrize(
    "asked", [("--max-error", ".01"), ("--recall", ".99"), ("--precision", ".99"), ("--fpr", ".01")]
)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_target_that_is_not_reached_ends_with_3_and_everything_is_written(asked, as_json, data, tmp_path, capsys):
    """With 120 validation rows 1 % is out of reach: no error at all takes 299."""
    _, path, words = data
    model, page = tmp_path / "model.pacbayes", tmp_path / "page.html"
    words = ["certify", path, *words, *asked, "--save", model, "--report", page, *(["--json"] if as_json else [])]
    done = in_process(words, capsys)
    assert done.code == 3
    sentence = load(model).certificate_.sentence
    assert "accepts no example" in sentence or sentence.startswith("No threshold could be certified")
    told = json.loads(done.out)["certificate"] if as_json else done.out
    assert told.startswith(sentence)
    assert page.read_text(encoding="utf-8").startswith("<!")


def test_a_full_disk_comes_before_a_target_that_is_not_reached(data, capsys):
    _, path, words = data
    done = in_process(["certify", path, *words, "--recall", "0.99", "--save", "/dev/full"], capsys)
    assert (done.code, "No space left" in done.err) == (2, True)


def test_target_and_predictions(data, tmp_path, capsys):
    frame, path, words = data
    model = tmp_path / "model.pacbayes"
    done = in_process(["certify", path, *words, "--max-error", "0.05", "--save", model], capsys)
    assert done.code == 0, done.err
    clf = load(model)
    assert done.out.splitlines()[0] == clf.certificates_["soft"].sentence
    done = in_process(["predict", model, path], capsys)
    rows = [row["predicted"] for row in csv.DictReader(io.StringIO(done.out))]
    answers = clf.accepts(frame[["site", "a", "b"]])
    assert [row != "" for row in rows] == answers.tolist()
    assert 0 < answers.sum() < 240
    assert f"{(~answers).sum()} of 240 examples are not answered" in done.err


@pytest.mark.parametrize(("target", "percent"), [("0.05", "5.0 %"), ("0.001", "0.1 %")])
def test_terminal_and_report_agree_about_a_target(target, percent, data, tmp_path, capsys):
    _, path, words = data
    asked = ["--max-error", target, "--voting", "majority", "--report", tmp_path / "page.html"]
    done = in_process(["certify", path, *words, *asked], capsys)
    printed = next(line.split("\t") for line in done.out.splitlines() if line.startswith("majority vote"))
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    shown = {name: cells[2] for name, *cells in page.table("table-certificates")[1]}
    assert percent in page.text("headline")
    assert [shown[name] for name in ("error rate at most", "validation error", "acceptance rate")] == printed[1:4]
    if target == "0.001":
        assert printed[1:3] == ["(abstains on all rows)", "–"]
    else:
        assert printed[1] == f"{percent} of accepted rows"
        assert printed[3] != "100.0 %"  # or the errors among all rows would do as well


def test_a_threshold_and_predictions(data, tmp_path, capsys):
    frame, path, words = data
    model, page = tmp_path / "model.pacbayes", tmp_path / "page.html"
    asked = ["--recall", "0.6", "--fpr", "0.5", "--positive", "no", "--save", model, "--report", page]
    done = in_process(["certify", path, *words, *asked], capsys)
    assert done.code == 0, done.err
    clf = load(model)
    assert done.out.splitlines()[0] == clf.certificate_.sentence
    assert (clf.certificate_.decision.passed, clf.certificate_.decision.positive) == (True, "no")
    assert Page(page.read_text(encoding="utf-8")).text("sentence") == clf.certificate_.sentence
    done = in_process(["predict", model, path], capsys)
    rows = [row["predicted"] for row in csv.DictReader(io.StringIO(done.out))]
    probable = clf.predict_proba(frame[["site", "a", "b"]])[:, 0] >= clf.certificate_.decision.threshold
    assert [row == "no" for row in rows] == probable.tolist()
    found = json.loads(in_process(["certify", path, *words, "--recall", "0.6", "--json"], capsys).out)
    assert found["certificates"]["soft"]["decision"]["positive"] == "yes"
    assert found["settings"]["parameters"]["decision"] == "Threshold(recall=0.6)"
