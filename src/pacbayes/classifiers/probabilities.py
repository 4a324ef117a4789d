"""Probabilities of classes, of classifiers that have them or none, and how far a class is ahead of the others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from pacbayes.data.labels import one_label_each
from pacbayes.numeric.arrays import FloatArray


def probabilities(classifier: Any, X: Any, classes: NDArray[Any]) -> FloatArray:
    """Return a classifier's probabilities of `classes`, shape (n, classes).

    One without ``predict_proba`` votes: one for the class that it predicts.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> dummy = DummyClassifier(strategy="prior").fit([[0]] * 4, [0, 0, 0, 1])
    >>> probabilities(dummy, [[0]], np.array([0, 1, 2]))
    array([[0.75, 0.25, 0.  ]])
    """
    if hasattr(classifier, "predict_proba") and hasattr(classifier, "classes_"):
        found = np.asarray(classifier.predict_proba(X), dtype=np.float64)
        own = np.asarray(classifier.classes_)
    else:
        own = classes
        said = one_label_each("predict", classifier.predict(X), _num_samples(X))
        found = (said[:, None] == classes[None, :]).astype(np.float64)
    if own.shape == classes.shape and bool((own == classes).all()):
        return found
    # Of classes that it did not see while training it says nothing; what is no class has no place.
    known = np.isin(own, classes)
    spread = np.zeros((len(found), classes.size))
    spread[:, np.searchsorted(classes, own[known])] = found[:, known]
    return spread


def mean_margins(probabilities: FloatArray) -> FloatArray:
    """Return by how much each class is ahead of the best other one, shape (n, classes).

    Examples
    --------
    >>> mean_margins(np.array([[0.75, 0.25, 0.0]]))
    array([[ 0.5 , -0.5 , -0.75]])
    """
    ordered = np.sort(probabilities, axis=1)
    first, second = ordered[:, -1:], ordered[:, -2:-1]
    # The best other class is the second best for the best one, and the best for all others.
    return np.where(probabilities == first, first - second, probabilities - first)
