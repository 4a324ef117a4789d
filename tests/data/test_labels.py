"""Labels that can be compared with each other, and those that only seem to."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from tests.data.certified import certified

from pacbayes import CertifiedClassifier, ClassifierSet, StochasticSVC, grid_set, svm_set
from pacbayes.data.dataset import check_label_types

BIG = 2**53


class Says(ClassifierMixin, BaseEstimator):
    """Says the first class, in the form that `form` makes of it."""

    def __init__(self, form=None):
        self.form = form

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.array([self.form(self.classes_[0])] * len(X))


def test_labels_that_a_double_cannot_tell_apart_are_not_counted_as_hits():
    """All rows would seem right, of which half are wrong: 3.0 % were certified."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), BIG + rng.integers(0, 2, 400)
    clf = certified(Says(), {"form": [float]}, cv=None)
    with pytest.raises(ValueError, match="must be integers, because those of y exceed the precision of float64"):
        clf.fit(X, y)
    with pytest.raises(TypeError, match="must be integers"):
        ClassifierSet.from_predictions([np.full(400, float(BIG))], y)
    # As whole numbers, and where a double holds them, they are counted as what they are.
    clf.set_params(candidates__param_grid={"form": [int]}).fit(X, y)
    validation = clf.classifiers_.splits(0)[1]
    assert clf.classifiers_.errors.tolist() == [np.count_nonzero(y[validation] != BIG)]
    clf.set_params(candidates__param_grid={"form": [float]}).fit(X, y - BIG)
    assert clf.classifiers_.errors.tolist() == [np.count_nonzero(y[validation] != BIG)]


@pytest.mark.parametrize(
    ("form", "found"), [(lambda label: None, "NoneType"), (str.encode, r"\|S2"), (lambda label: ..., "ellipsis")]
)
def test_answers_that_are_no_labels_are_refused_at_fit(form, found):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.array(["no", "yes"])[rng.integers(0, 2, 60)]
    for labels in (y, y.astype(object)):
        clf = certified(Says(), {"form": [form]}, cv=None)
        with pytest.raises(ValueError, match=rf"must be labels like those of y \((<U3|object)\), got ({found}|bytes)"):
            clf.fit(X, labels)


@pytest.mark.parametrize(
    ("predictions", "labels"),
    [
        (np.array([1.0]), np.array([1])),
        (np.array([True]), np.array([1])),
        (np.array([np.float32(1)], dtype=object), np.array([1])),
        (np.array(["a"], dtype=object), np.array(["b"])),
        (np.array([BIG + 1]), np.array([BIG])),
        (np.array([BIG + 1], dtype=object), np.array([BIG])),
        (np.array([1]), np.array(["a", 1], dtype=object)),
    ],
)
def test_labels_of_one_kind_are_accepted(predictions, labels):
    check_label_types("predictions", predictions, labels)


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, pd.NaT])
def test_no_answer_is_not_right_where_no_class_is_known(gap):
    truth = np.array(["a", "b", gap], dtype=object)
    message = r"^Input y_val contains NaN or None: row 2 has no label \(1 missing\)"
    with pytest.raises(ValueError, match=message):
        ClassifierSet.from_predictions(np.array([["a", "b", gap]], dtype=object), truth)
    said = Says(str).fit([[0.0]], ["a"])
    with pytest.raises(ValueError, match=message):
        ClassifierSet.from_fitted([said], [[0.0]] * 3, truth)
    with pytest.raises(ValueError, match=message):
        CertifiedClassifier.from_fitted([said], [[0.0]] * 3, truth)
    with pytest.raises(ValueError, match=message.replace("y_val", "y")):
        grid_set(None, [Says(str)], [[0.0]] * 3, truth)
    with pytest.raises(ValueError, match=message.replace("y_val", "y")):
        StochasticSVC([1.0]).fit([[0.0]] * 3, truth)


def test_masked_entries_are_refused_everywhere():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) % 2
    some = np.arange(60) % 3 == 0
    hidden, rows = np.ma.array(y, mask=some), np.ma.array(X, mask=np.column_stack([some, some]))
    said = Says(int).fit(X, y)
    with pytest.raises(ValueError, match="predictions must not have masked entries"):
        ClassifierSet.from_predictions(hidden[None, :], y)
    with pytest.raises(ValueError, match="predictions must not have masked entries"):
        ClassifierSet.from_predictions([hidden, hidden], y)
    with pytest.raises(ValueError, match="must not have masked entries"):
        ClassifierSet.from_fitted([SimpleNamespace(predict=lambda X: hidden)], X, y)
    with pytest.raises(ValueError, match="y_val must not have masked entries"):
        CertifiedClassifier.from_fitted([said], X, hidden)
    for model in (
        StochasticSVC([1.0], random_state=0),
        certified(None, [Says(int)]),
    ):
        with pytest.raises(ValueError, match="y must not have masked entries"):
            model.fit(X, hidden)
        with pytest.raises(ValueError, match="X must not have masked entries"):
            model.fit(rows, y)
        with pytest.raises(ValueError, match="X must not have masked entries"):
            model.fit(X, y).predict(rows)
        # A mask that hides nothing is none.
        assert np.array_equal(model.predict(np.ma.array(X)), model.predict(X))
    with pytest.raises(ValueError, match="X must not have masked entries"):
        svm_set(rows, y, [1.0])


def test_predictions_with_more_digits_than_the_labels_are_refused():
    with pytest.raises(TypeError, match="must be labels like those of y_val"):
        check_label_types("predictions", np.array([BIG + 1]), np.array([float(BIG)]))
    check_label_types("predictions", np.array([BIG]), np.array([float(BIG)]))
