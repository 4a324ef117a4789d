"""Bounds of metrics hold jointly with the main bound, by simulation with known confusion probabilities.

Validation predictions are drawn from a table of joint probabilities of class and prediction, and go through `certify`.
"""

from dataclasses import replace
from functools import cache
from itertools import product
from math import comb, factorial, prod

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.validity.square import DELTA, POINTS, compatible, fits
from tests.validity.test_fitted_estimators import CLEAN, VOTINGS, chances, fitted

from pacbayes import CertifiedClassifier, Cost, Grid
from pacbayes.certificates import Plan, certify, fit_posteriors, metrics
from pacbayes.certificates.metrics import bound_metrics, parse_metrics
from pacbayes.certificates.primary import prefit_rules
from pacbayes.certificates.voting import PRIMARY
from pacbayes.data.split import GROUP, make_validation_split
from pacbayes.ensemble.validation import ValidationPredictions, average_by_unit


def costs(classes):
    """Costs that grow with the distance of the classes; one rare error is expensive."""
    table = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes))) / classes
    table[-1, 0] = 3.0
    return Cost(table, range(classes))


def table_of(shares, errors):
    """Joint probabilities of class and prediction: the errors of a class are spread equally over the other classes."""
    shares, errors = np.asarray(shares), np.asarray(errors)
    joint = np.repeat((shares * errors / (shares.size - 1))[:, None], shares.size, axis=1)
    joint[np.diag_indices(shares.size)] = shares * (1.0 - errors)
    return joint


def true_value(bound, joint, cost):
    """The true value of a bounded metric."""
    true, predicted = joint.sum(axis=1), joint.sum(axis=0)
    if bound.name == "cost":
        return float((joint * cost.matrix).sum())
    hits = np.diag(joint)
    if bound.name == "balanced_error":
        return float(np.mean(1.0 - hits / true))
    c = bound.of
    recall, fpr = hits[c] / true[c], (predicted[c] - hits[c]) / (1.0 - true[c])
    if bound.name == "precision":
        return float(hits[c] / predicted[c])
    return {
        "error": 1.0 - recall,
        "recall": recall,
        "f1": 2.0 * hits[c] / (true[c] + predicted[c]),
        "specificity": 1.0 - fpr,
        "youden": recall - fpr,
    }[bound.name]


def fails(bound, joint, cost):
    value = true_value(bound, joint, cost)
    return value > bound.bound if bound.side == "upper" else value < bound.bound


def draw_predictions(tables, n, rng):
    """Draw classes, and the predictions of every classifier given the class."""
    shares = tables[0].sum(axis=1)
    truth = rng.choice(shares.size, n, p=shares).astype(np.uint8)
    sums = [np.cumsum(table[truth] / shares[truth, None], axis=1) for table in tables]
    y_pred = [np.minimum((rng.random((n, 1)) > cumulative).sum(axis=1), shares.size - 1) for cumulative in sums]
    return ValidationPredictions(np.arange(shares.size), int(shares.size), np.array(y_pred, dtype=np.uint8), truth)


def fixed_rules(predictions, number, hedge, metrics, share, split=None, bet=None):
    """A plan with the first classifier as primary rule, and the predictions of its rules."""
    rules = [rule for rule in prefit_rules(0, number) if hedge > 0.0 or rule.name == PRIMARY]
    rules = tuple(replace(rule, bet=bet) for rule in rules)
    split = make_validation_split(predictions.y_true.size) if split is None else split
    hashes = np.random.default_rng(0).integers(2**64, size=predictions.y_true.size, dtype=np.uint64)
    y_pred = np.stack([rule.combine(predictions.y_pred, predictions.labels, lambda: hashes) for rule in rules])
    plan = Plan(split, delta=DELTA, hedge=hedge, fixed_rules=rules, metrics=metrics, metrics_share=share)
    return plan, replace(predictions, rule_predictions=y_pred.astype(predictions.y_pred.dtype))


NAMES = ("error", "recall", "precision", "f1", "specificity", "balanced_error", "youden")


