"""Which rows a fitted classifier gets wrong, and how many."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.data.labels import check_same_kind, one_label_each
from pacbayes.runtime.threads import one_thread


def errors_of(estimator: Any, X: Any, labels: NDArray[Any], name: str) -> int:
    """Return how many rows a fitted classifier gets wrong; labels of another kind are refused.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> errors_of(DummyClassifier().fit([[0]], ["a"]), [[0], [0]], np.array(["a", "b"]), "predict")
    1
    """
    return int(np.count_nonzero(wrong_rows(estimator, X, labels, name)))


def wrong_rows(estimator: Any, X: Any, labels: NDArray[Any], name: str) -> NDArray[np.bool_]:
    """Return which rows a fitted classifier gets wrong; labels of another kind are refused."""
    wrong: NDArray[np.bool_] = predictions_of(estimator, X, labels, name) != labels
    return wrong


def predictions_of(estimator: Any, X: Any, labels: NDArray[Any], name: str) -> NDArray[Any]:
    """Return what a fitted classifier says of rows; labels of another kind than theirs are refused."""
    with one_thread():
        predictions = one_label_each(name, estimator.predict(X), labels.size)
    check_same_kind(name, predictions, labels)
    return predictions
