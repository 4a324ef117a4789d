"""What was observed: the answers of all classifiers to the validation rows, and what was true.

Every number behind a certificate is counted from these; nothing that is counted is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import BoolArray, FloatArray, Labels, Rows, cached_property
from pacbayes._utils.checks import need, read_only
from pacbayes._utils.memory import check_fits
from pacbayes.bounds.binomial import binomial_upper, chernoff_upper
from pacbayes.data.dataset import Dataset
from pacbayes.data.rows import pick_rows
from pacbayes.data.split import GROUP, Split
from pacbayes.ensemble.members import Coding, CompositeMembers, Estimators, Members, Predictions, smallest_code_dtype


@dataclass(frozen=True, eq=False)
class Counted:
    r"""Errors of some classifiers on their validation rows, each row or each group of rows for itself.

    The loss of a group is the share of its rows that are predicted wrong, the risk of a classifier the mean over its
    `m` groups: with :math:`k_g` errors among the :math:`s_g` rows of group g,

    .. math:: \hat l = \frac1m \sum_g \frac{k_g}{s_g}.

    Attributes
    ----------
    errors : ndarray of int, shape (R, G)
        Errors of every classifier in every group; a single column where every row is a draw of its own.
    sizes : ndarray of int, shape (G,), or None
        The rows of each group; None where every row is a draw of its own: then errors are binomial.
    m : int
        The rows, or groups, that validate each classifier.

    Examples
    --------
    >>> rows = Counted(np.array([[1], [5]]), None, 20)
    >>> rows.risks, rows.upper(0.05).round(4)
    (array([0.05, 0.25]), array([0.2161, 0.4556]))
    >>> groups = Counted(np.array([[1, 2, 0], [0, 0, 0]]), np.array([1, 3, 2]), 4)
    >>> groups.risks.round(4), groups.upper(0.05).round(4)
    (array([0.4167, 0.    ]), array([0.9073, 0.5271]))
    """

    errors: Rows
    sizes: Rows | None
    m: int

    def __post_init__(self) -> None:
        read_only(self.errors, self.sizes)

    @property
    def exact(self) -> bool:
        """Whether errors are those of independent rows, so that their exact limits hold."""
        return self.sizes is None

    @cached_property
    def risks(self) -> FloatArray:
        """The share of errors of each classifier, or its mean over groups, the least double not below it; (R,)."""
        if self.sizes is None:
            return risks_of_errors(self.errors[:, 0], self.m)
        # Groups of one size have one denominator: their errors are added as whole numbers.
        sizes, places = np.unique(self.sizes, return_inverse=True)
        order = np.argsort(places, kind="stable")
        starts = np.searchsorted(places[order], np.arange(sizes.size))
        by_size = np.add.reduceat(self.errors[:, order], starts, axis=1, dtype=np.int64)
        # Whole numbers over one denominator: Python divides them to the nearest double, whatever their length.
        whole = math.lcm(*sizes.tolist())
        parts = [whole // size for size in sizes.tolist()]
        sums = [sum(count * part for count, part in zip(row, parts, strict=True)) for row in by_size.tolist()]
        return np.array([quotient_up(total, whole * self.m) for total in sums])

    def upper(self, levels: ArrayLike) -> FloatArray:
        """Return the upper limit of each risk at its level: exact for rows, Chernoff's for groups; shape (R,)."""
        if self.sizes is None:
            return binomial_upper(self.errors[:, 0], self.m, levels)
        return chernoff_upper(self.risks, self.m, levels)

    @property
    def total(self) -> Rows:
        """The errors of each classifier on all of its rows; shape (R,)."""
        return np.asarray(self.errors.sum(axis=1))

    def __len__(self) -> int:
        return len(self.errors)

    def __getitem__(self, i: int) -> Counted:
        """Return those of one classifier."""
        return Counted(self.errors[i : i + 1], self.sizes, self.m)


