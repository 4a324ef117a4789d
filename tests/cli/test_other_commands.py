"""`predict`, `posterior`, `bound`, `plan`, `--version`, and the examples on help pages."""

import csv
import io
import json
import shlex

import numpy as np
import pandas as pd
import pytest
import typer
from tests.cli.bad_files import good
from tests.cli.running import error_of, in_process

import pacbayes
from pacbayes import DISTANCES, Ledger, StochasticSVC, bound, load, optimal_posterior, rows_needed, save
from pacbayes.bounds import Catoni
from pacbayes.bounds.distances import get_distance
from pacbayes.cli.app import app
from pacbayes.ensemble.validation import errors_to_risks


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.pacbayes"
    frame = good(200)
    clf = StochasticSVC([0.1, 1.0, 3.0], random_state=0).fit(frame[["a", "b"]], frame["kind"])
    return clf, path, save(clf, path)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("voting", ["stochastic", "majority", "best"])
def test_predict(voting, model, tmp_path, capsys):
    clf, path, digest = model
    new = good(90)[60:]
    # Columns in another order, and an unknown one.
    new[["kind", "b", "a"]].to_csv(tmp_path / "new.csv", index=False)
    args = ["predict", path, tmp_path / "new.csv", "--voting", voting, "--shares", "--sha256", digest]
    result = in_process(args, capsys)
    rows = rows_of(result.out)
    expected = clf.set_params(voting=voting).predict(new[["a", "b"]])
    assert [row["predicted"] for row in rows] == expected.tolist()
    shares = np.array([[float(row["share of no"]), float(row["share of yes"])] for row in rows])
    np.testing.assert_array_equal(shares, clf.vote_share(new[["a", "b"]]))
    assert clf.certificate_.sentence in result.err
    assert "Columns not used: 'kind'" in result.err
    in_process([*args, "--out", tmp_path / "out.csv"], capsys)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == result.out


def test_invalid_arguments_of_predict(model, tmp_path, capsys):
    _, path, _ = model
    (tmp_path / "gap.csv").write_text("a,b\n1,\n", encoding="utf-8")
    args = ["predict", path, tmp_path / "gap.csv", "--out", tmp_path / "out.csv"]
    assert "has no value in row 1" in error_of(args, capsys)
    assert not (tmp_path / "out.csv").exists()
    good().to_csv(tmp_path / "new.csv", index=False)
    for args, message in {
        ("--voting", "loud"): "unknown --voting 'loud'; known are soft, stochastic, majority, best",
        ("--sha256", "0" * 64): "was changed after it was saved",
        ("--out", str(tmp_path / "none" / "out.csv")): "there is no folder",
    }.items():
        assert message in error_of(["predict", path, tmp_path / "new.csv", *args], capsys)


def test_sample_sizes_in_a_column(tmp_path, capsys):
    path = tmp_path / "forest.csv"
    path.write_text("errors,rows,weight,risk\n3,30,0.5,0.1\n9,45,0.5,0.2\n", encoding="utf-8")
    args = ["posterior", path, "--m", "rows", "--column", "errors", "--counts", "--json"]
    output = json.loads(in_process(args, capsys).out)
    expected = optimal_posterior(errors_to_risks(np.array([3, 9]), np.array([30, 45])), [30, 45])
    assert (output["m"], output["bound"]) == (30, expected.bound)
    output = json.loads(in_process(["bound", path, "--m", "rows", "--distance", "kl", "--json"], capsys).out)
    assert (output["m"], output["bounds"]["kl"]) == (30, bound([0.5, 0.5], [0.1, 0.2], 30))


def test_bound(tmp_path, capsys):
    result = in_process(["bound", "--m", 250, "--risk", 0.05, "--kl", 1.5], capsys)
    printed = dict(line.split("\t") for line in result.out.splitlines()[1:])
    assert list(printed) == list(DISTANCES)
    for name, text in printed.items():
        exact = get_distance(name).bound_function(250, 0.05, "exact")(0.05, 1.5)
        assert exact <= float(text) <= exact + 1e-6
    path = tmp_path / "weights.csv"
    path.write_text("risk,weight\n0.05,0.75\n0.1,0.25\n", encoding="utf-8")
    args = ["bound", path, "--m", 250, "--distance", "linear", "--delta", 0.01, "--json"]
    output = json.loads(in_process(args, capsys).out)
    assert output["bounds"] == {"linear": bound([0.75, 0.25], [0.05, 0.1], 250, distance="linear", delta=0.01)}
    output = json.loads(in_process([*args[:5], "catoni(0.4)", "--json"], capsys).out)
    assert output["bounds"] == {"catoni(0.4)": bound([0.75, 0.25], [0.05, 0.1], 250, distance=Catoni(0.4))}
    assert "needs its parameter" in error_of([*args[:5], "catoni"], capsys)


def test_version(capsys):
    assert in_process(["--version"], capsys).out == f"pacbayes {pacbayes.__version__}\n"


