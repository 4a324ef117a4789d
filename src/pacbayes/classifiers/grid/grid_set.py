"""Any scikit-learn classifier with many settings, each with its errors on validation examples."""

from __future__ import annotations

import pickle
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.grid.candidates import Candidates, plan_candidates
from pacbayes.classifiers.grid.fit_weights import check_takes_weights
from pacbayes.classifiers.grid.grid_fit import GRID_CHUNKS, Failed, Fitted, Recount, Task, fit_one
from pacbayes.classifiers.members import EstimatorMembers
from pacbayes.classifiers.packed_errors import check_kept_rows, kept_errors
from pacbayes.data.division import DivisionChoices, divide_rows
from pacbayes.data.rows_alone import warn_of_batches
from pacbayes.data.samples import check_rows, check_weights, cut_samples
from pacbayes.numeric.caller import warn_caller
from pacbayes.numeric.checks import check_choice
from pacbayes.runtime.checkpoint import describe_run, open_checkpoint
from pacbayes.runtime.seeds import seed_of
from pacbayes.runtime.units import run_units

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
    keep_error_rows: bool = False,
    n_jobs: int | None = None,
    random_state: Any = None,
    checkpoint: str | PathLike[str] | None = None,
) -> ClassifierSet:
    r"""Train a classifier with every setting of a grid and count its errors on validation examples.

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
    keep_error_rows : bool
        As for `svm_set`.
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
    StochasticClassifier : The set, its posterior and its certificate in one.
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
    check_choice("error_score", error_score, ERROR_SCORES)
    choices = DivisionChoices(split, validation_size, groups, duplicates)
    if split == "independent" and error_score == "drop":
        raise ValueError(
            "error_score='drop' needs split='shared': with independent splits whether a classifier is left out depends "
            "on examples that validate others, and a bound on those left would not hold"
        )
    rows, labels = check_rows(X, y)
    weights = check_weights(sample_weight, labels.size)
    with open_checkpoint(checkpoint, GRID_CHUNKS) as store:
        seed = seed_of(random_state) if store is None else store.seed(random_state)
        candidates = plan_candidates(estimator, param_grid, n_iter, seed)
        _check_fits(candidates, weights is not None, store is not None)
        division = divide_rows(rows, labels, choices, len(candidates), seed)
        if keep_error_rows:
            check_kept_rows(division.splits, len(candidates))
        samples = cut_samples(rows, labels, weights, division)
        if store is not None:
            data = {"X": rows, "y": labels, "estimator and param_grid": candidates.described()}
            options = choices.as_dict() | {"sample_weight": weights, "keep_error_rows": keep_error_rows}
            store.begin(describe_run("grid_set", len(candidates), seed, data, options, candidates.modules()))

        def check(i: int, one: Fitted | Failed) -> None:
            if isinstance(one, Failed) and (one.fitted or error_score == "raise"):
                one.stop(i, candidates.params[i])

        task, recount = Task(candidates, samples, keep_error_rows), Recount()
        trained = run_units(
            fit_one, task, len(candidates), "classifiers of the grid", n_jobs, None, check, store, recount
        )
        recount.warn(str(checkpoint))
        return _as_set(task, trained)


def _check_fits(candidates: Candidates, weighted: bool, stored: bool) -> None:
    """Raise if a classifier cannot be fitted with weights, or not be stored."""
    if weighted:
        for i in range(len(candidates)):
            check_takes_weights(candidates[i])
    if stored:
        try:
            pickle.dumps((candidates.estimator, candidates.params))
        except Exception as error:  # pickle passes on whatever an object's own methods raise
            raise TypeError(f"checkpoint must be None for estimators that cannot be pickled: {error}") from error


def _as_set(task: Task, trained: list[Fitted | Failed]) -> ClassifierSet:
    pairs = list(zip(trained, task.candidates.params, strict=True))
    kept = [(one, params) for one, params in pairs if isinstance(one, Fitted)]
    dropped = [{"params": params, "error": one.error} for one, params in pairs if isinstance(one, Failed)]
    if not kept:
        raise ValueError(f"none of {len(trained)} classifiers could be fitted; the first: {dropped[0]}")
    if dropped:
        warn_caller(
            f"{len(dropped)} of {len(trained)} classifiers could not be fitted and were left out (see dropped); "
            f"the first: {dropped[0]}"
        )
    numbers = [i for i, one in enumerate(trained) if isinstance(one, Fitted)]
    warn_of_batches(
        [one.estimator for one, _ in kept],
        lambda k: task.samples.few(numbers[k]),
        settings=[params for _, params in kept],
    )
    return ClassifierSet.from_counts(
        [params for _, params in kept],
        np.stack([one.errors for one, _ in kept]),
        task.samples.splits,
        members=EstimatorMembers([one.estimator for one, _ in kept]),
        copies=task.samples.copies,
        dropped=dropped,
        kept_errors=kept_errors(task.samples.splits, numbers, [one.wrong for one, _ in kept if one.wrong is not None]),
    )
