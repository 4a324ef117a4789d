"""The report is valid HTML that loads nothing, and its numbers equal those of Python."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta as beta_distribution
from tests.report.browser_page import HTML, SVG, Page
from tests.report.models import model, page_of, rows

from pacbayes import DISTANCES, CertifiedClassifier, load, optimal_posterior, save
from pacbayes._utils.values import fingerprint
from pacbayes.report import report_html

# Technical terms that belong to the details.
THEORY = r"\b(keys?|hedge|proposals?|rules?|levels?|Occam|posteriors?|priors?)\b"


@pytest.fixture(scope="module")
def clf():
    return model("posterior")


@pytest.fixture(scope="module")
def page():
    return Page(page_of("posterior"))


@pytest.fixture(scope="module")
def tested(clf):
    """Test error rate of each classifier."""
    X, y = rows()[1]
    return (clf.classifiers_.predict(X) != y).mean(axis=1)


def is_rounded_up(text, value):
    """Whether a text, possibly a percentage, is the number rounded up to its decimals."""
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


def test_guarantee(clf, page):
    number = re.search(r"on new examples is at most (.*)\.", page.text("sentence"))
    assert is_rounded_up(number[1], clf.certificate_.bound)
    X, y = rows()[1]
    errors = int(np.count_nonzero(clf.predict(X) != y))
    assert page.text("observed").startswith(f"{errors} errors on 114 test rows ({100 * errors / 114:.1f} %)")
    for reason in ("independent", "trained on its validation set", "fixed before validation", "retraining", "5 %"):
        assert reason in page.text("must-hold")


def test_plot_has_the_bound_and_two_simpler_methods(clf, page):
    _, cells = page.table("table-certificate")
    baselines = clf.certificate_.baselines
    assert [row[0] for row in cells] == [
        "this model", "one classifier, chosen by cross-validation (holdout)", "majority-class baseline"
    ]  # fmt: skip
    expected = (clf.certificate_, baselines["holdout"], baselines["majority class"])
    for (label, bound, counted, _), claim in zip(cells, expected, strict=True):
        assert is_rounded_up(bound, claim.bound)
        assert counted == f"{100 * claim.empirical_risk:.1f} %"
        written = page.texts("certificate")
        assert written[written.index(label) + 1].strip() == f"at most {bound}"


def test_technical_terms_are_in_the_collapsed_details_only(page):
    before = page.source[page.source.index("<body>") : page.source.index('<section id="details"')]
    assert re.findall(THEORY, re.sub(r"<[^>]*>", " ", before), flags=re.IGNORECASE) == []
    assert re.findall(THEORY, page.text("details"))
    folded = list(page.root.iter(f"{HTML}details"))
    assert all(one.get("open") is None for one in folded)
    inside = {one for outer in folded for one in outer.iter()}
    for ident in ("table-certificates", "table-bounds", "table-weights", "table-record-3", "assumptions"):
        assert page.ids[ident] in inside
    for ident in ("headline", "figure-certificate", "table-classes", "table-confusion", "must-hold"):
        assert page.ids[ident] not in inside


def test_bounds_and_baselines(clf, page):
    risks, errors, m = clf.classifiers_.risks, clf.classifiers_.errors, clf.classifiers_.m
    _, cells = page.table("table-bounds")
    k = round(clf.certificate_.baselines["holdout"].empirical_risk * m)
    expected = {
        ("stochastic classifier", name): optimal_posterior(risks, m, distance=name).bound for name in DISTANCES
    } | {
        ("best single classifier", "Occam"): beta_distribution.isf(
            0.05 / len(errors), errors.min() + 1, m - errors.min()
        ),
        ("cross-validated classifier", "holdout"): beta_distribution.isf(0.05, k + 1, m - k),
    }
    assert {(classifier, name) for name, classifier, *_ in cells} == set(expected)
    assert all(is_rounded_up(bound, expected[classifier, name]) for name, classifier, bound, _ in cells)
    labels = rows()[0][1]
    train, validation = clf.classifiers_.splits(0)
    k = int(np.count_nonzero(labels[validation] != np.bincount(labels[train]).argmax()))
    cells = {name: values for name, *values in page.table("table-certificates")[1]}
    assert is_rounded_up(cells["bound B"][-1], beta_distribution.isf(0.05, k + 1, m - k))


def test_classifiers_with_the_largest_weights(clf, page, tested):
    head, lines = page.table("table-weights")
    assert head == ["lambda", "SVMs", "weight", "cumulative weight", "validation error", "test error"]
    lambdas = np.array([setting["lambda"] for setting in clf.classifiers_.params])
    seen, shown = [], 0
    for label, number, *cells in lines:
        first, last = float(label.split(" to ")[0]), float(label.split(" to ")[-1])
        run = np.flatnonzero((lambdas >= 0.999 * first) & (lambdas <= 1.001 * last))
        assert run.size == int(number)
        assert len(set(clf.classifiers_.errors[run].tolist())) == 1
        seen.append(clf.posterior_.weights[run].sum())
        shown += run.size
        shares = [seen[-1], sum(seen), clf.classifiers_.risks[run[0]]]
        assert [float(cell.removesuffix(" %")) for cell in cells[:3]] == pytest.approx(
            np.multiply(100, shares), abs=0.051
        )
        ends = dict.fromkeys(f"{100 * end(tested[run]):.1f} %" for end in (np.min, np.max))
        assert cells[3] == " to ".join(ends)
    assert seen == sorted(seen, reverse=True)
    assert sum(seen) >= 0.99 or len(lines) == 20
    left = np.count_nonzero(clf.posterior_.weights) - shown
    note = page.text("table-weights-note")
    assert (f"Not listed: {40 - shown} of 40 classifiers, {left} of them with weight." in note) == (shown < 40)


def test_certificates(clf, page, tested):
    head, lines = page.table("table-certificates")
    assert head == [
        "", "stochastic classifier (this model)", "majority vote", "best single classifier", "majority class (1)"
    ]  # fmt: skip
    cells = {name: values for name, *values in lines}
    bounds = [one.bound for one in clf.certificates_.values()]
    bounds.append(clf.certificate_.baselines["majority class"].bound)
    assert all(is_rounded_up(text, value) for text, value in zip(cells["bound B"], bounds, strict=True))
    assert all(is_rounded_up(text, value) for text, value in zip(cells["error rate at most"], bounds, strict=True))
    X, y = rows()[1]
    assert cells["test error"][2:] == [
        f"{100 * share:.1f} % of 114" for share in (tested[clf.best_index_], np.mean(y != 1))
    ]
    # The errors of the vote are recomputed from the vote shares.
    X, y = (values[clf.classifiers_.splits(0)[1]] for values in rows()[0])
    errors = int(np.count_nonzero(clf.classes_[clf.vote_share(X).argmax(axis=1)] != y))
    assert clf.vote_errors_ == errors != round(clf.certificate_.empirical_risk * len(y))
    assert cells["validation error"][1] == f"{100 * errors / len(y):.1f} %"
    assert "does not depend on the errors of the vote" in page.text("table-certificates-note")


def test_record(clf, page):
    facts = dict(page.table("table-record-1")[1])
    X, y = rows()[0]
    assert facts["SHA-256 of the rows"] == fingerprint(X)
    assert facts["SHA-256 of the labels"] == fingerprint(y)
    assert (facts["rows"], facts["training rows"], facts["validation rows m"]) == ("455", "305", "150")
    assert "wdbc.csv" in [one.text for one in page.root.iter(f"{HTML}p")]
    assert facts["classes"] == f"0 ({np.sum(y == 0)} rows), 1 ({np.sum(y == 1)} rows)"
    parameters = dict(page.table("table-record-2")[1])
    assert set(parameters) == set(clf.get_params(deep=False))
    assert (parameters["validation_size"], parameters["lambdas"]) == ("150", "40 values from 0.02 to 30")
    assert dict(page.table("table-record-3")[1])["numpy"] == np.__version__


def test_plots_have_descriptions_and_the_colours_of_the_page(page):
    """The page has other colours in dark mode and in print, and fixed colours would stay."""
    drawings = list(page.root.iter(f"{SVG}svg"))
    assert len(drawings) == 3
    for drawing in drawings:
        title, description = (page.ids[ident] for ident in drawing.get("aria-labelledby").split())
        assert drawing.get("role") == "img"
        assert title.text
        assert len(description.text) > 40
        assert page.table(f"table-{title.get('id').removesuffix('-title')}")[1]
        styles = ";".join(one.get("style", "") for one in drawing.iter())
        colours = re.findall(r"(?:fill|stroke): ([^;\"]+)", styles)
        assert {one for one in colours if not one.startswith("var(--")} <= {"none"}
        assert "font-family" not in styles
    named = set(re.findall(r"var\((--\w+)\)", page.source))
    dark = page.source[page.source.index("prefers-color-scheme: dark") :].partition("}\n}")[0]
    assert {"--text", "--page", "--accent", "--risk", "--light"} <= named
    assert all(f"{name}:" in dark for name in named)


def test_lengths_of_intervals(clf, page):
    """They are proportional to the bounds."""
    drawing = page.source[page.source.index('id="figure-certificate"') :].partition("</svg>")[0]
    lines = re.findall(r'd="M ([\d.]+) [\d.]+ \nL ([\d.]+) [^"]*" clip-path[^>]*stroke: var\(--(\w+)\)', drawing)
    assert [name for *_, name in lines] == ["accent", "risk", "risk"]
    bounds = [one.bound for one in (clf.certificate_, clf.certificate_.baselines["holdout"])]
    widths = [float(end) - float(start) for start, end, _ in lines]
    assert widths[1] / widths[0] == pytest.approx(bounds[1] / (bounds[0] - (clf.certificate_.lower or 0.0)), abs=1e-3)


def test_head(clf, page):
    expected = rf"fitted{clf._fitted.date}withpacbayes [\d.a-z]+data fingerprint[0-9a-f]{{16}}ownernot stated"
    assert re.fullmatch(expected, page.text("head"))
    named = Page(report_html(clf, owner="Jane <Doe>"))
    assert named.text("head").endswith("ownerJane <Doe>")
    assert dict(page.table("table-record-1")[1]).keys() == dict(named.table("table-record-1")[1]).keys()
    with pytest.raises(TypeError, match="owner must be a string or None, got 3"):
        report_html(clf, owner=3)


def test_same_model_has_the_same_bytes(clf, tmp_path, monkeypatch):
    """Also on another day: the date is that of the fit."""
    before = report_html(clf, title="a")
    save(clf, tmp_path / "model")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert report_html(clf, title="a") == before == report_html(load(tmp_path / "model"), title="a")
    clf = CertifiedClassifier("logistic", cv=2, random_state=0).fit([[i % 5, i % 3] for i in range(60)], [0, 1] * 30)
    assert "<dd>1970-01-01</dd>" in report_html(clf)


def test_what_was_made_of_each_column():
    X = pd.DataFrame({"age": [31.0, None, 52.0] * 40, "blood": ["A", "B", "0", "AB"] * 30})
    clf = CertifiedClassifier("logistic", cv=2, random_state=0).fit(X, [0, 1, 1] * 40)
    made = {name: (kind, used) for name, kind, used in Page(report_html(clf)).table("table-columns")[1]}
    assert made["age"] == ("number", f"the number; if missing, {clf._fitted.table_encoder.medians_['age']:.4g}")
    assert made["blood"] == ("category", "one column for each of 4 values")
    assert "one column for each of 4 values" in clf.model_card()


def test_numbers_are_aligned_on_the_right_and_short(page):
    cells = [one for one in page.root.iter(f"{HTML}td") if one.get("class") == "number"]
    numbers = {"".join(one.itertext()) for one in cells}
    for table in ("classes", "confusion", "weights"):
        assert {cell for row in page.table(f"table-{table}")[1] for cell in row[1:]} <= numbers
    assert all(re.search(r"\d|–", text) for text in numbers)
    shown = re.findall(r"\d+\.\d+", re.sub(r"<svg.*?</svg>", "", page.source, flags=re.DOTALL))
    assert [text for text in shown if len(text.replace(".", "").lstrip("0")) > 6] == []
