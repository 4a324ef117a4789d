"""Every example and notebook runs, and its statements are true."""

import json
import math
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

from pacbayes import DISTANCES, bound, kl_roots, log_constant, rows_needed
from pacbayes.certificates import binomial_upper

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
# Gallery in its order: questions first, then examples on prefit classifiers and bounds.
_SETTINGS = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
GALLERY = re.findall(r'"(\w+)"', re.search(r"^GALLERY = \[(.*?)\]", _SETTINGS, re.MULTILINE | re.DOTALL)[1])
# Examples whose figures are in the repository.
DRAWN = {"conjecture", "seeds", "validation_size"}


@pytest.fixture
def run(capsys, monkeypatch):
    """Function that runs an example, which draws one figure, and returns its variables and output."""

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
        pyplot.close("all")
        names = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        assert len(pyplot.get_fignums()) == 1 or name in DRAWN
        pyplot.close("all")
        return names, capsys.readouterr().out

    return run


def test_gallery_contains_every_example():
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted(GALLERY)


@pytest.mark.parametrize("name", GALLERY)
def test_every_example_asks_a_question_and_has_a_figure(name):
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    title, line = text.splitlines()[1:3]
    assert title.endswith("?")
    assert line == "=" * len(title)
    pictures = re.findall(r"^\.\. image:: /(\S+)\n   :alt: \w", text, re.MULTILINE)
    assert pictures == ([f"images/{name}.svg"] if name in DRAWN else [])
    assert all((ROOT / "docs" / picture).exists() for picture in pictures)
    assert name in DRAWN or "plt.subplots(" in text


def test_error_rate(run):
    names, printed = run("error_rate")
    certificate = names["clf"].certificate_
    assert printed.startswith(f"{certificate}\n")
    assert certificate.explain() in printed
    assert "on new examples is at most 4.2 %" in printed


def test_which_errors(run):
    names, printed = run("which_errors")
    metrics = names["clf"].certificate_.metrics
    assert [metric.name for metric in metrics] == ["recall", "precision", "specificity"]
    assert all(f"\n{metric.sentence}\n" in printed for metric in metrics)
    # Statements of the text on rows and distances; the axis shows all bars.
    gaps = [metric.count / metric.rows - metric.bound for metric in metrics]
    assert metrics[2].rows > max(metric.rows for metric in metrics[:2])
    assert gaps[2] < min(gaps[:2])
    assert min(metric.bound for metric in metrics) > 0.8
    assert "Class 'malignant': " in printed


def test_abstention(run):
    names, printed = run("abstention")
    clf, data = names["clf"], names["data"]
    accepted = clf.accepts(data.data[:200]).sum()
    assert str(clf.certificate_) in printed
    assert 0 < accepted < 200
    assert f"{accepted} of 200 predictions are accepted" in printed


def test_recall_of_90(run):
    names, printed = run("recall_of_90")
    reached, strict = names["clf"].certificate_.decision, names["strict"].certificate_
    assert str(names["clf"].certificate_) in printed
    assert str(strict) in printed
    assert reached.passed
    assert not strict.decision.passed
    assert names["clf"].predict(names["data"].data).tolist() == [
        int(one >= reached.threshold) for one in names["clf"].predict_proba(names["data"].data)[:, 1]
    ]
    # 299 rows without misses suffice, 298 do not.
    assert binomial_upper(0, 299, 0.05) <= 0.01 < binomial_upper(0, 298, 0.05)
    assert (names["data"].target == 1).sum() * 0.6 < 299


def test_new_model_better(run):
    names, printed = run("new_model_better")
    difference = names["difference"]
    wrong = [(names[name].predict(names["X_new"]) != names["y_new"]).mean() for name in ("old", "new")]
    assert difference.explain() in printed
    assert difference.observed == pytest.approx(wrong[1] - wrong[0])
    assert difference.lower < difference.observed < difference.upper < 0.0


def test_batch(run):
    names, printed = run("batch")
    batch, wrong = names["batch"], names["wrong"]
    assert batch.rows == 1000
    assert str(batch) in printed
    assert f"{wrong} of the 1000 predictions are wrong" in printed
    assert wrong <= batch.wrong


