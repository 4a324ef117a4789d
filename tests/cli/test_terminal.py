"""Terminals and full disks; option names in messages."""

import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from tests.cli.bad_files import good
from tests.cli.running import in_process, with_candidates

from pacbayes import StochasticSVC, save

QUICK = ["--lambdas", "0.1,1"]
# Clear the screen, and reverse the rest of a line.
HOSTILE = ["yes\x1b[2J", "no\u202e\x07"]


@pytest.fixture
def hostile(tmp_path):
    """Table with control characters in classes, column names and file name, and a model of it."""
    frame = good(120)
    frame["kind"] = np.where(frame["kind"] == "yes", *HOSTILE)
    frame = frame.assign(**{"old\x1b[31m": frame["kind"], "new\u2066": HOSTILE[0]})
    path = tmp_path / "data\x1b[0m.csv"
    frame.to_csv(path, index=False)
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(frame[["a", "b"]][:60], frame["kind"][:60])
    save(clf, tmp_path / "model.pacbayes")
    return path, tmp_path / "model.pacbayes"


def on_terminal(*args, columns=200):
    """Output of a command on a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    # A dumb terminal gets no colours, so all control characters come from the data.
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "dumb"}
    command = [sys.executable, "-m", "pacbayes", *map(str, args)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        screen = b""
        try:
            while part := os.read(ours, 4096):
                screen += part
        except OSError:  # the other end was closed
            pass
    os.close(ours)
    assert process.returncode == 0, screen
    return screen.decode().replace("\r\n", "\n")


def controls(text):
    return sorted({letter for letter in text if not letter.isprintable() and letter != "\n"})


def test_control_characters_in_predictions_are_escaped_on_a_terminal(hostile):
    path, model = hostile
    screen = on_terminal("predict", model, path, "--shares", "-q")
    assert controls(screen) == []
    assert "yes\\x1b[2J" in screen
    assert "no\\u202e\\x07" in screen
    assert len([line for line in screen.splitlines() if line]) == 121


def test_certificate_fits_a_terminal(tmp_path):
    good(200).to_csv(tmp_path / "data.csv", index=False)
    args = ["certify", tmp_path / "data.csv", *QUICK, "--candidates", "svm", "--details"]
    lines = on_terminal(*args, columns=80).splitlines()
    assert max(map(len, lines)) <= 80
    # No cell is wrapped.
    assert any(line.split()[:3] == ["best", "single", "classifier"] and "%" in line for line in lines)
    assert any(line.split()[:3] == ["holdout", "cross-validated", "classifier"] for line in lines)


def test_predictions_in_a_pipe_are_unchanged(hostile, capsys):
    path, model = hostile
    result = in_process(["predict", model, path], capsys)
    assert set(pd.read_csv(io.StringIO(result.out))["predicted"]) == set(HOSTILE)
    assert controls(result.err) == []


def test_control_characters_in_names_are_escaped(hostile, capsys):
    compare = ["compare", hostile[0], "--target", "kind", "--a", "old\x1b[31m", "--b", "new\u2066"]
    drops = ["--drop", "old\x1b[31m", "--drop", "new\u2066"]
    certify = ["certify", hostile[0], *QUICK, "--target", "kind", *drops, "--by-class"]
    assert controls(on_terminal(*certify)) == []
    for args in (compare, certify):
        result = in_process(args, capsys)
        assert controls(result.out.replace("\t", "")) == controls(result.err) == []
        assert "\\x1b[" in result.out + result.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_results_are_printed_if_stderr_is_full(capsys):
    args = ["certify", *QUICK]
    command = [sys.executable, "-m", "pacbayes", *with_candidates(args)]
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True, check=False, timeout=300)
    usual = in_process(args, capsys)
    assert (result.returncode, result.stdout) == (0, usual.out)
