"""`pacbayes certify --validation FILE` and `--validation-column NAME`: a division of one's own."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=120), "kind": rng.choice(["x", "y"], 120)})
    frame["class"] = np.where(frame["a"] + rng.normal(scale=0.3, size=120) > 0, "yes", "no")
    frame[:70].to_csv(tmp_path / "early.csv", index=False)
    frame[70:].to_csv(tmp_path / "late.csv", index=False)
    frame.assign(part=["train"] * 70 + ["Validation"] * 50).to_csv(tmp_path / "both.csv", index=False)
    return tmp_path


def test_a_file_and_a_column_say_the_same(files, capsys):
    first = in_process(["certify", files / "early.csv", "--validation", files / "late.csv", "--json"], capsys)
    given = ["certify", files / "both.csv", "--target", "class", "--validation-column", "part", "--json"]
    second = in_process(given, capsys)
    one, other = json.loads(first.out), json.loads(second.out)
    assert one["certificates"] == other["certificates"]
    assert one["settings"]["validation_examples"] == 50
    assert "50 examples count errors" in first.err
    assert "column 'part' says" in second.err
    assert "The user divided the rows" in one["certificates"]["soft"]["assumptions"][0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["early.csv", "--validation", "early.csv"], "70 of 70 rows equal a row that trains"),
        (["early.csv", "--validation", "none.csv"], "no such file"),
        (["early.csv", "--validation", "late.csv", "--validation-size", "0.3"], "leave no choice to"),
        (["both.csv", "--target", "class", "--validation-column", "kind"], "must hold true and false"),
        (["both.csv", "--target", "class", "--validation-column", "parts"], "did you mean 'part'"),
        (["both.csv", "--target", "class", "--validation-column", "class"], "nothing else"),
        (["both.csv", "--target", "class", "--validation", "late.csv"], "but lacks 'part'"),
        (["--dataset", "wdbc", "--validation", "late.csv"], "are for a file"),
        (["--predictions", "both.csv", "--target", "class", "--validation", "late.csv"], "leave out --validation"),
    ],
)
def test_wrong_divisions_are_told_in_one_line(files, capsys, monkeypatch, given, said):
    monkeypatch.chdir(files)
    done = in_process(["certify", *given], capsys)
    assert done.code == 2
    assert said in done.error
