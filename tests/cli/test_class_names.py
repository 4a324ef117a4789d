"""Class names: `compare` and `certify --predictions` read what `predict` writes, and no two names are merged."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from tests.cli.running import error_of, in_process

from pacbayes import CertifiedClassifier, load_dataset, save
from pacbayes.data.spelling import normalize_spelling

NAMES = [
    *("-", "+", "=", "@", "'", "''", "'-", "''-", "=1+1", "'=1+1", "@x", "-x", "'-x", "1", "01", "1.0", "-1", ""),
    *(" ", " a", "a", "a ", "\tx", "a\tb", "\nx", "a\nb", "x\ry", 'q"q', '"', "a,b", "NA", "None", "true", "True", "ß"),
]


def written_by_predict(names, folder, capsys):
    """Output of `predict` for a model without errors, and the true classes."""
    codes = np.tile(np.arange(len(names)), 12)
    X, y = pd.DataFrame({"x": codes.astype(float)}), np.array(names, dtype=object)[codes]
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    save(CertifiedClassifier.from_fitted([tree], X, y, random_state=0, voting="best"), folder / "m.pacbayes")
    X.to_csv(folder / "new.csv", index=False)
    result = in_process(["predict", folder / "m.pacbayes", folder / "new.csv", "--out", folder / "out.csv"], capsys)
    assert result.code == 0, result.err
    with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
        cells = [row[0] for row in csv.reader(file)]
    return cells[1:], y


def compared(predicted, y, path, capsys, *args):
    """Counts of `compare` for predictions and a column that is always wrong."""
    frame = pd.DataFrame({"truth": y, "said": predicted, "other": np.roll(y, 1)})
    frame.to_csv(path, index=False, quoting=csv.QUOTE_ALL) if path.suffix == ".csv" else frame.to_parquet(path)
    result = in_process(["compare", path, "--target", "truth", "--a", "other", "--b", "said", "--json", *args], capsys)
    assert result.code == 0, result.err
    output = json.loads(result.out)
    return output["only_a"], output["both"], output["only_b"]


@given(names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=6, unique_by=normalize_spelling))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(names=["-", "a"])
@example(names=["-", "'-", "''-"])
@example(names=["=1+1", "'=1+1"])
@example(names=["", "'", " a"])
@example(names=["1", "02", "3.0"])
def test_class_names_survive_a_round_trip(names, tmp_path, capsys):
    predicted, y = written_by_predict(names, tmp_path, capsys)
    assert compared(predicted, y, tmp_path / "t.parquet", capsys) == (y.size, 0, 0)
    # Written by another tool, without a leading apostrophe.
    assert compared(y, y, tmp_path / "t.parquet", capsys) == (y.size, 0, 0)
    # CSV files cannot represent empty strings, leading spaces and spellings of one number.
    if any(name in ("", " ", " a", "1", "01", "1.0", "-1", "true", "True") for name in names):
        return
    args = ["--not-missing", "NA", "--not-missing", "None"]
    assert compared(predicted, y, tmp_path / "t.csv", capsys, *args) == (y.size, 0, 0)


def test_predictions_outside_the_classes_are_counted(tmp_path, capsys):
    frame = pd.DataFrame({"truth": ["a", "b"] * 50, "p": ["a", "b"] * 50, "q": ["a", "b"] * 44 + ["x", "y"] * 6})
    frame.to_csv(tmp_path / "t.csv", index=False)
    args = [tmp_path / "t.csv", "--target", "truth", "--a", "p", "--b", "q"]
    predicted = "12 of 100 predictions of 'q' are not classes of the target ('x', 'y'): they count as errors."
    result = in_process(["compare", *args], capsys)
    assert predicted in result.err
    assert "predictions of 'p'" not in result.err
    assert json.loads(in_process(["compare", *args, "--json"], capsys).out)["unknown_classes"] == [0, 12]
    result = in_process(["certify", "--predictions", tmp_path / "t.csv", "--target", "truth"], capsys)
    assert predicted in result.err


@pytest.mark.parametrize("classes", [["1", "01", "2"], ["1", "1.0"], ["True", "TRUE"], ["0", "-0", "x"], ["P7", "p7 "]])
def test_two_spellings_of_a_class_are_rejected(classes, tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90), "truth": rng.choice(classes, 90)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.assign(p=frame["truth"])[["p", "truth"]].to_csv(tmp_path / "p.csv", index=False)
    for args in (["certify", tmp_path / "t.csv", "--lambdas", "1"], ["certify", "--predictions", tmp_path / "p.csv"]):
        error = error_of(args, capsys)
        assert "column 'truth'" in error
        assert "holds both" in error
    with pytest.raises(ValueError, match="holds both"):
        load_dataset(tmp_path / "t.csv")


@pytest.mark.parametrize("suffix", [".csv"])
@pytest.mark.parametrize(
    ("classes", "named"),
    [
        (["01", "02"], ["02", "2"]),
        (["1.0", "2.0"], ["1.0", "1"]),
        (["1.50", "x"], ["1.50"]),
        (["true", "false"], ["true", "True"]),
        (["=1+1", "b"], ["=1+1", "'=1+1"]),
        (["a\x1b[2J", "b"], ["a\x1b[2J", r"a\x1b[2J"]),
    ],
)
def test_positive_accepts_stored_and_printed_names(classes, named, suffix, tmp_path, capsys):
    y = np.tile(classes, 60)
    frame = pd.DataFrame({"x": np.arange(120.0) % 7, "truth": y})
    path = tmp_path / f"t{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    frame.assign(x=y).to_csv(tmp_path / "p.csv", index=False)
    trained = ["certify", path, "--keep", "x", "--candidates", "sklearn.tree.DecisionTreeClassifier"]
    for command in (trained, ["certify", "--predictions", tmp_path / "p.csv"]):
        for name in named:
            result = in_process([*command, "--positive", name], capsys)
            assert result.code == 0, result.err
        assert "--positive must be one of the classes" in error_of([*command, "--positive", "3"], capsys)


def test_ambiguous_apostrophe_is_rejected(tmp_path, capsys):
    """'=x may be the class of this name, or the class =x as written by `predict`."""
    frame = pd.DataFrame({"truth": ["=x", "'=x", "a"] * 10, "p": ["'=x", "'=x", "a"] * 10, "q": ["a"] * 30})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert "apostrophe" in error_of(
        ["compare", tmp_path / "t.csv", "--target", "truth", "--a", "p", "--b", "q"], capsys
    )
    gate = ["gate", tmp_path / "t.csv", "--target", "truth", "--predicted", "p", "--at-most", "0.1"]
    assert "apostrophe" in error_of(gate, capsys)


@pytest.mark.parametrize("y_pred", [["'=x", "''s", "a"], ["=x", "'s", "a"]])
def test_gate_removes_the_apostrophes_of_predict(y_pred, tmp_path, capsys):
    frame = pd.DataFrame({"row": np.arange(1000.0, 1090), "truth": ["=x", "'s", "a"] * 30, "p": y_pred * 30})
    frame.to_csv(tmp_path / "t.csv", index=False)
    command = ["gate", tmp_path / "t.csv", "--target", "truth", "--predicted", "p", "--at-most", "0.1"]
    assert in_process(command, capsys).code == 0
    recorded = in_process([*command, "--id", "row", "--ledger", tmp_path / "ledger.json"], capsys)
    assert recorded.code == 0
    # The same line whether or not the class is among the true ones.
    frame.assign(truth="a").to_csv(tmp_path / "t.csv", index=False)
    other = in_process([*command, "--id", "row", "--ledger", tmp_path / "other.json"], capsys)
    assert other.code == 3
    assert other.err.splitlines()[0] == recorded.err.splitlines()[0]
    assert "=x" in other.err
