r"""Limits of a rule's other risks (recall, precision, F1, costs, ...) that hold at once, although the rule was chosen.

Which validation rows are in a condition that a row's own label and answer decide ("is of class c", "was answered c") is
drawn with them.  Given these rows, what a fixed rule makes of each is independent of the others and distributed as
for new examples in the condition: counts are binomial, for every number of rows, equation (condition) of
docs/mathematics.md.  Costs and group means have the limit of a bet, equation (bet), errors of classes at once that of a
joint one, equation (joint-bet).

A rule with the level `l` has its main bound at :math:`(1 - s)\, l`, with the share `s` for limits.  Of `Q` questions
each has :math:`s\, l / Q`, and each of the `C` classes in it :math:`s\, l / (Q C)`.  Over all rules these levels sum to
at most :math:`\delta`, equation (by-class).  With slices half of a question's level is for the slices: their number
comes from the rows, and a level of class limits that depended on it would be random, and related to the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import EPS, FloatArray, Labels, Rows, round_down, round_up
from pacbayes._utils.checks import check_number, did_you_mean, need
from pacbayes.bounds.bets import DEFAULT_BET, best_bet, best_bets, bet_upper
from pacbayes.certificates.levels import level_per_bound, lower_of, plain, upper_of
from pacbayes.certificates.metric_bounds import (
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
from pacbayes.ensemble.validation import ValidationPredictions, unit_losses


class Planned(Protocol):
    """What limits need of a `Plan`, which stands on this module."""

    @property
    def metrics(self) -> tuple[MetricSpec, ...]:
        """All questions."""

    @property
    def share(self) -> float:
        """The share of every rule's level that limits have."""

    @property
    def split(self) -> Split:
        """Which rows validate, and what was drawn."""

    @property
    def slices(self) -> tuple[Any, ...]:
        """The values of the column of slices."""

    @property
    def slice_column(self) -> str:
        """What the column is called."""


@dataclass(frozen=True, eq=False)
class MetricSpec:
    """One risk that limits are asked of, with all that is fixed for it before a validation row is looked at.

    Examples
    --------
    >>> MetricSpec("recall", of="ill").number(["ill", "well"]), MetricSpec("recall").number(["ill", "well"])
    (1, 2)
    """

    #: A key of `METRICS`.
    name: str
    #: The only class that is asked about; None for every one.
    of: Any = None
    #: The costs, where these are asked about.
    cost: Cost | None = None
    #: Bets fixed on training rows: one for costs, one per class where classes are bet on together.
    bets: tuple[float, ...] = ()

    def check(self, classes: Labels) -> None:
        """Raise unless it can be asked where there are these classes."""
        if self.cost is not None:
            self.cost.check(classes)
        known = [plain(name) for name in classes]
        need(self.of is None or self.of in known, "MetricSpec.of", f"must be one of the classes {known}")
        fits = len(self.bets) in (0, len(known)) or self.name == COST
        need(fits, "MetricSpec.bets", "must be one for each class")

    def number(self, classes: Sequence[Any] | Labels) -> int:
        """Return how many limits share its level, slices aside."""
        return len(classes) if METRICS[self.name].by_class and self.of is None else 1


