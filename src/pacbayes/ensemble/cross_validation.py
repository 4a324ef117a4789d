"""Cross-validation within the training rows, whose out-of-fold predictions serve all choices made before validation."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.checks import make_read_only
from pacbayes.ensemble.members import Predictions

# Maximum number of classifiers to cross-validate if each of them is refitted for every fold.
MAX_CANDIDATES = 50
#: Default cross-validation, by the number of training rows.
AUTO_CV = "auto"
# Maximum numbers of training rows for five and for three folds; beyond, one part of the rows is held out.
_MAX_ROWS_FIVE_FOLDS, MAX_ROWS_THREE_FOLDS = 3_000, 20_000
# Smallest and largest number of rows held out; between these, a tenth.
_MIN_HELD_OUT, _MAX_HELD_OUT = 4_000, 20_000


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Out-of-fold predictions of one classifier for the training rows in a fold."""

    #: Class codes, shape (n,); the number of classes for labels that are not classes.
    y_pred: Predictions
    #: One of `calibration.KINDS`.
    kind: str
    #: Scores for the classes among the training rows, shape (n, scores); see `calibration.calibrate`.
    scores: FloatArray


class Folds(Protocol):
    """Classifiers with their common training rows, which can be refitted without a fold."""

    @property
    def codes(self) -> Rows:
        """Class codes of the training rows."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def families(self) -> Rows:
        """Family of each classifier, shape (H,); the soft vote gives weight to one classifier of each family."""

    def candidates(self, needs_rules: bool) -> Rows:
        """Select the classifiers to cross-validate, ascending; possibly more if primary rules are needed."""

    def out_of_fold(self, indices: Rows, fold: Rows) -> Iterator[OutOfFold]:
        """Yield the out-of-fold predictions of some classifiers for the training rows in a fold."""


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Error counts of a cross-validation.

    Examples
    --------
    >>> errors = np.array([[2, 3], [2, 1], [1, 2], [0, 3], [4, 4]])
    >>> counts = CrossValidation(np.arange(5), errors, np.array([9, 9]))
    >>> counts.totals, counts.first_best, counts.middle_best
    (array([5, 3, 3, 3, 8]), 1, 2)
    """

    #: Indices of the classifiers, shape (c,).
    candidates: Rows
    #: Errors of each classifier in each fold, shape (c, folds).
    errors: Rows
    #: Number of rows of each fold; 0 for folds without which no classifier can be trained.
    sizes: Rows
    #: Total errors of candidate votes on the same predictions; None without them.
    errors_of_votes: tuple[int, ...] | None = None
    #: Total log-loss of the calibrated probabilities on the training rows, and family of each classifier, shape (c,);
    #: None without calibration.
    log_losses: FloatArray | None = None
    families: Rows | None = None

    def __post_init__(self) -> None:
        make_read_only(self.candidates, self.errors, self.sizes, self.log_losses, self.families)

    def count_scored(self, n: int) -> int:
        """Count the rows with out-of-fold predictions among `n` training rows: those of a single fold, or all."""
        return int(self.sizes[0]) or n if self.sizes.size == 1 else n

    @property
    def totals(self) -> Rows:
        """Total errors of each classifier, shape (c,)."""
        totals: Rows = self.errors.sum(axis=1)
        return totals

    @property
    def first_best(self) -> int:
        """Index of the first classifier with the fewest errors."""
        return int(self.candidates[np.argmin(self.totals)])

    @property
    def middle_best(self) -> int:
        """Index of the middle classifier of the longest run with the fewest errors."""
        return int(self.candidates[find_middle_of_minimum(self.totals)])


def find_middle_of_minimum(errors: NDArray[Any]) -> int:
    """Find the position of the minimum; for ties, the middle of the longest run.

    Neighbours in a grid have similar errors, so that the middle of a run is less likely to be there by chance than its
    ends.

    Examples
    --------
    >>> find_middle_of_minimum(np.array([2, 5, 2, 2, 2])), find_middle_of_minimum(np.array([7, 3, 3]))
    (3, 1)
    """
    minimal = np.concatenate([[False], errors == errors.min(), [False]])
    starts, ends = np.flatnonzero(np.diff(minimal.astype(np.int8))).reshape(-1, 2).T
    longest = int(np.argmax(ends - starts))
    return int(starts[longest] + ends[longest] - 1) // 2


def select_evenly_spaced(n_classifiers: int) -> Rows:
    """Select at most `MAX_CANDIDATES` classifiers to cross-validate.

    Examples
    --------
    >>> select_evenly_spaced(3), select_evenly_spaced(1990)[[0, 1, -1]]
    (array([0, 1, 2]), array([   0,   41, 1989]))
    """
    number = min(n_classifiers, MAX_CANDIDATES)
    return np.unique(np.linspace(0, n_classifiers - 1, number).round().astype(np.int64))


