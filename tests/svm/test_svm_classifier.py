"""One support vector machine, as an estimator of scikit-learn."""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from pacbayes import svm_set

WDBC = load_breast_cancer(return_X_y=True)


def test_classifier_can_be_cloned_and_fitted_again():
    X, y = WDBC
    classifiers = svm_set(X, y, [0.5], gamma=0.02, random_state=0)
    train, _ = classifiers.splits(0)
    again = clone(classifiers[0]).fit(X[train], y[train])
    np.testing.assert_array_equal(again.decision_function(X), classifiers[0].decision_function(X))
