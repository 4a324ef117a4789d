r"""A ledger for tests of several classifiers on one validation set: each test spends part of delta.

A team tests one version after another on the same validation rows until one passes.  Each test may depend on the
outcomes of earlier tests, so that the bounds of separate certificates do not hold.  `Ledger` bounds the probability of
any false pass by delta, equation (ledger-theorem) of docs/mathematics.md.

*Budget.*  It is delta at first.  An attempt has a level :math:`d` of at most the budget :math:`D`, equation
(ledger-budget); it passes if exact bounds at this level prove its statement.  A failure reduces the budget to
:math:`D - d`, a pass to :math:`d`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import Labels, round_down
from pacbayes._utils.checks import check_level, check_number, warn_caller
from pacbayes._utils.files import hold_lock, write_file
from pacbayes.certificates import sentences
from pacbayes.certificates.difference import certified_by_groups
from pacbayes.certificates.levels import clopper_pearson_lower, clopper_pearson_upper, to_python_scalar
from pacbayes.data.dataset import check_label_types, check_no_missing_labels, check_same_order, flatten_predictions
from pacbayes.data.duplicates import find_largest_overlap
from pacbayes.data.rows import copy_rows, row_hashes

_FORMAT = "pacbayes ledger 1"
DEFAULT_DELTA = 0.05
# Seconds to wait for another process that holds the lock.
_LOCK_TIMEOUT = 30.0
_KEY = b"pacbayes ledger"
_Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Budget:
    """Remaining part of delta, and the level of the next attempt.

    Examples
    --------
    >>> budget = Budget(0.05)
    >>> round(budget.level, 6), round(budget.after(False).level, 6), round(budget.after(True).level, 6)
    (0.025, 0.008333, 0.0125)
    """

    left: float
    #: Failed attempts since the last pass.
    failed: int = 0

    @property
    def level(self) -> float:
        """Level of the next attempt, equation (ledger-budget)."""
        return max(round_down(self.left / (self.failed + 2)), 0.0)

    def after(self, passed: bool, values: int = 1) -> Budget:
        """Budget after an attempt that revealed one of `values` possible counts."""
        left = self.level if passed else self.left - self.level
        return Budget(max(round_down(left / values), 0.0), 0 if passed else self.failed + 1)


@dataclass(frozen=True)
class Statement:
    """Statement about new examples that an attempt tests; it may consist of several bounds.

    Examples
    --------
    >>> print(Statement(at_most=0.05, recall=0.9, pos_label="ill"))
    error rate at most 5.0 %, recall of class 'ill' at least 90.0 %
    """

    at_most: float | None = None
    recall: float | None = None
    precision: float | None = None
    pos_label: Any = None

    def __post_init__(self) -> None:
        named = {name: share for name, share in asdict(self).items() if share is not None and name != "pos_label"}
        if not named:
            raise ValueError("a statement requires at least one of at_most, recall or precision")
        for name, value in named.items():
            share = check_number(name, value, "a number between 0 and 1")
            if not 0.0 < share < 1.0:
                raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")
            object.__setattr__(self, name, share)
        if not isinstance(self.pos_label, str | int | float | None):
            raise TypeError(f"pos_label must be a string, a number or a boolean, got {self.pos_label!r}")
        if (self.recall is self.precision is None) != (self.pos_label is None):
            raise ValueError("pos_label must be set with recall or precision, and must be None without them")

    def __str__(self) -> str:
        return sentences.statement_text(self)

    def n_possible_counts(self, m: int) -> int:
        """Count the possible values of the counts, for `m` rows."""
        pairs = (m + 1) * (m + 2) // 2
        by_name = {"at_most": m + 1, "recall": pairs, "precision": pairs}
        return int(np.prod([n for name, n in by_name.items() if getattr(self, name) is not None], dtype=object))

    def counts(self, y_true: Labels, y_pred: Labels | None) -> dict[str, tuple[int, int]]:
        """Numbers of errors (or hits) and rows of each part; if the classifier raised an error, all rows are errors."""
        right = np.zeros(y_true.size, dtype=bool) if y_pred is None else np.asarray(y_pred == y_true)
        none = np.zeros(y_true.size, dtype=bool)
        positive = {
            "recall": np.asarray(y_true == self.pos_label),
            "precision": none if y_pred is None else np.asarray(y_pred == self.pos_label),
        }
        counts = {name: (int((right & rows).sum()), int(rows.sum())) for name, rows in positive.items()}
        counts["at_most"] = (int((~right).sum()), int(right.size))
        return {name: counts[name] for name in ("at_most", "recall", "precision") if getattr(self, name) is not None}

    def is_proved(self, counts: Mapping[str, tuple[int, int]], level: float) -> bool:
        """Whether every part is certified at `level`; a false statement passes with at most this probability."""
        return all(
            clopper_pearson_upper(*pair, level) <= self.at_most  # type: ignore[operator]
            if name == "at_most"
            else clopper_pearson_lower(*pair, level) >= getattr(self, name)
            for name, pair in counts.items()
        )


@dataclass(frozen=True)
class Attempt:
    """Outcome of one attempt of a `Ledger`; true if it passed.

    See Also
    --------
    Ledger : Returns it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ledger = Ledger(folder + "/ledger.json")
    ...     attempt = ledger.attempt(["no"] * 500, ["no"] * 495 + ["yes"] * 5, rows=range(500), at_most=0.05, name="v1")
    >>> bool(attempt), attempt.number, attempt.rows
    (True, 1, 500)
    """

    number: int
    #: Time in UTC.
    time: str
    name: str
    statement: Statement
    passed: bool
    #: Number of validation rows.
    rows: int
    #: Level of the test.
    level: float
    #: Remaining budget, and delta.
    left: float
    delta: float
    #: Counts by statement, only with ``tell=True``: errors and rows, or hits and rows.
    told: dict[str, tuple[int, int]] | None = None
    #: Whether this outcome was recorded by an earlier, identical attempt.
    repeated: bool = False

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return sentences.attempt_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python values for JSON."""
        return asdict(self) | {"text": str(self)}


