"""Training machines that share their rows, on all of these and anew on parts of them: one matrix of distances."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, Labels, Rows, cached_property, usual_float_errors
from pacbayes._utils.checkpoint import Codec, describe_run, npz_codec, open_checkpoint
from pacbayes._utils.checks import need
from pacbayes._utils.memory import memory_limit
from pacbayes._utils.seeds import Purpose, generator
from pacbayes._utils.threads import one_thread
from pacbayes._utils.units import run_units, shares_memory
from pacbayes.ensemble.calibration import PAIRS, calibrate
from pacbayes.ensemble.cross_validation import OutOfFold, assign_folds, candidates_of, trainable
from pacbayes.ensemble.members import Predictions, smallest_code_dtype
from pacbayes.ensemble.svm_members import KernelSVMs
from pacbayes.svm.kernel import (
    AUTO_SCALE,
    NYSTROEM,
    SINGLE_FROM,
    Kernel,
    Scaling,
    fit_kernels,
    fit_scaling,
    shared_matrix,
    within_range,
)
from pacbayes.svm.landmarks import MOST_STEPS, NystroemMap, choose_landmarks, nystroem_map, train_on_features
from pacbayes.svm.one_vs_one import OneVsOnePaths, Pair, blocks, train_one_vs_one
from pacbayes.svm.path import MAX_ITER, SVMPath, warn_unconverged
from pacbayes.svm.svm_classifier import SVMSettings

# Threads are not worth their start for fewer rows.
_FEW = 200
# From how many rows on linear algebra may be used.  With one width folds begin earlier than all training rows do, or
# folds of somewhat fewer would take several times as long as these; the others keep the bits of the paper's machines.
_FOLDS_LINEAR_FROM = 1000
_LINEAR_FROM = 200
# Out-of-fold decisions that are held at once, in single precision; with many pairs of classes a path is divided.
_DECISIONS, _LARGEST = 2**27, float(np.finfo(np.float32).max)


def train_shared(
    settings: SVMSettings,
    rows: FloatArray,
    codes: Rows,
    classes: Labels,
    prepare: Any,
    jobs: int,
    units: Rows | None = None,
    max_bytes: int | None = None,
    checkpoint: Path | None = None,
) -> tuple[KernelSVMs, "SVMFolds"]:
    """Train machines for all widths and lambdas on numbers; return them, and what trains them anew on parts of these.

    `units` are the numbers of what the rows belong to, where that is not each its own.  A directory `checkpoint` keeps
    each width, and each width without each fold, when it is finished.
    """
    if (scale := settings.scale) == AUTO_SCALE:
        scale = chosen_scale(rows, codes, units, settings.seed, jobs, max_bytes)
    scaling, summed, folds = _untrained(settings, scale, rows, codes, classes.size, jobs, max_bytes, checkpoint)
    kernels = tuple(width.kernel for width in folds.widths)
    members = KernelSVMs(settings, classes, scaling, kernels, summed, folds.train(), prepare)
    most = MOST_STEPS if settings.kernel == NYSTROEM else MAX_ITER
    warn_unconverged(np.tile(settings.lambdas, len(kernels)), members.kkt_violation, members.converged, most)
    return members, folds


def _untrained(
    settings: SVMSettings,
    scale: bool | str,
    rows: FloatArray,
    codes: Rows,
    n_classes: int,
    jobs: int,
    max_bytes: int | None,
    checkpoint: Path | None = None,
) -> tuple[Scaling, FloatArray, "SVMFolds"]:
    """Return the scaling, the rows that machines sum over, and the machines of all widths before they are trained."""
    scaling = fit_scaling(rows, scale)
    scaled = summed = scaling(rows)
    kernels = fit_kernels(scaled, settings.kernel, settings.gamma, generator(settings.seed, Purpose.WIDTH))
    widths: list[KernelFolds | LandmarkFolds]
    if settings.kernel == NYSTROEM:
        places = choose_landmarks(len(scaled), settings.n_components, generator(settings.seed, Purpose.LANDMARKS))
        summed = scaled[places]
        widths = [LandmarkFolds(kernel, scaled, codes, nystroem_map(summed, kernel)) for kernel in kernels]
    else:
        shared = SharedValues(scaled, settings.kernel, len(kernels) > 1, max_bytes)
        widths = [KernelFolds(kernel, shared, codes, coarse=len(kernels) > 1) for kernel in kernels]
    return scaling, summed, SVMFolds(tuple(widths), settings.lambdas, codes, n_classes, jobs, settings, checkpoint)


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
    fold = assign_folds(codes, _TRIED_FOLDS, generator(seed, Purpose.FOLDS), units)
    if np.unique(codes).size < 2:
        return True
    dense = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    losses = []
    for scale in (True, False):
        settings = SVMSettings(_TRIED_LAMBDAS, "rbf", "sigest", scale, 1, seed)
        try:
            _, _, tried = _untrained(settings, scale, rows, codes, int(codes.max()) + 1, jobs, max_bytes)
        except ValueError:  # rows that are all equal, or so near that no width fits: nothing to be tried
            return True
        heard = tried.out_of_fold(tried.families, fold)
        losses.append(min(calibrate(one.kind, one.scores, dense, int(dense.max()) + 1)[1] for one in heard))
    return losses[0] <= losses[1]


@dataclass(frozen=True, eq=False)
class SVMFolds:
    """SVMs of several widths, with the training rows that all of them share.  All lambdas of a width are a path."""

    widths: "tuple[KernelFolds | LandmarkFolds, ...]"
    lambdas: FloatArray
    #: The class numbers of the training rows.
    codes: Rows
    n_classes: int
    jobs: int
    #: What was asked for, and where finished units are kept; without it nowhere.
    settings: SVMSettings | None = None
    checkpoint: Path | None = None

    @property
    def families(self) -> Rows:
        """Each machine has a part in a soft vote of machines alone."""
        return np.arange(len(self.widths) * self.lambdas.size)

    def tried(self, proposes: bool) -> Rows:
        """Return which machines are cross-validated: a path costs little more with all lambdas than with some."""
        number = self.families.size
        return np.arange(number) if proposes else candidates_of(number)

    def train(self) -> tuple[OneVsOnePaths, ...]:
        """Return the machines of each width on all training rows."""
        if len(self.widths) == 1 and self.checkpoint is None:
            # The cores share the work on one matrix.
            return (self.widths[0].train(self.lambdas, None, self.jobs),)
        return tuple(self._run("machines", WIDTHS, _train_width, self, _middle_first(len(self.widths), 1), {}))

    def out_of_fold(self, which: Rows, fold: Rows) -> Iterator[OutOfFold]:
        """Yield what some machines say of every training row when trained on the other folds."""
        learnt = np.unique(self.codes)
        pairs = max(1, learnt.size * (learnt.size - 1) // 2)
        most = max(1, _DECISIONS // (self.codes.size * pairs))
        for number, parts in enumerate(self._parts(which, most)):
            work = _FoldWork(self, tuple(parts), fold, np.flatnonzero(trainable(self.codes, fold)))
            told = {"fold": fold, "parts": parts}
            order = _middle_first(len(parts), work.used.size)
            said = self._run(f"folds-{number}", FOLDS, _fit_and_predict_fold, work, order, told, _checked_fold)
            for place, part in enumerate(parts):
                yield from work.assembled(part[1].size, said[place * work.used.size : (place + 1) * work.used.size])
        for width in self.widths:
            width.release()

    def _parts(self, which: Rows, most: int) -> Iterator[list[tuple[int, FloatArray]]]:
        """Yield what is trained at once: lambdas of some widths, no more machines together than that."""
        parts: list[tuple[int, FloatArray]] = []
        for place in range(len(self.widths)):
            mine = which[which // self.lambdas.size == place] % self.lambdas.size
            for start in range(0, mine.size, most):
                some = self.lambdas[mine[start : start + most]]
                if sum(lambdas.size for _, lambdas in parts) + some.size > most:
                    yield parts
                    parts = []
                parts.append((place, some))
        if parts:
            yield parts

    def _run(
        self,
        name: str,
        codec: Codec,
        task: Callable[[Any, int], Any],
        common: Any,
        order: list[int],
        told: dict[str, Any],
        again: Callable[[Any, int, Any], Any] | None = None,
    ) -> list[Any]:
        """Do units of work, as many at once as there is memory for.

        They are kept under a name, where what is told of them is the same.
        """
        number = len(order)
        jobs = self.widths[0].at_once(self.jobs) if shares_memory("threads") else self.jobs
        with open_checkpoint(self.checkpoint and self.checkpoint / name, codec) as store:
            if store is not None:
                assert self.settings is not None
                told |= {"widths": [width.described for width in self.widths], "codes": self.codes}
                told["lambdas"] = self.lambdas
                own = {"kernel": self.settings.kernel, "n_components": self.settings.n_components}
                store.begin(describe_run(name, number, self.settings.seed, told, own, per_chunk=1))
            what = "support vector machines"
            return run_units(task, common, number, what, jobs, "threads", checkpoint=store, again=again, order=order)


def _middle_first(parts: int, each: int) -> list[int]:
    """Return in which order to begin units, so many of each part: widths in the middle take longest.

    Examples
    --------
    >>> _middle_first(3, 2)
    [2, 3, 0, 1, 4, 5]
    """
    return sorted(range(parts * each), key=lambda unit: abs(unit // each - (parts - 1) / 2))


def _are_arrays(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and all(isinstance(part, np.ndarray) for part in one)


# The machines of a width, and what the machines of a part said of a fold.
WIDTHS = npz_codec(
    dict.fromkeys((OneVsOnePaths, Pair, SVMPath)),
    lambda one: isinstance(one, OneVsOnePaths),
    "support vector machines",
    1,
)
FOLDS = npz_codec({}, _are_arrays, "answers and decisions of support vector machines", 1)


# The number of a width, and some of its lambdas.
_Part = tuple[int, FloatArray]


def _train_width(folds: SVMFolds, i: int) -> OneVsOnePaths:
    """Train the machines of one width on all training rows."""
    with one_thread():
        return folds.widths[i].train(folds.lambdas, None)


@dataclass(frozen=True, eq=False)
class _FoldWork:
    """What a worker needs: unit u is part ``u // folds`` without fold number ``u % folds`` of those that can train."""

    folds: SVMFolds
    parts: tuple[_Part, ...]
    fold: Rows
    used: Rows

    def unit(self, u: int) -> tuple[_Part, int]:
        """Return part and fold of a unit."""
        return self.parts[u // self.used.size], int(self.used[u % self.used.size])

    def assembled(self, number: int, said: list[tuple[Predictions, NDArray[np.float32]]]) -> Iterator[OutOfFold]:
        """Yield what each of so many machines says of every training row, from what was said of each fold."""
        codes, fold = self.folds.codes, self.fold
        learnt = np.unique(codes)
        shape = number, codes.size
        scores = np.empty((*shape, learnt.size * (learnt.size - 1) // 2), dtype=np.float32)
        y_pred = np.empty(shape, dtype=smallest_code_dtype(self.folds.n_classes))
        for k, (mine, decisions) in zip(self.used.tolist(), said, strict=True):
            y_pred[:, fold == k], scores[:, fold == k] = mine, decisions
        for k in set(np.unique(fold).tolist()) - set(self.used.tolist()):
            # Nothing to train with: all of them say the only class that is left.
            only, rows = codes[fold != k][:1], fold == k
            y_pred[:, rows] = only
            scores[:, rows] = _among(np.empty((shape[0], np.count_nonzero(rows), 0)), only, learnt)
        for mine, decisions in zip(y_pred, scores, strict=True):
            yield OutOfFold(mine, PAIRS, decisions.astype(np.float64))


def _fit_and_predict_fold(work: _FoldWork, unit: int) -> tuple[Predictions, NDArray[np.float32]]:
    """Train the machines of a part without a fold; return what they say of its rows, and their decisions."""
    folds, ((place, lambdas), k) = work.folds, work.unit(unit)
    width, learnt = folds.widths[place], np.unique(folds.codes)
    train, test = np.flatnonzero(work.fold != k), np.flatnonzero(work.fold == k)
    with one_thread():
        svms = width.train(lambdas, train)
        pairs = learnt.size * (learnt.size - 1) // 2
        scores = np.empty((lambdas.size, test.size, pairs), dtype=np.float32)
        y_pred = np.empty((lambdas.size, test.size), dtype=smallest_code_dtype(folds.n_classes))
        for block in blocks(test.size, svms.n_rows + 2 * lambdas.size * pairs):
            decisions = svms.decisions(width.between(train, test[block]))
            y_pred[:, block] = svms.winners(decisions)
            with usual_float_errors():
                # A row that is far from all others has decisions beyond single precision.
                scores[:, block] = np.clip(_among(decisions, svms.codes, learnt), -_LARGEST, _LARGEST)
    return y_pred, scores


def _checked_fold(
    work: _FoldWork, unit: int, stored: tuple[Predictions, NDArray[np.float32]]
) -> tuple[Predictions, NDArray[np.float32]]:
    """Return answers and decisions of a checkpoint, or raise unless they are of such machines about such rows."""
    (y_pred, scores), ((_, lambdas), k) = stored, work.unit(unit)
    learnt, shape = np.unique(work.folds.codes).size, (lambdas.size, np.count_nonzero(work.fold == k))
    right = y_pred.dtype == smallest_code_dtype(work.folds.n_classes) and y_pred.shape == shape
    need(bool(right and (y_pred < work.folds.n_classes).all()), "answers", f"must be classes, of shape {shape}")
    right = scores.dtype == np.float32 and scores.shape == (*shape, learnt * (learnt - 1) // 2)
    need(bool(right and np.isfinite(scores).all()), "decisions", "must be finite, of each pair of classes")
    return stored


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


class SharedValues:
    """What kernels of every width are made of: squared distances of all training rows, or inner products.

    Each worker has room for one kernel matrix, and the next one uses it again: to write into new memory takes longer
    than to compute what is written.  Elsewhere than in this process kernels are computed from rows.
    """

    def __init__(self, rows: FloatArray, kernel: str, single: bool, max_bytes: int | None) -> None:
        self.rows, self._kernel, self._max_bytes = rows, kernel, max_bytes
        #: Whether machines are trained on kernels in single precision.
        self._single = single or len(rows) >= SINGLE_FROM
        self._here = True
        self.release()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"_here": False, "_matrix": None}
        del state["_rooms"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _rooms=local())

    def release(self) -> None:
        """Give back the memory of matrices."""
        self._matrix: FloatArray | None = None
        self._rooms = local()

    def prepare(self) -> None:
        """Compute the matrix, on all cores, if there is memory for it; before threads each ask for a part of it."""
        if self._here and self._matrix is None and len(self.rows) < SINGLE_FROM and self.rooms(8) > 0:
            self._matrix = shared_matrix(self.rows, self._kernel)

    def rooms(self, taken: int = 0) -> int:
        """Return for how many kernel matrices there is memory, beside so many bytes for each pair of rows."""
        limit, _ = memory_limit(self._max_bytes)
        entry = 4 if self._single else 8
        return len(self.rows) if limit is None else max(0, (limit // len(self.rows) ** 2 - taken) // entry)

    def room(self) -> NDArray[Any] | None:
        """Return memory of this thread for a matrix of all training rows; None where kernels are computed from rows."""
        if self._matrix is None:
            return None
        if not hasattr(self._rooms, "room"):
            self._rooms.room = np.empty(self._matrix.size, dtype=np.float32 if self._single else np.float64)
        room: NDArray[Any] = self._rooms.room
        return room

    def gram(self, kernel: Kernel, part: Rows, room: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the kernel matrix of some training rows, in `room` where there is some."""
        if self._matrix is None or room is None:
            rows = self.rows if part.size == len(self.rows) else self.rows[part]
            return kernel.gram_in_single(rows) if self._single else kernel.gram(rows)
        return kernel.of_shared(self._matrix, part, part, room[: part.size**2].reshape(part.size, part.size))

    def between(self, kernel: Kernel, down: Rows, across: Rows) -> FloatArray:
        """Return the kernel values of some training rows with others."""
        if self._matrix is None:
            return kernel.between(self.rows[down], self.rows[across])
        return kernel.of_shared(self._matrix, down, across)


@dataclass(frozen=True, eq=False)
class KernelFolds:
    """SVMs of one kernel.  Scaling and width are those of all training rows; neither has seen a label.

    Kernel values have the same bits wherever they are computed, since one depends on its two rows alone.
    """

    kernel: Kernel
    #: Of all training rows, scaled; and their class numbers.
    shared: SharedValues
    codes: Rows
    #: Whether it is one of several widths, with few costs far apart.
    coarse: bool = False

    @property
    def described(self) -> list[Any]:
        """What makes two of them the same, beside their classes."""
        return [self.kernel.gamma, self.shared.rows]

    def train(self, lambdas: FloatArray, train: Rows | None, jobs: int = 1) -> OneVsOnePaths:
        """Return machines on some of the training rows, None for all of them; several jobs are for all of them."""
        if jobs > 1:
            # Pairs of classes side by side have a matrix each.
            return train_one_vs_one(lambda part: self.shared.gram(self.kernel, part), self.codes, lambdas, jobs)
        rows, linear_from = (np.arange(self.codes.size), None) if train is None else (train, _FOLDS_LINEAR_FROM)
        room = self.shared.room()

        def gram(part: Rows) -> NDArray[Any]:
            return self.shared.gram(self.kernel, rows[part], room)

        return train_one_vs_one(gram, self.codes[rows], lambdas, 1, _LINEAR_FROM if self.coarse else linear_from)

    def at_once(self, jobs: int) -> int:
        """Return how many units to work on side by side, if memory allows: each needs a matrix, beside the shared."""
        self.shared.prepare()
        return 1 if self.codes.size < _FEW else max(1, min(jobs, self.shared.rooms()))

    def between(self, train: Rows, test: Rows) -> FloatArray:
        """Return the kernel values of training rows (down) with others of them."""
        return self.shared.between(self.kernel, train, test)

    def release(self) -> None:
        """Give back the memory of matrices."""
        self.shared.release()


@dataclass(frozen=True, eq=False)
class LandmarkFolds:
    """SVMs on landmarks.  Scaling, width and landmarks are those of all training rows; none has seen a label."""

    kernel: Kernel
    rows: FloatArray
    codes: Rows
    map: NystroemMap

    @property
    def described(self) -> list[Any]:
        """What makes two of them the same, beside their classes."""
        return [self.kernel.gamma, self.rows, self.map.landmarks]

    def train(self, lambdas: FloatArray, train: Rows | None, jobs: int = 1) -> OneVsOnePaths:
        """Return machines on some of the training rows, None for all of them."""
        if train is None:
            return train_on_features(self.map, self._features, self.codes, lambdas)
        return train_on_features(self.map, self._features[train], self.codes[train], lambdas)

    def at_once(self, jobs: int) -> int:
        """Return how many units to work on side by side."""
        return jobs

    def between(self, train: Rows, test: Rows) -> FloatArray:
        """Return the kernel values of landmarks (down) with training rows."""
        return self.kernel.between(self.map.landmarks, self.rows[test])

    def release(self) -> None:
        """Give back the memory of the features."""
        self.__dict__.pop("_features", None)

    @cached_property
    def _features(self) -> FloatArray:
        return self.map.features(self.rows)
