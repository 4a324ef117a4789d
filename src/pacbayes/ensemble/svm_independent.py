"""Training of SVMs on independent training sets, as in the paper.

Checkpoints hold arrays only.  They are checked here, because compiled code does not check shapes and indices.
"""

from dataclasses import dataclass

import numpy as np

from pacbayes._utils.arrays import Labels, Rows
from pacbayes._utils.checkpoint import Checkpoint, npz_codec
from pacbayes._utils.checks import MAX_STORED_INT, require, require_row_indices
from pacbayes._utils.seeds import Purpose, make_rng
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes._utils.units import run_units
from pacbayes.data.dataset import Dataset
from pacbayes.data.split import Split
from pacbayes.ensemble.members import Estimators
from pacbayes.svm.kernel import NYSTROEM, Kernel, Scaling
from pacbayes.svm.landmarks import MAX_STEPS
from pacbayes.svm.one_vs_one import OneVsOneSVM
from pacbayes.svm.path import MAX_ITER, warn_unconverged
from pacbayes.svm.svm_classifier import SVMSettings, train_scaled


@dataclass(frozen=True)
class TrainedSVM:
    """SVM with its support vectors, as indices of all rows."""

    svm: OneVsOneSVM
    support: Rows
    scaling: Scaling
    kernel: Kernel
    kkt_violation: float
    converged: bool


SVM_CHUNKS = npz_codec(
    dict.fromkeys((TrainedSVM, OneVsOneSVM, Scaling, Kernel)),
    lambda value: isinstance(value, TrainedSVM),
    "support vector machines",
)


@dataclass(frozen=True, eq=False)
class IndependentTask:
    """Input of the workers."""

    settings: SVMSettings
    #: Its rows are an array.
    data: Dataset
    split: Split
    #: Feature names of a data frame, which later rows must have too.
    names: Labels | None = None


def train_independent(task: IndependentTask, jobs: int, checkpoint: Checkpoint | None) -> Estimators:
    """Train every SVM on its training set."""
    settings = task.settings
    trained = run_units(
        _train_one,
        task,
        settings.lambdas.size,
        "independent support vector machines",
        jobs,
        # The solver releases the GIL; the user may choose another backend.
        prefer="threads",
        checkpoint=checkpoint,
        restore=_check_stored,
    )
    violation = np.array([result.kkt_violation for result in trained])
    converged = np.array([result.converged for result in trained])
    warn_unconverged(settings.lambdas, violation, converged, MAX_STEPS if settings.kernel == NYSTROEM else MAX_ITER)
    classes, X = task.data.classes, task.data.rows
    classifiers = [
        settings.classifier(i, classes, svm.scaling, svm.kernel, svm.svm, svm.scaling(X[svm.support]))
        for i, svm in enumerate(trained)
    ]
    if task.names is not None:
        for classifier in classifiers:
            classifier.feature_names_in_ = task.names
    params = [settings.classifier_params(i, svm.kernel.gamma) for i, svm in enumerate(trained)]
    return Estimators(classifiers, params, classes, kkt_violation=violation, converged=converged)


def _train_one(task: IndependentTask, i: int) -> TrainedSVM:
    """Train SVM i."""
    settings, (train, _) = task.settings, task.split(i)
    rngs = (make_rng(settings.seed, purpose, i) for purpose in (Purpose.WIDTH, Purpose.LANDMARKS))
    with limit_to_one_thread():
        scaling, kernel, expansion_rows, svms = train_scaled(
            task.data.rows[train],
            task.data.codes[train],
            settings.lambdas[i : i + 1],
            settings.kernel,
            settings.gamma,
            settings.scale,
            settings.n_components,
            *rngs,
        )
    svm = svms.svm(0)
    support = train[expansion_rows[svm.support]]
    return TrainedSVM(svm, support, scaling, kernel, float(svms.kkt_violation[0]), bool(svms.converged[0]))


def _check_stored(task: IndependentTask, i: int, stored: TrainedSVM) -> TrainedSVM:
    """Check SVM i of a checkpoint, which must be one on its training rows, and return it."""
    for name, kind in {"svm": OneVsOneSVM, "scaling": Scaling, "kernel": Kernel}.items():
        require(type(getattr(stored, name)) is kind, f"TrainedSVM.{name}", f"must be {kind.__name__}")
    require_row_indices(stored.support, "TrainedSVM.support", MAX_STORED_INT)
    same_size = stored.support.size == stored.svm.coefs.shape[1]
    require(same_size, "TrainedSVM.support", "must have a row for each coefficient")
    plain = type(stored.kkt_violation) is float and type(stored.converged) is bool
    require(plain, "TrainedSVM", "must have a KKT violation and say if it converged")
    width = task.data.rows.shape[1]
    require(stored.scaling.shift.size == width, "Scaling.shift", f"must be for {width} columns")
    kernel = task.settings.kernel
    require((kernel == "linear") == (stored.kernel.name == "linear"), "Kernel.name", f"must be for {kernel!r}")
    require(int(stored.svm.codes[-1]) < task.data.classes.size, "OneVsOneSVM.codes", "must be classes")
    require(bool(np.isin(stored.support, task.split(i)[0]).all()), "TrainedSVM.support", "must be its training rows")
    return stored
