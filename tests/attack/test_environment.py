"""Attacked: the environment, set to what people write who want something off."""

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
