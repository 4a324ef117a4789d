"""All classifiers on one training sample and one validation sample."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array

from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.group_errors import count_errors_by_kind
from pacbayes.classifiers.packed_errors import PackedErrors
from pacbayes.classifiers.svm.hinge_path import MOST_STEPS
from pacbayes.classifiers.svm.kernel import NYSTROEM, SINGLE_FROM, Kernel, Scaling, fit_kernel, fit_scaling
from pacbayes.classifiers.svm.landmarks import train_on_landmarks
from pacbayes.classifiers.svm.machines import Machines, train_machines
from pacbayes.classifiers.svm.path import MAX_ITER, warn_unconverged
from pacbayes.classifiers.svm.svm_classifier import SvmTrainingTask
from pacbayes.data.preparing import apply_prepare
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.progress import progress
from pacbayes.runtime.seeds import Purpose, generator
from pacbayes.runtime.threads import one_thread


@dataclass(frozen=True)
class SharedMembers:
    """Machines that share scaling, kernel and the rows they sum over: the training rows, or landmarks among them."""

    task: SvmTrainingTask
    scaling: Scaling
    kernel: Kernel
    rows: FloatArray
    machines: Machines

    def __len__(self) -> int:
        return int(self.task.lambdas.size)

    def __getitem__(self, i: int) -> Any:
        """Return the i-th machine, behind what prepares its rows where there is such a thing."""
        machine = self.machines.one(i)
        one = self.task.classifier(i, self.scaling, self.kernel, machine, self.rows[machine.support])
        return one if self.task.prepare is None else make_pipeline(self.task.prepare, one)

    def numbers(self, X: Any) -> FloatArray:
        """Return new rows as the machines take them."""
        prepare = self.task.prepare
        new: FloatArray = check_array(X, dtype=np.float64) if prepare is None else apply_prepare(prepare, X)
        if new.shape[1] != self.rows.shape[1]:
            raise ValueError(f"X must have {self.rows.shape[1]} features, got {new.shape[1]}")
        return new

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels every classifier gives the rows of X, shape (H, n)."""
        new = self.numbers(X)
        labels = np.empty((len(self), len(new)), dtype=self.task.classes.dtype)
        with one_thread(), progress("predictions", len(new)) as advance:
            for block, codes in self._codes(new):
                labels[:, block] = self.task.classes[codes]
                advance(codes.shape[1])
        return labels

    def without_data(self) -> "SharedMembers":
        """Return the same machines without the rows that only training and validation needed."""
        return replace(self, task=self.task.with_rows(self.task.X[:0]))

    def errors(
        self,
        X: FloatArray,
        codes: NDArray[np.int64],
        kinds: NDArray[np.int64],
        number: int,
        kept: PackedErrors | None = None,
    ) -> NDArray[np.int64]:
        """Return how many rows of X of each of so many kinds every classifier gets wrong, shape (H, number).

        Which rows they are is put into `kept`, where there is such a thing.
        """
        errors = np.zeros((len(self), number), dtype=np.int64)
        with progress("counting errors", len(X)) as advance:
            for block, predicted in self._codes(X):
                wrong = predicted != codes[block]
                errors += count_errors_by_kind(wrong, kinds[block], number)
                if kept is not None:
                    kept.put(block, wrong)
                advance(predicted.shape[1])
        return errors

    def _codes(self, X: FloatArray) -> Any:
        def kernel_block(block: slice) -> FloatArray:
            return self.kernel.between(self.rows, self.scaling(X[block]))

        return self.machines.predict(kernel_block, len(X), len(self.rows))


def _train(task: SvmTrainingTask, kernel: Kernel, rows: FloatArray, codes: Rows) -> tuple[FloatArray, Machines]:
    """Return the rows that the machines sum over, and the machines, trained on scaled rows."""
    if task.kernel == NYSTROEM:
        rng = generator(task.seed, Purpose.LANDMARKS)
        places, machines = train_on_landmarks(rows, kernel, codes, task.lambdas, task.n_components, rng)
        return rows[places], machines

    def gram(part: NDArray[np.int64]) -> NDArray[Any]:
        values = kernel.gram if len(rows) < SINGLE_FROM else kernel.gram_in_single
        return values(rows if part.size == len(rows) else rows[part])

    return rows, train_machines(gram, codes, task.lambdas, task.jobs)


def train_shared(task: SvmTrainingTask) -> ClassifierSet:
    """Train all classifiers on one sample and count their errors."""
    train, validation = task.splits(0)
    scaling = fit_scaling(task.X[train], task.scale)
    rows = scaling(task.X[train])
    kernel = fit_kernel(rows, task.kernel, task.gamma, generator(task.seed, Purpose.WIDTH))
    summed, machines = _train(task, kernel, rows, task.codes[train])
    members = SharedMembers(task, scaling, kernel, summed, machines)
    violation = np.max([path.kkt_violation for path in machines.paths], axis=0)
    converged = np.all([path.converged for path in machines.paths], axis=0)
    warn_unconverged(task.lambdas, violation, converged, MOST_STEPS if task.kernel == NYSTROEM else MAX_ITER)
    number = task.splits.sizes.size
    kept = PackedErrors.none(len(members), validation.size) if task.keep_error_rows else None
    return ClassifierSet.from_counts(
        task.params([kernel.gamma] * task.lambdas.size),
        members.errors(task.X[validation], task.codes[validation], task.splits.kinds(validation), number, kept),
        task.splits,
        members=members,
        copies=task.copies,
        kkt_violation=violation,
        converged=converged,
        kept_errors=kept,
    )
