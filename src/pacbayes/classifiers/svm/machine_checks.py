"""What stored machines must be like before compiled code sees them: in a model file, and in a checkpoint.

Compiled code takes shapes and indices at their word.  Whatever does not hold is a `ValueError` that names the class and
the field.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers.svm.kernel import KERNELS, Kernel, Scaling
from pacbayes.classifiers.svm.machines import Machines, OneMachine, Pair, pairs_of
from pacbayes.classifiers.svm.path import SVMPath
from pacbayes.classifiers.svm.trained import Trained
from pacbayes.classifiers.svm.training_task import SvmTrainingTask
from pacbayes.numeric.checks import MOST, need, need_array, need_number, need_rows


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
    need_rows(machine.support, "OneMachine.support", MOST)
    need_array(machine.coefs, "OneMachine.coefs", "f", (len(pairs), machine.support.size))
    need_array(machine.intercepts, "OneMachine.intercepts", "f", (len(pairs),))
    need_array(machine.kernel_sizes, "OneMachine.kernel_sizes", "f", (len(pairs),))


def _check_codes(codes: Any, name: str, n_classes: int) -> None:
    need_rows(codes, name, n_classes)
    need(codes.size >= 2, name, "must be at least two classes")
