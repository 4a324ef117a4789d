"""Bounds of metrics, cost matrices, and joint bounds on the error rates of all classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, Labels, round_down, round_up
from pacbayes._utils.checks import check_distribution, check_number, check_numbers, make_read_only
from pacbayes.bounds.bets import joint_upper
from pacbayes.certificates import sentences
from pacbayes.certificates.levels import clopper_pearson_upper, level_per_bound, to_python_scalar
from pacbayes.data.split import GROUP

#: Values of `MetricBound.side`.
UPPER, LOWER = "upper", "lower"
#: Values of `MetricBound.kind`: a class, a slice, all examples, or all examples with other class shares.
CLASS, SLICE, ALL, SHARES = "class", "slice", "all", "shares"
COST, BALANCED, AUC = "cost", "balanced_error", "auc"
# Limits of the largest cost of a matrix, so that products do not overflow.
_LEAST_COST, _LARGEST_COST = 1e-100, 1e100


@dataclass(frozen=True)
class ClassErrors:
    """Validation errors of a rule in every class, with simultaneous bounds of the class error rates.

    See Also
    --------
    Certificate : Its method `with_class_shares` bounds the error rate for other class shares.

    Examples
    --------
    >>> class_errors = ClassErrors(("a", "b"), (2, 3), (40, 60), 0.05)
    >>> round(class_errors.upper([0.5, 0.5]), 4)
    0.1542
    """

    classes: tuple[Any, ...]
    errors: tuple[int, ...]
    rows: tuple[int, ...]
    #: The bounds fail with at most this probability, for all class shares simultaneously.
    level: float
    #: One bet per class for a joint bound; empty for a Clopper-Pearson bound per class, at an equal part of the level.
    bets: tuple[float, ...] = ()

    def upper(self, shares: Sequence[float]) -> float:
        """Upper bound of the error rate for these class shares, rounded up."""
        if not self.bets:
            level = level_per_bound(self.level, 1.0, len(self.rows))
            bounds = [clopper_pearson_upper(k, n, level) for k, n in zip(self.errors, self.rows, strict=True)]
            return weighted_mean_upper(bounds, shares)
        counts = [[n - k, k] for k, n in zip(self.errors, self.rows, strict=True)]
        return joint_upper([[0.0, 1.0]] * len(counts), self.bets, self.level, shares, counts)


def weighted_mean_upper(bounds: Sequence[float], shares: Sequence[float]) -> float:
    """Mean of upper bounds, weighted by shares that sum to 1, rounded up.

    Examples
    --------
    >>> weighted_mean_upper([0.5, 1.0], [0.5, 0.5]) >= 0.75
    True
    """
    total = math.fsum(shares)
    return min(round_up(math.fsum(u * s for u, s in zip(bounds, shares, strict=True)) / total, 8.0), 1.0)


@dataclass(frozen=True)
class MetricBound:
    """Upper or lower confidence bound of a metric, with the validation counts behind it.

    See Also
    --------
    Certificate : Its bounds of metrics hold simultaneously with its main bound.
    Cost : A user-defined cost matrix.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26, 1934.
    .. [2] K. F. Y. Lam, V. Gopal and J. Qian, "Confidence intervals for the F1 score: a comparison of four methods",
       arXiv:2309.14621, 2023.

    Examples
    --------
    >>> print(MetricBound("recall", "ill", "lower", 0.8101, 38, 40, "class"))
    recall of class 'ill': at least 81.0 %; 38 true positives among 40 validation rows of the class
    >>> print(MetricBound("error", "ill", "upper", 0.1899, 2, 40, "class", "false negatives"))
    class 'ill' (false negatives): error rate at most 19.0 %; 2 errors on 40 validation rows
    """

    #: The metric: a key of `sentences.WORDS`.
    name: str
    #: The class or the slice; None for all examples.
    of: Any
    #: "upper" or "lower".
    side: str
    #: The bound, rounded conservatively; 1 or 0 without any validation rows.  Costs are in units of the matrix.
    bound: float
    #: Errors for upper bounds, correct predictions for lower bounds, the total cost for costs.
    count: float
    #: Number of validation rows to which the metric applies.
    rows: int
    #: "class", "slice", "all", or "shares": all examples with other class shares.
    kind: str = ALL
    #: For errors of two classes, "false positives" (the first) or "false negatives" (the second); else empty.
    also: str = ""
    #: The name of the slice column; empty for classes and for unnamed slices.
    column: str = ""
    #: The unit of independent draws, as in the certificate.
    unit: str = "example"
    #: The counts of each class, for the balanced error.
    parts: ClassErrors | None = None
    #: Whether the bound is for covered predictions of a refit.
    covered: bool = False
    #: Share of delta; None for a bound that follows from others.
    level: float | None = None

    def __str__(self) -> str:
        return f"{self.label}{f' ({self.also})' if self.also else ''}: {self.claim}; {self.observed}"

    @property
    def is_partial_error(self) -> bool:
        """Whether this is a bound on the error rate of a class or a slice."""
        return self.name == "error" and self.kind in (CLASS, SLICE)

    @property
    def sentence(self) -> str:
        """The bound as a sentence."""
        return sentences.metric_sentence(self)

    @property
    def label(self) -> str:
        """The bounded metric, as named in a sentence.

        Examples
        --------
        >>> MetricBound("error", "yes", "upper", 0.2, 2, 40, "slice", column="black").label
        "black = 'yes'"
        >>> MetricBound("f1", 1, "lower", 0.2, 2, 40, "class").label
        'F1 of class 1'
        >>> MetricBound("cost", None, "upper", 0.2, 2, 40).label
        'mean cost'
        """
        return sentences.metric_label(self)

    @property
    def claim(self) -> str:
        """The guarantee in words."""
        return sentences.metric_claim(self)

    @property
    def observed(self) -> str:
        """The validation counts in words."""
        return sentences.metric_observed(self)


@dataclass(frozen=True, eq=False)
class Cost:
    """Cost matrix of predictions, for a bound of the mean cost of new examples.

    See Also
    --------
    CertifiedClassifier : Its parameter `metrics` accepts this.
    MetricBound : The guarantee.

    References
    ----------
    .. [1] I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the
       Royal Statistical Society B 86, 2024.

    Examples
    --------
    A missed ill person costs ten times as much as a false alarm:

    >>> cost = Cost([[0, 1], [10, 0]], ["well", "ill"])
    >>> cost.losses(np.array(["ill", "well"]), 2)
    array([[0. , 1. ],
           [0.1, 0. ]])
    """

    #: Entry (i, j): the cost of predicting class j where class i is true; non-negative, not all zero.
    matrix: FloatArray
    #: The classes in the order of the matrix.
    classes: tuple[Any, ...]

    def __init__(self, matrix: ArrayLike, classes: Sequence[Any] | Labels) -> None:
        named = tuple(to_python_scalar(name) for name in classes)
        table = np.array(check_numbers("matrix", matrix), dtype=np.float64)
        if table.shape != (len(named), len(named)) or len(named) < 2:
            raise ValueError(
                f"matrix must be square, with a row for each of at least two classes, got {len(named)} classes and "
                f"shape {table.shape}"
            )
        if len(set(named)) < len(named):
            raise ValueError(f"classes must be unique, got {list(named)}")
        if not (table >= 0.0).all() or not _LEAST_COST <= table.max() <= _LARGEST_COST:
            raise ValueError(
                f"matrix must hold costs from 0 to {_LARGEST_COST:g}, at least one of them positive; got "
                f"{table.min():g} to {table.max():g}"
            )
        make_read_only(table)
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
        """The largest possible cost, not the largest observed one: losses are fractions of it."""
        return float(self.matrix.max())

    def validate(self, classes: Labels) -> None:
        """Raise if a class of y is missing in the matrix."""
        missing = [name for name in map(to_python_scalar, classes) if name not in self.classes]
        if missing:
            raise ValueError(
                f"Cost must contain every class of y, but {missing[0]!r} is not among {list(self.classes)}"
            )

    def losses(self, labels: Labels, n_classes: int) -> FloatArray:
        """Costs as fractions of the largest, rounded up, of shape (n_classes, n_labels).

        The first `n_classes` labels are the classes.  Labels without a row in the matrix have the largest cost.
        """
        places = [self.classes.index(name) if name in self.classes else -1 for name in map(to_python_scalar, labels)]
        table = np.ones((n_classes, labels.size))
        for row, true in enumerate(places[:n_classes]):
            for column, predicted in enumerate(places):
                cost = self.largest if min(true, predicted) < 0 else float(self.matrix[true, predicted])
                # 0 and 1 are exact; round other quotients up.
                exact = cost in (0.0, self.largest)
                table[row, column] = cost / self.largest if exact else min(round_up(cost / self.largest), 1.0)
        return table


def with_class_shares(metrics: Sequence[MetricBound], shares: Any, unit: str) -> MetricBound:
    """Upper bound of the error rate for other class shares; see `Certificate.with_class_shares`."""
    _check_rows(metrics, "with_class_shares")
    classes, bounds = _class_bounds(metrics)
    counted = (
        _bounds_for_all_classes(metrics, "error")
        or _bounds_for_all_classes(metrics, "recall")
        or [metric for metric in metrics if metric.parts is not None]
    )
    return _with_shares("classes", classes, shares, bounds, counted, unit)


def with_slice_shares(metrics: Sequence[MetricBound], shares: Any, unit: str) -> MetricBound:
    """Upper bound of the error rate for other slice shares; see `Certificate.with_slice_shares`."""
    by_slice = _slice_bounds(metrics, "with_slice_shares")
    bound = partial(weighted_mean_upper, [metric.bound for metric in by_slice])
    return _with_shares("slices", [metric.of for metric in by_slice], shares, [bound], by_slice, unit)


def slices_below(metrics: Sequence[MetricBound], max_error: float) -> tuple[Any, ...]:
    """Slices whose error rate is shown to be at most `max_error`; see `Certificate.slices_below`."""
    most = check_number("max_error", max_error, "a number between 0 and 1")
    if not 0.0 < most < 1.0:
        raise ValueError(f"max_error must lie strictly between 0 and 1, got {max_error!r}")
    by_slice = _slice_bounds(metrics, "slices_below")
    shown: list[Any] = []
    while True:
        left = [metric for metric in by_slice if metric.of not in shown]
        passed = [metric.of for metric in left if _holm_bound(metric, len(by_slice), len(left)) <= most]
        if not passed:
            return tuple(metric.of for metric in by_slice if metric.of in shown)
        shown += passed


def _holm_bound(metric: MetricBound, number: int, left: int) -> float:
    """Upper bound at the level of `number` slices, divided among those that are left."""
    assert metric.level is not None
    level = metric.level if left == number else max(round_down(metric.level * number / left, 8.0), metric.level)
    return clopper_pearson_upper(int(metric.count), metric.rows, level)


def _check_rows(metrics: Sequence[MetricBound], method: str) -> None:
    """Raise for bounds on means over groups, which are not error rates of rows."""
    if any(metric.unit == GROUP for metric in metrics):
        raise ValueError(
            f"{method} does not support groups: each bound is on the mean over the groups that contain a class or "
            "slice, and the error rate of a group is not a mean of these"
        )


def _slice_bounds(metrics: Sequence[MetricBound], method: str) -> list[MetricBound]:
    """Select the bounds of the slices; raise if there are none."""
    _check_rows(metrics, method)
    by_slice = [metric for metric in metrics if (metric.name, metric.kind) == ("error", SLICE)]
    if not by_slice:
        raise ValueError(f"{method} requires a bound for every slice: fit with metrics=('error',) and slices=...")
    return by_slice


def _with_shares(
    what: str,
    names: list[Any],
    shares: Any,
    bounds: Sequence[Callable[[list[float]], float]],
    counted: Sequence[MetricBound],
    unit: str,
) -> MetricBound:
    if not isinstance(shares, dict) or set(shares) != set(names):
        raise ValueError(f"shares must be a dict with a share for each of the {what} {names}, got {shares!r}")
    normalised, _ = check_distribution("shares", [shares[name] for name in names], len(names))
    bound = min(upper(normalised.tolist()) for upper in bounds)
    errors = sum(metric.count if metric.side == UPPER else metric.rows - metric.count for metric in counted)
    rows, covered = sum(metric.rows for metric in counted), counted[0].covered
    return MetricBound("error", dict(shares), UPPER, bound, int(errors), rows, SHARES, unit=unit, covered=covered)


def _bounds_for_all_classes(metrics: Sequence[MetricBound], name: str) -> list[MetricBound]:
    """Select the class bounds of a metric; empty unless every class has one."""
    by_class = [metric for metric in metrics if (metric.name, metric.kind) == (name, CLASS)]
    return by_class if len(by_class) > 1 else []


def _class_bounds(metrics: Sequence[MetricBound]) -> tuple[list[Any], list[Callable[[list[float]], float]]]:
    """Collect the classes, and simultaneous bounds of the error rate as functions of the class shares."""
    bounds: list[Callable[[list[float]], float]] = []
    classes: list[Any] = []
    for name in ("error", "recall"):
        by_class = _bounds_for_all_classes(metrics, name)
        if by_class:
            classes = [metric.of for metric in by_class]
            upper = [
                metric.bound if metric.side == UPPER else min(round_up(1.0 - metric.bound), 1.0) for metric in by_class
            ]
            bounds.append(partial(weighted_mean_upper, upper))
    for metric in metrics:
        if metric.parts is not None:
            classes = list(metric.parts.classes)
            bounds.append(metric.parts.upper)
    if not bounds:
        raise ValueError(
            "with_class_shares requires a bound for every class: fit with metrics=('error',), recall or balanced_error"
        )
    return classes, bounds
