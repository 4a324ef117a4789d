"""The pages on release pipelines and large data: their files run, and their numbers are computed."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process

from pacbayes import CertifiedClassifier, Ledger, certify_counts, certify_predictions, load, save
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.ledger import Budget
from pacbayes.cli.counts import read_counts

DOCS = Path(__file__).parents[1] / "docs"
POSIX = pytest.mark.skipif(os.name != "posix" or shutil.which("bash") is None, reason="needs bash")


def block(page, language, word=""):
    """The only block of code in a language, and with a word, on a page."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    (found,) = (code for code in blocks if word in code)
    return found


def test_the_table_of_passing_errors():
    rows = re.findall(r"^\| (\d+) \| (\d+) % \| (.*) \|$", (DOCS / "release-gate.md").read_text(), re.MULTILINE)
    assert len(rows) == 4
    for m, percent, cells in rows:
        share, budget, levels = int(percent) / 100, Budget(0.05), []
        for _ in range(20):
            levels.append(budget.level)
            budget = budget.after(False)
        levels = [0.05, *(levels[j - 1] for j in (1, 3, 10, 20)), Budget(0.05).after(True).level]
        largest = [int((binomial_upper(np.arange(int(m)), int(m), level) <= share).sum()) - 1 for level in levels]
        assert [int(cell) for cell in cells.split(" | ")] == largest


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A good and a bad model, and validation rows."""
    folder, rng = tmp_path_factory.mktemp("pipeline"), np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1600, 3)), columns=list("abc"))
    y = np.where(X.sum(axis=1) + 0.1 * rng.normal(size=1600) > 0, "yes", "no")
    shuffled = np.where(rng.random(600) < 0.4, "yes", y[:600])
    for name, labels in (("good", y[:600]), ("bad", shuffled)):
        save(CertifiedClassifier("logistic", random_state=0).fit(X[:600], labels), folder / f"{name}.pacbayes")
    X[600:].assign(**{"class": y[600:]}).to_csv(folder / "holdout.csv", index=False)
    return folder


@pytest.fixture
def pipeline(trained, tmp_path):
    """A folder for a pipeline, in which `pacbayes` is this checkout."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "pacbayes"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pacbayes "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(trained / "holdout.csv", work)

    def run(script, model):
        shutil.copy(trained / f"{model}.pacbayes", work / "model.pacbayes")
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=work,
            env=os.environ | {"PATH": path, "GITHUB_SHA": f"sha of {model}"},
            capture_output=True,
            text=True,
            check=False,
        )

    return work, run


@POSIX
def test_the_shell_script(pipeline):
    work, run = pipeline
    script = block("release-gate.md", "bash").replace("#!/usr/bin/env bash", "set +e")
    bad = run(script, "bad")
    assert (bad.returncode, (work / "released.pacbayes").exists()) == (1, False), bad.stderr
    good = run(script, "good")
    assert good.returncode == 0, good.stderr
    assert (work / "released.pacbayes").read_bytes() == (work / "model.pacbayes").read_bytes()
    assert [one.passed for one in Ledger(work / "ledger.json").attempts] == [False, True]
    (work / "holdout.csv").unlink()
    assert run(script, "good").returncode == 2


@POSIX
@pytest.mark.slow  # the commands of the shell script, in another order
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_github_workflow(pipeline):
    yaml = pytest.importorskip("yaml")
    work, run = pipeline
    assert run("git init -q --bare ../remote.git && git init -q && git remote add origin ../remote.git && "
               "git config push.autoSetupRemote true", "good").returncode == 0  # fmt: skip
    (job,) = yaml.safe_load(block("release-gate.md", "yaml"))["jobs"].values()
    steps = [step for step in job["steps"] if "run" in step and step["name"] != "Install"]
    assert [step["name"] for step in steps] == ["Test the model", "Keep the ledger"]
    for model, code in (("bad", 3), ("good", 0)):
        failed = 0
        for step in steps:
            if not failed or step.get("if") == "always()":
                done = run(step["run"], model)
                failed = failed or done.returncode
        assert failed == code, done.stderr
    log = run("git --git-dir ../remote.git log --oneline --all", "good").stdout
    assert log.count("Record an attempt") == 2
    assert [one.name for one in Ledger(work / "ledger.json").attempts] == ["sha of bad", "sha of good"]


@pytest.fixture
def partitions(tmp_path, monkeypatch):
    """Parquet files in the current folder."""
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(20_000, 3)), columns=["a", "b", "c"])
    y = np.where(X.sum(axis=1) + 0.3 * rng.normal(size=20_000) > 1.0, "ill", "well")
    frame = X.assign(**{"class": y, "id": rng.permutation(20_000)})
    for i, part in enumerate(np.split(np.arange(20_000), 8)):
        frame.iloc[part].to_parquet(f"rows/{i}.parquet", index=False)
    return frame


def check_as_in_memory(frame, certificate):
    """The certificate of the saved model on all rows that did not train it."""
    held = frame[frame["id"] % 10 != 0]
    y_pred = load("model.pacbayes").predict(held[["a", "b", "c"]])
    expected = certify_predictions(held["class"], y_pred, metrics=("recall",), pos_label="ill")
    assert certificate.m == 18_000
    assert replace(certificate, assumptions=expected.assumptions) == expected
    assert certificate.assumptions[:-1] == expected.assumptions


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask uses what pandas will remove
def test_dask_on_partitions(partitions):
    pytest.importorskip("dask.dataframe", reason="needs pip install 'dask[dataframe]'")
    found = {}
    exec(block("large-data.md", "python", "import dask"), found)
    check_as_in_memory(partitions, found["certificate"])


@POSIX
def test_duckdb_on_partitions(partitions, capsys):
    pytest.importorskip("duckdb", reason="needs pip install duckdb")
    exec(block("large-data.md", "python", "import duckdb"), {})
    confusion, classes = read_counts(Path("counts.csv"), None)
    check_as_in_memory(partitions, certify_counts(confusion, classes=classes, metrics=("recall",), pos_label="ill"))
    (command,) = re.findall(r"^pacbayes (certify .*)$", block("large-data.md", "text", "--counts"), re.MULTILINE)
    done = in_process(command.split(), capsys, as_given=True)
    assert (done.code, "Recall of class 'ill'" in done.out) == (0, True)
