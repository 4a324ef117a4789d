"""Every machine on a training sample of its own, as in the paper.

A unit of them is stored as arrays only.  What a checkpoint holds is checked before compiled code sees it, which takes
shapes and indices at their word.
"""

from dataclasses import dataclass

import numpy as np

from pacbayes._utils.arrays import FloatArray, Labels, Rows
from pacbayes._utils.checkpoint import Checkpoint, npz_codec
from pacbayes._utils.checks import MOST, need, need_rows
from pacbayes._utils.seeds import Purpose, generator
from pacbayes._utils.threads import one_thread
from pacbayes._utils.units import run_units
from pacbayes.data.division import Division
from pacbayes.data.labelled import Labelled
from pacbayes.ensemble.members import Estimators
from pacbayes.svm.kernel import (
    NYSTROEM,
    Kernel,
    Scaling,
    fit_kernel,
    fit_scaling,
    shared_matrix,
    within_range,
)
from pacbayes.svm.landmarks import MOST_STEPS, train_on_landmarks
from pacbayes.svm.machines import Machines, OneMachine, train_machines
from pacbayes.svm.path import MAX_ITER, warn_unconverged
from pacbayes.svm.svm_classifier import MachineSettings


@dataclass(frozen=True)
class Trained:
    """One machine; `support` are rows of the whole sample."""

    machine: OneMachine
    support: Rows
    scaling: Scaling
    kernel: Kernel
    kkt_violation: float
    converged: bool


SVM_CHUNKS = npz_codec(
    dict.fromkeys((Trained, OneMachine, Scaling, Kernel)),
    lambda one: isinstance(one, Trained),
    "support vector machines",
)


@dataclass(frozen=True, eq=False)
class IndependentTask:
    """What every worker needs to train any of the machines."""

    settings: MachineSettings
    #: Rows as an array.
    data: Labelled
    division: Division
    #: Of the columns, where the rows came with such: the machines are asked about rows that have them too.
    names: Labels | None = None


def train_independent(task: IndependentTask, jobs: int, checkpoint: Checkpoint | None) -> Estimators:
    """Train every machine on its own sample."""
    settings = task.settings
    # Scaling differs from sample to sample.  Without it all share their distances, which are those of every pair by
    # itself: no row has a part in the training of a machine that it validates.
    distances = settings.scale is False and settings.kernel != NYSTROEM
    everything = shared_matrix(within_range(task.data.rows), settings.kernel) if distances else None
    trained = run_units(
        _train_one,
        (task, everything),
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
    machines = [
        settings.classifier(i, classes, one.scaling, one.kernel, one.machine, one.scaling(X[one.support]))
        for i, one in enumerate(trained)
    ]
    if task.names is not None:
        for machine in machines:
            machine.feature_names_in_ = task.names
    params = [settings.params_of(i, one.kernel.gamma) for i, one in enumerate(trained)]
    return Estimators(machines, params, classes, kkt_violation=violation, converged=converged)


def _train_one(common: tuple[IndependentTask, FloatArray | None], i: int) -> Trained:
    """Train the i-th machine; common are, without scaling, distances (or products) of all rows."""
    with one_thread():
        return _trained(*common, i)


def _trained(task: IndependentTask, everything: FloatArray | None, i: int) -> Trained:
    settings, X = task.settings, task.data.rows
    train, _ = task.division(i)
    codes, lambdas = task.data.codes[train], settings.lambdas[i : i + 1]
    scaling = fit_scaling(X[train], settings.scale)
    rows = scaling(X[train])
    kernel = fit_kernel(rows, settings.kernel, settings.gamma, generator(settings.seed, Purpose.WIDTH, i))
    support = train
    if settings.kernel == NYSTROEM:
        rng = generator(settings.seed, Purpose.LANDMARKS, i)
        landmarks, machines = train_on_landmarks(rows, kernel, codes, lambdas, settings.n_components, rng)
        support = train[landmarks]
    elif everything is None:
        machines = train_machines(lambda part: kernel.gram(rows[part]), codes, lambdas)
    else:
        machines = train_machines(lambda part: kernel.of_shared(everything, train[part], train[part]), codes, lambdas)
    machine = machines.one(0)
    return Trained(machine, support[machine.support], scaling, kernel, *_convergence(machines))


def _checked(common: tuple[IndependentTask, FloatArray | None], i: int, stored: Trained) -> Trained:
    """Return the i-th machine from a checkpoint, or raise unless it is one on its own training rows."""
    for name, kind in {"machine": OneMachine, "scaling": Scaling, "kernel": Kernel}.items():
        need(type(getattr(stored, name)) is kind, f"Trained.{name}", f"must be {kind.__name__}")
    need_rows(stored.support, "Trained.support", MOST)
    each = stored.support.size == stored.machine.coefs.shape[1]
    need(each, "Trained.support", "must be a row for each coefficient")
    whole = type(stored.kkt_violation) is float and type(stored.converged) is bool
    need(whole, "Trained", "must say if it converged")
    task = common[0]
    width = task.data.rows.shape[1]
    need(stored.scaling.shift.size == width, "Scaling.shift", f"must be for {width} columns")
    asked = task.settings.kernel
    need((asked == "linear") == (stored.kernel.name == "linear"), "Kernel.name", f"must be for {asked!r}")
    need(int(stored.machine.codes[-1]) < task.data.classes.size, "OneMachine.codes", "must be classes")
    need(bool(np.isin(stored.support, task.division(i)[0]).all()), "Trained.support", "must be its training rows")
    return stored


def _convergence(machines: Machines) -> tuple[float, bool]:
    paths = machines.paths
    return max(float(path.kkt_violation[0]) for path in paths), all(bool(path.converged[0]) for path in paths)
