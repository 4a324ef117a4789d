"""The examples, as a reader runs them."""

import re
import runpy
from pathlib import Path

from pacbayes import DISTANCES, bound

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_five_bounds(capsys):
    runpy.run_path(str(EXAMPLES / "five_bounds.py"))
    printed = capsys.readouterr().out
    assert all(printed.count(f"\n{distance} ") == 2 for distance in DISTANCES)
    assert "fix the distance and delta before" in printed


def test_forest_certificate(capsys):
    names = runpy.run_path(str(EXAMPLES / "forest_certificate.py"))
    errors = [(forest.predict(names["X_val"]) != names["y_val"]).sum() for forest in names["forests"]]
    assert len(errors) == 200
    risks = [error / names["classifiers"].m for error in errors]
    assert names["best"].bound >= bound(names["best"].weights, risks, names["classifiers"].m) - 1e-12
    shown = re.search(
        rf"200 forests with {min(errors)} to {max(errors)} errors .* at most ([0-9.]+) %", _printed(capsys)
    )
    assert names["best"].bound <= float(shown[1]) / 100 < names["best"].bound + 1e-3


def _printed(capsys):
    return capsys.readouterr().out.replace("\n", " ")
