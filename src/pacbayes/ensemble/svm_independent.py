"""Every machine on a training sample of its own, as in the paper.

A unit of them is stored as arrays only.  What a checkpoint holds is checked before compiled code sees it, which takes
shapes and indices at their word.
"""

from dataclasses import dataclass

import numpy as np

from pacbayes._utils.arrays import Labels, Rows
from pacbayes._utils.checkpoint import Checkpoint, npz_codec
from pacbayes._utils.checks import MOST, need, need_rows
from pacbayes._utils.seeds import Purpose, generator
from pacbayes._utils.threads import one_thread
from pacbayes._utils.units import run_units
from pacbayes.data.dataset import Dataset
from pacbayes.data.split import Split
from pacbayes.ensemble.members import Estimators
from pacbayes.svm.kernel import NYSTROEM, Kernel, Scaling
from pacbayes.svm.landmarks import MOST_STEPS
from pacbayes.svm.one_vs_one import OneVsOneSVM
from pacbayes.svm.path import MAX_ITER, warn_unconverged
from pacbayes.svm.svm_classifier import SVMSettings, train_one


@dataclass(frozen=True)
class Trained:
    """One machine; `support` are rows of the whole sample."""

    machine: OneVsOneSVM
    support: Rows
    scaling: Scaling
    kernel: Kernel
    kkt_violation: float
    converged: bool


SVM_CHUNKS = npz_codec(
    dict.fromkeys((Trained, OneVsOneSVM, Scaling, Kernel)),
    lambda one: isinstance(one, Trained),
    "support vector machines",
)


@dataclass(frozen=True, eq=False)
class IndependentTask:
    """What every worker needs to train any of the machines."""

    settings: SVMSettings
    #: Rows as an array.
    data: Dataset
    split: Split
    #: Of the columns, where the rows came with such: the machines are asked about rows that have them too.
    names: Labels | None = None


def train_independent(task: IndependentTask, jobs: int, checkpoint: Checkpoint | None) -> Estimators:
    """Train every machine on its own sample."""
    settings = task.settings
    trained = run_units(
        _train_one,
        task,
        settings.lambdas.size,
        "independent support vector machines",
        jobs,
        # The solver leaves other threads free to run; another backend is the user's choice.
        prefer="threads",
        checkpoint=checkpoint,
        again=_checked,
    )
    violation = np.array([one.kkt_violation for one in trained])
    converged = np.array([one.converged for one in trained])
    warn_unconverged(settings.lambdas, violation, converged, MOST_STEPS if settings.kernel == NYSTROEM else MAX_ITER)
    classes, X = task.data.classes, task.data.rows
    svms = [
        settings.classifier(i, classes, one.scaling, one.kernel, one.machine, one.scaling(X[one.support]))
        for i, one in enumerate(trained)
    ]
    if task.names is not None:
        for machine in svms:
            machine.feature_names_in_ = task.names
    params = [settings.params_of(i, one.kernel.gamma) for i, one in enumerate(trained)]
    return Estimators(svms, params, classes, kkt_violation=violation, converged=converged)


def _train_one(task: IndependentTask, i: int) -> Trained:
    """Train the i-th machine."""
    settings, (train, _) = task.settings, task.split(i)
    rngs = (generator(settings.seed, purpose, i) for purpose in (Purpose.WIDTH, Purpose.LANDMARKS))
    with one_thread():
        scaling, kernel, places, svms = train_one(
            task.data.rows[train],
            task.data.codes[train],
            settings.lambdas[i : i + 1],
            settings.kernel,
            settings.gamma,
            settings.scale,
            settings.n_components,
            *rngs,
        )
    machine = svms.one(0)
    support = train[places[machine.support]]
    return Trained(machine, support, scaling, kernel, float(svms.kkt_violation[0]), bool(svms.converged[0]))


def _checked(task: IndependentTask, i: int, stored: Trained) -> Trained:
    """Return the i-th machine from a checkpoint, or raise unless it is one on its own training rows."""
    for name, kind in {"machine": OneVsOneSVM, "scaling": Scaling, "kernel": Kernel}.items():
        need(type(getattr(stored, name)) is kind, f"Trained.{name}", f"must be {kind.__name__}")
    need_rows(stored.support, "Trained.support", MOST)
    each = stored.support.size == stored.machine.coefs.shape[1]
    need(each, "Trained.support", "must be a row for each coefficient")
    whole = type(stored.kkt_violation) is float and type(stored.converged) is bool
    need(whole, "Trained", "must say if it converged")
    width = task.data.rows.shape[1]
    need(stored.scaling.shift.size == width, "Scaling.shift", f"must be for {width} columns")
    asked = task.settings.kernel
    need((asked == "linear") == (stored.kernel.name == "linear"), "Kernel.name", f"must be for {asked!r}")
    need(int(stored.machine.codes[-1]) < task.data.classes.size, "OneVsOneSVM.codes", "must be classes")
    need(bool(np.isin(stored.support, task.split(i)[0]).all()), "Trained.support", "must be its training rows")
    return stored
