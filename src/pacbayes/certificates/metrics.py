r"""Simultaneous confidence bounds for the other metrics of a rule: recall, precision, F1, costs, ...

A condition on a row's own label and prediction ("is of class c", "is predicted as c") selects validation rows.  Given
this selection, the predictions of a fixed rule for these rows are independent and distributed as for new examples in
the condition: counts are binomial, for every number of rows, equation (condition) of docs/mathematics.md.  Costs and
group means have betting confidence bounds, equation (bet); the error rates of all classes together a joint one,
equation (joint-bet).

The main bound of a rule with the level `l` has :math:`(1 - s)\, l`, where `s` is the share for metrics.  Each of `Q`
metrics has :math:`s\, l / Q`, and each of its `C` classes :math:`s\, l / (Q C)`.  Over all rules these levels sum to at
most :math:`\delta`, equation (by-class).  With slices, half of a metric's level is for the slices: their number comes
from the rows, so class bounds whose level depended on it would have a random level that is correlated with the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import EPS, FloatArray, Labels, Rows, round_down, round_up
from pacbayes._utils.checks import check_number, did_you_mean, require
from pacbayes._utils.seeds import Purpose, make_rng
from pacbayes.bounds.auc import auc_lower, count_ordered_pairs
from pacbayes.bounds.bets import DEFAULT_BET, best_bet, best_bets, bet_upper
from pacbayes.certificates.levels import clopper_pearson_lower, clopper_pearson_upper, level_per_bound, to_python_scalar
from pacbayes.certificates.metric_bounds import (
    AUC,
    BALANCED,
    CLASS,
    COST,
    LOWER,
    SLICE,
    UPPER,
    ClassErrors,
    Cost,
    MetricBound,
)
from pacbayes.data.split import GROUP, Split
from pacbayes.ensemble.validation import ValidationPredictions, average_by_unit, divide_arrays_up


class MetricPlan(Protocol):
    """Attributes of `Plan` used by metrics; `Plan` itself imports this module."""

    @property
    def metrics(self) -> tuple[MetricSpec, ...]:
        """The requested metrics."""

    @property
    def share(self) -> float:
        """The share of the level of each rule that is used for metrics."""

    @property
    def split(self) -> Split:
        """The training and validation rows, and the unit of independent draws."""

    @property
    def slices(self) -> tuple[Any, ...]:
        """The values of the slice column."""

    @property
    def slice_column(self) -> str:
        """The name of the slice column."""


@dataclass(frozen=True, eq=False)
class MetricSpec:
    """A requested metric with its parameters, which are fixed before validation.

    Examples
    --------
    >>> MetricSpec("recall", of="ill").n_bounds(["ill", "well"]), MetricSpec("recall").n_bounds(["ill", "well"])
    (1, 2)
    """

    #: A key of `METRICS`.
    name: str
    #: The single class to bound; None for every class.
    of: Any = None
    #: The cost matrix; None for other metrics.
    cost: Cost | None = None
    #: Bets fixed on training rows: one for costs; one per class for a joint bound on all classes.
    bets: tuple[float, ...] = ()

    def validate(self, classes: Labels) -> None:
        """Raise if the metric does not match the classes."""
        if self.cost is not None:
            self.cost.validate(classes)
        known = [to_python_scalar(name) for name in classes]
        require(self.of is None or self.of in known, "MetricSpec.of", f"must be one of the classes {known}")
        fits = len(self.bets) in (0, len(known)) or self.name == COST
        require(fits, "MetricSpec.bets", "must be one for each class")

    def n_bounds(self, classes: Sequence[Any] | Labels) -> int:
        """Count the bounds that share the level of the metric, without slices."""
        two = self.name == AUC and len(classes) == 2
        return len(classes) if METRICS[self.name].by_class and self.of is None and not two else 1


def parse_metrics(metrics: Any, pos_label: Any = None) -> tuple[MetricSpec, ...]:
    """Parse the parameter `metrics`, without bets.

    Examples
    --------
    >>> [spec.name for spec in parse_metrics(("recall", Cost([[0, 1], [1, 0]], "ab")))]
    ['recall', 'cost']
    >>> parse_metrics(("recal",))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: metrics must be among error, recall, ... and Cost(matrix, classes), got 'recal'; did you mean 'recall'?
    """
    if isinstance(metrics, str | Cost) or not isinstance(metrics, tuple | list):
        raise TypeError(f"metrics must be a tuple of names and costs, such as ('recall', 'f1'), got {metrics!r}")
    specs = []
    for metric in metrics:
        if isinstance(metric, Cost):
            specs.append(MetricSpec(COST, cost=metric, bets=(DEFAULT_BET,)))
            continue
        names = [name for name in METRICS if name != COST]
        if not isinstance(metric, str) or metric not in names:
            hint = did_you_mean([metric], names) if isinstance(metric, str) else ""
            raise ValueError(
                f"metrics must be among {', '.join(names)} and Cost(matrix, classes), got {metric!r}{hint}"
            )
        specs.append(MetricSpec(metric, of=pos_label if METRICS[metric].single_class else None))
    names = [spec.name for spec in specs if spec.name != COST]
    if len(set(names)) < len(names):
        raise ValueError(f"metrics must not contain duplicates, got {metrics!r}")
    return tuple(specs)


def check_classes(metrics: Any, pos_label: Any, classes: Labels) -> None:
    """Raise if `metrics` or `pos_label` do not match the classes.

    Examples
    --------
    >>> check_classes(("recall",), "sick", np.array(["ill", "well"]))
    Traceback (most recent call last):
    ValueError: pos_label must be one of the classes ['ill', 'well'], got 'sick'
    """
    known = [to_python_scalar(name) for name in classes]
    if pos_label is not None and to_python_scalar(pos_label) not in known:
        raise ValueError(f"pos_label must be one of the classes {known}, got {pos_label!r}")
    for spec in parse_metrics(metrics, pos_label):
        spec.validate(classes)


def is_recall_comparison(risk: Any, pos_label: Any) -> bool:
    """Whether `risk` is the recall of a class; raise unless it is "recall" or "error".

    Examples
    --------
    >>> is_recall_comparison("error", None), is_recall_comparison("recall", "ill")
    (False, True)
    >>> is_recall_comparison("f1", "ill")
    Traceback (most recent call last):
    ValueError: risk must be 'error' or 'recall', got 'f1'
    """
    if risk not in ("error", "recall"):
        raise ValueError(f"risk must be 'error' or 'recall', got {risk!r}")
    if (risk == "recall") == (pos_label is None):
        raise ValueError("pos_label must be set when risk='recall' and must be None when risk='error'")
    return bool(risk == "recall")


def check_metrics_share(share: Any) -> float:
    """Validate `metrics_share`: a number strictly between 0 and 1.

    Examples
    --------
    >>> check_metrics_share(1)
    Traceback (most recent call last):
    ValueError: metrics_share must lie strictly between 0 and 1, got 1
    """
    number = check_number("metrics_share", share, "a number between 0 and 1")
    if not 0.0 < number < 1.0:
        raise ValueError(f"metrics_share must lie strictly between 0 and 1, got {share!r}")
    return number


# -- counts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RulePredictions:
    """Predictions of a rule for the validation rows, with a metric to bound and the level of the rule."""

    spec: MetricSpec
    y_pred: NDArray[Any]
    plan: MetricPlan
    predictions: ValidationPredictions
    #: The level of the rule, including the part used by its main bound.
    level: float

    def level_per_bound(self, n_bounds: int) -> float:
        """Level of each of `n_bounds` bounds that share the level of the metric."""
        return level_per_bound(self.level, self.plan.share, len(self.plan.metrics) * n_bounds)

    @property
    def unit(self) -> str:
        """The unit of independent draws."""
        return self.plan.split.unit

    def counts(self) -> ClassCounts:
        """Count the rows by class."""
        predictions, number = self.predictions, self.predictions.n_classes
        actual = predictions.count_codes(predictions.y_true, number)[:number]
        return ClassCounts(
            hits=predictions.count_codes(predictions.y_true, number, self.y_pred == predictions.y_true)[:number],
            actual=actual,
            predicted=predictions.count_codes(self.y_pred, number)[:number],
            n=int(actual.sum()),
        )


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Numbers of true positives, actual rows and predicted rows of each class, and the total number of rows."""

    hits: Rows
    actual: Rows
    predicted: Rows
    n: int


