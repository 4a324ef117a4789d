"""Unusual environments: debugging and compiler switches, closed streams, read-only folders."""

import subprocess
import sys

import pytest
from tests.cli.running import as_process, in_process


@pytest.mark.parametrize("value", ["0", "", "False", " off "])
def test_no_traceback_without_debugging(value, monkeypatch, capsys):
    monkeypatch.setenv("PACBAYES_DEBUG", value)
    done = in_process(["certify", "none.csv"], capsys)
    assert done.code == 2
    assert "no such file: 'none.csv'" in done.error


def test_a_disabled_compiler_is_reported_in_one_line():
    done = as_process("certify", "--lambdas", "1", "-q", NUMBA_DISABLE_JIT="1")
    assert done.code == 2
    assert "need numba's compiler, which NUMBA_DISABLE_JIT turns off: remove it from the environment" in done.error


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("shut", [pytest.param(">&-", marks=pytest.mark.slow), ">&- 2>&-"])
def test_closed_streams_do_not_prevent_the_model(shut, tmp_path):
    """Some services start processes without streams."""
    command = f'"{sys.executable}" -m pacbayes certify --lambdas 1,2 --save model {shut}'
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model").exists()
    assert "Traceback" not in done.stderr


# Without docstrings Python first recompiles every module of every library, which takes half a minute.
@pytest.mark.parametrize("optimize", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_the_guarantee_is_the_same_in_an_odd_environment(optimize, capsys):
    """Warnings as errors, no temporary folder, a terminal of one column, no docstrings."""
    expected = in_process(["certify", "--lambdas", "1,2", "-q"], capsys)
    odd = {"PYTHONOPTIMIZE": optimize, "PYTHONWARNINGS": "error", "TMPDIR": "/proc/none", "COLUMNS": "1"}
    done = as_process("certify", "--lambdas", "1,2", "-q", TERM="dumb", **odd)
    assert (done.code, done.out, done.err) == (0, expected.out, expected.err)