def test_monitoring(run):
    names, printed = run("monitoring")
    monitor = names["monitor"]
    assert printed.startswith("No alarm for the soft vote in 1000 rows: ")
    assert 1000 < monitor.alarm_at < 1100
    assert f"Alarm for the soft vote after {monitor.alarm_at} of 1500 rows: " in printed
    # The e-value decreases before the fault, as stated in the text.
    assert monitor.e_values[999] < 1.0


def test_how_many_rows(run):
    _, printed = run("how_many_rows")
    assert printed.startswith("475 validation rows, for a chance of 80 %")
    table = {int(percent): int(rows) for percent, rows in re.findall(r"at most +(\d+)%: +(\d+) ", printed)}
    assert table == {percent: rows_needed(0.05, percent / 100) for percent in (6, 7, 8, 10, 15)}


@pytest.mark.slow
def test_seeds(run, tmp_path):
    _, printed = run("seeds", str(tmp_path / "figure.svg"))
    page = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")
    low, high, mean = re.search(r"from ([\d.]+) to ([\d.]+) %, mean ([\d.]+) %", printed).groups()
    assert f"from {low} to {high} %" in page
    assert re.search(rf"\b{re.escape(mean)} %", page)
    assert (tmp_path / "figure.svg").read_text() == (ROOT / "docs/images/seeds.svg").read_text()


def test_own_classifiers(run):
    names, printed = run("own_classifiers")
    wrong = [int((model.predict(names["X_val"]) != names["y_val"]).sum()) for model in names["models"]]
    clf, prespecified = names["clf"], names["prespecified"]
    assert len(wrong) == 10
    assert clf.classifiers_.errors.tolist() == wrong
    assert str(clf.certificate_) in printed
    assert str(prespecified.certificate_) in printed
    assert "the same risks: True" in printed
    # The graded loss is at most the 0-1 loss.
    assert (names["graded"].risks <= clf.classifiers_.risks).all()
    # Close to the bound of a holdout.
    assert names["models"][5].n_neighbors == 3
    assert 1.0 < prespecified.certificate_.bound / binomial_upper(wrong[5], len(names["y_val"]), 0.05) < 1.01


def test_certified_svm(run, tmp_path):
    names, printed = run("certified_svm", str(tmp_path / "figure.svg"))
    clf = names["clf"]
    assert clf.certificates_["stochastic"].sentence in printed
    for voting in clf.certificates_:
        printed_percentages = float(re.search(rf"^{voting} +bound ([0-9.]+)", printed, flags=re.MULTILINE)[1])
        assert clf.certificates_[voting].bound <= printed_percentages < clf.certificates_[voting].bound + 1e-4
    assert (tmp_path / "figure.svg").read_text().count("<svg") == 1


def test_five_bounds(run):
    names, printed = run("five_bounds")
    for distance in DISTANCES:
        given, best = map(float, re.findall(rf"^{distance} +([0-9.]+)", printed, re.MULTILINE))
        exact = bound(names["weights"], names["risks"], 250, distance=distance, delta=0.05)
        assert exact <= given < exact + 1e-4
        assert best < given


def test_forest_out_of_bag(run):
    names, printed = run("forest_out_of_bag")
    forest, data, errors, validated = (names[name] for name in ("forest", "data", "error_rows", "validated"))
    for i in (0, 99):
        outside = sorted(set(range(len(data.target))) - set(forest.estimators_samples_[i].tolist()))
        wrong = forest.estimators_[i].predict(data.data[outside]) != data.target[outside]
        assert np.flatnonzero(validated[i]).tolist() == outside
        assert errors[i].sum() == errors[i, outside].sum() == wrong.sum()
    printed_percentages = [float(one) for one in re.findall(r"^\S.*: +([\d.]+) %$", printed, re.MULTILINE)]
    best = names["best"]
    computed = [best.bound, names["tandem"], names["first_order"], 1 - forest.oob_score_]
    assert all(
        100 * value <= number < 100 * value + 0.1 for value, number in zip(computed, printed_percentages, strict=True)
    )
    # The bound by its definition.
    both = (errors.astype(float) @ errors.T) / (validated.astype(float) @ validated.T)
    pairs = int((validated.astype(float) @ validated.T).min())
    kl = best.weights @ np.log(np.maximum(best.weights * 100, 1e-300))
    x = (2 * kl + log_constant("kl", pairs) - math.log(0.05)) / pairs
    assert best.bound == pytest.approx(4 * kl_roots(best.weights @ both @ best.weights, x)[1], rel=1e-9)
    # Statements of the text.
    assert 0.05 < validated.astype(float).mean() ** 2 < 0.15
    assert str(names["certified"].certificate_) in printed
    assert names["certified"].certificate_.bound < min(computed[:3]) / 4


