"""The classifiers of a grid, trained anew in a fold of cross-validation: their answers, and their probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.cross_validation import AnswersInFold, ScoresInFold, kept_as
from pacbayes.classifiers.probabilities import mean_margins, probabilities
from pacbayes.classifiers.wrong_rows import predictions_of
from pacbayes.data.rows import pick_rows
from pacbayes.numeric.arrays import Codes, FloatArray, Rows
from pacbayes.numeric.caller import warn_caller
from pacbayes.runtime.threads import one_thread
from pacbayes.runtime.units import run_units


def grid_answers_in_fold(
    classifiers: ClassifierSet, X: Any, y: NDArray[Any], classes: NDArray[Any], n_jobs: int | None
) -> AnswersInFold:
    """Return what a grid's classifiers, trained anew, say in a fold of their training rows."""
    said: list[str] = []

    def answers(candidates: Rows, train: Rows, test: Rows) -> Codes:
        fold = _Fold([clone(classifiers[int(i)]) for i in candidates], X, y, train, test, classes)
        found = run_units(_answers_in_fold, fold, candidates.size, "classifiers", n_jobs)
        _warn_once(said, [why for _, why in found])
        return np.array([codes for codes, _ in found])

    return answers


@dataclass(frozen=True)
class _Fold:
    """Unfitted classifiers, and which rows train and test them in a fold."""

    estimators: list[Any]
    X: Any
    y: NDArray[Any]
    train: Rows
    test: Rows
    #: The classes, in whose order numbers and scores are.
    classes: NDArray[Any]


def _warn_once(said: list[str], failures: list[str | None]) -> None:
    """Warn of the first fit that failed in any fold; `said` keeps what was."""
    failed = [why for why in failures if why is not None]
    if failed and not said:
        said.append(failed[0])
        warn_caller(
            f"{len(failed)} of {len(failures)} classifiers could not be fitted in a fold of the cross-validation "
            f"within the training rows, where all of their answers count as errors; the first because of {failed[0]}",
            FitFailedWarning,
        )


def _answers_in_fold(fold: _Fold, i: int) -> tuple[Codes, str | None]:
    """Return what the i-th classifier, trained on a fold as the grid's own, says of its rows; or why it cannot."""
    number = fold.classes.size
    with one_thread():
        one, why = _fitted(fold, i)
        if one is None:
            return np.full(fold.test.size, number, dtype=kept_as(number)), why
        predicted = predictions_of(one, pick_rows(fold.X, fold.test), fold.y[fold.test], "predict")
    codes = np.minimum(np.searchsorted(fold.classes, predicted), number - 1)
    codes[fold.classes[codes] != predicted] = number
    return codes.astype(kept_as(number)), None


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
    with one_thread():
        one, _ = _fitted(fold, i)
        if one is None:
            return np.zeros((fold.test.size, fold.classes.size))
        return probabilities(one, pick_rows(fold.X, fold.test), fold.classes)


def _fitted(fold: _Fold, i: int) -> tuple[Any | None, str | None]:
    """Return the i-th classifier trained on a fold; or None, and why it cannot be."""
    # A copy: with one worker the classifiers are not sent anywhere, and would all stay fitted until the fold's end.
    one = clone(fold.estimators[i])
    try:
        one.fit(pick_rows(fold.X, fold.train), fold.y[fold.train])
    except MemoryError:
        raise
    except Exception as error:  # somebody else's fit may raise anything, on fewer rows too; a warning says what
        return None, f"{type(error).__name__}: {error}"
    return one, None