def requested(names, classes):
    """Metrics with a joint bet on the classes, and the default bet on costs."""
    specs = parse_metrics(tuple(costs(classes) if name == "cost" else name for name in names))
    return tuple(replace(spec, bets=(0.5,) * classes) if spec.name == "balanced_error" else spec for spec in specs)


#: Class shares, and error rates of the classes; some draws of the third have no row of a class.
LAWS = {
    "two": ([0.6, 0.4], [0.1, 0.25]),
    "three": ([0.5, 0.3, 0.2], [0.05, 0.1, 0.4]),
    "rare": ([0.96, 0.04], [0.02, 0.5]),
}


def failures_of_a_fixed_rule(names, law, draws, share, n=60):
    table = table_of(*LAWS[law])
    specs, cost, failed = requested(names, len(table)), costs(len(table)), 0
    for seed in range(draws):
        predictions = draw_predictions([table], n, np.random.default_rng([seed, 3]))
        plan, predictions = fixed_rules(predictions, 1, 0.0, specs, share)
        certificate = certify(plan, predictions, fit_posteriors(plan, predictions))["best"]
        wrong = any(fails(bound, table, cost) for bound in certificate.metrics)
        failed += bool(wrong or 1.0 - np.trace(table) > certificate.bound)
    return failed


@fits(60, 2000)
@pytest.mark.parametrize("name", [*NAMES, "cost"])
def test_each_metric_alone(name, fits):
    for law in LAWS:
        # Nearly all of delta is for the metric.
        failed = failures_of_a_fixed_rule((name,), law, fits, 0.95)
        assert compatible(failed, fits)


@fits(60, 2000)
@pytest.mark.parametrize("law", LAWS)
def test_all_metrics_and_the_main_bound_hold_jointly(law, fits):
    failed = failures_of_a_fixed_rule((*NAMES, "cost"), law, fits, 0.5)
    assert compatible(failed, fits)


def test_metrics_without_correction_are_caught(monkeypatch):
    monkeypatch.setattr(metrics, "level_per_bound", lambda level, share, number: level)
    assert not compatible(failures_of_a_fixed_rule((*NAMES, "cost"), "three", 50, 0.5, n=400), 50)


# -- a rule chosen on the validation rows ----------------------------------------------------------------------------


def failures_of_a_chosen_rule(draws, number=30, n=150):
    """Number of failures for the best of many equal classifiers; and how often Occam's choice predicts."""
    table = table_of(*LAWS["three"])
    specs, cost = requested((*NAMES, "cost"), 3), costs(3)
    failed = chosen = 0
    for seed in range(draws):
        predictions = draw_predictions([table] * number, n, np.random.default_rng([seed, 4]))
        plan, predictions = fixed_rules(predictions, number, 0.9, specs, 0.6)
        certificate = certify(plan, predictions, fit_posteriors(plan, predictions))["best"]
        chosen += certificate.rule == "Occam"
        failed += any(fails(bound, table, cost) for bound in certificate.metrics)
    return failed, chosen


@fits(30, 2000)
def test_metrics_of_a_chosen_rule(fits):
    failed, chosen = failures_of_a_chosen_rule(fits)
    assert chosen > fits / 2
    assert compatible(failed, fits)


def test_uncorrected_metrics_of_a_chosen_rule_are_caught():
    """Recall of a rare class, as if the classifier with the best recall had been fixed before validation."""
    table, failed = table_of([0.8, 0.2], [0.1, 0.3]), 0
    for seed in range(60):
        predictions = draw_predictions([table] * 30, 150, np.random.default_rng([seed, 5]))
        plan, predictions = fixed_rules(predictions, 30, 0.9, parse_metrics(("recall",), 1), 0.9)
        best = int(np.argmin(predictions.error_mask()[:, predictions.y_true == 1].sum(axis=1)))
        # The planted fault: the whole level, not that of one classifier among thirty.
        (bound,) = bound_metrics(predictions.y_pred[best], plan, predictions, DELTA)
        failed += fails(bound, table, None)
    assert not compatible(failed, 60)


