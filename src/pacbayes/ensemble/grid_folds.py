"""Out-of-fold predictions and scores of any classifiers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.checkpoint import checkpoint_subdirectory, describe_run, open_checkpoint, pickle_codec
from pacbayes._utils.checks import warn_caller
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes._utils.units import run_units
from pacbayes.data.dataset import Dataset, check_label_types, flatten_predictions
from pacbayes.data.rows import pick_rows, select_test_rows
from pacbayes.ensemble.calibration import LABELS, PROBABILITIES, compute_scores, count_score_columns, select_score_kind
from pacbayes.ensemble.candidates import Candidates
from pacbayes.ensemble.cross_validation import OutOfFold, select_evenly_spaced, trainable_fold_mask
from pacbayes.ensemble.members import Predictions, add_classifier_to_errors, smallest_code_dtype


@dataclass(frozen=True, eq=False)
class GridFolds:
    """Fitted classifiers with their common training rows."""

    estimators: list[Any]
    #: Parameters that distinguish the classifiers, for error messages.
    params: list[dict[str, Any]]
    training: Dataset
    #: Number of workers, and joblib's `prefer`.
    workers: tuple[int | None, str | None]
    families: Rows
    #: Out-of-bag probabilities of forests by index, shape (n, classes).
    out_of_bag: dict[int, FloatArray]
    #: All candidates and the directory of the checkpoint, if any.
    all_candidates: Candidates
    checkpoint: Path | None
    #: Description for progress.
    what: str

    @property
    def codes(self) -> Rows:
        """Class codes of the training rows."""
        return self.training.codes

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.training.classes.size)

    def candidates(self, needs_rules: bool) -> Rows:
        """Select evenly spaced classifiers of each family, because each is refitted for every fold."""
        by_family = [np.flatnonzero(self.families == family) for family in np.unique(self.families)]
        return np.sort(np.concatenate([indices[select_evenly_spaced(indices.size)] for indices in by_family]))

    def out_of_fold(self, indices: Rows, fold: Rows) -> Iterator[OutOfFold]:
        """Yield out-of-fold predictions of some classifiers, or out-of-bag ones of forests."""
        codes, used = self.codes, np.flatnonzero(trainable_fold_mask(self.codes, fold))
        train_classes = np.unique(codes)
        refitted = [i for i in indices.tolist() if i not in self.out_of_bag]
        sample = pick_rows(self.training.rows, select_test_rows(self.training.labels))
        kinds = {i: select_score_kind(self.estimators[i], train_classes.size, sample) for i in refitted}
        # Clones, so that fitted attributes are not sent to the workers.
        classifiers = tuple((i, clone(self.estimators[i]), self.params[i], kinds[i]) for i in refitted)
        task = _FoldTask(classifiers, self.training, fold, used)
        n_units = len(classifiers) * used.size
        directory = None if n_units == 0 else checkpoint_subdirectory(self.checkpoint, "folds")
        with open_checkpoint(
            directory, pickle_codec(_is_fold_result, "predictions of classifiers", used.size)
        ) as store:
            if store is not None:
                files = {"X": self.training.rows, "y": self.training.labels, "fold": fold, "which": indices}
                files["estimator and param_grid"] = self.all_candidates.fingerprints()
                seed, modules = self.all_candidates.seed, self.all_candidates.modules()
                store.begin(describe_run("folds", n_units, seed, files, {}, modules, used.size))
            results = run_units(_fit_and_predict_fold, task, n_units, self.what, *self.workers, checkpoint=store)
        self._warn_about_failures([error for _, _, error in results], used.size)
        for i in indices.tolist():
            if i in self.out_of_bag:
                yield self._from_out_of_bag(self.out_of_bag[i][fold >= 0], train_classes)
            else:
                start = refitted.index(i) * used.size
                by_fold = [result[:2] for result in results[start : start + used.size]]
                yield self._from_folds(kinds[i], by_fold, fold, used)

    def _from_out_of_bag(self, probabilities: FloatArray, train_classes: Rows) -> OutOfFold:
        """Out-of-bag predictions of a forest."""
        # Rows that every tree was trained on are uninformative.
        scores = np.where(np.isnan(probabilities), 1.0 / train_classes.size, probabilities)
        y_pred = train_classes[scores.argmax(axis=1)].astype(smallest_code_dtype(self.n_classes))
        return OutOfFold(y_pred, PROBABILITIES, scores)

    def _from_folds(
        self, kind: str, by_fold: list[tuple[Predictions, FloatArray]], all_folds: Rows, used: Rows
    ) -> OutOfFold:
        """Assemble the results of the folds of a classifier."""
        train_classes, fold = np.unique(self.codes), all_folds[all_folds >= 0]
        width = count_score_columns(kind, train_classes.size)
        y_pred, scores = np.empty(fold.size, dtype=smallest_code_dtype(self.n_classes)), np.zeros((fold.size, width))
        for k, (fold_pred, fold_scores) in zip(used.tolist(), by_fold, strict=True):
            y_pred[fold == k], scores[fold == k] = fold_pred, fold_scores
        for k in set(range(int(fold.max()) + 1)) - set(used.tolist()):
            # Nothing to train: predict the only class of the other folds.
            remaining, rows = int(self.codes[all_folds != k][0]), fold == k
            position = int(np.searchsorted(train_classes, remaining))
            y_pred[rows] = remaining
            if kind == LABELS:
                scores[rows] = position
            else:
                scores[rows] = np.arange(width) == position if width > 1 else 2.0 * position - 1.0
        return OutOfFold(y_pred, kind, scores)

    def _warn_about_failures(self, errors: list[str | None], n_folds: int) -> None:
        """Warn once of classifiers that could not be fitted in a fold."""
        failed = {unit // n_folds: error for unit, error in reversed(list(enumerate(errors))) if error is not None}
        if failed:
            warn_caller(
                f"{len(failed)} of {len(errors) // n_folds} classifiers could not be fitted in a fold of the "
                "cross-validation within the training rows, where all of their predictions count as errors; the first "
                f"because of {failed[min(failed)]}",
                FitFailedWarning,
            )


@dataclass(frozen=True, eq=False)
class _FoldTask:
    """Input of the workers: unit u is classifier ``u // folds`` without fold ``used[u % folds]``."""

    #: Index, clone, parameters and kind of scores of each classifier.
    classifiers: tuple[tuple[int, Any, dict[str, Any], str], ...]
    training: Dataset
    fold: Rows
    used: Rows


