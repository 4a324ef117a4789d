"""Training of scikit-learn classifiers with all settings of grids."""

from __future__ import annotations

import pickle
import traceback
import warnings
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pacbayes._utils.arrays import FloatArray, Labels, Rows
from pacbayes._utils.checkpoint import CHUNK_SIZE, describe_run, open_checkpoint, pickle_codec, resolve_run_seed
from pacbayes._utils.checks import warn_caller
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes._utils.units import resolve_n_jobs, run_units
from pacbayes.data.dataset import Dataset, check_rows, check_same_order
from pacbayes.data.rows import pick_rows, select_test_rows, warn_if_batch_dependent
from pacbayes.data.split import Split, SplitOptions, split_rows
from pacbayes.ensemble.candidates import Candidates, GridFamily, plan_candidates
from pacbayes.ensemble.classifier_set import ClassifierSet, TrainedMembers, TrainingJob
from pacbayes.ensemble.cross_validation import MAX_ROWS_THREE_FOLDS
from pacbayes.ensemble.grid_folds import GridFolds
from pacbayes.ensemble.members import Estimators
from pacbayes.ensemble.portfolio import PORTFOLIO
from pacbayes.ensemble.validation import check_predictions_fit

FORESTS = (RandomForestClassifier, ExtraTreesClassifier)


def grid_set(
    estimator: Any,
    param_grid: Any,
    X: Any,
    y: ArrayLike,
    *,
    n_iter: int | None = None,
    split: str = "shared",
    validation_size: float | int = 0.5,
    groups: ArrayLike | None = None,
    duplicates: str = "keep",
    error_score: str = "raise",
    n_jobs: int | None = None,
    random_state: Any = None,
    checkpoint: str | PathLike[str] | None = None,
) -> ClassifierSet:
    r"""Train a classifier with every setting of a grid and predict validation rows.

    Classifier :math:`h_i` is trained on its training set only, and its risk is :math:`k_i/m`, with :math:`k_i` errors
    on `m` validation rows.

    Parameters
    ----------
    estimator : scikit-learn classifier or None
        Cloned, never fitted itself.  In a `Pipeline`, preprocessing (scaling, vocabulary) is fitted on the training set
        only.  None where `param_grid` is a list of estimators.  A warning names estimators whose prediction for a row
        depends on the rest of the batch: no certificate would hold.
    param_grid : dict, list of dicts, or list of estimators
        Values to combine by parameter, as for `GridSearchCV`; with `n_iter` also distributions, as for
        `RandomizedSearchCV`.  Or a list of classifiers, of one or several types.
    X : array_like, sparse matrix, data frame or list of N rows
        Rows are passed to the estimator unchanged, such as a list of texts to a pipeline with a vectoriser.
    y : array_like of shape (N,)
        Labels of two or more classes.
    n_iter : int, optional
        Number of settings to draw from `param_grid`; None for all of them.
    split : {"shared", "independent"}
        One training and validation set for all classifiers, or a separate random split for each.
    validation_size : float or int
        Fraction (rounded down) or number of validation rows.
    groups, duplicates
        As for `svm_set`.
    error_score : {"raise", "drop"}
        How to handle a classifier that cannot be fitted: raise an error that names its parameters, or drop it with a
        warning and an entry in `dropped`.  "drop" requires a shared split: with independent splits, whether a
        classifier is dropped would depend on validation rows of others.  A classifier that was fitted but cannot
        predict is always an error.
    n_jobs : int, optional
        Number of workers of joblib's backend, as in scikit-learn: None for one, unless `joblib.parallel_config` sets
        another number.  Each worker uses one thread, so that results do not depend on their number, to the last bit.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seed of splits, drawn settings and every `random_state` of the estimators that is None, which is different for
        each classifier.
    checkpoint : path of a directory, optional
        Directory in which every 50 trained classifiers are stored.  Repeating the call after the process was killed
        resumes from them and gives the result of an uninterrupted run, to the last bit; with ``random_state=None`` it
        uses the seed of the first run.  Directories of other data, parameters or versions are rejected.  Classifiers
        are stored as pickles, which can run code when read: use directories that only people you trust can write to.

    Returns
    -------
    ClassifierSet
        Its `params` are the settings (``{"estimator": ...}`` for a list of estimators).

    See Also
    --------
    svm_set : The same for support vector machines, many times faster.
    CertifiedClassifier : Train and certify in one estimator.
    ClassifierSet : Sets of classifiers, also of prefit ones.

    References
    ----------
    .. [1] D. A. McAllester, "PAC-Bayesian model averaging", COLT, 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from pacbayes import grid_set
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifiers = grid_set(DecisionTreeClassifier(), {"max_depth": [1, 2, 3]}, X, y, random_state=0)
    >>> classifiers.params[2], classifiers.m, bool(classifiers.risks.max() < 0.2)
    ({'max_depth': 3}, 284, True)
    """
    options = SplitOptions(split, validation_size, groups, duplicates)
    family = GridFamily("", estimator, param_grid, n_iter, error_score)
    family.check_split(split)
    check_same_order(X=X, y=y, groups=groups)
    rows, labels = check_rows(X, y)
    data = Dataset.from_arrays(rows, labels, groups)
    candidates = plan_candidates([family], resolve_run_seed(random_state, checkpoint))
    row_split = split_rows(data, options, len(candidates), candidates.seed)
    job = TrainingJob(data, row_split, n_jobs, checkpoint, options.as_dict())
    return train_grids(candidates, job).as_set(data, n_jobs)


