"""Hostile names, forged parameters, wrong arguments, files."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import fitted, two_classes
from tests.report.browser_page import HTML, Page
from tests.report.models import IMAGE, SCRIPT, controlling, hostile_rows, model, page_of

from pacbayes import Abstain, CertifiedClassifier, Grid, load, model_card, save
from pacbayes.report import plot_certificate, plot_risks, report_html


def test_names_are_escaped():
    page = Page(page_of("hostile"))
    assert not list(page.root.iter(f"{HTML}script"))
    assert not list(page.root.iter(f"{HTML}img"))
    facts = dict(page.table("table-record-1")[1])
    clf, (_, y) = model("hostile"), hostile_rows()
    assert {IMAGE, SCRIPT} <= {one.text for one in page.root.iter(f"{HTML}p")}
    assert facts["classes"] == ", ".join(f"{name} ({np.sum(y == name)} rows)" for name in clf.classes_)
    assert facts["column names"] == ", ".join(clf.feature_names_in_)
    assert page.root.find(f"{HTML}head/{HTML}title").text.startswith(f"{SCRIPT} {IMAGE}")


def test_parameters_are_escaped():
    class Named(DecisionTreeClassifier):
        def __repr__(self):
            return SCRIPT

    grid = Grid(None, [Named(max_depth=1), Named(max_depth=2)])
    clf = CertifiedClassifier(grid, cv=None, random_state=0, voting="stochastic", validation_size=0.5)
    page = Page(report_html(clf.fit(*two_classes())))
    assert f"estimator = {SCRIPT}" in page.column("table-weights", "classifier")


def test_control_characters_in_names_are_escaped():
    clf = controlling()
    title, notes = "data\x1b[0m\u202e.csv", ["file\x1b]0;x\x07\u2066"]
    for shown in (report_html(clf, title=title, notes=notes), clf.certificate_._repr_html_()):
        assert {one for one in shown if not one.isprintable() and one not in "\n\u00a0"} == set()
        assert r"yes\x1b[2J" in shown
        assert r"no\u202e" in shown


FORGED = {
    "delta": 1e-9,
    "hedge": 0.9,
    "split": "independent",
    "duplicates": "together",
    "prior": "cross-validation",
    "distance": "squared",
    "constant": "paper",
    "metrics": ("recall",),
    "metrics_share": 0.9,
    "pos_label": 1,
    "max_error": 0.001,
    "decision": Abstain(0.001),
    "refit": True,
    "cv": 99,
}


@pytest.mark.parametrize("kind", ["svc", "grid"])
def test_forged_parameters_in_a_file_are_ignored(kind, tmp_path):
    """A forged file once printed delta=1e-09 next to a certificate at 0.05."""
    clf = fitted(kind, two_classes)
    save(clf, tmp_path / "model")
    honest = load(tmp_path / "model")
    forged = load(tmp_path / "model").set_params(**{name: FORGED[name] for name in FORGED if hasattr(clf, name)})
    save(forged, tmp_path / "model")
    forged = load(tmp_path / "model")
    assert forged.delta == 1e-9
    page = report_html(forged)
    assert "1e-09" not in page
    assert page == report_html(honest) == report_html(clf)
    assert model_card(forged) == model_card(honest)


X, Y = two_classes()


@pytest.mark.parametrize(
    ("error", "message", "given"),
    [
        (TypeError, "title must be a string", {"title": 3}),
        (TypeError, "notes must be a sequence of strings", {"notes": "one"}),
        (TypeError, "test must be a pair", {"test": 3}),
        (ValueError, "test must be rows with one label per row, got 569 rows and labels of", {"test": (X, Y[:5])}),
        (TypeError, "must be labels like those of y_val", {"test": (1.01 * X, Y.astype(str))}),
        (ValueError, "^test must hold rows that the model was not fitted with, but 569 of 569", {"test": (X, Y)}),
        (ValueError, "^Input test y contains NaN or None: row 0 has", {"test": (1.01 * X, np.full(569, np.nan))}),
        (ValueError, "data must be the 569 rows the model was fitted with, got 5", {"data": (X[:5], Y[:5])}),
        (ValueError, "its labels have other classes", {"data": (X, Y + 1)}),
    ],
)
def test_wrong_arguments(error, message, given):
    with pytest.raises(error, match=message):
        report_html(fitted("svc", two_classes), **given)


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_packages_are_imported_lazily_and_named_if_missing(package):
    code = (
        f"import sys, pacbayes.report as r; print({package!r} in sys.modules); sys.modules[{package!r}] = None\n"
        "try:\n    r.report_html(None)\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "False",
        f"a report needs {package}, which is not installed: pip install {package}",
    ]


def test_report_does_not_change_the_model(monkeypatch):
    """Other threads may predict meanwhile."""
    clf = fitted("svc", two_classes)
    new, seen, predict = (1.01 * X, Y), [], type(clf).predict
    monkeypatch.setattr(type(clf), "set_params", lambda *_, **__: pytest.fail("the user's estimator was changed"))
    monkeypatch.setattr(
        type(clf), "predict", lambda self, X: (seen.append((clf.voting, self.voting)), predict(self, X))[1]
    )
    page = report_html(clf, test=new)
    # Each voting predicts once, plus once for a plot.
    assert sorted(seen) == sorted(("stochastic", voting) for voting in clf.certificates_)
    for plot in (plot_certificate, plot_risks):
        seen.clear()
        plot(clf, test=new)
        assert seen == [("stochastic", "stochastic")]
    monkeypatch.undo()
    assert f"{int((clf.predict(new[0]) != Y).sum())} errors on 569 test rows" in Page(page).text("observed")