@dataclass
class Ledger:
    """Pass or fail for one classifier after another on the same validation rows, with a guarantee for all of them.

    With probability at least 1 - delta over the validation rows, no statement that passed is false, however each
    classifier depended on the outcomes before it.

    Parameters
    ----------
    path : str or path
        A JSON file.  It is created by the first attempt, and every attempt is appended, atomically and under a lock.
    delta : float, optional
        Probability of any false pass; 0.05 for a new file, for an existing file as recorded there.

    See Also
    --------
    certify_predictions : A certificate from the predictions of one classifier, with its counts.
    compare_classifiers : Two classifiers on the same rows.

    Notes
    -----
    The rows must be independent draws, used for nothing else: no classifier is trained, tuned or chosen with them
    except through the outcomes of the ledger, and a prediction depends on its row alone.  More rows
    may be added from the same distribution, if no attempt has seen them.  Evaluations without the ledger cannot be
    detected: anybody with the labels can count errors.

    Neither counts nor bounds are returned or stored, because later attempts could depend on them.

    References
    ----------
    .. [1] C. Dwork, V. Feldman, M. Hardt, T. Pitassi, O. Reingold and A. Roth, "The reusable holdout: preserving
       validity in adaptive data analysis", Science 349, 2015.
    .. [2] A. Blum and M. Hardt, "The Ladder: a reliable leaderboard for machine learning competitions", ICML 2015.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> ledger, ids = Ledger(folder.name + "/ledger.json"), range(500)
    >>> y_true, y_pred = ["no"] * 500, ["no"] * 480 + ["yes"] * 20
    >>> print(ledger.attempt(y_true, y_pred, rows=ids, at_most=0.05, name="v1"))
    Not passed: error rate at most 5.0 %. Attempt 1, at level 0.025; 50.0 % of delta is left.
    >>> print(ledger.attempt(y_true, ["no"] * 492 + ["yes"] * 8, rows=ids, at_most=0.05, name="v2"))
    Passed: error rate at most 5.0 %. Attempt 2, at level 0.008334; 16.7 % of delta is left.
    >>> folder.cleanup()
    """

    path: str | os.PathLike[str]
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.delta is not None:
            check_level(self.delta)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """All recorded attempts."""
        return tuple(self._read().attempts)

    @property
    def left(self) -> float:
        """Remaining budget."""
        return self._read().budget.left

    def attempt(
        self,
        y_true: ArrayLike,
        y_pred: Any,
        *,
        rows: Any,
        at_most: float | None = None,
        recall: float | None = None,
        precision: float | None = None,
        pos_label: Any = None,
        name: str = "",
        tell: bool = False,
        groups: Any = None,
    ) -> Attempt:
        """Test a statement about a classifier, and record the attempt before its outcome is returned.

        Parameters
        ----------
        y_true : array_like of shape (m,)
            The true labels.
        y_pred : array_like of shape (m,), or fitted classifier
            Predictions, or a classifier that predicts `rows`.  If it raises an error there, the attempt fails.
        rows : array_like of shape (m, d) or (m,)
            Features of the validation rows, or an identifier of each.  All rows of earlier attempts must be among them;
            others are new rows.
        at_most : float, optional
            Statement: the error rate is at most this.
        recall, precision : float, optional
            Statement: recall, or precision, of class `pos_label` is at least this.
        pos_label : label, optional
            The class of `recall` and `precision`.  If no row has it, the attempt fails without an error.
        name : str
            Name of the classifier in the ledger.
        tell : bool
            Whether to return and store the counts.  This divides the remaining budget by the number of values that the
            counts can have; a warning states this cost.
        groups : None
            Not supported, because rows must be independent.

        Returns
        -------
        Attempt

        Examples
        --------
        See `Ledger`.
        """
        if not isinstance(name, str):
            raise TypeError(f"name must be a string, got {name!r}")
        name = name.encode(errors="replace").decode()
        statement = Statement(at_most, recall, precision, to_python_scalar(pos_label))
        if groups is not None or certified_by_groups(y_pred):
            raise ValueError(
                "a ledger requires independent rows: it supports neither groups nor models that were certified by "
                "groups"
            )
        check_same_order(y_true=y_true, y_pred=y_pred, rows=rows)
        labels = np.asarray(check_no_missing_labels(y_true, "y_true"))
        if labels.ndim != 1 or labels.size == 0:
            raise ValueError(f"y_true must be one-dimensional, with a label for every row, got shape {labels.shape}")
        hashes = _row_hashes(rows, labels.size)
        if not hasattr(y_pred, "predict"):
            predictions: Labels | None = _validate_predictions(y_pred, labels)
            _check_predicted(pos_label, predictions, "the predictions")
        else:
            classes = getattr(y_pred, "classes_", None)
            _check_predicted(pos_label, classes, "the classes of the classifier")
            if classes is not None:
                _check_same_kind("classes_ of the classifier", np.asarray(classes), labels)
            check_not_trained_on(y_pred, rows)
            try:
                predictions = _validate_predictions(y_pred.predict(copy_rows(rows)), labels)
            except Exception:  # a failure is an outcome; its message could reveal more about the rows
                predictions = None
        if tell:
            warn_caller(sentences.cost_of_counts(statement.n_possible_counts(labels.size)))
        return self._record(_PendingAttempt(statement, labels, predictions, hashes, name, tell))

    def _record(self, test: _PendingAttempt) -> Attempt:
        path = Path(os.path.realpath(self.path))
        with hold_lock(path.with_name(f"{path.name}.lock"), f"ledger {str(self.path)!r}", _LOCK_TIMEOUT):
            book = self._read()
            added = book.added_rows(test.hashes)
            fingerprint = test.fingerprint
            for entry, attempt in zip(book.entries, book.attempts, strict=True):
                same = entry["predictions"] == fingerprint and attempt.statement == test.statement
                if same and not added.size and (attempt.told is not None or not test.tell):
                    return replace(attempt, left=book.budget.left, repeated=True)
            write_file(path, book.append_attempt(test, added, fingerprint))
            return self._read().attempts[-1]

    def _read(self) -> _LedgerContents:
        try:
            text, links = Path(self.path).read_bytes(), os.stat(self.path).st_nlink
        except FileNotFoundError:
            return _LedgerContents(self.delta or DEFAULT_DELTA)
        if links > 1:  # the file is replaced, which would separate its names
            raise ValueError(f"{str(self.path)!r} has {links} names (hard links), but a ledger must have only one")
        try:
            contents = _LedgerContents.from_json(json.loads(text))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{str(self.path)!r} is not a valid ledger file: {error}") from None
        if self.delta is not None and self.delta != contents.delta:
            raise ValueError(f"{str(self.path)!r} was started with delta={contents.delta:g}, got delta={self.delta:g}")
        return contents


