"""People's own files: columns that identify rows, hints that can be pasted, examples without a class, separators."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest
from tests.cli.bad_files import good
from tests.cli.running import as_json, in_process, refused

QUICK = ["--lambdas", "0.1,1"]


def written(folder, frame, name="data.csv", **options):
    frame.to_csv(folder / name, **({"index": False} | options))
    return folder / name


def pasted(error):
    """The last options an error suggests, as a shell would hand them over."""
    return shlex.split(error[error.rindex("leave") :].partition(" with ")[2].partition(", or ")[0])


def test_a_row_number_gives_the_class_away(tmp_path, capsys):
    """In a file sorted by class the row number predicts it, as a passenger number did: 25.6 % became 4.2 %."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"passenger number": range(300), "noise": rng.normal(size=300)})
    frame["kind"] = np.where(frame["passenger number"] < 150, "no", "yes")
    path = written(tmp_path, frame)
    error = refused(["certify", path, *QUICK], capsys)
    assert "column 'passenger number' looks like a row number" in error
    assert pasted(error) == ["--drop", "passenger number"]
    assert "--keep 'passenger number'" in error
    # The posterior alone, whose bound for noise is above one half; a proposal's is by chance just below (0.499).
    kept = as_json(["certify", path, "--keep", "passenger number", "--hedge", "1", *QUICK], capsys)
    dropped = as_json(["certify", path, *pasted(error), "--hedge", "1", *QUICK], capsys)
    bounds = [found["certificates"]["stochastic"]["bound"] for found in (kept, dropped)]
    assert bounds[0] < 0.15 < 0.5 < bounds[1]
    assert kept["data"]["read"]["keep"] == ["passenger number"]
    assert dropped["data"]["numeric"] == ["noise"]


@pytest.mark.parametrize("times", [1, 2])
def test_the_column_that_pandas_adds_can_be_dropped(times, tmp_path, capsys):
    """Once without a name; read and written again also under the name that pandas gave it."""
    path = tmp_path / "data.csv"
    good().to_csv(path)
    if times == 2:
        pd.read_csv(path).to_csv(path)
    error = refused(["certify", path, *QUICK], capsys)
    assert "column 'Unnamed: 0" in error
    words = pasted(error)
    assert words[:2] == ["--drop", "Unnamed: 0" if times == 1 else "Unnamed: 0.1"]
    assert len(words) == 2 * times
    assert as_json(["certify", path, *words, *QUICK], capsys)["data"]["numeric"] == ["a", "b"]


@pytest.mark.parametrize("name", ["cabin deck", "it's", "a;b", "$HOME", "*", "-x", "two\nlines", "größe", "--drop"])
def test_hints_can_be_pasted(name, tmp_path, capsys):
    path = written(tmp_path, good().assign(**{name: range(60)})[[name, "a", "kind"]])
    error = refused(["certify", path, *QUICK], capsys)
    hint = re.search(r"leave it out with (--drop .*?), or ", error)[1]
    words = _by_shell(hint)
    assert words == ["--drop", name]
    assert as_json(["certify", path, *words, *QUICK], capsys)["data"]["numeric"] == ["a"]


def _by_shell(text):
    import subprocess

    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


def test_all_wrong_names_at_once(tmp_path, capsys):
    path = written(tmp_path, good())
    options = ["--drop", "x", "--drop", "y", "--keep", "z", "--categorical", "u", "--target", "v"]
    error = refused(["certify", path, *options], capsys)
    for said in ("--drop must name columns of the features, got 'x', 'y'", "--keep .* 'z'", "--categorical .* 'u'"):
        assert re.search(said, error)
    assert "target must be a column" in error
    assert error.endswith("got 'v'; its columns are 'a', 'b', 'kind'")


@pytest.mark.parametrize(("sep", "word"), [(";", ";"), ("\t", "tab"), ("\t", r"\t"), ("|", "|"), (" ", " ")])
def test_other_separators(sep, word, tmp_path, capsys):
    path = written(tmp_path, good(), sep=sep)
    error = refused(["certify", path], capsys)
    if sep != " ":
        assert f"give --sep {'tab' if word != sep else shlex.quote(sep)}" in error
    other = written(tmp_path, good(80)[60:], "new.csv", sep=sep)
    found = as_json(["certify", path, "--sep", word, "--test", other, "--save", tmp_path / "model", *QUICK], capsys)
    expected = as_json(["certify", written(tmp_path, good(), "commas.csv"), *QUICK], capsys)
    assert found["certificates"] == expected["certificates"]
    assert found["test"]["rows"] == 20
    done = in_process(["predict", tmp_path / "model", other, "--sep", word], capsys)
    assert len(done.out.splitlines()) == 21


