"""Progress: a bar on a terminal, and lines without one."""

import io
import re
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from pacbayes._utils import progress as module
from pacbayes._utils.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@contextmanager
def terminal():
    """Replace stderr by a terminal; no fixture, since pytest replaces stderr after fixtures."""
    before, sys.stderr = sys.stderr, Terminal()
    try:
        yield sys.stderr
    finally:
        sys.stderr = before


def wait_for(text, stream):
    for _ in range(1000):
        if text in stream.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"no {text!r} in {stream.getvalue()!r}")


def interrupt_after(text, stream):
    wait_for(text, stream)
    raise KeyboardInterrupt


@pytest.fixture
def stages(monkeypatch, capfd):
    """Function that lists the stages of a call in the order of their first lines."""
    monkeypatch.setattr(module, "LINE_INTERVAL_SECONDS", 0.0)

    def of(call):
        capfd.readouterr()
        call()
        lines = capfd.readouterr().err.splitlines()
        names = [re.fullmatch(r"pacbayes: (.*?)(, \d+ of \d+)?; \d+ s so far", line) for line in lines]
        return list(dict.fromkeys(name[1] for name in names if name))

    return of


def test_lines_without_a_terminal(monkeypatch, capsys):
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    with progress("fitting", None), progress("forest", 4) as advance:
        for _ in range(4):
            advance(1)
    # Every second call, since the clock moves by six seconds.
    assert capsys.readouterr().err.splitlines() == [
        "pacbayes: forest, 0 of 4; 12 s so far",
        "pacbayes: forest, 2 of 4; 24 s so far",
        "pacbayes: forest, 4 of 4; 36 s so far",
    ]


def test_bar_on_a_terminal_after_the_delay():
    threads = set(threading.enumerate())
    with terminal() as stream:
        with progress("long", 3, delay=60.0) as advance:
            advance(3)
        assert stream.getvalue() == ""
        # Before the first step: a thread draws the bar.
        with progress("one long [step]", 3, delay=0.01) as advance:
            wait_for("one long [step]", stream)
            advance(2)
            wait_for("2/3", stream)
            with progress("part of it", None):
                wait_for("one long [step]: part of it", stream)
        assert sys.stderr is stream
    assert module.DELAY_SECONDS < 1.0
    assert set(threading.enumerate()) <= threads


def test_interrupt_removes_the_bar():
    threads = set(threading.enumerate())
    with terminal() as stream:
        with pytest.raises(KeyboardInterrupt), progress("work", 3, delay=0.0):
            interrupt_after("work", stream)
        assert stream.getvalue().endswith("\x1b[2K")
        assert set(threading.enumerate()) <= threads
        with progress("next", 1, delay=0.0):
            wait_for("next", stream)


def test_nested_stages(stages):
    def work():
        with progress("fitting", None) as outer, progress("fold", 5) as advance:
            with progress("SVMs", 3), progress("kernel", 9), progress("kernel", 9):
                advance(0)
            advance(1)
            outer(1)

    assert stages(work) == ["fitting", "fold", "fold: SVMs", "fold: kernel"]
