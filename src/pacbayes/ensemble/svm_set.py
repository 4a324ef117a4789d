"""Support vector machines for a grid of regularisation parameters, with their answers to validation examples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _get_feature_names

from pacbayes._utils.arrays import FloatArray, Labels, Rows
from pacbayes._utils.checkpoint import describe_run, open_checkpoint, part_of, seed_of_run
from pacbayes._utils.checks import check_choice, check_count, narrow_labels
from pacbayes._utils.memory import BLOCK_BYTES, check_fits
from pacbayes._utils.threads import at_most_cores, one_thread
from pacbayes._utils.units import jobs_of
from pacbayes.data.dataset import Dataset, check_complete, check_rows, check_same_order
from pacbayes.data.preprocessing import check_preprocessor, fit_preprocessor
from pacbayes.data.rows import check_table, pick_rows
from pacbayes.data.split import Split, SplitOptions, split_rows
from pacbayes.ensemble.classifier_set import ClassifierSet, Trained, Work
from pacbayes.ensemble.svm_folds import train_shared
from pacbayes.ensemble.svm_independent import SVM_CHUNKS, IndependentTask, train_independent
from pacbayes.ensemble.validation import check_predictions_fit
from pacbayes.svm.kernel import (
    AUTO_SCALE,
    NYSTROEM,
    SINGLE_FROM,
    SVM_KERNELS,
    Gamma,
    check_gamma,
    check_scale,
    number_of_widths,
)
from pacbayes.svm.landmarks import GRAM_BLOCKS, N_COMPONENTS
from pacbayes.svm.path import check_lambdas
from pacbayes.svm.svm_classifier import SVMSettings


def svm_set(
    X: ArrayLike,
    y: ArrayLike,
    lambdas: ArrayLike,
    *,
    kernel: str = "rbf",
    gamma: Gamma = "sigest",
    n_components: int = N_COMPONENTS,
    scale: bool | str = True,
    preprocessor: Any = None,
    split: str = "shared",
    validation_size: float | int = 0.5,
    groups: ArrayLike | None = None,
    duplicates: str = "keep",
    n_jobs: int | None = None,
    random_state: Any = None,
    checkpoint: str | PathLike[str] | None = None,
    max_bytes: int | None = None,
) -> ClassifierSet:
    r"""Train a support vector machine for every :math:`\lambda` and ask it about validation examples.

    `C` is :math:`1/\lambda`.  Scaling, kernel width and machine are fitted on the training sample alone.

    Parameters
    ----------
    X : array_like of shape (N, d)
        Numbers beyond 1e100 in size count as 1e100.
    y : array_like of shape (N,)
        Two or more classes.  More than two are told apart by one-vs-one machines with the same :math:`\lambda` and
        scikit-learn's `SVC` vote.
    lambdas : array_like of shape (H,)
        Positive, in any order.
    kernel : {"rbf", "linear", "nystroem"}
        "nystroem" is for many rows: the Gaussian kernel by way of `n_components` training rows, with a cost that grows
        with the number of rows, not with its square or cube.  Its machines are C-SVCs on Nyström's features of the
        training rows, solved to a KKT violation of 0.01 (the others: 0.001).
    gamma : {"sigest", "widths", "scale", "auto"}, float, or list of floats
        Width of the Gaussian kernel :math:`\exp(-\gamma |x-x'|^2)`; see `sigest`.  "widths": that of sigest times 1/16,
        1/4, 1, 4 and 16.  "scale" and "auto" as in scikit-learn's `SVC`.  Of several widths each has a machine for
        every :math:`\lambda`, those of the first width first; they need a shared split.
    n_components : int
        For "nystroem": how many training rows, drawn at random, are its landmarks; at most all.
    scale : bool, "auto" or "kernlab"
        Standardise the columns; constant ones are left alone.  "auto", for a shared split: as
        cross-validation within the training rows finds better, where most columns have about the same range; else they
        are standardised.  "kernlab": as R's kernlab does, which scales none if any is constant in the training sample.
    preprocessor : scikit-learn transformer, optional
        For a shared split: what turns the rows into numbers (imputation, one-hot columns), cloned and fitted on the
        training sample; X is then handed to it as it is, training and validation rows apart.  A warning names
        one that answers otherwise for a row alone than among others: no certificate would hold.
    split : {"shared", "independent"}
        One training and validation sample for all classifiers, or for each its own.
    validation_size : float or int
        Fraction (rounded down) or number of validation examples.
    groups : array_like of shape (N,), optional
        The group of every row: a patient, a site, a day.  All rows of a group are on one side of the division, sizes
        are shares or numbers of groups, and one loss is counted for each: its share of errors.  `risks` are means over
        groups, and what a bound says is about the mean over new groups, not about rows.
    duplicates : {"keep", "together", "independent"}
        Rows equal in features and class: each for itself, or one example that is on one side of the division and is
        validated once.  "together" is for copies made after sampling; see `copies`.  "independent" is as "keep",
        without a warning of copies.
    n_jobs : int, optional
        Threads; None for all cores.  For independent splits and several widths `joblib.parallel_config` may set other
        workers.  The result is the same for any number, to the last bit.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        For splits, kernel width and landmarks.
    checkpoint : path of a directory, optional
        Store finished units there, and go on from what is stored; see `grid_set`.  With a shared split a unit is all
        machines of one width.  Units are arrays: reading one runs no code.
    max_bytes : int, optional
        Refuse with a `MemoryError` what needs more memory, by default half of what is free.  With n training rows and
        k classes, a shared split needs at most ``10 * (n**2 + (k - 1) * H * n)`` bytes beyond its input, plus scaled
        copies of the rows and a block of 64 MiB.  Independent splits need ``8 * (n**2 + m * n)`` per thread and the
        duals.  "nystroem" needs ``16 * n * n_components`` and the coefficients instead, for independent splits per
        thread.

    Returns
    -------
    ClassifierSet

    See Also
    --------
    grid_set : The same for any scikit-learn estimator.
    svm_path : The machines alone, on a kernel matrix.
    StochasticSVC : The set, its posterior and its certificate in one.
    optimal_posterior : The posterior over the set from its risks.

    References
    ----------
    .. [1] P. Sahu and N. Hemachandra, "Optimal PAC-Bayesian Posteriors for Stochastic Classifiers and their use for
       Choice of SVM Regularization Parameter", ACML, PMLR 101, 2019.
    .. [2] R.-E. Fan, P.-H. Chen and C.-J. Lin, "Working set selection using second order information for training
       support vector machines", Journal of Machine Learning Research 6, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pacbayes import svm_set
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifiers = svm_set(X, y, [0.1, 1.0, 10.0], random_state=0)
    >>> len(classifiers), classifiers.m, bool(classifiers.risks.max() < 0.2)
    (3, 284, True)
    """
    choices = SplitOptions(split, validation_size, groups, duplicates)
    family = SvmFamily.checked("", lambdas, kernel, gamma, n_components, scale, preprocessor)
    family.check(split)
    check_same_order(X=X, y=y, groups=groups)
    features, labels = _check_data(X, y) if preprocessor is None else check_rows(X, y)
    data = Dataset.checked(features, labels, groups)
    with at_most_cores(jobs_of(n_jobs)):
        row_split = split_rows(data, choices, family.number, seed_of_run(random_state, checkpoint))
        work = Work(data, row_split, n_jobs, checkpoint, choices.as_dict())
        return family.train(work, max_bytes).as_set(data, jobs_of(n_jobs))


@dataclass(frozen=True, eq=False)
class SvmFamily:
    """Support vector machines for many lambdas, as they were asked for."""

    name: str
    lambdas: FloatArray
    kernel: str
    gamma: Gamma
    n_components: int
    scale: bool | str
    preprocessor: Any = None

    @classmethod
    def checked(
        cls,
        name: str,
        lambdas: ArrayLike,
        kernel: Any,
        gamma: Any,
        n_components: Any,
        scale: Any,
        preprocessor: Any = None,
    ) -> SvmFamily:
        """Raise before any work for what cannot be trained."""
        checked = check_lambdas(lambdas)
        check_choice("kernel", kernel, SVM_KERNELS)
        gamma, n_components = check_gamma(gamma), check_count("n_components", n_components)
        return cls(name, checked, kernel, gamma, n_components, check_scale(scale), preprocessor)

    def check(self, split: str) -> None:
        """Raise before any work for what does not go with such a division."""
        check_preprocessor(self.preprocessor, split)
        if split != "shared" and number_of_widths(self.gamma) > 1:
            raise ValueError(
                f"gamma must be one width for split={split!r}, such as 'sigest': each machine has a sample of its own; "
                f"got {self.gamma!r}"
            )
        if split != "shared" and self.scale == AUTO_SCALE:
            raise ValueError(f"scale must be True, False or 'kernlab' for split={split!r}, got 'auto'")

    @property
    def number(self) -> int:
        """How many machines there are."""
        return self.lambdas.size * (1 if self.kernel == "linear" else number_of_widths(self.gamma))

    def train(self, work: Work, max_bytes: int | None = None) -> Trained:
        """Train the machines on training rows alone."""
        data, divided, jobs = work.data, work.split, jobs_of(work.n_jobs)
        seed = divided.seed
        settings = SVMSettings(self.lambdas, self.kernel, self.gamma, self.scale, self.n_components, seed)
        check_predictions_fit(self.number, divided.validating.size, max_bytes)
        # One thread each: the bits of a product depend on how many share it, and the workers use the cores.
        with one_thread():
            if divided.shared is None:
                # The samples are picked from one array, also where the rows came as a data frame.
                numbers = replace(data, rows=check_array(data.rows, dtype=np.float64))
                _check_memory(settings, self.number, divided, data, numbers.rows.shape[1], jobs, max_bytes)
                task = IndependentTask(settings, numbers, divided, _get_feature_names(data.rows))
                with open_checkpoint(work.checkpoint, SVM_CHUNKS) as store:
                    if store is not None:
                        store.begin(self._run(data, work.options, seed))
                    return Trained(train_independent(task, jobs, store), divided)
            train = divided.shared[0]
            rows, fitted = self._numbers(data, train)
            _check_memory(settings, self.number, divided, data, rows.shape[1], jobs, max_bytes)
            units, codes = divided.units_of(train), data.codes[train]
            own = part_of(work.checkpoint, self.name or "svm")
            members, folds = train_shared(settings, rows, codes, data.classes, fitted, jobs, units, max_bytes, own)
            return Trained(members, divided, folds)

    def _numbers(self, data: Dataset, train: Rows) -> tuple[FloatArray, Any]:
        """Return the training rows as numbers, and what makes such of other rows."""
        if self.preprocessor is None:
            return check_array(pick_rows(data.rows, train), dtype=np.float64), None
        fitted, rows = fit_preprocessor(self.preprocessor, data.pick(train))
        return rows, fitted

    def _run(self, data: Dataset, options: dict[str, Any], seed: int) -> dict[str, Any]:
        own = {"kernel": self.kernel, "gamma": self.gamma, "scale": self.scale, "n_components": self.n_components}
        files = {"X": data.rows, "y": data.labels, "lambdas": self.lambdas}
        return describe_run("svm_set", self.lambdas.size, seed, files, own | options)


def _check_data(X: Any, y: Any) -> tuple[FloatArray, Labels]:
    """Return rows of finite numbers, and labels of classes."""
    check_table(X)
    features, labels = check_X_y(X, check_complete(narrow_labels(y)), dtype=np.float64)
    check_classification_targets(labels)
    return features, labels


def _check_memory(
    task: SVMSettings, h: int, splits: Split, data: Dataset, columns: int, jobs: int, max_bytes: int | None
) -> None:
    """Refuse what will not fit before anything is allocated: of several widths one matrix at a time, and all duals."""
    k = data.classes.size
    n, m = splits.most_rows
    if task.kernel == NYSTROEM:
        width = min(n, task.n_components)
        # The features, and those of one pair of classes or of a fold.
        workers = 1 if splits.shared is not None else min(jobs, h)
        needed = workers * 8 * (2 * n * width + (GRAM_BLOCKS + 4) * width**2) + 4 * k * (k - 1) * h * width
        needed += BLOCK_BYTES
        what = f"{width} features of {n} rows"
    elif splits.shared is not None:
        entry = 10 if n < SINGLE_FROM else 5
        needed = entry * n * n + 10 * (k - 1) * h * n + 8 * n * columns + BLOCK_BYTES
        what = f"a kernel matrix of {n} x {n} and the duals of {h} classifiers"
    else:
        needed = 8 * (min(jobs, h) * (n * n + m * n) + h * n)
        what = f"kernel matrices of {n} x {n} in {min(jobs, h)} threads"
    advice = 'Use kernel="nystroem", which needs no kernel matrix. ' if task.kernel == "rbf" else ""
    advice += "Give fewer rows, a larger validation_size or fewer lambdas"
    if splits.shared is None:
        advice += "; fewer n_jobs"
    # Estimators have no such parameter; who gave it knows what it is.
    advice += "." if max_bytes is None else "; or a larger max_bytes."
    check_fits(needed, max_bytes, what, advice)
