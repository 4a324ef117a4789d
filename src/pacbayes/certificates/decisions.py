r"""Decisions: what may be required of a classifier instead of a bound of all its errors, and what became of it.

`Abstain`: of the validation rows :math:`a_t` have at least the confidence `t`, and :math:`k_t` of these are wrong:
given :math:`a_t` binomial with the risk among answered rows.  `Threshold`: a row is answered "positive" if its
probability of that class is at least `t`.  Given which validation rows are positive (recall), answered so (precision)
or not positive (false alarms), the errors among these are binomial.

Thresholds, and an order of them, are fixed on the training rows.  A threshold passes if every required metric passes
its exact test at the whole of :math:`\delta`; thresholds are tested in their order, up to the first that does
not pass.  With probability :math:`1 - \delta` every threshold that passed keeps all targets: equation (fixed-sequence)
and equation (threshold-targets) of docs/mathematics.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import ceil, isfinite, log, log1p
from typing import Any

import numpy as np

from pacbayes._utils.arrays import Labels
from pacbayes._utils.checks import check_choice, check_number
from pacbayes.certificates import sentences
from pacbayes.certificates.levels import plain, upper_of

AUTO = "auto"
PREFERENCES = (AUTO, "recall", "precision", "f1")


@dataclass(frozen=True)
class Abstain:
    """A target: answer only where sure, so that of the answers at most a share is wrong.

    Parameters
    ----------
    max_error : float
        That share, between 0 and 1.

    See Also
    --------
    Threshold : A target for recall, precision or false alarms of one class.
    CertifiedClassifier : What takes it as `target`.

    References
    ----------
    .. [1] Y. Geifman and R. El-Yaniv, "Selective classification for deep neural networks", NIPS, 2017.

    Examples
    --------
    >>> from pacbayes import Abstain
    >>> Abstain(0.02)
    Abstain(max_error=0.02)
    """

    max_error: float

    def __post_init__(self) -> None:
        """Raise unless it is a share."""
        object.__setattr__(self, "max_error", _share("max_error", self.max_error, 0.02))


@dataclass(frozen=True, repr=False)
class Threshold:
    r"""A target: a threshold of one class's probability at which its recall, precision or false alarms are certified.

    Parameters
    ----------
    recall : float, optional
        Of the examples of the class at least this share is answered so.
    precision : float, optional
        Of the examples answered so at least this share is of the class.
    fpr : float, optional
        Of the examples of the other class at most this share is answered so.
    prefer : {"auto", "recall", "precision", "f1"}
        Which of the thresholds that passed is taken.  "precision": the largest; "recall": the smallest; "f1": the one
        with the best F1 of the training rows, in cross-validation.  "auto" is "precision" where a recall alone is
        required, "recall" where none is, else "f1".

    See Also
    --------
    Abstain : A target for the errors among answers.
    CertifiedClassifier : What takes it as `target`; its `pos_label` is the class.

    Notes
    -----
    The targets hold at the threshold in use, all at once, with probability at least :math:`1 - \delta`.  Nothing else
    is certified there: a limit that is computed at a threshold which the same rows chose would not hold.

    References
    ----------
    .. [1] R. Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982.
    .. [2] A. Angelopoulos, S. Bates, E. Candes, M. Jordan and L. Lei, "Learn then test: calibrating predictive
       algorithms to achieve risk control", arXiv:2110.01052, 2021.

    Examples
    --------
    >>> from pacbayes import Threshold
    >>> Threshold(recall=0.9, precision=0.7)
    Threshold(recall=0.9, precision=0.7)
    >>> Threshold()
    Traceback (most recent call last):
    ValueError: Threshold needs at least one of recall, precision and fpr
    """

    recall: float | None = None
    precision: float | None = None
    fpr: float | None = None
    prefer: str = AUTO

    def __post_init__(self) -> None:
        """Raise unless there are targets, all of them shares."""
        for name in sentences.MEASURES:
            given = getattr(self, name)
            if given is None:
                continue
            object.__setattr__(self, name, _share(name, given, 0.9))
        if not self.required:
            raise ValueError("Threshold needs at least one of recall, precision and fpr")
        check_choice("prefer", self.prefer, PREFERENCES)

    def __repr__(self) -> str:
        parts = [f"{name}={share!r}" for name, share in self.required.items()]
        parts += [f"prefer={self.prefer!r}"] if self.prefer != AUTO else []
        return f"Threshold({', '.join(parts)})"

    @property
    def required(self) -> dict[str, float]:
        """The targets by name."""
        return {name: getattr(self, name) for name in sentences.MEASURES if getattr(self, name) is not None}

    @property
    def preferred(self) -> str:
        """What `prefer` stands for."""
        if self.prefer != AUTO:
            return self.prefer
        if self.recall is None:
            return "recall"
        return "precision" if len(self.required) == 1 else "f1"

    def words(self, positive: Any) -> str:
        """Return the targets in words.

        Examples
        --------
        >>> Threshold(recall=0.9, fpr=0.05).words("late")
        "recall of class 'late' is at least 90.0 % and its false positive rate at most 5.0 %"
        """
        return sentences.targets(self.required, positive)


def _share(name: str, value: Any, example: float) -> float:
    """Return a target as a float, or raise unless it lies strictly between 0 and 1."""
    share = check_number(name, value, "a number between 0 and 1, or None")
    if not 0.0 < share < 1.0:
        raise ValueError(f"{name} must lie strictly between 0 and 1 (a share, such as {example}), got {value!r}")
    return share


#: What may be required of a classifier instead of a bound of its errors.
Decision = Abstain | Threshold


def check_decision(decision: Any) -> Decision | None:
    """Return a target, or raise unless it is one or None.

    Examples
    --------
    >>> check_decision(0.02)
    Traceback (most recent call last):
    TypeError: decision must be Abstain(...), Threshold(...) or None, got 0.02
    """
    if decision is None or isinstance(decision, Abstain | Threshold):
        return decision
    raise TypeError(f"decision must be Abstain(...), Threshold(...) or None, got {decision!r}")


def positive_class(pos_label: Any, classes: Labels) -> int:
    """Return the number of the class that a threshold is about: the second where nobody says which, or raise.

    Examples
    --------
    >>> positive_class(None, np.array(["late", "punctual"])), positive_class("late", np.array(["late", "punctual"]))
    (1, 0)
    >>> positive_class("x", np.array(["late", "punctual"]))
    Traceback (most recent call last):
    ValueError: pos_label must be one of the classes ['late', 'punctual'], got 'x'
    """
    known = classes.tolist()
    if len(known) != 2:
        raise ValueError(f"Threshold(...) is for two classes, got {len(known)}; with more use Abstain(...), or limits")
    if pos_label is None:
        return 1
    found = [place for place, label in enumerate(known) if label == pos_label]
    if not found:
        raise ValueError(f"pos_label must be one of the classes {known}, got {pos_label!r}")
    return found[0]


def max_error_rate(name: str, share: float) -> float:
    """Return which share of errors a target allows, rounded down: of misses where it is recall.

    Examples
    --------
    >>> max_error_rate("fpr", 0.05), max_error_rate("recall", 0.75) < 0.25
    (0.05, True)
    """
    return share if name == "fpr" else float(np.nextafter(1.0 - share, 0.0))


def rows_to_reach(name: str, share: float, delta: float) -> int:
    r"""Count the rows that a target takes where none of them is an error: :math:`\log \delta / \log(1 - e)`.

    Examples
    --------
    >>> rows_to_reach("recall", 0.9, 0.05), rows_to_reach("fpr", 0.05, 0.05)
    (29, 59)
    """
    return ceil(log(delta) / log1p(-max_error_rate(name, share)))


@dataclass(frozen=True)
class SelectiveResult:
    """What became of a target for the errors among answered examples.

    See Also
    --------
    pacbayes.Abstain : The target.
    pacbayes.Certificate : Has this as `answered`.

    Examples
    --------
    >>> passed = SelectiveResult(0.02, 0.75, 300, 273, 1, 12)
    >>> print(passed.claim("Surely,", "it"))
    Surely, it errs on at most 2.0 % of the examples that it answers; it answered 91.0 % of the validation rows.
    >>> failed = SelectiveResult(0.02, None, 300, 0, 0, 1, 0.065)
    >>> print(failed.claim("Surely,", "the vote"))  # doctest: +NORMALIZE_WHITESPACE
    The vote answers no example: where the training rows expected at most 2.0 % errors, the validation rows did not
    confirm it. The smallest target that would have passed is 6.5 %, which is information and no guarantee.
    """

    #: The target.
    max_error: float
    #: An example is answered if its confidence is at least this (minus infinity: every one); None where nothing passed.
    threshold: float | None
    #: Validation rows.
    m: int
    #: Those of them that are answered.
    rows: int
    #: Errors among these.
    errors: int
    #: Thresholds that were tested.
    tested: int
    #: Where nothing passed: the smallest target, in steps of half a percent, that would have; without guarantee.
    smallest_max_error: float | None = None
    #: What was drawn, as in the certificate.
    unit: str = "example"

    @property
    def share(self) -> float:
        """The share of validation rows that are answered."""
        return self.rows / self.m

    @property
    def passed(self) -> bool:
        """Whether any example is answered."""
        return self.rows > 0

    @property
    def headline(self) -> str:
        """The outcome in the fewest words."""
        return sentences.answered_headline(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON.

        JSON has no infinity: where every example is answered the threshold is None, as where none is; see "passed".

        Examples
        --------
        >>> found = SelectiveResult(0.2, float("-inf"), 100, 100, 5, 3).to_dict()
        >>> found["threshold"], found["passed"], found["share"]
        (None, True, 1.0)
        """
        finite = self.threshold is not None and isfinite(self.threshold)
        own = {"threshold": self.threshold if finite else None, "passed": self.passed, "share": self.share}
        return asdict(self) | own

    def claim(self, sure: str, who: str) -> str:
        """Return the guarantee in words, after `sure`: with which probability; `who` is what it is about."""
        return sentences.answered_claim(self, sure, who)

    @property
    def details(self) -> list[str]:
        """How it was found, in sentences."""
        return sentences.answered_details(self)

    @property
    def observed(self) -> str:
        """What the validation rows showed, in a sentence; empty where nothing is answered."""
        return f"It erred on {self.errors} of the {self.rows} that it answered." if self.passed else ""


