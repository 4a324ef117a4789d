"""Attacked: the environment, set to what people write who want something off, and streams that are not there."""

import subprocess
import sys

import pytest
from tests.cli.running import as_process


@pytest.mark.parametrize("value", ["0", "", "false", "False", "no", "OFF", " 0 "])
def test_debugging_that_is_off_shows_no_traceback(value):
    done = as_process("certify", "none.csv", PACBAYES_DEBUG=value)
    assert done.code == 2
    assert "no such file: 'none.csv'" in done.error


@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_debugging_that_is_on_shows_one(value):
    done = as_process("certify", "none.csv", PACBAYES_DEBUG=value)
    assert done.code == 1
    assert "Traceback" in done.err
    assert "FileNotFoundError" in done.err


def test_a_compiler_that_is_off_is_said_in_one_line():
    done = as_process("certify", "--lambdas", "1", "-q", NUMBA_DISABLE_JIT="1")
    assert done.code == 2
    assert "need numba's compiler, which NUMBA_DISABLE_JIT turns off: remove it from the environment" in done.error


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of another kind")
@pytest.mark.parametrize("shut", [">&-", ">&- 2>&-"])
def test_streams_that_are_shut_cost_no_model(shut, tmp_path):
    """As some services start their processes: nothing can be said, and the work is done all the same."""
    command = f'"{sys.executable}" -m pacbayes certify --lambdas 1,2 --save model {shut}'
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model").exists()
    assert "Traceback" not in done.stderr


def test_the_guarantee_is_the_same_in_an_odd_environment():
    """No docstrings, warnings as errors, no folder for files, a terminal of one column."""
    odd = {"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "TMPDIR": "/proc/none", "COLUMNS": "1", "TERM": "dumb"}
    usual, found = (as_process("certify", "--lambdas", "1,2", "-q", **which) for which in ({}, odd))
    assert (found.code, found.out, found.err) == (0, usual.out, usual.err)
