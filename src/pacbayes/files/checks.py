"""Checks of values that were read from a file, each before its constructor, or compiled code, sees it.

What a fit computes needs none of them.  A value is checked when a file has named its parts, which were checked before:
fields have the types that the class declares, then what `RULES` says of the class, then what takes a function.  What a
file alone can tell, such as what was observed, is believed; SECURITY.md lists it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import MOST, check_distribution, need
from pacbayes.bounds.distance import CONSTANTS
from pacbayes.certificates.compatibility import Choices
from pacbayes.certificates.levels import AUTO
from pacbayes.certificates.metric_bounds import BALANCED, COST
from pacbayes.certificates.metrics import METRICS, MetricSpec
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.primary import (
    CROSS_VALIDATION,
    STRENGTHS,
    cross_validated_soft_weights,
    prefit_rules,
    primary_weights,
    resolve_prior,
)
from pacbayes.certificates.refit import Refit
from pacbayes.certificates.rules import Draws, FixedRule, Single, SoftVote, Vote
from pacbayes.certificates.sentences import PRIORS
from pacbayes.certificates.thresholds import MAX_GRID_SIZE, MAX_THRESHOLDS, ConfidenceGrid, ThresholdGrid
from pacbayes.certificates.voting import BITS, PRIMARY, SOFT, IntegerWeights, float_weights
from pacbayes.data.split import DISTINCT, EXAMPLE, GROUP, SPLITS, Split, marked, rows_of_units
from pacbayes.data.tables import TableReading, TextColumn
from pacbayes.ensemble.calibration import KINDS, LABELS, LARGEST, Calibration
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.members import Calibrations, CompositeMembers, Estimators, smallest_code_dtype
from pacbayes.ensemble.svm_members import KernelSVMs
from pacbayes.ensemble.validation import ValidationPredictions, member_blocks
from pacbayes.estimators.fitted import Fitted
from pacbayes.svm.kernel import NYSTROEM
from pacbayes.svm.one_vs_one import OneVsOnePaths

# By how much weights may differ from those that are computed here: another machine may round otherwise.
_TOLERANCE = 1e-9
_FINITE = float(np.finfo(np.float64).max)
_PLAIN = (str, int, float, bool, np.generic)


def check(value: Any) -> None:
    """Raise `ValueError` with class and field unless a value of a class in `RULES` is one that a fit may leave.

    Examples
    --------
    >>> check(TextColumn(place="first"))
    Traceback (most recent call last):
    ValueError: TextColumn.place is not of its type
    """
    kind: Any = type(value)
    for name, hint in _hints(kind).items():
        need(_is(getattr(value, name), hint), f"{kind.__name__}.{name}", "is not of its type")
    for name, holds in RULES[kind].items():
        wrong = f"{kind.__name__}.{name} is not what a fit leaves"
        try:
            right = getattr(value, name) is None or bool(holds(value))
        except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
            raise ValueError(f"{wrong}: {error}") from error
        if not right:
            raise ValueError(wrong)
    if isinstance(value, Plan):
        _check_plan(value)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _is(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type, to the number of bits and the order of bytes."""
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any or getattr(hint, "_is_protocol", False):
        return True
    if kind in (Union, UnionType):
        return any(_is(value, one) for one in inner)
    if kind is np.ndarray:
        (number,) = get_args(inner[1])
        same = isinstance(value, np.ndarray) and (number is Any or issubclass(value.dtype.type, number))
        return same and value.dtype.isnative
    if kind is dict:
        return type(value) is dict and all(_is(a, inner[0]) and _is(b, inner[1]) for a, b in value.items())
    if kind is tuple and inner[-1] is not ...:
        return type(value) is tuple and len(value) == len(inner) and all(map(_is, value, inner))
    if kind is not None:
        return type(value) is kind and all(_is(one, inner[0]) for one in value)
    return type(value) is hint if hint in _PLAIN else isinstance(value, hint)


def _are(values: Any, shape: tuple[int, ...], low: float = -_FINITE, high: float = _FINITE) -> bool:
    """Whether an array has a shape, and no entry outside limits, or NaN."""
    return values.shape == shape and bool(((values >= low) & (values <= high)).all())


def _ascends(values: Rows, end: int = MOST) -> bool:
    """Whether values are numbers of rows below `end`, sorted and different."""
    return values.ndim == 1 and _are(values, values.shape, 0, end - 1) and bool((values[1:] > values[:-1]).all())


def _grows(shape: tuple[int, ...], *several: Rows) -> bool:
    """Whether counts do not fall from one threshold to the next."""
    return all(_are(counts, shape, 0) and bool((np.diff(counts) >= 0).all()) for counts in several)


