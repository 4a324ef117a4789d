"""Sets of prefit classifiers, of predictions and of losses."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import zero_one_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from pacbayes import ClassifierSet


def test_from_fitted():
    X, y = load_iris(return_X_y=True)
    names = load_iris().target_names[y]
    fitted = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X[::2], names[::2]) for d in (1, 2, 3)]
    fitted.append(KNeighborsClassifier(3).fit(X[::2], names[::2]))
    classifiers = ClassifierSet.from_fitted(iter(fitted), X[1::2], names[1::2])
    assert len(classifiers) == 4
    assert classifiers.m == 75
    assert classifiers.prefit
    assert [rows.tolist() for rows in classifiers.splits(0)] == [[], list(range(75))]
    assert classifiers.params[1]["max_depth"] == 2
    for i, classifier in enumerate(fitted):
        assert classifiers[i] is classifier
        assert classifiers.errors[i] == zero_one_loss(names[1::2], classifier.predict(X[1::2]), normalize=False)
    predictions = classifiers.predict(X[1::2])
    assert predictions.shape == (4, 75)
    from_predictions = ClassifierSet.from_predictions(predictions, names[1::2])
    np.testing.assert_array_equal(from_predictions.errors, classifiers.errors)
    np.testing.assert_array_equal(from_predictions.risks, classifiers.risks)
    assert classifiers[-1] is fitted[-1]
    assert list(classifiers) == fitted


def test_sets_of_losses_have_no_classifiers():
    classifiers = ClassifierSet.from_losses([[0.1, 0.2]])
    assert classifiers.errors is None
    for use in (lambda: classifiers[0], lambda: classifiers.predict([[0.0]])):
        with pytest.raises(ValueError, match="holds risks, not classifiers"):
            use()
    with pytest.raises(IndexError, match="1 classifiers, got index 1"):
        classifiers[1]
    with pytest.raises(TypeError, match="must be an integer"):
        classifiers[0:1]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ClassifierSet.from_predictions([[0, 1]], [0, 1, 1]), ValueError, r"\(H, 3\).*got shape \(1, 2\)"),
        (lambda: ClassifierSet.from_predictions([["0", "1"]], [0, 1]), TypeError, "labels like those of y_val"),
        (lambda: ClassifierSet.from_predictions([[0.0]], [np.nan]), ValueError, "NaN"),
        (lambda: ClassifierSet.from_predictions([[]], []), ValueError, "not empty"),
        (lambda: ClassifierSet.from_fitted([], [[0]], [0]), ValueError, "at least one fitted"),
        (
            lambda: ClassifierSet.from_fitted([DecisionTreeClassifier().fit([[0], [1]], [0, 1])], [[0]], [0, 1]),
            ValueError,
            "X_val and y_val must have the same length, got 1 and 2",
        ),
        (lambda: ClassifierSet.from_losses([[0.5, 1.5]]), ValueError, r"losses must lie in \[0, 1\], got 1.5"),
        (lambda: ClassifierSet.from_losses([0.5]), ValueError, r"shape \(H, m\)"),
    ],
)
def test_wrong_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
