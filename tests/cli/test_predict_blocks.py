"""`pacbayes predict` reads files in blocks: same output, bounded memory, atomic writes, batch bounds."""

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import error_of, in_process

from pacbayes import StochasticSVC, load, save
from pacbayes.cli.app import main
from pacbayes.data import io


def table(rows, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.integers(0, 9, rows)})
    frame["k"] = rng.choice(["red", "green", "blue"], rows)
    frame["kind"] = np.where(frame["a"] + 0.1 * frame["b"] + (frame["k"] == "red") > 0.7, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    table(120).to_csv(folder / "data.csv", index=False)
    path = folder / "model.pacbayes"
    with pytest.raises(SystemExit) as ended:
        main(["certify", str(folder / "data.csv"), "--lambdas", "0.1:3:1", "--save", str(path), "--quiet"])
    assert not ended.value.code
    return path


def test_missing_columns_are_reported_before_values_of_another_format(tmp_path, capsys):
    table(80).to_csv(tmp_path / "semicolons.csv", index=False, sep=";", decimal=",")
    table(9).drop(columns="b").to_csv(tmp_path / "commas.csv", index=False)
    options = ["--lambdas", "0.1,1", "--save", tmp_path / "m.pacbayes"]
    assert in_process(["certify", tmp_path / "semicolons.csv", *options], capsys).code == 0
    error = error_of(["predict", tmp_path / "m.pacbayes", tmp_path / "commas.csv"], capsys)
    assert "does not have the columns 'b', with which the model was trained" in error


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_output_is_independent_of_the_block_size(model, tmp_path, monkeypatch, capsys, ending):
    to_file = ending == ".csv"
    new = table(21, seed=1).drop(columns="kind")
    new.loc[[3, 17], "a"] = np.nan
    new.loc[[7, 11, 20], "k"] = ["pink", "grey", "pink"]
    path, out = tmp_path / f"new{ending}", tmp_path / "out.csv"
    new.to_csv(path, index=False) if ending == ".csv" else new.to_parquet(path)
    outputs = []
    for rows in (21, 4):
        monkeypatch.setattr(io, "_MIN_BLOCK_ROWS", rows)
        monkeypatch.setattr(io, "_MAX_BLOCK_ROWS", rows)
        result = in_process(["predict", model, path, "--shares", *(["--out", out] if to_file else [])], capsys)
        assert result.code == 0
        assert (
            "Column 'k': 3 of 21 examples hold a category that was not in the training data ('pink', 'grey')"
            in result.err
        )
        outputs.append(out.read_text() if to_file else result.out)
    assert outputs[0].count("\n") == 22
    assert set(outputs) == {outputs[0]}


@pytest.mark.parametrize("rows", [3])
@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("a", {19: "old"}, "column 'a' of .* must contain numbers, got 'old' in row 20"),
        ("b", {12: "5 cm"}, "column 'b' of .* must contain numbers, got '5 cm' in row 13"),
    ],
)
def test_no_partial_output_after_an_invalid_row(model, tmp_path, monkeypatch, capsys, rows, column, values, message):
    monkeypatch.setattr(io, "_MIN_BLOCK_ROWS", rows)
    monkeypatch.setattr(io, "_MAX_BLOCK_ROWS", rows)
    new = table(20, seed=2).drop(columns="kind").astype({column: object})
    for place, value in values.items():
        new.loc[place, column] = value
    new.to_csv(tmp_path / "new.csv", index=False)
    before = sorted(os.listdir(tmp_path))
    for more in ([], ["--out", tmp_path / "out.csv"]):
        result = in_process(["predict", model, tmp_path / "new.csv", *more], capsys)
        assert result.code == 2
        assert result.out == ""
        assert re.search(message, result.error)
    assert sorted(os.listdir(tmp_path)) == before


PEAK = """
import sys
from pathlib import Path
from pacbayes.cli.app import main
from pacbayes.data import io
io._MIN_BLOCK_ROWS = io._MAX_BLOCK_ROWS = 2000
for path in sys.argv[1:]:
    try:
        main(["predict", "model.pacbayes", path, "--voting", "best", "--out", path + ".out", "--quiet"])
    except SystemExit as ended:
        assert not ended.code
    # Not ru_maxrss, which a process inherits from its parent.
    peak = next(line for line in Path("/proc/self/status").open() if line.startswith("VmHWM"))
    print(peak.split()[1], file=sys.stderr)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_memory_is_independent_of_the_file_size(tmp_path, ending):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 40))
    save(StochasticSVC([1.0], cv=None, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0), tmp_path / "model.pacbayes")
    few = pd.DataFrame(rng.normal(size=(2_000, 40)).round(3), columns=[f"c{i}" for i in range(40)])
    names = [f"{rows}{ending}" for rows in (2_000, 80_000)]
    if ending == ".csv":
        header, _, lines = few.to_csv(index=False).partition("\n")
        for name, times in zip(names, (1, 40), strict=True):
            (tmp_path / name).write_text(f"{header}\n{times * lines}")
    else:
        for name, times in zip(names, (1, 40), strict=True):
            pd.concat([few] * times).to_parquet(tmp_path / name, index=False, row_group_size=2000)
    command = [sys.executable, "-c", PEAK, *names]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    peaks = [1024 * int(line) for line in result.stderr.split()]
    for name, rows in zip(names, (2_000, 80_000), strict=True):
        assert (tmp_path / f"{name}.out").read_text().count("\n") == rows + 1
    # The rows take 26 MB as floats.
    assert peaks[1] - peaks[0] < 0.5 * 80_000 * 40 * 8


SAID = "of these 150 predictions are wrong. This holds for one batch, not jointly with the certificate."


def expand_units(rows, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    frame["k"] = rng.choice(["red", "green"], rows)
    frame["kind"] = np.where(frame["a"] + (frame["k"] == "red") + 0.5 * rng.normal(size=rows) > 0.5, "yes", "no")
    frame["unit"] = np.arange(rows) // 3
    return frame


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    expand_units(200, 0).drop(columns="unit").to_csv(folder / "data.csv", index=False)
    expand_units(200, 0).to_csv(folder / "grouped.csv", index=False)
    expand_units(150, 1).drop(columns="unit").to_csv(folder / "new.csv", index=False)
    return folder


def certified(files, capsys, *args, data="data.csv"):
    result = in_process(
        ["certify", files / data, "--target", "kind", "--lambdas", "0.1:3:1", "--save", files / "model", *args], capsys
    )
    assert result.code == 0, result.err
    return files / "model"


def test_batch_bound_is_printed_once(files, capsys, monkeypatch):
    model = certified(files, capsys)
    expected = str(load(model).certify_batch(pd.read_csv(files / "new.csv").drop(columns="kind")))
    assert SAID in expected
    for rows in (1000, 40):
        monkeypatch.setattr(io, "_MIN_BLOCK_ROWS", rows)
        monkeypatch.setattr(io, "_MAX_BLOCK_ROWS", rows)
        result = in_process(["predict", model, files / "new.csv"], capsys)
        assert result.err.splitlines().count(expected) == 1
        assert "of these 150" not in result.out
        result = in_process(["predict", model, files / "new.csv", "--out", files / "out.csv", "-q"], capsys)
        certificate = load(model).certificate_
        assert result.out.splitlines() == [certificate.sentence, certificate.main_assumption, expected, ""]
        assert result.err == ""
