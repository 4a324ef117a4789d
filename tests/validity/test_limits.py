"""Limits of other risks hold where every risk is known: evidence is drawn and goes through `certify`.

The joint probabilities of class and answer are a table, from which all risks follow.  Planted faults are caught.
"""

from dataclasses import replace
from functools import cache
from itertools import product
from math import comb, factorial, prod

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.validity.square import DELTA, POINTS, compatible, fits
from tests.validity.test_questions import CLEAN, VOTINGS, chances, fitted

from pacbayes import CertifiedClassifier, Cost, Grid
from pacbayes.certificates import Plan, best_single, certify, fit_posteriors, metrics
from pacbayes.certificates.metrics import bound_metrics, parse_metrics
from pacbayes.certificates.primary import prefit_rules
from pacbayes.certificates.voting import PRIMARY
from pacbayes.data.split import GROUP, validation_split
from pacbayes.ensemble.validation import ValidationPredictions, unit_losses


def costs(classes):
    """What grows with the distance of the answer; the last mistake costs much, and hardly ever happens."""
    table = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes))) / classes
    table[-1, 0] = 3.0
    return Cost(table, range(classes))


def table_of(shares, errors):
    """The joint probabilities of class and answer: errors of a class are shared equally among other answers."""
    shares, errors = np.asarray(shares), np.asarray(errors)
    joint = np.repeat((shares * errors / (shares.size - 1))[:, None], shares.size, axis=1)
    joint[np.diag_indices(shares.size)] = shares * (1.0 - errors)
    return joint


def true_risk(limit, joint, cost):
    """The risk that a limit is about, where class and answer have these joint probabilities."""
    true, said = joint.sum(axis=1), joint.sum(axis=0)
    if limit.name == "cost":
        return float((joint * cost.matrix).sum())
    hits = np.diag(joint)
    if limit.name == "balanced_error":
        return float(np.mean(1.0 - hits / true))
    c = limit.of
    recall, false = hits[c] / true[c], (said[c] - hits[c]) / (1.0 - true[c])
    if limit.name == "precision":
        return float(hits[c] / said[c])
    return {
        "error": 1.0 - recall,
        "recall": recall,
        "f1": 2.0 * hits[c] / (true[c] + said[c]),
        "specificity": 1.0 - false,
        "youden": recall - false,
    }[limit.name]


def is_wrong(limit, joint, cost):
    risk = true_risk(limit, joint, cost)
    return risk > limit.bound if limit.side == "upper" else risk < limit.bound


def drawn(tables, n, rng):
    """Validation predictions of classifiers with such tables: classes are drawn, and given them the answer of each."""
    shares = tables[0].sum(axis=1)
    truth = rng.choice(shares.size, n, p=shares).astype(np.uint8)
    sums = [np.cumsum(table[truth] / shares[truth, None], axis=1) for table in tables]
    answers = [np.minimum((rng.random((n, 1)) > one).sum(axis=1), shares.size - 1) for one in sums]
    return ValidationPredictions(np.arange(shares.size), int(shares.size), np.array(answers, dtype=np.uint8), truth)


def fixed_rules(predictions, number, hedge, limits, share, split=None, bet=None):
    """A plan in which the first classifier is proposed, and what its rules say of the rows."""
    rules = [rule for rule in prefit_rules(0, number) if hedge > 0.0 or rule.name == PRIMARY]
    rules = tuple(replace(rule, bet=bet) for rule in rules)
    split = validation_split(predictions.y_true.size) if split is None else split
    hashes = np.random.default_rng(0).integers(2**64, size=predictions.y_true.size, dtype=np.uint64)
    said = np.stack([rule.combine(predictions.y_pred, predictions.labels, lambda: hashes) for rule in rules])
    plan = Plan(split, delta=DELTA, hedge=hedge, fixed_rules=rules, metrics=limits, metrics_share=share)
    return plan, replace(predictions, rule_predictions=said.astype(predictions.y_pred.dtype))


NAMES = ("error", "recall", "precision", "f1", "specificity", "balanced_error", "youden")


