"""Representations of results as text and HTML, and the method `report`."""

import html

import html5lib
import numpy as np
import pytest
import sklearn
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.models import fitted, two_classes
from tests.report.models import IMAGE, SCRIPT, model

from pacbayes import CertifiedClassifier, ClassifierSet, Grid, StochasticSVC, optimal_posterior


def svms():
    return fitted("svc", two_classes)


# Objects that a notebook may show.
SHOWN = {
    "soft": lambda: svms().certificates_["soft"],
    "stochastic": lambda: svms().certificates_["stochastic"],
    "majority": lambda: svms().certificates_["majority"],
    "best": lambda: svms().certificates_["best"],
    "posterior": lambda: svms().posterior_,
    "posterior with nothing proved": lambda: optimal_posterior([0.1, 0.2, 0.4], 50, method="fixed-point"),
    "set": lambda: svms().classifiers_,
    "set of losses": lambda: ClassifierSet.from_losses(np.eye(3)),
    "svms": svms,
    "grid": lambda: fitted("grid", two_classes),
    "unfitted": lambda: StochasticSVC(tuple(np.geomspace(0.01, 100, 1990).tolist()), prior=np.full(1990, 1 / 1990)),
    "unfitted grid": lambda: CertifiedClassifier(
        Grid(DecisionTreeClassifier(), {"max_depth": list(range(1, 2000))}),
        voting="stochastic",
        cv=3,
        validation_size=0.5,
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_text_is_short(name):
    text = repr(SHOWN[name]())
    assert len(text.splitlines()) <= 8
    assert len(text) < 600
    assert "object at 0x" not in text


@pytest.mark.parametrize("name", [name for name in SHOWN if not name.startswith("set")])
def test_html_loads_nothing(name):
    ours = SHOWN[name]()._repr_html_().partition("<style>")[0]  # scikit-learn's diagram begins with its style
    html5lib.HTMLParser(strict=True).parseFragment(ours)
    assert "<script" not in ours
    assert "http" not in ours
    assert len(ours) < 6000


def test_fitted_estimator_shows_its_certificate_above_the_diagram():
    clf = fitted("svc", two_classes)
    for page in (clf._repr_html_(), clf._repr_mimebundle_()["text/html"]):
        card, diagram, rest = page.partition("<style>")
        assert clf.certificate_.sentence in card
        assert "Baseline, " not in card
        assert "Majority-class baseline (1)" in card
        assert diagram
        assert "StochasticSVC" in rest
    assert clf._repr_mimebundle_()["text/plain"] == repr(clf)


def test_unfitted_estimator_shows_its_diagram_only():
    assert StochasticSVC()._repr_html_().startswith("<style>")
    with sklearn.config_context(display="text"):
        assert not hasattr(StochasticSVC(), "_repr_html_")
        assert list(fitted("svc", two_classes)._repr_mimebundle_()) == ["text/plain"]


def test_requested_metrics_are_in_the_open():
    certificate = model("metrics").certificate_
    text, details = certificate._repr_html_().split("<details>")
    for metric in certificate.metrics:
        assert html.escape(metric.sentence) in text
        assert metric.sentence in str(certificate)
    assert "divergence K" in details


def test_names_are_escaped():
    clf = model("hostile")
    page = clf._repr_html_().partition("<style>")[0]
    assert SCRIPT not in page
    assert IMAGE not in page
    assert "&lt;" in page
    assert SCRIPT not in clf.certificate_._repr_html_()


def test_numbers_are_those_of_the_object():
    clf = fitted("svc", two_classes)
    assert f"{clf.posterior_.support_size} of {len(clf.classifiers_)}" in clf.posterior_._repr_html_()
    assert f"m={clf.classifiers_.m}" in repr(clf.classifiers_)
    assert f"{clf.classifiers_.risks.max():.4g}" in repr(clf.classifiers_)
    bound = repr(clf.certificate_).partition("bound=")[2].partition(",")[0]
    assert clf.certificate_.bound <= float(bound) < clf.certificate_.bound + 1e-4
