"""Metrics, costs and decisions of `certify`, in output, files and predictions."""

import csv
import io
import json

import numpy as np
import pytest
from tests.cli.bad_files import good
from tests.cli.running import in_process
from tests.report.browser_page import Page

from pacbayes import PredictionSet, load


@pytest.fixture
def data(tmp_path):
    frame = good(240)
    frame["site"] = np.where(np.arange(240) % 3, "north", "south")
    frame[["site", "a", "b", "kind"]].to_csv(tmp_path / "data.csv", index=False)
    return frame, tmp_path / "data.csv", ["--lambdas", "0.1,1,3", "--target", "kind"]


def test_metrics_and_costs(data, tmp_path, capsys):
    _, path, args = data
    table = tmp_path / "costs.csv"
    table.write_text("true,no,yes\nno,0,1\nyes,5,0\n", encoding="utf-8")
    options = ["--metrics", "recall,precision,f1", "--slice", "site"]
    report, model = tmp_path / "report.html", tmp_path / "model"
    result = in_process(
        ["certify", path, *args, *options, "--cost", table, "--report", report, "--save", model], capsys
    )
    assert result.code == 0, result.err
    lines = [line.split("\t") for line in result.out.splitlines()]
    names = [line[0] for line in lines if " class '" in line[0] or line[0] == "mean cost" or line[0].startswith("site")]
    assert names == [
        "true class 'no' (false positives)", "true class 'yes' (false negatives)", "site = 'north'", "site = 'south'",
        *(f"{risk} of class '{name}'" for risk in ("recall", "precision", "F1") for name in ("no", "yes")), "mean cost",
    ]  # fmt: skip
    _, rows = Page(report.read_text(encoding="utf-8")).table("table-by-class")
    assert [row[0] for row in rows] == names
    printed = json.loads(in_process(["certify", path, *args, *options, "--cost", table, "--json"], capsys).out)
    bounds = printed["certificates"]["soft"]["metrics"]
    assert [entry["name"] for entry in bounds][4:] == ["recall"] * 2 + ["precision"] * 2 + ["f1"] * 2 + ["cost"]
    stored = load(model).certificates_["soft"].metrics
    assert [entry["bound"] for entry in bounds] == [entry.bound for entry in stored]
    assert stored[-1].bound < 5.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("true,no\nno,0\nyes,5\n", "one row and one column for each class"),
        ("true,no,maybe\nno,0,1\nmaybe,5,0\n", "'yes' is not among"),
        ("true,no,yes\nno,0,-1\nyes,5,0\n", "matrix must hold costs from 0 to"),
        ("true,no,yes\nno,0,\nyes,5,0\n", "costs.csv"),
        (None, "no such file"),
    ],
)
def test_invalid_costs(data, text, message, tmp_path, capsys):
    _, path, args = data
    table = tmp_path / "costs.csv"
    if text is not None:
        table.write_text(text, encoding="utf-8")
    result = in_process(["certify", path, *args, "--drop", "site", "--cost", table], capsys)
    assert result.code == 2
    assert message in result.err
    assert "--cost" in result.err


@pytest.mark.parametrize(
    ("options", "as_json"),
    [(("--max-error", ".01"), True), (("--recall", ".99"), False), (("--coverage", ".99"), False)],
)
def test_exit_code_3_with_all_outputs_if_a_decision_fails(options, as_json, data, tmp_path, capsys):
    """A bound of 1 % requires 299 validation rows without errors; there are 120."""
    _, path, args = data
    model, page = tmp_path / "model.pacbayes", tmp_path / "page.html"
    args = ["certify", path, *args, *options, "--save", model, "--report", page, *(["--json"] if as_json else [])]
    result = in_process(args, capsys)
    assert result.code == 3
    sentence = load(model).certificate_.sentence
    assert any(
        text in sentence for text in ("accepts no example", "No threshold could", "Every set contains every class")
    )
    certificate = json.loads(result.out)["certificate"] if as_json else result.out
    assert certificate.startswith(sentence)
    assert page.read_text(encoding="utf-8").startswith("<!")


def test_slice_shares(data, tmp_path, capsys):
    _, path, args = data
    table = tmp_path / "shares.csv"
    table.write_text("site,share\nnorth,0.1\nsouth,0.9\n", encoding="utf-8")
    args = ["certify", path, *args, "--slice", "site"]
    result = in_process([*args, "--slice-shares", table], capsys)
    assert result.code == 0, result.err
    (line,) = (line for line in result.out.splitlines() if line.startswith("Error rate with the shares"))
    output = json.loads(in_process([*args, "--slice-shares", table, "--json"], capsys).out)
    by_slice = {m["of"]: m["bound"] for m in output["certificates"]["soft"]["metrics"] if m["kind"] == "slice"}
    assert output["slice_shares"]["bound"] == pytest.approx(0.1 * by_slice["north"] + 0.9 * by_slice["south"])
    assert "'north': 0.1, 'south': 0.9: at most " in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("site,share\nnorth,0.1\nwest,0.9\n", "must have one row for each value of 'site', "),
        ("site,share\nnorth,0.1\nsouth,0.8\n", "must sum to 1"),
        ("site\nnorth\n", "must have two columns"),
        (None, "--slice-shares: no such file"),
    ],
)
def test_invalid_slice_shares(data, text, message, tmp_path, capsys):
    _, path, args = data
    table = tmp_path / "shares.csv"
    if text is not None:
        table.write_text(text, encoding="utf-8")
    result = in_process(["certify", path, *args, "--slice", "site", "--slice-shares", table], capsys)
    assert (result.code, message in result.err) == (2, True), result.err
    result = in_process(["certify", path, *args, "--slice-shares", table], capsys)
    assert (result.code, "--slice-shares requires --slice" in result.err) == (2, True)


