"""Columns that a careful colleague would ask about: said at the prompt, in options of the command line."""

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process

QUICK = ["--lambdas", "0.1,1", "--voting", "best"]


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
        "than by chance). If it is, the rows are not independent: give --group 'who'. If not, nothing is wrong."
    ]
    grouped = run(answers, tmp_path / "data.csv", capsys, "--group", "who")
    assert "looks like" not in grouped.err
    assert "Column 'who' names 60 groups" in grouped.err


def test_a_column_from_after_the_outcome_is_named_with_the_option(answers, tmp_path, capsys):
    paid = np.where(answers["class"] == "yes", "paid", "")
    frame = answers.drop(columns="who").assign(fee=paid)[["fee", "anger", "item", "class"]]
    done = run(frame, tmp_path / "data.csv", capsys)
    assert "warning: Column 'fee' alone determines the class of all 240 training rows." in done.err
    assert "drop it with --drop. If it is known before, ignore this warning." in done.err
    dropped = run(frame, tmp_path / "data.csv", capsys, "--drop", "fee")
    assert "alone determines" not in dropped.err
