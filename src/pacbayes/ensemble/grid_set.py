"""Any scikit-learn classifier with many settings: each trained as a unit of work, then asked about its examples."""

from __future__ import annotations

import pickle
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pacbayes._utils.arrays import FloatArray, Labels
from pacbayes._utils.caller import warn_caller
from pacbayes._utils.checkpoint import UNIT, describe_run, open_checkpoint, pickled, seed_of_run
from pacbayes._utils.checks import check_choice
from pacbayes._utils.threads import one_thread
from pacbayes._utils.units import jobs_of, run_units
from pacbayes.data.division import SHARED, Division, DivisionChoices
from pacbayes.data.labelled import Labelled, check_rows, check_same_order, check_weights
from pacbayes.data.rows import pick_rows
from pacbayes.data.rows_alone import few_rows, warn_of_batches
from pacbayes.ensemble.candidates import (
    Candidates,
    Families,
    check_takes_weights,
    fit_arguments,
    plan_candidates,
)
from pacbayes.ensemble.classifier_set import ClassifierSet, Trained, Work
from pacbayes.ensemble.evidence import check_evidence_fits
from pacbayes.ensemble.grid_folds import FoldStore, GridFolds
from pacbayes.ensemble.members import Estimators

FORESTS = (RandomForestClassifier, ExtraTreesClassifier)


@dataclass(frozen=True, eq=False)
class Task:
    """What every worker needs to train any of the classifiers."""

    candidates: Families
    #: The training rows where all share them, else all rows.
    data: Labelled
    division: Division
    #: Whether a forest's out-of-bag probabilities are wanted: not where rows in a bag may tell of those left out.
    out_of_bag: bool = False

    def training(self, i: int) -> Labelled:
        """Return the i-th classifier's training sample, apart from all others: it may write into its rows."""
        if self.division.shared is None:
            return self.data.pick(self.division(i)[0])
        return self.data.pick(np.arange(self.data.number))


@dataclass(frozen=True)
class Fitted:
    """One trained classifier; of a forest also its probabilities of training rows by trees that did not see them."""

    estimator: Any
    out_of_bag: FloatArray | None = None


@dataclass(frozen=True)
class Failed:
    """Why a classifier could not be trained."""

    error: str
    trace: str

    def stop(self, i: int, params: dict[str, Any]) -> NoReturn:
        """Raise an error that names the classifier's parameters."""
        error = ValueError(f"classifier {i} with {params} could not be fitted: {self.error}")
        error.add_note(self.trace)
        raise error


def fit_one(task: Task, i: int) -> Fitted | Failed:
    """Train the i-th classifier; what goes wrong is returned, not raised."""
    try:
        with one_thread():
            training, one = task.training(i), task.candidates[i]
            arguments = fit_arguments(one, training.weights)
            if task.out_of_bag and leaves_rows_out(one):
                return Fitted(one, fit_out_of_bag(one, training.rows, training.labels, arguments))
            one.fit(training.rows, training.labels, **arguments)
            return Fitted(one)
    except MemoryError:  # says something about this machine, not about this classifier
        raise
    except Exception as error:  # other people's classifiers raise what they like; the caller stops or drops them
        return Failed(f"{type(error).__name__}: {error}", traceback.format_exc())


def leaves_rows_out(forest: Any) -> bool:
    """Return whether a classifier is a forest of scikit-learn's own whose trees leave rows out."""
    return type(forest) in FORESTS and bool(forest.bootstrap) and not forest.warm_start


def fit_out_of_bag(forest: Any, X: Any, y: Labels, arguments: dict[str, Any]) -> FloatArray:
    """Fit a forest; return its probabilities of the training rows by the trees that did not see them, (n, classes).

    NaN for a row that no tree left out.  The forest is left as its own `fit` would leave it.
    """
    asked = forest.oob_score
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        with np.errstate(invalid="ignore"):
            forest.set_params(oob_score=True).fit(X, y, **arguments)
    found = np.asarray(forest.oob_decision_function_, dtype=np.float64)
    # Where no tree left a row out older versions say zero for all classes.
    found = np.where(found.sum(axis=1, keepdims=True) > 0.0, found, np.nan)
    forest.set_params(oob_score=asked)
    if not asked:
        del forest.oob_score_, forest.oob_decision_function_
    return found


def _is_trained(one: Any) -> bool:
    """Return whether it is what `fit_one` gives."""
    return isinstance(one, Fitted | Failed)