def test_training_prior(run):
    names, printed = run("training_prior")
    means = names["means"]
    for name, mean in means.items():
        assert mean <= float(re.search(rf"^{name} +([0-9.]+)$", printed, re.MULTILINE)[1]) < mean + 1e-4
    # Statements of the text.
    assert means["holdout"] < means["prior from training rows"] < means["uniform prior"]


def test_conjecture(run, tmp_path):
    _, printed = run("conjecture", str(tmp_path / "figure.svg"))
    # Four distances, two cases each, with two minima and a maximum.
    assert [len(re.findall(rf"^  {kind} ", printed, flags=re.MULTILINE)) for kind in ("minimum", "maximum")] == [16, 8]
    assert (tmp_path / "figure.svg").read_text().count("<svg") == 1


def test_validation_size(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["validation_size.py"])
    example = runpy.run_path(str(EXAMPLES / "validation_size.py"))
    example["measure"].__globals__.update(REPEATS=1, SIZES=[0.3, 0.6])
    results = example["table"]()
    assert all(0.0 < value <= 1.0 for rows in results.values() for row in rows for value in row.values())
    example["draw"](results, str(tmp_path / "figure.svg"))
    assert (tmp_path / "figure.svg").read_text().count("<svg") == 1


@pytest.mark.slow
def test_comparison_in_the_documentation(capsys):
    example = runpy.run_path(str(EXAMPLES / "validation_size.py"))
    example["measure"].__globals__.update(SIZES=[0.5])
    text = (ROOT / "docs" / "certificates.md").read_text()
    for name, rows in example["table"]().items():
        numbers = [f"{rows[0][line]:.4f}" for line in ("stochastic", "Occam", "holdout")]
        assert f"| {name.capitalize()} | {numbers[0]} | {numbers[1]} | **{numbers[2]}** |" in text


def run_cells(name):
    """Run the cells of a notebook, which contains no outputs, and return its variables."""
    cells = json.loads((ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    names = {}
    for cell in code:
        exec(compile("".join(cell["source"]), f"{name}: {cell['id']}", "exec"), names)
    pyplot.close("all")
    return names


@pytest.mark.slow
def test_certify_your_classifier(capsys):
    names, printed = run_cells("certify-your-classifier"), capsys.readouterr().out
    assert printed.startswith(
        "With 95 % confidence, the error rate of this classifier on new examples is at most 4.2 %."
    )
    assert names["recall"].certificate_.decision.passed
    wrong = int(re.search(r"observed errors: (\d+)", printed)[1])
    assert wrong <= int(re.search(r"at most (\d+) of these 1000 predictions", printed)[1])
    assert names["again"].certificate_ == names["clf"].certificate_


def test_pac_bayes_in_ten_cells(capsys):
    names, printed = run_cells("pac-bayes-in-ten-cells"), capsys.readouterr().out
    best, bounds = names["best"], names["bounds"]
    # The naive bound fails on nearly every sample.  The PAC-Bayes bound holds, and is optimal.
    share = names["share_of_failures"](lambda errors: binomial_upper(errors.min(), names["m"], names["delta"]), 200)
    assert share > 0.9
    assert sum(names["fails"]() for _ in range(100)) <= 5
    assert best.lower_bound <= best.bound <= min(bounds) < best.bound + 1e-4
    assert "error rate of this classifier on new examples is at most 4.2 %" in printed
