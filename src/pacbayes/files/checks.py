"""Checks of values from a file, before they reach compiled code; values computed in a fit are not checked.

A value is checked after its parts: first the declared types of its fields, then the conditions in `RULES`, then
conditions across fields.  Observations, such as the validation predictions, cannot be checked; SECURITY.md lists them.
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
from pacbayes._utils.checks import MAX_STORED_INT, check_distribution, require
from pacbayes.bounds.distance import CONSTANTS
from pacbayes.certificates.compatibility import Choices
from pacbayes.certificates.decisions import Abstain, PredictionSet, Threshold
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
from pacbayes.certificates.rules import Draws, FixedRule, Refit, Single, SoftVote, Vote
from pacbayes.certificates.sentences import PRIORS
from pacbayes.certificates.sets import NEVER_SEEN
from pacbayes.certificates.thresholds import MAX_GRID_SIZE, MAX_THRESHOLDS, ConfidenceGrid, ThresholdGrid, round_to_grid
from pacbayes.certificates.voting import BITS, PRIMARY, SOFT, IntegerWeights, float_weights
from pacbayes.data.schema import BOOLEAN, CATEGORY, DATE, NUMBER, TEXT, Column, Schema
from pacbayes.data.split import DISTINCT, EXAMPLE, GROUP, SPLITS, Split, expand_units, index_mask
from pacbayes.ensemble.calibration import KINDS, LABELS, LARGEST, Calibration
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.members import Calibrations, CompositeMembers, Estimators, smallest_code_dtype
from pacbayes.ensemble.svm_members import KernelSVMs
from pacbayes.ensemble.validation import ValidationPredictions, iter_member_blocks
from pacbayes.estimators.fitted import Fitted
from pacbayes.svm.kernel import NYSTROEM
from pacbayes.svm.one_vs_one import OneVsOnePaths

# Tolerance for recomputed weights, because rounding differs between computers.
_TOLERANCE = 1e-9
_FINITE = float(np.finfo(np.float64).max)
_PLAIN = (str, int, float, bool, np.generic)


def validate_value(value: Any) -> None:
    """Raise `ValueError`, with class and field, unless a value could result from a fit.

    Examples
    --------
    >>> validate_value(Column(1, "number"))
    Traceback (most recent call last):
    ValueError: Column.name is not of its type
    """
    kind: Any = type(value)
    for name, hint in _get_field_types(kind).items():
        require(_has_type(getattr(value, name), hint), f"{kind.__name__}.{name}", "is not of its type")
    for name, is_valid in RULES[kind].items():
        message = f"{kind.__name__}.{name} is not valid"
        try:
            valid = getattr(value, name) is None or bool(is_valid(value))
        except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
            raise ValueError(f"{message}: {error}") from error
        if not valid:
            raise ValueError(message)
    if isinstance(value, Plan):
        _check_plan(value)


@cache
def _get_field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _has_type(value: Any, hint: Any) -> bool:
    """Whether a value has a declared type, including the dtype and byte order of arrays."""
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any or getattr(hint, "_is_protocol", False):
        return True
    if kind in (Union, UnionType):
        return any(_has_type(value, option) for option in inner)
    if kind is np.ndarray:
        (number,) = get_args(inner[1])
        matches = isinstance(value, np.ndarray) and (number is Any or issubclass(value.dtype.type, number))
        return matches and value.dtype.isnative
    if kind is dict:
        return type(value) is dict and all(_has_type(a, inner[0]) and _has_type(b, inner[1]) for a, b in value.items())
    if kind is tuple and inner[-1] is not ...:
        return type(value) is tuple and len(value) == len(inner) and all(map(_has_type, value, inner))
    if kind is not None:
        return type(value) is kind and all(_has_type(item, inner[0]) for item in value)
    return type(value) is hint if hint in _PLAIN else isinstance(value, hint)


def _in_range(values: Any, shape: tuple[int, ...], low: float = -_FINITE, high: float = _FINITE) -> bool:
    """Whether an array has a shape, and all entries in a range (NaN is not)."""
    return values.shape == shape and bool(((values >= low) & (values <= high)).all())


def _is_increasing(values: Rows, end: int = MAX_STORED_INT) -> bool:
    """Whether values are strictly increasing indices below `end`."""
    return values.ndim == 1 and _in_range(values, values.shape, 0, end - 1) and bool((values[1:] > values[:-1]).all())


def _are_cumulative(shape: tuple[int, ...], *counts: Rows) -> bool:
    """Whether counts are non-decreasing over the thresholds."""
    return all(_in_range(count, shape, 0) and bool((np.diff(count) >= 0).all()) for count in counts)


def _is_decreasing(values: Any, last: float, max_size: int) -> bool:
    """Whether at most `max_size` thresholds decrease to `last`."""
    decreases = values.ndim == 1 and 0 < values.size <= max_size and bool((values[1:] < values[:-1]).all())
    return decreases and bool(values[-1] == last)


def _are_integer_weights(weights: IntegerWeights) -> bool:
    """Whether integer weights, in units of 2^-52, sum to one."""
    return weights.ndim == 1 and _in_range(weights, weights.shape, 0, 2**BITS) and sum(weights.tolist()) == 2**BITS


def _is_bet(bet: float) -> bool:
    return 1e-6 <= bet < 1.0


def _count_units(split: Split) -> int:
    return split.n_rows if split.units is None else int(split.units.max()) + 1


def _is_partition(split: Split) -> bool:
    """Whether the training part has all rows of its units, and the validation part those of all other units."""
    assert split.shared is not None
    units, n_units = split.units, _count_units(split)
    # Check this before an array of this size is allocated.
    if units is None and n_units != sum(part.size for part in split.shared):
        return False
    # Masks instead of sorted indices, for linear time.
    train, validation = (index_mask(part if units is None else units[part], n_units) for part in split.shared)
    rows = expand_units(np.flatnonzero(train), np.flatnonzero(validation), split.unit, units)
    complementary = np.count_nonzero(train) == split.n_train and bool((train != validation).all())
    return complementary and all(map(np.array_equal, rows, split.shared))


def _are_label_codes(predictions: ValidationPredictions) -> bool:
    """Whether every prediction is the code of a label, or marked as not evaluated."""
    y_pred, n_labels = predictions.y_pred, predictions.labels.size
    has_format = y_pred.ndim == 2 and y_pred.size > 0 and y_pred.dtype == smallest_code_dtype(n_labels)
    blocks = (y_pred[block] for block in iter_member_blocks(*y_pred.shape)) if has_format else ()
    return has_format and all(
        bool(((block < n_labels) | (block == predictions.not_evaluated)).all()) for block in blocks
    )


def _are_valid_codes(predictions: ValidationPredictions, codes: Any, shape: tuple[int, ...], end: int) -> bool:
    """Whether codes are below `end`, with the dtype of the predictions."""
    return codes.dtype == predictions.y_pred.dtype and codes.size > 0 and _in_range(codes, shape, 0, end - 1)


def _svms_match(svms: OneVsOnePaths, members: KernelSVMs) -> bool:
    """Whether SVMs match the classes and lambdas of their set; raise if their rows are invalid."""
    svms.check_rows(len(members.rows))
    same = np.array_equal(svms.pairs[0].path.lambdas, members.settings.lambdas)
    return same and np.array_equal(svms.codes, members.trained_classes)


def _slice_values(name: Any) -> tuple[Any, ...]:
    """Return the values of a slice, one for each column."""
    return name if isinstance(name, tuple) else (name,)


_Rules = dict[str, Callable[[Any], Any]]
_RULE: _Rules = {"weights": lambda rule: _are_integer_weights(rule.weights), "bet": lambda rule: _is_bet(rule.bet)}

#: Conditions on fields that are not None, by class; later conditions rely on earlier ones.
RULES: dict[type, _Rules] = {
    Calibrations: {
        "classes": lambda s: _is_increasing(s.classes),
        "maps": lambda s: (
            min(s.maps) >= 0 and {calibration.n_classes for calibration in s.maps.values()} == {s.classes.size}
        ),
    },
    Calibration: {
        "kind": lambda c: c.kind in KINDS and (c.kind == LABELS) == (c.table is not None),
        "n": lambda c: 1 <= c.n <= MAX_STORED_INT,
        "slope": lambda c: 0.0 <= c.slope < math.inf,
        "shift": lambda c: c.shift.size >= 2 and _in_range(c.shift, (c.shift.size,), -c.limit, c.limit),
        "pair_slope": lambda c: 0.0 <= c.pair_slope < math.inf,
        "bias": lambda c: _in_range(c.bias, c.shift.shape, -LARGEST, LARGEST),
        "table": lambda c: (
            _in_range(c.table, (c.shift.size + 1, c.shift.size), 0.0)
            and (np.abs(c.table.sum(axis=1) - 1.0) < 1e-9).all()
        ),
    },
    CrossValidation: {
        "candidates": lambda c: c.candidates.size > 0 and _is_increasing(c.candidates),
        "sizes": lambda c: _in_range(c.sizes, (c.sizes.size,), 0) and sum(c.sizes.tolist()) <= MAX_STORED_INT,
        "errors": lambda c: c.errors.size > 0 and _in_range(c.errors, (c.candidates.size, c.sizes.size), 0, c.sizes),
        "errors_of_votes": lambda c: (
            len(c.errors_of_votes) == len(STRENGTHS)
            and all(0 <= errors <= c.sizes.sum() for errors in c.errors_of_votes)
        ),
        "log_losses": lambda c: c.families is not None and _in_range(c.log_losses, c.candidates.shape, 0.0),
        "families": lambda c: c.log_losses is not None and c.families.shape == c.candidates.shape,
    },
    ThresholdGrid: {
        "positive": lambda g: isinstance(g.positive, _PLAIN),
        "values": lambda g: _is_decreasing(g.values, 0.0, MAX_GRID_SIZE),
        "predicted_positives": lambda g: _are_cumulative(
            g.values.shape, g.predicted_positives, g.true_positives, g.predicted_positives - g.true_positives
        ),
    },
    Split: {
        "kind": lambda d: d.kind in SPLITS and (d.kind == "shared") == (d.shared is not None),
        "unit": lambda d: d.unit in (EXAMPLE, DISTINCT, GROUP) and (d.unit == EXAMPLE) == (d.units is None),
        "n_rows": lambda d: 1 <= d.n_rows <= MAX_STORED_INT,
        "n_train": lambda d: d.n_train >= (1 if d.shared is None else 0),
        "seed": lambda d: 0 <= d.seed < 2**4096,
        "units": lambda d: _in_range(d.units, (d.n_rows,), 0, d.n_rows - 1) and np.bincount(d.units).all(),
        "m": lambda d: d.m >= (1 if d.shared is None else 0) and d.n_train + d.m == _count_units(d),
        "shared": _is_partition,
    },
    Draws: _RULE,
    Estimators: {
        "estimators": lambda m: all(callable(getattr(estimator, "predict", None)) for estimator in m.estimators),
        "params": lambda m: len(m.params) == len(m) > 0,
    },
    ValidationPredictions: {
        "n_classes": lambda e: 1 <= e.n_classes <= e.labels.size,
        "labels": lambda e: (
            e.labels.ndim == 1 and all(first < second for first, second in pairwise(e.classes.tolist()))
        ),
        "y_pred": _are_label_codes,
        "y_true": lambda e: _are_valid_codes(e, e.y_true, e.y_pred.shape[1:], e.n_classes),
        "rule_predictions": lambda e: _are_valid_codes(
            e, e.rule_predictions, (len(e.rule_predictions), e.y_true.size), e.labels.size
        ),
        "scores": lambda e: _in_range(e.scores, e.rule_predictions.shape, -math.inf, math.inf),
        "slices": lambda e: _in_range(e.slices, e.y_true.shape, 0),
        "probabilities": lambda e: (
            _in_range(e.probabilities, (e.y_true.size, e.n_classes), NEVER_SEEN, 1.0)
            and np.array_equal(e.probabilities, round_to_grid(e.probabilities))
        ),
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
        "slices": lambda p: all(isinstance(part, _PLAIN) for name in p.slices for part in _slice_values(name)),
        "row_fingerprints": lambda p: (
            p.row_fingerprints.shape == (p.split.n_rows,) and (p.row_fingerprints[1:] >= p.row_fingerprints[:-1]).all()
        ),
    },
    MetricSpec: {
        "name": lambda q: q.name in METRICS and (q.name == COST) == (q.cost is not None),
        "bets": lambda q: (
            all(map(_is_bet, q.bets))
            and (len(q.bets) == 1) == (q.name == COST)
            and (q.name in ("error", BALANCED, COST) or not q.bets)
        ),
    },
    Refit: {"rule": lambda r: _fits_members(r.rule, r.members)},
    KernelSVMs: {
        "rows": lambda m: (
            m.rows.ndim == 2
            and _in_range(m.rows, m.rows.shape)
            and m.rows.shape[1] == m.scaling.shift.size > 0
            and (m.settings.kernel != NYSTROEM or len(m.rows) <= m.settings.n_components)
        ),
        "kernels": lambda m: {(kernel.name == "linear") for kernel in m.kernels} == {m.settings.kernel == "linear"},
        "classes": lambda m: m.classes.ndim == 1,
        "svms": lambda m: (
            len(m.svms) == len(m.kernels)
            and m.trained_classes[-1] < m.classes.size
            and all(_svms_match(svms, m) for svms in m.svms)
        ),
        "preprocessor": lambda m: callable(getattr(m.preprocessor, "transform", None)),
    },
    Single: _RULE | {"weights": lambda r: _are_integer_weights(r.weights) and np.count_nonzero(r.weights) == 1},
    SoftVote: _RULE | {"soft": lambda r: sorted(r.soft.maps) == np.flatnonzero(r.weights).tolist()},
    Schema: {"columns": lambda s: len(set(s.names)) == len(s.columns)},
    Column: {"kind": lambda c: c.kind in (NUMBER, BOOLEAN, DATE, CATEGORY, TEXT)},
    ConfidenceGrid: {
        "values": lambda g: _is_decreasing(g.values, -math.inf, MAX_THRESHOLDS),
        "accepted": lambda g: _are_cumulative(g.values.shape, g.accepted, g.wrong),
        "wrong": lambda g: (g.wrong <= g.accepted).all(),
    },
    Vote: _RULE,
}


def _fits_members(rule: FixedRule, members: Any) -> bool:
    """Whether a rule has a weight for each classifier, and a soft vote calibrations of their scores and classes."""
    if rule.weights.size != len(members):
        return False
    if isinstance(rule, SoftVote):
        members.check_calibrations(rule.soft)
        return bool(rule.soft.classes[-1] < members.classes.size)
    return True


# -- plans: only proved combinations, and weights that follow from the cross-validation --------------------------------


def _check_plan(plan: Plan) -> None:
    split, cross_validation = plan.split, plan.cross_validation
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
    ).validate()
    require(len(plan.distances) > 0, "Plan.distance", "must be a tuple of known distances")
    n_train = 0 if split.shared is None else split.shared[0].size
    if cross_validation is not None:
        require(0 < n_train >= int(cross_validation.sizes.sum()), "CrossValidation.sizes", "must be training rows")
    _check_prior(plan)
    require(
        (plan.hedge == 1.0) == (not plan.fixed_rules),
        "Plan.fixed_rules",
        "must be empty if hedge is 1, and only then",
    )
    if plan.fixed_rules:
        _check_fixed_rules(plan, n_train)
    has_bet = any(rule.bet is not None for rule in plan.fixed_rules)
    require(split.unit == GROUP or not has_bet, "Rule.bet", "must be None without groups")
    kind = {Abstain: ConfidenceGrid, Threshold: ThresholdGrid}.get(type(plan.decision), type(None))
    require(type(plan.thresholds) is kind, "Plan.thresholds", "must be those of the decision")
    require(not plan.needs_soft or plan.hedge == 0.0, "Plan.hedge", "must be 0 with a decision of the soft vote")
    if plan.thresholds is not None:
        name = "predicted_positives" if kind is ThresholdGrid else "accepted"
        rows = int(getattr(plan.thresholds, name)[-1])
        scored = n_train if cross_validation is None else cross_validation.count_scored(n_train)
        require(rows == scored, f"{kind.__name__}.{name}", "must end with all cross-validated training rows")


def _check_prior(plan: Plan) -> None:
    known = plan.prior_kind in PRIORS and (plan.prior_kind == "uniform") == (plan.prior is None)
    require(known, "Plan.prior", "must match the stored kind")
    if plan.prior is None:
        return
    check_distribution("Plan.prior", plan.prior, plan.prior.size)
    if plan.prior_kind == CROSS_VALIDATION:
        params: list[dict[str, Any]] = [{}] * plan.prior.size
        result = plan.cross_validation
        expected = None if result is None else resolve_prior(CROSS_VALIDATION, params, None, result, plan.split)
        same = expected is not None and np.allclose(plan.prior, expected, rtol=_TOLERANCE, atol=0.0)
        require(same, "Plan.prior", "must follow from cross-validation")


_WeightsByName = dict[tuple[str, str], IntegerWeights]


def _check_fixed_rules(plan: Plan, n_train: int) -> None:
    """Raise unless the weights of the rules follow from the cross-validation, or from a user's primary rule."""
    rules, result = plan.fixed_rules, plan.cross_validation
    require(result is not None or plan.split.prefit, "Plan.cross_validation", "is required for a primary rule")
    n_classifiers = rules[0].weights.size
    if result is None:
        expected = _weights_by_name(prefit_rules(float_weights(rules[0].weights), n_classifiers))
        if isinstance(plan.decision, PredictionSet):
            expected[SOFT, PRIMARY] = rules[0].weights
    else:
        require(result.log_losses is not None, "CrossValidation.log_losses", "is required for a primary rule")
        require(int(result.candidates[-1]) < n_classifiers, "CrossValidation.candidates", "must be classifiers")
        votes = primary_weights(result.candidates, result.totals, n_classifiers, result.errors_of_votes)
        soft = cross_validated_soft_weights(result, n_classifiers, result.count_scored(n_train))
        expected = {(SOFT, PRIMARY): soft} | _weights_by_name(votes)
    source = "the primary rule" if result is None else "the stored cross-validation"
    stored = _weights_by_name(rules)
    if plan.hedge == 0.0:
        expected = {name: weights for name, weights in expected.items() if name[1] == PRIMARY}
    same = len(stored) == len(rules) and _same_weights(stored, expected)
    require(same, "Rule.weights", f"must follow from {source}")


