"""Ctrl-C at any moment ends the process soon, reports the kept results, and leaves complete files."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.cli.running import with_candidates

# Noise labels and hardly any regularisation: half an hour of training.
HARD = ("--lambdas", "0.00001,0.00002")
# Seconds: long for a busy computer, short for the training.
TIMEOUT = 60.0


@pytest.fixture(autouse=True)
def default_interrupt_handler():
    """Processes started in the background by a shell ignore interrupts, and so do their children."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture(scope="module")
def hard_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "hard.csv"
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(6000, 2)).round(3), rng.integers(0, 2, 6000)])
    np.savetxt(path, rows, delimiter=",", header="u,v,class", comments="", fmt="%g")
    return path


class OnTerminal:
    """A command with a pseudo-terminal as stdout and stderr."""

    def __init__(self, *arguments):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pacbayes", *with_candidates(arguments)],
            stdout=slave,
            stderr=slave,
            env=os.environ | {"COLUMNS": "120", "TERM": "xterm"},
        )
        os.close(slave)
        self.output = b""

    def read(self, seconds):
        """Read output for some seconds; return whether there may be more."""
        if select.select([self.master], [], [], seconds)[0]:
            try:
                part = os.read(self.master, 65536)
            except OSError:  # Linux: the other end is closed
                return False
            self.output += part
            return bool(part)
        return True

    def read_until(self, text):
        deadline = time.monotonic() + TIMEOUT
        while text not in self.text():
            assert time.monotonic() < deadline, self.text()
            assert self.read(0.2), self.text()

    def interrupt(self):
        """Send the signal; return the exit code and the last line."""
        self.process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + TIMEOUT
        while self.read(0.2):
            if time.monotonic() > deadline:
                self.process.kill()
        code = self.process.wait()
        os.close(self.master)
        lines = [line.strip() for line in re.split(r"[\r\n]", self.text()) if line.strip()]
        return code, lines[-1] if lines else ""

    def text(self):
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.output.decode(errors="replace"))


def test_an_interrupt_of_training_writes_nothing(hard_file, tmp_path):
    model = tmp_path / "model.pacbayes"
    command = OnTerminal("certify", hard_file, *HARD, "--save", model)
    # The line is printed before the first of two SVMs is trained.
    command.read_until("support vector machines")
    assert command.interrupt() == (130, "pacbayes: interrupted; nothing was written")
    assert not list(tmp_path.iterdir())


def test_an_interrupt_keeps_complete_chunks_of_a_checkpoint(hard_file, tmp_path):
    run = tmp_path / "run"
    easy = ",".join(f"{value:g}" for value in np.geomspace(1e3, 1e4, 50))
    arguments = (
        "--candidates",
        "svm",
        "--split",
        "independent",
        "--validation-size",
        "5800",
        "--checkpoint",
        run,
        "--jobs",
        "2",
    )
    command = OnTerminal("certify", hard_file, "--lambdas", f"{easy},{HARD[1]}", *arguments)
    while not (run / "chunk-0000.npz").exists():
        assert command.read(0.05), command.text()
    code, last = command.interrupt()
    assert code == 130
    kept = re.fullmatch(
        r"pacbayes: interrupted; (\d+) of 52 classifiers are stored in '(.*)'; the same command .*", last
    )
    assert kept is not None, last
    assert kept[2] == str(run)
    assert int(kept[1]) in (0, 50)
    # An incomplete chunk may be left, which the next run removes.
    names = {path.name for path in run.iterdir() if path.suffix != ".part"}
    assert names <= {"lock", "manifest.json", "chunk-0000.npz"}


def test_an_interrupt_ends_a_command_whose_cleanup_waits():
    code = (
        "import time\n"
        "from pacbayes import __main__ as entry\n"
        "from pacbayes.cli.app import app\n"
        "def stuck():\n"
        "    try:\n"
        "        print('begin', flush=True)\n"
        "        time.sleep(60)\n"
        "    finally:\n"
        "        time.sleep(60)\n"
        "app.command('stuck')(stuck)\n"
        "entry.sys.argv[1:] = ['stuck']\n"
        "entry.run()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begin\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[1].endswith("pacbayes: interrupted; nothing was written\n")
    assert process.returncode == 130


# Forks one process for every moment: ten times faster than starting one for each.
FORKING = """
import json, os, signal, sys
from pacbayes import __main__ as entry
from pacbayes.cli.app import app

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Dropped:
    # Python ignores exceptions raised here.
    def __del__(self):
        interrupt()

def quick(moment: int):
    # Counts profile events: calls, returns and C calls.
    remaining = moment
    def count(*event):
        nonlocal remaining
        remaining -= 1
        if remaining == 0:
            interrupt()
    if moment == -1:
        sys.at_the_very_end = Dropped()
    elif moment == 0:
        import atexit
        atexit.register(interrupt)
    else:
        sys.setprofile(count)
    print("result")

app.command("quick")(quick)
for moment in map(int, sys.argv[1:]):
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(out_end, 1), os.dup2(err_end, 2)
        for end in (out, out_end, err, err_end):
            os.close(end)
        sys.argv = ["pacbayes", "quick", "--", str(moment)]
        entry.run()
    os.close(out_end), os.close(err_end)
    output = [open(end, encoding="utf-8").read() for end in (out, err)]
    print(json.dumps([moment, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), *output]), flush=True)
"""


def test_an_interrupt_near_the_end_prints_one_line_or_has_no_effect():
    moments = [*range(1, 120, 2), 0, -1]
    command = [sys.executable, "-c", FORKING, *map(str, moments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT)
    results = {moment: tuple(rest) for moment, *rest in map(json.loads, done.stdout.splitlines())}
    assert list(results) == moments
    finished, line = (0, "result\n", ""), "pacbayes: interrupted; nothing was written\n"
    assert results.pop(0) == results.pop(-1) == finished
    assert set(results.values()) <= {finished, (130, "", line), (130, "result\n", line)}
    # From some moment on, which is among those tested, an interrupt has no effect.
    codes = [code for code, *_ in results.values()]
    assert codes == sorted(codes, reverse=True)
    assert {*codes} == {0, 130}
