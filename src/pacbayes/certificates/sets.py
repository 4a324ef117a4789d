r"""Prediction sets with a certified coverage: thresholds, sets, and their sizes on the validation rows.

A set contains the classes whose probability :math:`p_c(x)` is at least a threshold `q`, and the predicted class.  On
`m` validation rows, :math:`v_i = p_{y_i}(x_i)` is the probability of the true class, or -1 for a class without training
rows, and `q` is the k-th smallest.  The coverage fails with probability at most
:math:`P(\mathrm{Bin}(m, \alpha) \le k - 1) \le \delta`, ties included: equation (prediction-set) of
docs/mathematics.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import BoolArray, FloatArray, Rows
from pacbayes._utils.checks import check_in_range
from pacbayes.certificates import sentences
from pacbayes.certificates.decisions import PredictionSet, max_error_rate, min_rows_required
from pacbayes.certificates.levels import clopper_pearson_upper, divide_delta, to_python_scalar
from pacbayes.certificates.thresholds import round_to_grid

#: Probability of classes without training rows, and threshold of classes that are in every set.
NEVER_SEEN = -1.0


@dataclass(frozen=True)
class SetResult:
    """Result of `PredictionSet`: thresholds, and counts of the validation sets.

    See Also
    --------
    pacbayes.PredictionSet : The requirement.
    pacbayes.Certificate : Its attribute `decision` is this result.

    Examples
    --------
    >>> counts = {"rows": (80, 60, 60), "covered": (78, 57, 55), "sizes": (0, 150, 40, 10)}
    >>> result = SetResult(PredictionSet(0.9), ("a", "b", "c"), (0.25,) * 3, **counts)
    >>> print(result.claim(0.05, "this classifier"))
    With 95 % confidence, the prediction set contains the true class for at least 90.0 % of new examples.
    >>> print(result.observed)
    Sets have 1.3 of 3 classes on average and contain the true class of 190 of 200 validation rows.
    >>> result.predict_set([[0.5, 0.3, 0.2]])
    array([[ True,  True, False]])
    """

    #: The requirement.
    decision: PredictionSet
    #: The classes.
    classes: tuple[Any, ...]
    #: Minimum probability of each class to be included; -1 if every set contains the class.
    thresholds: tuple[float, ...]
    #: Numbers of validation rows of each class, and of those whose set contains the class.
    rows: tuple[int, ...]
    covered: tuple[int, ...]
    #: Number of validation rows by size of the set, from 0 to the number of classes.
    sizes: tuple[int, ...]
    #: Mean size of the sets of each class; None without rows.
    mean_sizes: tuple[float | None, ...] = ()
    #: Number of validation rows with other labels, which sets contain only if they contain every label.
    unknown: int = 0
    #: Maximum probability that the guarantee fails.
    delta: float = 0.05
    #: Sampling unit of the certificate.
    unit: str = "example"

    @property
    def m(self) -> int:
        """Number of validation rows."""
        return sum(self.sizes)

    @property
    def mean_size(self) -> float:
        """Mean number of classes in the sets of the validation rows."""
        return sum(size * rows for size, rows in enumerate(self.sizes)) / self.m

    @property
    def coverage(self) -> float:
        """Share of the validation rows whose set contains the true class."""
        return sum(self.covered) / self.m

    @property
    def passed(self) -> bool:
        """Whether sets may exclude a class; otherwise, the guarantee is trivial."""
        return max(self.thresholds) > 0.0

    @property
    def in_every_set(self) -> tuple[Any, ...]:
        """Classes without a threshold because of too few validation or training rows; every set contains them."""
        return tuple(name for name, q in zip(self.classes, self.thresholds, strict=True) if q == NEVER_SEEN)

    @property
    def needed(self) -> int:
        """Minimum number of validation rows (of each class if `by_class`) with which sets may exclude a class."""
        return min_rows_required("recall", self.decision.coverage, self.delta)

    @property
    def summary_line(self) -> str:
        """Short summary of the outcome."""
        return sentences.sets_summary_line(self)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values for JSON.

        Examples
        --------
        >>> result = SetResult(PredictionSet(0.9), ("a", "b"), (0.25,) * 2, (20, 20), (19, 19), (0, 30, 10))
        >>> values = result.to_dict()
        >>> values["required"], values["mean_size"], values["coverage"]
        ({'coverage': 0.9, 'by_class': False}, 1.25, 0.95)
        """
        required = {"coverage": self.decision.coverage, "by_class": self.decision.by_class}
        names = ("passed", "m", "mean_size", "coverage", "unknown")
        lists = ("classes", "thresholds", "rows", "covered", "mean_sizes", "sizes")
        values = {name: getattr(self, name) for name in names} | {name: list(getattr(self, name)) for name in lists}
        return {"required": required} | values

    def claim(self, delta: float, classifier: str) -> str:
        """Sentence with the guarantee."""
        return sentences.sets_claim(self, delta)

    @property
    def details(self) -> list[str]:
        """Sentences on the computation of the sets."""
        return sentences.sets_details(self)

    @property
    def observed(self) -> str:
        """Sentence on the sizes and the coverage of the validation sets."""
        return sentences.sets_observed(self)

    def predict_set(self, probabilities: ArrayLike, y_pred: NDArray[Any] | None = None) -> BoolArray:
        """Compute prediction sets of new rows.

        Parameters
        ----------
        probabilities : array_like of shape (n, n_classes)
            Probabilities of the classes, of the same classifier as on the validation rows; -1 for classes that it was
            not trained with.
        y_pred : ndarray of int, shape (n,), optional
            Codes of the predicted classes, which are always included; by default the most probable classes.

        Returns
        -------
        ndarray of bool, shape (n, n_classes)
        """
        table = check_probabilities(probabilities, len(self.classes), NEVER_SEEN)
        return _predict_sets(table, np.array(self.thresholds), y_pred)


