"""Any scikit-learn classifier with many settings: each trained as a unit of work, then asked about its examples."""

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
from pacbayes._utils.checkpoint import UNIT, describe_run, open_checkpoint, pickled, seed_of_run
from pacbayes._utils.checks import warn_caller
from pacbayes._utils.threads import one_thread
from pacbayes._utils.units import jobs_of, run_units
from pacbayes.data.dataset import Dataset, check_rows, check_same_order
from pacbayes.data.rows import few_rows, pick_rows, warn_if_batch_dependent
from pacbayes.data.split import Split, SplitOptions, split_rows
from pacbayes.ensemble.candidates import Candidates, GridFamily, plan_candidates
from pacbayes.ensemble.classifier_set import ClassifierSet, Trained, Work
from pacbayes.ensemble.grid_folds import GridFolds
from pacbayes.ensemble.members import Estimators
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
    r"""Train a classifier with every setting of a grid and ask it about validation examples.

    Classifier :math:`h_i` is trained on its training sample alone and its risk is :math:`k_i/m`, with :math:`k_i`
    errors on `m` validation examples.

    Parameters
    ----------
    estimator : scikit-learn classifier or None
        Cloned, never fitted itself.  A `Pipeline` keeps what is fitted before the classifier (scaling, vocabulary)
        inside the training sample.  None where `param_grid` is a list of estimators.  A warning names an estimator that
        answers otherwise for a training row alone than among others: no certificate would hold.
    param_grid : dict, list of dicts, or list of estimators
        Values to combine by parameter, as for `GridSearchCV`; with `n_iter` also distributions, as for
        `RandomizedSearchCV`.  Or the classifiers themselves, of one kind or of several.
    X : array_like, sparse matrix, data frame or list of N rows
        Handed to the estimator as it is, rows picked; a list of texts for a pipeline with a vectoriser.
    y : array_like of shape (N,)
        Labels of two or more classes.
    n_iter : int, optional
        Settings to draw from `param_grid`; None for all of them.
    split : {"shared", "independent"}
        One training and validation sample for all classifiers, or for each its own.
    validation_size : float or int
        Fraction (rounded down) or number of validation examples.
    groups, duplicates
        As for `svm_set`.
    error_score : {"raise", "drop"}
        What to do with a classifier that cannot be fitted: raise an error that names its parameters, or leave it out,
        with a warning and an entry in `dropped`.  Whether it is left out depends on its training sample, which a shared
        split keeps apart from all validation examples.  With independent splits it would depend on examples that
        validate others, so "drop" is refused there.  A classifier that was fitted but cannot predict is always an
        error.
    n_jobs : int, optional
        Workers of joblib's backend, as everywhere in scikit-learn: None for one, unless `joblib.parallel_config` says
        otherwise.  Each works in one thread, so that the result is the same for any number, to the last bit.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        For splits, drawn settings and every `random_state` of the estimators that is None: classifier i gets a
        number of its own.  Other values stay.
    checkpoint : path of a directory, optional
        Store every 50 trained classifiers there.  The same call, after the process was killed, goes on from what is
        stored and gives the result of an undisturbed run, to the last bit; with ``random_state=None`` it takes the seed
        of the run that was begun.  Directories of other data, parameters or versions are refused.  Classifiers are
        stored as pickles, which can run code when read: use directories that only people you trust can write to.

    Returns
    -------
    ClassifierSet
        `params` are the settings (``{"estimator": ...}`` for a list of estimators).

    See Also
    --------
    svm_set : The same for support vector machines, many times faster.
    CertifiedClassifier : The set, its posterior and its certificate in one.
    ClassifierSet : What is returned; also from classifiers trained elsewhere.

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
    choices = SplitOptions(split, validation_size, groups, duplicates)
    family = GridFamily("", estimator, param_grid, n_iter, error_score)
    family.check(split)
    check_same_order(X=X, y=y, groups=groups)
    rows, labels = check_rows(X, y)
    data = Dataset.checked(rows, labels, groups)
    candidates = plan_candidates([family], seed_of_run(random_state, checkpoint))
    row_split = split_rows(data, choices, len(candidates), candidates.seed)
    return train_grids(candidates, Work(data, row_split, n_jobs, checkpoint, choices.as_dict())).as_set(data, n_jobs)


def train_grids(candidates: Candidates, work: Work) -> Trained:
    """Train every candidate on its training rows alone, a unit of work each."""
    data, divided, grids = work.data, work.split, candidates.grids
    # Of scikit-learn's own it is known that they let other threads work.
    threads = all(grid.own for grid in grids)
    workers = (jobs_of(work.n_jobs), "threads") if threads else (work.n_jobs, None)
    what = ", ".join(grid.name for grid in grids) if threads else "classifiers of the grid"
    check_predictions_fit(len(candidates), divided.validating.size)
    # Only what trains travels to the workers.
    training = data if divided.shared is None else data.pick(divided.shared[0])
    bags = divided.shared is not None and divided.units is None and any(map(leaves_rows_out, candidates.estimators))
    task = _Task(candidates, training, divided, bags and not _copied(training))
    trained = _train_units(task, work, what, workers)
    fitted = np.flatnonzero([one.error is None for one in trained])
    members = _members(task, trained, fitted)
    if divided.shared is None:
        return Trained(members, divided)
    known = {k: found for k, i in enumerate(fitted.tolist()) if (found := trained[i].out_of_bag) is not None}
    folds = GridFolds(
        members.estimators,
        members.params,
        training,
        workers,
        candidates.families[fitted],
        known,
        candidates,
        work.checkpoint,
        what if threads else "classifiers",
    )
    return Trained(members, divided, folds)


@dataclass(frozen=True, eq=False)
class _Task:
    """What every worker needs to train any of the classifiers."""

    candidates: Candidates
    #: The training rows where all share them, else all rows.
    data: Dataset
    split: Split
    #: Whether a forest's out-of-bag probabilities are wanted: not where rows in a bag may tell of those left out.
    out_of_bag: bool

    def rows(self, i: int) -> Rows:
        """Places of the i-th classifier's training rows."""
        return self.split(i)[0] if self.split.shared is None else np.arange(self.data.number)


