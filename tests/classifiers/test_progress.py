"""The progress bar shows itself on a terminal, late enough, and nowhere else."""

import io
import time
from types import SimpleNamespace

from pacbayes.classifiers.compiled import compile_notice
from pacbayes.classifiers.progress import progress
from pacbayes.classifiers.quiet import quiet


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_without_a_terminal(capsys):
    with progress("work", 2, delay=0.0) as advance:
        advance(2)
    assert capsys.readouterr() == ("", "")


def test_bar_on_a_terminal_after_the_delay(monkeypatch):
    for delay, shown in ((0.0, True), (60.0, False)):
        terminal = Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        with progress("classifiers", 3, delay=delay) as advance:
            advance(1)
            advance(2)
        assert ("classifiers" in terminal.getvalue()) == shown


def test_work_inside_other_work_has_no_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress("inner", 1, show=False, delay=0.0) as advance:
        advance(1)
    assert terminal.getvalue() == ""


def test_compile_notice_only_when_it_takes_a_while(capsys, monkeypatch):
    compiling = SimpleNamespace(stats=SimpleNamespace(cache_misses={"signature": 1}))
    loading = SimpleNamespace(stats=SimpleNamespace(cache_misses={}))
    for function, delay, said in ((compiling, 0.0, True), (compiling, 60.0, False), (loading, 0.0, False)):
        monkeypatch.setattr("pacbayes.classifiers.compiled._said", [])
        with compile_notice(function, delay=delay):
            time.sleep(0.3)
        assert ("compiling" in capsys.readouterr().err) == said


def test_quiet_silences_bars_and_notices(capsys, monkeypatch):
    monkeypatch.setattr("pacbayes.classifiers.compiled._said", [])
    compiling = SimpleNamespace(stats=SimpleNamespace(cache_misses={"signature": 1}))
    for silent in (True, False):
        with quiet(silent), compile_notice(compiling, delay=0.0):
            time.sleep(0.3)
        assert ("compiling" in capsys.readouterr().err) == (not silent)
    # Said once, although three modules are compiled.
    with compile_notice(compiling, delay=0.0):
        time.sleep(0.3)
    assert capsys.readouterr().err == ""