def calibrate_sets(
    decision: PredictionSet,
    probabilities: FloatArray,
    y_true: NDArray[Any],
    classes: Any,
    delta: float,
    y_pred: NDArray[Any] | None = None,
    unit: str = "example",
) -> SetResult:
    """Calibrate sets on validation rows.

    `probabilities`, on the grid, have shape (m, n_classes), with -1 for classes without training rows.  Codes in
    `y_true` that are not classes stand for labels that do not occur in training.

    Examples
    --------
    >>> probabilities = np.tile([[0.75, 0.25], [0.5, 0.5]], (50, 1))
    >>> result = calibrate_sets(PredictionSet(0.9), probabilities, np.tile([0, 1], 50), ["a", "b"], 0.05)
    >>> result.thresholds, result.sizes, result.mean_sizes
    ((0.5, 0.5), (0, 50, 50), (1.0, 2.0))
    """
    m, n_classes = probabilities.shape
    known = y_true < n_classes
    scores = np.full(m, NEVER_SEEN)
    scores[known] = probabilities[known, y_true[known]]
    if decision.by_class:
        thresholds = _class_thresholds(scores, y_true, n_classes, decision.coverage, delta)
    else:
        thresholds = np.full(n_classes, set_threshold(scores, decision.coverage, delta))
    sets = _predict_sets(probabilities, thresholds, y_pred)
    size, codes = sets.sum(axis=1), y_true[known]
    contained = sets[known, codes]
    rows = np.bincount(codes, minlength=n_classes)
    totals = np.bincount(codes, weights=size[known], minlength=n_classes)
    return SetResult(
        decision,
        tuple(map(to_python_scalar, classes)),
        tuple(thresholds.tolist()),
        tuple(rows.tolist()),
        tuple(np.bincount(codes[contained], minlength=n_classes).tolist()),
        tuple(np.bincount(size, minlength=n_classes + 1).tolist()),
        tuple(total / n if n else None for total, n in zip(totals.tolist(), rows.tolist(), strict=True)),
        int(np.count_nonzero(~known)),
        delta,
        unit,
    )


