"""What starting costs: nothing heavy before it is needed."""

import subprocess
import sys

import pytest

HEAVY = ["numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib"]


def loaded(code):
    """The heavy modules that are loaded after running some code in a new process."""
    ending = f"; import sys; print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code + ending], capture_output=True, text=True, check=True)
    return eval(done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["certify", "--help"],
        ["predict", "--help"],
        ["posterior", "--help"],
        ["bound", "--help"],
    ],
)
def test_help_loads_nothing_heavy(arguments):
    code = f"from pacbayes.cli.app import app; app(args={arguments}, standalone_mode=False)"
    assert loaded(code) == []


def test_import_loads_nothing_heavy():
    assert loaded("import pacbayes") == []


def test_certify_needs_no_matplotlib():
    code = "from pacbayes.cli.app import app; app(args=['certify', '--lambdas', '1,2'], standalone_mode=False)"
    assert loaded(code) == ["numpy", "scipy", "sklearn", "numba", "pandas"]
