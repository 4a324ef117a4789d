"""People's own files: columns that identify rows, hints that can be pasted, examples without a class, separators."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from tests.cli.bad_files import good
from tests.cli.running import in_process

QUICK = ["--lambdas", "0.1,1"]


def written(folder, frame, name="data.csv", **options):
    frame.to_csv(folder / name, **({"index": False} | options))
    return folder / name


def as_json(arguments, capsys):
    done = in_process([*arguments, *QUICK, "--json"], capsys)
    assert done.code == 0, done.err
    return json.loads(done.out)


def refused(arguments, capsys):
    done = in_process(arguments, capsys)
    assert done.code == 2, done
    assert done.out == ""
    return done.error


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
    kept = as_json(["certify", path, "--keep", "passenger number", "--hedge", "1"], capsys)
    dropped = as_json(["certify", path, *pasted(error), "--hedge", "1"], capsys)
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
    assert as_json(["certify", path, *words], capsys)["data"]["numeric"] == ["a", "b"]


def test_a_name_of_its_own_for_each_of_few_rows(tmp_path, capsys):
    path = written(tmp_path, good(20).assign(name=[f"N. N. {i}" for i in range(20)])[["name", "a", "kind"]])
    error = refused(["certify", path, *QUICK], capsys)
    assert "looks like a name, an identifier or free text: 20 distinct values in 20 rows" in error
    assert "--drop name" in error
    assert as_json(["certify", path, "--keep", "name"], capsys)["data"]["categorical"] == ["name"]


def test_free_text_and_tickets_suggest_to_drop_them(tmp_path, capsys):
    tickets = [str(i % 7) if i % 2 else f"PC {i % 5}" for i in range(60)]
    path = written(tmp_path, good().assign(ticket=tickets)[["ticket", "a", "kind"]])
    error = refused(["certify", path, *QUICK], capsys)
    assert "holds numbers and text" in error
    assert pasted(error) == ["--drop", "ticket"]


@pytest.mark.parametrize("name", ["cabin deck", "it's", "a;b", "$HOME", "*", "-x", "two\nlines", "größe", "--drop"])
def test_hints_can_be_pasted(name, tmp_path, capsys):
    path = written(tmp_path, good().assign(**{name: range(60)})[[name, "a", "kind"]])
    error = refused(["certify", path, *QUICK], capsys)
    hint = re.search(r"leave it out with (--drop .*?), or ", error)[1]
    words = _by_shell(hint)
    assert words == ["--drop", name]
    assert as_json(["certify", path, *words], capsys)["data"]["numeric"] == ["a"]


def _by_shell(text):
    import subprocess

    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


def test_all_wrong_columns_at_once(tmp_path, capsys):
    frame = good().assign(number=range(60), day="2024-01-01", remark=[f"r {i}" for i in range(60)])
    path = written(tmp_path, frame[["number", "day", "remark", "a", "b", "kind"]])
    error = refused(["certify", path, *QUICK], capsys)
    assert error.startswith("pacbayes: 3 columns cannot be used: ")
    words = pasted(error)
    assert words == ["--drop", "number", "--drop", "day", "--drop", "remark"]
    assert as_json(["certify", path, *words], capsys)["data"]["numeric"] == ["a", "b"]


def test_all_wrong_names_at_once(tmp_path, capsys):
    path = written(tmp_path, good())
    options = ["--drop", "x", "--drop", "y", "--keep", "z", "--categorical", "u", "--target", "v"]
    error = refused(["certify", path, *options], capsys)
    for said in ("--drop must name columns of the features, got 'x', 'y'", "--keep .* 'z'", "--categorical .* 'u'"):
        assert re.search(said, error)
    assert "target must be a column" in error
    assert error.endswith("got 'v'; its columns are 'a', 'b', 'kind'")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--drop", "a", "--keep", "a"], "--drop must not name columns of --keep or --categorical, got 'a'"),
        (["--keep", "kind"], "--keep must name columns of the features, got the target 'kind'"),
        (["--sep", ";;"], "sep must be one character"),
        (["--sep", ""], "sep must be one character"),
        (["--sep", "a"], "sep must be one character"),
    ],
)
def test_wrong_options(options, message, tmp_path, capsys):
    assert message in refused(["certify", written(tmp_path, good()), *options], capsys)


def test_no_separator_in_parquet(tmp_path, capsys):
    good().to_parquet(tmp_path / "data.parquet")
    assert "sep is for CSV and TSV files" in refused(["certify", tmp_path / "data.parquet", "--sep", ";"], capsys)


@pytest.mark.parametrize(("sep", "word"), [(";", ";"), ("\t", "tab"), ("\t", r"\t"), ("|", "|"), (" ", " ")])
def test_other_separators(sep, word, tmp_path, capsys):
    path = written(tmp_path, good(), sep=sep)
    error = refused(["certify", path], capsys)
    if sep != " ":
        assert f"give --sep {'tab' if word != sep else shlex.quote(sep)}" in error
    other = written(tmp_path, good(80)[60:], "new.csv", sep=sep)
    found = as_json(["certify", path, "--sep", word, "--test", other, "--save", tmp_path / "model"], capsys)
    expected = as_json(["certify", written(tmp_path, good(), "commas.csv")], capsys)
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
    error = refused(["certify", path, *QUICK], capsys)
    assert "leave such examples out with --skip-unlabelled" in error
    found = as_json(["certify", path, "--skip-unlabelled", "--test", test], capsys)
    expected = as_json(["certify", whole], capsys)
    assert found["certificates"] == expected["certificates"]
    assert found["data"]["classes"] == expected["data"]["classes"]
    assert found["data"]["sha256"]["rows"] == expected["data"]["sha256"]["rows"]
    assert found["data"]["sha256"]["labels"] == expected["data"]["sha256"]["labels"]
    assert found["data"]["examples_without_class_left_out"] == 20
    assert found["test"]["rows"] == 20
    done = in_process(["certify", path, *QUICK, "--skip-unlabelled", "--test", test], capsys)
    assert "20 examples without a class left out; the certificate is about examples that have one." in done.err
    assert f"{test}: 5 examples without a class left out." in done.err


@pytest.mark.parametrize("text", ["a,b,kind\nx,y,yes\n", "a,b,kind\n,,yes\n", "a,b,kind\ninf,x,yes\n"])
def test_all_wrong_columns_of_a_test_file_at_once(text, tmp_path, capsys):
    path = written(tmp_path, good())
    (tmp_path / "test.csv").write_text(text, encoding="utf-8")
    error = refused(["certify", path, *QUICK, "--test", tmp_path / "test.csv"], capsys)
    assert "column 'a' of" in error
    assert "column 'b' of" in error
