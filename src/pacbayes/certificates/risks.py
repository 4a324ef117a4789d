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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import EPS, FloatArray, Labels, Rows, round_down, round_up
from pacbayes._utils.checks import check_number, did_you_mean, need
from pacbayes.bounds.bets import USUAL_BET, best_bet, best_bets, bet_upper
from pacbayes.certificates.levels import lower_of, part_level, plain, upper_of
from pacbayes.certificates.limits import (
    BALANCED,
    CLASS,
    COST,
    LOWER,
    SLICE,
    UPPER,
    ClassErrors,
    Cost,
    Limit,
)
from pacbayes.data.division import Division
from pacbayes.ensemble.evidence import Evidence, unit_losses


class Planned(Protocol):
    """What limits need of a `Plan`, which stands on this module."""

    @property
    def limits(self) -> tuple[Question, ...]:
        """All questions."""

    @property
    def share(self) -> float:
        """The share of every rule's level that limits have."""

    @property
    def division(self) -> Division:
        """Which rows validate, and what was drawn."""

    @property
    def slices(self) -> tuple[Any, ...]:
        """The values of the column of slices."""

    @property
    def slice_column(self) -> str:
        """What the column is called."""


@dataclass(frozen=True, eq=False)
class Question:
    """One risk that limits are asked of, with all that is fixed for it before a validation row is looked at.

    Examples
    --------
    >>> Question("recall", of="ill").number(["ill", "well"]), Question("recall").number(["ill", "well"])
    (1, 2)
    """

    #: A key of `RISKS`.
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
        need(self.of is None or self.of in known, "Question.of", f"must be one of the classes {known}")
        fits = len(self.bets) in (0, len(known)) or self.name == COST
        need(fits, "Question.bets", "must be one for each class")

    def number(self, classes: Sequence[Any] | Labels) -> int:
        """Return how many limits share its level, slices aside."""
        return len(classes) if RISKS[self.name].by_class and self.of is None else 1


def asked_for(limits: Any, pos_label: Any = None) -> tuple[Question, ...]:
    """Return the questions that a user's `limits` stand for, nothing fixed yet, or raise.

    Examples
    --------
    >>> [question.name for question in asked_for(("recall", Cost([[0, 1], [1, 0]], "ab")))]
    ['recall', 'cost']
    >>> asked_for(("recal",))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: limits must be among error, recall, ... and Cost(matrix, classes), got 'recal'; did you mean 'recall'?
    """
    if isinstance(limits, str | Cost) or not isinstance(limits, tuple | list):
        raise TypeError(f"limits must be a tuple of names and costs, such as ('recall', 'f1'), got {limits!r}")
    found = []
    for one in limits:
        if isinstance(one, Cost):
            found.append(Question(COST, cost=one, bets=(USUAL_BET,)))
            continue
        names = [name for name in RISKS if name != COST]
        if not isinstance(one, str) or one not in names:
            like = did_you_mean([one], names) if isinstance(one, str) else ""
            raise ValueError(f"limits must be among {', '.join(names)} and Cost(matrix, classes), got {one!r}{like}")
        found.append(Question(one, of=pos_label if RISKS[one].of_one and pos_label is not None else None))
    kinds = [question.name for question in found if question.name != COST]
    if len(set(kinds)) < len(kinds):
        raise ValueError(f"limits must name each risk once, got {limits!r}")
    return tuple(found)


def check_classes(limits: Any, pos_label: Any, classes: Labels) -> None:
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
    for question in asked_for(limits, pos_label):
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


def check_limits_share(share: Any) -> float:
    """Return the share of a rule's level that its limits have, or raise unless it lies in (0, 1).

    Examples
    --------
    >>> check_limits_share(1)
    Traceback (most recent call last):
    ValueError: limits_share must lie strictly between 0 and 1, got 1
    """
    found = check_number("limits_share", share, "a number between 0 and 1")
    if not 0.0 < found < 1.0:
        raise ValueError(f"limits_share must lie strictly between 0 and 1, got {share!r}")
    return found


# -- what is counted ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Observed:
    """What one rule said of the validation rows, beside what is asked of it, and the level of the whole question."""

    question: Question
    said: NDArray[Any]
    plan: Planned
    evidence: Evidence
    #: Of the rule, with what its main bound has.
    level: float

    def own_level(self, number: int) -> float:
        """Return the level of each of so many limits that share the question's."""
        return part_level(self.level, self.plan.share, len(self.plan.limits) * number)

    @property
    def unit(self) -> str:
        """What was drawn."""
        return self.plan.division.unit

    def counts(self) -> Counts:
        """Return the rows by class."""
        evidence, number = self.evidence, self.evidence.n_classes
        right = evidence.truth[self.said == evidence.truth]
        true, said, hits = (
            np.bincount(codes, minlength=number)[:number].astype(np.int64)
            for codes in (evidence.truth, self.said, right)
        )
        return Counts(hits, true, said, int(evidence.truth.size))


