"""The example that `make demo` runs."""

import runpy
from pathlib import Path

from pacbayes import DISTANCES

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_five_bounds(capsys):
    runpy.run_path(str(EXAMPLES / "five_bounds.py"))
    printed = capsys.readouterr().out
    assert all(printed.count(f"\n{distance} ") == 2 for distance in DISTANCES)
    assert "fix the distance and delta before" in printed
