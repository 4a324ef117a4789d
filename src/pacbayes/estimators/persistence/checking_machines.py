"""What the parts of support vector machines from a file must be like, class by class."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers.svm.independent import IndependentMembers
from pacbayes.classifiers.svm.kernels.kernel import KERNELS, Kernel, Scaling, check_gamma, check_scale
from pacbayes.classifiers.svm.machines import Machines, OneMachine, Pair, pairs_of
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.classifiers.svm.solver.path import SVMPath, check_lambdas
from pacbayes.classifiers.svm.svm_classifier import SVMClassifier
from pacbayes.classifiers.svm.trained import Trained
from pacbayes.classifiers.svm.training_task import SvmTrainingTask
from pacbayes.estimators.persistence.checking_splits import check_splits
from pacbayes.estimators.persistence.needs import (
    MOST_ROWS,
    check_labels,
    need,
    need_array,
    need_counts,
    need_number,
    need_rows,
    need_whole,
)

# No more threads than this are asked for, whatever a file says.
_MOST_JOBS = 4096


def check_task(task: SvmTrainingTask, number: int) -> None:
    """Raise unless a task, without the rows that only training needed, is one for so many classifiers."""
    need_array(task.X, "SvmTrainingTask.X", "f", (None, None))
    need_array(task.codes, "SvmTrainingTask.codes", "i", (None,))
    check_labels(task.classes, "SvmTrainingTask.classes")
    need_array(task.lambdas, "SvmTrainingTask.lambdas", "f", (number,))
    check_lambdas(task.lambdas)
    need(task.kernel in KERNELS, "SvmTrainingTask.kernel", f"must be one of {', '.join(KERNELS)}")
    check_gamma(task.gamma)
    check_scale(task.scale)
    check_splits(task.splits)
    need_array(task.test_rows, "SvmTrainingTask.test_rows", "f", (None, None))
    need_array(task.test_codes, "SvmTrainingTask.test_codes", "i", (None,))
    need(type(task.seed) is int and 0 <= task.seed < 2**4096, "SvmTrainingTask.seed", "must be a seed")
    need_whole(task.jobs, "SvmTrainingTask.jobs", 1, _MOST_JOBS)
    prepares = task.prepare is None or callable(getattr(task.prepare, "transform", None))
    need(prepares, "SvmTrainingTask.prepare", "must be a transformer or None")
    need(type(task.keep_error_rows) is bool, "SvmTrainingTask.keep_error_rows", "must be true or false")


def check_shared_members(members: SharedMembers, number: int) -> None:
    """Raise unless machines, kernel and scaling are for the training rows that are stored."""
    check_task(members.task, number)
    need_array(members.rows, "SharedMembers.rows", "f", (None, members.task.X.shape[1]))
    n_train, width = members.rows.shape
    train = members.task.splits(0)[0]
    need(members.task.splits.kind == "shared" and train.size == n_train, "SharedMembers.rows", "must train")
    check_scaling(members.scaling, width)
    check_kernel(members.kernel)
    check_machines(members.machines, n_train, members.task)


def check_independent_members(members: IndependentMembers, number: int) -> None:
    """Raise unless there are so many machines, each of them on support vectors that are stored."""
    check_task(members.task, number)
    need(type(members.trained) is list and len(members.trained) == number, "IndependentMembers", f"must be {number}")
    rows, width = members.task.X.shape
    for one in members.trained:
        need(isinstance(one, Trained), "IndependentMembers.trained", "must be Trained")
        check_trained(one, rows, width, members.task)


def check_trained(one: Trained, rows: int, width: int, task: SvmTrainingTask) -> None:
    """Raise unless a machine with its own sample has support vectors among so many rows of so many columns."""
    check_scaling(one.scaling, width)
    check_kernel(one.kernel)
    check_one_machine(one.machine, task.classes.size)
    need_rows(one.support, "Trained.support", rows)
    need(one.support.size == one.machine.coefs.shape[1], "Trained.support", "must be a row for each coefficient")
    for errors in (one.errors, one.test_errors):
        need_counts(errors, "Trained.errors", task.splits.sizes.size, task.splits.n_rows)
    need(type(one.kkt_violation) is float and type(one.converged) is bool, "Trained", "must say if it converged")
    need(type(one.wrong) is np.ndarray and one.wrong.size == 0, "Trained.wrong", "must be empty in a saved model")


def check_svm_classifier(machine: SVMClassifier) -> None:
    """Raise unless a single machine, as it stands at the end of a pipeline, is one on its own support vectors."""
    if not hasattr(machine, "_machine"):  # not fitted
        return
    check_labels(machine._labels, "SVMClassifier._labels")
    need(isinstance(machine._machine, OneMachine), "SVMClassifier._machine", "must be a OneMachine")
    check_one_machine(machine._machine, machine._labels.size)
    size = machine._machine.coefs.shape[1]
    need_array(machine.support_vectors_, "SVMClassifier.support_vectors_", "f", (size, None))
    check_scaling(machine._scaling, machine.support_vectors_.shape[1])
    check_kernel(machine._kernel)
    need_whole(machine.n_features_in_, "SVMClassifier.n_features_in_", 1)
    need(machine.n_features_in_ == machine.support_vectors_.shape[1], "SVMClassifier.n_features_in_", "is wrong")


def check_scaling(scaling: Any, width: int) -> None:
    """Raise unless a scaling is one for so many columns."""
    need(isinstance(scaling, Scaling), "scaling", "must be a Scaling")
    need_array(scaling.shift, "Scaling.shift", "f", (width,))
    need_array(scaling.width, "Scaling.width", "f", (width,))
    need(bool((scaling.width > 0.0).all()), "Scaling.width", "must be positive")


def check_kernel(kernel: Any) -> None:
    """Raise unless a kernel is rbf with a width, or linear without."""
    need(isinstance(kernel, Kernel) and kernel.name in KERNELS, "Kernel.name", f"must be one of {', '.join(KERNELS)}")
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
        check_path(pair.path, task.lambdas, pair.rows.size)


def check_path(path: Any, lambdas: NDArray[Any], n: int) -> None:
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
    need_rows(machine.support, "OneMachine.support", MOST_ROWS)
    need_array(machine.coefs, "OneMachine.coefs", "f", (len(pairs), machine.support.size))
    need_array(machine.intercepts, "OneMachine.intercepts", "f", (len(pairs),))
    need_array(machine.kernel_sizes, "OneMachine.kernel_sizes", "f", (len(pairs),))


def _check_codes(codes: Any, name: str, n_classes: int) -> None:
    need_rows(codes, name, n_classes)
    need(codes.size >= 2, name, "must be at least two classes")
