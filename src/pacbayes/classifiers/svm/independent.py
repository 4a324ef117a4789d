"""Every classifier on a training sample and a validation sample of its own, as in the paper."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.group_errors import count_errors_by_kind
from pacbayes.classifiers.packed_errors import kept_errors
from pacbayes.classifiers.svm.hinge_path import MOST_STEPS
from pacbayes.classifiers.svm.kernel import NYSTROEM, fit_kernel, fit_scaling, shared_matrix, within_range
from pacbayes.classifiers.svm.landmarks import train_on_landmarks
from pacbayes.classifiers.svm.machine_checks import check_trained
from pacbayes.classifiers.svm.machines import Machines, blocks, train_machines
from pacbayes.classifiers.svm.path import MAX_ITER, warn_unconverged
from pacbayes.classifiers.svm.svm_classifier import SVMClassifier
from pacbayes.classifiers.svm.trained import Trained
from pacbayes.classifiers.svm.training_task import SvmTrainingTask
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import need
from pacbayes.runtime.checkpoint import Checkpoint
from pacbayes.runtime.progress import progress
from pacbayes.runtime.seeds import Purpose, generator
from pacbayes.runtime.threads import one_core, one_thread
from pacbayes.runtime.units import run_units


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