@dataclass(frozen=True, eq=False)
class Counts:
    """Validation rows by class: of the class and answered so, of the class, answered so; and all of them."""

    hits: Rows
    true: Rows
    said: Rows
    n: int


_Limits = Callable[[Observed], list[Limit]]
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

    def limits(observed: Observed) -> list[Limit]:
        question, classes = observed.question, observed.evidence.classes
        counts, rows = condition(observed.counts())
        level = observed.own_level(question.number(classes))
        return [
            Limit(question.name, name, LOWER, lower(k, n, level), k, n, CLASS, unit=observed.unit)
            for name, k, n in zip(map(plain, classes), counts.tolist(), rows.tolist(), strict=True)
            if question.of in (None, name)
        ]

    return limits


def _errors(observed: Observed) -> list[Limit]:
    """Return limits of the errors in every class, and in every slice."""
    evidence, names = observed.evidence, observed.plan.slices
    kinds = 2 if names else 1
    level, own = (observed.own_level(kinds * max(len(one), 1)) for one in (evidence.classes, names))
    also = ("false positives", "false negatives") if evidence.n_classes == 2 else ("",) * evidence.n_classes
    counts = observed.counts()
    found = [
        Limit("error", plain(name), UPPER, upper_of(n - k, n, level), n - k, n, CLASS, words, unit=observed.unit)
        for name, words, k, n in zip(evidence.classes, also, counts.hits.tolist(), counts.true.tolist(), strict=True)
    ]
    if not names:
        return found
    assert evidence.slices is not None
    rows = np.bincount(evidence.slices, minlength=len(names)).tolist()
    wrong = np.bincount(evidence.slices[observed.said != evidence.truth], minlength=len(names)).tolist()
    column = observed.plan.slice_column
    return found + [
        Limit("error", name, UPPER, upper_of(k, n, own), k, n, SLICE, column=column, unit=observed.unit)
        for name, k, n in zip(names, wrong, rows, strict=True)
    ]


def _youden(observed: Observed) -> list[Limit]:
    """Return lower limits of recall + specificity - 1 of every class; each of the two has half of the level."""
    question, classes, counts = observed.question, observed.evidence.classes, observed.counts()
    level = observed.own_level(2 * question.number(classes))
    others = counts.n - counts.true
    rejected = others - counts.said + counts.hits
    found = []
    for name, hits, true, right, rest in zip(
        map(plain, classes), *(one.tolist() for one in (counts.hits, counts.true, rejected, others)), strict=True
    ):
        # An index of 0 is that of an answer by lot, and one below is no use to anybody: it may be as low as -1.
        index = lower_of(hits, true, level) + lower_of(right, rest, level) - 1.0
        bound = max(index - 8.0 * EPS, -1.0)
        if question.of in (None, name):
            found.append(Limit("youden", name, LOWER, bound, hits + right, counts.n, CLASS, unit=observed.unit))
    return found


def _balanced(observed: Observed) -> list[Limit]:
    """Return the limit of the mean of the classes' errors."""
    counts, classes = observed.counts(), observed.evidence.classes
    wrong = counts.true - counts.hits
    parts = ClassErrors(
        tuple(map(plain, classes)),
        tuple(wrong.tolist()),
        tuple(counts.true.tolist()),
        observed.own_level(1),
        observed.question.bets,
    )
    bound = parts.upper([1.0 / classes.size] * classes.size)
    return [Limit(BALANCED, None, UPPER, bound, int(wrong.sum()), counts.n, unit=observed.unit, parts=parts)]


def _costs(observed: Observed) -> list[Limit]:
    """Return the limit of the mean cost, of examples or of groups."""
    question, evidence, division = observed.question, observed.evidence, observed.plan.division
    assert question.cost is not None
    table = question.cost.losses(evidence.labels, evidence.n_classes)
    losses = unit_losses(table[evidence.truth, observed.said], division)
    values, counts = np.unique(losses, return_counts=True)
    mean = bet_upper(values, question.bets[0], observed.own_level(1), counts)
    bound = question.cost.largest if mean == 1.0 else min(round_up(mean * question.cost.largest), question.cost.largest)
    # What is only shown is not rounded up.
    total = float(f"{math.fsum(losses) * question.cost.largest:.12g}")
    return [Limit(COST, None, UPPER, bound, total, losses.size, unit=observed.unit)]


# -- what is fixed on training rows ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What the proposed rule said of training rows when trained without them, and how many will validate it."""

    said: NDArray[Any]
    truth: NDArray[Any]
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
        return best_bet(self.means((self.said != self.truth).astype(np.float64)), self.m, level)