_BoundMetric = Callable[[RulePredictions], list[MetricBound]]
# Computes numerator and denominator of a rate for every class.
_Condition = Callable[[ClassCounts], tuple[Rows, Rows]]


def f1_of_jaccard(index: float) -> float:
    """F1 = 2J/(1 + J), rounded down; it increases with the Jaccard index: equation (jaccard).

    Examples
    --------
    >>> f1_of_jaccard(0.0), round(f1_of_jaccard(0.5), 6)
    (0.0, 0.666667)
    """
    return max(round_down(2.0 * index / (1.0 + index), 4.0), 0.0)


def _f1_lower(count: int, rows: int, level: float) -> float:
    return f1_of_jaccard(clopper_pearson_lower(count, rows, level))


def _lower_bounds_by_class(condition: _Condition, lower: Callable[[int, int, float], float]) -> _BoundMetric:
    """Make a metric that has a lower bound for every class."""

    def bounds(rule: RulePredictions) -> list[MetricBound]:
        spec, classes = rule.spec, rule.predictions.classes
        counts, rows = condition(rule.counts())
        level = rule.level_per_bound(spec.n_bounds(classes))
        return [
            MetricBound(spec.name, name, LOWER, lower(k, n, level), k, n, CLASS, unit=rule.unit, level=level)
            for name, k, n in zip(map(to_python_scalar, classes), counts.tolist(), rows.tolist(), strict=True)
            if spec.of in (None, name)
        ]

    return bounds