def _weights_by_name(rules: tuple[FixedRule, ...]) -> _WeightsByName:
    return {(rule.voting, rule.name): rule.weights for rule in rules}


def _same_weights(stored: _WeightsByName, expected: _WeightsByName) -> bool:
    """Whether rules have equal weights up to rounding.

    Rounding also decides whether a vote is equal to the primary one, and therefore omitted.
    """
    if {name for name in stored if name[1] == PRIMARY} != {name for name in expected if name[1] == PRIMARY}:
        return False
    for voting, name in stored.keys() | expected.keys():
        primary = expected[voting, PRIMARY]
        actual, computed = stored.get((voting, name), primary), expected.get((voting, name), primary)
        if actual.shape != computed.shape or np.abs(actual - computed).max() > _TOLERANCE * 2**BITS:
            return False
    return True


# -- consistency of all values of a fit --------------------------------------------------------------------------------


def check_fitted(fitted: Fitted) -> None:
    """Raise unless the values of a fit are about the same classifiers, rows and rules."""
    plan, predictions, members = fitted.plan, fitted.predictions, fitted.members
    n_members, classes, split = len(members), members.classes, plan.split
    require(len(predictions) == n_members, "ValidationPredictions.y_pred", f"must be those of {n_members} classifiers")
    # The labels have a wider type if a prediction outside the classes is longer, or not an integer.
    same = np.can_cast(classes.dtype, predictions.labels.dtype) and np.array_equal(classes, predictions.classes)
    require(same, "ValidationPredictions.labels", "must begin with the classes of the classifiers")
    _check_validation_rows(split, predictions)
    applies = all(_fits_members(rule, members) for rule in plan.fixed_rules)
    require(applies, "Plan.fixed_rules", "must be for the classifiers")
    require(plan.prior is None or plan.prior.size == n_members, "Plan.prior", f"must be for {n_members} classifiers")
    result = plan.cross_validation
    are_members = result is None or int(result.candidates[-1]) < n_members
    require(are_members, "CrossValidation.candidates", "must be classifiers")
    has_posterior = fitted.posteriors.posterior is not None
    require(has_posterior == (plan.hedge > 0.0), "posterior", "must be present if hedge is positive, and only then")
    has_scores = predictions.scores is not None
    require(
        has_scores == (plan.thresholds is not None), "ValidationPredictions.scores", "must be present with thresholds"
    )
    _check_probabilities(plan, predictions)
    if isinstance(plan.thresholds, ThresholdGrid):
        is_binary = classes.size == 2 and plan.thresholds.positive in classes.tolist()
        require(is_binary, "ThresholdGrid.positive", "must be one of two classes")
        cost = getattr(plan.decision, "cost", None)
        require(cost is None or set(cost.classes) >= set(classes.tolist()), "Threshold.cost", "must name both classes")
    for metric in plan.metrics:
        metric.validate(classes)
    sliced = plan.slices if predictions.slices is None else int(predictions.slices.max()) >= len(plan.slices)
    require(not sliced, "ValidationPredictions.slices", "must be those of the plan")
    require((fitted.refit is None) == (plan.refit is None), "Fitted.refit", "must be present if it was planned")
    same = fitted.refit is None or np.array_equal(fitted.refit.members.classes, classes)
    require(same, "Refit.members", "must have the same classes")
    is_class = split.prefit if plan.majority_class is None else plan.majority_class in classes.tolist()
    is_class = is_class and (plan.positive is None or plan.positive in classes.tolist())
    require(is_class, "Plan.majority_class", "must be a class")
    rule_predictions = () if predictions.rule_predictions is None else predictions.rule_predictions
    n_rules = len(plan.fixed_rules)
    require(
        len(rule_predictions) == n_rules, "ValidationPredictions.rule_predictions", "must be those of every fixed rule"
    )
    # For stochastic rules, check only that some classifier made each prediction, because the draw depends on the rows.
    pairs = zip(plan.fixed_rules, rule_predictions, strict=True)
    follows = all(rule.is_consistent(codes, predictions.y_pred, predictions.labels) for rule, codes in pairs)
    require(follows, "ValidationPredictions.rule_predictions", "must follow from predictions and weights of each rule")


