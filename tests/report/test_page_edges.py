"""Hostile names, other estimators and ways of predicting, tiny and hopeless models, wrong arguments, files."""

import re
import subprocess
import sys
from copy import copy

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import fitted, three_classes, two_classes
from tests.report.browser_page import HTML, Page
from tests.report.models import (
    IMAGE,
    SCRIPT,
    constant_grid,
    controlling,
    hostile,
    hostile_page,
    one_classifier,
)

from pacbayes import Abstain, CertifiedClassifier, Grid, StochasticSVC, load, model_card, optimal_posterior, save
from pacbayes.report import report_html, write_report
from pacbayes.report.view import ReportView


def test_names_stay_text():
    page = Page(hostile_page())
    assert not list(page.root.iter(f"{HTML}script"))
    assert not list(page.root.iter(f"{HTML}img"))
    assert SCRIPT in page.text("table-record-1") + str(page.table("table-record-1"))
    facts = dict(page.table("table-record-1")[1])
    clf, (_, y) = hostile()
    assert {IMAGE, SCRIPT} <= {one.text for one in page.root.iter(f"{HTML}p")}
    assert facts["classes"] == ", ".join(f"{name} ({np.sum(y == name)} rows)" for name in clf.classes_)
    assert facts["names of columns"] == ", ".join(clf.feature_names_in_)
    assert page.root.find(f"{HTML}head/{HTML}title").text.startswith(f"{SCRIPT} {IMAGE}")


def test_parameters_stay_text():
    class Named(DecisionTreeClassifier):
        def __repr__(self):
            return SCRIPT

    clf = CertifiedClassifier(
        Grid(None, [Named(max_depth=1), Named(max_depth=2)]),
        cv=None,
        random_state=0,
        voting="stochastic",
        validation_size=0.5,
    )
    page = Page(report_html(clf.fit(*two_classes())))
    assert f"estimator = {SCRIPT}" in page.column("table-weights", "classifier")


def test_grid_is_ranked_by_risk():
    clf = fitted("grid", three_classes, hedge=1)
    page = Page(report_html(clf))
    head, rows = page.table("table-risks")
    assert head == ["rank", "classifier", "validation risk", "posterior weight"]
    assert [int(row[0]) for row in rows] == list(range(1, len(clf.classifiers_) + 1))
    risks = [float(row[2]) for row in rows]
    assert risks == sorted(risks)
    assert "rank of the classifier" in page.text("figure-risks")
    assert "setosa, versicolor, virginica" in dict(page.table("table-record-1")[1])["classes"]
    first = clf.classifiers_.params[int(np.argmax(clf.posterior_.weights))]
    written = f"max_depth = {first['max_depth']}, min_samples_leaf = {first['min_samples_leaf']}"
    assert page.column("table-weights", "classifier")[0] == written


def test_with_independent_splits_nobody_counted_the_votes_errors():
    """No row validated all classifiers: there is a bound, but no number of errors."""
    page = Page(report_html(fitted("svc", two_classes, "independent")))
    place = page.column("table-bounds", "guarantee").index("majority vote")
    assert page.column("table-bounds", "validation risk")[place] == "–"
    assert "no row validated all classifiers" in page.text("errors")
    assert "table-confusion" not in page.ids


@pytest.mark.parametrize("voting", ["majority", "best"])
def test_other_ways_of_predicting(voting):
    clf = fitted("grid", two_classes)
    try:
        page = Page(report_html(clf.set_params(voting=voting)))
        certificate = clf.certificate_
        # Twice a bound above one half says nothing, and the page says so.
        assert page.text("headline") == certificate.headline
        assert page.text("sentence") == certificate.sentence
        assert ("classifiers vote" if voting == "majority" else f"One classifier, number {clf.best_index_} of 6,") in (
            page.text("facts")
        )
        assert [name for name in page.table("table-certificates")[0] if name.endswith("(this model)")] == [
            f"{clf.certificate_.holds_for.removeprefix('the ')} (this model)"
        ]
    finally:
        clf.set_params(voting="stochastic")


def test_several_distances():
    X, y = two_classes()
    clf = StochasticSVC([0.01, 0.1, 50.0], distance=["squared", "kl"], cv=None, random_state=0).fit(X, y)
    page = Page(report_html(clf))
    bounds = dict(zip(page.column("table-bounds", "guarantee"), page.column("table-bounds", "bound"), strict=True))
    chosen = float(bounds["stochastic classifier, best of 2 distances"])
    assert chosen == pytest.approx(clf.certificate_.bound, abs=1.1e-5)
    assert float(bounds["stochastic classifier, kl"]) < chosen
    assert bounds["hold-out, chosen by cross-validation"] == "–"
    assert "at a share of δ each" in page.text("figure-bounds")