def assign_folds(codes: Rows, n_folds: int, rng: np.random.Generator, units: Rows | None = None) -> Rows:
    """Assign training rows to folds, stratified by class.

    Rows of a unit (a group, or duplicates) share a fold; units are assigned at random, without stratification.  There
    are no more folds than rows or units.

    Examples
    --------
    >>> folds = assign_folds(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0))
    >>> [sorted(folds[:3].tolist()), sorted(folds[3:].tolist())]
    [[0, 1, 2], [0, 1, 2]]
    """
    if units is not None:
        distinct, inverse = np.unique(units, return_inverse=True)
        return (rng.permutation(distinct.size) % min(n_folds, distinct.size))[inverse]
    order = np.lexsort((rng.random(codes.size), codes))
    folds = np.empty(codes.size, dtype=np.int64)
    folds[order] = np.arange(codes.size) % min(n_folds, codes.size)
    return folds


def assign_cv(cv: int | str, codes: Rows, rng: np.random.Generator, units: Rows | None = None) -> Rows:
    """Assign training rows to `cv` folds; "auto": five up to 3000 rows, three up to 20 000, beyond one part of them.

    The other rows, in no fold (-1), are used for training only: a part of thousands of rows determines calibrations and
    weights well enough.  If they are of a single class, there are three folds instead.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [np.unique(assign_cv("auto", np.arange(n) % 2, rng)).tolist() for n in (100, 4000, 30_000)]
    [[0, 1, 2, 3, 4], [0, 1, 2], [-1, 0]]
    >>> int(np.count_nonzero(assign_cv("auto", np.arange(30_000) % 2, rng) == 0))
    4286
    """
    n = codes.size
    if cv != AUTO_CV:
        return assign_folds(codes, int(cv), rng, units)
    if n <= MAX_ROWS_THREE_FOLDS:
        return assign_folds(codes, 5 if n <= _MAX_ROWS_FIVE_FOLDS else 3, rng, units)
    parts = assign_folds(codes, n // _held_out_size(n), rng, units)
    fold = np.where(parts == 0, 0, -1)
    # If a large group holds all rows of a class, the other rows may be of a single class.
    return fold if trainable_fold_mask(codes, fold).all() else assign_folds(codes, 3, rng, units)


def relative_training_cost(cv: int | str | None, n: int) -> float:
    """Compute the number of rows on which a cross-validated classifier is trained, in all folds, divided by `n`.

    Examples
    --------
    >>> [relative_training_cost("auto", n) for n in (1000, 10_000, 100_000)], relative_training_cost(None, 1000)
    ([4.0, 2.0, 0.9], 0.0)
    """
    if cv is None:
        return 0.0
    if cv == AUTO_CV and n > MAX_ROWS_THREE_FOLDS:
        return 1.0 - 1.0 / (n // _held_out_size(n))
    return (float(cv) if cv != AUTO_CV else 5.0 if n <= _MAX_ROWS_FIVE_FOLDS else 3.0) - 1.0


def _held_out_size(n: int) -> int:
    return min(max(_MIN_HELD_OUT, n // 10), _MAX_HELD_OUT)


def trainable_fold_mask(codes: Rows, fold: Rows) -> NDArray[np.bool_]:
    """Compute for each fold whether the other rows have at least two classes, so that classifiers can be trained."""
    return np.array([np.unique(codes[fold != k]).size > 1 for k in range(int(fold.max()) + 1)])


def count_fold_errors(y_pred: Predictions, codes: Rows, fold: Rows) -> tuple[Rows, Rows]:
    """Count the errors of each classifier in each fold, and the rows of each fold.

    `y_pred` holds predictions for the rows that are in a fold.  Both counts are 0 for folds without which no classifier
    can be trained, because these do not distinguish the classifiers.

    Examples
    --------
    >>> count_fold_errors(np.array([[0, 1, 1, 1]]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    (array([[0, 1]]), array([2, 2]))
    """
    used, scored = trainable_fold_mask(codes, fold), fold >= 0
    errors, fold = y_pred != codes[scored], fold[scored]
    counts = [
        np.count_nonzero(errors[:, fold == k], axis=1) if ok else np.zeros(len(errors)) for k, ok in enumerate(used)
    ]
    sizes = np.where(used, np.bincount(fold, minlength=used.size), 0)
    return np.stack(counts, axis=1).astype(np.int64), sizes.astype(np.int64)


@dataclass(frozen=True, eq=False)
class CompositeFolds:
    """Concatenation of the folds of several members with common training rows."""

    parts: tuple[Folds, ...]
    #: Number of classifiers of each part.
    sizes: tuple[int, ...]
    families: Rows

    @property
    def codes(self) -> Rows:
        """Class codes of the training rows."""
        return self.parts[0].codes

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.parts[0].n_classes

    def candidates(self, needs_rules: bool) -> Rows:
        """Select the classifiers to cross-validate."""
        return np.concatenate([part.candidates(needs_rules) + start for part, start, _ in self._iter_parts()])

    def out_of_fold(self, indices: Rows, fold: Rows) -> Iterator[OutOfFold]:
        """Yield the out-of-fold predictions of some classifiers for the training rows in a fold."""
        for part, start, end in self._iter_parts():
            yield from part.out_of_fold(indices[(indices >= start) & (indices < end)] - start, fold)

    def _iter_parts(self) -> Iterator[tuple[Folds, int, int]]:
        ends = np.cumsum(self.sizes).tolist()
        return zip(self.parts, [0, *ends], ends, strict=False)