def _falls(values: Any, last: float, most: int) -> bool:
    """Whether thresholds fall to the last one, and are not too many."""
    falls = values.ndim == 1 and 0 < values.size <= most and bool((values[1:] < values[:-1]).all())
    return falls and bool(values[-1] == last)


def _is_whole(weights: IntegerWeights) -> bool:
    """Whether weights are whole multiples of 2^-52 with the sum one."""
    return weights.ndim == 1 and _are(weights, weights.shape, 0, 2**BITS) and sum(weights.tolist()) == 2**BITS


def _is_bet(bet: float) -> bool:
    return 1e-6 <= bet < 1.0


def _number_of_units(split: Split) -> int:
    return split.n_rows if split.units is None else int(split.units.max()) + 1


def _divides(split: Split) -> bool:
    """Whether the shared parts have all rows of the units that train, and those that count of all others."""
    assert split.shared is not None
    units, number = split.units, _number_of_units(split)
    # Before anything is made of so many rows as no array has.
    if units is None and number != sum(part.size for part in split.shared):
        return False
    # Marks instead of sorted numbers: their time is linear in the rows.
    train, validation = (marked(part if units is None else units[part], number) for part in split.shared)
    rows = rows_of_units(np.flatnonzero(train), np.flatnonzero(validation), split.unit, units)
    divided = np.count_nonzero(train) == split.n_train and bool((train != validation).all())
    return divided and all(map(np.array_equal, rows, split.shared))


def _answered(predictions: ValidationPredictions) -> bool:
    """Whether every answer is a label, or there is none."""
    y_pred, number = predictions.y_pred, predictions.labels.size
    kept = y_pred.ndim == 2 and y_pred.size > 0 and y_pred.dtype == smallest_code_dtype(number)
    blocks = (y_pred[block] for block in member_blocks(*y_pred.shape)) if kept else ()
    return kept and all(bool(((block < number) | (block == predictions.not_evaluated)).all()) for block in blocks)


def _says(predictions: ValidationPredictions, codes: Any, shape: tuple[int, ...], number: int) -> bool:
    """Whether there are numbers below a limit, kept as answers are."""
    return codes.dtype == predictions.y_pred.dtype and codes.size > 0 and _are(codes, shape, 0, number - 1)


def _fits(svms: OneVsOnePaths, members: KernelSVMs) -> bool:
    """Whether machines have the classes and lambdas of all, or an error if they sum over other rows."""
    svms.check_rows(len(members.rows))
    same = np.array_equal(svms.pairs[0].path.lambdas, members.settings.lambdas)
    return same and np.array_equal(svms.codes, members.trained_classes)


_Rules = dict[str, Callable[[Any], Any]]
_RULE: _Rules = {"weights": lambda rule: _is_whole(rule.weights), "bet": lambda rule: _is_bet(rule.bet)}

