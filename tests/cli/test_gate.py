"""`pacbayes gate`: exit codes, predictions and saved models, the ledger and its history."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import error_of, in_process

from pacbayes import CertifiedClassifier, Ledger, save


def rows_of(seed, n=300):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).round(4)
    noise = np.random.default_rng(seed + 1).random(n) < 0.02
    return frame.assign(kind=np.where((X.sum(axis=1) > 0) ^ noise, "ill", "well"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, frame = tmp_path_factory.mktemp("gate"), rows_of(10)
    good = frame["kind"].to_numpy().copy()
    good[:5] = np.where(good[:5] == "ill", "well", "ill")
    frame.assign(row=np.arange(300) + 1000, v1="well", v2=good).to_csv(folder / "holdout.csv", index=False)
    train = rows_of(20, 600)
    model = CertifiedClassifier("logistic", random_state=0).fit(train[["a", "b", "c"]], train["kind"])
    save(model, folder / "model.pacbayes")
    train.to_csv(folder / "train.csv", index=False)
    return folder


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.json"


def gate(folder, *args, capsys, data="holdout.csv"):
    return in_process(["gate", folder / data, "--target", "kind", *args], capsys)


PREDICTED = ("--predicted", "v2", "--id", "row")


def test_predictions_of_two_versions(folder, ledger, capsys):
    args = ("--id", "row", "--at-most", "5%", "--ledger", ledger)
    failed = gate(folder, "--predicted", "v1", *args, capsys=capsys)
    assert failed.code == 3
    assert failed.out.startswith("Not passed: error rate at most 5.0 %. Attempt 1, at level 0.025; 50.0 % of delta")
    passed = gate(folder, "--predicted", "v2", *args, "--name", "version 2", capsys=capsys)
    assert passed.code == 0, passed.err
    assert passed.out.startswith("Passed: error rate at most 5.0 %. Attempt 2")
    assert "no statement that passes in this ledger is false" in passed.out
    assert [(one.name, one.passed) for one in Ledger(ledger).attempts] == [("v1", False), ("version 2", True)]
    history = in_process(["gate", "--history", "--ledger", ledger], capsys)
    assert history.code == 0, history.err
    header, first, second = history.out.splitlines()
    assert header.split("\t")[:3] == ["attempt", "time", "name"]
    assert first.split("\t")[2:6] == ["v1", "error rate at most 5.0 %", "not passed", "300"]
    assert second.split("\t")[-1] == "16.7 %"
    assert len(json.loads(in_process(["gate", "--history", "--ledger", ledger, "--json"], capsys).out)) == 2


def test_no_count_is_printed(folder, ledger, capsys):
    for args in ([], ["--json"], ["--ledger", ledger], ["--ledger", ledger, "--json"]):
        done = gate(folder, *PREDICTED, "--at-most", "0.05", *args, capsys=capsys)
        assert not re.search(r"(?<![\d.])(5|295)(?![\d.])", done.out + done.err), done
    told = gate(folder, *PREDICTED, "--at-most", "0.06", "--ledger", ledger, "--tell", capsys=capsys)
    assert "5 errors on 300 rows" in told.out
    assert "divides the remaining delta by 301" in told.err


def test_a_saved_model(folder, ledger, capsys):
    args = ("--model", folder / "model.pacbayes", "--at-most", "0.1", "--ledger", ledger)
    done = gate(folder, *args, capsys=capsys)
    assert done.code == 0, done.err
    by_id = gate(folder, *args[:-1], ledger.with_name("ids.json"), "--id", "row", capsys=capsys)
    assert by_id.code == 0, by_id.err
    assert Ledger(ledger).attempts[0].name == "model.pacbayes"
    trained = gate(folder, *args, capsys=capsys, data="train.csv")
    assert trained.code == 2
    assert "was fitted with these rows" in trained.error


def test_a_model_that_fails_on_the_rows_fails(folder, ledger, capsys, monkeypatch):
    def fail(self, X):
        raise RuntimeError("row 17 is too large")

    monkeypatch.setattr(CertifiedClassifier, "predict", fail)
    args = ("--model", folder / "model.pacbayes", "--at-most", "0.1", "--ledger", ledger)
    done = gate(folder, *args, capsys=capsys)
    assert (done.code, "row 17" in done.out + done.err) == (3, False)


@pytest.mark.parametrize(("share", "code"), [("0.9", 0), ("0.999", 3)])
def test_recall_and_precision(folder, ledger, capsys, share, code):
    args = ("--recall", share, "--precision", "0.5", "--positive", "ill", "--ledger", ledger)
    assert gate(folder, *PREDICTED, *args, capsys=capsys).code == code


def test_without_a_ledger_it_is_one_attempt(folder, capsys):
    done = gate(folder, "--predicted", "v2", "--at-most", "0.05", capsys=capsys)
    assert done.code == 0, done.err
    assert "This holds for one attempt; use --ledger for more" in done.out
    assert gate(folder, "--predicted", "v1", "--at-most", "0.05", "--json", capsys=capsys).code == 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--at-most", "0.05"], "either --model MODEL or --predicted COLUMN"),
        (["--predicted", "v2"], "at least one of --at-most, --recall or --precision"),
        (["--predicted", "v2", "--recall", "0.5"], "--positive must be set with recall"),
        (["--predicted", "v3", "--at-most", "0.05"], "--predicted must name a column"),
        (["--predicted", "v2", "--at-most", "0.05", "--ledger", "l.json"], "--id COLUMN is required"),
        (["--predicted", "v2", "--at-most", "0.05", "--group", "a"], "independent rows"),
        (["--predicted", "v2", "--at-most", "0.05", "--tell"], "--ledger FILE"),
        (["--predicted", "v2", "--at-most", "1"], "--at-most must lie strictly between"),
        (
            [*PREDICTED, "--recall", "0.5", "--positive", "sick", "--ledger", "l.json"],
            "one of the predicted classes 'ill', 'well'",
        ),
        (["--model", "none.pacbayes", "--at-most", "0.05"], "no such model"),
    ],
)
def test_invalid_input_has_exit_code_2(folder, capsys, monkeypatch, tmp_path, args, message):
    monkeypatch.chdir(tmp_path)
    error_of(["gate", folder / "holdout.csv", "--target", "kind", *args], capsys, message)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("names", [("ill", "well"), ("sick", "well")])
def test_which_classes_occur_is_not_told(folder, ledger, capsys, names):
    """Predictions of a class that no row has fail like any others, and so do statements about it."""
    frame = pd.read_csv(folder / "holdout.csv").replace({"kind": {"ill": names[0]}})
    frame.assign(other=np.where(np.arange(300) < 9, "ILL", "well")).to_csv(ledger.with_name("rows.csv"), index=False)
    args = ["gate", ledger.with_name("rows.csv"), "--target", "kind", "--id", "row", "--ledger", ledger]
    column = ["--predicted", "other"]
    for statement in (["--at-most", "0.05"], ["--recall", "0.5", "--positive", "iLL"]):
        done = in_process([*args, *column, *statement], capsys)
        assert (done.code, done.err.splitlines()) == (3, ["Predicted classes: 'ILL', 'well'."])
    entry = json.loads(ledger.read_text())["attempts"][1]
    assert entry["statement"]["pos_label"] == "iLL"
    assert entry["passed"] is False


def test_the_positive_class_may_be_spelled_otherwise(folder, ledger, capsys):
    args = ("--recall", "0.8", "--precision", "0.8", "--positive", "ILL", "--ledger", ledger)
    assert gate(folder, *PREDICTED, *args, capsys=capsys).code == 0
    assert gate(folder, "--model", folder / "model.pacbayes", *args[:-1], f"{ledger}2", capsys=capsys).code == 0


def test_an_edited_ledger_has_exit_code_2(folder, ledger, capsys):
    gate(folder, *PREDICTED, "--at-most", "0.05", "--ledger", ledger, capsys=capsys)
    ledger.write_text(ledger.read_text().replace('"passed": true', '"passed": false'))
    done = gate(folder, *PREDICTED, "--at-most", "0.05", "--ledger", ledger, capsys=capsys)
    assert (done.code, "is not a valid ledger file" in done.error) == (2, True)
    error_of(["gate", "--history"], capsys, "--history requires --ledger")
