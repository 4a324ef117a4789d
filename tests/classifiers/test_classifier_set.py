"""Sets made from classifiers, predictions and losses, and risks that are never below the exact quotient."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.metrics import zero_one_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from pacbayes import ClassifierSet
from pacbayes.classifiers.risks import risks_of_errors, risks_of_losses


@given(st.integers(1, 10**7).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m))))
def test_risk_is_the_smallest_double_not_below_the_quotient(case):
    m, k = case
    risk = float(risks_of_errors(np.array([k]), m)[0])
    assert Fraction(risk) >= Fraction(k, m)
    assert k == 0 or Fraction(float(np.nextafter(risk, 0.0))) < Fraction(k, m)
    assert 0.0 <= risk <= 1.0
    assert (risk == 0.0) == (k == 0)


def test_some_quotients_are_rounded_up():
    assert risks_of_errors(np.array([1]), 3)[0] > 1 / 3


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50))
def test_mean_loss_is_never_below_the_exact_mean(losses):
    risk = Fraction(float(risks_of_losses(np.array([losses]))[0]))
    exact = sum(map(Fraction, losses)) / len(losses)
    assert exact <= risk <= min(1, exact * (1 + Fraction(1, 2**50)) + Fraction(1, 2**1070))
    assert (risk == 0) == (exact == 0)


def test_zero_one_losses_give_the_risks_of_counts():
    losses = np.random.default_rng(0).integers(0, 2, (20, 37))
    np.testing.assert_array_equal(
        ClassifierSet.from_losses(losses).risks, risks_of_errors(losses.sum(axis=1), losses.shape[1])
    )


def test_from_fitted():
    X, y = load_iris(return_X_y=True)
    names = load_iris().target_names[y]
    fitted = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X[::2], names[::2]) for d in (1, 2, 3)]
    fitted.append(KNeighborsClassifier(3).fit(X[::2], names[::2]))
    classifiers = ClassifierSet.from_fitted(iter(fitted), X[1::2], names[1::2])
    assert len(classifiers) == 4
    assert classifiers.m == 75
    assert classifiers.params[1]["max_depth"] == 2
    for i, one in enumerate(fitted):
        assert classifiers[i] is one
        assert classifiers.errors[i] == zero_one_loss(names[1::2], one.predict(X[1::2]), normalize=False)
    predictions = classifiers.predict(X[1::2])
    assert predictions.shape == (4, 75)
    again = ClassifierSet.from_predictions(predictions, names[1::2])
    np.testing.assert_array_equal(again.errors, classifiers.errors)
    np.testing.assert_array_equal(again.risks, classifiers.risks)
    assert classifiers[-1] is fitted[-1]
    assert list(classifiers) == fitted


def test_sets_without_classifiers_say_so():
    classifiers = ClassifierSet.from_losses([[0.1, 0.2]])
    assert classifiers.errors is None
    assert classifiers.test_risks is None
    for use in (lambda: classifiers[0], lambda: classifiers.predict([[0.0]])):
        with pytest.raises(ValueError, match="holds risks, not classifiers"):
            use()


def test_number_of_a_classifier():
    classifiers = ClassifierSet.from_losses([[0.1, 0.2]])
    with pytest.raises(IndexError, match="1 classifiers, got number 1"):
        classifiers[1]
    with pytest.raises(TypeError, match="must be an integer"):
        classifiers[0:1]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ClassifierSet.from_predictions([[0, 1]], [0, 1, 1]), ValueError, r"\(H, 3\).*got shape \(1, 2\)"),
        (lambda: ClassifierSet.from_predictions([0, 1], [0, 1]), ValueError, r"got shape \(2,\)"),
        (lambda: ClassifierSet.from_predictions(np.empty((0, 2)), [0, 1]), ValueError, r"got shape \(0, 2\)"),
        (lambda: ClassifierSet.from_predictions([["0", "1"]], [0, 1]), TypeError, "labels like those of y_val"),
        (lambda: ClassifierSet.from_predictions([[0.0]], [np.nan]), ValueError, "NaN"),
        (lambda: ClassifierSet.from_predictions([[]], []), ValueError, "not empty"),
        (lambda: ClassifierSet.from_fitted([], [[0]], [0]), ValueError, "at least one fitted"),
        (
            lambda: ClassifierSet.from_fitted([DecisionTreeClassifier().fit([[0], [1]], [0, 1])], [[0]], [0, 1]),
            ValueError,
            r"estimators\[0\].predict.*shape \(2,\), got shape \(1,\)",
        ),
        (lambda: ClassifierSet.from_losses([[0.5, 1.5]]), ValueError, r"losses must lie in \[0, 1\], got 1.5"),
        (lambda: ClassifierSet.from_losses([[np.nan]]), ValueError, "got nan"),
        (lambda: ClassifierSet.from_losses([0.5]), ValueError, r"shape \(H, m\)"),
    ],
)
def test_wrong_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
