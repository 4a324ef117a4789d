"""Comparisons of two classifiers: sentences with the right signs, groups, and invalid input."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pacbayes import CertifiedClassifier, Difference, StochasticSVC, certify_difference, compare_classifiers
from pacbayes.bounds.trinomial import difference_upper


def rows(m, only_a, only_b, both=0):
    wrong_a, wrong_b = np.zeros(m, dtype=bool), np.zeros(m, dtype=bool)
    wrong_a[: only_a + both] = True
    wrong_b[only_a : only_a + both + only_b] = True
    return wrong_a, wrong_b


def text_of(lower, upper):
    return str(Difference(lower, upper, 0.05, 100, 1, 2, 3)).partition("confidence, the error rate of B is ")[2]


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (-0.0011, 0.0041, "at most 0.5 percentage points higher and at most 0.2 lower than that of A."),
        (-0.0121, -0.0019, "at least 0.1 and at most 1.3 percentage points lower than that of A."),
        (0.0019, 0.0121, "at least 0.1 and at most 1.3 percentage points higher than that of A."),
        (0.0, 0.01, "at most 1.1 percentage points higher and at most 0.0 lower than that of A."),
        (-1.0, 1.0, "at most 100.0 percentage points higher and at most 100.0 lower than that of A."),
        (-0.01, -1e-9, "at least 0.0 and at most 1.1 percentage points lower than that of A."),
    ],
)
def test_sentences_are_rounded_conservatively(lower, upper, expected):
    # 0.01 as a double is above 1/100.
    assert text_of(lower, upper) == expected


def test_exchanging_the_classifiers_mirrors_the_difference():
    a, b = rows(300, 12, 8, both=20)
    found, other = certify_difference(a, b, 0.1), certify_difference(b, a, 0.1)
    assert (found.only_a, found.only_b, found.both, found.m) == (12, 8, 20, 300)
    assert found.upper == difference_upper(12, 8, 300, 0.05)
    assert (other.lower, other.upper) == (-found.upper, -found.lower)
    assert found.observed == pytest.approx(-4 / 300)
    assert found.better is None
    assert certify_difference(*rows(300, 40, 5)).better == "B"
    assert certify_difference(*rows(300, 5, 40), names=("old", "new")).better == "old"


@pytest.mark.parametrize(
    ("wrong_a", "wrong_b", "error", "message"),
    [
        (5, 7, TypeError, "got 5. Counts do not"),
        ([1, 0], [1, 0, 0], ValueError, "each row, got 2 and 3"),
        ([3, 5], [0, 1], ValueError, "wrong_a must contain a boolean, or 0 or 1, for every row; got 3"),
        (["a", "b"], ["a", "c"], TypeError, "got dtype"),
    ],
)
def test_invalid_errors(wrong_a, wrong_b, error, message):
    with pytest.raises(error, match=message):
        certify_difference(wrong_a, wrong_b)


def test_classifiers_and_their_predictions():
    X, y = make_classification(600, 5, random_state=0)
    a = LogisticRegression().fit(X[:200], y[:200])
    b = DecisionTreeClassifier(random_state=0).fit(X[:200], y[:200])
    found = compare_classifiers(a, b, X[200:], y[200:])
    assert found == certify_difference(a.predict(X[200:]) != y[200:], b.predict(X[200:]) != y[200:])
    assert found == compare_classifiers(a.predict(X[200:]), b, X[200:], y[200:])
    with pytest.raises(ValueError, match="X must contain the rows that a predicts"):
        compare_classifiers(a, b, None, y[200:])
    with pytest.raises(ValueError, match="b must return one label for each of the 400 rows"):
        compare_classifiers(a, [1, 2], X[200:], y[200:])
    with pytest.raises(ValueError, match="y must be one-dimensional"):
        compare_classifiers(a, b, X, y[:, None])


@pytest.mark.parametrize(
    "y_true",
    [
        np.array([0.0, np.nan] * 10),
        np.array([0, None] * 10, dtype=object),
        pd.Series([0, None] * 10, dtype="Int64"),
        pd.Categorical(["0", None] * 10),
    ],
)
def test_missing_labels_are_rejected(y_true):
    # Both would count as wrong there, and common errors make the difference small.
    with pytest.raises(ValueError, match=r"^Input y contains NaN or None: row 1 has no label \(10 missing\)"):
        compare_classifiers([0, 1] * 10, [1, 1] * 10, None, y_true)


def test_training_rows_are_rejected():
    X, y = make_classification(400, 5, random_state=0)
    clf = StochasticSVC([0.1, 1.0], random_state=0).fit(X[:200], y[:200])
    with pytest.raises(ValueError, match=r"^X must hold rows that b was not fitted with, but 200 of 200 rows equal"):
        compare_classifiers(y[:200], clf, X[:200], y[:200])
    with pytest.warns(UserWarning, match="of X, 40 of 240 rows equal a row that a was fitted with"):
        compare_classifiers(clf, y[160:], X[160:], y[160:])
    # With few distinct values, all new rows may equal a distinct training row.
    few = np.unique(np.random.default_rng(0).integers(0, 3, (500, 3)), axis=0)
    small = StochasticSVC([1.0], random_state=0).fit(few, np.arange(len(few)) % 2)
    with pytest.warns(UserWarning, match="of X, 200 of 200 rows equal a row that a was fitted with"):
        compare_classifiers(small, np.zeros(200), few[np.arange(200) % len(few)], np.zeros(200))


# -- groups ------------------------------------------------------------------------------------------------------------


def test_groups_have_equal_weights():
    # B errs on all 8 rows of the first group, A on one of two rows of the second; 30 groups without an error.
    wrong_b, wrong_a = np.arange(70) < 8, np.arange(70) == 9
    groups = np.repeat([f"g{i}" for i in range(32)], [8, *[2] * 31])
    found = certify_difference(wrong_a, wrong_b, 0.1, groups=groups, names=("old", "new"))
    assert (found.m, found.groups, found.only_a, found.only_b, found.both) == (70, 32, 1, 8, 0)
    assert found.observed == pytest.approx((1 - 0.5) / 32)
    assert found.lower < found.observed < found.upper
    mixed = np.random.default_rng(0).permutation(70)
    assert certify_difference(wrong_a[mixed], wrong_b[mixed], 0.1, groups=groups[mixed], names=("old", "new")) == found
    other = certify_difference(wrong_b, wrong_a, 0.1, groups=groups)
    assert (other.lower, other.upper) == (-found.upper, -found.lower)
    # Groups of one row have wider bounds than rows, whose bounds are exact.
    alone, rows = (certify_difference(wrong_a, wrong_b, groups=one) for one in (np.arange(70), None))
    assert alone.lower < rows.lower < rows.upper < alone.upper
    assert alone.observed == pytest.approx(rows.observed)


def test_models_certified_by_groups_are_compared_by_groups():
    X, y = make_classification(300, 5, flip_y=0.3, random_state=0)
    groups = np.arange(300) // 3
    a, other = CertifiedClassifier("logistic", random_state=0), LogisticRegression().fit(X, y)
    a.fit(X[:240], y[:240], groups=groups[:240])
    for models in ((other, a), (a, other), (other, make_pipeline(StandardScaler().fit(X), a))):
        name = "a" if models[0] is a else "b"
        with pytest.raises(ValueError, match=f"groups are required, because {name} was certified by groups"):
            compare_classifiers(*models, X[240:], y[240:])
        found = compare_classifiers(*models, X[240:], y[240:], groups=groups[240:])
        wrong = [one.predict(X[240:]) != y[240:] for one in models]
        assert found == certify_difference(*wrong, groups=groups[240:])
    # Predictions have no certificate, and a model certified by rows may be compared by groups.
    assert compare_classifiers(a.predict(X), other, X, y).groups is None
    assert compare_classifiers(other, other, X, y, groups=groups).groups == 100


@pytest.mark.parametrize(
    ("groups", "choices", "error", "message"),
    [
        (["g"], {}, ValueError, "groups must hold one entry per row"),
        (["g", None, "h"], {}, ValueError, "groups must not contain missing values, got None for row 1"),
        ("ghi", {}, TypeError, "groups must hold one entry per row"),
        ([1, 1, 2], {"risk": "recall", "y": [0, 1, 1], "pos_label": 1}, ValueError, "must be None if risk='recall'"),
    ],
)
def test_invalid_groups(groups, choices, error, message):
    with pytest.raises(error, match=message):
        certify_difference([0, 1, 0], [1, 0, 0], groups=groups, **choices)


def test_representations():
    found = certify_difference(*rows(300, 40, 5), names=("<old>", "new"))
    assert json.loads(json.dumps(found.to_dict()))["better"] == "new"
    card = found._repr_html_()
    assert "new has the lower error rate" in card
    assert "&lt;old&gt;" in card
    assert "<old>" not in card
    assert repr(found).startswith("Difference(new less <old> in [-0.")
    assert found.explain().count("Assumption: ") == 3
    assert "40 of <old> alone" in found.explain()


def test_recall_is_compared_on_the_rows_of_a_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    a, b = (np.where(rng.random(300) < share, 1 - y, y) for share in (0.3, 0.1))
    found = compare_classifiers(a, b, None, y, risk="recall", pos_label=1)
    mine = y == 1
    plain = certify_difference((a != y)[mine], (b != y)[mine])
    assert (found.lower, found.upper, found.m, found.of) == (plain.lower, plain.upper, mine.sum(), 1)
    assert "the error rate of B on examples of class 1 is" in str(found)
    assert found == certify_difference(a != y, b != y, risk="recall", y=y, pos_label=1)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"risk": "precision", "pos_label": 1}, "risk must be 'error' or 'recall', got 'precision'"),
        ({"risk": "recall"}, "pos_label must be set when risk"),
        ({"pos_label": 1}, "pos_label must be set when risk"),
        ({"risk": "recall", "pos_label": 7}, "must contain class 7"),
    ],
)
def test_other_metrics_are_rejected(choices, message):
    with pytest.raises(ValueError, match=message):
        compare_classifiers([0, 1], [1, 1], None, [0, 1], **choices)
