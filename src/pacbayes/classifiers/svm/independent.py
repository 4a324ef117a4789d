"""Every classifier on a training sample and a validation sample of its own, as in the paper.

A unit of them is stored as arrays only.  Stored machines, in a checkpoint or in a model file, are checked before
compiled code sees them, which takes shapes and indices at their word.  Whatever does not hold is a `ValueError` that
names the class and the field.
"""

import io
import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.group_errors import count_errors_by_kind
from pacbayes.classifiers.packed_errors import kept_errors
from pacbayes.classifiers.svm.hinge_path import MOST_STEPS
from pacbayes.classifiers.svm.kernel import (
    KERNELS,
    NYSTROEM,
    Kernel,
    Scaling,
    fit_kernel,
    fit_scaling,
    shared_matrix,
    within_range,
)
from pacbayes.classifiers.svm.landmarks import train_on_landmarks
from pacbayes.classifiers.svm.machines import Machines, OneMachine, Pair, blocks, pairs_of, train_machines
from pacbayes.classifiers.svm.path import MAX_ITER, SVMPath, warn_unconverged
from pacbayes.classifiers.svm.svm_classifier import SVMClassifier, SvmTrainingTask
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import MOST, need, need_array, need_number, need_rows
from pacbayes.runtime.checkpoint import Checkpoint, Codec
from pacbayes.runtime.progress import progress
from pacbayes.runtime.seeds import Purpose, generator
from pacbayes.runtime.threads import one_core, one_thread
from pacbayes.runtime.units import run_units


@dataclass(frozen=True)
class Trained:
    """One classifier; `support` are rows of the whole sample.  What it errs on is counted here and never stored."""

    machine: OneMachine
    support: NDArray[np.int64]
    scaling: Scaling
    kernel: Kernel
    kkt_violation: float
    converged: bool
    #: Errors by kind of row; empty as long as they are not counted.
    errors: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: Which validation rows it gets wrong, packed; none where that is not to be kept.
    wrong: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8))


def _encode(unit: list[Trained]) -> bytes:
    arrays: dict[str, Any] = {
        "kernel": np.array([one.kernel.name for one in unit]),
        # The linear kernel has no width.
        "gamma": np.array([np.nan if one.kernel.gamma is None else one.kernel.gamma for one in unit]),
        "converged": np.array([one.converged for one in unit]),
        "kkt_violation": np.array([one.kkt_violation for one in unit]),
    }
    for i, one in enumerate(unit):
        arrays |= {f"{i}.{part.name}": getattr(one.machine, part.name) for part in fields(OneMachine)}
        arrays |= {f"{i}.rows": one.support, f"{i}.shift": one.scaling.shift, f"{i}.width": one.scaling.width}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _decode(data: bytes) -> list[Trained]:
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = dict(file.items())
    unit = []
    for i, converged in enumerate(arrays["converged"].tolist()):
        gamma = float(arrays["gamma"][i])
        unit.append(
            Trained(
                OneMachine(*(arrays[f"{i}.{part.name}"] for part in fields(OneMachine))),
                arrays[f"{i}.rows"],
                Scaling(arrays[f"{i}.shift"], arrays[f"{i}.width"]),
                Kernel(str(arrays["kernel"][i]), None if np.isnan(gamma) else gamma),
                float(arrays["kkt_violation"][i]),
                converged,
            )
        )
    return unit


SVM_CHUNKS = Codec(".npz", _encode, _decode)


