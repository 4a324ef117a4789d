"""Selection of kernel width and cost of SVMs on a subsample of the training rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.progress import progress
from pacbayes._utils.seeds import Purpose, make_rng
from pacbayes._utils.threads import limit_to_one_thread
from pacbayes._utils.units import resolve_n_jobs
from pacbayes.ensemble.calibration import PROBABILITIES, calibrate
from pacbayes.ensemble.classifier_set import TrainingJob
from pacbayes.ensemble.cross_validation import assign_folds
from pacbayes.ensemble.grid import fit_out_of_bag
from pacbayes.ensemble.portfolio import FOREST, MANY_CLASSES, Size, make_named_family
from pacbayes.ensemble.svm_folds import choose_scale, prepare_folds
from pacbayes.ensemble.svm_set import SvmFamily
from pacbayes.svm.kernel import NYSTROEM, THREE_WIDTHS
from pacbayes.svm.svm_classifier import SVMSettings

# Number of rows of the subsample, values of C, and folds.
_SUBSAMPLE_SIZE, _C_VALUES, _N_FOLDS = 2_000, np.logspace(-1, 2, 7), 3
# Factors of the selected cost and width for all rows: a larger cost and a narrower kernel are added, because more rows
# resolve finer structure.
_C_FACTORS, _GAMMA_FACTORS = np.array([1.0, 4.0]), (1.0, 2.0)
# Maximum number of training rows for exact kernels; of many classes, where two of mean size have few rows, there may be
# more.  Number of landmarks beyond.
_MAX_EXACT_ROWS, LANDMARKS = 10_000, 300
_MAX_EXACT_ROWS_BY_PAIRS, _MAX_EXACT_PAIR_ROWS = 16_000, 5_000
# Maximum number of rows in all pairs of classes for optional SVMs on landmarks, which take longest.
_MAX_PAIR_ROWS = 100_000
# Excess of the log-loss per row over that of a forest on the subsample, above which SVMs get no weight on all rows.
_MAX_EXCESS_LOSS = 0.05


def has_exact_kernels(n: int, n_classes: int) -> bool:
    """Whether SVMs of `n` training rows have exact kernels.

    Examples
    --------
    >>> has_exact_kernels(10_000, 2), has_exact_kernels(10_001, 2), has_exact_kernels(15_000, 10)
    (True, False, True)
    """
    small_pairs = n <= _MAX_EXACT_ROWS_BY_PAIRS and 2 * n <= _MAX_EXACT_PAIR_ROWS * n_classes
    return n <= _MAX_EXACT_ROWS or small_pairs


def exceeds_row_limit(n: int, n_classes: int) -> bool:
    """Whether SVMs of `n` training rows would take too long to be optional.

    Examples
    --------
    >>> exceeds_row_limit(100_000, 2), exceeds_row_limit(20_000, 7), exceeds_row_limit(16_000, 26)
    (False, True, False)
    """
    return not has_exact_kernels(n, n_classes) and n * (n_classes - 1) > _MAX_PAIR_ROWS


def choose_svms(family: SvmFamily, job: TrainingJob) -> SvmFamily | None:
    """Select the SVMs with the smallest log-loss on a subsample of the training rows.

    None if `family` is optional and its log-loss is much larger than that of a forest on the same rows.
    """
    assert job.split.shared is not None
    train, seed = job.split.shared[0], job.split.seed
    n_classes = np.unique(job.data.codes[train]).size
    exact = has_exact_kernels(train.size, n_classes)
    if family.optional and exceeds_row_limit(train.size, n_classes):
        return None
    kernel = "rbf" if exact else NYSTROEM
    if train.size > _SUBSAMPLE_SIZE:
        train = np.sort(make_rng(seed, Purpose.SUBSAMPLE).choice(train, _SUBSAMPLE_SIZE, replace=False))
    with limit_to_one_thread(), progress("support vector machines on a subsample", None):
        rows, _ = family.preprocess(job.data, train)
        classes, codes = np.unique(job.data.codes[train], return_inverse=True)
        if classes.size < 2:
            return None if family.optional else replace(family, kernel=kernel, gamma="sigest")
        units = job.split.select_units(train)
        loss, settings = _select_best_setting(rows, codes.astype(np.int64), units, seed, resolve_n_jobs(job.n_jobs))
        if family.optional and units is None and loss > _compute_forest_loss(rows, codes, seed) + _MAX_EXCESS_LOSS:
            return None
    assert isinstance(settings.gamma, float)
    two_widths = exact and n_classes <= MANY_CLASSES
    gamma = tuple(settings.gamma * factor for factor in (_GAMMA_FACTORS if two_widths else (1.0,)))
    lambdas = settings.lambdas / _C_FACTORS
    return replace(family, kernel=kernel, gamma=gamma, lambdas=lambdas, scale=settings.scale, n_components=LANDMARKS)


def _select_best_setting(
    rows: FloatArray, codes: Rows, units: Rows | None, seed: int, jobs: int
) -> tuple[float, SVMSettings]:
    """Select the setting with the smallest cross-validated log-loss; return the log-loss per row and the setting."""
    scale, n_classes = choose_scale(rows, codes, units, seed, jobs, None), int(codes.max()) + 1
    costs = _C_VALUES if n_classes <= MANY_CLASSES else _C_VALUES[2::2]
    settings = SVMSettings(1.0 / costs, "rbf", THREE_WIDTHS, scale, 1, seed)
    folds = prepare_folds(settings, scale, rows, codes, n_classes, jobs, None)[2]
    fold = assign_folds(codes, _N_FOLDS, make_rng(seed, Purpose.FOLDS), units)
    results = folds.out_of_fold(folds.families, fold)
    losses = np.array([calibrate(svm.kind, svm.scores, codes, n_classes)[1] for svm in results])
    width, cost = divmod(int(losses.argmin()), costs.size)
    gamma = folds.widths[width].kernel.gamma
    assert gamma is not None
    best = replace(settings, gamma=gamma, lambdas=settings.lambdas[cost : cost + 1])
    return float(losses.min()) / codes.size, best


def _compute_forest_loss(rows: FloatArray, codes: Rows, seed: int) -> float:
    """Compute the smallest log-loss per row of the out-of-bag probabilities of the forests."""
    losses = []
    for forest in make_named_family(FOREST, None, Size(len(rows))):
        probabilities = fit_out_of_bag(forest.set_params(random_state=seed % 2**32), rows, codes)
        losses.append(calibrate(PROBABILITIES, probabilities, codes.astype(np.int64), probabilities.shape[1])[1])
    return min(losses) / codes.size