def test_costs_divided_by_the_largest_observed_cost_are_caught():
    table = np.array([[0.67, 0.3], [0.03, 0.0]])
    cost, failed, valid = Cost([[0, 0.01], [1, 0]], [0, 1]), 0, 0
    for seed in range(60):
        predictions = draw_predictions([table], 30, np.random.default_rng([seed, 6]))
        # The planted fault: a cost that no row has is ignored.
        observed = Cost([[0, 0.01], [0.01, 0]], [0, 1]) if not (predictions.y_true == 1).any() else cost
        for divisor in (cost, observed):
            plan, with_rules = fixed_rules(predictions, 1, 0.0, parse_metrics((divisor,)), 0.95)
            bound = certify(plan, with_rules, fit_posteriors(plan, with_rules))["best"].metrics[0]
            wrong = fails(bound, table, cost)
            failed, valid = failed + (wrong and divisor is observed), valid + (wrong and divisor is cost)
    assert not compatible(failed, 60)
    assert compatible(valid, 60)


# -- enumeration -----------------------------------------------------------------------------------------------------


@cache
def outcomes(m):
    """All confusion matrices (true positives, false negatives, false positives, true negatives) of m rows."""
    return [(a, b, c, m - a - b - c) for a, b, c in product(range(m + 1), repeat=3) if a + b + c <= m]


def bounds_of(name, m, level):
    """The lower bound for class 1, for every outcome."""
    specs = parse_metrics((name,), pos_label=1)
    bounds = []
    for counts in outcomes(m):
        y_true, y_pred = (np.repeat(values, counts).astype(np.uint8) for values in ([1, 1, 0, 0], [1, 0, 1, 0]))
        predictions = ValidationPredictions(np.array([0, 1]), 2, y_pred[None], y_true)
        plan, predictions = fixed_rules(predictions, 1, 0.0, specs, 0.5)
        (bound,) = bound_metrics(y_pred, plan, predictions, 2.0 * level)
        bounds.append(bound.bound)
    return np.array(bounds)


@pytest.mark.parametrize("m", [1, 3, 6, 12])
@pytest.mark.parametrize("name", ["recall", "precision", "f1"])
def test_no_distribution_makes_a_bound_fail_more_often_than_its_level(name, m):
    level, worst = 0.05, 0.0
    bounds = bounds_of(name, m, level)
    counts = np.array(outcomes(m))
    ways = np.array([factorial(m) / prod(map(factorial, counted)) for counted in outcomes(m)])
    rng = np.random.default_rng([m, 7])
    assert len(counts) == comb(m + 3, 3)
    for law in [*rng.dirichlet(np.ones(4), 300), *rng.dirichlet([5.0, 0.5, 0.5, 2.0], 300)]:
        tp, fn, fp, _ = law
        value = {"recall": tp / (tp + fn), "precision": tp / (tp + fp), "f1": 2 * tp / (2 * tp + fn + fp)}[name]
        worst = max(worst, float((ways * np.prod(law**counts, axis=1))[bounds > value].sum()))
    assert worst <= level


# -- groups ----------------------------------------------------------------------------------------------------------


def group_failures(draws, groups=40):
    """Number of failures of the mean over groups of unequal size, or of its mean cost; and a ratio of bounds."""
    cost = Cost([[0, 1], [4, 0]], [0, 1])
    failed, ratios = 0, []
    for seed in range(draws):
        rng = np.random.default_rng([seed, 8])
        # Large groups are harder.  Both classes have half of the rows, and equal error rates.
        sizes = rng.choice([1, 3, 20], groups)
        chances_of = rng.beta(0.5, np.where(sizes == 20, 2.0, 6.0))
        units = np.repeat(np.arange(groups), sizes)
        y_true = rng.integers(0, 2, units.size).astype(np.uint8)
        y_pred = np.where(rng.random(units.size) < chances_of[units], 1 - y_true, y_true).astype(np.uint8)
        split = make_validation_split(units.size, GROUP, units)
        predictions = ValidationPredictions(np.array([0, 1]), 2, y_pred[None], y_true)
        plan, predictions = fixed_rules(predictions, 1, 0.0, parse_metrics((cost,)), 0.3, split, 0.8)
        certificate = certify(plan, predictions, fit_posteriors(plan, predictions))["best"]
        true = (2 * 0.5 / 6.5 + 0.5 / 2.5) / 3
        failed += bool(true > certificate.bound or 2.5 * true > certificate.metrics[0].bound)
        assert certificate.distance == "bet"
        ratios.append(certificate.bound / float(predictions.count_errors(split)[0].upper(certificate.level)[0]))
    return failed, float(np.mean(ratios))