def _bound_errors(rule: RulePredictions) -> list[MetricBound]:
    """Clopper-Pearson bounds on the error rate of every class and slice; betting bounds for groups."""
    predictions, slices = rule.predictions, rule.plan.slices
    if rule.unit == GROUP:
        return _bound_errors_of_groups(rule)
    kinds = 2 if slices else 1
    class_level, slice_level = (
        rule.level_per_bound(kinds * max(len(names), 1)) for names in (predictions.classes, slices)
    )
    also = ("false positives", "false negatives") if predictions.n_classes == 2 else ("",) * predictions.n_classes
    counts = rule.counts()
    bounds = [
        MetricBound(
            "error",
            to_python_scalar(name),
            UPPER,
            clopper_pearson_upper(n - k, n, class_level),
            n - k,
            n,
            CLASS,
            words,
            unit=rule.unit,
            level=class_level,
        )
        for name, words, k, n in zip(
            predictions.classes, also, counts.hits.tolist(), counts.actual.tolist(), strict=True
        )
    ]
    if not slices:
        return bounds
    assert predictions.slices is not None
    rows = np.bincount(predictions.slices, minlength=len(slices)).tolist()
    wrong = np.bincount(predictions.slices[rule.y_pred != predictions.y_true], minlength=len(slices)).tolist()
    common: dict[str, Any] = {"kind": SLICE, "column": rule.plan.slice_column, "unit": rule.unit, "level": slice_level}
    return bounds + [
        MetricBound("error", name, UPPER, clopper_pearson_upper(k, n, slice_level), k, n, **common)
        for name, k, n in zip(slices, wrong, rows, strict=True)
    ]


def _bound_errors_of_groups(rule: RulePredictions) -> list[MetricBound]:
    """Bounds on the per-group error rate of every class and slice, averaged over groups that contain it."""
    predictions, slices, column = rule.predictions, rule.plan.slices, rule.plan.slice_column
    kinds, classes = 2 if slices else 1, [*map(to_python_scalar, predictions.classes)]
    bets = rule.spec.bets or (DEFAULT_BET,) * len(classes)
    parts: list[tuple[str, str, Any, Sequence[Any], Sequence[float]]] = [(CLASS, "", predictions.y_true, classes, bets)]
    if slices:
        parts.append((SLICE, column, predictions.slices, slices, (DEFAULT_BET,) * len(slices)))
    bounds = []
    for kind, name, codes, labels, label_bets in parts:
        level = rule.level_per_bound(kinds * len(labels))
        for code, (label, bet) in enumerate(zip(labels, label_bets, strict=True)):
            losses = _group_means(rule.y_pred != predictions.y_true, codes == code, rule.plan.split)
            common: dict[str, Any] = {"kind": kind, "column": name, "unit": GROUP, "level": level}
            total = float(f"{losses.sum():.12g}")
            bounds.append(
                MetricBound("error", label, UPPER, bet_upper(losses, bet, level), total, losses.size, **common)
            )
    return bounds