def risks_of_errors(errors: NDArray[np.int64], m: int) -> FloatArray:
    """Return errors/m, each the smallest double that is at least the exact quotient.

    The nearest double may lie half a unit below k/m, and a certificate from it would be that much too small.

    Examples
    --------
    >>> risks_of_errors(np.array([0, 1, 3]), 3).tolist()
    [0.0, 0.33333333333333337, 1.0]
    """
    return quotients_up(errors, np.broadcast_to(m, errors.shape))


def quotients_up(counts: Rows, sizes: Rows) -> FloatArray:
    """Divide counts by sizes, each quotient rounded up to the smallest double that is at least the exact one.

    Examples
    --------
    >>> quotients_up(np.array([[0, 1], [1, 3]]), np.array([[2, 3], [3, 3]])).tolist()
    [[0.0, 0.33333333333333337], [0.33333333333333337, 1.0]]
    """
    # Each pair is divided exactly once, in Python: there are few different ones.
    known, kinds = np.unique(sizes, return_inverse=True)
    pairs, places = np.unique(counts * known.size + kinds.reshape(counts.shape), return_inverse=True)
    numbers = (divmod(pair, known.size) for pair in pairs.tolist())
    quotients = np.array([quotient_up(count, int(known[kind])) for count, kind in numbers], dtype=np.float64)
    return np.asarray(quotients[places.reshape(counts.shape)])


def quotient_up(count: int, m: int) -> float:
    """Return the smallest double that is at least count/m, for whole numbers of any length.

    Examples
    --------
    >>> quotient_up(1, 3), quotient_up(2, 4)
    (0.33333333333333337, 0.5)
    """
    quotient = count / m
    return math.nextafter(quotient, math.inf) if Fraction(quotient) < Fraction(count, m) else quotient


def risks_of_losses(losses: FloatArray) -> FloatArray:
    """Return the mean of each row of losses in [0, 1], rounded up by at most two units in the last place.

    Zero stays zero and one stays one.

    Examples
    --------
    >>> risks_of_losses(np.array([[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]])).round(6).tolist()
    [0.0, 0.375, 1.0]
    """
    m = losses.shape[1]
    return np.array([_mean_up(row.tolist(), m) for row in losses])


def _mean_up(values: list[float], m: int) -> float:
    total = math.fsum(values)  # correctly rounded: at most half a unit below the exact sum
    if total == 0.0 or all(value in (0.0, 1.0) for value in values):
        return quotient_up(int(total), m)
    return min(math.nextafter(math.nextafter(total, math.inf) / m, math.inf), 1.0)


