"""The examples, as a reader runs them."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from pacbayes import DISTANCES, bound

EXAMPLES = Path(__file__).parents[1] / "examples"
QUICK = {"certified_svm", "five_bounds", "forest_certificate", "two_models", "validation_size"}
SLOW = {"answers_where_sure", "conjecture", "own_classifiers", "pipeline_grid", "seeds", "training_prior"}


def run(name, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


def test_no_example_is_left_out():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == QUICK | SLOW


def test_certified_svm(capsys, monkeypatch, tmp_path):
    clf = run("certified_svm", monkeypatch, str(tmp_path / "figure.svg"))["clf"]
    printed = capsys.readouterr().out
    assert clf.certificates_["stochastic"].sentence in printed
    for voting in clf.certificates_:
        shown = float(re.search(rf"^{voting} +bound ([0-9.]+)", printed, flags=re.MULTILINE)[1])
        assert clf.certificates_[voting].bound <= shown < clf.certificates_[voting].bound + 1e-4
    assert (tmp_path / "figure.svg").read_text().count("<svg") == 1


@pytest.mark.slow
def test_seeds(capsys, monkeypatch, tmp_path):
    run("seeds", monkeypatch, str(tmp_path / "figure.svg"))
    last = capsys.readouterr().out.splitlines()[-1]
    page = (EXAMPLES.parent / "docs" / "certificates.md").read_text(encoding="utf-8")
    assert last.partition(",")[0] in page
    assert (tmp_path / "figure.svg").read_text() == (EXAMPLES.parent / "docs/images/seeds.svg").read_text()


@pytest.mark.slow
def test_answers_where_sure(capsys, monkeypatch):
    names = run("answers_where_sure", monkeypatch)
    clf, data, printed = names["clf"], names["data"], capsys.readouterr().out
    assert clf.certificate_.sentence in printed
    answered = clf.answers(data.data[:200])
    assert 0 < answered.sum() < 200
    assert f"{answered.sum()} of 200 rows are answered" in printed


def test_two_models(capsys, monkeypatch):
    names = run("two_models", monkeypatch)
    wrong = [(names[name].predict(names["X_new"]) != names["y_new"]).mean() for name in ("in_use", "candidate")]
    found = names["found"]
    assert found.observed == pytest.approx(wrong[1] - wrong[0])
    assert found.lower < found.observed < found.upper
    assert found.explain() in capsys.readouterr().out


@pytest.mark.slow
def test_conjecture(capsys, monkeypatch, tmp_path):
    run("conjecture", monkeypatch, str(tmp_path / "figure.svg"))
    printed = capsys.readouterr().out
    # Four distances twice, each with two minima and a maximum between them.
    assert [len(re.findall(rf"^  {kind} ", printed, flags=re.MULTILINE)) for kind in ("minimum", "maximum")] == [16, 8]


@pytest.mark.slow
def test_own_classifiers(capsys, monkeypatch):
    names = run("own_classifiers", monkeypatch)
    wrong = [int((model.predict(names["X_val"]) != names["y_val"]).sum()) for model in names["models"]]
    classifiers = names["clf"].classifiers_
    assert classifiers.errors.tolist() == wrong
    assert "the same risks: True" in capsys.readouterr().out
    # A loss of at most the error's: the bound on it is no larger than the error's own.
    assert (names["graded"].risks <= classifiers.risks).all()


@pytest.mark.slow
def test_pipeline_grid(capsys, monkeypatch):
    clf = run("pipeline_grid", monkeypatch)["clf"]
    assert len(clf.classifiers_) == 12
    printed = capsys.readouterr().out
    assert clf.certificates_["majority"].sentence in printed
    assert all(f"{voting:<11} test error" in printed for voting in clf.certificates_)


@pytest.mark.slow
def test_training_prior(capsys, monkeypatch):
    run("training_prior", monkeypatch)
    rows = re.findall(r"^(?:ionosphere|wdbc)((?: +[0-9.]+){6})$", capsys.readouterr().out, flags=re.MULTILINE)
    values = [[float(cell) for cell in row.split()] for row in rows]
    assert len(values) == 2
    for k_uniform, k_prior, uniform, prior, _, hold_out in values:
        # What the text says of the table.
        assert k_prior < k_uniform
        assert hold_out < prior < uniform


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