def _is_fold_result(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 3


def _fit_and_predict_fold(task: _FoldTask, unit: int) -> tuple[Predictions, FloatArray, str | None]:
    """Fit a classifier without a fold; return its predictions and scores for the fold, or its error."""
    (i, unfitted, params, kind), k = task.classifiers[unit // task.used.size], task.used[unit % task.used.size]
    training, train, test = task.training, np.flatnonzero(task.fold != k), np.flatnonzero(task.fold == k)
    classes = training.classes
    train_classes, dtype = classes[np.unique(training.codes)], smallest_code_dtype(classes.size)
    with limit_to_one_thread():
        # Clone again: without workers, all fitted classifiers would stay in memory until the end.
        classifier = clone(unfitted)
        try:
            classifier.fit(pick_rows(training.rows, train), training.labels[train])
        except MemoryError:
            raise
        except Exception as error:  # other libraries' classifiers may raise anything; reported in a warning
            y_pred = np.full(test.size, classes.size, dtype=dtype)
            score = float(train_classes.size) if kind == LABELS else 0.0
            scores = np.full((test.size, count_score_columns(kind, train_classes.size)), score)
            return y_pred, scores, f"{type(error).__name__}: {error}"
        with add_classifier_to_errors(i, params):
            rows = pick_rows(training.rows, test)
            labels = flatten_predictions("predict", classifier.predict(pick_rows(training.rows, test)), test.size)
            check_label_types("predict", labels, classes, "y")
            scores = compute_scores(classifier, rows, kind, train_classes, labels)
    codes = np.minimum(np.searchsorted(classes, labels), classes.size - 1)
    codes[classes[codes] != labels] = classes.size
    return codes.astype(dtype), scores, None
