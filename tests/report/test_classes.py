"""Which errors: counted once more by predicting the validation rows, and said where a class is mostly missed."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from tests.estimators.models import fitted, three_classes, two_classes
from tests.report.browser_page import Page
from tests.report.models import (
    abstaining,
    breast_cancer,
    grouped,
    many_classes,
    rare,
    refitted,
    several_families,
    threshold,
)

from pacbayes.report import report_html
from pacbayes.report.classes import Confusion, uncounted
from pacbayes.report.view import ReportView


def validation(clf, X, y):
    rows = clf.classifiers_.splits(0)[1]
    return X[rows], np.asarray(y)[rows]


@pytest.mark.parametrize("voting", ["soft", "stochastic", "majority", "best"])
def test_every_way_of_predicting(voting):
    clf = copy(several_families()[0])
    clf.voting = voting
    X, y = validation(clf, *breast_cancer()[1])
    found = Confusion.of(ReportView.of(clf))
    assert np.array_equal(found.counts, confusion_matrix(y, clf.predict(X)))
    assert found.missed.sum() == round(clf.certificate_.empirical_risk * clf.certificate_.m)


@pytest.mark.parametrize("voting", ["stochastic", "majority", "best"])
def test_of_a_posterior(voting):
    """Of draws by weights of the validation rows: the mean over the draws."""
    clf = copy(breast_cancer()[0])
    clf.voting = voting
    X, y = validation(clf, *breast_cancer()[1])
    found = Confusion.of(ReportView.of(clf))
    if voting == "stochastic":
        each = [confusion_matrix(y, said, labels=[0, 1]) for said in clf.classifiers_.predict(X)]
        np.testing.assert_allclose(found.counts, np.tensordot(clf.weights_, np.array(each), axes=1))
        assert found.missed.sum() == pytest.approx(clf.certificate_.empirical_risk * len(y))
    else:
        assert np.array_equal(found.counts, confusion_matrix(y, clf.predict(X)))


def test_with_a_threshold():
    clf, (X, y) = threshold(), two_classes()
    rows, labels = validation(clf, X, np.array(["malignant", "benign"])[y])
    assert clf.certificate_.reached.passed
    found = Confusion.of(ReportView.of(clf))
    assert np.array_equal(found.counts, confusion_matrix(labels, clf.predict(rows)))
    assert found.missed.sum() == clf.certificate_.reached.errors


def test_where_not_all_are_answered():
    clf = abstaining()
    rows, labels = validation(clf, *two_classes())
    answers = clf.answers(rows)
    found = Confusion.of(ReportView.of(clf))
    assert 0 < answers.sum() < len(labels)
    assert np.array_equal(found.counts, confusion_matrix(labels[answers], clf.predict(rows)[answers], labels=[0, 1]))
    assert found.unanswered.tolist() == np.bincount(labels[~answers], minlength=2).tolist()
    assert found.table.columns[-1] == "not answered"
    assert found.by_class.columns == ("class", "validation rows", "answered", "missed", "share missed")


def test_of_a_refit_it_is_that_of_the_certified_classifier():
    clf = refitted()
    rows, labels = validation(clf, *two_classes())
    found = Confusion.of(ReportView.of(clf))
    assert np.array_equal(found.counts, confusion_matrix(labels, clf._fitted.certified("soft", rows)))
    page = Page(report_html(clf))
    assert page.text("sentence").endswith("get an answer that is covered and wrong.")
    assert "the certified classifier answered" in page.text("facts")
    assert page.column("table-limits", "who answers")[0] == "this model, wrong and covered"


def test_rows_of_groups():
    clf = grouped()
    found = Confusion.of(ReportView.of(clf))
    assert found.sizes.sum() == clf._fitted.evidence.truth.size > clf.certificate_.m
    assert found.by_class.columns[1] == "validation rows"


def test_a_rare_class_that_is_missed_is_named():
    clf = rare()
    X, y = ReportView.of(clf), Confusion.of(ReportView.of(clf))
    fraud = y.names.index("fraud")
    size, missed = int(y.sizes[fraud]), int(y.missed[fraud])
    assert missed > size / 2
    said = f"Class fraud is rare and often missed: {missed} of its {size} validation rows get another answer."
    assert y.warnings(clf.certificate_.bound) == [said]
    assert said in Page(report_html(X.model)).text("guarantee")
    assert Confusion.of(ReportView.of(fitted("grid", three_classes))).warnings(0.3) == []


def test_words_of_counts_by_hand():
    counts = np.array([[90.0, 1.0, 0, 0, 0], [3.0, 2.0, 0, 0, 0], [0.0] * 5, [20.0, 0, 0, 0, 10.0]])
    found = Confusion(("a", "b", "c", "d"), ("a", "b", "c", "d", "other"), counts, None, "rows")
    assert found.warnings(1.0) == [
        "Class b is rare and often missed: 3 of its 5 validation rows get another answer.",
        "Class c has no validation row: nothing is known of its errors.",
        "Class d is often missed: 30 of its 30 validation rows get another answer.",
    ]
    assert found.by_class.rows == [
        ("a", "91", "1", "1.1 %"),
        ("b", "5", "3", "60.0 %"),
        ("c", "0", "0", "–"),
        ("d", "30", "30", "100.0 %"),
    ]


def test_of_many_classes_the_worst_are_shown():
    found = Confusion.of(ReportView.of(many_classes()))
    assert found.table.columns == ("true class", "answer", "rows")
    shown = [int(row[2]) for row in found.table.rows]
    assert shown == sorted(shown, reverse=True)
    wrong = found.counts - np.diag(np.diagonal(found.counts))
    assert shown == sorted(wrong[wrong > 0].astype(int), reverse=True)[: len(shown)]
    classes = tuple(f"class {i}" for i in range(300))
    large = Confusion(classes, classes, np.eye(300) * 5 + np.eye(300, k=1) * np.arange(300)[:, None], None, "rows")
    assert len(large.by_class.rows) == 10
    assert large.by_class.rows[0][:3] == ("class 298", "303", "298")
    assert len(large.warnings(1.0)) == 4
    assert large.warnings(1.0)[-1].startswith("So it is with ")


def test_why_there_is_none():
    assert uncounted(ReportView.of(several_families()[0])) == ""
    view = ReportView.of(fitted("svc", two_classes, "independent"))
    assert "no row validated all classifiers" in uncounted(view)
    assert Confusion.of(view) is None


def test_a_row_at_the_threshold_is_answered():
    """As by `answers`: here the threshold is moved to the score of a validation row."""
    clf = copy(abstaining())
    plan = clf._fitted.plan
    place = plan.planned.index(plan.soft)
    score = float(np.sort(clf._fitted.evidence.scores[place])[20])
    moved = replace(clf.certificate_, answered=replace(clf.certificate_.answered, threshold=score))
    clf.certificates_ = dict(clf.certificates_) | {"soft": moved}
    rows, _ = validation(clf, *two_classes())
    assert Confusion.of(ReportView.of(clf)).answered.sum() == clf.answers(rows).sum() == len(rows) - 20
