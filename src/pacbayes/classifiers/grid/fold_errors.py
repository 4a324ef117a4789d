"""The classifiers of a grid, trained anew in a fold of cross-validation: their errors, and their probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import ErrorsInFold, ScoresInFold
from pacbayes.classifiers.probabilities import mean_margins, probabilities
from pacbayes.classifiers.wrong_rows import errors_of
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.threads import one_thread
from pacbayes.runtime.units import run_units


def grid_errors_in_fold(classifiers: ClassifierSet, X: Any, y: NDArray[Any], n_jobs: int | None) -> ErrorsInFold:
    """Return the errors of a grid's classifiers, trained anew, in a fold of their training rows."""

    def errors(candidates: Rows, train: Rows, test: Rows) -> Rows:
        fold = _Fold([clone(classifiers[int(i)]) for i in candidates], X, y, train, test)
        return np.array(run_units(_count_in_fold, fold, candidates.size, "classifiers", n_jobs), dtype=np.int64)

    return errors


@dataclass(frozen=True)
class _Fold:
    """Unfitted classifiers, and which rows train and test them in a fold."""

    estimators: list[Any]
    X: Any
    y: NDArray[Any]
    train: Rows
    test: Rows
    #: For scores: the classes, in whose order they are.
    classes: NDArray[Any] | None = None


def _count_in_fold(fold: _Fold, i: int) -> int:
    """Train the i-th classifier on a fold as the grid's own were trained, in one thread, and count its errors."""
    # A copy: with one worker the classifiers are not sent anywhere, and would all stay fitted until the fold's end.
    one = clone(fold.estimators[i])
    with one_thread():
        try:
            one.fit(_safe_indexing(fold.X, fold.train), fold.y[fold.train])
        except Exception:  # a setting that needs more rows than a fold has is no candidate
            return int(fold.test.size)
        return errors_of(one, _safe_indexing(fold.X, fold.test), fold.y[fold.test], "predict")


def grid_scores_in_fold(
    classifiers: ClassifierSet,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any],
    weights: FloatArray,
    n_jobs: int | None,
) -> ScoresInFold:
    """Return the margins of the weighted mean probabilities, or votes, of a grid's classifiers in a fold."""
    chosen = np.flatnonzero(weights)

    def scores(train: Rows, test: Rows) -> FloatArray:
        fold = _Fold([clone(classifiers[int(i)]) for i in chosen], X, y, train, test, classes)
        found = run_units(_score_in_fold, fold, chosen.size, "classifiers", n_jobs)
        return mean_margins(sum(weight * one for weight, one in zip(weights[chosen], found, strict=True)))

    return scores


def _score_in_fold(fold: _Fold, i: int) -> FloatArray:
    """Train the i-th classifier on a fold and return its probabilities of all classes, or its votes."""
    one = clone(fold.estimators[i])
    assert fold.classes is not None
    with one_thread():
        try:
            one.fit(_safe_indexing(fold.X, fold.train), fold.y[fold.train])
        except Exception:  # a setting that needs more rows than a fold has says nothing
            return np.zeros((fold.test.size, fold.classes.size))
        return probabilities(one, _safe_indexing(fold.X, fold.test), fold.classes)