def _predict_sets(probabilities: FloatArray, thresholds: FloatArray, y_pred: NDArray[Any] | None) -> BoolArray:
    """Mask of classes that reach their threshold, and of predicted classes."""
    sets = probabilities >= thresholds
    codes = probabilities.argmax(axis=1) if y_pred is None else y_pred
    sets[np.arange(len(sets)), codes] = True
    return np.asarray(sets)


def set_threshold(scores: FloatArray, coverage: float, delta: float) -> float:
    """Threshold of the sets: the k-th smallest probability of the true class; -1 if there are too few rows.

    Examples
    --------
    >>> set_threshold(np.arange(1.0, 30.0), 0.9, 0.05), set_threshold(np.arange(1.0, 29.0), 0.9, 0.05)
    (1.0, -1.0)
    """
    misses = max_misses(scores.size, coverage, delta)
    return NEVER_SEEN if misses < 0 else float(np.partition(scores, misses)[misses])


def max_misses(m: int, coverage: float, delta: float) -> int:
    """Largest number of errors on `m` rows that passes the exact test of the error rate 1 - coverage; -1 if none.

    Examples
    --------
    >>> max_misses(28, 0.9, 0.05), max_misses(29, 0.9, 0.05), max_misses(1000, 0.9, 0.05)
    (-1, 0, 84)
    """
    most = max_error_rate("recall", coverage)
    passes, fails = -1, m
    while fails - passes > 1:
        middle = (passes + fails) // 2
        if clopper_pearson_upper(middle, m, delta) <= most:
            passes = middle
        else:
            fails = middle
    return passes


def _class_thresholds(
    scores: FloatArray, y_true: NDArray[Any], n_classes: int, coverage: float, delta: float
) -> FloatArray:
    """Threshold of each class from its validation rows; -1 for classes with too few.

    The classes share delta equally, except those with too few rows for any threshold.  This choice may depend on the
    numbers of rows, because the thresholds are valid conditionally on them.
    """
    rows, thresholds = np.bincount(y_true[y_true < n_classes], minlength=n_classes), np.full(n_classes, NEVER_SEEN)
    number = _max_certifiable_classes(rows, coverage, delta)
    for code in np.argsort(-rows, kind="stable")[:number].tolist():
        thresholds[code] = set_threshold(scores[y_true == code], coverage, divide_delta(delta, number))
    return thresholds


def _max_certifiable_classes(rows: Rows, coverage: float, delta: float) -> int:
    """Maximum number of classes (at least 1) that have enough rows for an equal share of delta.

    Examples
    --------
    >>> _max_certifiable_classes(np.array([100, 40, 5]), 0.9, 0.05)
    2
    >>> _max_certifiable_classes(np.array([100, 35, 35]), 0.9, 0.05)
    1
    """
    largest_first, most = np.sort(rows)[::-1].tolist(), max_error_rate("recall", coverage)
    for number in range(len(largest_first), 1, -1):
        if clopper_pearson_upper(0, largest_first[number - 1], divide_delta(delta, number)) <= most:
            return number
    return 1


def check_probabilities(probabilities: ArrayLike, n_classes: int, least: float = 0.0) -> FloatArray:
    """Convert to an array of shape (m, n_classes) of numbers from `least` to 1 on the grid, or raise.

    Examples
    --------
    >>> check_probabilities([[0.5, 0.6, 1.5]], 3)
    Traceback (most recent call last):
    ValueError: probabilities must lie in [0, 1], got 1.5
    """
    table = check_in_range("probabilities", probabilities, least, 1.0)
    if table.ndim != 2 or table.shape[1] != n_classes or len(table) == 0:
        raise ValueError(
            f"probabilities must have a row for each example and a column for each of {n_classes} classes, got shape "
            f"{table.shape}"
        )
    return round_to_grid(table)