def _fix_costs(question: Question, seen: Rehearsal | None, classes: Labels, m: int, level: float) -> Question:
    if seen is None:
        return question
    assert question.cost is not None
    table = question.cost.losses(seen.labels, seen.n_classes)
    return replace(question, bets=(best_bet(seen.means(table[seen.truth, seen.said]), m, level),))


# The share of errors that is expected of every class where no training rows are here.
_EXPECTED = 0.1


def _fix_balanced(question: Question, seen: Rehearsal | None, classes: Labels, m: int, level: float) -> Question:
    """Return the question with bets on all classes together, where their limit is expected to be the smaller one."""
    number = int(classes.size)
    if seen is None:
        rows = [max(m // number, 1)] * number
        wrong = [_EXPECTED * one for one in rows]
    else:
        true = np.bincount(seen.truth, minlength=number)
        missed = np.bincount(seen.truth[seen.said != seen.truth], minlength=number)
        scale = m / max(seen.truth.size, 1)
        rows, wrong = [round(scale * one) for one in true.tolist()], [scale * one for one in missed.tolist()]
    shares = [min(k / n, 1.0) if n > 0 else 0.0 for n, k in zip(rows, wrong, strict=True)]
    losses = [np.repeat([0.0, 1.0], [round(1000 * (1.0 - share)), round(1000 * share)]) for share in shares]
    equal = [1.0 / number] * number
    bets = best_bets([one if n > 0 else [] for one, n in zip(losses, rows, strict=True)], rows, level, equal)
    errors = [min(round(k), n) for n, k in zip(rows, wrong, strict=True)]
    together = ClassErrors(tuple(classes), tuple(errors), tuple(rows), level, tuple(bets))
    better = together.upper(equal) < replace(together, bets=()).upper(equal)
    return replace(question, bets=tuple(bets)) if better else question


def fix_questions(
    questions: tuple[Question, ...], seen: Rehearsal | None, classes: Labels, m: int, level: float, share: float
) -> tuple[Question, ...]:
    """Return the questions with their bets, chosen for the level that the proposed rule has, from training rows alone.

    `seen` is None where the training rows are not here.
    """
    own = part_level(level, share, max(len(questions), 1))
    fixed = []
    for question in questions:
        fix = RISKS[question.name].fix
        fixed.append(question if fix is None or own == 0.0 else fix(question, seen, classes, m, own))
    return tuple(fixed)


# -- all risks ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Risk:
    """A risk that limits can be asked of; one more is one more entry of `RISKS`, and of `sentences.WORDS`."""

    #: From what was observed to limits.
    limits: _Limits
    #: Whether there is a limit for every class; whether a single class may be asked about.
    by_class: bool = True
    of_one: bool = True
    #: Whether it is proved where rows come in groups.
    groups: bool = False
    #: What fixes bets on training rows.
    fix: Callable[[Question, Rehearsal | None, Labels, int, float], Question] | None = None


#: All risks by name.
RISKS: dict[str, Risk] = {
    "error": Risk(_errors, of_one=False),
    "recall": Risk(_by_class(lambda c: (c.hits, c.true), lower_of)),
    "precision": Risk(_by_class(lambda c: (c.hits, c.said), lower_of)),
    "f1": Risk(_by_class(lambda c: (c.hits, c.true + c.said - c.hits), _lower_f1)),
    "specificity": Risk(_by_class(lambda c: (c.n - c.true - c.said + c.hits, c.n - c.true), lower_of)),
    BALANCED: Risk(_balanced, by_class=False, of_one=False, fix=_fix_balanced),
    "youden": Risk(_youden),
    COST: Risk(_costs, by_class=False, of_one=False, groups=True, fix=_fix_costs),
}


def limits_of(said: NDArray[Any], plan: Planned, evidence: Evidence, level: float) -> tuple[Limit, ...]:
    """Return all limits that were asked for, of a rule that said this of the validation rows, and has this level.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from pacbayes.data.division import validating_division
    >>> truth = np.repeat(np.array([0, 1], dtype=np.uint8), [60, 40])
    >>> said = np.where(np.isin(np.arange(100), [1, 2, 3, 70, 80]), 1 - truth, truth)
    >>> evidence = Evidence(np.array(["healthy", "ill"]), 2, truth[None], truth)
    >>> asked = {"limits": asked_for(("error",)), "share": 0.2, "slices": (), "slice_column": ""}
    >>> plan = SimpleNamespace(division=validating_division(100), **asked)
    >>> for limit in limits_of(said, plan, evidence, 0.05):
    ...     print(limit)
    class 'healthy' (false positives): errs on at most 17.2 % of it; 3 errors on 60 validation rows
    class 'ill' (false negatives): errs on at most 21.2 % of it; 2 errors on 40 validation rows
    """
    found = []
    for question in plan.limits:
        found += RISKS[question.name].limits(Observed(question, said, plan, evidence, level))
    return tuple(found)