def train_grids(candidates: Candidates, job: TrainingJob) -> TrainedMembers:
    """Train every candidate on its training rows, a unit of work each."""
    data, split, grids = job.data, job.split, candidates.grids
    # scikit-learn's own classifiers of the named families release the GIL.
    threads = all(grid.builtin for grid in grids)
    workers = (resolve_n_jobs(job.n_jobs), "threads") if threads else (job.n_jobs, None)
    what = ", ".join(grid.name for grid in grids) if threads else "classifiers of the grid"
    check_predictions_fit(len(candidates), split.validation_rows.size)
    # With a shared split, only training rows are sent to the workers.
    training = data if split.shared is None else data.pick(split.shared[0])
    # With many rows, one part held out is faster than the out-of-bag predictions of all.
    use_out_of_bag = split.shared is not None and split.units is None and training.n_rows <= MAX_ROWS_THREE_FOLDS
    use_out_of_bag = use_out_of_bag and any(map(has_out_of_bag_rows, candidates.estimators))
    task = _Task(candidates, training, split, use_out_of_bag and not _may_have_duplicates(training))
    results = _train_units(task, job, what, workers)
    fitted = np.flatnonzero([result.error is None for result in results])
    members = _collect_members(task, results, fitted)
    if split.shared is None:
        return TrainedMembers(members, split)
    out_of_bag = {
        k: probabilities for k, i in enumerate(fitted.tolist()) if (probabilities := results[i].out_of_bag) is not None
    }
    folds = GridFolds(
        members.estimators,
        members.params,
        training,
        workers,
        candidates.vote_families[fitted],
        out_of_bag,
        candidates,
        job.checkpoint,
        what if threads else "classifiers",
    )
    return TrainedMembers(members, split, folds)


@dataclass(frozen=True, eq=False)
class _Task:
    """Input of the workers."""

    candidates: Candidates
    #: The training rows of a shared split, or else all rows.
    data: Dataset
    split: Split
    #: Whether to compute out-of-bag probabilities of forests, which must not depend on duplicates or groups.
    out_of_bag: bool

    def train_rows(self, i: int) -> Rows:
        """Return the positions of the training rows of classifier i."""
        return self.split(i)[0] if self.split.shared is None else np.arange(self.data.n_rows)


@dataclass(frozen=True)
class _FitResult:
    """A fitted classifier, with the out-of-bag probabilities of a forest, or the error of its `fit`."""

    estimator: Any
    out_of_bag: FloatArray | None = None
    error: str | None = None
    traceback: str = ""


def _train_units(task: _Task, job: TrainingJob, what: str, workers: tuple[int | None, str | None]) -> list[_FitResult]:
    """Train all candidates, with a checkpoint if the job has one."""
    candidates, data = task.candidates, job.data
    # If there are few classifiers, they are probably large and are stored one by one.
    per_chunk = 1 if len(candidates) < CHUNK_SIZE else CHUNK_SIZE

    def raise_on_error(i: int, result: _FitResult) -> None:
        if result.error is not None and candidates.grids[candidates.families[i]].error_score == "raise":
            error = ValueError(f"classifier {i} with {candidates.params[i]} could not be fitted: {result.error}")
            error.add_note(result.traceback)
            raise error

    codec = pickle_codec(lambda result: isinstance(result, _FitResult), "classifiers of a grid", per_chunk)
    if job.checkpoint is not None:
        try:
            pickle.dumps(candidates)
        except Exception as error:  # methods of the estimators may raise anything
            raise TypeError(f"checkpoint must be None for estimators that cannot be pickled: {error}") from error
    with open_checkpoint(job.checkpoint, codec) as store:
        if store is not None:
            files = {"X": data.rows, "y": data.labels, "estimator and param_grid": candidates.fingerprints()}
            number, seed, modules = len(candidates), candidates.seed, candidates.modules()
            store.begin(describe_run("grid_set", number, seed, files, job.options, modules, per_chunk))
        return run_units(_fit_candidate, task, len(candidates), what, *workers, raise_on_error, store)