@dataclass(frozen=True)
class ThresholdResult:
    """What became of targets for one class: at which threshold they hold, and what was seen there.

    See Also
    --------
    pacbayes.Threshold : The targets.
    pacbayes.Certificate : Has this as `reached`.

    Examples
    --------
    >>> found = ThresholdResult(Threshold(recall=0.9, precision=0.7), "late", True, 0.3125, 500, 100, 120, 96, 9, 0.05)
    >>> print(found.claim("Surely,", "the soft vote"))  # doctest: +NORMALIZE_WHITESPACE
    Surely, at the threshold 0.3125 recall of class 'late' is at least 90.0 % and its precision at least 70.0 %.
    >>> failed = ThresholdResult(Threshold(recall=0.9), "late", False, 0.0, 50, 9, 50, 9, 1, 0.05)
    >>> print(failed.claim("Surely,", "the vote"))  # doctest: +NORMALIZE_WHITESPACE
    No threshold was shown to reach the target: recall of class 'late' is at least 90.0 %. Not enough data: a recall of
    90.0 % takes at least 29 validation rows of class 'late', there are 9, which can show 71.6 % at best. The vote
    predicts as without a target.
    """

    #: What was required for.
    decision: Threshold
    #: Of which class.
    positive: Any
    #: Whether any threshold passed.
    passed: bool
    #: An example is answered so if its probability is at least this; where nothing passed, what was tested first.
    threshold: float
    #: Validation rows, those that are positive, that are answered so at the threshold, and both.
    m: int
    positives: int
    answered: int
    hits: int
    #: Thresholds that were tested.
    tested: int
    #: The level of every test.
    delta: float
    #: What was drawn, as in the certificate.
    unit: str = "example"

    def counts(self, name: str) -> tuple[int, int]:
        """Return the rows that a measure is about, and the errors among these."""
        alarms = self.answered - self.hits
        if name == "recall":
            return self.positives, self.positives - self.hits
        return (self.answered if name == "precision" else self.m - self.positives), alarms

    def limit(self, name: str) -> float:
        """Return the exact upper limit of the share of errors at the threshold, alone."""
        rows, errors = self.counts(name)
        return upper_of(errors, rows, self.delta)

    @property
    def recall(self) -> float | None:
        """Observed, and no limit: the share of positive rows that are answered so; None where there is no such row."""
        return self.hits / self.positives if self.positives else None

    @property
    def precision(self) -> float | None:
        """Observed, and no limit: the share of rows answered so that are positive."""
        return self.hits / self.answered if self.answered else None

    @property
    def fpr(self) -> float | None:
        """Observed, and no limit: the share of the other rows that are answered so."""
        return self.errors_of_others / (self.m - self.positives) if self.m > self.positives else None

    @property
    def errors_of_others(self) -> int:
        """Rows of the other class that are answered so."""
        return self.answered - self.hits

    @property
    def lacking(self) -> Iterator[tuple[str, int, int, float]]:
        """The targets that the rows cannot reach, however well they are told apart.

        With the rows that there are, those that are needed, and the least share of errors that they can show.
        """
        for name, share in self.decision.required.items():
            rows = self.m - self.positives if name == "fpr" else self.positives
            least = upper_of(0, rows, self.delta)
            if least > max_error_rate(name, share):
                yield name, rows, max(rows_to_reach(name, share, self.delta), rows + 1), least

    @property
    def errors(self) -> int:
        """Validation rows that are answered wrong at the threshold."""
        return self.positives + self.answered - 2 * self.hits

    @property
    def headline(self) -> str:
        """The outcome in the fewest words."""
        return sentences.reached_headline(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON.

        Examples
        --------
        >>> found = ThresholdResult(Threshold(fpr=0.1), "late", True, 0.5, 100, 20, 10, 9, 3, 0.05).to_dict()
        >>> found["required"], found["recall"], found["threshold"]
        ({'fpr': 0.1}, 0.45, 0.5)
        """
        names = ("passed", "threshold", "m", "positives", "answered", "hits", "tested", *sentences.MEASURES)
        return {"required": self.decision.required, "positive": plain(self.positive)} | {
            name: getattr(self, name) for name in names
        }

    def claim(self, sure: str, who: str) -> str:
        """Return the guarantee in words, after `sure`: with which probability; `who` is what it is about."""
        return sentences.reached_claim(self, sure, who)

    @property
    def shown(self) -> str:
        """The threshold with four digits."""
        return f"{self.threshold:.4g}"

    @property
    def details(self) -> list[str]:
        """How it was found, and what was observed, in sentences."""
        return sentences.reached_details(self)

    @property
    def observed(self) -> str:
        """What the validation rows showed at the threshold in use, in a sentence; empty where nothing passed."""
        return sentences.reached_observed(self)
