"""Training machines that share their rows, on all of these and anew on parts of them: for each width one matrix."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.classifiers.calibration import PAIRS, calibrate
from pacbayes.classifiers.cross_validation import OutOfFold, candidates_of, dealt, in_folds, trainable
from pacbayes.classifiers.members import kept_as
from pacbayes.classifiers.svm.hinge_path import MOST_STEPS
from pacbayes.classifiers.svm.kernel import (
    AUTO_SCALE,
    NYSTROEM,
    SINGLE_FROM,
    Kernel,
    fit_kernels,
    fit_scaling,
    within_range,
)
from pacbayes.classifiers.svm.landmarks import NystroemMap, choose_landmarks, nystroem_map, train_on_features
from pacbayes.classifiers.svm.machines import Machines, blocks, train_machines
from pacbayes.classifiers.svm.path import MAX_ITER, warn_unconverged
from pacbayes.classifiers.svm.shared import SharedMachines
from pacbayes.classifiers.svm.svm_classifier import MachineSettings
from pacbayes.numeric.arrays import FloatArray, Labels, Rows
from pacbayes.numeric.cached import cached_property
from pacbayes.numeric.rounding import usual_float_errors
from pacbayes.runtime.memory import memory_limit
from pacbayes.runtime.seeds import Purpose, generator
from pacbayes.runtime.threads import cores, on_cores

# Threads are not worth their start for fewer rows.
_FEW = 500
# Earlier than for all training rows: or folds of somewhat fewer would take several times as long as these.
_LINEAR_FROM = 1000
# Rows copied in one part of the work.
_ROWS_PER_PART = 128
# Out-of-fold decisions that are held at once, in single precision; with many pairs of classes a path is divided.
_DECISIONS, _LARGEST = 2**27, float(np.finfo(np.float32).max)


def train_shared(
    settings: MachineSettings,
    rows: FloatArray,
    codes: Rows,
    classes: Labels,
    prepare: Any,
    jobs: int,
    units: Rows | None = None,
    max_bytes: int | None = None,
) -> tuple[SharedMachines, "MachineFolds"]:
    """Train machines for all widths and lambdas on numbers; return them, and what trains them anew on parts of these.

    `units` are the numbers of what the rows belong to, where that is not each its own.
    """
    scale = settings.scale
    if scale == AUTO_SCALE:
        scale = chosen_scale(rows, codes, units, settings.seed, jobs, max_bytes)
    scaling = fit_scaling(rows, scale)
    scaled = scaling(rows)
    kernels = fit_kernels(scaled, settings.kernel, settings.gamma, generator(settings.seed, Purpose.WIDTH))
    widths: list[KernelFolds | LandmarkFolds]
    if settings.kernel == NYSTROEM:
        places = choose_landmarks(len(scaled), settings.n_components, generator(settings.seed, Purpose.LANDMARKS))
        widths = [LandmarkFolds(kernel, scaled, codes, nystroem_map(scaled[places], kernel)) for kernel in kernels]
        summed, most = scaled[places], MOST_STEPS
    else:
        widths = [KernelFolds(kernel, scaled, codes, jobs, max_bytes) for kernel in kernels]
        summed, most = scaled, MAX_ITER
    folds = MachineFolds(tuple(widths), settings.lambdas, codes, classes.size)
    members = SharedMachines(settings, classes, scaling, kernels, summed, folds.train(), prepare)
    warn_unconverged(np.tile(settings.lambdas, len(kernels)), members.kkt_violation, members.converged, most)
    return members, folds


# Costs with which scaling is tried, folds, and by what factor ranges of most columns may differ where it is.
_TRIED_LAMBDAS, _TRIED_FOLDS, _ALIKE = np.logspace(-2, 2, 5), 5, 2.0
# Rows on which it is tried, at most.
_TRIED_ROWS = 2000


def chosen_scale(
    rows: FloatArray, codes: Rows, units: Rows | None, seed: int, jobs: int, max_bytes: int | None
) -> bool:
    """Return whether to standardise the columns, by the least log-loss of a few machines in cross-validation.

    Columns with about the same range are likely to share a unit, as pixels do: standardising would blow up those that
    hardly ever vary.  Where ranges differ, nothing is tried and columns are standardised.
    """
    ranges = np.ptp(within_range(rows), axis=0)
    vary = ranges[ranges > 0.0]
    if vary.size < 2 or np.quantile(vary, 0.75) > _ALIKE * np.quantile(vary, 0.25):
        return True
    if len(rows) > _TRIED_ROWS:
        some = np.sort(generator(seed, Purpose.SCALING).choice(len(rows), _TRIED_ROWS, replace=False))
        rows, codes, units = rows[some], codes[some], None if units is None else units[some]
    fold = dealt(codes, _TRIED_FOLDS, generator(seed, Purpose.FOLDS), units)
    if np.unique(codes).size < 2:
        return True
    dense = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    losses = []
    for scale in (True, False):
        scaled = fit_scaling(rows, scale)(rows)
        try:
            (kernel,) = fit_kernels(scaled, "rbf", "sigest", generator(seed, Purpose.WIDTH))
        except ValueError:  # rows that are all equal, or so near that no width fits: nothing to be tried
            return True
        width = KernelFolds(kernel, scaled, codes, jobs, max_bytes)
        tried = MachineFolds((width,), _TRIED_LAMBDAS, codes, int(codes.max()) + 1)
        heard = tried.out_of_fold(tried.families, fold)
        losses.append(min(calibrate(one.kind, one.scores, dense, int(dense.max()) + 1)[1] for one in heard))
    return losses[0] <= losses[1]


@dataclass(frozen=True, eq=False)
class MachineFolds:
    """Machines of several widths, with the training rows that all of them share.  All lambdas of a width are a path."""

    widths: "tuple[KernelFolds | LandmarkFolds, ...]"
    lambdas: FloatArray
    #: The class numbers of the training rows.
    codes: Rows
    n_classes: int

    @property
    def families(self) -> Rows:
        """Each machine has a part in a soft vote of machines alone."""
        return np.arange(len(self.widths) * self.lambdas.size)

    def tried(self, proposes: bool) -> Rows:
        """Return which machines are cross-validated: a path costs little more with all lambdas than with some."""
        number = self.families.size
        return np.arange(number) if proposes else candidates_of(number)

    def train(self) -> tuple[Machines, ...]:
        """Return the machines of each width on all training rows."""
        return tuple(self._released(width, width.train(self.lambdas, None)) for width in self.widths)

    def out_of_fold(self, which: Rows, fold: Rows) -> Iterator[OutOfFold]:
        """Yield what some machines say of every training row when trained on the other folds."""
        learnt = np.unique(self.codes)
        step = max(1, _DECISIONS // (self.codes.size * max(1, learnt.size * (learnt.size - 1) // 2)))
        for place, width in enumerate(self.widths):
            mine = which[which // self.lambdas.size == place] % self.lambdas.size
            for start in range(0, mine.size, step):
                yield from _heard(width, self.lambdas[mine[start : start + step]], self.codes, self.n_classes, fold)
            self._released(width, None)

    def _released(self, width: "KernelFolds | LandmarkFolds", result: Any) -> Any:
        """Return a result; of several widths each gives back its memory before the next one takes it."""
        if len(self.widths) > 1:
            width.release()
        return result


def _heard(
    width: "KernelFolds | LandmarkFolds", lambdas: FloatArray, codes: Rows, n_classes: int, fold: Rows
) -> Iterator[OutOfFold]:
    """Yield what the machines of one width and some lambdas say of every training row."""
    learnt, used = np.unique(codes), trainable(codes, fold)
    pairs = learnt.size * (learnt.size - 1) // 2
    scores = np.empty((lambdas.size, codes.size, pairs), dtype=np.float32)
    answers = np.empty((lambdas.size, codes.size), dtype=kept_as(n_classes))

    def hear(k: int) -> None:
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        machines = width.train(lambdas, train)
        for block in blocks(test.size, width.n_summed(train) + 2 * lambdas.size * pairs):
            rows = test[block]
            decisions = machines.decisions(width.between(train, rows))
            answers[:, rows] = machines.winners(decisions)
            with usual_float_errors():
                # A row that is far from all others has decisions beyond single precision.
                scores[:, rows] = np.clip(_among(decisions, machines.codes, learnt), -_LARGEST, _LARGEST)

    in_folds(hear, np.flatnonzero(used).tolist(), width.at_once(used.size))
    for k in np.flatnonzero(~used).tolist():
        # Nothing to train with: all of them say the only class that is left.
        only, rows = codes[fold != k][:1], fold == k
        answers[:, rows] = only
        scores[:, rows] = _among(np.empty((lambdas.size, np.count_nonzero(rows), 0)), only, learnt)
    for mine, decisions in zip(answers, scores, strict=True):
        yield OutOfFold(mine, PAIRS, decisions.astype(np.float64))


def _among(decisions: FloatArray, present: Rows, learnt: Rows) -> FloatArray:
    """Return decisions between all classes that were learnt, from those that are present in a fold.

    A class that is absent there loses against one that is present, by one.
    """
    pairs, columns = list(combinations(learnt.tolist(), 2)), list(combinations(present.tolist(), 2))
    if pairs == columns:
        return decisions
    found = np.zeros((*decisions.shape[:2], len(pairs)))
    known, places = set(present.tolist()), {pair: place for place, pair in enumerate(columns)}
    for place, (first, second) in enumerate(pairs):
        if (first, second) in places:
            found[:, :, place] = decisions[:, :, places[first, second]]
        else:
            found[:, :, place] = float(second in known) - float(first in known)
    return found


@dataclass(frozen=True, eq=False)
class KernelFolds:
    """One kernel matrix.  Scaling and width are those of all training rows; neither has seen a label.

    Kernel values have the same bits wherever they are computed, since one depends on its two rows alone.
    """

    kernel: Kernel
    #: All training rows, scaled, and their class numbers.
    rows: FloatArray
    codes: Rows
    jobs: int
    max_bytes: int | None = None

    def train(self, lambdas: FloatArray, train: Rows | None) -> Machines:
        """Return machines on some of the training rows, None for all of them."""
        if train is None:
            # Here, before threads for pairs of classes, or for folds, each ask for a part of it.
            whole = self._matrix
            assert whole is None or len(whole) == len(self.rows)
            return train_machines(self._gram, self.codes, lambdas, self.jobs)
        jobs = min(cores(), self.jobs)
        return train_machines(lambda part: self._gram(train[part]), self.codes[train], lambdas, jobs, _LINEAR_FROM)

    def at_once(self, folds: int) -> int:
        """Return how many of some folds to train side by side, if memory allows.

        A fold alone would use all cores as well, but not all of the time.  So many that no round leaves a core without
        work: five folds on two cores are three, which take turns, and two.
        """
        n = len(self.rows)
        if n < _FEW or cores() == 1:
            return 1
        # Here, before threads each ask for a part of it.
        whole = self._matrix
        together = -(-folds // max(1, folds // cores()))
        # Each needs a part of the kernel matrix and something to work with, beside the whole.
        return 1 if whole is None else max(1, min(together, self._matrices_that_fit - 1))

    def n_summed(self, train: Rows) -> int:
        """Return over how many rows machines sum that were trained on these."""
        return train.size

    def between(self, train: Rows, test: Rows) -> FloatArray:
        """Return the kernel values of training rows (down) with others of them."""
        if self._matrix is None or self._matrix.dtype != np.float64:
            return self.kernel.between(self.rows[train], self.rows[test])
        return pick(self._matrix, train, test)

    def release(self) -> None:
        """Give back the memory of the matrix."""
        self.__dict__.pop("_matrix", None)

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


@dataclass(frozen=True, eq=False)
class LandmarkFolds:
    """Machines on landmarks.  Scaling, width and landmarks are those of all training rows; none has seen a label."""

    kernel: Kernel
    rows: FloatArray
    codes: Rows
    map: NystroemMap

    def train(self, lambdas: FloatArray, train: Rows | None) -> Machines:
        """Return machines on some of the training rows, None for all of them."""
        if train is None:
            return train_on_features(self.map, self._features, self.codes, lambdas)
        return train_on_features(self.map, self._features[train], self.codes[train], lambdas)

    def at_once(self, folds: int) -> int:
        """Return how many folds to train side by side: each uses all cores."""
        return 1

    def n_summed(self, train: Rows) -> int:
        """Return over how many rows machines sum: the landmarks."""
        return len(self.map.landmarks)

    def between(self, train: Rows, test: Rows) -> FloatArray:
        """Return the kernel values of landmarks (down) with training rows."""
        return self.kernel.between(self.map.landmarks, self.rows[test])

    def release(self) -> None:
        """Give back the memory of the features."""
        self.__dict__.pop("_features", None)

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
