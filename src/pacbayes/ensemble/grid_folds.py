"""Any classifiers, trained anew on parts of their training rows: their answers, and their scores."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from pacbayes._utils.arrays import Codes, FloatArray, Rows
from pacbayes._utils.checkpoint import describe_run, open_checkpoint, part_of, pickled
from pacbayes._utils.checks import warn_caller
from pacbayes._utils.threads import one_thread
from pacbayes._utils.units import run_units
from pacbayes.data.dataset import Dataset, check_same_kind, one_label_each
from pacbayes.data.rows import few_rows, pick_rows
from pacbayes.ensemble.calibration import ANSWERS, PROBABILITIES, columns_of, kind_of, scores_of
from pacbayes.ensemble.candidates import Candidates
from pacbayes.ensemble.cross_validation import OutOfFold, candidates_of, trainable
from pacbayes.ensemble.members import naming, smallest_code_dtype


@dataclass(frozen=True, eq=False)
class GridFolds:
    """Fitted classifiers with the training rows that all of them share."""

    estimators: list[Any]
    #: What distinguishes each, for errors.
    params: list[dict[str, Any]]
    training: Dataset
    #: How many, and which of joblib's kinds to prefer.
    workers: tuple[int | None, str | None]
    families: Rows
    #: Of forests, by number: probabilities from the trees whose bags left a row out, shape (n, classes).
    out_of_bag: dict[int, FloatArray]
    #: What all were trained from, and where finished folds are kept.
    candidates: Candidates
    checkpoint: Path | None
    #: What progress calls them.
    what: str

    @property
    def codes(self) -> Rows:
        """The class numbers of the training rows."""
        return self.training.codes

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.training.classes.size)

    def tried(self, proposes: bool) -> Rows:
        """Return which classifiers are cross-validated: each costs a fit of its own, so of a family not too many."""
        numbers = [np.flatnonzero(self.families == family) for family in np.unique(self.families)]
        return np.sort(np.concatenate([mine[candidates_of(mine.size)] for mine in numbers]))

    def out_of_fold(self, which: Rows, fold: Rows) -> Iterator[OutOfFold]:
        """Yield what some classifiers say of every training row when trained on the other folds, or on other bags."""
        codes, used = self.codes, np.flatnonzero(trainable(self.codes, fold))
        learnt = np.unique(codes)
        refitted = [i for i in which.tolist() if i not in self.out_of_bag]
        few = pick_rows(self.training.rows, few_rows(self.training.labels))
        kinds = {i: kind_of(self.estimators[i], learnt.size, few) for i in refitted}
        # Unfitted: what was learnt from all training rows need not travel.
        some = tuple((i, clone(self.estimators[i]), self.params[i], kinds[i]) for i in refitted)
        task = _FoldTask(some, self.training, fold, used)
        number = len(some) * used.size
        kept = None if number == 0 else part_of(self.checkpoint, "folds")
        with open_checkpoint(kept, pickled(_is_predicted, "predictions of classifiers", used.size)) as store:
            if store is not None:
                files = {"X": self.training.rows, "y": self.training.labels, "fold": fold, "which": which}
                files["estimator and param_grid"] = self.candidates.described()
                seed, modules = self.candidates.seed, self.candidates.modules()
                store.begin(describe_run("folds", number, seed, files, {}, modules, used.size))
            said = run_units(_fit_and_predict_fold, task, number, self.what, *self.workers, checkpoint=store)
        self._warn([why for _, _, why in said], used.size)
        for i in which.tolist():
            if i in self.out_of_bag:
                yield self._of_bags(self.out_of_bag[i], learnt)
            else:
                first = refitted.index(i) * used.size
                yield self._of_folds(kinds[i], [one[:2] for one in said[first : first + used.size]], fold, used)

    def _of_bags(self, probabilities: FloatArray, learnt: Rows) -> OutOfFold:
        """Return what a forest says of its training rows by trees that did not see them."""
        # No tree left the row out: nothing is known.
        shares = np.where(np.isnan(probabilities), 1.0 / learnt.size, probabilities)
        return OutOfFold(
            learnt[shares.argmax(axis=1)].astype(smallest_code_dtype(self.n_classes)), PROBABILITIES, shares
        )

    def _of_folds(self, kind: str, said: list[tuple[Codes, FloatArray]], fold: Rows, used: Rows) -> OutOfFold:
        codes = self.codes
        learnt = np.unique(codes)
        width = columns_of(kind, learnt.size)
        y_pred, scores = np.empty(codes.size, dtype=smallest_code_dtype(self.n_classes)), np.zeros((codes.size, width))
        for k, (mine, own) in zip(used.tolist(), said, strict=True):
            y_pred[fold == k], scores[fold == k] = mine, own
        for k in set(range(int(fold.max()) + 1)) - set(used.tolist()):
            only, rows = int(codes[fold != k][0]), fold == k
            place = int(np.searchsorted(learnt, only))
            y_pred[rows] = only
            scores[rows] = place if kind == ANSWERS else np.arange(width) == place if width > 1 else 2.0 * place - 1.0
        return OutOfFold(y_pred, kind, scores)

    def _warn(self, failures: list[str | None], folds: int) -> None:
        """Warn, once, of classifiers that could not be fitted in one of so many folds."""
        failed = {unit // folds: why for unit, why in reversed(list(enumerate(failures))) if why is not None}
        if failed:
            warn_caller(
                f"{len(failed)} of {len(failures) // folds} classifiers could not be fitted in a fold of the "
                "cross-validation within the training rows, where all of their answers count as errors; the first "
                f"because of {failed[min(failed)]}",
                FitFailedWarning,
            )


@dataclass(frozen=True, eq=False)
class _FoldTask:
    """What a worker needs: unit u is classifier ``u // folds`` without fold number ``u % folds``."""

    #: Each with its number, unfitted, what distinguishes it, and which scores it has.
    classifiers: tuple[tuple[int, Any, dict[str, Any], str], ...]
    training: Dataset
    fold: Rows
    used: Rows


def _is_predicted(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 3


def _fit_and_predict_fold(work: _FoldTask, unit: int) -> tuple[Codes, FloatArray, str | None]:
    """Train a classifier without a fold; return what it says of its rows, and how sure it is, or why it cannot."""
    (i, unfitted, params, kind), k = work.classifiers[unit // work.used.size], work.used[unit % work.used.size]
    training, train, test = work.training, np.flatnonzero(work.fold != k), np.flatnonzero(work.fold == k)
    learnt, kept = training.classes[np.unique(training.codes)], smallest_code_dtype(training.classes.size)
    with one_thread():
        # A copy: with one worker the classifiers are not sent anywhere, and would all stay fitted until the end.
        one = clone(unfitted)
        try:
            one.fit(pick_rows(training.rows, train), training.labels[train])
        except MemoryError:
            raise
        except Exception as error:  # somebody else's fit may raise anything, on fewer rows too; a warning says what
            said = np.full(test.size, training.classes.size, dtype=kept)
            lost = np.full((test.size, columns_of(kind, learnt.size)), float(learnt.size) if kind == ANSWERS else 0.0)
            return said, lost, f"{type(error).__name__}: {error}"
        with naming(i, params):
            rows = pick_rows(training.rows, test)
            labels = one_label_each("predict", one.predict(pick_rows(training.rows, test)), test.size)
            check_same_kind("predict", labels, training.classes, "y")
            scores = scores_of(one, rows, kind, learnt, labels)
    codes = np.minimum(np.searchsorted(training.classes, labels), training.classes.size - 1)
    codes[training.classes[codes] != labels] = training.classes.size
    return codes.astype(kept), scores, None