def test_independent_splits():
    clf = fitted("svc", two_classes, "independent")
    page = Page(report_html(clf))
    assert "for each classifier, drawn for it alone" in dict(page.table("table-record-1")[1])["training rows"]
    assert "drawn for each classifier, which did not train it" in page.text("facts")
    assert page.column("table-limits", "errs on at most")[1] == "not available"


@pytest.mark.parametrize("distance", ["kl", "squared"])
def test_vacuous(distance):
    # Of kl the bound is next to 1, of squared beyond.
    clf = constant_grid(n=8, delta=1e-6, distance=distance)
    assert clf.certificate_.vacuous == (distance == "squared")
    page = Page(report_html(clf))
    assert page.text("headline") == "No useful guarantee"
    assert page.column("table-limits", "errs on at most")[0] == "100.0 %"


def test_one_classifier():
    page = Page(report_html(constant_grid(n=400, number=1)))
    assert "A single classifier gives all answers." in page.text("facts")
    assert page.column("table-weights", "weight") == ["100.0 %"]
    assert "A single classifier gives all answers." in Page(one_classifier()).text("facts")


def test_forbidden_characters_are_written_as_python_writes_them():
    page = Page(report_html(constant_grid(), title="a\0b\ud800c\x1b\x9f", notes=["\uffff\x08"]))
    assert page.root.find(f"{HTML}head/{HTML}title").text == r"a\x00b\ud800c\x1b\x9f"
    assert r"\uffff\x08" in [one.text for one in page.root.iter(f"{HTML}p")]


def test_names_neither_control_a_terminal_nor_turn_a_line_of_the_page_around():
    clf, data = controlling()
    title, notes = "data\x1b[0m\u202e.csv", ["file\x1b]0;x\x07\u2066"]
    for shown in (report_html(clf, title=title, notes=notes, data=data), clf.certificate_._repr_html_()):
        assert controls(shown) == []
        assert r"yes\x1b[2J" in shown
        assert r"no\u202e" in shown


def controls(text):
    return sorted({one for one in text if not one.isprintable() and one not in "\n\u00a0"})


def test_what_was_fitted_counts_not_what_is_set_later():
    clf = constant_grid(delta=0.1)
    before, card = undated(report_html(clf)), model_card(clf)
    clf.set_params(delta=0.001, distance="squared", hedge=0.5, limits=("error",), cv=7)
    assert undated(report_html(clf)) == before
    assert model_card(clf) == card


def undated(page):
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", page)


FORGED = {
    "delta": 1e-9,
    "hedge": 0.9,
    "split": "independent",
    "duplicates": "together",
    "prior": "cross-validation",
    "distance": "squared",
    "constant": "paper",
    "limits": ("recall",),
    "limits_share": 0.9,
    "pos_label": 1,
    "max_error": 0.001,
    "target": Abstain(0.001),
    "refit": True,
    "cv": 99,
}


@pytest.mark.parametrize("kind", ["svc", "grid"])
def test_parameters_in_a_file_are_not_believed(kind, tmp_path):
    """A forged file printed delta=1e-09 beside a certificate at 0.05."""
    clf = fitted(kind, two_classes)
    save(clf, tmp_path / "model")
    honest = load(tmp_path / "model")
    forged = load(tmp_path / "model").set_params(**{name: FORGED[name] for name in FORGED if hasattr(clf, name)})
    save(forged, tmp_path / "model")
    forged = load(tmp_path / "model")
    assert forged.delta == 1e-9
    assert "1e-09" not in report_html(forged)
    assert undated(report_html(forged)) == undated(report_html(honest))
    assert model_card(forged) == model_card(honest)


def test_test_rows_are_prepared_once():
    X, y = load_wine(return_X_y=True)
    model = StochasticSVC([0.1, 1.0, 50.0], prepare=StandardScaler(), random_state=0).fit(X, y)
    new = 1.01 * X
    observed = ReportView.of(model, (new, y)).observed
    np.testing.assert_array_equal(observed.errors_of_each, (model.classifiers_.predict(new) != y).sum(axis=1))


def test_many_classifiers_are_thinned():
    X, y = two_classes()
    clf = StochasticSVC(np.geomspace(0.001, 100, 2500), cv=None, random_state=0).fit(X[::4], y[::4])
    page = Page(report_html(clf))
    head, rows = page.table("table-risks")
    shown = [int(row[head.index("classifier")]) for row in rows]
    assert len(shown) == 1000
    assert set(shown) == set(np.argsort(-clf.posterior_.weights, kind="stable")[:1000].tolist())
    assert shown == sorted(shown)  # by lambda
    assert f"Of 2500 classifiers the table lists {len(shown)}" in page.text("figure-risks")


