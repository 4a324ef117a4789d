"""Columns that identify rows, suggested options, unlabelled rows, separators, warnings about columns."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest
from tests.cli.bad_files import good
from tests.cli.running import as_json, error_of, in_process

QUICK = ["--lambdas", "0.1,1"]


def written(folder, frame, name="data.csv", **options):
    frame.to_csv(folder / name, **({"index": False} | options))
    return folder / name


def pasted(error):
    """The last options that an error suggests, as parsed by a shell."""
    return shlex.split(error[error.rindex("leave") :].partition(" with ")[2].partition(", or ")[0])


def test_row_numbers_are_rejected(tmp_path, capsys):
    """In a file sorted by class, the row number predicts the class."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"passenger number": range(300), "noise": rng.normal(size=300)})
    frame["kind"] = np.where(frame["passenger number"] < 150, "no", "yes")
    path = written(tmp_path, frame)
    error = error_of(["certify", path, *QUICK], capsys)
    assert "column 'passenger number' looks like a row number" in error
    assert pasted(error) == ["--drop", "passenger number"]
    assert "--keep 'passenger number'" in error
    # The bound of the posterior is above one half for noise; that of the primary rule is 0.499 by chance.
    kept = as_json(["certify", path, "--keep", "passenger number", "--hedge", "1", *QUICK], capsys)
    dropped = as_json(["certify", path, *pasted(error), "--hedge", "1", *QUICK], capsys)
    bounds = [output["certificates"]["stochastic"]["bound"] for output in (kept, dropped)]
    assert bounds[0] < 0.15 < 0.5 < bounds[1]
    assert kept["data"]["options"]["keep"] == ["passenger number"]
    assert dropped["data"]["numeric"] == ["noise"]


@pytest.mark.parametrize("times", [1, 2])
def test_index_columns_of_pandas_can_be_dropped(times, tmp_path, capsys):
    """Without a name, and with the name that pandas gives it."""
    path = tmp_path / "data.csv"
    good().to_csv(path)
    if times == 2:
        pd.read_csv(path).to_csv(path)
    error = error_of(["certify", path, *QUICK], capsys)
    assert "column 'Unnamed: 0" in error
    args = pasted(error)
    assert args[:2] == ["--drop", "Unnamed: 0" if times == 1 else "Unnamed: 0.1"]
    assert len(args) == 2 * times
    assert as_json(["certify", path, *args, *QUICK], capsys)["data"]["numeric"] == ["a", "b"]


@pytest.mark.parametrize("name", ["cabin deck", "it's", "a;b", "$HOME", "*", "-x", "two\nlines", "größe", "--drop"])
def test_suggested_options_can_be_pasted_into_a_shell(name, tmp_path, capsys):
    path = written(tmp_path, good().assign(**{name: range(60)})[[name, "a", "kind"]])
    error = error_of(["certify", path, *QUICK], capsys)
    hint = re.search(r"leave it out with (--drop .*?), or ", error)[1]
    args = _by_shell(hint)
    assert args == ["--drop", name]
    assert as_json(["certify", path, *args, *QUICK], capsys)["data"]["numeric"] == ["a"]


def _by_shell(text):
    import subprocess

    result = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True, check=True)
    return result.stdout.decode().split("\0")[:-1]


def test_all_unknown_columns_are_reported_together(tmp_path, capsys):
    path = written(tmp_path, good())
    options = ["--drop", "x", "--drop", "y", "--keep", "z", "--categorical", "u", "--target", "v"]
    error = error_of(["certify", path, *options], capsys)
    for stderr in ("--drop must name feature columns, got 'x', 'y'", "--keep .* 'z'", "--categorical .* 'u'"):
        assert re.search(stderr, error)
    assert "target must be a column" in error
    assert error.endswith("got 'v'; its columns are 'a', 'b', 'kind'")


@pytest.mark.parametrize(("sep", "word"), [(";", ";"), ("\t", "tab"), ("\t", r"\t"), ("|", "|"), (" ", " ")])
def test_separators(sep, word, tmp_path, capsys):
    path = written(tmp_path, good(), sep=sep)
    if sep == " ":
        assert "give the character between them with --sep" in error_of(["certify", path], capsys)
    else:
        detected = as_json(["certify", path, *QUICK], capsys)
    other = written(tmp_path, good(80)[60:], "new.csv", sep=sep)
    output = as_json(["certify", path, "--sep", word, "--test", other, "--save", tmp_path / "model", *QUICK], capsys)
    expected = as_json(["certify", written(tmp_path, good(), "commas.csv"), *QUICK], capsys)
    assert output["certificates"] == expected["certificates"]
    assert sep == " " or detected["certificates"] == expected["certificates"]
    assert output["test"]["rows"] == 20
    result = in_process(["predict", tmp_path / "model", other, "--sep", word], capsys)
    assert len(result.out.splitlines()) == 21