@dataclass(frozen=True)
class IndependentMembers:
    """Classifiers with scaling, kernel and training rows of their own."""

    task: SvmTrainingTask
    trained: list[Trained]

    def __len__(self) -> int:
        return len(self.trained)

    def __getitem__(self, i: int) -> SVMClassifier:
        one = self.trained[i]
        support_vectors = one.scaling(self.task.X[one.support])
        return self.task.classifier(i, one.scaling, one.kernel, one.machine, support_vectors)

    def without_data(self) -> "IndependentMembers":
        """Return the same machines with no other rows than their support vectors."""
        kept = np.unique(np.concatenate([one.support for one in self.trained]))
        trained = [
            replace(
                one,
                support=np.searchsorted(kept, one.support),
                errors=one.errors[:0],
                wrong=one.wrong[:0],
            )
            for one in self.trained
        ]
        return IndependentMembers(self.task.with_rows(self.task.X[kept]), trained)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the labels every classifier gives the rows of X, shape (H, n)."""
        new = check_array(X, dtype=np.float64)
        if new.shape[1] != self.task.X.shape[1]:
            raise ValueError(f"X must have {self.task.X.shape[1]} features, got {new.shape[1]}")
        labels = []
        with one_thread(), progress("predictions", len(self)) as advance:
            workers = Parallel(n_jobs=min(self.task.jobs, cpu_count()), require="sharedmem", return_as="generator")
            for one in workers(delayed(_predict_alone)(one, self.task.X, new) for one in self.trained):
                labels.append(one)
                advance(1)
        predicted: NDArray[Any] = self.task.classes[np.stack(labels)]
        return predicted


def train_independent(task: SvmTrainingTask, checkpoint: Checkpoint | None) -> ClassifierSet:
    """Train every classifier on its own sample and count its errors on its own validation examples."""
    # Scaling differs from sample to sample.  Without it all share their distances, which are those of every pair by
    # itself: no row has a part in the training of a machine that it validates.
    distances = task.scale is False and task.kernel != NYSTROEM
    everything = shared_matrix(within_range(task.X), task.kernel) if distances else None
    trained = run_units(
        _train_one,
        (task, everything),
        task.lambdas.size,
        "independent support vector machines",
        task.jobs,
        # The solver leaves other threads free to run; another backend is the user's choice.
        prefer="threads",
        checkpoint=checkpoint,
        again=_recounted,
    )
    return _as_set(task, trained)


def _as_set(task: SvmTrainingTask, trained: list[Trained]) -> ClassifierSet:
    violation = np.array([one.kkt_violation for one in trained])
    converged = np.array([one.converged for one in trained])
    warn_unconverged(task.lambdas, violation, converged, MOST_STEPS if task.kernel == NYSTROEM else MAX_ITER)
    return ClassifierSet.from_counts(
        task.params([one.kernel.gamma for one in trained]),
        np.stack([one.errors for one in trained]),
        task.splits,
        members=IndependentMembers(task, trained),
        copies=task.copies,
        kkt_violation=violation,
        converged=converged,
        kept_errors=kept_errors(
            task.splits, range(len(trained)), [one.wrong for one in trained] if task.keep_error_rows else []
        ),
    )


def _train_one(common: tuple[SvmTrainingTask, FloatArray | None], i: int) -> Trained:
    """Train the i-th classifier; common are, without scaling, distances (or products) of all rows."""
    with one_thread():
        return _trained(*common, i)


def _trained(task: SvmTrainingTask, everything: FloatArray | None, i: int) -> Trained:
    train, validation = task.splits(i)
    codes, lambdas = task.codes[train], task.lambdas[i : i + 1]
    scaling = fit_scaling(task.X[train], task.scale)
    rows = scaling(task.X[train])
    kernel = fit_kernel(rows, task.kernel, task.gamma, generator(task.seed, Purpose.WIDTH, i))
    support = train
    if task.kernel == NYSTROEM:
        rng = generator(task.seed, Purpose.LANDMARKS, i)
        landmarks, machines = train_on_landmarks(rows, kernel, codes, lambdas, task.n_components, rng)
        machine, support = machines.one(0), train[landmarks]
        K = kernel.between(rows[landmarks[machine.support]], scaling(task.X[validation]))
    elif everything is None:
        machines = train_machines(lambda part: kernel.gram(rows[part]), codes, lambdas)
        machine = machines.one(0)
        K = kernel.between(rows[machine.support], scaling(task.X[validation]))
    else:
        machines = train_machines(lambda part: kernel.of_shared(everything, train[part], train[part]), codes, lambdas)
        machine = machines.one(0)
        K = kernel.of_shared(everything, train[machine.support], validation)
    one = Trained(machine, support[machine.support], scaling, kernel, *_convergence(machines))
    return _counted(task, i, one, machine.predict(machine.decisions(K)))


def _recounted(common: tuple[SvmTrainingTask, FloatArray | None], i: int, stored: Trained) -> Trained:
    """Return the i-th classifier from a checkpoint, checked, with the errors that it makes."""
    task = common[0]
    train, validation = task.splits(i)
    check_trained(stored, len(task.X), task.X.shape[1], task)
    need(bool(np.isin(stored.support, train).all()), "Trained.support", "must be its training rows")
    with one_thread():
        return _counted(task, i, stored, _predict(stored, task.X, task.X[validation]))


def _counted(task: SvmTrainingTask, i: int, one: Trained, answers: NDArray[np.intp]) -> Trained:
    """Return the i-th classifier with the errors of its answers to its validation rows."""
    validation = task.splits(i)[1]
    wrong = answers != task.codes[validation]
    errors = count_errors_by_kind(wrong, task.splits.kinds(validation), task.splits.sizes.size)
    return replace(one, errors=errors, wrong=np.packbits(wrong) if task.keep_error_rows else one.wrong)


def _convergence(machines: Machines) -> tuple[float, bool]:
    paths = machines.paths
    return max(float(path.kkt_violation[0]) for path in paths), all(bool(path.converged[0]) for path in paths)


def _predict(one: Trained, X: FloatArray, new: FloatArray) -> NDArray[np.intp]:
    """Return the class numbers one classifier gives new rows."""
    support_vectors = one.scaling(X[one.support])
    codes = np.empty(len(new), dtype=np.intp)
    for block in blocks(len(new), one.support.size + new.shape[1] + 4 * len(one.machine.pairs)):
        K = one.kernel.between(support_vectors, one.scaling(new[block]))
        codes[block] = one.machine.predict(one.machine.decisions(K))
    return codes


def _predict_alone(one: Trained, X: FloatArray, new: FloatArray) -> NDArray[np.intp]:
    """Do the same beside other threads."""
    with one_core():
        return _predict(one, X, new)


def check_trained(one: Trained, rows: int, width: int, task: SvmTrainingTask) -> None:
    """Raise unless a machine with its own sample has support vectors among so many rows of so many columns."""
    check_scaling(one.scaling, width)
    check_kernel(one.kernel, task.kernel)
    check_one_machine(one.machine, task.classes.size)
    need_rows(one.support, "Trained.support", rows)
    need(one.support.size == one.machine.coefs.shape[1], "Trained.support", "must be a row for each coefficient")
    need(type(one.kkt_violation) is float and type(one.converged) is bool, "Trained", "must say if it converged")
    for counted in (one.errors, one.wrong):
        need(type(counted) is np.ndarray and counted.size == 0, "Trained.errors", "must be counted anew")


def check_scaling(scaling: Any, width: int) -> None:
    """Raise unless a scaling is one for so many columns."""
    need(isinstance(scaling, Scaling), "scaling", "must be a Scaling")
    need_array(scaling.shift, "Scaling.shift", "f", (width,))
    need_array(scaling.width, "Scaling.width", "f", (width,))
    need(bool((scaling.width > 0.0).all()), "Scaling.width", "must be positive")


def check_kernel(kernel: Any, asked: str | None = None) -> None:
    """Raise unless a kernel is rbf with a width, or linear without, and what was asked for."""
    need(isinstance(kernel, Kernel) and kernel.name in KERNELS, "Kernel.name", f"must be one of {', '.join(KERNELS)}")
    need(asked is None or (asked == "linear") == (kernel.name == "linear"), "Kernel.name", f"must be for {asked!r}")
    if kernel.name == "linear":
        need(kernel.gamma is None, "Kernel.gamma", "must be None for linear")
    else:
        need(type(kernel.gamma) is float and 0.0 < kernel.gamma < math.inf, "Kernel.gamma", "must be positive")


def check_machines(machines: Any, n_train: int, task: SvmTrainingTask) -> None:
    """Raise unless there is a path for every pair of the classes that occur in so many training rows."""
    need(isinstance(machines, Machines), "machines", "must be Machines")
    _check_codes(machines.codes, "Machines.codes", task.classes.size)
    need(type(machines.pairs) is tuple, "Machines.pairs", "must be a tuple")
    need(all(isinstance(pair, Pair) for pair in machines.pairs), "Machines.pairs", "must be of Pair")
    found = [(pair.first, pair.second) for pair in machines.pairs]
    whole = all(type(code) is int for pair in found for code in pair)  # 0.0 and False are equal to 0, and no index
    need(whole and found == pairs_of(machines.codes), "Machines.pairs", "must be all pairs of the classes, in order")
    for pair in machines.pairs:
        need_rows(pair.rows, "Pair.rows", n_train)
        # The kernel of a single pair is that of all training rows.
        need(len(found) > 1 or pair.rows.size == n_train, "Pair.rows", "must be all training rows")
        need_number(pair.kernel_size, "Pair.kernel_size")
        _check_path(pair.path, task.lambdas, pair.rows.size)


def _check_path(path: Any, lambdas: NDArray[Any], n: int) -> None:
    """Raise unless a path has a machine for each lambda, and each of them a coefficient for each of n rows."""
    need(isinstance(path, SVMPath), "Pair.path", "must be an SVMPath")
    number = lambdas.size
    need_array(path.lambdas, "SVMPath.lambdas", "f", (number,))
    need(np.array_equal(path.lambdas, lambdas), "SVMPath.lambdas", "must be those of the task")
    need_array(path.dual_coef, "SVMPath.dual_coef", "f", (number, n))
    need(path.dual_coef.flags.c_contiguous, "SVMPath.dual_coef", "must be stored by rows")
    need_array(path.intercept, "SVMPath.intercept", "f", (number,))
    need_array(path.n_iter, "SVMPath.n_iter", "i", (number,))
    need_array(path.kkt_violation, "SVMPath.kkt_violation", "f", (number,), finite=False)
    need_array(path.converged, "SVMPath.converged", "b", (number,))


def check_one_machine(machine: Any, n_classes: int) -> None:
    """Raise unless a machine has coefficients for every pair of its classes and every support vector."""
    need(isinstance(machine, OneMachine), "machine", "must be a OneMachine")
    _check_codes(machine.codes, "OneMachine.codes", n_classes)
    pairs = pairs_of(machine.codes)
    need_array(machine.pairs, "OneMachine.pairs", "i", (len(pairs), 2))
    need(np.array_equal(machine.pairs, pairs), "OneMachine.pairs", "must be all pairs of the classes, in order")
    need_rows(machine.support, "OneMachine.support", MOST)
    need_array(machine.coefs, "OneMachine.coefs", "f", (len(pairs), machine.support.size))
    need_array(machine.intercepts, "OneMachine.intercepts", "f", (len(pairs),))
    need_array(machine.kernel_sizes, "OneMachine.kernel_sizes", "f", (len(pairs),))


def _check_codes(codes: Any, name: str, n_classes: int) -> None:
    need_rows(codes, name, n_classes)
    need(codes.size >= 2, name, "must be at least two classes")
