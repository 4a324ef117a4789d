"""Training machines that share a kernel, on all training rows and anew on parts of them: one kernel matrix for all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers.cross_validation import Refitted
from pacbayes.classifiers.members import Answers, kept_as
from pacbayes.classifiers.svm.hinge_path import MOST_STEPS
from pacbayes.classifiers.svm.kernel import NYSTROEM, SINGLE_FROM, Kernel, fit_kernel, fit_scaling
from pacbayes.classifiers.svm.landmarks import NystroemMap, choose_landmarks, nystroem_map, train_on_features
from pacbayes.classifiers.svm.machines import KernelBlock, Machines, blocks, mean_scores, train_machines
from pacbayes.classifiers.svm.path import MAX_ITER, warn_unconverged
from pacbayes.classifiers.svm.shared import SharedMachines
from pacbayes.classifiers.svm.svm_classifier import MachineSettings
from pacbayes.numeric.arrays import FloatArray, Labels, Rows
from pacbayes.numeric.cached import cached_property
from pacbayes.runtime.memory import memory_limit
from pacbayes.runtime.progress import progress
from pacbayes.runtime.seeds import Purpose, generator
from pacbayes.runtime.threads import cores, on_cores

# Threads are not worth their start for fewer rows.
_FEW = 500
# Earlier than for all training rows: or folds of somewhat fewer would take several times as long as these.
_LINEAR_FROM = 1000
# Rows copied in one part of the work.
_ROWS_PER_PART = 128


def train_shared(
    settings: MachineSettings,
    rows: FloatArray,
    codes: Rows,
    classes: Labels,
    prepare: Any,
    jobs: int,
    max_bytes: int | None = None,
) -> tuple[SharedMachines, "KernelFolds | LandmarkFolds"]:
    """Train machines for all lambdas on numbers; return them, and what trains them anew on parts of these rows."""
    scaling = fit_scaling(rows, settings.scale)
    scaled = scaling(rows)
    kernel = fit_kernel(scaled, settings.kernel, settings.gamma, generator(settings.seed, Purpose.WIDTH))
    folds: KernelFolds | LandmarkFolds
    if settings.kernel == NYSTROEM:
        places = choose_landmarks(len(scaled), settings.n_components, generator(settings.seed, Purpose.LANDMARKS))
        folds = LandmarkFolds(settings, kernel, scaled, codes, classes.size, nystroem_map(scaled[places], kernel))
        summed, most = scaled[places], MOST_STEPS
    else:
        folds = KernelFolds(settings, kernel, scaled, codes, classes.size, jobs, max_bytes)
        summed, most = scaled, MAX_ITER
    members = SharedMachines(settings, classes, scaling, kernel, summed, folds.train(), prepare)
    warn_unconverged(settings.lambdas, members.kkt_violation, members.converged, most)
    return members, folds


@dataclass(frozen=True, eq=False)
class FoldMachines(Refitted):
    """Machines trained on some of the training rows, asked about others by their places."""

    machines: Machines
    #: Kernel values of the rows they sum over with other training rows, by the places of these.
    kernel_with: Callable[[Rows], FloatArray]
    n_summed: int
    n_classes: int

    def answers(self, test: Rows) -> Answers:
        """Return the class numbers, shape (H, test), that all machines give training rows."""
        found = np.empty((self.machines.number, test.size), dtype=kept_as(self.n_classes))
        kernel_block: KernelBlock = lambda block: self.kernel_with(test[block])  # noqa: E731
        with progress("counting errors", test.size) as advance:
            for block, predicted in self.machines.predict(kernel_block, test.size, self.n_summed):
                found[:, block] = predicted
                advance(predicted.shape[1])
        return found

    def scores(self, test: Rows, weights: FloatArray) -> FloatArray:
        """Return the weighted mean decisions on training rows, shape (test, classes)."""
        found = np.empty((test.size, self.n_classes))
        for block in blocks(test.size, self.n_summed):
            found[block] = mean_scores(self.machines, weights, self.kernel_with(test[block]), self.n_classes)
        return found


@dataclass(frozen=True, eq=False)
class KernelFolds:
    """Machines on a kernel matrix.  Scaling and width are those of all training rows; neither has seen a label.

    Kernel values have the same bits wherever they are computed, since one depends on its two rows alone.
    """

    settings: MachineSettings
    kernel: Kernel
    #: All training rows, scaled, and their class numbers.
    rows: FloatArray
    codes: Rows
    n_classes: int
    jobs: int
    max_bytes: int | None = None

    @property
    def all_cost_little(self) -> bool:
        """A path costs little more with all lambdas than with some."""
        return True

    def train(self) -> Machines:
        """Return the machines of all lambdas on all training rows."""
        # Here, before threads for pairs of classes, or for folds, each ask for a part of it.
        whole = self._matrix
        assert whole is None or len(whole) == len(self.rows)
        return train_machines(self._gram, self.codes, self.settings.lambdas, self.jobs)

    def refit(self, which: Rows, train: Rows) -> FoldMachines:
        """Return some machines, trained anew on some of the training rows."""
        lambdas, jobs = self.settings.lambdas[which], min(cores(), self.jobs)
        machines = train_machines(lambda part: self._gram(train[part]), self.codes[train], lambdas, jobs, _LINEAR_FROM)
        return FoldMachines(machines, lambda test: self._between(train, test), train.size, self.n_classes)

    def at_once(self, folds: int) -> int:
        """Return how many of some folds to train side by side, if memory allows.

        A fold alone would use all cores as well, but not all of the time.  So many that no round leaves a core without
        work: five folds on two cores are three, which take turns, and two.
        """
        n = len(self.rows)
        if n < _FEW or cores() == 1:
            return 1
        together = -(-folds // max(1, folds // cores()))
        # Each needs a part of the kernel matrix and something to work with, beside the whole.
        return max(1, min(together, self._matrices_that_fit - 1))

    @cached_property
    def _matrix(self) -> NDArray[Any] | None:
        """The kernel matrix of all training rows, computed once; None where it would not fit beside its parts.

        In single precision where there are many rows, for training only.
        """
        if self._matrices_that_fit < 2:
            return None
        return self._anew(self.rows)

    @property
    def _matrices_that_fit(self) -> int:
        (limit, _), n = memory_limit(self.max_bytes), len(self.rows)
        return n if limit is None else limit // (8 * n * n)

    def _anew(self, rows: FloatArray) -> NDArray[Any]:
        return self.kernel.gram(rows) if len(self.rows) < SINGLE_FROM else self.kernel.gram_in_single(rows)

    def _gram(self, part: Rows) -> NDArray[Any]:
        """Return the kernel matrix of some training rows, all of them ascending."""
        if self._matrix is None:
            return self._anew(self.rows if part.size == len(self.rows) else self.rows[part])
        return self._matrix if part.size == len(self.rows) else pick(self._matrix, part, part)

    def _between(self, down: Rows, across: Rows) -> FloatArray:
        if self._matrix is None or self._matrix.dtype != np.float64:
            return self.kernel.between(self.rows[down], self.rows[across])
        return pick(self._matrix, down, across)


@dataclass(frozen=True, eq=False)
class LandmarkFolds:
    """Machines on landmarks.  Scaling, width and landmarks are those of all training rows; none has seen a label."""

    settings: MachineSettings
    kernel: Kernel
    rows: FloatArray
    codes: Rows
    n_classes: int
    map: NystroemMap

    @property
    def all_cost_little(self) -> bool:
        """A path costs little more with all lambdas than with some."""
        return True

    def train(self) -> Machines:
        """Return the machines of all lambdas on all training rows."""
        return train_on_features(self.map, self._features, self.codes, self.settings.lambdas)

    def refit(self, which: Rows, train: Rows) -> FoldMachines:
        """Return some machines, trained anew on some of the training rows."""
        lambdas = self.settings.lambdas[which]
        machines = train_on_features(self.map, self._features[train], self.codes[train], lambdas)
        landmarks = self.map.landmarks
        return FoldMachines(
            machines, lambda test: self.kernel.between(landmarks, self.rows[test]), len(landmarks), self.n_classes
        )

    def at_once(self, folds: int) -> int:
        """Return how many folds to train side by side: each uses all cores."""
        return 1

    @cached_property
    def _features(self) -> FloatArray:
        return self.map.features(self.rows)


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
