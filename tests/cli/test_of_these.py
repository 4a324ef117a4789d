"""What `pacbayes predict` says of a file: at most so many of these answers are wrong, once, where that is proved."""

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process

from pacbayes import load
from pacbayes.data import blocks

SAID = "of these 150 answers are wrong. This batch is one statement, beside the certificate and not at once with it."


def table(rows, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    frame["k"] = rng.choice(["red", "green"], rows)
    frame["kind"] = np.where(frame["a"] + (frame["k"] == "red") + 0.5 * rng.normal(size=rows) > 0.5, "yes", "no")
    frame["unit"] = np.arange(rows) // 3
    return frame


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    table(200, 0).drop(columns="unit").to_csv(folder / "data.csv", index=False)
    table(200, 0).to_csv(folder / "grouped.csv", index=False)
    table(150, 1).drop(columns="unit").to_csv(folder / "new.csv", index=False)
    return folder


def certified(files, capsys, *words, data="data.csv"):
    done = in_process(
        ["certify", files / data, "--target", "kind", "--lambdas", "0.1:3:1", "--save", files / "model", *words], capsys
    )
    assert done.code == 0, done.err
    return files / "model"


def test_it_is_said_once_on_stderr_or_with_the_certificate(files, capsys, monkeypatch):
    model = certified(files, capsys)
    expected = str(load(model).of_these(pd.read_csv(files / "new.csv").drop(columns="kind")))
    assert SAID in expected
    for rows in (1000, 40):
        monkeypatch.setattr(blocks, "_FEWEST_ROWS", rows)
        monkeypatch.setattr(blocks, "_MOST_ROWS", rows)
        done = in_process(["predict", model, files / "new.csv"], capsys)
        assert done.err.splitlines().count(expected) == 1
        assert "of these 150" not in done.out
        done = in_process(["predict", model, files / "new.csv", "--out", files / "out.csv", "-q"], capsys)
        assert done.out.splitlines()[2:] == [expected, ""]
        assert done.err == ""


def test_rows_behind_the_model(files, capsys):
    model = certified(files, capsys)
    done = in_process(["predict", model, files / "data.csv"], capsys)
    assert done.code == 0
    assert done.out.count("\n") == 201
    said = "How many answers are wrong at most is said of new examples alone: "
    said += "200 of 200 rows equal a row behind the model."
    assert done.err.splitlines().count(said) == 1
    assert "one statement" not in done.err


@pytest.mark.parametrize(
    ("words", "data"),
    [
        (("--hedge", "1", "--voting", "stochastic"), "data.csv"),
        (("--max-error", "0.2"), "data.csv"),
        (("--duplicates", "together"), "data.csv"),
        (("--group", "unit"), "grouped.csv"),
    ],
)
def test_nothing_is_said_where_it_is_not_proved(files, capsys, words, data):
    model = certified(files, capsys, *words, data=data)
    done = in_process(["predict", model, files / "new.csv"], capsys)
    assert done.code == 0, done.err
    assert "With probability at least 95 %" in done.err
    assert "one statement" not in done.err + done.out
    assert "are wrong at most" not in done.err + done.out
