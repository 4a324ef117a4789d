"""What a person sees: no control characters of the data, the words of the command line, and results before remarks."""

import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy
from tests.cli.bad_files import good
from tests.cli.running import in_process, refused, with_candidates

from pacbayes import StochasticSVC, save

QUICK = ["--lambdas", "0.1,1"]
# Clears the screen, and turns the rest of a line around.
HOSTILE = ["yes\x1b[2J", "no\u202e\x07"]


@pytest.fixture
def hostile(tmp_path):
    """Return a table of hostile classes, names of columns and of itself, and a model of it."""
    frame = good(120)
    frame["kind"] = np.where(frame["kind"] == "yes", *HOSTILE)
    frame = frame.assign(**{"old\x1b[31m": frame["kind"], "new\u2066": HOSTILE[0]})
    path = tmp_path / "data\x1b[0m.csv"
    frame.to_csv(path, index=False)
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(frame[["a", "b"]][:60], frame["kind"][:60])
    save(clf, tmp_path / "model.pacbayes")
    return path, tmp_path / "model.pacbayes"


def on_terminal(*words, columns=200):
    """Run a command with everything on a terminal; return what reaches it."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    # A dumb terminal gets no colours: what controls it comes from the data.
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "dumb"}
    command = [sys.executable, "-m", "pacbayes", *map(str, words)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # the other end was closed
            pass
    os.close(ours)
    assert process.returncode == 0, shown
    return shown.decode().replace("\r\n", "\n")


def controls(text):
    return sorted({letter for letter in text if not letter.isprintable() and letter != "\n"})


def test_predictions_on_a_terminal_do_not_control_it(hostile):
    path, model = hostile
    shown = on_terminal("predict", model, path, "--shares", "-q")
    assert controls(shown) == []
    assert "yes\\x1b[2J" in shown
    assert "no\\u202e\\x07" in shown
    assert len([line for line in shown.splitlines() if line]) == 121


def test_a_certificate_fits_a_terminal(tmp_path):
    good(200).to_csv(tmp_path / "data.csv", index=False)
    words = ["certify", tmp_path / "data.csv", *QUICK, "--candidates", "svm", "--details"]
    lines = on_terminal(*words, columns=80).splitlines()
    assert max(map(len, lines)) <= 80
    # No cell is broken into two lines.
    assert any(line.split()[:3] == ["best", "single", "classifier"] and "%" in line for line in lines)
    assert any(line.split()[:3] == ["holdout", "cross-validated", "classifier"] for line in lines)


def test_predictions_in_a_pipe_are_data(hostile, capsys):
    path, model = hostile
    done = in_process(["predict", model, path], capsys)
    assert set(pd.read_csv(io.StringIO(done.out))["predicted"]) == set(HOSTILE)
    assert controls(done.err) == []


def test_no_command_lets_names_control_a_terminal(hostile, capsys):
    compare = ["compare", hostile[0], "--target", "kind", "--a", "old\x1b[31m", "--b", "new\u2066"]
    drops = ["--drop", "old\x1b[31m", "--drop", "new\u2066"]
    certify = ["certify", hostile[0], *QUICK, "--target", "kind", *drops, "--by-class"]
    assert controls(on_terminal(*certify)) == []
    for words in (compare, certify):
        done = in_process(words, capsys)
        assert controls(done.out.replace("\t", "")) == controls(done.err) == []
        assert "\\x1b[" in done.out + done.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_remarks_that_cannot_be_written_keep_no_result_back(capsys):
    words = ["certify", *QUICK]
    command = [sys.executable, "-m", "pacbayes", *with_candidates(words)]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True, check=False, timeout=300)
    usual = in_process(words, capsys)
    assert (done.returncode, done.stdout) == (0, usual.out)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_an_error_that_cannot_be_written_is_an_exit_code():
    command = [sys.executable, "-m", "pacbayes", "certify", "none.csv"]
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert subprocess.run(command, stderr=full, check=False, timeout=300).returncode == 2


def with_address_space(kilobytes, *words):
    """Run a command with so much address space, of which threads of linear algebra, one for each core, take some."""
    command = f'ulimit -v {kilobytes}; exec "{sys.executable}" -m pacbayes {" ".join(words)}'
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    return subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=False, timeout=60)


limited = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a limit of the address space")
recent = pytest.mark.skipif(
    tuple(int(part) for part in scipy.__version__.split(".")[:2]) < (1, 16),
    reason="older libraries need less, or linear algebra waits for memory for ever while it is loaded",
)


@limited
@recent
@pytest.mark.parametrize("kilobytes", [400_000, 1_000_000])
def test_too_little_address_space_is_said_in_one_line(kilobytes):
    done = with_address_space(kilobytes, "certify", "-q")
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("pacbayes: too little memory: the address space is limited to "), done.stderr
    assert "ulimit -v" in last
    assert "Traceback" not in done.stderr


@limited
@recent
def test_with_little_address_space_a_command_ends_by_itself():
    """Either there is a certificate or one line: no thread that cannot start, no library that ends the process."""
    done = with_address_space(850_000, "certify", "--candidates", "boosting", "-q")
    assert done.returncode in (0, 2), done.stderr
    assert (done.returncode == 0) == done.stdout.startswith("With 95 % confidence")
    assert done.returncode == 0 or "too little memory: the address space" in done.stderr.splitlines()[-1]


@limited
def test_what_else_is_wrong_is_not_blamed_on_the_address_space():
    done = with_address_space(800_000, "certify", "none.csv")
    assert done.stderr.splitlines()[-1] == "pacbayes: no such file: 'none.csv'"


def test_advice_about_copies_names_options(tmp_path, capsys):
    pd.concat([good(60)] * 4).to_csv(tmp_path / "data.csv", index=False)
    done = in_process(["certify", tmp_path / "data.csv", *QUICK], capsys)
    assert "use --duplicates together; use --group COLUMN for several rows of one person or thing." in done.err


def test_advice_about_memory_names_options(tmp_path, monkeypatch, capsys):
    good(60).to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.setattr("pacbayes._utils.memory.free_bytes", lambda: 10**7)
    error = refused(["certify", tmp_path / "data.csv", *QUICK, "-q"], capsys)
    assert "a kernel matrix of 30 x 30" in error
    assert "Use --kernel nystroem, which needs no kernel matrix." in error
    assert "a larger --validation-size" in error
    assert "=" not in error


def test_a_column_called_like_an_argument_keeps_its_name(tmp_path, capsys):
    good(60).rename(columns={"a": "validation_size"}).to_csv(tmp_path / "data.csv", index=False)
    done = in_process(["certify", tmp_path / "data.csv", *QUICK, "--target", "none"], capsys)
    assert "its columns are 'validation_size', 'b', 'kind'" in done.error