# Answers that are looked at together.
_BLOCK = 1 << 22
# Pairs are counted in blocks of about this many entries.  Single precision counts exactly up to 2^24.
_PAIRS_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class ValidationPredictions:
    """What classifiers, and rules made of them, said of validation rows, and what was true.

    The columns are the rows that validate any classifier, ascending (`Split.validating`).

    Attributes
    ----------
    labels : ndarray
        What the numbers stand for: the classes, sorted, then answers that are no class.
    n_classes : int
    y_pred : ndarray of unsigned integers, shape (H, n)
        What each classifier said of each row; the largest number that the type holds where the row does not validate
        this classifier.
    y_true : ndarray of unsigned integers, shape (n,)
        The class of each row.
    rule_predictions : ndarray of unsigned integers, shape (R, n), or None
        What each planned rule said of each row; None where none was planned.
    scores : ndarray of shape (R, n), or None
        Where a target was asked for: how sure each planned rule was of what it said; minus infinity: it cannot say.
    slices : ndarray of int, shape (n,), or None
        The slice of each row.

    Examples
    --------
    >>> y_pred, y_true = np.array([[0, 1, 1], [0, 1, 0]], dtype=np.uint8), np.array([0, 1, 0], dtype=np.uint8)
    >>> predictions = ValidationPredictions(np.array(["no", "yes"]), 2, y_pred, y_true)
    >>> predictions.wrong()
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

    def __post_init__(self) -> None:
        read_only(self.labels, self.y_pred, self.y_true, self.rule_predictions, self.scores, self.slices)

    def __len__(self) -> int:
        return len(self.y_pred)

    @property
    def absent(self) -> int:
        """The number that says: this row does not validate this classifier."""
        return int(np.iinfo(self.y_pred.dtype).max)

    @property
    def classes(self) -> Labels:
        """The labels that are classes."""
        return self.labels[: self.n_classes]

    def code_of(self, label: Any) -> int:
        """Return the number of a class."""
        return int(np.flatnonzero(self.classes == label)[0])

    def validates(self) -> BoolArray | None:
        """Return which rows validate which classifier, shape (H, n); None where all validate each."""
        found = self.y_pred != self.absent
        return None if found.all() else found

    def wrong(self) -> BoolArray:
        """Return which of its validation rows each classifier gets wrong, shape (H, n)."""
        return np.asarray((self.y_pred != self.y_true) & (self.y_pred != self.absent))

    def count(self, split: Split) -> Counted:
        """Return the errors of every classifier, counted as the rows were divided."""
        found = [
            _count((self.y_pred[block] != self.y_true) & (self.y_pred[block] != self.absent), split)
            for block in blocks_of(*self.y_pred.shape)
        ]
        return Counted(np.concatenate(found), _sizes(split), split.m)

    def count_errors(self, y_pred: NDArray[Any], split: Split) -> Counted:
        """Return the errors of rules that answered all rows, shape (R, n), as Counted."""
        wrong = y_pred != self.y_true
        return Counted(_count(wrong, split), _sizes(split), split.m)

    def tally(self, codes: NDArray[Any], number: int, where: BoolArray | None = None) -> Rows:
        """Count the validation rows with each of `number` codes, among the rows of a mask."""
        return np.bincount(codes if where is None else codes[where], minlength=number)

    def count_fixed_label(self, code: int, split: Split) -> Counted:
        """Return the errors of always giving the same answer, on the validation rows of the first classifier."""
        wrong = (self.y_true != code) & (self.y_pred[0] != self.absent)
        return Counted(_count(wrong[None], split), _sizes(split), split.m)

    @cached_property
    def tandem_risks(self) -> FloatArray:
        """The share of the rows that validate both on which two classifiers both err, rounded up, for each pair.

        1 for two classifiers that no row validates both.
        """
        n, validates = self.y_pred.shape[1], self.validates()
        counts = _pairs(self.wrong())
        sizes = np.full_like(counts, n) if validates is None else _pairs(validates)
        return quotients_up(np.where(sizes > 0, counts, 1), np.maximum(sizes, 1))


def blocks_of(number: int, n: int) -> Iterator[slice]:
    """Yield slices of so many classifiers whose answers to n rows are looked at together."""
    step = max(1, _BLOCK // n)
    yield from (slice(start, min(start + step, number)) for start in range(0, number, step))


def _count(wrong: BoolArray, split: Split) -> Rows:
    """Return the errors of each classifier, shape (R, 1), or in each group, shape (R, G)."""
    need(wrong.shape[1] == split.n_validating, "ValidationPredictions", "must be about the rows that validate")
    if split.unit != GROUP:
        return np.count_nonzero(wrong, axis=1, keepdims=True).astype(np.int64)
    assert split.units is not None
    groups, number = split.units[split.validating], int(split.units.max()) + 1
    errors = [np.bincount(groups[row], minlength=number) for row in wrong]
    return np.array(errors, dtype=np.int64).reshape(len(wrong), number)


def unit_losses(losses: FloatArray, split: Split) -> FloatArray:
    """Return the losses of the validation rows, or of each validation group the mean of its rows, rounded up.

    Examples
    --------
    >>> from pacbayes.data.split import validation_split
    >>> unit_losses(np.array([1.0, 0.0, 0.5]), validation_split(3, GROUP, np.array([0, 0, 1])))
    array([0.5, 0.5])
    """
    need(losses.shape == (split.n_validating,), "ValidationPredictions", "must be about the rows that validate")
    if split.unit != GROUP:
        return losses
    assert split.units is not None
    groups = split.units[split.validating]
    if bool(((losses == 0.0) | (losses == 1.0)).all()):
        sizes = np.bincount(groups)
        present = sizes > 0
        return quotients_up(np.bincount(groups[losses == 1.0], minlength=sizes.size)[present], sizes[present])
    order = np.argsort(groups, kind="stable")
    starts = np.unique(groups[order], return_index=True)[1]
    return np.concatenate([risks_of_losses(part[None]) for part in np.split(losses[order], starts[1:])])


def _sizes(split: Split) -> Rows | None:
    """Return the rows of every group; None where every row is a draw of its own."""
    return np.bincount(split.units) if split.unit == GROUP and split.units is not None else None


def _pairs(table: BoolArray) -> Rows:
    """Return how many rows are true for both of two classifiers, for each pair."""
    number, n = table.shape
    found = np.zeros((number, number), dtype=np.int64)
    step = max(1, _PAIRS_BLOCK // number)
    for start in range(0, n, step):
        block = table[:, start : start + step].astype(np.float32)
        found += (block @ block.T).astype(np.int64)
    return found


def check_predictions_fit(number: int, n: int, max_bytes: int | None = None) -> None:
    """Raise `MemoryError` if the answers of so many classifiers would not fit, before any is trained.

    Examples
    --------
    >>> check_predictions_fit(10**6, 10**6, max_bytes=10**9)
    Traceback (most recent call last):
    MemoryError: the answers of 1000000 classifiers to 1000000 rows needs 3 TB, more than max_bytes = 1 GB. Give fewer
    classifiers or rows.
    """
    # The answers, and what is counted and voted of them.
    what = f"the answers of {number} classifiers to {n} rows"
    check_fits(3 * number * n, max_bytes, what, "Give fewer classifiers or rows.")


def observe(members: Members, data: Dataset, split: Split, n_jobs: int | None = None) -> ValidationPredictions:
    """Ask every classifier about every row that validates it, once.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from pacbayes.data.split import all_validate
    >>> fitted = DummyClassifier(strategy="constant", constant=0).fit([[0], [0]], [0, 1])
    >>> data = Dataset.checked([[0], [0], [0]], np.array([0, 0, 1]))
    >>> observe(Estimators([fitted], [{}], data.classes), data, all_validate(data, "keep")).y_pred
    array([[0, 0, 0]], dtype=uint8)
    """
    rows, coding = split.validating, Coding(data.classes)
    y_pred = _asked(members, data, split, coding, n_jobs)
    y_true = data.codes[rows].astype(y_pred.dtype)
    slices = None if data.slices is None else data.slices.codes[rows].astype(np.int64)
    return ValidationPredictions(coding.labels, int(data.classes.size), y_pred, y_true, slices=slices)


def _asked(members: Members, data: Dataset, split: Split, coding: Coding, n_jobs: int | None) -> Predictions:
    """Return what every classifier says of the rows that validate it."""
    if isinstance(members, Estimators):
        return _asked_one_by_one(members, data, split, coding, n_jobs)
    if isinstance(members, CompositeMembers):
        # Of joined sets every row validates each classifier.
        parts = [_asked(part, data, split, coding, n_jobs) for part in members.parts]
        return np.concatenate([part.astype(smallest_code_dtype(coding.labels.size), copy=False) for part in parts])
    prepared = members.prepared(pick_rows(data.rows, split.validating))
    return members.predict(prepared, np.arange(len(members)), coding)


def _asked_one_by_one(
    members: Estimators, data: Dataset, split: Split, coding: Coding, n_jobs: int | None
) -> Predictions:
    """Return what each classifier says of its own validation rows, and of others that it is not asked about them."""
    number, n, shared = len(members), split.validating.size, split.shared is not None
    # Of rows that all validate nothing need be picked, which not every kind of rows allows.
    some = data.rows if n == data.number else pick_rows(data.rows, split.validating)
    own = [np.arange(n) if shared else split(i)[1] for i in range(number)]

    def rows(i: int) -> Any:
        return some if shared else pick_rows(data.rows, own[i])

    found = list(members.ask(range(number), rows, coding, n_jobs, validating=True))
    kept = smallest_code_dtype(coding.labels.size)
    y_pred = np.full((number, n), np.iinfo(kept).max, dtype=kept)
    for line, codes, mine in zip(y_pred, found, own, strict=True):
        line[mine] = codes
    return y_pred
