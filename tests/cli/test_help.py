"""`pacbayes help`: commands, assumptions, and a page that exists; completion in a shell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pacbayes.cli.app import DOCS, main

PAGES = Path(__file__).parents[2] / "docs"


def printed(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_the_assumptions_fit_a_terminal_and_name_a_page_that_exists(capsys):
    code, out, _ = printed(capsys, "help", "assumptions")
    assert code == 0
    assert max(len(line) for line in out.splitlines()) <= 80
    address = out.split("More: ")[1].strip()
    assert address.startswith(f"{DOCS}/")
    assert (PAGES / f"{address.removeprefix(DOCS)[1:-5]}.md").exists()


def test_a_command_is_explained_as_by_its_own_help(capsys):
    _, by_help, _ = printed(capsys, "help", "certify")
    _, by_option, _ = printed(capsys, "certify", "--help")
    assert by_help == by_option
    assert "--target" in by_help


def test_the_shell_is_told_the_commands_that_begin_as_typed():
    request = {"_PACBAYES_COMPLETE": "complete_bash", "COMP_WORDS": "pacbayes pre", "COMP_CWORD": "1"}
    code = "import sys; sys.argv = ['pacbayes']; from pacbayes.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | request, capture_output=True, text=True)
    assert done.stdout.split() == ["predict"]