def _group_means(wrong: NDArray[np.bool_], where: NDArray[np.bool_], split: Split) -> FloatArray:
    """Error rate of each validation group on the rows of a mask, rounded up; groups without such rows are omitted."""
    assert split.units is not None
    groups = split.units[split.validation_rows]
    sizes = np.bincount(groups[where], minlength=1)
    present = sizes > 0
    errors = np.bincount(groups[where & wrong], minlength=sizes.size)
    return divide_arrays_up(errors[present], sizes[present]) if present.any() else np.empty(0)


def _bound_youden(rule: RulePredictions) -> list[MetricBound]:
    """Lower bounds of recall + specificity - 1 for every class; each of the two uses half of the level."""
    spec, classes, counts = rule.spec, rule.predictions.classes, rule.counts()
    level = rule.level_per_bound(2 * spec.n_bounds(classes))
    others = counts.n - counts.actual
    rejected = others - counts.predicted + counts.hits
    columns = (column.tolist() for column in (counts.hits, counts.actual, rejected, others))
    bounds = []
    for name, hits, true, right, rest in zip(map(to_python_scalar, classes), *columns, strict=True):
        # The index is 0 for random guessing, and at least -1.
        index = clopper_pearson_lower(hits, true, level) + clopper_pearson_lower(right, rest, level) - 1.0
        bound = max(index - 8.0 * EPS, -1.0)
        if spec.of in (None, name):
            bounds.append(
                MetricBound(
                    "youden", name, LOWER, bound, hits + right, counts.n, CLASS, unit=rule.unit, level=2 * level
                )
            )
    return bounds


def _bound_auc(rule: RulePredictions) -> list[MetricBound]:
    """Lower bounds of the AUC of each class against the rest; for two classes, of the positive class only."""
    scores, spec, classes = rule.predictions.probabilities, rule.spec, rule.predictions.classes
    if scores is None:
        return []
    names, y_true = [*map(to_python_scalar, classes)], rule.predictions.y_true
    # With two classes, the AUC is the same for both.
    of = names[1] if spec.of is None and len(names) == 2 else spec.of
    level, bounds = rule.level_per_bound(spec.n_bounds(classes)), []
    for code, name in enumerate(names):
        if of in (None, name):
            positive, negative = (scores[mask, code] for mask in (y_true == code, y_true != code))
            rng = make_rng(rule.plan.split.seed, Purpose.PAIRS)
            bound = auc_lower(positive, negative, level, rng)
            ordered, pairs = count_ordered_pairs(positive, negative), positive.size * negative.size
            bounds.append(MetricBound(AUC, name, LOWER, bound, ordered, pairs, CLASS, unit=rule.unit, level=level))
    return bounds


def _bound_balanced_error(rule: RulePredictions) -> list[MetricBound]:
    """Upper bound of the mean of the classes' error rates."""
    counts, classes = rule.counts(), rule.predictions.classes
    wrong = counts.actual - counts.hits
    parts = ClassErrors(
        tuple(map(to_python_scalar, classes)),
        tuple(wrong.tolist()),
        tuple(counts.actual.tolist()),
        rule.level_per_bound(1),
        rule.spec.bets,
    )
    bound = parts.upper([1.0 / classes.size] * classes.size)
    return [
        MetricBound(
            BALANCED, None, UPPER, bound, int(wrong.sum()), counts.n, unit=rule.unit, parts=parts, level=parts.level
        )
    ]


