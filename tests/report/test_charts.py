"""Charts of the page: drawn where the numbers are, in the page's colours; those of targets with every threshold."""

import re

import numpy as np
import pytest
from tests.estimators.models import two_classes
from tests.report.browser_page import Page
from tests.report.models import breast_cancer, with_target

from pacbayes import CertifiedClassifier, Threshold
from pacbayes.report import report_html
from pacbayes.report.charts import drawn, main_chart
from pacbayes.report.view import ReportView


def test_numbers_are_those_of_the_validation_rows():
    clf, html = with_target()
    head, rows = Page(html).table("table-coverage")
    assert head == ["answered", "share", "errors", "share of errors", "upper limit, alone"]
    (X, y), _ = breast_cancer()[1:]
    validation = clf.classifiers_.splits(0)[1]
    wrong = clf.predict(X[validation]) != y[validation]
    assert [int(rows[-1][0]), int(rows[-1][2])] == [validation.size, wrong.sum()]
    answered = clf.certificate_.answered
    assert [str(answered.rows), str(answered.errors)] in [[row[0], row[2]] for row in rows]


def test_the_page_says_what_is_answered():
    clf, html = with_target()
    page = Page(html)
    assert page.text("headline") == clf.certificate_.headline
    assert "errs on at most 5.0 % of the examples that it answers; it answered" in page.text("sentence")
    answered = clf.certificate_.answered
    assert f"it answered {answered.rows} ({100 * answered.share:.1f} %), {answered.errors} of them wrong" in page.text(
        "facts"
    )
    X, y = breast_cancer()[2]
    answers = clf.answers(X)
    errors = int(np.count_nonzero((clf.predict(X) != y)[answers]))
    assert f"Of 114 test rows it answered {answers.sum()}" in page.text("observed")
    assert f"erred {errors} times on these" in page.text("observed")
    assert "figure-limits" not in page.ids
    assert "threshold in use" in page.texts("coverage")


def test_nothing_answered():
    clf, html = with_target(0.001)
    page = Page(html)
    assert page.text("headline") == "Answers nothing: 0.1 % was not reached"
    assert page.text("sentence").startswith("The majority vote answers no example")
    assert f"At most {100 * clf.certificate_.answered.smallest_target:.1f} % would have been reached" in page.text(
        "facts"
    )
    assert "No threshold passed" in page.text("figure-coverage")
    assert "threshold in use" not in page.texts("coverage")
    assert "it answered 0 (0.0 %)" in page.text("observed")
    assert "table-classes" not in page.ids
    assert not clf.answers(breast_cancer()[2][0]).any()


@pytest.mark.parametrize(("target", "passed"), [(Threshold(recall=0.8), True), (Threshold(recall=0.999), False)])
def test_thresholds(target, passed):
    clf = CertifiedClassifier("logistic", target=target, cv=3, random_state=0).fit(*two_classes())
    reached, page = clf.certificate_.reached, Page(report_html(clf))
    assert reached.passed == passed
    head, rows = page.table("table-target")
    assert head == ["threshold", "recall", "precision", "false positive rate"]
    assert len(rows) == clf._fitted.plan.thresholds.values.size
    at = next(row for row in rows if row[0] == reached.shown)
    seen = (reached.recall, reached.precision, reached.fpr)
    assert at[1:] == [f"{100 * share:.1f} %" for share in seen]
    assert ("threshold in use" in page.texts("target")) == passed
    words = f"ecall of class {reached.positive!r} is at least {100 * target.recall:.1f} %"
    assert words in page.text("sentence")
    assert page.text("sentence").startswith("With probability" if passed else "No threshold was shown to reach")
    assert page.text("headline") == clf.certificate_.headline


def test_there_is_a_comparison_without_a_target():
    assert main_chart(ReportView.of(breast_cancer()[0])).ident == "limits"


def test_drawn_where_the_numbers_are():
    """The ends of bars lie on the scale of the ticks."""
    made = drawn(
        "x", 200, lambda axes: (axes.barh([0, 1], [0.25, 0.5], color="#1f4e79", label="a"), axes.set_xlim(0, 1))
    )
    bars = re.findall(r"<path d=\"M ([\d.]+) [\d.]+ \nL ([\d.]+) [^\"]*\" clip-path[^>]*var\(--risk\)", made)
    (left, first), (same, second) = ((float(one), float(other)) for one, other in bars)
    assert left == same
    assert second - left == pytest.approx(2 * (first - left), abs=0.01)
    assert drawn("x", 200, lambda axes: axes.plot([1], label="b")) == drawn(
        "x", 200, lambda axes: axes.plot([1], label="b")
    )


def test_text_is_not_taken_for_style_or_mathematics():
    text = 'style="fill: #1f4e79" $\\frac$ <b> id="y"'
    made = drawn("x", 200, lambda axes: (axes.plot([1], label="b"), axes.set_xlabel(text)))
    assert 'style="fill: #1f4e79" $\\frac$ &lt;b&gt; id="y"</text>' in made
