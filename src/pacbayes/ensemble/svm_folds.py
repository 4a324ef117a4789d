"""Training of SVMs on common rows, with all of them and without each fold, from a shared matrix of distances."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, Labels, Rows, cached_property, default_errstate
from pacbayes._utils.checkpoint import Codec, describe_run, npz_codec, open_checkpoint
from pacbayes._utils.checks import require
from pacbayes._utils.memory import memory_limit
from pacbayes._utils.seeds import Purpose, make_rng
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes._utils.units import run_units, shares_memory
from pacbayes.ensemble.calibration import PAIRS, calibrate
from pacbayes.ensemble.cross_validation import OutOfFold, assign_folds, select_evenly_spaced, trainable_fold_mask
from pacbayes.ensemble.members import Predictions, smallest_code_dtype
from pacbayes.ensemble.svm_members import KernelSVMs
from pacbayes.svm.kernel import (
    AUTO_SCALE,
    NYSTROEM,
    SINGLE_PRECISION_FROM,
    Kernel,
    Scaling,
    clip_rows,
    fit_kernels,
    fit_scaling,
    shared_matrix,
)
from pacbayes.svm.landmarks import MAX_STEPS, NystroemMap, choose_landmarks, nystroem_map, train_on_features
from pacbayes.svm.one_vs_one import OneVsOnePaths, Pair, row_blocks, train_one_vs_one
from pacbayes.svm.path import MAX_ITER, SVMPath, warn_unconverged
from pacbayes.svm.svm_classifier import SVMSettings

# With fewer rows, threads take longer to start than to train.
_MIN_ROWS_FOR_THREADS = 200
# Number of rows from which the active-set method may be used.  With a single width, folds use it from fewer rows than
# all training rows do, because folds just below that number would take several times as long; other SVMs keep the bits
# of the paper's.
_FOLDS_ACTIVE_SET_FROM = 1000
_ACTIVE_SET_FROM = 200
# Maximum number of out-of-fold decision values in memory; paths are split if there are many pairs of classes.
_MAX_DECISIONS = 2**27
_FLOAT32_MAX = float(np.finfo(np.float32).max)


def train_shared(
    settings: SVMSettings,
    rows: FloatArray,
    codes: Rows,
    classes: Labels,
    preprocessor: Any,
    jobs: int,
    units: Rows | None = None,
    max_bytes: int | None = None,
    checkpoint: Path | None = None,
) -> tuple[KernelSVMs, "SVMFolds"]:
    """Train SVMs for all widths and lambdas; return them with their folds.

    `units` are the groups or distinct examples of the rows, if any.  The directory `checkpoint` stores each width, and
    each width without each fold.
    """
    if (scale := settings.scale) == AUTO_SCALE:
        scale = choose_scale(rows, codes, units, settings.seed, jobs, max_bytes)
    scaling, expansion_rows, folds = prepare_folds(
        settings, scale, rows, codes, classes.size, jobs, max_bytes, checkpoint
    )
    kernels = tuple(width.kernel for width in folds.widths)
    members = KernelSVMs(settings, classes, scaling, kernels, expansion_rows, folds.train(), preprocessor)
    max_iter = MAX_STEPS if settings.kernel == NYSTROEM else MAX_ITER
    warn_unconverged(np.tile(settings.lambdas, len(kernels)), members.kkt_violation, members.converged, max_iter)
    return members, folds


def prepare_folds(
    settings: SVMSettings,
    scale: bool | str,
    rows: FloatArray,
    codes: Rows,
    n_classes: int,
    jobs: int,
    max_bytes: int | None,
    checkpoint: Path | None = None,
) -> tuple[Scaling, FloatArray, "SVMFolds"]:
    """Prepare scaling, expansion rows and untrained SVMs of all widths."""
    scaling = fit_scaling(rows, scale)
    scaled = expansion_rows = scaling(rows)
    kernels = fit_kernels(scaled, settings.kernel, settings.gamma, make_rng(settings.seed, Purpose.WIDTH))
    widths: list[KernelFolds | LandmarkFolds]
    if settings.kernel == NYSTROEM:
        landmarks = choose_landmarks(len(scaled), settings.n_components, make_rng(settings.seed, Purpose.LANDMARKS))
        expansion_rows = scaled[landmarks]
        widths = [LandmarkFolds(kernel, scaled, codes, nystroem_map(expansion_rows, kernel)) for kernel in kernels]
    else:
        shared = SharedKernelValues(scaled, settings.kernel, len(kernels) > 1, max_bytes)
        widths = [KernelFolds(kernel, shared, codes, coarse=len(kernels) > 1) for kernel in kernels]
    folds = SVMFolds(tuple(widths), settings.lambdas, codes, n_classes, jobs, settings, checkpoint)
    return scaling, expansion_rows, folds


# Choice of the scaling: lambdas, folds, maximum ratio of the quartiles of the column ranges, maximum number of rows.
_SCALE_LAMBDAS, _SCALE_FOLDS, _SCALE_RANGE_RATIO, _SCALE_ROWS = np.logspace(-2, 2, 5), 5, 2.0, 2000


def choose_scale(
    rows: FloatArray, codes: Rows, units: Rows | None, seed: int, jobs: int, max_bytes: int | None
) -> bool:
    """Whether to standardise the columns, by the log-loss of a few SVMs in cross-validation.

    Columns with similar ranges probably have the same unit, such as pixels: standardising would inflate those that
    hardly vary.  If ranges differ, the columns are standardised without cross-validation.
    """
    ranges = np.ptp(clip_rows(rows), axis=0)
    varying = ranges[ranges > 0.0]
    if varying.size < 2 or np.quantile(varying, 0.75) > _SCALE_RANGE_RATIO * np.quantile(varying, 0.25):
        return True
    if len(rows) > _SCALE_ROWS:
        sample = np.sort(make_rng(seed, Purpose.SCALING).choice(len(rows), _SCALE_ROWS, replace=False))
        rows, codes, units = rows[sample], codes[sample], None if units is None else units[sample]
    fold = assign_folds(codes, _SCALE_FOLDS, make_rng(seed, Purpose.FOLDS), units)
    if np.unique(codes).size < 2:
        return True
    train_codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    n_train_classes = int(train_codes.max()) + 1
    losses = []
    for scale in (True, False):
        settings = SVMSettings(_SCALE_LAMBDAS, "rbf", "sigest", scale, 1, seed)
        try:
            _, _, folds = prepare_folds(settings, scale, rows, codes, int(codes.max()) + 1, jobs, max_bytes)
        except ValueError:  # (nearly) equal rows, for which there is no kernel width
            return True
        predictions = folds.out_of_fold(folds.families, fold)
        losses.append(min(calibrate(svm.kind, svm.scores, train_codes, n_train_classes)[1] for svm in predictions))
    return losses[0] <= losses[1]


@dataclass(frozen=True, eq=False)
class SVMFolds:
    """SVMs of several widths on common training rows; the lambdas of a width form a path."""

    widths: "tuple[KernelFolds | LandmarkFolds, ...]"
    lambdas: FloatArray
    #: Class codes of the training rows.
    codes: Rows
    n_classes: int
    jobs: int
    #: Settings and directory of the checkpoint; None without one.
    settings: SVMSettings | None = None
    checkpoint: Path | None = None

    @property
    def families(self) -> Rows:
        """Family of each SVM: each has its own weight in a soft vote of SVMs only."""
        return np.arange(len(self.widths) * self.lambdas.size)

    def candidates(self, needs_rules: bool) -> Rows:
        """Select the SVMs to cross-validate; a path takes little longer for all lambdas than for some."""
        n_svms = self.families.size
        return np.arange(n_svms) if needs_rules else select_evenly_spaced(n_svms)

    def train(self) -> tuple[OneVsOnePaths, ...]:
        """Train the SVMs of each width on all training rows."""
        if len(self.widths) == 1 and self.checkpoint is None:
            # The cores share the work on one matrix.
            return (self.widths[0].train(self.lambdas, None, self.jobs),)
        return tuple(self._run("widths", WIDTHS, _train_width, self, _middle_first(len(self.widths), 1), {}))

    def out_of_fold(self, indices: Rows, fold: Rows) -> Iterator[OutOfFold]:
        """Yield the out-of-fold predictions of some SVMs for the training rows in a fold."""
        n_classes = np.unique(self.codes).size
        n_pairs = max(1, n_classes * (n_classes - 1) // 2)
        max_svms = max(1, _MAX_DECISIONS // (int(np.count_nonzero(fold >= 0)) * n_pairs))
        for number, parts in enumerate(self._batches(indices, max_svms)):
            work = _FoldTask(self, tuple(parts), fold, np.flatnonzero(trainable_fold_mask(self.codes, fold)))
            description = {"fold": fold, "parts": parts}
            order = _middle_first(len(parts), work.used.size)
            results = self._run(
                f"folds-{number}", FOLDS, _fit_and_predict_fold, work, order, description, _check_stored_fold
            )
            for k, (_, lambdas) in enumerate(parts):
                yield from work.assemble(lambdas.size, results[k * work.used.size : (k + 1) * work.used.size])
        for width in self.widths:
            width.release()

    def _batches(self, indices: Rows, max_svms: int) -> Iterator[list[tuple[int, FloatArray]]]:
        """Yield batches of at most `max_svms` SVMs, as widths with some of their lambdas."""
        parts: list[tuple[int, FloatArray]] = []
        for k in range(len(self.widths)):
            positions = indices[indices // self.lambdas.size == k] % self.lambdas.size
            for start in range(0, positions.size, max_svms):
                path = self.lambdas[positions[start : start + max_svms]]
                if sum(lambdas.size for _, lambdas in parts) + path.size > max_svms:
                    yield parts
                    parts = []
                parts.append((k, path))
        if parts:
            yield parts

    def _run(
        self,
        name: str,
        codec: Codec,
        task: Callable[[Any, int], Any],
        common: Any,
        order: list[int],
        description: dict[str, Any],
        check: Callable[[Any, int, Any], Any] | None = None,
    ) -> list[Any]:
        """Run units of work, as many in parallel as fit into memory, with a checkpoint of this name and description."""
        n_units = len(order)
        jobs = self.widths[0].limit_parallel(self.jobs) if shares_memory("threads") else self.jobs
        with open_checkpoint(self.checkpoint and self.checkpoint / name, codec) as store:
            if store is not None:
                assert self.settings is not None
                description |= {"widths": [width.checkpoint_key for width in self.widths], "codes": self.codes}
                description["lambdas"] = self.lambdas
                params = {"kernel": self.settings.kernel, "n_components": self.settings.n_components}
                store.begin(describe_run(name, n_units, self.settings.seed, description, params, chunk_size=1))
            what = "support vector machines"
            return run_units(task, common, n_units, what, jobs, "threads", checkpoint=store, restore=check, order=order)


def _middle_first(n_widths: int, per_width: int) -> list[int]:
    """Order units, `per_width` for each width, starting with the middle widths, which take longest.

    Examples
    --------
    >>> _middle_first(3, 2)
    [2, 3, 0, 1, 4, 5]
    """
    return sorted(range(n_widths * per_width), key=lambda unit: abs(unit // per_width - (n_widths - 1) / 2))


def _is_array_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(array, np.ndarray) for array in value)


# Formats of checkpoints: the SVMs of a width, and the predictions and decision values of a fold.
WIDTHS = npz_codec(
    dict.fromkeys((OneVsOnePaths, Pair, SVMPath)),
    lambda value: isinstance(value, OneVsOnePaths),
    "support vector machines",
    1,
)
FOLDS = npz_codec({}, _is_array_pair, "predictions and decision values of support vector machines", 1)


# Index of a width, and some of its lambdas.
_Part = tuple[int, FloatArray]


def _train_width(folds: SVMFolds, i: int) -> OneVsOnePaths:
    """Train the SVMs of width i on all training rows."""
    with limit_to_one_thread():
        return folds.widths[i].train(folds.lambdas, None)


@dataclass(frozen=True, eq=False)
class _FoldTask:
    """Input of the workers: unit u is part ``u // folds`` without fold ``used[u % folds]``."""

    folds: SVMFolds
    parts: tuple[_Part, ...]
    fold: Rows
    used: Rows

    def part_and_fold(self, u: int) -> tuple[_Part, int]:
        """Return the part and the fold of a unit of work."""
        return self.parts[u // self.used.size], int(self.used[u % self.used.size])

    def assemble(self, n_svms: int, results: list[tuple[Predictions, NDArray[np.float32]]]) -> Iterator[OutOfFold]:
        """Yield the out-of-fold predictions of each SVM of a part from its results in each fold."""
        codes, scored = self.folds.codes, self.fold >= 0
        train_classes, fold = np.unique(codes), self.fold[scored]
        shape = n_svms, fold.size
        scores = np.empty((*shape, train_classes.size * (train_classes.size - 1) // 2), dtype=np.float32)
        y_pred = np.empty(shape, dtype=smallest_code_dtype(self.folds.n_classes))
        for k, (fold_pred, decisions) in zip(self.used.tolist(), results, strict=True):
            y_pred[:, fold == k], scores[:, fold == k] = fold_pred, decisions
        for k in set(np.unique(fold).tolist()) - set(self.used.tolist()):
            # Nothing to train: predict the only class of the other folds.
            remaining, rows = codes[self.fold != k][:1], fold == k
            y_pred[:, rows] = remaining
            scores[:, rows] = _expand_pairs(np.empty((n_svms, np.count_nonzero(rows), 0)), remaining, train_classes)
        for svm_pred, decisions in zip(y_pred, scores, strict=True):
            yield OutOfFold(svm_pred, PAIRS, decisions.astype(np.float64))


def _fit_and_predict_fold(work: _FoldTask, unit: int) -> tuple[Predictions, NDArray[np.float32]]:
    """Train the SVMs of a part without a fold; return their predictions and decision values for its rows."""
    folds, ((width_index, lambdas), k) = work.folds, work.part_and_fold(unit)
    width, train_classes = folds.widths[width_index], np.unique(folds.codes)
    train, test = np.flatnonzero(work.fold != k), np.flatnonzero(work.fold == k)
    with limit_to_one_thread():
        svms = width.train(lambdas, train)
        n_pairs = train_classes.size * (train_classes.size - 1) // 2
        scores = np.empty((lambdas.size, test.size, n_pairs), dtype=np.float32)
        y_pred = np.empty((lambdas.size, test.size), dtype=smallest_code_dtype(folds.n_classes))
        for block in row_blocks(test.size, svms.n_rows + 2 * lambdas.size * n_pairs):
            decisions = svms.decisions(width.between(train, test[block]))
            y_pred[:, block] = svms.winners(decisions)
            with default_errstate():
                # Decision values of outliers may exceed single precision.
                expanded = _expand_pairs(decisions, svms.codes, train_classes)
                scores[:, block] = np.clip(expanded, -_FLOAT32_MAX, _FLOAT32_MAX)
    return y_pred, scores


def _check_stored_fold(
    work: _FoldTask, unit: int, stored: tuple[Predictions, NDArray[np.float32]]
) -> tuple[Predictions, NDArray[np.float32]]:
    """Validate the predictions and decision values of a checkpoint, and return them."""
    (y_pred, scores), ((_, lambdas), k) = stored, work.part_and_fold(unit)
    n_classes, shape = np.unique(work.folds.codes).size, (lambdas.size, np.count_nonzero(work.fold == k))
    valid = y_pred.dtype == smallest_code_dtype(work.folds.n_classes) and y_pred.shape == shape
    require(bool(valid and (y_pred < work.folds.n_classes).all()), "predictions", f"must be classes, of shape {shape}")
    valid = scores.dtype == np.float32 and scores.shape == (*shape, n_classes * (n_classes - 1) // 2)
    require(
        bool(valid and np.isfinite(scores).all()), "decision values", "must be finite, one for each pair of classes"
    )
    return stored


def _expand_pairs(decisions: FloatArray, fold_classes: Rows, train_classes: Rows) -> FloatArray:
    """Decision values of all pairs of training classes from those of the classes present without a fold.

    A class that is missing without the fold loses by one against a class that is present.
    """
    pairs, fold_pairs = list(combinations(train_classes.tolist(), 2)), list(combinations(fold_classes.tolist(), 2))
    if pairs == fold_pairs:
        return decisions
    expanded = np.zeros((*decisions.shape[:2], len(pairs)))
    present, columns = set(fold_classes.tolist()), {pair: column for column, pair in enumerate(fold_pairs)}
    for column, (first, second) in enumerate(pairs):
        if (first, second) in columns:
            expanded[:, :, column] = decisions[:, :, columns[first, second]]
        else:
            expanded[:, :, column] = float(second in present) - float(first in present)
    return expanded


class SharedKernelValues:
    """Squared distances, or inner products, of all training rows, from which kernels of every width are computed.

    Each thread has one buffer for kernel matrices, because writing to new memory takes longer than computing the
    values.  In other processes, kernels are computed from the rows.
    """

    def __init__(self, rows: FloatArray, kernel: str, single: bool, max_bytes: int | None) -> None:
        self.rows, self._kernel, self._max_bytes = rows, kernel, max_bytes
        #: Whether SVMs are trained on kernel matrices in single precision.
        self._single = single or len(rows) >= SINGLE_PRECISION_FROM
        self._in_process = True
        self.release()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"_in_process": False, "_matrix": None}
        del state["_thread"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _thread=local())

    def release(self) -> None:
        """Free the memory of the matrix and the buffers."""
        self._matrix: FloatArray | None = None
        self._thread = local()

    def prepare(self) -> None:
        """Compute the matrix on all cores, if memory allows, before threads need parts of it."""
        if (
            self._in_process
            and self._matrix is None
            and len(self.rows) < SINGLE_PRECISION_FROM
            and self.max_buffers(8) > 0
        ):
            self._matrix = shared_matrix(self.rows, self._kernel)

    def max_buffers(self, reserved: int = 0) -> int:
        """Count the kernel matrices that fit into memory beside `reserved` bytes for each pair of rows."""
        limit, _ = memory_limit(self._max_bytes)
        entry = 4 if self._single else 8
        return len(self.rows) if limit is None else max(0, (limit // len(self.rows) ** 2 - reserved) // entry)

    def buffer(self) -> NDArray[Any] | None:
        """Buffer of this thread for a kernel matrix of all training rows; None if kernels are computed from rows."""
        if self._matrix is None:
            return None
        if not hasattr(self._thread, "buffer"):
            self._thread.buffer = np.empty(self._matrix.size, dtype=np.float32 if self._single else np.float64)
        buffer: NDArray[Any] = self._thread.buffer
        return buffer

    def gram(self, kernel: Kernel, rows: Rows, buffer: NDArray[Any] | None = None) -> NDArray[Any]:
        """Kernel matrix of some training rows, in `buffer` if there is one."""
        if self._matrix is None or buffer is None:
            values = self.rows if rows.size == len(self.rows) else self.rows[rows]
            return kernel.gram_in_single(values) if self._single else kernel.gram(values)
        return kernel.gram_from_shared(self._matrix, rows, rows, buffer[: rows.size**2].reshape(rows.size, rows.size))

    def between(self, kernel: Kernel, down: Rows, across: Rows) -> FloatArray:
        """Kernel values of some training rows with others."""
        if self._matrix is None:
            return kernel.between(self.rows[down], self.rows[across])
        return kernel.gram_from_shared(self._matrix, down, across)


@dataclass(frozen=True, eq=False)
class KernelFolds:
    """SVMs of one kernel.  Scaling and width are those of all training rows; neither depends on labels.

    Kernel values have the same bits however they are computed, because each depends on its two rows only.
    """

    kernel: Kernel
    #: Scaled training rows.
    shared: SharedKernelValues
    codes: Rows
    #: Whether this is one of several widths, which have few, widely spaced costs.
    coarse: bool = False

    @property
    def checkpoint_key(self) -> list[Any]:
        """Values that identify the width in a checkpoint, beside the classes."""
        return [self.kernel.gamma, self.shared.rows]

    def train(self, lambdas: FloatArray, train: Rows | None, jobs: int = 1) -> OneVsOnePaths:
        """Train SVMs on some of the training rows; None for all of them, which may use several jobs."""
        if jobs > 1:
            # Pairs of classes in parallel need a matrix each.
            return train_one_vs_one(lambda rows: self.shared.gram(self.kernel, rows), self.codes, lambdas, jobs)
        used, active_set_from = (np.arange(self.codes.size), None) if train is None else (train, _FOLDS_ACTIVE_SET_FROM)
        buffer = self.shared.buffer()

        def gram(rows: Rows) -> NDArray[Any]:
            return self.shared.gram(self.kernel, used[rows], buffer)

        active_set_from = _ACTIVE_SET_FROM if self.coarse else active_set_from
        return train_one_vs_one(gram, self.codes[used], lambdas, 1, active_set_from)

    def limit_parallel(self, jobs: int) -> int:
        """Limit the number of parallel units to the memory, each with a matrix beside the shared one."""
        self.shared.prepare()
        return 1 if self.codes.size < _MIN_ROWS_FOR_THREADS else max(1, min(jobs, self.shared.max_buffers()))

    def between(self, train: Rows, test: Rows) -> FloatArray:
        """Kernel values of training rows (down) with others of them."""
        return self.shared.between(self.kernel, train, test)

    def release(self) -> None:
        """Free the memory of matrices."""
        self.shared.release()


@dataclass(frozen=True, eq=False)
class LandmarkFolds:
    """SVMs on landmarks.  Scaling, width and landmarks are those of all training rows; none depends on labels."""

    kernel: Kernel
    rows: FloatArray
    codes: Rows
    map: NystroemMap

    @property
    def checkpoint_key(self) -> list[Any]:
        """Values that identify the width in a checkpoint, beside the classes."""
        return [self.kernel.gamma, self.rows, self.map.landmarks]

    def train(self, lambdas: FloatArray, train: Rows | None, jobs: int = 1) -> OneVsOnePaths:
        """Train SVMs on some of the training rows; None for all of them."""
        if train is None:
            return train_on_features(self.map, self._features, self.codes, lambdas)
        return train_on_features(self.map, self._features[train], self.codes[train], lambdas)

    def limit_parallel(self, jobs: int) -> int:
        """Allow one unit per job."""
        return jobs

    def between(self, train: Rows, test: Rows) -> FloatArray:
        """Kernel values of the landmarks (down) with training rows."""
        return self.kernel.between(self.map.landmarks, self.rows[test])

    def release(self) -> None:
        """Free the memory of the features."""
        self.__dict__.pop("_features", None)

    @cached_property
    def _features(self) -> FloatArray:
        return self.map.features(self.rows)