#: What a field of each class must be beyond its type, where it is not None; later ones rely on earlier ones.
RULES: dict[type, _Rules] = {
    Calibrations: {
        "classes": lambda s: _ascends(s.classes),
        "maps": lambda s: min(s.maps) >= 0 and {one.n_classes for one in s.maps.values()} == {s.classes.size},
    },
    Calibration: {
        "kind": lambda c: c.kind in KINDS and (c.kind == LABELS) == (c.table is not None),
        "n": lambda c: 1 <= c.n <= MOST,
        "slope": lambda c: 0.0 <= c.slope < math.inf,
        "shift": lambda c: c.shift.size >= 2 and _are(c.shift, (c.shift.size,), -c.limit, c.limit),
        "pair_slope": lambda c: 0.0 <= c.pair_slope < math.inf,
        "bias": lambda c: _are(c.bias, c.shift.shape, -LARGEST, LARGEST),
        "table": lambda c: (
            _are(c.table, (c.shift.size + 1, c.shift.size), 0.0) and (np.abs(c.table.sum(axis=1) - 1.0) < 1e-9).all()
        ),
    },
    CrossValidation: {
        "candidates": lambda c: c.candidates.size > 0 and _ascends(c.candidates),
        "sizes": lambda c: _are(c.sizes, (c.sizes.size,), 0) and sum(c.sizes.tolist()) <= MOST,
        "errors": lambda c: c.errors.size > 0 and _are(c.errors, (c.candidates.size, c.sizes.size), 0, c.sizes),
        "errors_of_votes": lambda c: (
            len(c.errors_of_votes) == len(STRENGTHS)
            and all(0 <= errors <= c.sizes.sum() for errors in c.errors_of_votes)
        ),
        "log_losses": lambda c: c.families is not None and _are(c.log_losses, c.candidates.shape, 0.0),
        "families": lambda c: c.log_losses is not None and c.families.shape == c.candidates.shape,
    },
    ThresholdGrid: {
        "positive": lambda g: isinstance(g.positive, _PLAIN),
        "values": lambda g: _falls(g.values, 0.0, MAX_GRID_SIZE),
        "predicted_positives": lambda g: _grows(
            g.values.shape, g.predicted_positives, g.true_positives, g.predicted_positives - g.true_positives
        ),
    },
    Split: {
        "kind": lambda d: d.kind in SPLITS and (d.kind == "shared") == (d.shared is not None),
        "unit": lambda d: d.unit in (EXAMPLE, DISTINCT, GROUP) and (d.unit == EXAMPLE) == (d.units is None),
        "n_rows": lambda d: 1 <= d.n_rows <= MOST,
        "n_train": lambda d: d.n_train >= (1 if d.shared is None else 0),
        "seed": lambda d: 0 <= d.seed < 2**4096,
        "units": lambda d: _are(d.units, (d.n_rows,), 0, d.n_rows - 1) and np.bincount(d.units).all(),
        "m": lambda d: d.m >= (1 if d.shared is None else 0) and d.n_train + d.m == _number_of_units(d),
        "shared": _divides,
    },
    Draws: _RULE,
    Estimators: {
        "estimators": lambda m: all(callable(getattr(one, "predict", None)) for one in m.estimators),
        "params": lambda m: len(m.params) == len(m) > 0,
    },
    ValidationPredictions: {
        "n_classes": lambda e: 1 <= e.n_classes <= e.labels.size,
        "labels": lambda e: e.labels.ndim == 1 and all(one < other for one, other in pairwise(e.classes.tolist())),
        "y_pred": _answered,
        "y_true": lambda e: _says(e, e.y_true, e.y_pred.shape[1:], e.n_classes),
        "rule_predictions": lambda e: _says(
            e, e.rule_predictions, (len(e.rule_predictions), e.y_true.size), e.labels.size
        ),
        "scores": lambda e: _are(e.scores, e.rule_predictions.shape, -math.inf, math.inf),
        "slices": lambda e: _are(e.slices, e.y_true.shape, 0),
    },
    CompositeMembers: {
        "parts": lambda m: (
            all(isinstance(part, KernelSVMs | Estimators) for part in m.parts)
            and all(np.array_equal(part.classes, m.classes) for part in m.parts)
        ),
        "names": lambda m: len(m.names) == len(m.parts) > 1,
    },
    Plan: {
        "split": lambda p: p.split.m > 0,
        "delta": lambda p: 0.0 < p.delta < 1.0,
        "hedge": lambda p: 0.0 <= p.hedge <= 1.0,
        "metrics_share": lambda p: 0.0 < p.metrics_share < 1.0,
        "constant": lambda p: p.constant in CONSTANTS,
        "majority_class": lambda p: isinstance(p.majority_class, _PLAIN),
        "positive": lambda p: isinstance(p.positive, _PLAIN),
        "slices": lambda p: all(isinstance(name, _PLAIN) for name in p.slices),
        "row_fingerprints": lambda p: (
            p.row_fingerprints.shape == (p.split.n_rows,) and (p.row_fingerprints[1:] >= p.row_fingerprints[:-1]).all()
        ),
    },
    MetricSpec: {
        "name": lambda q: q.name in METRICS and (q.name == COST) == (q.cost is not None),
        "bets": lambda q: (
            all(map(_is_bet, q.bets))
            and (len(q.bets) == 1) == (q.name == COST)
            and (q.name in (BALANCED, COST) or not q.bets)
        ),
    },
    Refit: {"rule": lambda r: _is_for(r.rule, r.members)},
    KernelSVMs: {
        "rows": lambda m: (
            m.rows.ndim == 2
            and _are(m.rows, m.rows.shape)
            and m.rows.shape[1] == m.scaling.shift.size > 0
            and (m.settings.kernel != NYSTROEM or len(m.rows) <= m.settings.n_components)
        ),
        "kernels": lambda m: {(kernel.name == "linear") for kernel in m.kernels} == {m.settings.kernel == "linear"},
        "classes": lambda m: m.classes.ndim == 1,
        "svms": lambda m: (
            len(m.svms) == len(m.kernels)
            and m.trained_classes[-1] < m.classes.size
            and all(_fits(one, m) for one in m.svms)
        ),
        "preprocessor": lambda m: callable(getattr(m.preprocessor, "transform", None)),
    },
    Single: _RULE | {"weights": lambda r: _is_whole(r.weights) and np.count_nonzero(r.weights) == 1},
    SoftVote: _RULE | {"soft": lambda r: sorted(r.soft.maps) == np.flatnonzero(r.weights).tolist()},
    # A wrong place is one that a table has not.
    TableReading: {},
    TextColumn: {},
    ConfidenceGrid: {
        "values": lambda g: _falls(g.values, -math.inf, MAX_THRESHOLDS),
        "accepted": lambda g: _grows(g.values.shape, g.accepted, g.wrong),
        "wrong": lambda g: (g.wrong <= g.accepted).all(),
    },
    Vote: _RULE,
}


