"""All classifiers on one training sample and one validation sample."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array

from pacbayes.bounds.validation import FloatArray
from pacbayes.classifiers.classifier_set import ClassifierSet
from pacbayes.classifiers.group_errors import count_errors_by_kind
from pacbayes.classifiers.kernels import Kernel, Scaling, fit_kernel, fit_scaling
from pacbayes.classifiers.machines import Machines, train_machines
from pacbayes.classifiers.one_thread import one_thread
from pacbayes.classifiers.preparing import apply_prepare
from pacbayes.classifiers.problem import WIDTH, Problem
from pacbayes.classifiers.progress import progress
from pacbayes.classifiers.seeds import generator
from pacbayes.classifiers.svm_path import warn_unconverged


@dataclass(frozen=True)
class SharedMembers:
    """Machines that share scaling, kernel and training rows."""

    problem: Problem
    scaling: Scaling
    kernel: Kernel
    rows: FloatArray
    machines: Machines

    def __len__(self) -> int:
        return int(self.problem.lambdas.size)

    def __getitem__(self, i: int) -> Any:
        """Return the i-th machine, behind what prepares its rows where there is such a thing."""
        machine = self.machines.one(i)
        one = self.problem.classifier(i, self.scaling, self.kernel, machine, self.rows[machine.support])
        return one if self.problem.prepare is None else make_pipeline(self.problem.prepare, one)

    def numbers(self, X: Any) -> FloatArray:
        """Return new rows as the machines take them."""
        prepare = self.problem.prepare
        new: FloatArray = check_array(X, dtype=np.float64) if prepare is None else apply_prepare(prepare, X)
        if new.shape[1] != self.rows.shape[1]:
            raise ValueError(f"X must have {self.rows.shape[1]} features, got {new.shape[1]}")
        return new

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels every classifier gives the rows of X, shape (H, n)."""
        new = self.numbers(X)
        labels = np.empty((len(self), len(new)), dtype=self.problem.classes.dtype)
        with one_thread(), progress("predictions", len(new)) as advance:
            for block, codes in self._codes(new):
                labels[:, block] = self.problem.classes[codes]
                advance(codes.shape[1])
        return labels

    def without_data(self) -> "SharedMembers":
        """Return the same machines without the rows that only training and validation needed."""
        return replace(self, problem=self.problem.with_rows(self.problem.X[:0]))

    def errors(
        self, X: FloatArray, codes: NDArray[np.int64], kinds: NDArray[np.int64], number: int
    ) -> NDArray[np.int64]:
        """Return how many rows of X of each of so many kinds every classifier gets wrong, shape (H, number)."""
        errors = np.zeros((len(self), number), dtype=np.int64)
        with progress("counting errors", len(X)) as advance:
            for block, predicted in self._codes(X):
                errors += count_errors_by_kind(predicted != codes[block], kinds[block], number)
                advance(predicted.shape[1])
        return errors

    def _codes(self, X: FloatArray) -> Any:
        def kernel_block(block: slice) -> FloatArray:
            return self.kernel.between(self.rows, self.scaling(X[block]))

        return self.machines.predict(kernel_block, len(X), len(self.rows))


def train_shared(problem: Problem) -> ClassifierSet:
    """Train all classifiers on one sample and count their errors."""
    train, validation = problem.splits(0)
    scaling = fit_scaling(problem.X[train], problem.scale)
    rows = scaling(problem.X[train])
    kernel = fit_kernel(rows, problem.kernel, problem.gamma, generator(problem.seed, WIDTH))
    codes = problem.codes[train]

    def gram(part: NDArray[np.int64]) -> FloatArray:
        return kernel.gram(rows if part.size == len(rows) else rows[part])

    machines = train_machines(gram, codes, problem.lambdas, problem.jobs)
    members = SharedMembers(problem, scaling, kernel, rows, machines)
    violation = np.max([path.kkt_violation for path in machines.paths], axis=0)
    converged = np.all([path.converged for path in machines.paths], axis=0)
    warn_unconverged(problem.lambdas, violation, converged)
    tested = len(problem.test_codes) > 0
    number = problem.splits.sizes.size
    return ClassifierSet.from_counts(
        problem.params([kernel.gamma] * problem.lambdas.size),
        members.errors(problem.X[validation], problem.codes[validation], problem.splits.kinds(validation), number),
        problem.splits,
        members=members,
        copies=problem.copies,
        test_counts=members.errors(problem.test_rows, problem.test_codes, problem.test_kinds, number)
        if tested
        else None,
        m_test=problem.m_test,
        kkt_violation=violation,
        converged=converged,
    )
