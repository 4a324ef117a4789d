"""The classifiers of a grid, trained anew on parts of their training rows: their answers, and their probabilities."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from pacbayes.classifiers.cross_validation import Refitted
from pacbayes.classifiers.members import Answers, kept_as, mean_margins, probabilities
from pacbayes.data.labelled import Labelled
from pacbayes.data.labels import check_same_kind, one_label_each
from pacbayes.data.rows import pick_rows
from pacbayes.numeric.arrays import Codes, FloatArray, Rows
from pacbayes.numeric.caller import warn_caller
from pacbayes.runtime.threads import one_thread
from pacbayes.runtime.units import run_units


@dataclass(frozen=True, eq=False)
class GridFolds:
    """Fitted classifiers with the training rows that all of them share."""

    estimators: list[Any]
    #: What distinguishes each, for errors.
    params: list[dict[str, Any]]
    training: Labelled
    n_jobs: int | None
    #: The first fit that failed, once it was warned of.
    _said: list[str] = field(default_factory=list)

    @property
    def all_cost_little(self) -> bool:
        """Each costs a fit of its own."""
        return False

    @property
    def codes(self) -> Rows:
        """The class numbers of the training rows."""
        return self.training.codes

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.training.classes.size)

    def at_once(self, folds: int) -> int:
        """Return how many folds to train side by side: the workers share the classifiers of one."""
        return 1

    def refit(self, which: Rows, train: Rows) -> "GridFold":
        """Return some classifiers that are to be trained anew on some of the training rows, when they are asked."""
        some = [(f"classifier {i} with {self.params[i]}", clone(self.estimators[i])) for i in which.tolist()]
        return GridFold(self, some, train)

    def warn_once(self, failures: list[str | None]) -> None:
        """Warn of the first fit that failed in any fold."""
        failed = [why for why in failures if why is not None]
        if failed and not self._said:
            self._said.append(failed[0])
            warn_caller(
                f"{len(failed)} of {len(failures)} classifiers could not be fitted in a fold of the cross-validation "
                f"within the training rows, where all of their answers count as errors; the first because of "
                f"{failed[0]}",
                FitFailedWarning,
            )


@dataclass(frozen=True, eq=False)
class GridFold(Refitted):
    """Unfitted classifiers, and the training rows of a fold: each is trained, asked and forgotten."""

    folds: GridFolds
    #: Each with what it is called in an error.
    estimators: list[tuple[str, Any]]
    train: Rows

    def answers(self, test: Rows) -> Answers:
        """Return what the classifiers say, shape (classifiers, test); one that cannot be trained says nothing."""
        work = _Work(self.estimators, self.folds.training, self.train, test)
        found = run_units(_answers_of, work, len(self.estimators), "classifiers", self.folds.n_jobs)
        self.folds.warn_once([why for _, why in found])
        return np.array([codes for codes, _ in found])

    def scores(self, test: Rows, weights: FloatArray) -> FloatArray:
        """Return the margins of the weighted mean probabilities, or votes, shape (test, classes)."""
        work = _Work(self.estimators, self.folds.training, self.train, test)
        found = run_units(_probabilities_of, work, len(self.estimators), "classifiers", self.folds.n_jobs)
        return mean_margins(sum(weight * one for weight, one in zip(weights, found, strict=True)))


@dataclass(frozen=True, eq=False)
class _Work:
    """What a worker needs."""

    estimators: list[tuple[str, Any]]
    training: Labelled
    train: Rows
    test: Rows

    def fitted(self, i: int) -> tuple[Any | None, str | None]:
        """Return the i-th classifier trained on a fold; or None, and why it cannot be."""
        # A copy: with one worker the classifiers are not sent anywhere, and would all stay fitted until the fold's end.
        one, training = clone(self.estimators[i][1]), self.training
        try:
            one.fit(pick_rows(training.rows, self.train), training.labels[self.train])
        except MemoryError:
            raise
        except Exception as error:  # somebody else's fit may raise anything, on fewer rows too; a warning says what
            return None, f"{type(error).__name__}: {error}"
        return one, None


def _answers_of(work: _Work, i: int) -> tuple[Codes, str | None]:
    """Return what the i-th classifier, trained on a fold as the grid's own, says of its rows; or why it cannot."""
    classes, test = work.training.classes, work.test
    with one_thread():
        one, why = work.fitted(i)
        if one is None:
            return np.full(test.size, classes.size, dtype=kept_as(classes.size)), why
        try:
            said = one_label_each("predict", one.predict(pick_rows(work.training.rows, test)), test.size)
            check_same_kind("predict", said, classes, "y")
        except MemoryError:
            raise
        except Exception as error:  # other people's classifiers raise what they like
            why = f"{type(error).__name__}: {error}"
            raise ValueError(f"{work.estimators[i][0]} was fitted but could not predict: {why}") from error
    codes = np.minimum(np.searchsorted(classes, said), classes.size - 1)
    codes[classes[codes] != said] = classes.size
    return codes.astype(kept_as(classes.size)), None


def _probabilities_of(work: _Work, i: int) -> FloatArray:
    """Train the i-th classifier on a fold and return its probabilities of all classes, or its votes."""
    with one_thread():
        one, _ = work.fitted(i)
        if one is None:
            return np.zeros((work.test.size, work.training.classes.size))
        return probabilities(one, pick_rows(work.training.rows, work.test), work.training.classes)