def test_predict_abstains(data, tmp_path, capsys):
    frame, path, args = data
    model = tmp_path / "model.pacbayes"
    result = in_process(["certify", path, *args, "--max-error", "0.05", "--save", model], capsys)
    assert result.code == 0, result.err
    clf = load(model)
    assert result.out.splitlines()[0] == clf.certificates_["soft"].sentence
    result = in_process(["predict", model, path], capsys)
    rows = [row["predicted"] for row in csv.DictReader(io.StringIO(result.out))]
    accepted = clf.accepts(frame[["site", "a", "b"]])
    assert [row != "" for row in rows] == accepted.tolist()
    assert 0 < accepted.sum() < 240
    assert f"The model abstains on {(~accepted).sum()} of 240 rows" in result.err


@pytest.mark.parametrize(("target", "percent"), [("0.05", "5.0 %"), ("0.001", "0.1 %")])
def test_terminal_and_report_agree_on_abstention(target, percent, data, tmp_path, capsys):
    _, path, args = data
    options = ["--max-error", target, "--voting", "majority", "--report", tmp_path / "page.html"]
    result = in_process(["certify", path, *args, *options], capsys)
    printed = next(line.split("\t") for line in result.out.splitlines() if line.startswith("majority vote"))
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    shown = {name: cells[2] for name, *cells in page.table("table-certificates")[1]}
    assert percent in page.text("headline")
    assert [shown[name] for name in ("error rate at most", "validation error", "acceptance rate")] == printed[1:4]
    if target == "0.001":
        assert printed[1:3] == ["(abstains on all rows)", "–"]
    else:
        assert printed[1] == f"{percent} of accepted rows"
        assert printed[3] != "100.0 %"  # otherwise errors among all rows would also pass


def test_predict_sets(data, tmp_path, capsys):
    frame, path, args = data
    model, page = tmp_path / "model.pacbayes", tmp_path / "page.html"
    options = ["--coverage", "0.92", "--by-class", "--save", model, "--report", page]
    result = in_process(["certify", path, *args, *options], capsys)
    assert result.code == 0, result.err
    clf = load(model)
    assert clf.certificate_.decision.decision == PredictionSet(0.92, by_class=True)
    assert result.out.splitlines()[0] == clf.certificate_.sentence
    assert Page(page.read_text(encoding="utf-8")).text("sentence") == clf.certificate_.sentence
    result = in_process(["predict", model, path], capsys)
    rows = list(csv.DictReader(io.StringIO(result.out)))
    sets = clf.predict_set(frame[["site", "a", "b"]])
    assert [row["set"] for row in rows] == ["|".join(clf.classes_[row]) for row in sets]
    assert {len(row["set"].split("|")) for row in rows} == {1, 2}
    assert all(row["predicted"] in row["set"].split("|") for row in rows)
    output = json.loads(in_process(["certify", path, *args, "--coverage", "0.8", "--json"], capsys).out)
    assert output["certificates"]["soft"]["decision"]["required"] == {"coverage": 0.8, "by_class": False}
    result = in_process(["certify", path, "--coverage", "0.8", "--recall", "0.8"], capsys)
    assert (result.code, "--coverage cannot be combined with --recall" in result.err) == (2, True)


def test_predict_with_a_certified_threshold(data, tmp_path, capsys):
    frame, path, args = data
    model, page = tmp_path / "model.pacbayes", tmp_path / "page.html"
    options = ["--recall", "0.6", "--fpr", "0.5", "--positive", "no", "--save", model, "--report", page]
    result = in_process(["certify", path, *args, *options], capsys)
    assert result.code == 0, result.err
    clf = load(model)
    assert result.out.splitlines()[0] == clf.certificate_.sentence
    assert (clf.certificate_.decision.passed, clf.certificate_.decision.positive) == (True, "no")
    assert Page(page.read_text(encoding="utf-8")).text("sentence") == clf.certificate_.sentence
    result = in_process(["predict", model, path], capsys)
    rows = [row["predicted"] for row in csv.DictReader(io.StringIO(result.out))]
    probable = clf.predict_proba(frame[["site", "a", "b"]])[:, 0] >= clf.certificate_.decision.threshold
    assert [row == "no" for row in rows] == probable.tolist()
    output = json.loads(in_process(["certify", path, *args, "--recall", "0.6", "--json"], capsys).out)
    assert output["certificates"]["soft"]["decision"]["positive"] == "yes"
    assert output["settings"]["parameters"]["decision"] == "Threshold(recall=0.6)"
