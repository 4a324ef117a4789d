"""What was observed: the answers of all classifiers to the validation rows, and what was true.

Every number behind a certificate is counted from these; nothing that is counted is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import BoolArray, FloatArray, Labels, Rows, cached_property
from pacbayes._utils.checks import need, need_array, need_whole, read_only
from pacbayes._utils.memory import check_fits
from pacbayes.data.division import GROUP, Division
from pacbayes.data.labelled import Labelled
from pacbayes.data.rows import pick_rows
from pacbayes.ensemble.counted import Counted, quotients_up, risks_of_losses
from pacbayes.ensemble.joined import Joined
from pacbayes.ensemble.members import Answers, Coding, Estimators, Members, kept_as

# Answers that are looked at together.
_BLOCK = 1 << 22
# Pairs are counted in blocks of about this many entries.  Single precision counts exactly up to 2^24.
_PAIRS_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Evidence:
    """What classifiers, and rules made of them, said of validation rows, and what was true.

    The columns are the rows that validate any classifier, ascending (`Division.validating`).

    Attributes
    ----------
    labels : ndarray
        What the numbers stand for: the classes, sorted, then answers that are no class.
    n_classes : int
    answers : ndarray of unsigned integers, shape (H, n)
        What each classifier said of each row; the largest number that the type holds where the row does not validate
        this classifier.
    truth : ndarray of unsigned integers, shape (n,)
        The class of each row.
    said : ndarray of unsigned integers, shape (R, n), or None
        What each planned rule said of each row; None where none was planned.
    scores : ndarray of shape (R, n), or None
        Where a target was asked for: how sure each planned rule was of what it said; minus infinity: it cannot say.
    slices : ndarray of int, shape (n,), or None
        The slice of each row.

    Examples
    --------
    >>> answers, truth = np.array([[0, 1, 1], [0, 1, 0]], dtype=np.uint8), np.array([0, 1, 0], dtype=np.uint8)
    >>> evidence = Evidence(np.array(["no", "yes"]), 2, answers, truth)
    >>> evidence.wrong()
    array([[False, False,  True],
           [False, False, False]])
    """

    labels: Labels
    n_classes: int
    answers: Answers
    truth: Answers
    said: Answers | None = None
    scores: FloatArray | None = None
    slices: Rows | None = None

    def __post_init__(self) -> None:
        """Raise unless all numbers stand for labels, and all parts are about the same rows."""
        _check_labels(self.labels, self.n_classes)
        number = self.labels.size
        for name, values in (("answers", self.answers), ("truth", self.truth), ("said", self.said)):
            if values is None:
                continue
            need(type(values) is np.ndarray and values.dtype == kept_as(number), f"Evidence.{name}", "must be numbers")
        need(self.answers.ndim == 2 and self.answers.size > 0, "Evidence.answers", "must be a table")
        n = self.answers.shape[1]
        need(self.truth.shape == (n,) and int(self.truth.max()) < self.n_classes, "Evidence.truth", "must be classes")
        for block in _blocks(len(self.answers), n):
            known = (self.answers[block] < number) | (self.answers[block] == self.absent)
            need(bool(known.all()), "Evidence.answers", "must be numbers of labels")
        if self.said is not None:
            need(self.said.ndim == 2 and self.said.shape[1] == n, "Evidence.said", "must be about the same rows")
            need(self.said.size > 0 and int(self.said.max()) < number, "Evidence.said", "must be numbers of labels")
        if self.scores is not None:
            assert self.said is not None
            need_array(self.scores, "Evidence.scores", "f", self.said.shape, finite=False)
            need(not np.isnan(self.scores).any(), "Evidence.scores", "must be numbers")
        if self.slices is not None:
            need_array(self.slices, "Evidence.slices", "i", (n,))
            need(int(self.slices.min()) >= 0, "Evidence.slices", "must be numbers of slices")
        read_only(self.labels, self.answers, self.truth, self.said, self.scores, self.slices)

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def absent(self) -> int:
        """The number that says: this row does not validate this classifier."""
        return int(np.iinfo(self.answers.dtype).max)

    @property
    def classes(self) -> Labels:
        """The labels that are classes."""
        return self.labels[: self.n_classes]

    def code_of(self, label: Any) -> int:
        """Return the number of a class."""
        return int(np.flatnonzero(self.classes == label)[0])

    def validates(self) -> BoolArray | None:
        """Return which rows validate which classifier, shape (H, n); None where all validate each."""
        found = self.answers != self.absent
        return None if found.all() else found

    def wrong(self) -> BoolArray:
        """Return which of its validation rows each classifier gets wrong, shape (H, n)."""
        return np.asarray((self.answers != self.truth) & (self.answers != self.absent))

    def count(self, division: Division) -> Counted:
        """Return the errors of every classifier, counted as the rows were divided."""
        found = [
            _count((self.answers[block] != self.truth) & (self.answers[block] != self.absent), division)
            for block in _blocks(*self.answers.shape)
        ]
        return Counted(np.concatenate(found), _sizes(division), division.m)

    def count_answers(self, answers: NDArray[Any], division: Division) -> Counted:
        """Return the errors of rules that answered all rows, shape (R, n), as Counted."""
        wrong = answers != self.truth
        return Counted(_count(wrong, division), _sizes(division), division.m)

    def count_constant(self, code: int, division: Division) -> Counted:
        """Return the errors of always giving the same answer, on the validation rows of the first classifier."""
        wrong = (self.truth != code) & (self.answers[0] != self.absent)
        return Counted(_count(wrong[None], division), _sizes(division), division.m)

    @cached_property
    def tandem_risks(self) -> FloatArray:
        """The share of the rows that validate both on which two classifiers both err, rounded up, for each pair.

        1 for two classifiers that no row validates both.
        """
        n, validates = self.answers.shape[1], self.validates()
        counts = _pairs(self.wrong())
        sizes = np.full_like(counts, n) if validates is None else _pairs(validates)
        return quotients_up(np.where(sizes > 0, counts, 1), np.maximum(sizes, 1))


def _check_labels(labels: Any, n_classes: Any) -> None:
    """Raise unless labels are an array, and the classes among them sorted and different."""
    need(isinstance(labels, np.ndarray) and labels.ndim == 1, "Evidence.labels", "must be a one-dimensional array")
    need_whole(n_classes, "Evidence.n_classes", 1, labels.size)
    classes = labels[:n_classes]
    need(bool((classes[1:] > classes[:-1]).all()), "Evidence.labels", "must begin with sorted, different classes")


def _blocks(number: int, n: int) -> Iterator[slice]:
    """Yield slices of so many classifiers whose answers to n rows are looked at together."""
    step = max(1, _BLOCK // n)
    yield from (slice(start, min(start + step, number)) for start in range(0, number, step))


def _count(wrong: BoolArray, division: Division) -> Rows:
    """Return the errors of each classifier, shape (R, 1), or in each group, shape (R, G)."""
    need(wrong.shape[1] == division.n_validating, "Evidence", "must be about the rows that validate")
    if division.unit != GROUP:
        return np.count_nonzero(wrong, axis=1, keepdims=True).astype(np.int64)
    assert division.units is not None
    groups, number = division.units[division.validating], int(division.units.max()) + 1
    errors = [np.bincount(groups[row], minlength=number) for row in wrong]
    return np.array(errors, dtype=np.int64).reshape(len(wrong), number)


def unit_losses(losses: FloatArray, division: Division) -> FloatArray:
    """Return the losses of the validation rows, or of each validation group the mean of its rows, rounded up.

    Examples
    --------
    >>> from pacbayes.data.division import validating_division
    >>> unit_losses(np.array([1.0, 0.0, 0.5]), validating_division(3, GROUP, np.array([0, 0, 1])))
    array([0.5, 0.5])
    """
    need(losses.shape == (division.n_validating,), "Evidence", "must be about the rows that validate")
    if division.unit != GROUP:
        return losses
    assert division.units is not None
    groups = division.units[division.validating]
    if bool(((losses == 0.0) | (losses == 1.0)).all()):
        sizes = np.bincount(groups)
        present = sizes > 0
        return quotients_up(np.bincount(groups[losses == 1.0], minlength=sizes.size)[present], sizes[present])
    order = np.argsort(groups, kind="stable")
    starts = np.unique(groups[order], return_index=True)[1]
    return np.concatenate([risks_of_losses(part[None]) for part in np.split(losses[order], starts[1:])])


def _sizes(division: Division) -> Rows | None:
    """Return the rows of every group; None where every row is a draw of its own."""
    return np.bincount(division.units) if division.unit == GROUP and division.units is not None else None


def _pairs(table: BoolArray) -> Rows:
    """Return how many rows are true for both of two classifiers, for each pair."""
    number, n = table.shape
    found = np.zeros((number, number), dtype=np.int64)
    step = max(1, _PAIRS_BLOCK // number)
    for start in range(0, n, step):
        block = table[:, start : start + step].astype(np.float32)
        found += (block @ block.T).astype(np.int64)
    return found


def check_evidence_fits(number: int, n: int, max_bytes: int | None = None) -> None:
    """Raise `MemoryError` if the answers of so many classifiers would not fit, before any is trained.

    Examples
    --------
    >>> check_evidence_fits(10**6, 10**6, max_bytes=10**9)
    Traceback (most recent call last):
    MemoryError: the answers of 1000000 classifiers to 1000000 rows needs 3 TB, more than max_bytes = 1 GB. Give fewer
    classifiers or rows.
    """
    # The answers, and what is counted and voted of them.
    what = f"the answers of {number} classifiers to {n} rows"
    check_fits(3 * number * n, max_bytes, what, "Give fewer classifiers or rows.")


def observe(members: Members, data: Labelled, division: Division, n_jobs: int | None = None) -> Evidence:
    """Ask every classifier about every row that validates it, once.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from pacbayes.data.labelled import all_validate
    >>> fitted = DummyClassifier(strategy="constant", constant=0).fit([[0], [0]], [0, 1])
    >>> data = Labelled.checked([[0], [0], [0]], np.array([0, 0, 1]))
    >>> observe(Estimators([fitted], [{}], data.classes), data, all_validate(data, "keep")).answers
    array([[0, 0, 0]], dtype=uint8)
    """
    rows, coding = division.validating, Coding(data.classes)
    answers = _asked(members, data, division, coding, n_jobs)
    truth = data.codes[rows].astype(answers.dtype)
    slices = None if data.slices is None else data.slices.codes[rows].astype(np.int64)
    return Evidence(coding.labels, int(data.classes.size), answers, truth, slices=slices)


def _asked(members: Members, data: Labelled, division: Division, coding: Coding, n_jobs: int | None) -> Answers:
    """Return what every classifier says of the rows that validate it."""
    if isinstance(members, Estimators):
        return _asked_one_by_one(members, data, division, coding, n_jobs)
    if isinstance(members, Joined):
        # Of joined sets every row validates each classifier.
        parts = [_asked(part, data, division, coding, n_jobs) for part in members.parts]
        return np.concatenate([part.astype(kept_as(coding.labels.size), copy=False) for part in parts])
    prepared = members.prepared(pick_rows(data.rows, division.validating))
    return members.answers(prepared, np.arange(len(members)), coding)


def _asked_one_by_one(
    members: Estimators, data: Labelled, division: Division, coding: Coding, n_jobs: int | None
) -> Answers:
    """Return what each classifier says of its own validation rows, and of others that it is not asked about them."""
    number, n = len(members), division.validating.size
    if division.shared is None:
        own = [division(i)[1] for i in range(number)]
        found = list(
            members.ask(range(number), lambda i: pick_rows(data.rows, own[i]), coding, n_jobs, validating=True)
        )
    else:
        # Of rows that all validate nothing need be picked, which not every kind of rows allows.
        some = data.rows if n == data.number else pick_rows(data.rows, division.validating)
        own = [np.arange(n)] * number
        found = list(members.ask(range(number), lambda i: some, coding, n_jobs, validating=True))
    kept = kept_as(coding.labels.size)
    answers = np.full((number, n), np.iinfo(kept).max, dtype=kept)
    for line, codes, mine in zip(answers, found, own, strict=True):
        line[mine] = codes
    return answers
