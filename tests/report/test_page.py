"""The page says what the model knows, in valid HTML that loads nothing; every number equals what Python gives."""

import re
from decimal import Decimal

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution
from tests.report.browser_page import HTML, SVG, Page
from tests.report.models import breast_cancer, breast_cancer_page

from pacbayes import DISTANCES, optimal_posterior
from pacbayes._utils.values import fingerprint
from pacbayes._utils.words import format_share
from pacbayes.report import report_html

# Words that a reader need not know before the details.
THEORY = r"\b(keys?|hedge|proposals?|rules?|levels?|Occam|posteriors?|priors?)\b"


@pytest.fixture(scope="module")
def clf():
    return breast_cancer()[0]


@pytest.fixture(scope="module")
def page():
    return Page(breast_cancer_page())


def is_rounded_up(text, value):
    """Return whether a text is the number rounded up to the decimals it has; percentages are of 1."""
    number = Decimal(text.removesuffix(" %"))
    exact = Decimal(min(value, 1.0)) * 100 if text.endswith("%") else Decimal(value)
    return 0 <= number - exact < Decimal(1).scaleb(number.as_tuple().exponent)


def test_loads_nothing(page):
    links = [value for one in page.root.iter() for name, value in one.attrib.items() if name in ("href", "src")]
    assert links == ["data:,"]
    within = re.findall(r'url\(([^)]*)\)|xlink:href="([^"]*)"', page.source)
    assert within
    assert all(one[0] == "#" and one[1:] in page.ids for one in map("".join, within))
    assert "@import" not in page.source
    policy = next(one for one in page.root.iter(f"{HTML}meta") if "Content-Security" in (one.get("http-equiv") or ""))
    assert policy.get("content").startswith("default-src 'none';")


def test_what_is_guaranteed(clf, page):
    certificate = clf.certificate_
    assert page.text("headline") == certificate.headline
    assert page.text("sentence") == certificate.sentence
    number = re.fullmatch(
        r"With probability at least 95 %, .* errs on at most (.*) of new examples\.", page.text("sentence")
    )
    assert is_rounded_up(number[1], certificate.bound)
    assert "Of 150 validation rows, which trained nothing, it answered" in page.text("facts")
    assert [one.text for one in page.ids["assumptions"]] == list(certificate.assumptions)
    X, y = breast_cancer()[2]
    errors = int(np.count_nonzero(clf.predict(X) != y))
    assert page.text("observed").startswith(f"On 114 test rows it erred {errors} times ({100 * errors / 114:.1f} %)")


def test_the_picture_has_the_limit_and_two_simpler_methods(clf, page):
    head, rows = page.table("table-limits")
    assert head == ["who answers", "errs on at most", "errors counted", "what it is"]
    baselines = clf.certificate_.baselines
    expected = [
        ("this model", clf.certificate_.bound, clf.certificate_.empirical_risk),
        *((name, one.bound, one.empirical_risk) for name, one in baselines.items() if name != "Occam"),
    ]
    assert len(rows) == len(expected) == 3
    written = page.texts("limits")
    for (label, limit, counted, _), (_, bound, risk) in zip(rows, expected, strict=True):
        assert is_rounded_up(limit, bound)
        assert counted == f"{100 * risk:.1f} %"
        assert written[written.index(label) + 1].strip() == f"at most {limit}"
    assert rows[1][0] == "one classifier, chosen by cross-validation (hold-out)"


def test_no_word_of_theory_before_the_details(page):
    before = page.source[page.source.index("<body>") : page.source.index('<section id="details"')]
    assert re.findall(THEORY, re.sub(r"<[^>]*>", " ", before), flags=re.IGNORECASE) == []
    assert re.findall(THEORY, page.text("details"))


def test_details_are_folded(page):
    folded = list(page.root.iter(f"{HTML}details"))
    assert len(folded) >= 4
    assert all(one.get("open") is None for one in folded)
    inside = {one for outer in folded for one in outer.iter()}
    for ident in ("table-certificates", "table-bounds", "table-weights", "table-record-3", "assumptions"):
        assert page.ids[ident] in inside
    for ident in ("headline", "figure-limits", "table-classes", "table-confusion", "must-hold"):
        assert page.ids[ident] not in inside


def test_what_must_hold(page):
    said = page.text("must-hold")
    for reason in ("independent", "learned from the rows", "fixed before results", "trained anew", "5 %"):
        assert reason in said


def test_numbers_of_the_classifiers(clf, page):
    head, rows = page.table("table-risks")
    assert head == ["λ", "classifier", "validation risk", "posterior weight", "test error"]
    assert len(rows) == len(clf.classifiers_)
    X, y = breast_cancer()[2]
    tested = (clf.classifiers_.predict(X) != y).mean(axis=1)
    for lam, i, risk, weight, test in rows:
        assert float(lam) == pytest.approx(clf.classifiers_.params[int(i)]["lambda"], rel=1e-3)
        assert is_rounded_up(risk, clf.classifiers_.risks[int(i)])
        assert float(weight) == pytest.approx(clf.posterior_.weights[int(i)], rel=1e-3)
        assert float(test) == pytest.approx(tested[int(i)], abs=1.1e-5)


