"""Limits as values: what a risk is at most or at least, what answers cost, errors of all classes at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, Labels, round_up
from pacbayes._utils.checks import check_distribution, check_numbers, read_only
from pacbayes.bounds.bets import joint_upper
from pacbayes.certificates import sentences
from pacbayes.certificates.levels import level_per_bound, plain, upper_of

#: On which side of the truth a limit is.
UPPER, LOWER = "upper", "lower"
#: What a limit may be about: a class, a slice, all examples, all with other shares of classes.
CLASS, SLICE, ALL, SHARES = "class", "slice", "all", "shares"
COST, BALANCED = "cost", "balanced_error"
# The largest cost of a matrix lies between these: products with it are then never infinite.
_LEAST_COST, _LARGEST_COST = 1e-100, 1e100


@dataclass(frozen=True)
class ClassErrors:
    """The errors of a rule among the validation rows of every class, and limits for them that hold at once.

    See Also
    --------
    Certificate : Its method `with_class_shares` asks for other shares.

    Examples
    --------
    >>> seen = ClassErrors(("a", "b"), (2, 3), (40, 60), 0.05)
    >>> round(seen.upper([0.5, 0.5]), 4)
    0.1542
    """

    classes: tuple[Any, ...]
    errors: tuple[int, ...]
    rows: tuple[int, ...]
    #: They fail with at most this probability, for all shares at once.
    level: float
    #: One bet per class; empty where each class has a limit of its own, at an equal part of the level.
    bets: tuple[float, ...] = ()

    def upper(self, shares: Sequence[float]) -> float:
        """Return the upper limit of the errors where classes have these shares, rounded up."""
        if not self.bets:
            own = level_per_bound(self.level, 1.0, len(self.rows))
            metrics = [upper_of(k, n, own) for k, n in zip(self.errors, self.rows, strict=True)]
            return mean_up(metrics, shares)
        counts = [[n - k, k] for k, n in zip(self.errors, self.rows, strict=True)]
        return joint_upper([[0.0, 1.0]] * len(counts), self.bets, self.level, shares, counts)


def mean_up(metrics: Sequence[float], shares: Sequence[float]) -> float:
    """Return the mean of upper limits by shares that sum to 1, rounded up.

    Examples
    --------
    >>> mean_up([0.5, 1.0], [0.5, 0.5]) >= 0.75
    True
    """
    total = math.fsum(shares)
    return min(round_up(math.fsum(u * s for u, s in zip(metrics, shares, strict=True)) / total, 8.0), 1.0)


@dataclass(frozen=True)
class MetricBound:
    """What a rule's risk is at most, or at least, and the validation rows behind it.

    See Also
    --------
    Certificate : Has limits that hold at once with its bound.
    Cost : A risk of one's own.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26, 1934.
    .. [2] K. F. Y. Lam, V. Gopal and J. Qian, "Confidence intervals for the F1 score: a comparison of four methods",
       arXiv:2309.14621, 2023.

    Examples
    --------
    >>> print(MetricBound("recall", "ill", "lower", 0.8101, 38, 40, "class"))
    recall of class 'ill': at least 81.0 %; found 38 of its 40 validation rows
    >>> print(MetricBound("error", "ill", "upper", 0.1899, 2, 40, "class", "false negatives"))
    class 'ill' (false negatives): errs on at most 19.0 % of it; 2 errors on 40 validation rows
    """

    #: Which risk: a key of `sentences.WORDS`.
    name: str
    #: The class or the slice that it is about; None for all examples.
    of: Any
    #: "upper": the risk is at most the bound; "lower": at least.
    side: str
    #: Rounded away from the truth; 1 or 0 where no validation row is in the condition.  Of costs in the matrix's units.
    bound: float
    #: What was counted on them: errors for upper limits, what was right for lower ones, the sum of costs.
    count: float
    #: The validation rows that it rests on.
    rows: int
    #: "class", "slice", "all", or "shares": all examples with other shares of classes.
    kind: str = ALL
    #: Of errors in one of two classes "false positives" (the first) or "false negatives" (the second); else empty.
    also: str = ""
    #: What the column of slices is called; empty for a class, and where nobody named it.
    column: str = ""
    #: What was drawn, as in the certificate.
    unit: str = "example"
    #: Of errors of all classes at once: the counts of each.
    parts: ClassErrors | None = None
    #: Whether only answers count that the certified classifier gives too: after a refit.
    covered: bool = False

    def __str__(self) -> str:
        return f"{self.label}{f' ({self.also})' if self.also else ''}: {self.claim}; {self.seen}"

    @property
    def is_error_of_some(self) -> bool:
        """Whether it is about the errors of a class or a slice."""
        return self.name == "error" and self.kind in (CLASS, SLICE)

    @property
    def sentence(self) -> str:
        """The limit as a sentence."""
        return sentences.metric_sentence(self)

    @property
    def label(self) -> str:
        """What it is a limit of, as it is called in a sentence.

        Examples
        --------
        >>> MetricBound("error", "yes", "upper", 0.2, 2, 40, "slice", column="black").label
        "black = 'yes'"
        >>> MetricBound("f1", 1, "lower", 0.2, 2, 40, "class").label
        'F1 of class 1'
        >>> MetricBound("cost", None, "upper", 0.2, 2, 40).label
        'cost'
        """
        return sentences.metric_label(self)

    @property
    def shown(self) -> str:
        """The class or value as it is written in a sentence."""
        return sentences.format_label(self.of)

    @property
    def most(self) -> str:
        """The bound in words: on which side of the truth, and rounded away from it."""
        return sentences.metric_value(self)

    @property
    def claim(self) -> str:
        """What is guaranteed."""
        return sentences.metric_claim(self)

    @property
    def seen(self) -> str:
        """What was counted."""
        return sentences.metric_observed(self)


@dataclass(frozen=True, eq=False)
class Cost:
    """What each kind of answer costs; a limit is then of the mean cost of new examples.

    See Also
    --------
    CertifiedClassifier : Takes it among `metrics`.
    MetricBound : What is guaranteed.

    References
    ----------
    .. [1] I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the
       Royal Statistical Society B 86, 2024.

    Examples
    --------
    To miss an ill person costs ten times as much as a false alarm:

    >>> cost = Cost([[0, 1], [10, 0]], ["well", "ill"])
    >>> cost.losses(np.array(["ill", "well"]), 2)
    array([[0. , 1. ],
           [0.1, 0. ]])
    """

    #: Entry (i, j): what it costs to answer class j where class i is true; none below 0, some above.
    matrix: FloatArray
    #: The classes in the order of the matrix.
    classes: tuple[Any, ...]

    def __init__(self, matrix: ArrayLike, classes: Sequence[Any] | Labels) -> None:
        named = tuple(plain(name) for name in classes)
        table = np.array(check_numbers("matrix", matrix), dtype=np.float64)
        if table.shape != (len(named), len(named)) or len(named) < 2:
            raise ValueError(
                f"matrix must have a line and a column for each of two classes or more, got {len(named)} classes and "
                f"shape {table.shape}"
            )
        if len(set(named)) < len(named):
            raise ValueError(f"classes must be different, got {list(named)}")
        if not (table >= 0.0).all() or not _LEAST_COST <= table.max() <= _LARGEST_COST:
            raise ValueError(
                f"matrix must hold costs from 0 to {_LARGEST_COST:g}, none below 0 and at least one above; got "
                f"{table.min():g} to {table.max():g}"
            )
        read_only(table)
        object.__setattr__(self, "matrix", table)
        object.__setattr__(self, "classes", named)

    def __repr__(self) -> str:
        return f"Cost({self.matrix.tolist()}, {list(self.classes)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cost) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def largest(self) -> float:
        """The largest cost that there can be: losses are parts of it, and not of the largest that was seen."""
        return float(self.matrix.max())

    def check(self, classes: Labels) -> None:
        """Raise unless the classes of the rows are among those of the matrix."""
        missing = [name for name in map(plain, classes) if name not in self.classes]
        if missing:
            raise ValueError(f"Cost must name every class of y; {missing[0]!r} is not among {list(self.classes)}")

    def losses(self, labels: Labels, n_classes: int) -> FloatArray:
        """Return costs as parts of the largest, rounded up, for true classes and answers that are such labels.

        What is no class of the matrix costs the most that there is.
        """
        places = [self.classes.index(name) if name in self.classes else -1 for name in map(plain, labels)]
        table = np.ones((n_classes, labels.size))
        for line, true in enumerate(places[:n_classes]):
            for column, answer in enumerate(places):
                cost = self.largest if min(true, answer) < 0 else float(self.matrix[true, answer])
                # Nothing and all are exact; in between the quotient may be half a unit too small.
                whole = cost in (0.0, self.largest)
                table[line, column] = cost / self.largest if whole else min(round_up(cost / self.largest), 1.0)
        return table


def with_shares(metrics: Sequence[MetricBound], shares: Any, unit: str) -> MetricBound:
    """Return the limit of errors where classes have other shares; see `Certificate.with_class_shares`."""
    classes, bounds = _class_limits(metrics)
    if not isinstance(shares, dict) or set(shares) != set(classes):
        raise ValueError(f"shares must be a dict with a share for each of the classes {classes}, got {shares!r}")
    given, _ = check_distribution("shares", [shares[name] for name in classes], len(classes))
    found = [bound(given.tolist()) for bound in bounds]
    counted = _of_every_class(metrics) or [one for one in metrics if one.parts is not None]
    errors = sum(one.count if one.side == UPPER else one.rows - one.count for one in counted)
    rows, covered = sum(one.rows for one in counted), counted[0].covered
    return MetricBound("error", dict(shares), UPPER, min(found), int(errors), rows, SHARES, unit=unit, covered=covered)


def _of_every_class(metrics: Sequence[MetricBound], names: Sequence[str] = ("error", "recall")) -> list[MetricBound]:
    """Return the limits of errors, or of recall, class by class; empty where there are none for each class."""
    by_name = [[one for one in metrics if (one.name, one.kind) == (name, CLASS)] for name in names]
    return next((own for own in by_name if len(own) > 1), [])


def _class_limits(metrics: Sequence[MetricBound]) -> tuple[list[Any], list[Callable[[list[float]], float]]]:
    """Return the classes, and functions from their shares to limits of the errors; all hold at once."""
    found: list[Callable[[list[float]], float]] = []
    classes: list[Any] = []
    for name in ("error", "recall"):
        own = _of_every_class(metrics, (name,))
        if own:
            classes = [one.of for one in own]
            bounds = [one.bound if one.side == UPPER else min(round_up(1.0 - one.bound), 1.0) for one in own]
            found.append(partial(mean_up, bounds))
    for one in metrics:
        if one.parts is not None:
            classes = list(one.parts.classes)
            found.append(one.parts.upper)
    if not found:
        raise ValueError(
            "with_class_shares needs limits of every class: ask for metrics=('error',), 'recall' or 'balanced_error' "
            "when you fit"
        )
    return classes, found
