"""Exit codes of all commands, and their table on the command-line page."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from tests.cli.running import error_of, in_process

from pacbayes import CertifiedClassifier, save
from pacbayes.cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
TARGET = ("--target", "kind")

#: Arguments that give each exit code, by command.
RUNS = {
    "certify": {
        0: ("--counts", "counts.csv", "--fail-above", "5%"),
        2: ("--counts", "none.csv"),
        3: ("--counts", "counts.csv", "--fail-above", "1%"),
    },
    "gate": {
        0: ("rows.csv", *TARGET, "--predicted", "good", "--at-most", "0.1"),
        2: ("rows.csv", *TARGET, "--predicted", "good"),
        3: ("rows.csv", *TARGET, "--predicted", "bad", "--at-most", "0.1"),
    },
    "watch": {
        0: ("model.pacbayes", "rows.csv", *TARGET),
        2: ("model.pacbayes", "rows.csv", "--target", "none"),
        3: ("model.pacbayes", "rows.csv", "--target", "bad"),
    },
    "predict": {0: ("model.pacbayes", "rows.csv"), 2: ("none.pacbayes", "rows.csv")},
    "compare": {0: ("rows.csv", *TARGET, "--a", "good", "--b", "bad"), 2: ("rows.csv", *TARGET, "--a", "good")},
    "plan": {0: ("--error", "0.05", "--at-most", "0.08"), 2: ("--error", "0.08", "--at-most", "0.05")},
    "posterior": {0: ("risks.csv", "--m", "100"), 2: ("risks.csv", "--m", "0")},
    "bound": {0: ("--risk", "0.1", "--kl", "1", "--m", "100"), 2: ("--m", "100")},
    "datasets": {0: (), 2: ("wine",)},
    "reproduce": {0: ("--list",), 2: ("table9",)},
    "help": {0: ("assumptions",), 2: ("me",)},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("codes"), np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(800, 2)), columns=["a", "b"])
    kind = np.where(X["a"] + X["b"] + 0.1 * rng.normal(size=800) > 0, "yes", "no")
    save(CertifiedClassifier("logistic", random_state=0).fit(X[:500], kind[:500]), folder / "model.pacbayes")
    other = np.where(kind == "yes", "no", "yes")
    X.assign(kind=kind, good=kind, bad=other)[500:].to_csv(folder / "rows.csv", index=False)
    (folder / "counts.csv").write_text("true,predicted,count\nno,no,970\nno,yes,20\nyes,yes,10\n", encoding="utf-8")
    (folder / "risks.csv").write_text("risk\n0.1\n0.2\n", encoding="utf-8")
    return folder


def documented():
    """Exit codes of each command, from the page."""
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {command: {0, 2} if three == "–" else {0, 2, 3} for command, _, three in rows}


def test_the_table_has_every_command():
    assert documented() == {command: set(runs) for command, runs in RUNS.items()}
    assert set(RUNS) == set(typer.main.get_command(app).commands)


@pytest.mark.parametrize(
    ("command", "code"), [(command, code) for command, runs in RUNS.items() for code in runs], ids=str
)
def test_exit_codes(command, code, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    args = (command, *RUNS[command][code])
    if code == 2:
        error_of(args, capsys)
        return
    result = in_process(args, capsys, as_given=True)
    assert result.code == code, result.err
    assert result.out
