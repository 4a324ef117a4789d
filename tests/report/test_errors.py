"""Confusion matrices, against predictions of the validation rows, and warnings about missed classes."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from tests.estimators.models import two_classes
from tests.report.browser_page import Page
from tests.report.models import model, page_of, rows

from pacbayes.report import report_html
from pacbayes.report.guarantee import Confusion


def shown(clf):
    """Page, confusion matrix and rows by class of its tables, with abstentions in the last column."""
    page = Page(report_html(clf))
    tables = [np.array([row[1:] for row in page.table(f"table-{name}")[1]]) for name in ("confusion", "classes")]
    return page, tables[0].astype(float), tables[1][:, :-1].astype(float)


def validation(clf, X, y):
    rows = clf.classifiers_.splits(0)[1]
    return X[rows], np.asarray(y)[rows]


@pytest.mark.parametrize(
    ("name", "voting"),
    [("soft", voting) for voting in ("soft", "stochastic", "majority", "best")]
    + [("posterior", voting) for voting in ("majority", "best")],
)
def test_every_voting(name, voting):
    clf = copy(model(name))
    clf.voting = voting
    X, y = validation(clf, *rows()[0])
    _, counts, classes = shown(clf)
    assert np.array_equal(counts, confusion_matrix(y, clf.predict(X)))
    assert np.array_equal(classes, np.c_[counts.sum(axis=1), counts.sum(axis=1) - counts.diagonal()])


def test_draws_of_the_posterior_are_averaged():
    clf = model("posterior")
    X, y = validation(clf, *rows()[0])
    each = [confusion_matrix(y, labels, labels=[0, 1]) for labels in clf.classifiers_.predict(X)]
    page, counts, classes = shown(clf)
    np.testing.assert_allclose(counts, np.tensordot(clf.weights_, np.array(each), axes=1), atol=0.051)
    assert classes[:, 1].sum() == pytest.approx(clf.certificate_.empirical_risk * len(y), abs=0.11)
    assert page.text("table-classes-note") == "Means over random draws."


@pytest.mark.parametrize("moved", [False, True])
def test_with_abstention(moved):
    """A row at the threshold is accepted: here the threshold is the score of a validation row."""
    clf = copy(model("abstain"))
    new, labels = validation(clf, *two_classes())
    if moved:
        score = float(
            np.sort(clf._fitted.predictions.scores[clf._fitted.plan.fixed_rules.index(clf._fitted.plan.soft)])[20]
        )
        moved_result = replace(clf.certificate_.decision, threshold=score)
        clf.certificates_ = dict(clf.certificates_) | {"soft": replace(clf.certificate_, decision=moved_result)}
    answers = clf.accepts(new)
    page, counts, classes = shown(clf)
    assert 0 < answers.sum() < len(labels)
    assert answers.sum() == len(new) - 20 or not moved
    expected = confusion_matrix(labels[answers], clf.predict(new)[answers], labels=[0, 1])
    left = np.bincount(labels[~answers], minlength=2)
    assert np.array_equal(counts, np.c_[expected, left])
    sizes = expected.sum(axis=1)
    assert np.array_equal(classes, np.c_[sizes + left, sizes, sizes - expected.diagonal()])
    assert page.table("table-confusion")[0][-1] == "rejected"
    assert page.table("table-classes")[0] == ["class", "validation rows", "accepted", "errors", "error rate"]


def test_with_a_refit_it_is_that_of_the_certified_classifier():
    clf = model("refit")
    new, labels = validation(clf, *two_classes())
    assert np.array_equal(shown(clf)[1], confusion_matrix(labels, clf._fitted.predict_certified("soft", new)))


def test_missed_rare_class_is_named():
    page, _, classes = shown(model("rare"))
    size, missed = classes[page.column("table-classes", "class").index("fraud")].astype(int)
    assert missed > size / 2
    warning = f"Class fraud is rare and often missed: {missed} of its {size} validation rows are misclassified."
    assert page.text("guarantee").count(warning) == page.text("guarantee").count("often missed") == 1
    # The certificate has the same warning, which is not repeated.
    assert str(model("rare").certificate_.minority_class_missed) not in page.text("facts")
    assert "often missed" not in Page(page_of("grid")).text("guarantee")


def test_sentences_of_counts():
    counts = np.array([[90.0, 1.0, 0, 0, 0], [3.0, 2.0, 0, 0, 0], [0.0] * 5, [20.0, 0, 0, 0, 10.0]])
    found = Confusion(("a", "b", "c", "d", "other"), counts)
    assert found.warnings(1.0) == [
        "Class b is rare and often missed: 3 of its 5 validation rows are misclassified.",
        "Class c has no validation rows: its error rate is unknown.",
        "Class d is often missed: 30 of its 30 validation rows are misclassified.",
    ]
    assert found.by_class.rows == [
        ("a", "91", "1", "1.1 %"),
        ("b", "5", "3", "60.0 %"),
        ("c", "0", "0", "–"),
        ("d", "30", "30", "100.0 %"),
    ]
    # Two labels with the same text have a column each.
    assert Confusion(("1", "1"), np.array([[5.0, 1.0], [2.0, 4.0]])).table.rows == [("1", "5", "1"), ("1", "2", "4")]


def test_many_classes_show_the_worst():
    clf = model("many classes")
    page = Page(page_of("many classes"))
    X, y = validation(clf, *load_digits(return_X_y=True))
    wrong = confusion_matrix(y, clf.predict(X))
    np.fill_diagonal(wrong, 0)
    head, cells = page.table("table-confusion")
    assert head == ["true class", "predicted class", "rows"]
    assert [int(row[2]) for row in cells] == sorted(wrong[wrong > 0].tolist(), reverse=True)[: len(cells)]
    assert all(wrong[int(true), int(answer)] == int(number) for true, answer, number in cells)
    classes = tuple(f"class {i}" for i in range(300))
    large = Confusion(classes, np.eye(300) * 5 + np.eye(300, k=1) * np.arange(300)[:, None])
    assert len(large.by_class.rows) == 10
    assert large.by_class.rows[0][:3] == ("class 298", "303", "298")
    assert large.by_class.caption == "The 10 of 300 classes with the most errors."
    assert len(large.warnings(1.0)) == 4
    assert large.warnings(1.0)[-1].startswith("The same holds for ")