@pytest.fixture
def example_files(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    frame = good(300).rename(columns={"kind": "class"})
    frame.to_csv("data.csv", index=False)
    frame[:20].assign(a=frame["a"] + 0.01).to_csv("new.csv", index=False)
    frame[:20].assign(old="no", new=frame["class"]).to_csv("predicted.csv", index=False)
    (tmp_path / "depths.json").write_text('{"max_depth": [1, 2]}', encoding="utf-8")
    table = "first,second,class\n" + "a,b,b\nb,b,b\na,a,a\n" * 20
    (tmp_path / "predictions.csv").write_text(table, encoding="utf-8")
    (tmp_path / "risks.csv").write_text("risk\n0.1\n0.2\n", encoding="utf-8")
    (tmp_path / "errors.csv").write_text("errors\n10\n20\n", encoding="utf-8")
    (tmp_path / "forest.csv").write_text("errors,rows\n10,90\n20,110\n", encoding="utf-8")
    (tmp_path / "weights.csv").write_text("risk,weight\n0.1,0.5\n0.2,0.5\n", encoding="utf-8")
    (tmp_path / "counts.csv").write_text("true,predicted,count\nno,no,970\nno,yes,10\nyes,yes,20\n", encoding="utf-8")
    (tmp_path / "costs.csv").write_text("true,no,yes\nno,0,1\nyes,5,0\n", encoding="utf-8")
    Ledger(tmp_path / "releases.json").attempt(["a"] * 20, ["a"] * 20, rows=range(20), at_most=0.5)
    # `watch` rejects random draws by the posterior.
    save(model[0].set_params(voting="best"), tmp_path / "model.pacbayes")
    new = frame.assign(a=frame["a"] + 0.01)
    holdout = new.assign(**{"class": load(tmp_path / "model.pacbayes").predict(new[["a", "b"]])})
    holdout.to_csv("holdout.csv", index=False)
    (tmp_path / "2024").mkdir()
    holdout.assign(day=pd.date_range("2024-01-01", periods=300).astype(str)).to_csv("2024/days.csv", index=False)
    model[0].set_params(voting="stochastic")


ROOT = typer.main.get_command(app)
#: Examples at the end of help pages, with their commands.
EXAMPLES = [
    (name, line.strip())
    for name, command in {"": ROOT, **ROOT.commands}.items()
    for line in command.epilog.splitlines()[2:]
]


@pytest.mark.parametrize(("command", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_examples_of_help_pages_run(command, example, example_files, capsys):
    name, *args = shlex.split(example)
    assert name == "pacbayes"
    result = in_process(args, capsys)
    assert result.code == 0, result.err
    assert args[0] == (command or args[0])
    assert example in in_process([*([command] if command else []), "--help"], capsys).out


def test_warning_for_a_confidence_given_as_delta(tmp_path, capsys):
    table = tmp_path / "table.csv"
    table.write_text("risk,truth,one,other\n0.1,a,a,b\n0.2,b,b,b\n")
    for command in (
        ["bound", "--risk", "0.1", "--kl", "2", "--m", "100"],
        ["posterior", table, "--column", "risk", "--m", "100"],
        ["compare", table, "--target", "truth", "--a", "one", "--b", "other"],
        ["plan", "--error", "0.05", "--at-most", "0.1"],
    ):
        result = in_process([*command, "--delta", "0.95"], capsys)
        assert result.code == 0
        assert result.err.count("warning: delta=0.95 means a confidence of 5 %; did you mean 0.05?") == 1
        assert "did you mean" not in in_process([*command, "--delta", "0.05"], capsys).err


def test_plan_prints_rows_and_a_table(capsys):
    result = in_process(["plan", "--error", "0.05", "--at-most", "0.08"], capsys)
    rows = rows_needed(0.05, 0.08)
    lines = result.out.splitlines()
    assert result.code == 0
    assert f"{rows} validation rows" in lines[0]
    table = [line.split("\t") for line in lines[2:]]
    assert table[0] == ["bound", *(f"chance {c} %" for c in ("50.0", "80.0", "90.0", "95.0"))]
    assert ["8.0 %", *(str(rows_needed(0.05, 0.08, chance=c)) for c in (0.5, 0.8, 0.9, 0.95))] in table
    assert [row[0] for row in table[1:]] == ["6.5 %", "7.25 %", "8.0 %", "9.5 %", "11.0 %"]


def test_predict_without_feature_names(tmp_path, capsys):
    frame = good(200)
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(frame[["a", "b"]].to_numpy(), frame["kind"])
    save(clf, tmp_path / "model")
    frame[["a", "b"]].to_csv(tmp_path / "new.csv", index=False)
    result = in_process(["predict", tmp_path / "model", tmp_path / "new.csv"], capsys)
    assert [row["predicted"] for row in rows_of(result.out)] == clf.predict(frame[["a", "b"]].to_numpy()).tolist()
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert "must have 2 feature columns" in error_of(["predict", tmp_path / "model", tmp_path / "new.csv"], capsys)


def test_plan_plot(tmp_path, capsys):
    result = in_process(["plan", "--error", "0.05", "--at-most", "0.08", "--plot", tmp_path / "p.png"], capsys)
    assert result.code == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