@pytest.mark.parametrize("kind", ["text", "whole numbers", "truth values"])
def test_examples_without_a_class_are_skipped_and_counted(kind, tmp_path, capsys):
    frame = good(80)
    yes = frame["kind"] == "yes"
    frame["kind"] = {"text": frame["kind"], "whole numbers": yes.astype(int), "truth values": yes}[kind].astype(object)
    whole = written(tmp_path, frame[20:], "whole.csv")
    gaps = frame.assign(kind=[None] * 20 + frame["kind"].tolist()[20:])
    path, test = written(tmp_path, gaps), written(tmp_path, gaps[15:40].assign(a=gaps["a"] + 0.01), "test.csv")
    assert "leave such examples out with --skip-unlabelled" in refused(["certify", path, *QUICK], capsys)
    words = ["certify", path, "--skip-unlabelled", "--test", test, *QUICK]
    found, said = as_json(words, capsys, with_remarks=True)
    expected = as_json(["certify", whole, *QUICK], capsys)
    assert found["certificates"] == expected["certificates"]
    assert {name: found["data"]["sha256"][name] for name in ("rows", "labels")} == {
        name: expected["data"]["sha256"][name] for name in ("rows", "labels")
    }
    assert (found["data"]["examples_without_class_left_out"], found["test"]["rows"]) == (20, 20)
    assert "20 examples without a class left out; the certificate is about examples that have one." in said
    assert f"{test}: 5 examples without a class left out." in said


@pytest.mark.parametrize("text", ["a,b,kind\nx,y,yes\n", "a,b,kind\n,,yes\n", "a,b,kind\ninf,x,yes\n"])
def test_all_wrong_columns_of_a_test_file_at_once(text, tmp_path, capsys):
    path = written(tmp_path, good())
    (tmp_path / "test.csv").write_text(text, encoding="utf-8")
    error = refused(["certify", path, *QUICK, "--test", tmp_path / "test.csv"], capsys)
    assert "column 'a' of" in error
    assert "column 'b' of" in error


@pytest.fixture
def answers():
    """Persons who all answer the same questions, question after question: no two rows of one stand together."""
    rng = np.random.default_rng(0)
    persons, items = 60, 8
    who = np.tile(np.arange(persons), items)
    anger = rng.integers(11, 40, persons)[who]
    kind = np.where(anger + rng.normal(0, 8, who.size) > 25, "yes", "no")
    return pd.DataFrame({"who": who, "anger": anger, "item": np.repeat(np.arange(items), persons), "class": kind})


def run(frame, path, capsys, *words):
    frame.to_csv(path, index=False)
    return in_process(["certify", path, *QUICK, *words], capsys)


def test_persons_in_no_runs_are_named_with_the_option(answers, tmp_path, capsys):
    done = run(answers, tmp_path / "data.csv", capsys)
    assert done.code == 0
    said = [line for line in done.err.splitlines() if line.startswith("warning: Column")]
    assert said == [
        "warning: Column 'who' looks like a person or thing with several rows: 60 values, 8 rows each (more evenly "
        "than by chance). If it is, the rows are not independent: use --group 'who'. Otherwise, ignore this warning."
    ]
    grouped = run(answers, tmp_path / "data.csv", capsys, "--group", "who")
    assert "looks like" not in grouped.err
    assert "Column 'who' names 60 groups" in grouped.err


def test_a_column_from_after_the_outcome_is_named_with_the_option(answers, tmp_path, capsys):
    paid = np.where(answers["class"] == "yes", "paid", "")
    frame = answers.drop(columns="who").assign(fee=paid)[["fee", "anger", "item", "class"]]
    done = run(frame, tmp_path / "data.csv", capsys)
    assert "warning: Column 'fee' alone determines the class of all 240 training rows." in done.err
    assert "then drop it with --drop. If it is known before, ignore this warning." in done.err
    dropped = run(frame, tmp_path / "data.csv", capsys, "--drop", "fee")
    assert "alone determines" not in dropped.err
