"""The examples, as a reader runs them."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from pacbayes import DISTANCES, bound

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_validation_size(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["validation_size.py"])
    example = runpy.run_path(str(EXAMPLES / "validation_size.py"))
    example["measured"].__globals__.update(REPEATS=1, SIZES=[0.3, 0.6])
    found = example["table"]()
    assert all(0.0 < value <= 1.0 for rows in found.values() for row in rows for value in row.values())
    example["draw"](found, str(tmp_path / "figure.svg"))
    assert (tmp_path / "figure.svg").read_text().count("<svg") == 1


@pytest.mark.slow
def test_the_comparison_in_the_documentation_is_what_the_example_prints(capsys):
    example = runpy.run_path(str(EXAMPLES / "validation_size.py"))
    example["measured"].__globals__.update(SIZES=[0.5])
    text = (EXAMPLES.parent / "docs" / "certificates.md").read_text()
    for name, rows in example["table"]().items():
        numbers = [f"{rows[0][line]:.4f}" for line in ("stochastic", "Occam", "hold-out")]
        assert f"| {name.capitalize()} | {numbers[0]} | {numbers[1]} | **{numbers[2]}** |" in text


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