def _is_for(rule: FixedRule, members: Any) -> bool:
    """Whether a rule has a weight for each classifier, and a soft vote maps of their scores and classes."""
    if rule.weights.size != len(members):
        return False
    if isinstance(rule, SoftVote):
        members.check_calibrations(rule.soft)
        return bool(rule.soft.classes[-1] < members.classes.size)
    return True


# -- plans: nothing is planned that is not proved, or does not follow from what else is planned ------------------------


def _check_plan(plan: Plan) -> None:
    split, found = plan.split, plan.cross_validation
    Choices(
        voting=AUTO if plan.refit is None else plan.refit,
        hedge=plan.hedge,
        split=split.kind,
        metrics=plan.metrics,
        decision=plan.decision,
        refit=plan.refit is not None,
        groups=split.unit == GROUP,
        prefit=split.prefit,
        primary=True,
    ).check()
    need(len(plan.distances) > 0, "Plan.distance", "must be a tuple of distances that are known")
    n_train = 0 if split.shared is None else split.shared[0].size
    if found is not None:
        need(0 < n_train >= int(found.sizes.sum()), "CrossValidation.sizes", "must be training rows")
    _check_prior(plan)
    need(
        (plan.hedge == 1.0) == (not plan.fixed_rules),
        "Plan.fixed_rules",
        "must be empty without a proposal, and only then",
    )
    if plan.fixed_rules:
        _check_planned(plan, n_train)
    bet = any(rule.bet is not None for rule in plan.fixed_rules)
    need(split.unit == GROUP or not bet, "Rule.bet", "must be None where errors are counted row by row")
    kind = type(None) if plan.decision is None else ThresholdGrid if plan.has_threshold else ConfidenceGrid
    need(type(plan.thresholds) is kind, "Plan.thresholds", "must be those of the decision")
    if plan.thresholds is not None:
        need(not plan.has_threshold or plan.hedge == 0.0, "Plan.hedge", "must be 0 where a threshold is asked for")
        name = "predicted_positives" if plan.has_threshold else "accepted"
        rows = int(getattr(plan.thresholds, name)[-1])
        need(rows == n_train, f"{kind.__name__}.{name}", "must end with all training rows")


def _check_prior(plan: Plan) -> None:
    known = plan.prior_kind in PRIORS and (plan.prior_kind == "uniform") == (plan.prior is None)
    need(known, "Plan.prior", "must be of the kind that is stored")
    if plan.prior is None:
        return
    check_distribution("Plan.prior", plan.prior, plan.prior.size)
    if plan.prior_kind == CROSS_VALIDATION:
        params: list[dict[str, Any]] = [{}] * plan.prior.size
        found = plan.cross_validation
        expected = None if found is None else resolve_prior(CROSS_VALIDATION, params, None, found, plan.split)
        same = expected is not None and np.allclose(plan.prior, expected, rtol=_TOLERANCE, atol=0.0)
        need(same, "Plan.prior", "must follow from cross-validation")


_Named = dict[tuple[str, str], IntegerWeights]


def _check_planned(plan: Plan, n_train: int) -> None:
    """Raise unless the rules are those that cross-validation, or a given proposal, stands for."""
    rules, found = plan.fixed_rules, plan.cross_validation
    need(found is not None or plan.split.prefit, "Plan.cross_validation", "must be there for a proposal")
    number = rules[0].weights.size
    if found is None:
        expected = _weights_by_name(prefit_rules(float_weights(rules[0].weights), number))
    else:
        need(found.log_losses is not None, "CrossValidation.log_losses", "must be there for a proposal")
        need(int(found.candidates[-1]) < number, "CrossValidation.candidates", "must be classifiers")
        hard = primary_weights(found.candidates, found.totals, number, found.errors_of_votes)
        expected = {(SOFT, PRIMARY): cross_validated_soft_weights(found, number, n_train)} | _weights_by_name(hard)
    source = "the proposal" if found is None else "the stored cross-validation"
    stored = _weights_by_name(rules)
    if plan.hedge == 0.0:
        expected = {name: weights for name, weights in expected.items() if name[1] == PRIMARY}
    same = len(stored) == len(rules) and _same_weights(stored, expected)
    need(same, "Rule.weights", f"must follow from {source}")