ERROR_SCORES = ("raise", "drop")


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
    sample_weight: ArrayLike | None = None,
    error_score: str = "raise",
    n_jobs: int | None = None,
    random_state: Any = None,
    checkpoint: str | PathLike[str] | None = None,
) -> ClassifierSet:
    r"""Train a classifier with every setting of a grid and ask it about validation examples.

    Classifier :math:`h_i` is trained on its training sample alone and its risk is :math:`k_i/m`, with :math:`k_i`
    errors on `m` validation examples.  Risks count every example once: `sample_weight` reaches the
    training only, because the bounds are about the share of new examples a classifier gets wrong.

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
    sample_weight : array_like of shape (N,), optional
        Weights of the rows in training, for the last step of a pipeline.
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
    choices = DivisionChoices(split, validation_size, groups, duplicates)
    family = GridFamily("", estimator, param_grid, n_iter, error_score)
    family.check(split)
    check_same_order(X=X, y=y, groups=groups, sample_weight=sample_weight)
    rows, labels = check_rows(X, y)
    data = Labelled.checked(rows, labels, groups, weights=check_weights(sample_weight, labels.size))
    seed = seed_of_run(random_state, checkpoint)
    number = 1 if split == SHARED else len(plan_families([family], seed))
    work = Work.divided(data, choices, n_jobs, seed, checkpoint, number)
    return train_grids([family], work).as_set(data, n_jobs)


@dataclass(frozen=True, eq=False)
class GridFamily:
    """A classifier with every setting of a grid, or many classifiers, as they were asked for."""

    name: str
    estimator: Any
    param_grid: Any
    n_iter: int | None = None
    error_score: str = "raise"
    #: Whether it is a family by name, whose classifiers train in threads beside each other.
    own: bool = False

    def check(self, split: str) -> None:
        """Raise before any work for what does not go with such a division."""
        check_choice("error_score", self.error_score, ERROR_SCORES)
        if split == "independent" and self.error_score == "drop":
            raise ValueError(
                "error_score='drop' needs split='shared': with independent splits whether a classifier is left out "
                "depends on examples that validate others, and a bound on those left would not hold"
            )


def plan_families(grids: Sequence[GridFamily], seed: int) -> Families:
    """Return all candidates of some grids; what belongs to each depends on the seed and its place."""
    parts: list[Candidates] = []
    for grid in grids:
        found = plan_candidates(grid.estimator, grid.param_grid, grid.n_iter, seed)
        parts.append(replace(found, first=sum(map(len, parts))))
    return Families(tuple(parts), tuple(grid.name for grid in grids))


def train_grids(grids: Sequence[GridFamily], work: Work) -> Trained:
    """Train every classifier of some grids on its training rows alone, a unit of work each."""
    data, checkpoint = work.data, work.checkpoint
    # Of scikit-learn's own it is known that they let other threads work.
    threads = all(grid.own for grid in grids)
    jobs, prefer = (jobs_of(work.n_jobs), "threads") if threads else (work.n_jobs, None)
    what = ", ".join(grid.name for grid in grids) if threads else "classifiers of the grid"
    seed, divided = work.seed, work.division
    candidates = plan_families(grids, seed)
    _check_fits(candidates, data.weights is not None, checkpoint is not None)
    check_evidence_fits(len(candidates), divided.validating.size)
    # Few are likely to be large, and are stored one by one.
    together = 1 if len(candidates) < UNIT else UNIT
    with open_checkpoint(checkpoint, pickled(_is_trained, "classifiers of a grid", together)) as store:
        if store is not None:
            files = {"X": data.rows, "y": data.labels, "estimator and param_grid": candidates.described()}
            choices = work.options | {"sample_weight": data.weights}
            modules = candidates.modules()
            store.begin(describe_run("grid_set", len(candidates), seed, files, choices, modules, together))

        def check(i: int, one: Fitted | Failed) -> None:
            if isinstance(one, Failed) and grids[candidates.families[i]].error_score == "raise":
                one.stop(i, candidates.params[i])

        shared = divided.shared
        # Only what trains travels to the workers.
        training = data if shared is None else data.pick(shared[0])
        bags = shared is not None and divided.units is None and candidates.have(leaves_rows_out)
        task = Task(candidates, training, divided, bags and not _copied(training))
        trained = run_units(fit_one, task, len(candidates), what, jobs, prefer, check, store)
        members, numbers = _members(task, trained)
        if shared is None:
            return Trained(members, divided)
        kept = [one for one in trained if isinstance(one, Fitted)]
        known = {k: one.out_of_bag for k, one in enumerate(kept) if one.out_of_bag is not None}
        families = candidates.families[numbers]
        told = (
            None
            if store is None
            else FoldStore(store.path / "folds", seed, candidates.described(), candidates.modules())
        )
        folds = GridFolds(
            members.estimators,
            members.params,
            training,
            (jobs, prefer),
            families,
            known,
            told,
            what if threads else "classifiers",
        )
        return Trained(members, divided, folds)


def _copied(training: Labelled) -> bool:
    """Return whether training rows are equal, or cannot be compared: out of bag a copy's twin may have trained."""
    return training.same is None or bool(np.unique(training.same).size < training.number)


def _check_fits(candidates: Families, weighted: bool, stored: bool) -> None:
    """Raise if a classifier cannot be fitted with weights, or not be stored."""
    if weighted:
        for i in range(len(candidates)):
            check_takes_weights(candidates[i])
    if stored:
        try:
            pickle.dumps(candidates)
        except Exception as error:  # pickle passes on whatever an object's own methods raise
            raise TypeError(f"checkpoint must be None for estimators that cannot be pickled: {error}") from error


def _members(task: Task, trained: list[Fitted | Failed]) -> tuple[Estimators, list[int]]:
    """Return the classifiers that could be trained, and their places.

    Warn of those left out, and of answers that depend on the batch.
    """
    pairs = list(zip(trained, task.candidates.params, strict=True))
    dropped = [{"params": params, "error": one.error} for one, params in pairs if isinstance(one, Failed)]
    numbers = [i for i, one in enumerate(trained) if isinstance(one, Fitted)]
    if not numbers:
        raise ValueError(f"none of {len(trained)} classifiers could be fitted; the first: {dropped[0]}")
    if dropped:
        warn_caller(
            f"{len(dropped)} of {len(trained)} classifiers could not be fitted and were left out (see dropped); "
            f"the first: {dropped[0]}"
        )
    estimators = [one.estimator for one in trained if isinstance(one, Fitted)]
    params = [params for one, params in pairs if isinstance(one, Fitted)]
    warn_of_batches(estimators, lambda k: _few(task, numbers[k]), settings=params)
    return Estimators(estimators, params, task.data.classes, dropped), numbers


def _few(task: Task, i: int) -> Any:
    """Return a few rows of the i-th classifier's training sample."""
    data, shared = task.data, task.division.shared
    train = np.arange(data.number) if shared is not None else task.division(i)[0]
    return pick_rows(data.rows, train[few_rows(data.labels[train])])