@dataclass(frozen=True)
class _Fitted:
    """One trained classifier, or why it could not be trained; of a forest also its out-of-bag probabilities."""

    estimator: Any
    out_of_bag: FloatArray | None = None
    error: str | None = None
    trace: str = ""


def _train_units(task: _Task, work: Work, what: str, workers: tuple[int | None, str | None]) -> list[_Fitted]:
    """Train all candidates, each stored where the work has a checkpoint."""
    candidates, data = task.candidates, work.data
    # Few are likely to be large, and are stored one by one.
    together = 1 if len(candidates) < UNIT else UNIT

    def check(i: int, one: _Fitted) -> None:
        if one.error is not None and candidates.grids[candidates.families[i]].error_score == "raise":
            error = ValueError(f"classifier {i} with {candidates.params[i]} could not be fitted: {one.error}")
            error.add_note(one.trace)
            raise error

    codec = pickled(lambda one: isinstance(one, _Fitted), "classifiers of a grid", together)
    if work.checkpoint is not None:
        try:
            pickle.dumps(candidates)
        except Exception as error:  # pickle passes on whatever an object's own methods raise
            raise TypeError(f"checkpoint must be None for estimators that cannot be pickled: {error}") from error
    with open_checkpoint(work.checkpoint, codec) as store:
        if store is not None:
            files = {"X": data.rows, "y": data.labels, "estimator and param_grid": candidates.described()}
            number, seed, modules = len(candidates), candidates.seed, candidates.modules()
            store.begin(describe_run("grid_set", number, seed, files, work.options, modules, together))
        return run_units(_fit, task, len(candidates), what, *workers, check, store)


def _fit(task: _Task, i: int) -> _Fitted:
    """Train the i-th classifier; what goes wrong is returned, not raised."""
    try:
        with one_thread():
            # Apart from all others: a classifier may write into its rows.
            training, one = task.data.pick(task.rows(i)), task.candidates[i]
            if task.out_of_bag and leaves_rows_out(one):
                return _Fitted(one, fit_out_of_bag(one, training.rows, training.labels))
            one.fit(training.rows, training.labels)
            return _Fitted(one)
    except MemoryError:  # says something about this machine, not about this classifier
        raise
    except Exception as error:  # other people's classifiers raise what they like; the caller stops or drops them
        return _Fitted(None, None, f"{type(error).__name__}: {error}", traceback.format_exc())


def leaves_rows_out(forest: Any) -> bool:
    """Return whether a classifier is a forest of scikit-learn's own whose trees leave rows out."""
    return type(forest) in FORESTS and bool(forest.bootstrap) and not forest.warm_start


def fit_out_of_bag(forest: Any, X: Any, y: Labels) -> FloatArray:
    """Fit a forest; return its probabilities of the training rows by the trees that did not see them, (n, classes).

    NaN for a row that no tree left out.  The forest is left as its own `fit` would leave it.
    """
    asked = forest.oob_score
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        with np.errstate(invalid="ignore"):
            forest.set_params(oob_score=True).fit(X, y)
    found = np.asarray(forest.oob_decision_function_, dtype=np.float64)
    # Where no tree left a row out older versions say zero for all classes.
    found = np.where(found.sum(axis=1, keepdims=True) > 0.0, found, np.nan)
    forest.set_params(oob_score=asked)
    if not asked:
        del forest.oob_score_, forest.oob_decision_function_
    return found


def _copied(training: Dataset) -> bool:
    """Return whether training rows are equal, or cannot be compared: out of bag a copy's twin may have trained."""
    return training.same is None or bool(np.unique(training.same).size < training.number)


def _members(task: _Task, trained: list[_Fitted], fitted: Rows) -> Estimators:
    """Classifiers that could be trained; warn of the others, and of answers that depend on the batch."""
    pairs = list(zip(trained, task.candidates.params, strict=True))
    dropped = [{"params": params, "error": one.error} for one, params in pairs if one.error is not None]
    if not fitted.size:
        raise ValueError(f"none of {len(trained)} classifiers could be fitted; the first: {dropped[0]}")
    if dropped:
        warn_caller(
            f"{len(dropped)} of {len(trained)} classifiers could not be fitted and were left out (see dropped); "
            f"the first: {dropped[0]}"
        )
    estimators, params = [trained[i].estimator for i in fitted], [task.candidates.params[i] for i in fitted]

    def few(k: int) -> Any:
        train = task.rows(int(fitted[k]))
        return pick_rows(task.data.rows, train[few_rows(task.data.labels[train])])

    warn_if_batch_dependent(estimators, few, settings=params)
    return Estimators(estimators, params, task.data.classes, dropped)