def questions(names, classes):
    """The questions; classes are bet on together, and the bet on costs is the usual one."""
    found = parse_metrics(tuple(costs(classes) if name == "cost" else name for name in names))
    return tuple(replace(one, bets=(0.5,) * classes) if one.name == "balanced_error" else one for one in found)


#: Shares of classes, and errors in them; with the third, some draws have no row of a class.
LAWS = {
    "two": ([0.6, 0.4], [0.1, 0.25]),
    "three": ([0.5, 0.3, 0.2], [0.05, 0.1, 0.4]),
    "rare": ([0.96, 0.04], [0.02, 0.5]),
}


def failures_of_a_fixed_rule(names, law, draws, share, n=60):
    table = table_of(*LAWS[law])
    asked, cost, failed = questions(names, len(table)), costs(len(table)), 0
    for seed in range(draws):
        predictions = drawn([table], n, np.random.default_rng([seed, 3]))
        plan, predictions = fixed_rules(predictions, 1, 0.0, asked, share)
        found = certify(plan, predictions, fit_posteriors(plan, predictions))["best"]
        wrong = any(is_wrong(one, table, cost) for one in found.metrics)
        failed += bool(wrong or 1.0 - np.trace(table) > found.bound)
    return failed


@fits(60, 2000)
@pytest.mark.parametrize("name", [*NAMES, "cost"])
def test_each_limit_alone(name, fits):
    for law in LAWS:
        # Nearly all of delta is the limit's.
        failed = failures_of_a_fixed_rule((name,), law, fits, 0.95)
        assert compatible(failed, fits)


@fits(60, 2000)
@pytest.mark.parametrize("law", LAWS)
def test_all_limits_and_the_bound_at_once(law, fits):
    failed = failures_of_a_fixed_rule((*NAMES, "cost"), law, fits, 0.5)
    assert compatible(failed, fits)


def test_limits_that_are_not_paid_for_are_caught(monkeypatch):
    monkeypatch.setattr(metrics, "level_per_bound", lambda level, share, number: level)
    assert not compatible(failures_of_a_fixed_rule((*NAMES, "cost"), "three", 50, 0.5, n=400), 50)


# -- a rule that was chosen ------------------------------------------------------------------------------------------


def failures_of_a_chosen_rule(draws, plain, number=30, n=150):
    """How often a limit of the best of many equally good classifiers is wrong; and how often one was chosen."""
    table = table_of(*LAWS["three"])
    asked, cost = questions((*NAMES, "cost"), 3), costs(3)
    failed = chosen = 0
    for seed in range(draws):
        predictions = drawn([table] * number, n, np.random.default_rng([seed, 4]))
        plan, predictions = fixed_rules(predictions, number, 0.9, asked, 0.6)
        found = certify(plan, predictions, fit_posteriors(plan, predictions))["best"]
        chosen += found.rule == "Occam"
        limits = found.metrics
        if plain:
            best = best_single(predictions.count(plan.split), DELTA, None).index
            limits = bound_metrics(predictions.y_pred[best], plan, predictions, DELTA)
        failed += any(is_wrong(one, table, cost) for one in limits)
    return failed, chosen


@fits(30, 2000)
def test_limits_of_a_chosen_rule(fits):
    failed, chosen = failures_of_a_chosen_rule(fits, plain=False)
    assert chosen > fits / 2
    assert compatible(failed, fits)


def test_plain_limits_of_a_chosen_rule_are_caught():
    """Recall of a rare class, whose limits are as if the classifier with the best recall had been fixed beforehand."""
    table, failed = table_of([0.8, 0.2], [0.1, 0.3]), 0
    for seed in range(60):
        predictions = drawn([table] * 30, 150, np.random.default_rng([seed, 5]))
        plan, predictions = fixed_rules(predictions, 30, 0.9, parse_metrics(("recall",), 1), 0.9)
        best = int(np.argmin(predictions.wrong()[:, predictions.y_true == 1].sum(axis=1)))
        # The planted fault: the level of the whole, not of one classifier among thirty.
        (limit,) = bound_metrics(predictions.y_pred[best], plan, predictions, DELTA)
        failed += is_wrong(limit, table, None)
    assert not compatible(failed, 60)


