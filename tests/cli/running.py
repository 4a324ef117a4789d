"""Running commands: in this process, or as a process of their own."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from pacbayes.cli.app import main


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def error(self):
        """The one line that says what went wrong; anything more, or a traceback, fails."""
        # A first run on a machine also says that it compiles.
        said = [line for line in self.err.splitlines() if not line.startswith("pacbayes: compiling ")]
        lines = [line for line in said if line.startswith("pacbayes: ")]
        assert len(lines) == 1, self.err
        assert said[-1] == lines[0]
        assert "Traceback" not in self.err + self.out
        return lines[0]


def with_candidates(arguments):
    """Return arguments as text; `certify` trains machines alone where a test asks for nothing else, and says all."""
    given = [str(argument) for argument in arguments]
    if given[:1] != ["certify"] or "--help" in given:
        return given
    fast = [] if {"--candidates", "--predictions", "--counts"} & set(given) else ["--candidates", "svm"]
    return [*given, *fast, "--details"]


def in_process(arguments, capsys, as_given=False):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments] if as_given else with_candidates(arguments))
    captured = capsys.readouterr()
    return Done(ended.value.code or 0, captured.out, captured.err)


def as_process(*arguments, stdout=subprocess.PIPE, **environment):
    command = [sys.executable, "-m", "pacbayes", *with_candidates(arguments)]
    done = subprocess.run(
        command,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        check=False,
        timeout=300,
    )
    return Done(done.returncode, done.stdout or "", done.stderr)


def as_json(arguments, capsys, with_remarks=False):
    """What a command prints with --json, which is nothing but JSON."""
    done = in_process([*arguments, "--json"], capsys)
    assert done.code == 0, done.err
    found = json.loads(done.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    return (found, done.err) if with_remarks else found


def refused(arguments, capsys, message=""):
    """The line of a command that is refused, and prints no result."""
    done = in_process(arguments, capsys)
    assert (done.code, done.out) == (2, ""), done
    assert re.search(message, done.error), done.error
    return done.error
