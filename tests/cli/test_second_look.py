"""What an independent review found: categories that changed from file to file, and a model lost to a closed pipe."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from pacbayes.cli.app import main


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    word = rng.choice(["TRUE", "FALSE", "MAYBE"], 200)
    code = rng.choice(["01", "1", "X9"], 200)
    label = np.where((word == "TRUE") ^ (code == "01"), "yes", "no")
    frame = pd.DataFrame({"word": word, "code": code, "size": rng.normal(size=200).round(3), "class": label})
    frame.to_csv(tmp_path / "data.csv", index=False)
    # Read alone, pandas would take these columns for truth values and numbers.
    frame[(frame["word"] != "MAYBE") & (frame["code"] != "X9")].to_csv(tmp_path / "part.csv", index=False)
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return end.value.code


def test_a_category_is_the_same_in_every_file(folder, capsys):
    options = ["--categorical", "code", "--lambdas", "0.1,1", "--quiet"]
    assert run("certify", folder / "data.csv", *options, "--save", folder / "model") in (0, None)
    capsys.readouterr()
    predictions = {}
    for name in ("data.csv", "part.csv"):
        assert run("predict", folder / "model", folder / name, "--quiet") in (0, None)
        predictions[name] = capsys.readouterr().out.splitlines()[1:]
    whole = pd.read_csv(folder / "data.csv", dtype=str)
    inside = (whole["word"] != "MAYBE") & (whole["code"] != "X9")
    assert predictions["part.csv"] == [one for one, kept in zip(predictions["data.csv"], inside, strict=True) if kept]
    right = np.mean(np.array([one.split(",")[-1] for one in predictions["part.csv"]]) == whole["class"][inside])
    assert right > 0.9


def test_the_data_are_no_test(folder, capsys):
    assert run("certify", folder / "data.csv", "--categorical", "code", "--test", folder / "data.csv") == 2
    assert "--test must hold other examples" in capsys.readouterr().err


def test_with_test_and_report_and_categories(folder):
    options = ["--categorical", "code", "--lambdas", "0.1,1", "--quiet"]
    files = ["--test", folder / "part.csv", "--report", folder / "report.html"]
    assert run("certify", folder / "data.csv", *options, *files) in (0, None)
    assert (folder / "report.html").exists()


def test_a_closed_pipe_costs_no_model(folder):
    command = [sys.executable, "-m", "pacbayes", "certify", str(folder / "data.csv"), "--categorical", "code"]
    command += ["--lambdas", "0.1,1", "--save", str(folder / "model"), "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.close()
        process.wait(120)
    assert (folder / "model").exists()
