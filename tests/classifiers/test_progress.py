"""The progress bar shows itself on a terminal, late enough, and nowhere else."""

import io

from pacbayes.classifiers.compiled import compile_notice
from pacbayes.classifiers.progress import progress


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


def test_compile_notice_only_when_it_takes_a_while(capsys):
    import time

    with compile_notice(delay=60.0):
        pass
    assert capsys.readouterr().err == ""
    with compile_notice(delay=0.0):
        time.sleep(0.2)
    assert "compiling" in capsys.readouterr().err
