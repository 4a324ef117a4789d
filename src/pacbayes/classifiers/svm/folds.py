"""Support vector machines in a fold of cross-validation: one path for all lambdas, its answers, its mean decisions."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers.cross_validation import AnswersInFold, ScoresInFold, kept_as
from pacbayes.classifiers.svm.kernel import SINGLE_FROM
from pacbayes.classifiers.svm.landmarks import nystroem_map, train_on_features
from pacbayes.classifiers.svm.machines import KernelBlock, Machines, blocks, mean_scores, train_machines
from pacbayes.classifiers.svm.shared import SharedMembers
from pacbayes.numeric.arrays import Codes, FloatArray, Rows
from pacbayes.runtime.memory import memory_limit
from pacbayes.runtime.progress import progress
from pacbayes.runtime.threads import cores, on_cores

# Kernel values of some training rows (down) and others (across), by their places among all training rows.
_KernelOf = Callable[[Rows, Rows], NDArray[Any]]
# Threads are not worth their start for fewer rows.
_FEW = 500
# Earlier than for all training rows: or folds of somewhat fewer would take several times as long as these.
_LINEAR_FROM = 1000
# Rows copied in one part of the work.
_ROWS_PER_PART = 128


def svm_answers_in_fold(members: SharedMembers, codes: Rows) -> AnswersInFold:
    """Return what support vector machines say in a fold; scaling and width are those of all training rows.

    All folds take their kernel values from one matrix, computed here.
    """
    to_train, to_predict = _kernels_of(members)
    n_classes = members.task.classes.size

    def answers(candidates: Rows, train: Rows, test: Rows) -> Codes:
        machines = _trained(members, to_train, codes, candidates, train)
        return _answers(machines, lambda block: to_predict(train, test[block]), test.size, train.size, n_classes)

    return answers


def svm_scores_in_fold(members: SharedMembers, codes: Rows, weights: FloatArray) -> ScoresInFold:
    """Return the weighted mean decisions of support vector machines, trained anew, on the rows of a fold."""
    chosen, n_classes = np.flatnonzero(weights), members.task.classes.size
    to_train, to_predict = _kernels_of(members)

    def scores(train: Rows, test: Rows) -> FloatArray:
        machines = _trained(members, to_train, codes, chosen, train)
        found = np.empty((test.size, n_classes))
        for block in blocks(test.size, train.size):
            found[block] = mean_scores(machines, weights[chosen], to_predict(train, test[block]), n_classes)
        return found

    return scores


def _answers(machines: Machines, kernel_block: KernelBlock, n: int, n_train: int, n_classes: int) -> Codes:
    """Return the class numbers, shape (H, n), that all machines give the rows of a fold."""
    found = np.empty((machines.number, n), dtype=kept_as(n_classes))
    with progress("counting errors", n) as advance:
        for block, predicted in machines.predict(kernel_block, n, n_train):
            found[:, block] = predicted
            advance(predicted.shape[1])
    return found


def _trained(members: SharedMembers, to_train: _KernelOf, codes: Rows, chosen: Rows, train: Rows) -> Machines:
    """Return the chosen machines, trained anew on some of the training rows."""
    lambdas, jobs = members.task.lambdas[chosen], min(cores(), members.task.jobs)
    return train_machines(lambda part: to_train(train[part], train[part]), codes[train], lambdas, jobs, _LINEAR_FROM)


def _kernels_of(members: SharedMembers) -> tuple[_KernelOf, _KernelOf]:
    """Return kernel values by places, to train and to predict: out of one matrix, or anew where it would not fit.

    Either way they have the same bits, since a value depends on its two rows alone.  A matrix in single precision
    serves for training only, as outside of folds.
    """
    n = len(members.rows)
    kernel, rows, single = members.kernel, members.rows, n >= SINGLE_FROM

    def anew(down: Rows, across: Rows) -> FloatArray:
        return kernel.between(rows[down], rows[across])

    if _matrices_that_fit(n) < 2:
        values = kernel.gram_in_single if single else kernel.gram
        return lambda down, _: values(rows[down]), anew
    if single:
        rounded = kernel.gram_in_single(rows)
        return lambda down, across: pick(rounded, down, across), anew
    everything = kernel.gram(rows)

    def picked(down: Rows, across: Rows) -> NDArray[Any]:
        return pick(everything, down, across)

    return picked, picked


def landmark_answers_in_fold(members: SharedMembers, codes: Rows) -> AnswersInFold:
    """Return what machines on landmarks say in a fold.

    Scaling, width and landmarks are those of all training rows; none of the three has seen a label.
    """
    rows = members.scaling(members.task.X[members.task.splits(0)[0]])
    found = nystroem_map(members.rows, members.kernel)

    @cache
    def features() -> FloatArray:
        return found.features(rows)

    def answers(candidates: Rows, train: Rows, test: Rows) -> Codes:
        lambdas = members.task.lambdas[candidates]
        machines = train_on_features(found, features()[train], codes[train], lambdas)

        def kernel_block(block: slice) -> FloatArray:
            return members.kernel.between(found.landmarks, rows[test[block]])

        return _answers(machines, kernel_block, test.size, len(found.landmarks), members.task.classes.size)

    return answers


def landmark_scores_in_fold(members: SharedMembers, codes: Rows, weights: FloatArray) -> ScoresInFold:
    """Return the weighted mean decisions of machines on landmarks, trained anew, on the rows of a fold."""
    rows = members.scaling(members.task.X[members.task.splits(0)[0]])
    found = nystroem_map(members.rows, members.kernel)
    chosen, features, n_classes = np.flatnonzero(weights), found.features(rows), members.task.classes.size

    def scores(train: Rows, test: Rows) -> FloatArray:
        machines = train_on_features(found, features[train], codes[train], members.task.lambdas[chosen])
        scored = np.empty((test.size, n_classes))
        for block in blocks(test.size, len(found.landmarks)):
            K = members.kernel.between(found.landmarks, rows[test[block]])
            scored[block] = mean_scores(machines, weights[chosen], K, n_classes)
        return scored

    return scores


def folds_at_once(n: int, folds: int) -> int:
    """Return how many of some folds to train side by side on n training rows, if memory allows.

    A fold alone would use all cores as well, but not all of the time.  So many that no round leaves a core without
    work: five folds on two cores are three, which take turns, and two.
    """
    if n < _FEW or cores() == 1:
        return 1
    together = -(-folds // max(1, folds // cores()))
    # Each needs a part of the kernel matrix and something to work with, beside the whole.
    return max(1, min(together, _matrices_that_fit(n) - 1))


def _matrices_that_fit(n: int) -> int:
    limit, _ = memory_limit(None)
    return n if limit is None else limit // (8 * n * n)


def pick(matrix: NDArray[Any], down: Rows, across: Rows) -> NDArray[Any]:
    """Return some rows and columns of a matrix in new memory.

    Examples
    --------
    >>> pick(np.arange(9.0).reshape(3, 3), np.array([0, 2]), np.array([1, 2]))
    array([[1., 2.],
           [7., 8.]])
    """
    part = np.empty((down.size, across.size), dtype=matrix.dtype)

    def work(start: int) -> None:
        for i in range(start, min(start + _ROWS_PER_PART, down.size)):
            np.take(matrix[down[i]], across, out=part[i], mode="clip")  # with "raise" it would copy twice

    on_cores(work, range(0, down.size, _ROWS_PER_PART))
    return part
