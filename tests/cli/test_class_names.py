"""Names of classes: what `predict` writes, `compare` and `certify --predictions` read as the same; none are merged."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from tests.cli.running import in_process, refused

from pacbayes import CertifiedClassifier, load_dataset, save

NAMES = [
    *("-", "+", "=", "@", "'", "''", "'-", "''-", "=1+1", "'=1+1", "@x", "-x", "'-x", "1", "01", "1.0", "-1", ""),
    *(" ", " a", "a", "a ", "\tx", "a\tb", "\nx", "a\nb", "x\ry", 'q"q', '"', "a,b", "NA", "None", "true", "True", "ß"),
]


def written_by_predict(names, folder, capsys):
    """What `predict` writes for rows of all classes by a model that always is right, and these classes."""
    codes = np.tile(np.arange(len(names)), 12)
    X, y = pd.DataFrame({"x": codes.astype(float)}), np.array(names, dtype=object)[codes]
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    save(CertifiedClassifier.from_fitted([tree], X, y, random_state=0, voting="best"), folder / "m.pacbayes")
    X.to_csv(folder / "new.csv", index=False)
    done = in_process(["predict", folder / "m.pacbayes", folder / "new.csv", "--out", folder / "out.csv"], capsys)
    assert done.code == 0, done.err
    with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
        cells = [row[0] for row in csv.reader(file)]
    return cells[1:], y


def compared(said, y, path, capsys, *words):
    """Who errs on how many rows: predictions, and a column that never is right."""
    frame = pd.DataFrame({"truth": y, "said": said, "other": np.roll(y, 1)})
    frame.to_csv(path, index=False, quoting=csv.QUOTE_ALL) if path.suffix == ".csv" else frame.to_parquet(path)
    done = in_process(["compare", path, "--target", "truth", "--a", "other", "--b", "said", "--json", *words], capsys)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    return found["only_a"], found["both"], found["only_b"]


@given(names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=6, unique=True))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(names=["-", "a"])
@example(names=["-", "'-", "''-"])
@example(names=["=1+1", "'=1+1"])
@example(names=["", "'", " a", "a"])
@example(names=["1", "01", "1.0"])
def test_what_predict_writes_is_read_back_as_the_same_classes(names, tmp_path, capsys):
    said, y = written_by_predict(names, tmp_path, capsys)
    assert compared(said, y, tmp_path / "t.parquet", capsys) == (y.size, 0, 0)
    # Written by something else, without an apostrophe in front.
    assert compared(y, y, tmp_path / "t.parquet", capsys) == (y.size, 0, 0)
    # In a CSV file nobody can tell empty texts, spaces in front and spellings of one number from what they look like.
    if any(name in ("", " ", " a", "1", "01", "1.0", "-1", "true", "True") for name in names):
        return
    words = ["--not-missing", "NA", "--not-missing", "None"]
    assert compared(said, y, tmp_path / "t.csv", capsys, *words) == (y.size, 0, 0)


def test_an_apostrophe_that_may_be_either_is_refused(tmp_path, capsys):
    """Is '=x the class of this name, or the class =x as predict writes it?"""
    frame = pd.DataFrame({"truth": ["=x", "'=x", "a"] * 10, "p": ["'=x", "'=x", "a"] * 10, "q": ["a"] * 30})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert "apostrophe" in refused(["compare", tmp_path / "t.csv", "--target", "truth", "--a", "p", "--b", "q"], capsys)


@pytest.mark.parametrize("column", ["truth", "p"])
def test_a_class_that_is_a_word_for_missing_is_refused_with_the_option(column, tmp_path, capsys):
    frame = pd.DataFrame({"truth": ["None", "a"] * 20, "p": ["None", "a"] * 20, "q": ["a"] * 40})
    frame.loc[frame.index[::2], "truth" if column == "p" else "p"] = "a"
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["compare", tmp_path / "t.csv", "--target", "truth", "--a", "p", "--b", "q"]
    error = refused(words, capsys)
    assert "lacks a value in example 1" in error
    assert "--not-missing None" in error
    assert in_process([*words, "--not-missing", "None"], capsys).code == 0


def test_predictions_that_are_no_class_are_counted_and_said(tmp_path, capsys):
    frame = pd.DataFrame({"truth": ["a", "b"] * 50, "p": ["a", "b"] * 50, "q": ["a", "b"] * 44 + ["x", "y"] * 6})
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = [tmp_path / "t.csv", "--target", "truth", "--a", "p", "--b", "q"]
    said = "12 of 100 predictions of 'q' are no class of the target ('x', 'y'): they count as errors."
    done = in_process(["compare", *words], capsys)
    assert said in done.err
    assert "predictions of 'p'" not in done.err
    assert json.loads(in_process(["compare", *words, "--json"], capsys).out)["no_class"] == [0, 12]
    done = in_process(["certify", "--predictions", tmp_path / "t.csv", "--target", "truth"], capsys)
    assert said in done.err