def test_the_largest_cost_of_the_data_is_caught():
    table = np.array([[0.67, 0.3], [0.03, 0.0]])
    cost, failed, honest = Cost([[0, 0.01], [1, 0]], [0, 1]), 0, 0
    for seed in range(60):
        predictions = drawn([table], 30, np.random.default_rng([seed, 6]))
        # The planted fault: a cost that no row had is forgotten.
        seen = Cost([[0, 0.01], [0.01, 0]], [0, 1]) if not (predictions.y_true == 1).any() else cost
        for which in (cost, seen):
            plan, with_said = fixed_rules(predictions, 1, 0.0, parse_metrics((which,)), 0.95)
            limit = certify(plan, with_said, fit_posteriors(plan, with_said))["best"].metrics[0]
            wrong = is_wrong(limit, table, cost)
            failed, honest = failed + (wrong and which is seen), honest + (wrong and which is cost)
    assert not compatible(failed, 60)
    assert compatible(honest, 60)


# -- enumerated ------------------------------------------------------------------------------------------------------


@cache
def outcomes(m):
    """All counts of (class 1 answered 1, class 1 answered 0, class 0 answered 1, class 0 answered 0) among m rows."""
    return [(a, b, c, m - a - b - c) for a, b, c in product(range(m + 1), repeat=3) if a + b + c <= m]


def bounds_of(name, m, level):
    """The lower limit for class 1 of every outcome."""
    asked = parse_metrics((name,), pos_label=1)
    found = []
    for counts in outcomes(m):
        truth, said = (np.repeat(values, counts).astype(np.uint8) for values in ([1, 1, 0, 0], [1, 0, 1, 0]))
        predictions = ValidationPredictions(np.array([0, 1]), 2, said[None], truth)
        plan, predictions = fixed_rules(predictions, 1, 0.0, asked, 0.5)
        (limit,) = bound_metrics(said, plan, predictions, 2.0 * level)
        found.append(limit.bound)
    return np.array(found)


@pytest.mark.parametrize("m", [1, 3, 6, 12])
@pytest.mark.parametrize("name", ["recall", "precision", "f1"])
def test_no_law_makes_a_limit_fail_more_often_than_its_level(name, m):
    level, worst = 0.05, 0.0
    bounds = bounds_of(name, m, level)
    counts = np.array(outcomes(m))
    ways = np.array([factorial(m) / prod(map(factorial, one)) for one in outcomes(m)])
    rng = np.random.default_rng([m, 7])
    assert len(counts) == comb(m + 3, 3)
    for law in [*rng.dirichlet(np.ones(4), 300), *rng.dirichlet([5.0, 0.5, 0.5, 2.0], 300)]:
        hit, missed, false, _ = law
        risk = {"recall": hit / (hit + missed), "precision": hit / (hit + false)}.get(name)
        risk = 2 * hit / (2 * hit + missed + false) if risk is None else risk
        worst = max(worst, float((ways * np.prod(law**counts, axis=1))[bounds > risk].sum()))
    assert worst <= level


# -- groups ----------------------------------------------------------------------------------------------------------


def group_failures(draws, groups=40):
    """How often the bound of the mean over groups, or of their mean cost, is too small; groups are of unequal size."""
    cost = Cost([[0, 1], [4, 0]], [0, 1])
    failed, ratios = 0, []
    for seed in range(draws):
        rng = np.random.default_rng([seed, 8])
        # Large groups are harder.  Class 1 has half of the rows, and both classes are as hard.
        sizes = rng.choice([1, 3, 20], groups)
        chances_of = rng.beta(0.5, np.where(sizes == 20, 2.0, 6.0))
        units = np.repeat(np.arange(groups), sizes)
        truth = rng.integers(0, 2, units.size).astype(np.uint8)
        said = np.where(rng.random(units.size) < chances_of[units], 1 - truth, truth).astype(np.uint8)
        split = validation_split(units.size, GROUP, units)
        predictions = ValidationPredictions(np.array([0, 1]), 2, said[None], truth)
        plan, predictions = fixed_rules(predictions, 1, 0.0, parse_metrics((cost,)), 0.3, split, 0.8)
        found = certify(plan, predictions, fit_posteriors(plan, predictions))["best"]
        true = (2 * 0.5 / 6.5 + 0.5 / 2.5) / 3
        failed += bool(true > found.bound or 2.5 * true > found.metrics[0].bound)
        assert found.distance == "bet"
        ratios.append(found.bound / float(predictions.count(split)[0].upper(found.level)[0]))
    return failed, float(np.mean(ratios))