def test_prior_that_is_not_uniform():
    X, y = two_classes()
    clf = StochasticSVC([0.1, 1.0, 10.0], prior=[0.5, 0.5, 0.0], cv=None, random_state=0).fit(X, y)
    page = Page(report_html(clf))
    head, rows = page.table("table-weights")
    shown = {row[0]: row[head.index("prior weight")] for row in rows}
    assert shown
    assert (
        shown.items()
        <= {"0.1": "50.0 %", "1": "50.0 %", "0.1 to 1": "100.0 %", "10": "0.0 %", "0.1 to 10": "100.0 %"}.items()
    )
    expected = optimal_posterior(clf.classifiers_.risks, clf.classifiers_.m, prior=[0.5, 0.5, 0.0]).bound
    bounds = dict(zip(page.column("table-bounds", "guarantee"), page.column("table-bounds", "bound"), strict=True))
    assert float(bounds["stochastic classifier, kl"]) == pytest.approx(expected, abs=1.1e-5)


def test_written_as_a_whole(tmp_path, monkeypatch):
    clf, target = fitted("svc", two_classes), tmp_path / "a report.html"
    assert write_report(clf, str(target)) == target
    before = target.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_report(clf, target, title="another")
    assert target.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a report.html"]


def test_a_loaded_model_has_the_same_page(tmp_path):
    clf = fitted("svc", two_classes)
    save(clf, tmp_path / "model")

    def without_date(page):
        return [line for line in page.splitlines() if "UTC" not in line]

    assert without_date(report_html(load(tmp_path / "model"))) == without_date(report_html(clf))


def test_wrong_arguments(tmp_path):
    clf, (X, y) = fitted("svc", two_classes), two_classes()
    with pytest.raises(TypeError, match="model must be a StochasticSVC or CertifiedClassifier, got str"):
        write_report("svc", tmp_path / "page")
    with pytest.raises(ValueError, match="not fitted yet"):
        write_report(StochasticSVC(), tmp_path / "page")
    with pytest.raises(TypeError, match="title must be a string"):
        report_html(clf, title=3)
    with pytest.raises(TypeError, match="notes must be a sequence of strings"):
        report_html(clf, notes="one")
    with pytest.raises(TypeError, match="test must be a pair"):
        report_html(clf, test=3)
    with pytest.raises(ValueError, match="test must be rows and one label for each, got 569 rows and labels of shape"):
        report_html(clf, test=(X, y[:5]))
    with pytest.raises(TypeError, match="must be labels like those of y_val"):
        report_html(clf, test=(1.01 * X, y.astype(str)))
    with pytest.raises(ValueError, match=r"^test must hold rows that the model was not fitted with, but 569 of 569"):
        report_html(clf, test=(X, y))
    with pytest.raises(ValueError, match=r"^Input test y contains NaN or None: row 0 has no label"):
        report_html(clf, test=(1.01 * X, np.full(569, np.nan)))
    with pytest.raises(ValueError, match="data must be the 569 rows the model was fitted with, got 5"):
        report_html(clf, data=(X[:5], y[:5]))
    with pytest.raises(ValueError, match="its labels have other classes"):
        report_html(clf, data=(X, y + 1))
    with pytest.raises(FileNotFoundError, match=r"path: cannot write .* there is no folder"):
        write_report(None, tmp_path / "no" / "page")
    with pytest.raises(IsADirectoryError, match=r"path: cannot write .* it is a folder"):
        write_report(None, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_packages_are_loaded_when_first_needed_and_named_when_missing(package):
    code = (
        f"import sys, pacbayes.report as r; print({package!r} in sys.modules); sys.modules[{package!r}] = None\n"
        "try:\n    r.report_html(None)\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "False",
        f"a report needs {package}, which is not installed: pip install {package}",
    ]


def test_the_model_is_not_touched_while_test_errors_are_counted(monkeypatch):
    """Another thread that predicts meanwhile must get what its voting says."""
    clf = fitted("svc", two_classes)
    X, y = two_classes()
    monkeypatch.setattr(type(clf), "set_params", lambda *_, **__: pytest.fail("the user's estimator was changed"))
    seen = set()
    predict = type(clf).predict
    monkeypatch.setattr(
        type(clf), "predict", lambda self, X: (seen.add((clf.voting, self.voting)), predict(self, X))[1]
    )
    observed = ReportView.of(clf, test=(1.01 * X, y)).observed
    assert seen == {("stochastic", voting) for voting in clf.certificates_}
    monkeypatch.undo()
    for voting, errors in observed.errors.items():
        assert errors == int((clone_with(clf, voting).predict(1.01 * X) != y).sum())


def clone_with(clf, voting):
    made = copy(clf)
    made.voting = voting
    return made


def test_without_a_posterior_the_page_has_the_constant_of_the_fit():
    X, y = two_classes()
    clf = StochasticSVC([0.1, 1.0], hedge=0, random_state=0).fit(X, y)
    before = ReportView.of(clf).posterior.bound
    assert ReportView.of(clf.set_params(constant="paper")).posterior.bound == before