def _weights_by_name(rules: tuple[FixedRule, ...]) -> _Named:
    return {(rule.voting, rule.name): rule.weights for rule in rules}


def _same_weights(stored: _Named, expected: _Named) -> bool:
    """Return whether rules have the same weights but for rounding.

    That decides, too, whether a vote is the same as the proposed one, and therefore left out.
    """
    proposed = {name for name in expected if name[1] == PRIMARY}
    if {name for name in stored if name[1] == PRIMARY} != proposed:
        return False
    for voting, name in stored.keys() | expected.keys():
        primary = expected[voting, PRIMARY]
        one, other = stored.get((voting, name), primary), expected.get((voting, name), primary)
        if one.shape != other.shape or np.abs(one - other).max() > _TOLERANCE * 2**BITS:
            return False
    return True


# -- the whole of a fit ------------------------------------------------------------------------------------------------


def check_fitted(fitted: Fitted) -> None:
    """Raise unless the values of a fit are about the same classifiers, rows and rules."""
    plan, predictions, members, number = fitted.plan, fitted.predictions, fitted.members, len(fitted.members)
    classes, split, said = members.classes, plan.split, predictions.rule_predictions
    need(len(predictions) == number, "ValidationPredictions.y_pred", f"must be those of {number} classifiers")
    # Of a wider type where an answer that is no class is longer, or no whole number.
    same = np.can_cast(classes.dtype, predictions.labels.dtype) and np.array_equal(classes, predictions.classes)
    need(same, "ValidationPredictions.labels", "must begin with the classes of the classifiers")
    _check_answered(split, predictions)
    need(all(_is_for(rule, members) for rule in plan.fixed_rules), "Plan.fixed_rules", "must be for the classifiers")
    need(plan.prior is None or plan.prior.size == number, "Plan.prior", f"must be for {number} classifiers")
    found = plan.cross_validation
    need(found is None or int(found.candidates[-1]) < number, "CrossValidation.candidates", "must be classifiers")
    need(
        (fitted.posteriors.posterior is None) == (plan.hedge == 0.0), "posterior", "must be there if there is a reserve"
    )
    need(
        (predictions.scores is None) == (plan.decision is None),
        "ValidationPredictions.scores",
        "must be there for a decision",
    )
    if isinstance(plan.thresholds, ThresholdGrid):
        two = classes.size == 2 and plan.thresholds.positive in classes.tolist()
        need(two, "ThresholdGrid.positive", "must be one of two classes")
    for question in plan.metrics:
        question.check(classes)
    sliced = plan.slices if predictions.slices is None else int(predictions.slices.max()) >= len(plan.slices)
    need(not sliced, "ValidationPredictions.slices", "must be those planned")
    need((fitted.refit is None) == (plan.refit is None), "Fitted.refit", "must be there if it was planned")
    same = fitted.refit is None or np.array_equal(fitted.refit.members.classes, classes)
    need(same, "Refit.members", "must tell the same classes apart")
    constant = split.prefit if plan.majority_class is None else plan.majority_class in classes.tolist()
    need(
        constant and (plan.positive is None or plan.positive in classes.tolist()),
        "Plan.majority_class",
        "must be a class",
    )
    need(
        (0 if said is None else len(said)) == len(plan.fixed_rules),
        "ValidationPredictions.rule_predictions",
        "must be of every planned rule",
    )
    # Of draws it is known that one of their classifiers said it, but not which: more takes the rows.
    lines = zip(plan.fixed_rules, () if said is None else said, strict=True)
    follows = all(rule.is_consistent(codes, predictions.y_pred, predictions.labels) for rule, codes in lines)
    need(follows, "ValidationPredictions.rule_predictions", "must follow from the answers and the weights of each rule")


def _check_answered(split: Split, predictions: ValidationPredictions) -> None:
    """Raise unless each classifier has an answer to the rows that validate it, and to no others."""
    y_pred, not_evaluated = predictions.y_pred, predictions.not_evaluated
    need(
        y_pred.shape[1] == split.n_validating,
        "ValidationPredictions.y_pred",
        "must have a column for each validation row",
    )
    if split.shared is not None:
        own = all(not_evaluated not in line for line in y_pred)
    else:
        own = all(np.array_equal(np.flatnonzero(line != not_evaluated), split(i)[1]) for i, line in enumerate(y_pred))
    need(own, "ValidationPredictions.y_pred", "must be of the rows that validate each")
