"""The notice that something is being compiled: only where it takes a while, once, and not where quiet was asked for."""

import time
from types import SimpleNamespace

from pacbayes._utils.progress import compile_notice, quiet


def test_compile_notice_only_when_it_takes_a_while(capsys, monkeypatch):
    compiling = SimpleNamespace(stats=SimpleNamespace(cache_misses={"signature": 1}))
    loading = SimpleNamespace(stats=SimpleNamespace(cache_misses={}))
    for function, delay, said in ((compiling, 0.0, True), (compiling, 60.0, False), (loading, 0.0, False)):
        monkeypatch.setattr("pacbayes._utils.progress._said", [])
        with compile_notice(function, delay=delay):
            time.sleep(0.3)
        assert ("compiling" in capsys.readouterr().err) == said


def test_quiet_silences_notices(capsys, monkeypatch):
    monkeypatch.setattr("pacbayes._utils.progress._said", [])
    compiling = SimpleNamespace(stats=SimpleNamespace(cache_misses={"signature": 1}))
    for silent in (True, False):
        with quiet(silent), compile_notice(compiling, delay=0.0):
            time.sleep(0.3)
        assert ("compiling" in capsys.readouterr().err) == (not silent)
    # Said once, although three modules are compiled.
    with compile_notice(compiling, delay=0.0):
        time.sleep(0.3)
    assert capsys.readouterr().err == ""