@dataclass(frozen=True, eq=False)
class _PendingAttempt:
    """An attempt before its outcome is known."""

    statement: Statement
    y_true: Labels
    y_pred: Labels | None
    hashes: _Hashes
    name: str
    tell: bool

    @property
    def fingerprint(self) -> str:
        """Digest of the predictions that does not depend on the row order; random if the classifier raised an error."""
        if self.y_pred is None:
            return secrets.token_hex(32)
        return _digest(self.hashes, row_hashes(self.y_pred, _KEY))


@dataclass
class _LedgerContents:
    """Contents of a ledger file.

    Apart from the outcomes, nothing in it depends on the labels: a digest of the labels would allow testing guesses.
    """

    delta: float
    entries: list[dict[str, Any]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    #: Row hashes that each attempt added, in base64.
    blocks: list[str] = field(default_factory=list)
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = Budget(self.delta)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> _LedgerContents:
        """Validate the contents of a file: every entry must follow from the earlier ones."""
        if content["format"] != _FORMAT:
            raise ValueError(f"its format is {content['format']!r}, this version reads {_FORMAT!r}")
        book = cls(check_level(content["delta"]))
        for entry in content["attempts"]:
            book._append(entry)
        book.blocks = [str(block) for block in content["rows"]]
        last = book.entries[-1]
        if (book.hashes.size, _digest(book.hashes)) != (last["rows"], last["rows_sha256"]):
            raise ValueError("its row hashes are not those of the last attempt")
        return book

    def _append(self, entry: dict[str, Any]) -> None:
        number, budget = len(self.entries) + 1, self.budget
        statement = Statement(**entry["statement"])
        told = entry["told"]
        after = budget.after(entry["passed"], 1 if told is None else statement.n_possible_counts(entry["rows"]))
        expected = {"number": number, "level": budget.level, "left": after.left, "previous": self._last_hash}
        if entry["sha256"] != _entry_hash(entry) or any(entry[name] != value for name, value in expected.items()):
            raise ValueError(f"attempt {number} does not follow from the earlier attempts")
        self.entries.append(entry)
        self.budget = after
        self.attempts.append(
            Attempt(
                statement=statement,
                delta=self.delta,
                told=None if told is None else {name: (int(k), int(n)) for name, (k, n) in told.items()},
                **{name: entry[name] for name in ("number", "time", "name", "passed", "rows", "level", "left")},
            )
        )

    @property
    def _last_hash(self) -> str:
        return self.entries[-1]["sha256"] if self.entries else _json_hash([_FORMAT, self.delta])

    @property
    def hashes(self) -> _Hashes:
        """Hashes of all known rows."""
        return np.frombuffer(b"".join(base64.b64decode(block) for block in self.blocks), dtype="<u8").astype(np.uint64)

    def added_rows(self, hashes: _Hashes) -> _Hashes:
        """Sorted hashes of new rows; raise if rows of earlier attempts are missing."""
        values, places = np.unique(np.concatenate([self.hashes, hashes]), return_inverse=True)
        known, present = (
            np.bincount(part, minlength=values.size) for part in np.split(places, [places.size - hashes.size])
        )
        missing = int(np.maximum(known - present, 0).sum())
        if missing:
            raise ValueError(
                f"rows must contain all rows of earlier attempts, but {missing} of {int(known.sum())} are missing: "
                "use another ledger for other validation rows"
            )
        return np.repeat(values, present - known)

    def append_attempt(self, test: _PendingAttempt, added: _Hashes, fingerprint: str) -> bytes:
        """Evaluate an attempt, append it, and return the new contents of the file."""
        level, counts = self.budget.level, test.statement.counts(test.y_true, test.y_pred)
        passed = test.y_pred is not None and test.statement.is_proved(counts, level)
        after = self.budget.after(passed, test.statement.n_possible_counts(test.y_true.size) if test.tell else 1)
        if added.size:
            self.blocks.append(base64.b64encode(added.astype("<u8").tobytes()).decode())
        number = len(self.entries) + 1
        entry = {
            "number": number,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "name": test.name or f"attempt {number}",
            "statement": {name: value for name, value in asdict(test.statement).items() if value is not None},
            "passed": passed,
            "level": level,
            "left": after.left,
            "rows": int(test.hashes.size),
            "told": counts if test.tell else None,
            "predictions": fingerprint,
            "rows_sha256": _digest(self.hashes),
            "previous": self._last_hash,
        }
        entry["sha256"] = _entry_hash(entry)
        content = {
            "format": _FORMAT,
            "delta": self.delta,
            "attempts": [*self.entries, entry],
            "rows": self.blocks,
        }
        return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def _row_hashes(rows: Any, m: int) -> _Hashes:
    if rows is None:
        raise ValueError("rows must be the features or identifiers of the validation rows, to detect different ones")
    hashes = row_hashes(rows, _KEY)
    if hashes.size != m:
        raise ValueError(f"rows must have one entry for each of {m} labels, got {hashes.size}")
    if np.ndim(rows) == 1 and np.unique(hashes).size < m:
        raise ValueError("rows contains duplicate identifiers; pass unique ones, or features of shape (m, d)")
    return hashes


def _validate_predictions(y_pred: Any, labels: Labels) -> Labels:
    predictions = flatten_predictions("y_pred", check_no_missing_labels(y_pred, "y_pred"), labels.size)
    _check_same_kind("y_pred", predictions, labels)
    return predictions


def _check_same_kind(name: str, predicted: Labels, labels: Labels) -> None:
    # Messages name the type of the labels, which for strings has the length of the longest.
    check_label_types(name, predicted, labels.astype(object) if labels.dtype.kind == "U" else labels, "y_true")


def _check_predicted(pos_label: Any, predicted: Any, among: str) -> None:
    """Raise if a class is never predicted.

    Labels are not used: errors cost no delta, and would reveal for one class after another whether it occurs.
    """
    if pos_label is not None and predicted is not None and not np.any(np.asarray(predicted) == pos_label):
        raise ValueError(f"pos_label must be one of {among}, got {pos_label!r}: otherwise recall and precision are 0")


def check_not_trained_on(model: Any, rows: Any) -> None:
    """Raise if a model of this library, or one nested in a model, was fitted with more of the rows than by chance."""
    overlap = find_largest_overlap(model, rows)
    if overlap is not None and overlap.is_large:
        raise ValueError(
            f"rows must be validation rows that are not used for training, but {overlap.summary} behind the model"
        )


def _digest(*columns: _Hashes) -> str:
    """SHA-256 of rows of hashes, independent of their order."""
    order = np.lexsort(columns[::-1])
    return hashlib.sha256(np.stack(columns)[:, order].astype("<u8").tobytes()).hexdigest()


def _entry_hash(entry: dict[str, Any]) -> str:
    return _json_hash({name: value for name, value in entry.items() if name != "sha256"})


def _json_hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