def test_bounds_and_baselines(clf, page):
    risks, errors, m = clf.classifiers_.risks, clf.classifiers_.errors, clf.classifiers_.m
    bounds = dict(zip(page.column("table-bounds", "guarantee"), page.column("table-bounds", "bound"), strict=True))
    for name in DISTANCES:
        expected = optimal_posterior(risks, m, distance=name).bound
        assert float(bounds.pop(f"stochastic classifier, {name}")) == pytest.approx(expected, abs=1.1e-5)
    assert is_rounded_up(bounds.pop("majority vote"), 2 * clf.certificate_.bound)
    k, level = int(errors.min()), 0.05 / len(errors)
    occam = beta_distribution.ppf(1 - level, k + 1, m - k)
    assert float(bounds.pop("best single classifier (Occam)")) == pytest.approx(occam, abs=1.1e-5)
    hold_out = bounds.pop("hold-out, chosen by cross-validation")
    k = round(clf.certificate_.baselines["hold-out"].empirical_risk * m)
    assert float(hold_out) == pytest.approx(beta_distribution.ppf(0.95, k + 1, m - k), abs=1.1e-5)
    labels = breast_cancer()[1][1]
    train, validation = clf.classifiers_.splits(0)
    k = int(np.count_nonzero(labels[validation] != np.bincount(labels[train]).argmax()))
    constant = bounds.pop("always the most frequent class")
    assert float(constant) == pytest.approx(beta_distribution.ppf(0.95, k + 1, m - k), abs=1.1e-5)
    assert not bounds


def test_the_vote_is_shown_with_its_own_errors(clf, page):
    """Counted once more from the shares of the votes, on the rows that validated."""
    X, y = (values[clf.classifiers_.splits(0)[1]] for values in breast_cancer()[1])
    errors = int(np.count_nonzero(clf.classes_[clf.vote_share(X).argmax(axis=1)] != y))
    assert clf.vote_errors_ == errors != round(clf.certificate_.empirical_risk * len(y))
    names, risks = (page.column("table-bounds", name) for name in ("guarantee", "validation risk"))
    place = names.index("majority vote")
    assert is_rounded_up(risks[place], errors / len(y))
    assert "is not computed from them" in page.column("table-bounds", "what it is")[place]


def test_classifiers_that_carry_the_weight(clf, page):
    head, rows = page.table("table-weights")
    assert head == ["lambda", "machines", "weight", "weight so far", "validation errors", "test errors"]
    lambdas = np.array([setting["lambda"] for setting in clf.classifiers_.params])
    X, y = breast_cancer()[2]
    tested = (clf.classifiers_.predict(X) != y).mean(axis=1)
    so_far, seen = 0.0, []
    for label, number, weight, total, errors, test in rows:
        first, last = float(label.split(" to ")[0]), float(label.split(" to ")[-1])
        run = np.flatnonzero((lambdas >= 0.999 * first) & (lambdas <= 1.001 * last))
        assert run.size == int(number)
        assert len(set(clf.classifiers_.errors[run].tolist())) == 1
        seen.append(clf.posterior_.weights[run].sum())
        so_far += seen[-1]
        assert (weight, total) == (format_share(seen[-1]), f"{100 * so_far:.1f} %")
        assert errors == f"{100 * clf.classifiers_.risks[run[0]]:.1f} %"
        ends = [f"{100 * end(tested[run]):.1f} %" for end in (np.min, np.max)]
        assert test == (ends[0] if ends[0] == ends[1] else " to ".join(ends))
    assert seen == sorted(seen, reverse=True)
    assert so_far >= 0.99 or len(rows) == 20


def test_certificates_and_facts(clf, page):
    head, rows = page.table("table-certificates")
    assert head == [
        "", "stochastic classifier (this model)", "majority vote", "best single classifier", "always 1"
    ]  # fmt: skip
    cells = {name: values for name, *values in rows}
    bounds = [one.bound for one in clf.certificates_.values()] + [
        clf.certificate_.baselines["most frequent class"].bound
    ]
    assert [float(value) for value in cells["bound B"]] == bounds
    assert all(is_rounded_up(text, value) for text, value in zip(cells["errs on at most"], bounds, strict=True))
    X, y = breast_cancer()[2]
    errors = {"best": int(np.count_nonzero(clf.best_estimator_.predict(X) != y))}
    assert cells["test errors"][2] == f"{100 * errors['best'] / 114:.1f} % of 114"
    assert cells["test errors"][3] == f"{100 * np.mean(y != 1):.1f} % of 114"
    facts = dict(page.table("table-record-1")[1])
    X, y = breast_cancer()[1]
    assert facts["SHA-256 of the rows"] == fingerprint(X)
    assert facts["SHA-256 of the labels"] == fingerprint(y)
    assert (facts["rows"], facts["validation rows m"]) == ("455", "150")
    assert "wdbc.csv" in [one.text for one in page.root.iter(f"{HTML}p")]
    assert facts["classes"] == f"0 ({np.sum(y == 0)} rows), 1 ({np.sum(y == 1)} rows)"
    parameters = dict(page.table("table-record-2")[1])
    assert set(parameters) == set(clf.get_params(deep=False))
    assert (parameters["validation_size"], parameters["lambdas"]) == ("150", "40 values from 0.02 to 30")
    assert dict(page.table("table-record-3")[1])["numpy"] == np.__version__


def test_drawings_are_described(page):
    drawings = list(page.root.iter(f"{SVG}svg"))
    assert len(drawings) == 3
    for drawing in drawings:
        title, description = (page.ids[ident] for ident in drawing.get("aria-labelledby").split())
        assert drawing.get("role") == "img"
        assert title.text
        assert len(description.text) > 40
        assert title in drawing
        # Colours are those of the page, which has others on a dark screen.
        colours = re.findall(r"(?:fill|stroke): ([^;\"]+)", ";".join(one.get("style", "") for one in drawing.iter()))
        assert {one for one in colours if not one.startswith("var(--")} <= {"none"}


def test_the_same_model_has_the_same_page(clf):
    def drawings(title):
        return [
            re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", line) for line in report_html(clf, title=title).splitlines()
        ]

    assert drawings("a") == drawings("a")