def parse_metrics(metrics: Any, pos_label: Any = None) -> tuple[MetricSpec, ...]:
    """Return the questions that a user's `metrics` stand for, nothing fixed yet, or raise.

    Examples
    --------
    >>> [question.name for question in parse_metrics(("recall", Cost([[0, 1], [1, 0]], "ab")))]
    ['recall', 'cost']
    >>> parse_metrics(("recal",))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: limits must be among error, recall, ... and Cost(matrix, classes), got 'recal'; did you mean 'recall'?
    """
    if isinstance(metrics, str | Cost) or not isinstance(metrics, tuple | list):
        raise TypeError(f"limits must be a tuple of names and costs, such as ('recall', 'f1'), got {metrics!r}")
    found = []
    for one in metrics:
        if isinstance(one, Cost):
            found.append(MetricSpec(COST, cost=one, bets=(DEFAULT_BET,)))
            continue
        names = [name for name in METRICS if name != COST]
        if not isinstance(one, str) or one not in names:
            like = did_you_mean([one], names) if isinstance(one, str) else ""
            raise ValueError(f"limits must be among {', '.join(names)} and Cost(matrix, classes), got {one!r}{like}")
        found.append(MetricSpec(one, of=pos_label if METRICS[one].of_one and pos_label is not None else None))
    kinds = [question.name for question in found if question.name != COST]
    if len(set(kinds)) < len(kinds):
        raise ValueError(f"limits must name each risk once, got {metrics!r}")
    return tuple(found)


def check_classes(metrics: Any, pos_label: Any, classes: Labels) -> None:
    """Raise unless what is asked, and the class that matters, can be asked about where there are these classes.

    Examples
    --------
    >>> check_classes(("recall",), "sick", np.array(["ill", "well"]))
    Traceback (most recent call last):
    ValueError: pos_label must be one of the classes ['ill', 'well'], got 'sick'
    """
    known = [plain(name) for name in classes]
    if pos_label is not None and plain(pos_label) not in known:
        raise ValueError(f"pos_label must be one of the classes {known}, got {pos_label!r}")
    for question in parse_metrics(metrics, pos_label):
        question.check(classes)


def check_compared(risk: Any, pos_label: Any) -> bool:
    """Return whether recall of a class is asked about, where only it and errors are proved; raise for other risks.

    Examples
    --------
    >>> check_compared("error", None), check_compared("recall", "ill")
    (False, True)
    >>> check_compared("f1", "ill")
    Traceback (most recent call last):
    ValueError: risk must be 'error' or 'recall' here, got 'f1': of other risks nothing is proved where several
    classifiers are looked at together
    """
    if risk not in ("error", "recall"):
        raise ValueError(
            f"risk must be 'error' or 'recall' here, got {risk!r}: of other risks nothing is proved where several "
            "classifiers are looked at together"
        )
    if (risk == "recall") == (pos_label is None):
        raise ValueError("pos_label must be the class whose recall is meant, and be given for risk='recall' alone")
    return bool(risk == "recall")


def check_metrics_share(share: Any) -> float:
    """Return the share of a rule's level that its limits have, or raise unless it lies in (0, 1).

    Examples
    --------
    >>> check_metrics_share(1)
    Traceback (most recent call last):
    ValueError: metrics_share must lie strictly between 0 and 1, got 1
    """
    found = check_number("metrics_share", share, "a number between 0 and 1")
    if not 0.0 < found < 1.0:
        raise ValueError(f"metrics_share must lie strictly between 0 and 1, got {share!r}")
    return found


# -- what is counted ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Observed:
    """What one rule said of the validation rows, beside what is asked of it, and the level of the whole question."""

    question: MetricSpec
    y_pred: NDArray[Any]
    plan: Planned
    predictions: ValidationPredictions
    #: Of the rule, with what its main bound has.
    level: float

    def level_per_bound(self, number: int) -> float:
        """Return the level of each of so many limits that share the question's."""
        return level_per_bound(self.level, self.plan.share, len(self.plan.metrics) * number)

    @property
    def unit(self) -> str:
        """What was drawn."""
        return self.plan.split.unit

    def counts(self) -> Counts:
        """Return the rows by class."""
        predictions, number = self.predictions, self.predictions.n_classes
        right = self.y_pred == predictions.y_true
        return Counts(
            predictions.tally(predictions.y_true, number, right)[:number],
            actual := predictions.tally(predictions.y_true, number)[:number],
            predictions.tally(self.y_pred, number)[:number],
            int(actual.sum()),
        )