def _check_probabilities(plan: Plan, predictions: ValidationPredictions) -> None:
    """Raise unless probabilities are those of the soft vote, and of its classes."""
    probabilities, name = predictions.probabilities, "ValidationPredictions.probabilities"
    needed = plan.needs_probabilities
    require(
        (probabilities is not None) == needed, name, "must be present for prediction sets and the AUC, and only then"
    )
    if probabilities is None or predictions.rule_predictions is None:
        return
    trained = np.isin(np.arange(predictions.n_classes), plan.soft.soft.classes)
    require(bool(((probabilities == NEVER_SEEN) == ~trained).all()), name, "must be those of the trained classes")
    require(bool((probabilities[:, trained] >= 0.0).all()), name, "must not be negative")
    y_pred = predictions.rule_predictions[plan.fixed_rules.index(plan.soft)]
    most = np.take_along_axis(probabilities, y_pred[:, None].astype(np.intp), axis=1)[:, 0]
    require(bool((most == probabilities.max(axis=1)).all()), name, "must be largest for the predicted classes")


def _check_validation_rows(split: Split, predictions: ValidationPredictions) -> None:
    """Raise unless each classifier has predictions of its validation rows, and of no others."""
    y_pred, not_evaluated = predictions.y_pred, predictions.not_evaluated
    require(
        y_pred.shape[1] == split.n_validation,
        "ValidationPredictions.y_pred",
        "must have a column for each validation row",
    )
    if split.shared is not None:
        matches = all(not_evaluated not in codes for codes in y_pred)
    else:
        matches = all(
            np.array_equal(np.flatnonzero(codes != not_evaluated), split(i)[1]) for i, codes in enumerate(y_pred)
        )
    require(matches, "ValidationPredictions.y_pred", "must be of the validation rows of each classifier")