@pytest.mark.parametrize("kind", ["text", "whole numbers", "truth values"])
def test_unlabelled_rows_are_dropped_and_counted(kind, tmp_path, capsys):
    frame = good(80)
    yes = frame["kind"] == "yes"
    frame["kind"] = {"text": frame["kind"], "whole numbers": yes.astype(int), "truth values": yes}[kind].astype(object)
    whole = written(tmp_path, frame[20:], "whole.csv")
    gaps = frame.assign(kind=[None] * 20 + frame["kind"].tolist()[20:])
    path, test = written(tmp_path, gaps), written(tmp_path, gaps[15:40].assign(a=gaps["a"] + 0.01), "test.csv")
    assert "leave such examples out with --skip-unlabelled" in error_of(["certify", path, *QUICK], capsys)
    args = ["certify", path, "--skip-unlabelled", "--test", test, *QUICK]
    output, stderr = as_json(args, capsys, with_remarks=True)
    expected = as_json(["certify", whole, *QUICK], capsys)
    assert output["certificates"] == expected["certificates"]
    assert {name: output["data"]["sha256"][name] for name in ("rows", "labels")} == {
        name: expected["data"]["sha256"][name] for name in ("rows", "labels")
    }
    assert (output["data"]["unlabelled_rows_dropped"], output["test"]["rows"]) == (20, 20)
    assert "20 rows without a class dropped; the certificate is for rows with a class." in stderr
    assert f"{test}: 5 rows without a class dropped." in stderr


@pytest.fixture
def questionnaires():
    """Questionnaires, sorted by question: rows of one person are not adjacent."""
    rng = np.random.default_rng(0)
    persons, items = 60, 8
    who = np.tile(np.arange(persons), items)
    anger = rng.integers(11, 40, persons)[who]
    kind = np.where(anger + rng.normal(0, 8, who.size) > 25, "yes", "no")
    return pd.DataFrame({"who": who, "anger": anger, "item": np.repeat(np.arange(items), persons), "class": kind})


def run(frame, path, capsys, *args):
    frame.to_csv(path, index=False)
    return in_process(["certify", path, *QUICK, *args], capsys)


def test_warning_for_a_subject_column(questionnaires, tmp_path, capsys):
    result = run(questionnaires, tmp_path / "data.csv", capsys)
    assert result.code == 0
    stderr = [line for line in result.err.splitlines() if line.startswith("warning: Column")]
    assert stderr == [
        "warning: Column 'who' looks like a person or thing with several rows: 60 values, 8 rows each (more evenly "
        "than by chance). If it is, the rows are not independent: use --group 'who'. Otherwise, ignore this warning."
    ]
    grouped = run(questionnaires, tmp_path / "data.csv", capsys, "--group", "who")
    assert "looks like" not in grouped.err
    assert "Column 'who' has 60 groups" in grouped.err


def test_ambiguous_dates_and_numbers_with_signs_are_named(tmp_path, capsys):
    frame = good()
    rows = np.arange(len(frame))
    frame.insert(0, "seen", [f"{1 + i % 12:02}/{1 + i % 7:02}/2021" for i in rows])
    frame.insert(0, "born", [f"{1 + i % 12:02}/{1 + i % 28:02}/2021" for i in rows])
    frame.insert(0, "share", [f"{i % 9} %" for i in rows])
    remarks = in_process(["certify", written(tmp_path, frame), *QUICK], capsys).err
    assert "dates read month first, which could be day first (then write 2024-12-31), in ('seen')" in remarks
    assert "strings such as '0 %', which are numbers only without the sign, in ('share')" in remarks


@pytest.mark.parametrize("order", [1, -1])
def test_rows_in_the_order_of_dates_are_named(order, tmp_path, capsys):
    frame = good()
    days = [str(day.date()) for day in pd.date_range("2021-01-01", periods=len(frame))]
    frame.insert(0, "seen", [None, *days[:-1]][::order])
    frame.insert(1, "late", np.arange(len(frame)) >= len(frame) // 2)
    path, remark = written(tmp_path, frame), "The rows are in the order of 'seen'"
    command = ["certify", path, *QUICK]
    assert remark in in_process([*command, "--drop", "late"], capsys).err
    assert remark not in in_process([*command, "--validation-column", "late"], capsys).err
    shuffled = written(tmp_path, frame.sample(frac=1.0, random_state=0), "shuffled.csv")
    assert remark not in in_process(["certify", shuffled, "--drop", "late", *QUICK], capsys).err


def test_dropped_subjects_are_named(tmp_path, capsys):
    frame = good()
    frame.insert(0, "patient", np.random.default_rng(0).permutation(np.arange(len(frame)) // 2))
    frame.insert(0, "colour", np.arange(len(frame)) % 3)
    path = written(tmp_path, frame)
    remarks = in_process(["certify", path, *["--drop", "patient"] * 2, "--drop", "colour", *QUICK], capsys).err
    assert "Column 'patient' was dropped, but looks like a person or thing with several rows" in remarks
    assert "use --group patient instead of --drop" in remarks
    assert "'colour' was dropped" not in remarks
    assert "was dropped" not in in_process(["certify", path, "--group", "patient", *QUICK], capsys).err


def test_tables_of_text_alone_are_named(tmp_path, capsys):
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(300)])
    texts = [" ".join(rng.choice(words, 6)) for _ in range(60)]
    frame, remark = pd.DataFrame({"text": texts, "y": ["no", "yes"] * 30}), "All features are text"
    command = ["certify", written(tmp_path, frame), "--candidates", "logistic"]
    assert remark in in_process(command, capsys).err
    written(tmp_path, frame.assign(x=rng.normal(size=60))[["x", "text", "y"]])
    assert remark not in in_process(command, capsys).err