@dataclass(frozen=True, eq=False)
class Counts:
    """Validation rows by class: of the class and answered so, of the class, answered so; and all of them."""

    hits: Rows
    actual: Rows
    predicted: Rows
    n: int


_Limits = Callable[[Observed], list[MetricBound]]
# What is counted in a condition, and the rows in it, for every class.
_Condition = Callable[[Counts], tuple[Rows, Rows]]


def f1_of_jaccard(index: float) -> float:
    """Return F1 = 2J/(1 + J), rounded down; it increases with Jaccard's index: equation (jaccard).

    Examples
    --------
    >>> f1_of_jaccard(0.0), round(f1_of_jaccard(0.5), 6)
    (0.0, 0.666667)
    """
    return max(round_down(2.0 * index / (1.0 + index), 4.0), 0.0)


def _lower_f1(count: int, rows: int, level: float) -> float:
    return f1_of_jaccard(lower_of(count, rows, level))


def _by_class(condition: _Condition, lower: Callable[[int, int, float], float]) -> _Limits:
    """Return the function that gives a lower limit for every class, each from the rows in a condition."""

    def metrics(observed: Observed) -> list[MetricBound]:
        question, classes = observed.question, observed.predictions.classes
        counts, rows = condition(observed.counts())
        level = observed.level_per_bound(question.number(classes))
        return [
            MetricBound(question.name, name, LOWER, lower(k, n, level), k, n, CLASS, unit=observed.unit)
            for name, k, n in zip(map(plain, classes), counts.tolist(), rows.tolist(), strict=True)
            if question.of in (None, name)
        ]

    return metrics


def _errors(observed: Observed) -> list[MetricBound]:
    """Return limits of the errors in every class, and in every slice."""
    predictions, names = observed.predictions, observed.plan.slices
    kinds = 2 if names else 1
    level, own = (observed.level_per_bound(kinds * max(len(one), 1)) for one in (predictions.classes, names))
    also = ("false positives", "false negatives") if predictions.n_classes == 2 else ("",) * predictions.n_classes
    counts = observed.counts()
    found = [
        MetricBound("error", plain(name), UPPER, upper_of(n - k, n, level), n - k, n, CLASS, words, unit=observed.unit)
        for name, words, k, n in zip(
            predictions.classes, also, counts.hits.tolist(), counts.actual.tolist(), strict=True
        )
    ]
    if not names:
        return found
    assert predictions.slices is not None
    rows = np.bincount(predictions.slices, minlength=len(names)).tolist()
    wrong = np.bincount(predictions.slices[observed.y_pred != predictions.y_true], minlength=len(names)).tolist()
    column = observed.plan.slice_column
    return found + [
        MetricBound("error", name, UPPER, upper_of(k, n, own), k, n, SLICE, column=column, unit=observed.unit)
        for name, k, n in zip(names, wrong, rows, strict=True)
    ]


def _youden(observed: Observed) -> list[MetricBound]:
    """Return lower limits of recall + specificity - 1 of every class; each of the two has half of the level."""
    question, classes, counts = observed.question, observed.predictions.classes, observed.counts()
    level = observed.level_per_bound(2 * question.number(classes))
    others = counts.n - counts.actual
    rejected = others - counts.predicted + counts.hits
    found = []
    for name, hits, true, right, rest in zip(
        map(plain, classes), *(one.tolist() for one in (counts.hits, counts.actual, rejected, others)), strict=True
    ):
        # An index of 0 is that of an answer by lot, and one below is no use to anybody: it may be as low as -1.
        index = lower_of(hits, true, level) + lower_of(right, rest, level) - 1.0
        bound = max(index - 8.0 * EPS, -1.0)
        if question.of in (None, name):
            found.append(MetricBound("youden", name, LOWER, bound, hits + right, counts.n, CLASS, unit=observed.unit))
    return found