def _fit_candidate(task: _Task, i: int) -> _FitResult:
    """Fit classifier i; errors are returned, not raised."""
    try:
        with limit_to_one_thread():
            # A separate copy, because a classifier may write into its rows.
            training, classifier = task.data.pick(task.train_rows(i)), task.candidates[i]
            if task.out_of_bag and has_out_of_bag_rows(classifier):
                return _FitResult(classifier, fit_out_of_bag(classifier, training.rows, training.labels))
            classifier.fit(training.rows, training.labels)
            return _FitResult(classifier)
    except MemoryError:  # the fault of this computer, not of the classifier
        raise
    except Exception as error:  # other libraries' classifiers may raise anything; the caller stops or drops them
        return _FitResult(None, None, f"{type(error).__name__}: {error}", traceback.format_exc())


def has_out_of_bag_rows(forest: Any) -> bool:
    """Whether a classifier is one of scikit-learn's forests whose trees have out-of-bag rows."""
    return type(forest) in FORESTS and bool(forest.bootstrap) and not forest.warm_start


def fit_out_of_bag(forest: Any, X: Any, y: Labels) -> FloatArray:
    """Fit a forest and return the out-of-bag probabilities of its training rows, shape (n, classes).

    Rows that every tree was trained on are NaN.  The forest is left in the state of a plain `fit`.
    """
    oob_score = forest.oob_score
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        with np.errstate(invalid="ignore"):
            forest.set_params(oob_score=True).fit(X, y)
    probabilities = np.asarray(forest.oob_decision_function_, dtype=np.float64)
    # Older versions return zeros for rows that every tree was trained on.
    probabilities = np.where(probabilities.sum(axis=1, keepdims=True) > 0.0, probabilities, np.nan)
    forest.set_params(oob_score=oob_score)
    if not oob_score:
        del forest.oob_score_, forest.oob_decision_function_
    return probabilities


def _may_have_duplicates(training: Dataset) -> bool:
    """Whether training rows are equal or cannot be compared: trees may have seen duplicates of out-of-bag rows."""
    return training.distinct_rows is None or bool(np.unique(training.distinct_rows).size < training.n_rows)


def _collect_members(task: _Task, results: list[_FitResult], fitted: Rows) -> Estimators:
    """Collect fitted classifiers; warn about dropped ones and about batch-dependent predictions."""
    dropped = [
        {"params": params, "error": result.error}
        for result, params in zip(results, task.candidates.params, strict=True)
        if result.error is not None
    ]
    if not fitted.size:
        raise ValueError(f"none of {len(results)} classifiers could be fitted; the first: {dropped[0]}")
    if dropped:
        warn_caller(
            f"{len(dropped)} of {len(results)} classifiers could not be fitted and were dropped (see dropped); "
            f"the first: {dropped[0]}"
        )
    estimators, params = [results[i].estimator for i in fitted], [task.candidates.params[i] for i in fitted]

    # The tests of this library include the named families, and predicting takes a tenth of the time of a small fit.
    families = [task.candidates.grids[family] for family in task.candidates.families[fitted].tolist()]
    unknown = [
        k
        for k, (family, estimator) in enumerate(zip(families, estimators, strict=True))
        if not family.builtin or family.name not in PORTFOLIO or "preprocessor" in getattr(estimator, "named_steps", {})
    ]

    def sample(k: int) -> Any:
        train = task.train_rows(int(fitted[unknown[k]]))
        return pick_rows(task.data.rows, train[select_test_rows(task.data.labels[train])])

    warn_if_batch_dependent([estimators[k] for k in unknown], sample, settings=[params[k] for k in unknown])
    return Estimators(estimators, params, task.data.classes, dropped)
