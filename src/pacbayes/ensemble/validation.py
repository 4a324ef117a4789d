"""Validation predictions of all classifiers, and the error counts computed from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import BoolArray, FloatArray, Labels, Rows, cached_property
from pacbayes._utils.checks import make_read_only, require
from pacbayes._utils.memory import check_memory
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper
from pacbayes.data.dataset import Dataset
from pacbayes.data.rows import pick_rows
from pacbayes.data.split import GROUP, Split
from pacbayes.ensemble.members import Coding, CompositeMembers, Estimators, Members, Predictions, smallest_code_dtype


@dataclass(frozen=True, eq=False)
class ErrorCounts:
    r"""Validation errors of some classifiers, by row or by group.

    The loss of a group is the error rate on its rows, and the risk of a classifier is the mean loss of its `m` groups:
    with :math:`k_g` errors on the :math:`s_g` rows of group g,

    .. math:: \hat l = \frac1m \sum_g \frac{k_g}{s_g}.

    Attributes
    ----------
    errors : ndarray of int, shape (R, G)
        Errors of each classifier in each group; a single column without groups.
    sizes : ndarray of int, shape (G,), or None
        Number of rows of each group; None without groups, where the errors are binomial.
    m : int
        Number of validation rows or groups of each classifier.

    Examples
    --------
    >>> rows = ErrorCounts(np.array([[1], [5]]), None, 20)
    >>> rows.risks, rows.upper(0.05).round(4)
    (array([0.05, 0.25]), array([0.2161, 0.4556]))
    >>> groups = ErrorCounts(np.array([[1, 2, 0], [0, 0, 0]]), np.array([1, 3, 2]), 4)
    >>> groups.risks.round(4), groups.upper(0.05).round(4)
    (array([0.4167, 0.    ]), array([0.9073, 0.5271]))
    """

    errors: Rows
    sizes: Rows | None
    m: int

    def __post_init__(self) -> None:
        make_read_only(self.errors, self.sizes)

    @property
    def exact(self) -> bool:
        """Whether rows are independent, so that exact binomial bounds hold."""
        return self.sizes is None

    @cached_property
    def risks(self) -> FloatArray:
        """Error rate of each classifier, or mean error rate over groups, rounded up; shape (R,)."""
        if self.sizes is None:
            return errors_to_risks(self.errors[:, 0], self.m)
        # Groups of equal size have a common denominator, so that their errors are added as integers.
        sizes, inverse = np.unique(self.sizes, return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        starts = np.searchsorted(inverse[order], np.arange(sizes.size))
        by_size = np.add.reduceat(self.errors[:, order], starts, axis=1, dtype=np.int64)
        # Python integers avoid overflow, and their quotient is correctly rounded.
        denominator = math.lcm(*sizes.tolist())
        factors = [denominator // size for size in sizes.tolist()]
        sums = [sum(count * factor for count, factor in zip(row, factors, strict=True)) for row in by_size.tolist()]
        return np.array([divide_up(total, denominator * self.m) for total in sums])

    def upper(self, levels: ArrayLike) -> FloatArray:
        """Upper confidence bound on each risk: Clopper-Pearson for rows, Chernoff for groups; shape (R,)."""
        if self.sizes is None:
            return binomial_upper(self.errors[:, 0], self.m, levels)
        return chernoff_upper(self.risks, self.m, levels)

    @property
    def total(self) -> Rows:
        """Number of errors of each classifier; shape (R,)."""
        return np.asarray(self.errors.sum(axis=1))

    def __len__(self) -> int:
        return len(self.errors)

    def __getitem__(self, i: int) -> ErrorCounts:
        """Select one classifier."""
        return ErrorCounts(self.errors[i : i + 1], self.sizes, self.m)


def errors_to_risks(errors: NDArray[np.int64], m: int) -> FloatArray:
    """Divide errors by m, rounded up to the smallest double that is at least the exact quotient.

    The nearest double may be below the quotient, which would make a certificate too small.

    Examples
    --------
    >>> errors_to_risks(np.array([0, 1, 3]), 3).tolist()
    [0.0, 0.33333333333333337, 1.0]
    """
    return divide_arrays_up(errors, np.broadcast_to(m, errors.shape))


def divide_arrays_up(counts: Rows, sizes: Rows) -> FloatArray:
    """Divide counts by sizes, rounded up to the smallest double that is at least the exact quotient.

    Examples
    --------
    >>> divide_arrays_up(np.array([[0, 1], [1, 3]]), np.array([[2, 3], [3, 3]])).tolist()
    [[0.0, 0.33333333333333337], [0.33333333333333337, 1.0]]
    """
    # Divide each distinct pair once, because exact division takes time and there are few distinct pairs.
    distinct, index = np.unique(sizes, return_inverse=True)
    pairs, inverse = np.unique(counts * distinct.size + index.reshape(counts.shape), return_inverse=True)
    decoded = (divmod(pair, distinct.size) for pair in pairs.tolist())
    quotients = np.array([divide_up(count, int(distinct[i])) for count, i in decoded], dtype=np.float64)
    return np.asarray(quotients[inverse.reshape(counts.shape)])


def divide_up(count: int, m: int) -> float:
    """Divide integers of any size, rounded up to the smallest double that is at least the exact quotient.

    Examples
    --------
    >>> divide_up(1, 3), divide_up(2, 4)
    (0.33333333333333337, 0.5)
    """
    quotient = count / m
    return math.nextafter(quotient, math.inf) if Fraction(quotient) < Fraction(count, m) else quotient


def losses_to_risks(losses: FloatArray) -> FloatArray:
    """Compute the mean of each row of losses in [0, 1], rounded up by at most two units in the last place.

    Means of 0 and 1 are exact.

    Examples
    --------
    >>> losses_to_risks(np.array([[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]])).round(6).tolist()
    [0.0, 0.375, 1.0]
    """
    m = losses.shape[1]
    return np.array([_compute_mean_up(row.tolist(), m) for row in losses])


def _compute_mean_up(values: list[float], m: int) -> float:
    total = math.fsum(values)  # correctly rounded: at most half a unit below the exact sum
    if total == 0.0 or all(value in (0.0, 1.0) for value in values):
        return divide_up(int(total), m)
    return min(math.nextafter(math.nextafter(total, math.inf) / m, math.inf), 1.0)


# Approximate number of predictions per block.
_BLOCK_SIZE = 1 << 22


@dataclass(frozen=True, eq=False)
class ValidationPredictions:
    """Predictions of classifiers and fixed rules for the validation set, with the true classes.

    Columns are the rows that validate at least one classifier, in ascending order (`Split.validation_rows`).

    Attributes
    ----------
    labels : ndarray
        Labels by code: the classes, sorted, then predicted labels that are not classes.
    n_classes : int
    y_pred : ndarray of unsigned integers, shape (H, n)
        Prediction of each classifier for each row; `not_evaluated` where the row does not validate the classifier.
    y_true : ndarray of unsigned integers, shape (n,)
        Class of each row.
    rule_predictions : ndarray of unsigned integers, shape (R, n), or None
        Prediction of each fixed rule for each row; None if there are no fixed rules.
    scores : ndarray of shape (R, n), or None
        With a decision, the confidence of each fixed rule in its prediction; minus infinity if it is unknown.
    slices : ndarray of int, shape (n,), or None
        Slice of each row.
    probabilities : ndarray of shape (n, n_classes), or None
        For prediction sets and the AUC, the probabilities of the soft vote; -1 for classes without training rows.

    Examples
    --------
    >>> y_pred, y_true = np.array([[0, 1, 1], [0, 1, 0]], dtype=np.uint8), np.array([0, 1, 0], dtype=np.uint8)
    >>> predictions = ValidationPredictions(np.array(["no", "yes"]), 2, y_pred, y_true)
    >>> predictions.error_mask()
    array([[False, False,  True],
           [False, False, False]])
    """

    labels: Labels
    n_classes: int
    y_pred: Predictions
    y_true: Predictions
    rule_predictions: Predictions | None = None
    scores: FloatArray | None = None
    slices: Rows | None = None
    probabilities: FloatArray | None = None

    def __post_init__(self) -> None:
        make_read_only(self.labels, self.y_pred, self.y_true, self.rule_predictions, self.scores, self.slices)
        make_read_only(self.probabilities)

    def __len__(self) -> int:
        return len(self.y_pred)

    @property
    def not_evaluated(self) -> int:
        """Code in `y_pred` of rows that do not validate the classifier: the largest value of the type."""
        return int(np.iinfo(self.y_pred.dtype).max)

    @property
    def classes(self) -> Labels:
        """The classes, sorted."""
        return self.labels[: self.n_classes]

    def encode_class(self, label: Any) -> int:
        """Return the code of a class."""
        return int(np.flatnonzero(self.classes == label)[0])

    def evaluated_mask(self) -> BoolArray | None:
        """Compute the mask of rows that validate each classifier, shape (H, n); None if all rows do."""
        evaluated = self.y_pred != self.not_evaluated
        return None if evaluated.all() else evaluated

    def error_mask(self) -> BoolArray:
        """Compute the mask of validation errors of each classifier, shape (H, n)."""
        return np.asarray((self.y_pred != self.y_true) & (self.y_pred != self.not_evaluated))

    def count_errors(self, split: Split) -> ErrorCounts:
        """Count the validation errors of each classifier."""
        errors = [
            _count_errors((self.y_pred[block] != self.y_true) & (self.y_pred[block] != self.not_evaluated), split)
            for block in iter_member_blocks(*self.y_pred.shape)
        ]
        return ErrorCounts(np.concatenate(errors), _group_sizes(split), split.m)

    def count_rule_errors(self, y_pred: NDArray[Any], split: Split) -> ErrorCounts:
        """Count the errors of rules that predict all rows, shape (R, n)."""
        return ErrorCounts(_count_errors(y_pred != self.y_true, split), _group_sizes(split), split.m)

    def count_codes(self, codes: NDArray[Any], number: int, where: BoolArray | None = None) -> Rows:
        """Count the validation rows with each code below `number`, optionally among the rows of a mask."""
        return np.bincount(codes if where is None else codes[where], minlength=number)

    def count_constant_errors(self, code: int, split: Split) -> ErrorCounts:
        """Count the errors of a constant prediction on the validation rows of the first classifier."""
        errors = (self.y_true != code) & (self.y_pred[0] != self.not_evaluated)
        return ErrorCounts(_count_errors(errors[None], split), _group_sizes(split), split.m)


def iter_member_blocks(n_members: int, n: int) -> Iterator[slice]:
    """Yield slices of classifiers whose predictions for n rows fit into a block."""
    step = max(1, _BLOCK_SIZE // n)
    yield from (slice(start, min(start + step, n_members)) for start in range(0, n_members, step))


def _count_errors(errors: BoolArray, split: Split) -> Rows:
    """Count the errors of each classifier, shape (R, 1), or by group, shape (R, G)."""
    require(
        errors.shape[1] == split.n_validation, "ValidationPredictions", "must have a column for each validation row"
    )
    if split.unit != GROUP:
        return np.count_nonzero(errors, axis=1, keepdims=True).astype(np.int64)
    assert split.units is not None
    groups, n_groups = split.units[split.validation_rows], int(split.units.max()) + 1
    counts = [np.bincount(groups[row], minlength=n_groups) for row in errors]
    return np.array(counts, dtype=np.int64).reshape(len(errors), n_groups)


def average_by_unit(losses: FloatArray, split: Split) -> FloatArray:
    """Average the losses of the validation rows over groups, if any, rounded up.

    Examples
    --------
    >>> from pacbayes.data.split import make_validation_split
    >>> average_by_unit(np.array([1.0, 0.0, 0.5]), make_validation_split(3, GROUP, np.array([0, 0, 1])))
    array([0.5, 0.5])
    """
    require(
        losses.shape == (split.n_validation,), "ValidationPredictions", "must have a column for each validation row"
    )
    if split.unit != GROUP:
        return losses
    assert split.units is not None
    groups = split.units[split.validation_rows]
    if bool(((losses == 0.0) | (losses == 1.0)).all()):
        sizes = np.bincount(groups)
        present = sizes > 0
        return divide_arrays_up(np.bincount(groups[losses == 1.0], minlength=sizes.size)[present], sizes[present])
    order = np.argsort(groups, kind="stable")
    starts = np.unique(groups[order], return_index=True)[1]
    return np.concatenate([losses_to_risks(part[None]) for part in np.split(losses[order], starts[1:])])


def _group_sizes(split: Split) -> Rows | None:
    """Count the rows of each group; None if there are no groups."""
    return np.bincount(split.units) if split.unit == GROUP and split.units is not None else None


def check_predictions_fit(n_members: int, n: int, max_bytes: int | None = None) -> None:
    """Raise `MemoryError` before training if the predictions would not fit into memory.

    Examples
    --------
    >>> check_predictions_fit(10**6, 10**6, max_bytes=10**9)
    Traceback (most recent call last):
    MemoryError: storing the predictions of 1000000 classifiers for 1000000 rows needs 3 TB, more than max_bytes = 1 GB.
    Give fewer classifiers or rows.
    """
    # Predictions, and temporary arrays of counts and votes.
    description = f"storing the predictions of {n_members} classifiers for {n} rows"
    check_memory(3 * n_members * n, max_bytes, description, "Give fewer classifiers or rows.")


def collect_predictions(
    members: Members, data: Dataset, split: Split, n_jobs: int | None = None
) -> ValidationPredictions:
    """Predict the validation rows of every classifier, once.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from pacbayes.data.split import make_prefit_split
    >>> fitted = DummyClassifier(strategy="constant", constant=0).fit([[0], [0]], [0, 1])
    >>> data = Dataset.from_arrays([[0], [0], [0]], np.array([0, 0, 1]))
    >>> collect_predictions(Estimators([fitted], [{}], data.classes), data, make_prefit_split(data, "keep")).y_pred
    array([[0, 0, 0]], dtype=uint8)
    """
    rows, coding = split.validation_rows, Coding(data.classes)
    y_pred = _predict_members(members, data, split, coding, n_jobs)
    y_true = data.codes[rows].astype(y_pred.dtype)
    slices = None if data.slices is None else data.slices.codes[rows].astype(np.int64)
    return ValidationPredictions(coding.labels, int(data.classes.size), y_pred, y_true, slices=slices)


def _predict_members(members: Members, data: Dataset, split: Split, coding: Coding, n_jobs: int | None) -> Predictions:
    """Predict the validation rows of each member, shape (H, n)."""
    if isinstance(members, Estimators):
        return _predict_estimators(members, data, split, coding, n_jobs)
    if isinstance(members, CompositeMembers):
        # Composite members have a shared split.
        parts = [_predict_members(part, data, split, coding, n_jobs) for part in members.parts]
        return np.concatenate([part.astype(smallest_code_dtype(coding.labels.size), copy=False) for part in parts])
    X_val = members.preprocess(pick_rows(data.rows, split.validation_rows))
    return members.predict(X_val, np.arange(len(members)), coding)


def _predict_estimators(
    members: Estimators, data: Dataset, split: Split, coding: Coding, n_jobs: int | None
) -> Predictions:
    """Predict the validation rows of each classifier; other rows are marked as not evaluated."""
    n_members, n, shared = len(members), split.validation_rows.size, split.shared is not None
    # Not every container of rows supports picking, which is not needed if all rows are validation rows.
    X_val = data.rows if n == data.n_rows else pick_rows(data.rows, split.validation_rows)
    columns = [np.arange(n) if shared else split(i)[1] for i in range(n_members)]

    def rows(i: int) -> Any:
        return X_val if shared else pick_rows(data.rows, columns[i])

    predictions = list(members.predict_each(range(n_members), rows, coding, n_jobs, name_errors=True))
    dtype = smallest_code_dtype(coding.labels.size)
    y_pred = np.full((n_members, n), np.iinfo(dtype).max, dtype=dtype)
    for member_pred, codes, evaluated in zip(y_pred, predictions, columns, strict=True):
        member_pred[evaluated] = codes
    return y_pred
