"""Plans and validation predictions of classifiers with given errors."""

from dataclasses import replace

import numpy as np

from pacbayes import ClassifierSet
from pacbayes.certificates import Plan, certify, fit_posteriors
from pacbayes.certificates.primary import prefit_rules
from pacbayes.certificates.voting import PRIMARY
from pacbayes.data.split import GROUP, make_validation_split
from pacbayes.ensemble.validation import ValidationPredictions


def a_set(errors, m=100):
    """Classifiers that are wrong on the first of `m` rows."""
    wrong = np.arange(m) < np.asarray(errors)[:, None]
    return ClassifierSet.from_predictions(wrong.astype(int), np.zeros(m, dtype=int))


def grouped(copies=None):
    """Three classifiers with errors in 30 groups of one, two and five rows."""
    sizes = np.repeat([1, 2, 5], 10)
    units = np.repeat(np.arange(30), sizes)
    row_sizes = sizes[units]
    y_pred = np.zeros((3, units.size), dtype=np.uint8)
    for line, counts in zip(y_pred, ([1, 3, 4], [0, 2, 11], [6, 12, 20]), strict=True):
        for size, count in zip((1, 2, 5), counts, strict=True):
            line[np.flatnonzero(row_sizes == size)[:count]] = 1
    predictions = ValidationPredictions(np.array([0, 1]), 2, y_pred, np.zeros(units.size, dtype=np.uint8))
    return ClassifierSet(None, predictions, replace(make_validation_split(units.size, GROUP, units), copies=copies))


def fixed_rules(classifiers, primary=None, hedge=None, **choices):
    """A plan for a set, and its validation predictions with those of the primary rules."""
    predictions, rules = classifiers.predictions, ()
    hedge = (1.0 if primary is None else 0.1) if hedge is None else hedge
    if primary is not None:
        rules = prefit_rules(primary, len(classifiers))
        rules = tuple(rule for rule in rules if hedge > 0.0 or rule.name == PRIMARY)
        hashes = np.random.default_rng(0).integers(2**64, size=predictions.y_true.size, dtype=np.uint64)
        y_pred = np.stack([rule.combine(predictions.y_pred, predictions.labels, lambda: hashes) for rule in rules])
        predictions = replace(predictions, rule_predictions=y_pred.astype(predictions.y_pred.dtype))
    if choices.get("prior") is not None:
        choices["prior_kind"] = "given"
    return Plan(classifiers.splits, hedge=hedge, fixed_rules=rules, **choices), predictions


def erring(plan, predictions, errors):
    """The same predictions, but rules are wrong on the first rows: `errors` by voting and name."""
    m, y_pred = predictions.y_true.size, predictions.rule_predictions.copy()
    for line, rule in zip(y_pred, plan.fixed_rules, strict=True):
        if (rule.voting, rule.name) in errors:
            line[:] = np.where(
                np.arange(m) < errors[rule.voting, rule.name], 1 - predictions.y_true, predictions.y_true
            )
    return replace(predictions, rule_predictions=y_pred)


def certified(plan, predictions):
    return certify(plan, predictions, fit_posteriors(plan, predictions))


def claims_of(certificate):
    """Bound and level of the rule that predicts and of all others, by name."""
    others = {claim.rule: (claim.bound, claim.level) for claim in certificate.alternatives}
    return {certificate.rule: (certificate.bound, certificate.level)} | others
