"""The chart of a target, and the page around it: every number is that of the model."""

import numpy as np
import pytest
from tests.report.browser_page import Page
from tests.report.models import breast_cancer, with_target

from pacbayes.report.charts import coverage_chart
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
    assert page.text("sentence") == str(clf.certificate_)
    X, y = breast_cancer()[2]
    answers = clf.answers(X)
    errors = int(np.count_nonzero((clf.predict(X) != y)[answers]))
    assert f"Of 114 test rows it answered {answers.sum()}" in page.text("observed")
    assert f"erred {errors} times on these" in page.text("observed")
    assert "compared" not in page.ids


def test_nothing_answered():
    clf, html = with_target(0.001)
    page = Page(html)
    assert page.text("headline") == "Answers nothing: 0.1 % was not reached"
    assert "No threshold passed" in page.text("figure-coverage")
    assert "it answered 0 (0.0 %)" in page.text("observed")
    assert not clf.answers(breast_cancer()[2][0]).any()


def test_there_is_none_without_a_target():
    clf = breast_cancer()[0]
    assert coverage_chart(ReportView.of(clf)) is None


@pytest.mark.parametrize("width", [0, 1])
def test_the_threshold_in_use_is_marked(width):
    clf, _ = with_target()
    chart = coverage_chart(ReportView.of(clf))
    assert chart.drawings[width].count('class="minimum"') == 1