@fits(60, 2000)
def test_groups_of_unequal_size(fits):
    failed, ratio = group_failures(fits)
    assert compatible(failed, fits)
    assert ratio < 0.95


def test_rows_of_groups_taken_for_independent_rows_are_caught():
    """The planted fault: a bet on every row."""
    failed = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, 9])
        chances_of = rng.beta(0.3, 1.2, 10)
        wrong = rng.random((10, 100)) < chances_of[:, None]
        bound = metrics.bet_upper(average_by_unit(wrong.ravel().astype(float), make_validation_split(1000)), 0.2, DELTA)
        failed += bound < 0.2
    assert not compatible(failed, 300)


# -- bets are fixed on training rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("grouped", [False, True])
def test_bets_do_not_change_when_validation_labels_do(grouped):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(180, 2))
    y = (X[:, 0] + 0.7 * rng.normal(size=180) > 0).astype(int) + (X[:, 1] > 1)
    groups = np.arange(180) // 3 if grouped else None
    cost = Cost([[0, 1, 2], [1, 0, 2], [2, 2, 0]], range(3))
    names = (cost,) if grouped else (cost, "balanced_error")

    def plan_for(labels):
        trees = Grid(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]})
        model = CertifiedClassifier(trees, metrics=names, cv=3, random_state=0).fit(X, labels, groups=groups)
        return model._fitted.plan

    first = plan_for(y)
    validation, other = first.split.validation_rows, y.copy()
    other[validation] = rng.permutation(2 - y[validation])
    second = plan_for(other)
    assert [spec.bets for spec in first.metrics] == [spec.bets for spec in second.metrics]
    assert [rule.bet for rule in first.fixed_rules] == [rule.bet for rule in second.fixed_rules]
    assert all(len(spec.bets) > 0 for spec in first.metrics)
    assert all((rule.bet is None) == (not grouped) for rule in first.fixed_rules)
    # They change with training labels.
    train, changed = first.split(0)[0], y.copy()
    changed[train] = rng.permutation(y[train])
    assert [spec.bets for spec in first.metrics] != [spec.bets for spec in plan_for(changed).metrics]


# -- whole fits ------------------------------------------------------------------------------------------------------


@fits(6, 100)
@pytest.mark.parametrize("kind", CLEAN)
def test_whole_fits(kind, fits):
    cost = Cost([[0, 1], [5, 0]], [0, 1])
    failed, names = dict.fromkeys(VOTINGS, 0), (*NAMES, cost)
    for seed in range(fits):
        clf = fitted(kind, seed, metrics=names, metrics_share=0.5, hedge=0.1 if seed % 2 else 0.8)
        for voting in VOTINGS:
            y_pred = clf.set_params(voting=voting).predict(POINTS)
            classes = chances(kind, y_pred)[1]
            joint = np.array([[classes[y_pred == a, c].sum() for a in (0, 1)] for c in (0, 1)]) / 400
            certificate = clf.certificates_[voting]
            # The precision of a class that is never predicted is undefined.
            never = [c for c in (0, 1) if not (y_pred == c).any()]
            defined = [bound for bound in certificate.metrics if bound.name != "precision" or bound.of not in never]
            wrong = any(fails(bound, joint, cost) for bound in defined)
            failed[voting] += bool(wrong or 1.0 - np.trace(joint) > certificate.bound)
    assert all(compatible(one, fits) for one in failed.values())