def _bound_cost(rule: RulePredictions) -> list[MetricBound]:
    """Betting confidence bound of the mean cost, over examples or over groups."""
    cost, predictions, split = rule.spec.cost, rule.predictions, rule.plan.split
    assert cost is not None
    table = cost.losses(predictions.labels, predictions.n_classes)
    losses = table[predictions.y_true, rule.y_pred]
    if split.unit == GROUP:
        values, counts = np.unique(average_by_unit(losses, split), return_counts=True)
    else:
        values, places = np.unique(losses, return_inverse=True)
        counts = predictions.count_codes(places, values.size)
    level = rule.level_per_bound(1)
    mean = bet_upper(values, rule.spec.bets[0], level, counts)
    bound = cost.largest if mean == 1.0 else min(round_up(mean * cost.largest), cost.largest)
    # The total is not rounded up, because it is only displayed.
    exact = float(sum(Fraction(value) * count for value, count in zip(values.tolist(), counts.tolist(), strict=True)))
    total = float(f"{exact * cost.largest:.12g}")
    return [MetricBound(COST, None, UPPER, bound, total, int(counts.sum()), unit=rule.unit, level=level)]


# -- bets, chosen on training rows -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OutOfFoldPredictions:
    """Out-of-fold predictions of the primary rule for training rows, and the size of the validation set."""

    y_pred: NDArray[Any]
    y_true: NDArray[Any]
    labels: Labels
    n_classes: int
    #: The groups of the training rows; None if rows are independent.
    groups: Rows | None
    #: The number of validation rows, or groups.
    m: int

    def means(self, losses: FloatArray) -> FloatArray:
        """Losses of the sampling units: of the rows, or means of the groups."""
        if self.groups is None:
            return losses
        _, places, sizes = np.unique(self.groups, return_inverse=True, return_counts=True)
        return np.minimum(np.bincount(places, weights=losses) / sizes, 1.0)

    def bet(self, level: float) -> float:
        """Best bet on the rule's error rate."""
        return best_bet(self.means((self.y_pred != self.y_true).astype(np.float64)), self.m, level)


def _choose_error_bets(
    spec: MetricSpec, out_of_fold: OutOfFoldPredictions | None, classes: Labels, m: int, level: float
) -> MetricSpec:
    """Choose the bet of each class on the training groups that contain it."""
    if out_of_fold is None or out_of_fold.groups is None:
        return spec
    wrong, number = out_of_fold.y_pred != out_of_fold.y_true, max(np.unique(out_of_fold.groups).size, 1)
    bets = []
    for code in range(int(classes.size)):
        where = out_of_fold.y_true == code
        losses = replace(out_of_fold, groups=out_of_fold.groups[where]).means(wrong[where].astype(np.float64))
        bets.append(best_bet(losses, round(m * losses.size / number), level / classes.size))
    return replace(spec, bets=tuple(bets))


def _choose_cost_bet(
    spec: MetricSpec, out_of_fold: OutOfFoldPredictions | None, classes: Labels, m: int, level: float
) -> MetricSpec:
    if out_of_fold is None:
        return spec
    assert spec.cost is not None
    table = spec.cost.losses(out_of_fold.labels, out_of_fold.n_classes)
    losses = out_of_fold.means(table[out_of_fold.y_true, out_of_fold.y_pred])
    return replace(spec, bets=(best_bet(losses, m, level),))


# Assumed error rate of every class for bets on prefit classifiers.
_EXPECTED = 0.1