def _balanced(observed: Observed) -> list[MetricBound]:
    """Return the limit of the mean of the classes' errors."""
    counts, classes = observed.counts(), observed.predictions.classes
    wrong = counts.actual - counts.hits
    parts = ClassErrors(
        tuple(map(plain, classes)),
        tuple(wrong.tolist()),
        tuple(counts.actual.tolist()),
        observed.level_per_bound(1),
        observed.question.bets,
    )
    bound = parts.upper([1.0 / classes.size] * classes.size)
    return [MetricBound(BALANCED, None, UPPER, bound, int(wrong.sum()), counts.n, unit=observed.unit, parts=parts)]


def _costs(observed: Observed) -> list[MetricBound]:
    """Return the limit of the mean cost, of examples or of groups."""
    question, predictions, split = observed.question, observed.predictions, observed.plan.split
    assert question.cost is not None
    table = question.cost.losses(predictions.labels, predictions.n_classes)
    losses = table[predictions.y_true, observed.y_pred]
    if split.unit == GROUP:
        values, counts = np.unique(unit_losses(losses, split), return_counts=True)
    else:
        values, places = np.unique(losses, return_inverse=True)
        counts = predictions.tally(places, values.size)
    mean = bet_upper(values, question.bets[0], observed.level_per_bound(1), counts)
    bound = question.cost.largest if mean == 1.0 else min(round_up(mean * question.cost.largest), question.cost.largest)
    # What is only shown is not rounded up.
    exact = float(sum(Fraction(value) * count for value, count in zip(values.tolist(), counts.tolist(), strict=True)))
    total = float(f"{exact * question.cost.largest:.12g}")
    return [MetricBound(COST, None, UPPER, bound, total, int(counts.sum()), unit=observed.unit)]


# -- what is fixed on training rows ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OutOfFoldPredictions:
    """What the proposed rule said of training rows when trained without them, and how many will validate it."""

    y_pred: NDArray[Any]
    y_true: NDArray[Any]
    labels: Labels
    n_classes: int
    #: The training rows' groups, None where every row is a draw of its own.
    groups: Rows | None
    #: The validation rows, or groups, to come.
    m: int

    def means(self, losses: FloatArray) -> FloatArray:
        """Return the losses of rows, or the mean of each group."""
        if self.groups is None:
            return losses
        _, places, sizes = np.unique(self.groups, return_inverse=True, return_counts=True)
        return np.minimum(np.bincount(places, weights=losses) / sizes, 1.0)

    def bet(self, level: float) -> float:
        """Return the bet for the errors of the rule."""
        return best_bet(self.means((self.y_pred != self.y_true).astype(np.float64)), self.m, level)


def _fix_costs(
    question: MetricSpec, seen: OutOfFoldPredictions | None, classes: Labels, m: int, level: float
) -> MetricSpec:
    if seen is None:
        return question
    assert question.cost is not None
    table = question.cost.losses(seen.labels, seen.n_classes)
    return replace(question, bets=(best_bet(seen.means(table[seen.y_true, seen.y_pred]), m, level),))


# The share of errors that is expected of every class where no training rows are here.
_EXPECTED = 0.1