@fits(60, 2000)
def test_groups_of_unequal_size(fits):
    failed, ratio = group_failures(fits)
    assert compatible(failed, fits)
    assert ratio < 0.95


def test_rows_of_groups_as_if_they_were_independent_are_caught():
    """The planted fault: a bet on every row."""
    failed = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, 9])
        chances_of = rng.beta(0.3, 1.2, 10)
        wrong = rng.random((10, 100)) < chances_of[:, None]
        limit = metrics.bet_upper(unit_losses(wrong.ravel().astype(float), validation_split(1000)), 0.2, DELTA)
        failed += limit < 0.2
    assert not compatible(failed, 300)


# -- bets are fixed on training rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("grouped", [False, True])
def test_bets_do_not_change_when_validation_labels_do(grouped):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(180, 2))
    y = (X[:, 0] + 0.7 * rng.normal(size=180) > 0).astype(int) + (X[:, 1] > 1)
    groups = np.arange(180) // 3 if grouped else None
    cost = Cost([[0, 1, 2], [1, 0, 2], [2, 2, 0]], range(3))
    limits = (cost,) if grouped else (cost, "balanced_error")

    def plan_of(labels):
        trees = Grid(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]})
        model = CertifiedClassifier(trees, metrics=limits, cv=3, random_state=0).fit(X, labels, groups=groups)
        return model._fitted.plan

    first = plan_of(y)
    validation, other = first.split.validating, y.copy()
    other[validation] = rng.permutation(2 - y[validation])
    second = plan_of(other)
    assert [one.bets for one in first.metrics] == [one.bets for one in second.metrics]
    assert [rule.bet for rule in first.fixed_rules] == [rule.bet for rule in second.fixed_rules]
    assert all(len(one.bets) > 0 for one in first.metrics)
    assert all((rule.bet is None) == (not grouped) for rule in first.fixed_rules)
    # Others do, when training labels do.
    train, changed = first.split(0)[0], y.copy()
    changed[train] = rng.permutation(y[train])
    assert [one.bets for one in first.metrics] != [one.bets for one in plan_of(changed).metrics]


# -- whole fits ------------------------------------------------------------------------------------------------------


@fits(6, 100)
@pytest.mark.parametrize("kind", CLEAN)
def test_whole_fits(kind, fits):
    cost = Cost([[0, 1], [5, 0]], [0, 1])
    failed, limits = dict.fromkeys(VOTINGS, 0), (*NAMES, cost)
    for seed in range(fits):
        clf = fitted(kind, seed, metrics=limits, metrics_share=0.5, hedge=0.1 if seed % 2 else 0.8)
        for voting in VOTINGS:
            said = clf.set_params(voting=voting).predict(POINTS)
            classes = chances(kind, said)[1]
            joint = np.array([[classes[said == a, c].sum() for a in (0, 1)] for c in (0, 1)]) / 400
            certificate = clf.certificates_[voting]
            # Of a condition that never occurs nothing is claimed.
            never = [c for c in (0, 1) if not (said == c).any()]
            known = [one for one in certificate.metrics if one.name != "precision" or one.of not in never]
            wrong = any(is_wrong(one, joint, cost) for one in known)
            failed[voting] += bool(wrong or 1.0 - np.trace(joint) > certificate.bound)
    assert all(compatible(one, fits) for one in failed.values())