@pytest.mark.parametrize("classes", [["1", "01", "2"], ["1", "1.0"], ["True", "TRUE"], ["0", "-0", "x"]])
def test_classes_that_are_one_number_are_not_merged(classes, tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90), "truth": rng.choice(classes, 90)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.assign(p=frame["truth"])[["p", "truth"]].to_csv(tmp_path / "p.csv", index=False)
    commands = [["certify", tmp_path / "t.csv", "--lambdas", "1", "--json"]]
    commands.append(["certify", "--predictions", tmp_path / "p.csv", "--json"])
    if "x" in classes:  # text: all as written
        for words in commands:
            assert json.loads(in_process(words, capsys).out)["data"]["classes"] == sorted(classes)
        return
    for words in commands:
        error = refused(words, capsys)
        assert "column 'truth'" in error
        assert f"holds both {sorted(classes)[0]!r} and {sorted(classes)[1]!r}" in error
    with pytest.raises(ValueError, match="holds both"):
        load_dataset(tmp_path / "t.csv")


def test_classes_of_a_test_file_are_not_merged(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=120), "truth": rng.choice(["1", "2"], 120)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.assign(x=frame["x"] + 1.0, truth=["01", "1", "2"] * 40).to_csv(tmp_path / "new.csv", index=False)
    assert "holds both '01' and '1'" in refused(
        ["certify", tmp_path / "t.csv", "--lambdas", "1", "--test", tmp_path / "new.csv"], capsys
    )


def test_classes_of_a_test_file_stay_text_where_they_were(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=160), "truth": ["01", "1"] * 80})
    frame["x"] += 9.0 * (frame["truth"] == "01")
    frame[:120].to_parquet(tmp_path / "t.parquet")
    frame[120:].to_csv(tmp_path / "new.csv", index=False)
    words = ["certify", tmp_path / "t.parquet", "--lambdas", "1", "--test", tmp_path / "new.csv", "--json"]
    done = in_process(words, capsys)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["data"]["classes"] == ["01", "1"]
    assert (found["test"]["rows"], found["test"]["errors"]["best"]) == (40, 0)


def test_two_spellings_in_a_column_of_predictions(tmp_path, capsys):
    """Whoever says 1 and 01 means two classes, and one of them is no class here."""
    frame = pd.DataFrame({"truth": ["1", "2"] * 60, "p": ["1", "01", "2"] * 40, "q": ["1", "2"] * 60})
    frame.to_csv(tmp_path / "t.csv", index=False)
    compare = ["compare", tmp_path / "t.csv", "--target", "truth", "--a", "p", "--b", "q"]
    for words in (compare, ["certify", "--predictions", tmp_path / "t.csv", "--target", "truth"]):
        assert "holds both '01' and '1'" in refused(words, capsys)


def test_a_model_whose_classes_are_text_is_compared_as_written(tmp_path, capsys):
    _, y = written_by_predict(["1", "01", "2"], tmp_path, capsys)
    # The true class of all rows for which the model says 01 is 1.
    truth = np.where(y == "01", "1", y)
    frame = pd.read_csv(tmp_path / "new.csv").assign(x=lambda rows: rows["x"] + 1e-3, truth=truth, other=truth)
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["compare", tmp_path / "t.csv", "--target", "truth", "--a", "other", "--model-b", tmp_path / "m.pacbayes"]
    found = json.loads(in_process([*words, "--json"], capsys).out)
    assert (found["only_b"], found["no_class"]) == (12, [0, 12])


def test_predictions_are_read_as_predict_wrote_them(tmp_path, capsys):
    said, y = written_by_predict(["=1+1", "'quoted", "a"], tmp_path, capsys)
    pd.DataFrame({"said": said, "truth": y}).to_csv(tmp_path / "t.csv", index=False)
    done = in_process(["certify", "--predictions", tmp_path / "t.csv", "--json"], capsys)
    assert json.loads(done.out)["certificates"]["best"]["empirical_risk"] == 0.0


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
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
def test_positive_takes_a_class_as_it_is_written_or_printed(classes, named, suffix, tmp_path, capsys):
    y = np.tile(classes, 60)
    frame = pd.DataFrame({"x": np.arange(120.0) % 7, "truth": y})
    path = tmp_path / f"t{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    frame.assign(x=y).to_csv(tmp_path / "p.csv", index=False)
    trained = ["certify", path, "--keep", "x", "--candidates", "sklearn.tree.DecisionTreeClassifier"]
    for command in (trained, ["certify", "--predictions", tmp_path / "p.csv"]):
        for name in named:
            done = in_process([*command, "--positive", name], capsys)
            assert done.code == 0, done.err
        assert "--positive must be one of the classes" in in_process([*command, "--positive", "3"], capsys).error
