"""The page says what the model knows, in valid HTML that loads nothing; every number equals what Python gives."""

import math
from decimal import Decimal

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution
from tests.report.browser_page import HTML, SVG, Page, points_of, scale_of
from tests.report.models import breast_cancer, breast_cancer_page

from pacbayes import DISTANCES, bound, gibbs_posterior, optimal_posterior
from pacbayes.runtime.fingerprint import fingerprint


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
    assert links
    assert all(link == "data:," or link.removeprefix("#") in page.ids for link in links)
    assert "url(" not in page.source
    assert "@import" not in page.source
    policy = next(one for one in page.root.iter(f"{HTML}meta") if "Content-Security" in (one.get("http-equiv") or ""))
    assert policy.get("content").startswith("default-src 'none';")


def test_what_is_guaranteed(clf, page):
    certificate = clf.certificate_
    assert page.text("sentence") == str(certificate)
    number = page.text("headline").removeprefix("At most ").removesuffix(" errors")
    assert is_rounded_up(number, certificate.bound)
    assert [one.text for one in page.ids["assumptions"]] == list(certificate.assumptions)
    X, y = breast_cancer()[2]
    errors = int(np.count_nonzero(clf.predict(X) != y))
    assert page.text("observed").startswith(f"On 114 test rows it erred {errors} times ({100 * errors / 114:.1f} %)")


def test_comparison_names_what_is_smaller(clf, page):
    others = [clf.certificate_.baselines[name].bound for name in ("Occam", "hold-out", "most frequent class")]
    for line, other in zip(page.ids["compared"], others, strict=True):
        said, than = line.text.split(" errs on at most ")[1].split(": ")
        assert is_rounded_up(said, other)
        own = page.text("headline").removeprefix("At most ").removesuffix(" errors")
        order = "about the same as" if said == own else "less than" if other < clf.certificate_.bound else "more than"
        assert than == f"{order} this certificate."


def test_what_would_break_it(page):
    said = page.text("breaks")
    for reason in ("not independent", "learned from validation rows", "chosen after results", "trained anew", "5 %"):
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


def test_the_bar_of_the_vote_shows_its_own_errors(clf, page):
    """Counted once more from the shares of the votes, on the rows that validated."""
    X, y = (values[clf.classifiers_.splits(0)[1]] for values in breast_cancer()[1])
    errors = int(np.count_nonzero(clf.classes_[clf.vote_share(X).argmax(axis=1)] != y))
    assert clf.vote_errors_ == errors != round(clf.certificate_.empirical_risk * len(y))
    names, risks = (page.column("table-bounds", name) for name in ("guarantee", "validation risk"))
    place = names.index("majority vote")
    assert is_rounded_up(risks[place], errors / len(y))
    inner = [one for one in page.ids["figure-bounds"].iter(f"{SVG}rect") if one.get("class") == "bar-risk"]
    width = float(inner[place].get("width")) / float(inner[names.index("stochastic classifier, kl")].get("width"))
    assert width == pytest.approx(errors / len(y) / clf.certificate_.empirical_risk, rel=0.02)
    assert "is not computed from them" in page.column("table-bounds", "what it is")[place]
    assert "the share of the vote's own errors" in page.text("figure-bounds")


def test_bound_along_the_curve(clf, page):
    risks, m = clf.classifiers_.risks, clf.classifiers_.m
    _, rows = page.table("table-gibbs")
    for _, beta, _, _, value in rows[::7]:
        assert is_rounded_up(value, bound(gibbs_posterior(risks, float(beta)), risks, m))
        assert float(value) >= clf.posterior_.lower_bound
    caption = page.text("figure-gibbs")
    lower = caption.split("has a bound below ")[1].split(":")[0]
    assert Decimal(lower) <= Decimal(clf.posterior_.lower_bound) < Decimal(lower) + Decimal("1e-10")
    digits, power = caption.split("the gap to this one is at most ")[1].split(".The")[0].rstrip(".").split(" × ")
    exponent = int(power.split(".")[0].removeprefix("10").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))
    assert 0 <= float(digits) * 10.0**exponent - clf.posterior_.gap <= 0.11 * 10.0**exponent


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
        assert (weight, total) == (f"{100 * seen[-1]:.1f} %", f"{100 * so_far:.1f} %")
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


@pytest.mark.parametrize("kind", ["wide", "narrow"])
def test_drawn_where_the_numbers_are(clf, page, kind):
    drawing = page.drawing(f"risks-{kind}")
    order = np.argsort([setting["lambda"] for setting in clf.classifiers_.params])
    percents = [one for one in drawing.iter(f"{SVG}text") if one.text.endswith("%") and float(one.get("y")) > 150]
    (low, y_low), (high, y_high) = scale_of(drawing, percents, "y")
    drawn = np.array([y for _, y in points_of(drawing, "risk")])
    # Labels stand four pixels below their line.
    shares = low + (drawn - (y_low - 4)) * (high - low) / (y_high - y_low)
    np.testing.assert_allclose(shares, clf.classifiers_.risks[order], atol=0.1 * (high - low) / abs(y_high - y_low))


@pytest.mark.parametrize("kind", ["wide", "narrow"])
def test_bars_end_where_the_bounds_are(page, kind):
    drawing = page.drawing(f"bounds-{kind}")
    middle = [
        one for one in drawing.iter(f"{SVG}text") if one.text.endswith("%") and one.get("text-anchor") == "middle"
    ]
    (low, x_low), (high, x_high) = scale_of(drawing, middle, "x")
    bars = [one for one in drawing.iter(f"{SVG}rect") if one.get("class") in ("bar", "bar-own")]
    ends = np.array([float(bar.get("x")) + float(bar.get("width")) for bar in bars])
    shares = low + (ends - x_low) * (high - low) / (x_high - x_low)
    expected = [float(value) for value in page.column("table-bounds", "bound")]
    np.testing.assert_allclose(shares, expected, atol=0.2 * (high - low) / (x_high - x_low))
    assert [bar.get("class") for bar in bars].count("bar-own") == 1


def test_drawings_are_described(clf, page):
    drawings = list(page.root.iter(f"{SVG}svg"))
    assert len(drawings) == 6
    for drawing in drawings:
        title, description = (page.ids[ident] for ident in drawing.get("aria-labelledby").split())
        assert drawing.get("role") == "img"
        assert title.text
        assert len(description.text) > 40
    assert math.isfinite(clf.posterior_.beta)
