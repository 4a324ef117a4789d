"""Training of support vector machines for many regularisation parameters."""

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
from pacbayes._utils.checkpoint import checkpoint_subdirectory, describe_run, open_checkpoint, resolve_run_seed
from pacbayes._utils.checks import check_choice, check_count, convert_long_labels
from pacbayes._utils.memory import BLOCK_BYTES, check_memory
from pacbayes._utils.threads import limit_cores, limit_to_one_thread
from pacbayes._utils.units import resolve_n_jobs
from pacbayes.data.dataset import Dataset, check_no_missing_labels, check_rows, check_same_order
from pacbayes.data.preprocessing import check_preprocessor, fit_preprocessor
from pacbayes.data.rows import check_table, pick_rows
from pacbayes.data.split import Split, SplitOptions, split_rows
from pacbayes.ensemble.classifier_set import ClassifierSet, TrainedMembers, TrainingJob
from pacbayes.ensemble.svm_folds import train_shared
from pacbayes.ensemble.svm_independent import SVM_CHUNKS, IndependentTask, train_independent
from pacbayes.ensemble.validation import check_predictions_fit
from pacbayes.svm.kernel import (
    AUTO_SCALE,
    NYSTROEM,
    SINGLE_PRECISION_FROM,
    SVM_KERNELS,
    Gamma,
    check_gamma,
    check_scale,
    count_widths,
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
    r"""Train a support vector machine for every :math:`\lambda` and predict validation rows.

    `C` is :math:`1/\lambda`.  Scaling, kernel width and SVMs are fitted on the training set only.

    Parameters
    ----------
    X : array_like of shape (N, d)
        Numbers are clipped at 1e100 in absolute value.
    y : array_like of shape (N,)
        Two or more classes.  For more than two, one-vs-one SVMs with the same :math:`\lambda` vote as in scikit-learn's
        `SVC`.
    lambdas : array_like of shape (H,)
        Positive, in any order.
    kernel : {"rbf", "linear", "nystroem"}
        "nystroem" is for many rows: the Gaussian kernel approximated by `n_components` training rows, at a cost that
        is linear in the number of rows.  Its SVMs are C-SVCs on Nyström features of the training rows, solved to a KKT
        violation of 0.01 (the others: 0.001).
    gamma : {"sigest", "widths", "three widths", "scale", "auto"}, float, or list of floats
        Width of the Gaussian kernel :math:`\exp(-\gamma |x-x'|^2)`; see `sigest`.  "widths" is that of sigest times
        1/16, 1/4, 1, 4 and 16, "three widths" the three in the middle.  "scale" and "auto" are as in scikit-learn's
        `SVC`.  Several widths, which require a shared split, are combined with every :math:`\lambda`; the SVMs of the
        first width come first.
    n_components : int
        Number of landmarks of "nystroem", drawn at random from the training rows; at most all of them.
    scale : bool, "auto" or "kernlab"
        Whether to standardise the columns; constant columns are not scaled.  "auto", for a shared split, decides by
        cross-validation within the training rows if most columns have similar ranges, and standardises otherwise.
        "kernlab" is as in R's kernlab, which scales no column if any is constant in the training set.
    preprocessor : scikit-learn transformer, optional
        For a shared split: transformer to numeric rows (imputation, one-hot encoding), cloned and fitted on the
        training set.  A warning names one whose output for a row depends on the rest of the batch: no certificate
        would hold.
    split : {"shared", "independent"}
        One training and validation set for all SVMs, or a separate random split for each.
    validation_size : float or int
        Fraction (rounded down) or number of validation rows.
    groups : array_like of shape (N,), optional
        Group of each row, such as a patient, a site or a day.  Rows of a group stay on one side of the split,
        `validation_size` is a fraction or number of groups, and the loss of a group is its error rate.  `risks` are
        means over groups, and bounds are on the mean over new groups instead of rows.
    duplicates : {"keep", "together", "independent"}
        How to treat rows that are equal in features and class.  "keep" treats each as an independent draw; "together"
        treats them as one example that was copied after sampling: they stay on one side of the split and count once in
        validation; see `copies`.  "independent" is as "keep", without a warning of duplicates.
    n_jobs : int, optional
        Number of threads; None for all cores.  For independent splits and several widths, `joblib.parallel_config` may
        set other workers.  Results do not depend on their number, to the last bit.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seed of splits, kernel width and landmarks.
    checkpoint : path of a directory, optional
        Directory of finished units, from which a repeated call resumes; see `grid_set`.  With a shared split, a unit is
        all SVMs of one width.  Units are arrays: reading one runs no code.
    max_bytes : int, optional
        Raise a `MemoryError` if more memory is needed, by default half of the free memory.  With n training rows and k
        classes, a shared split needs at most ``10 * (n**2 + (k - 1) * H * n)`` bytes beyond its input, plus scaled
        copies of the rows and a block of 64 MiB.  Independent splits need ``8 * (n**2 + m * n)`` per thread and the
        duals.  "nystroem" needs ``16 * n * n_components`` and the coefficients instead, for independent splits per
        thread.

    Returns
    -------
    ClassifierSet

    See Also
    --------
    grid_set : The same for any scikit-learn classifier.
    svm_path : SVMs on a kernel matrix.
    StochasticSVC : Train and certify in one estimator.
    optimal_posterior : Posterior over the set from its risks.

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
    options = SplitOptions(split, validation_size, groups, duplicates)
    family = SvmFamily.from_settings("", lambdas, kernel, gamma, n_components, scale, preprocessor)
    family.check_split(split)
    check_same_order(X=X, y=y, groups=groups)
    features, labels = _check_data(X, y) if preprocessor is None else check_rows(X, y)
    data = Dataset.from_arrays(features, labels, groups)
    with limit_cores(resolve_n_jobs(n_jobs)):
        row_split = split_rows(data, options, family.n_svms, resolve_run_seed(random_state, checkpoint))
        job = TrainingJob(data, row_split, n_jobs, checkpoint, options.as_dict())
        return family.train(job, max_bytes).as_set(data, resolve_n_jobs(n_jobs))


@dataclass(frozen=True, eq=False)
class SvmFamily:
    """Support vector machines for many lambdas, with validated settings."""

    name: str
    lambdas: FloatArray
    kernel: str
    gamma: Gamma
    n_components: int
    scale: bool | str
    preprocessor: Any = None
    #: Whether width and cost are chosen on a subsample, and whether the family may be left out there.
    subsample: bool = False
    optional: bool = False

    @classmethod
    def from_settings(
        cls,
        name: str,
        lambdas: ArrayLike,
        kernel: Any,
        gamma: Any,
        n_components: Any,
        scale: Any,
        preprocessor: Any = None,
    ) -> SvmFamily:
        """Validate the settings."""
        lambdas = check_lambdas(lambdas)
        check_choice("kernel", kernel, SVM_KERNELS)
        gamma, n_components = check_gamma(gamma), check_count("n_components", n_components)
        return cls(name, lambdas, kernel, gamma, n_components, check_scale(scale), preprocessor)

    def check_split(self, split: str) -> None:
        """Raise before training if the settings are incompatible with the kind of split."""
        check_preprocessor(self.preprocessor, split)
        if split != "shared" and count_widths(self.gamma) > 1:
            raise ValueError(
                f"gamma must be a single width for split={split!r}, such as 'sigest': each SVM has its own training "
                f"set; got {self.gamma!r}"
            )
        if split != "shared" and self.scale == AUTO_SCALE:
            raise ValueError(f"scale must be True, False or 'kernlab' for split={split!r}, got 'auto'")

    @property
    def n_svms(self) -> int:
        """Number of SVMs."""
        return self.lambdas.size * (1 if self.kernel == "linear" else count_widths(self.gamma))

    def train(self, job: TrainingJob, max_bytes: int | None = None) -> TrainedMembers:
        """Train the SVMs on training rows only."""
        data, split, jobs = job.data, job.split, resolve_n_jobs(job.n_jobs)
        settings = SVMSettings(self.lambdas, self.kernel, self.gamma, self.scale, self.n_components, split.seed)
        check_predictions_fit(self.n_svms, split.validation_rows.size, max_bytes)
        # One thread each: the bits of a matrix product depend on the number of threads, and the workers use the cores.
        with limit_to_one_thread():
            if split.shared is None:
                # Training sets are picked from one array, also if the rows are a data frame.
                numeric = replace(data, rows=check_array(data.rows, dtype=np.float64))
                _check_memory(settings, self.n_svms, split, data, numeric.rows.shape[1], jobs, max_bytes)
                task = IndependentTask(settings, numeric, split, _get_feature_names(data.rows))
                with open_checkpoint(job.checkpoint, SVM_CHUNKS) as store:
                    if store is not None:
                        store.begin(self._describe_run(data, job.options, split.seed))
                    return TrainedMembers(train_independent(task, jobs, store), split)
            train = split.shared[0]
            rows, preprocessor = self.preprocess(data, train)
            _check_memory(settings, self.n_svms, split, data, rows.shape[1], jobs, max_bytes)
            units, codes = split.select_units(train), data.codes[train]
            directory = checkpoint_subdirectory(job.checkpoint, self.name or "svm")
            members, folds = train_shared(
                settings, rows, codes, data.classes, preprocessor, jobs, units, max_bytes, directory
            )
            return TrainedMembers(members, split, folds)

    def preprocess(self, data: Dataset, train: Rows) -> tuple[FloatArray, Any]:
        """Numeric training rows, and the fitted preprocessor."""
        if self.preprocessor is None:
            return check_array(pick_rows(data.rows, train), dtype=np.float64), None
        fitted, rows = fit_preprocessor(self.preprocessor, data.pick(train))
        return rows, fitted

    def _describe_run(self, data: Dataset, options: dict[str, Any], seed: int) -> dict[str, Any]:
        params = {"kernel": self.kernel, "gamma": self.gamma, "scale": self.scale, "n_components": self.n_components}
        files = {"X": data.rows, "y": data.labels, "lambdas": self.lambdas}
        return describe_run("svm_set", self.lambdas.size, seed, files, params | options)


def _check_data(X: Any, y: Any) -> tuple[FloatArray, Labels]:
    """Validate rows of finite numbers and labels of classes."""
    check_table(X)
    features, labels = check_X_y(X, check_no_missing_labels(convert_long_labels(y)), dtype=np.float64)
    check_classification_targets(labels)
    return features, labels


def _check_memory(
    settings: SVMSettings, n_svms: int, split: Split, data: Dataset, columns: int, jobs: int, max_bytes: int | None
) -> None:
    """Raise before allocation if memory does not suffice for the kernel matrices and all duals."""
    k = data.classes.size
    n, m = split.max_set_sizes
    if settings.kernel == NYSTROEM:
        width = min(n, settings.n_components)
        # All features, and those of one pair of classes or of a fold.
        workers = 1 if split.shared is not None else min(jobs, n_svms)
        needed = workers * 8 * (2 * n * width + (GRAM_BLOCKS + 4) * width**2) + 4 * k * (k - 1) * n_svms * width
        needed += BLOCK_BYTES
        what = f"{width} features of {n} rows"
    elif split.shared is not None:
        # Several widths are trained one after the other.
        entry = 10 if n < SINGLE_PRECISION_FROM else 5
        needed = entry * n * n + 10 * (k - 1) * n_svms * n + 8 * n * columns + BLOCK_BYTES
        what = f"a kernel matrix of {n} x {n} and the duals of {n_svms} classifiers"
    else:
        needed = 8 * (min(jobs, n_svms) * (n * n + m * n) + n_svms * n)
        what = f"kernel matrices of {n} x {n} in {min(jobs, n_svms)} threads"
    advice = 'Use kernel="nystroem", which needs no kernel matrix. ' if settings.kernel == "rbf" else ""
    advice += "Give fewer rows, a larger validation_size or fewer lambdas"
    if split.shared is None:
        advice += "; fewer n_jobs"
    # Estimators have no parameter max_bytes.
    advice += "." if max_bytes is None else "; or a larger max_bytes."
    check_memory(needed, max_bytes, what, advice)
