"""Any scikit-learn classifier with many settings, each with its errors on validation examples."""

import traceback
import warnings
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from pacbayes.bounds.validation import check_choice
from pacbayes.classifiers.candidates import Candidates, plan_candidates
from pacbayes.classifiers.classifier_set import ClassifierSet, EstimatorMembers, errors_of
from pacbayes.classifiers.fit_weights import check_takes_weights, fit_arguments
from pacbayes.classifiers.one_thread import one_thread
from pacbayes.classifiers.samples import Samples, check_rows, check_test_rows, check_weights, cut_samples, own
from pacbayes.classifiers.seeds import seed_of
from pacbayes.classifiers.splits import check_training_classes, plan_splits
from pacbayes.classifiers.units import run_units

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
    test: float | int | tuple[Any, ArrayLike] | None = None,
    stratify: bool = True,
    sample_weight: ArrayLike | None = None,
    error_score: str = "raise",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> ClassifierSet:
    r"""Train a classifier with every setting of a grid and count its errors on validation examples.

    Classifier :math:`h_i` is trained on its training sample alone and its risk is :math:`k_i/m`, with :math:`k_i`
    errors on `m` validation examples.  Validation and test risks count every example once: `sample_weight` reaches the
    training only, because the bounds are about the share of new examples a classifier gets wrong.

    Parameters
    ----------
    estimator : scikit-learn classifier or None
        Cloned, never fitted itself.  A `Pipeline` keeps what is fitted before the classifier (scaling, vocabulary)
        inside the training sample.  None where `param_grid` is a list of estimators.
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
        Fraction (rounded down) or number of validation examples among those not put aside for the test.
    test : float, int, pair (X_test, y_test) or None
        Fraction (rounded up) or number of examples to put aside first, or other examples, for `test_risks`.
    stratify : bool
        As for `svm_set`.
    sample_weight : array_like of shape (N,), optional
        Weights of the examples in training, for the last step of a pipeline.
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

    Returns
    -------
    ClassifierSet
        `params` are the settings (``{"estimator": ...}`` for a list of estimators).

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
    seed = seed_of(random_state)
    candidates = plan_candidates(estimator, param_grid, n_iter, seed)
    samples = _samples(X, y, sample_weight, test, split, validation_size, stratify, seed, len(candidates))
    if error_score == "drop" and samples.shared is None:
        raise ValueError(
            "error_score='drop' needs split='shared': with independent splits whether a classifier is left out depends "
            "on examples that validate others, and a bound on those left would not hold"
        )
    if sample_weight is not None:
        for i in range(len(candidates)):
            check_takes_weights(candidates[i])
    task = Task(candidates, samples)

    def check(i: int, one: Fitted | Failed) -> None:
        if isinstance(one, Failed) and (one.fitted or error_score == "raise"):
            one.stop(i, candidates.params[i])

    trained = run_units(fit_one, task, len(candidates), "classifiers of the grid", n_jobs, check=check)
    return _as_set(task, trained)


@dataclass(frozen=True)
class Task:
    """What every worker needs to train any of the classifiers."""

    candidates: Candidates
    samples: Samples


@dataclass(frozen=True)
class Fitted:
    """One trained classifier with its errors."""

    estimator: Any
    errors: int
    test_errors: int


@dataclass(frozen=True)
class Failed:
    """Why a classifier could not be trained, or (`fitted`) not be used."""

    error: str
    fitted: bool
    trace: str

    def stop(self, i: int, params: dict[str, Any]) -> NoReturn:
        """Raise an error that names the classifier's parameters."""
        failure = "was fitted but could not predict" if self.fitted else "could not be fitted"
        error = ValueError(f"classifier {i} with {params} {failure}: {self.error}")
        error.add_note(self.trace)
        raise error


def fit_one(task: Task, i: int) -> Fitted | Failed:
    """Train the i-th classifier and count its errors; what goes wrong is returned, not raised."""
    fitted = False
    try:
        with one_thread():
            training, validation = task.samples(i)
            one = task.candidates[i]
            one = one.fit(training.X, training.y, **fit_arguments(one, training.weights))
            fitted = True
            test = task.samples.test
            return Fitted(
                one,
                errors_of(one, *validation, f"classifier {i}.predict"),
                0 if test is None else errors_of(one, own(test[0]), test[1], f"classifier {i}.predict"),
            )
    except MemoryError:  # says something about this machine, not about this classifier
        raise
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}", fitted, traceback.format_exc())


def _samples(
    X: Any,
    y: ArrayLike,
    sample_weight: Any,
    test: Any,
    split: str,
    validation_size: Any,
    stratify: bool,
    seed: int,
    number: int,
) -> Samples:
    """Check the data and divide them among `number` classifiers."""
    rows, labels = check_rows(X, y)
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size < 2:
        raise ValueError(f"y must hold at least two classes, got class {classes[0]!r} only")
    weights = check_weights(sample_weight, labels.size)
    given = isinstance(test, tuple | list)
    splits = plan_splits(
        codes,
        kind=split,
        validation_size=validation_size,
        test_size=None if given else test,
        stratify=stratify,
        seed=seed,
    )
    check_training_classes(splits, codes, classes, number)
    return cut_samples(rows, labels, weights, splits, check_test_rows(test, rows, labels) if given else None)


def _as_set(task: Task, trained: list[Fitted | Failed]) -> ClassifierSet:
    pairs = list(zip(trained, task.candidates.params, strict=True))
    kept = [(one, params) for one, params in pairs if isinstance(one, Fitted)]
    dropped = [{"params": params, "error": one.error} for one, params in pairs if isinstance(one, Failed)]
    if not kept:
        raise ValueError(f"none of {len(trained)} classifiers could be fitted; the first: {dropped[0]}")
    if dropped:
        warnings.warn(
            f"{len(dropped)} of {len(trained)} classifiers could not be fitted and were left out (see dropped); "
            f"the first: {dropped[0]}",
            stacklevel=3,
        )
    test = task.samples.test
    return ClassifierSet.from_errors(
        [params for _, params in kept],
        np.array([one.errors for one, _ in kept], dtype=np.int64),
        task.samples.splits.m,
        members=EstimatorMembers([one.estimator for one, _ in kept]),
        test_errors=None if test is None else np.array([one.test_errors for one, _ in kept], dtype=np.int64),
        m_test=0 if test is None else test[1].size,
        splits=task.samples.splits,
        dropped=dropped,
    )
