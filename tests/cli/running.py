"""Run commands in this process or in a subprocess."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from pacbayes.cli.app import main


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def error(self):
        """The error message, which must be the only one, on the last line, without a traceback."""
        # The first run on a machine also prints a note on compilation.
        stderr_lines = [line for line in self.err.splitlines() if not line.startswith("pacbayes: compiling ")]
        lines = [line for line in stderr_lines if line.startswith("pacbayes: ")]
        assert len(lines) == 1, self.err
        assert stderr_lines[-1] == lines[0]
        assert "Traceback" not in self.err + self.out
        return lines[0]


def with_candidates(arguments):
    """Convert arguments to strings; `certify` uses SVMs by default, and --details."""
    words = [str(argument) for argument in arguments]
    if words[:1] != ["certify"] or "--help" in words:
        return words
    fast = [] if {"--candidates", "--predictions", "--counts"} & set(words) else ["--candidates", "svm"]
    return [*words, *fast, "--details"]


def in_process(arguments, capsys, as_given=False):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments] if as_given else with_candidates(arguments))
    captured = capsys.readouterr()
    return Result(ended.value.code or 0, captured.out, captured.err)


def as_process(*arguments, stdout=subprocess.PIPE, **environment):
    command = [sys.executable, "-m", "pacbayes", *with_candidates(arguments)]
    result = subprocess.run(
        command,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        check=False,
        timeout=300,
    )
    return Result(result.returncode, result.stdout or "", result.stderr)


def as_json(arguments, capsys, with_remarks=False):
    """Parsed output of a command with --json."""
    result = in_process([*arguments, "--json"], capsys)
    assert result.code == 0, result.err
    output = json.loads(result.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    return (output, result.err) if with_remarks else output


def error_of(arguments, capsys, message=""):
    """Error message of a command with invalid input."""
    result = in_process(arguments, capsys)
    assert (result.code, result.out) == (2, ""), result
    assert re.search(message, result.error), result.error
    return result.error