def _fix_balanced(
    question: MetricSpec, seen: OutOfFoldPredictions | None, classes: Labels, m: int, level: float
) -> MetricSpec:
    """Return the question with bets on all classes together, where their limit is expected to be the smaller one."""
    number = int(classes.size)
    if seen is None:
        rows = [max(m // number, 1)] * number
        wrong = [_EXPECTED * one for one in rows]
    else:
        true = np.bincount(seen.y_true, minlength=number)
        missed = np.bincount(seen.y_true[seen.y_pred != seen.y_true], minlength=number)
        scale = m / max(seen.y_true.size, 1)
        rows, wrong = [round(scale * one) for one in true.tolist()], [scale * one for one in missed.tolist()]
    shares = [min(k / n, 1.0) if n > 0 else 0.0 for n, k in zip(rows, wrong, strict=True)]
    losses = [np.repeat([0.0, 1.0], [round(1000 * (1.0 - share)), round(1000 * share)]) for share in shares]
    equal = [1.0 / number] * number
    bets = best_bets([one if n > 0 else [] for one, n in zip(losses, rows, strict=True)], rows, level, equal)
    errors = [min(round(k), n) for n, k in zip(rows, wrong, strict=True)]
    together = ClassErrors(tuple(classes), tuple(errors), tuple(rows), level, tuple(bets))
    better = together.upper(equal) < replace(together, bets=()).upper(equal)
    return replace(question, bets=tuple(bets)) if better else question


def choose_bets(
    questions: tuple[MetricSpec, ...],
    seen: OutOfFoldPredictions | None,
    classes: Labels,
    m: int,
    level: float,
    share: float,
) -> tuple[MetricSpec, ...]:
    """Return the questions with their bets, chosen for the level that the proposed rule has, from training rows alone.

    `seen` is None where the training rows are not here.
    """
    own = level_per_bound(level, share, max(len(questions), 1))
    fixed = []
    for question in questions:
        fix = METRICS[question.name].fix
        fixed.append(question if fix is None or own == 0.0 else fix(question, seen, classes, m, own))
    return tuple(fixed)


# -- all risks ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Risk:
    """A risk that limits can be asked of; one more is one more entry of `METRICS`, and of `sentences.WORDS`."""

    #: From what was observed to limits.
    metrics: _Limits
    #: Whether there is a limit for every class; whether a single class may be asked about.
    by_class: bool = True
    of_one: bool = True
    #: Whether it is proved where rows come in groups.
    groups: bool = False
    #: What fixes bets on training rows.
    fix: Callable[[MetricSpec, OutOfFoldPredictions | None, Labels, int, float], MetricSpec] | None = None


#: All risks by name.
METRICS: dict[str, Risk] = {
    "error": Risk(_errors, of_one=False),
    "recall": Risk(_by_class(lambda c: (c.hits, c.actual), lower_of)),
    "precision": Risk(_by_class(lambda c: (c.hits, c.predicted), lower_of)),
    "f1": Risk(_by_class(lambda c: (c.hits, c.actual + c.predicted - c.hits), _lower_f1)),
    "specificity": Risk(_by_class(lambda c: (c.n - c.actual - c.predicted + c.hits, c.n - c.actual), lower_of)),
    BALANCED: Risk(_balanced, by_class=False, of_one=False, fix=_fix_balanced),
    "youden": Risk(_youden),
    COST: Risk(_costs, by_class=False, of_one=False, groups=True, fix=_fix_costs),
}


def metric_bounds_of(
    said: NDArray[Any], plan: Planned, predictions: ValidationPredictions, level: float
) -> tuple[MetricBound, ...]:
    """Return all limits that were asked for, of a rule that said this of the validation rows, and has this level.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from pacbayes.data.split import validation_split
    >>> y_true = np.repeat(np.array([0, 1], dtype=np.uint8), [60, 40])
    >>> said = np.where(np.isin(np.arange(100), [1, 2, 3, 70, 80]), 1 - y_true, y_true)
    >>> predictions = ValidationPredictions(np.array(["healthy", "ill"]), 2, y_true[None], y_true)
    >>> asked = {"metrics": parse_metrics(("error",)), "share": 0.2, "slices": (), "slice_column": ""}
    >>> plan = SimpleNamespace(split=validation_split(100), **asked)
    >>> for limit in metric_bounds_of(said, plan, predictions, 0.05):
    ...     print(limit)
    class 'healthy' (false positives): errs on at most 17.2 % of it; 3 errors on 60 validation rows
    class 'ill' (false negatives): errs on at most 21.2 % of it; 2 errors on 40 validation rows
    """
    found = []
    for question in plan.metrics:
        found += METRICS[question.name].metrics(Observed(question, said, plan, predictions, level))
    return tuple(found)