def _choose_balanced_bets(
    spec: MetricSpec, out_of_fold: OutOfFoldPredictions | None, classes: Labels, m: int, level: float
) -> MetricSpec:
    """Choose a joint bet on all classes if its bound is expected to be smaller than with separate bounds."""
    number = int(classes.size)
    if out_of_fold is None:
        rows = [max(m // number, 1)] * number
        wrong = [_EXPECTED * n for n in rows]
    else:
        true = np.bincount(out_of_fold.y_true, minlength=number)
        missed = np.bincount(out_of_fold.y_true[out_of_fold.y_pred != out_of_fold.y_true], minlength=number)
        scale = m / max(out_of_fold.y_true.size, 1)
        rows, wrong = [round(scale * n) for n in true.tolist()], [scale * k for k in missed.tolist()]
    shares = [min(k / n, 1.0) if n > 0 else 0.0 for n, k in zip(rows, wrong, strict=True)]
    losses = [np.repeat([0.0, 1.0], [round(1000 * (1.0 - share)), round(1000 * share)]) for share in shares]
    equal = [1.0 / number] * number
    bets = best_bets([values if n > 0 else [] for values, n in zip(losses, rows, strict=True)], rows, level, equal)
    errors = [min(round(k), n) for n, k in zip(rows, wrong, strict=True)]
    joint = ClassErrors(tuple(classes), tuple(errors), tuple(rows), level, tuple(bets))
    better = joint.upper(equal) < replace(joint, bets=()).upper(equal)
    return replace(spec, bets=tuple(bets)) if better else spec


def choose_bets(
    specs: tuple[MetricSpec, ...],
    out_of_fold: OutOfFoldPredictions | None,
    classes: Labels,
    m: int,
    level: float,
    share: float,
) -> tuple[MetricSpec, ...]:
    """Choose the bets of all metrics on training rows, for the level of the primary rule.

    `out_of_fold` is None for prefit classifiers, whose training rows are unknown.
    """
    metric_level = level_per_bound(level, share, max(len(specs), 1))
    chosen = []
    for spec in specs:
        choose = METRICS[spec.name].choose_bets
        if choose is not None and metric_level > 0.0:
            spec = choose(spec, out_of_fold, classes, m, metric_level)
        chosen.append(spec)
    return tuple(chosen)


# -- all metrics -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Metric:
    """Definition of a metric; new metrics are added to `METRICS` and `sentences.WORDS`."""

    #: Computes the bounds from a rule's predictions.
    bounds: _BoundMetric
    #: Whether there is a bound for every class.
    by_class: bool = True
    #: Whether `pos_label` restricts it to a single class.
    single_class: bool = True
    #: Whether groups are supported.
    groups: bool = False
    #: Chooses bets on training rows.
    choose_bets: Callable[[MetricSpec, OutOfFoldPredictions | None, Labels, int, float], MetricSpec] | None = None


#: All metrics by name.
METRICS: dict[str, Metric] = {
    "error": Metric(_bound_errors, single_class=False, groups=True, choose_bets=_choose_error_bets),
    "recall": Metric(_lower_bounds_by_class(lambda c: (c.hits, c.actual), clopper_pearson_lower)),
    "precision": Metric(_lower_bounds_by_class(lambda c: (c.hits, c.predicted), clopper_pearson_lower)),
    "f1": Metric(_lower_bounds_by_class(lambda c: (c.hits, c.actual + c.predicted - c.hits), _f1_lower)),
    "specificity": Metric(
        _lower_bounds_by_class(lambda c: (c.n - c.actual - c.predicted + c.hits, c.n - c.actual), clopper_pearson_lower)
    ),
    BALANCED: Metric(_bound_balanced_error, by_class=False, single_class=False, choose_bets=_choose_balanced_bets),
    "youden": Metric(_bound_youden),
    AUC: Metric(_bound_auc),
    COST: Metric(_bound_cost, by_class=False, single_class=False, groups=True, choose_bets=_choose_cost_bet),
}


def bound_metrics(
    y_pred: NDArray[Any], plan: MetricPlan, predictions: ValidationPredictions, level: float
) -> tuple[MetricBound, ...]:
    """Bound all requested metrics of a rule with this level, from its predictions for the validation rows.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from pacbayes.data.split import make_validation_split
    >>> y_true = np.repeat(np.array([0, 1], dtype=np.uint8), [60, 40])
    >>> y_pred = np.where(np.isin(np.arange(100), [1, 2, 3, 70, 80]), 1 - y_true, y_true)
    >>> predictions = ValidationPredictions(np.array(["healthy", "ill"]), 2, y_true[None], y_true)
    >>> requested = {"metrics": parse_metrics(("error",)), "share": 0.2, "slices": (), "slice_column": ""}
    >>> plan = SimpleNamespace(split=make_validation_split(100), **requested)
    >>> for bound in bound_metrics(y_pred, plan, predictions, 0.05):
    ...     print(bound)
    class 'healthy' (false positives): error rate at most 17.2 %; 3 errors on 60 validation rows
    class 'ill' (false negatives): error rate at most 21.2 %; 2 errors on 40 validation rows
    """
    bounds = []
    for spec in plan.metrics:
        bounds += METRICS[spec.name].bounds(RulePredictions(spec, y_pred, plan, predictions, level))
    return tuple(bounds)
