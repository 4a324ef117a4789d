"""Certified thresholds meet their requirements, by simulation with known distributions; planted faults.

Scores are normal in both classes: recall, precision and false positive rate at a threshold are known exactly.
"""

from itertools import takewhile

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from pacbayes import CertifiedClassifier, Grid, Threshold
from pacbayes.certificates.decisions import max_error_rate
from pacbayes.certificates.thresholds import ConfusionCounts, ThresholdGrid, certify_threshold

DELTA = 0.1
# The distance of the classes, the share of positive rows, and the numbers of training and validation rows.
WORLDS = {
    "standard": (2.0, 0.3, 300, 300),
    "rare": (2.5, 0.04, 1000, 800),
    "useless": (0.0, 0.3, 300, 300),
    "few": (1.5, 0.5, 60, 60),
}
DECISIONS = {
    "recall": Threshold(recall=0.8),
    "precision": Threshold(precision=0.6),
    "fpr": Threshold(fpr=0.1),
    "recall and precision": Threshold(recall=0.7, precision=0.6),
    "recall and fpr": Threshold(recall=0.7, fpr=0.2),
    "all": Threshold(recall=0.6, precision=0.5, fpr=0.2, prefer="recall"),
}


def draw_scores(world, n, rng):
    """Draw scores in [0, 1], increasing functions of normal ones, and a mask of the positive rows."""
    distance, share, *_ = WORLDS[world]
    positive = rng.random(n) < share
    return norm.cdf(rng.normal(size=n) + distance * positive), positive


def true_measures(world, threshold):
    """True recall, precision and false positive rate at a threshold."""
    distance, share, *_ = WORLDS[world]
    cut = norm.ppf(threshold)
    recall, fpr = norm.sf(cut - distance), norm.sf(cut)
    positive = share * recall + (1 - share) * fpr
    return {"recall": recall, "precision": share * recall / positive if positive else 1.0, "fpr": fpr}


def violates(world, threshold, decision):
    """Whether a requirement does not hold at a threshold."""
    true = true_measures(world, threshold)
    return any(
        (true[name] > share) if name == "fpr" else (true[name] < share) for name, share in decision.required.items()
    )


def grid_and_scores(world, seed):
    """Thresholds from training rows, and validation scores with a mask of positive rows."""
    rng = np.random.default_rng([seed, 17])
    train, (scores, positive) = (draw_scores(world, n, rng) for n in WORLDS[world][2:])
    return ThresholdGrid.from_scores(*train, "yes"), scores, positive


def failures(world, decision, draws, choose):
    """Number of chosen thresholds that violate a requirement, and of chosen thresholds."""
    failed = chosen = 0
    for seed in range(draws):
        threshold = choose(*grid_and_scores(world, seed), decision)
        chosen += threshold is not None
        failed += threshold is not None and violates(world, threshold, decision)
    return failed, chosen


def certified(grid, scores, positive, decision):
    result = certify_threshold(grid, ConfusionCounts.from_scores(grid.values, scores, positive), decision, DELTA)
    return result.threshold if result.passed else None


def allowed(draws):
    """Number of failures two standard deviations above the expected one."""
    return DELTA * draws + 2 * np.sqrt(draws * DELTA * (1 - DELTA))


@pytest.mark.parametrize("draws", [60, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("decision", DECISIONS.values(), ids=DECISIONS)
@pytest.mark.parametrize("world", WORLDS)
def test_requirements_hold(world, decision, draws):
    failed, chosen = failures(world, decision, draws, certified)
    assert failed <= allowed(draws)
    if world == "standard":
        assert chosen >= 0.4 * draws


@pytest.mark.parametrize("world", ["standard", "rare", "few"])
def test_requirements_hold_jointly_at_all_thresholds_that_pass(world):
    failed, decision = 0, Threshold(recall=0.7)
    for seed in range(100):
        grid, scores, positive = grid_and_scores(world, seed)
        counted = ConfusionCounts.from_scores(grid.values, scores, positive)
        order = grid.order(decision, counted.rows, DELTA)
        passes = counted.passes(decision, DELTA)[order]
        passed = order[: int(np.argmin(passes)) if not passes.all() else passes.size]
        failed += any(violates(world, grid.values[place], decision) for place in passed)
    assert failed <= allowed(100)


# -- planted faults --------------------------------------------------------------------------------------------------


def chosen_on_validation_rows(grid, scores, positive, decision):
    """Test all validation scores as thresholds, and choose the best one that passes."""
    values = np.unique(scores)[::-1].copy()
    counted = ConfusionCounts.from_scores(values, scores, positive)
    passed = np.flatnonzero(counted.passes(decision, DELTA))
    return float(values[passed[-1]]) if passed.size else None


def ordered_by_validation_rows(grid, scores, positive, decision):
    """Test thresholds in the order of their own p-values."""
    counted = ConfusionCounts.from_scores(grid.values, scores, positive)
    bounds = counted.bounds("precision", DELTA)
    best = int(np.argmin(bounds))
    return float(grid.values[best]) if bounds[best] <= max_error_rate("precision", decision.precision) else None


@pytest.mark.parametrize("fault", [chosen_on_validation_rows, ordered_by_validation_rows])
def test_a_threshold_or_order_of_the_validation_rows_is_caught(fault):
    """Useless scores, with a precision just below the required one at all thresholds."""
    decision = Threshold(precision=0.31)
    failed, _ = failures("useless", decision, 100, fault)
    assert failed > 1.5 * allowed(100)
    assert failures("useless", decision, 100, certified)[0] <= allowed(100)


def test_a_sequence_for_each_requirement_is_caught():
    """Fixed sequences for recall (loosest threshold first) and precision (strictest first), and their intersection.

    At the larger of two thresholds recall is slightly too small, at the smaller one precision is: each threshold
    violates one requirement, and both sequences may fail.
    """
    failed = certified_failed = 0
    draws, recall, precision = 1500, 0.75, 0.75
    for seed in range(draws):
        rng = np.random.default_rng([seed, 23])
        positive = rng.random(300) < 0.5
        # Recall at 0.6 is 0.745; precision at 0.4 is 0.945 / (0.945 + 0.32) = 0.747.
        levels = np.array([0.7, 0.5, 0.1])
        scores = np.where(
            positive,
            levels[_kinds(rng, 300, (0.745, 0.2))],
            levels[_kinds(rng, 300, (0.05, 0.27))],
        )
        values = np.array([0.6, 0.4])
        counted = ConfusionCounts.from_scores(values, scores, positive)
        by_recall = counted.bounds("recall", DELTA) <= max_error_rate("recall", recall)
        by_precision = counted.bounds("precision", DELTA) <= max_error_rate("precision", precision)
        failed += bool(_passed(by_recall, [1, 0]) & _passed(by_precision, [0, 1]))
        certified_failed += bool(_passed(by_recall & by_precision, [0, 1]))
    assert failed > allowed(draws)
    assert certified_failed <= allowed(draws)


def _kinds(rng, n, chances):
    return np.searchsorted(np.cumsum(chances), rng.random(n), side="right")


def _passed(passes, order):
    """Rejections of a fixed sequence of tests."""
    return set(takewhile(lambda place: passes[place], order))


def test_a_bound_at_the_chosen_threshold_is_caught():
    """The best lower bound of precision among the thresholds that passed, which is chosen among several.

    The requirement holds at any of these thresholds.
    """
    missed = failed = 0
    decision, world, draws = Threshold(precision=0.15, prefer="precision"), "useless", 300
    for seed in range(draws):
        grid, scores, positive = grid_and_scores(world, seed)
        counted = ConfusionCounts.from_scores(grid.values, scores, positive)
        passed = _passed(counted.passes(decision, DELTA), grid.order(decision, counted.rows, DELTA))
        if not passed:
            continue
        bounds = counted.bounds("precision", DELTA)
        best = min(passed, key=lambda place: bounds[place])
        missed += true_measures(world, grid.values[best])["precision"] < 1.0 - bounds[best]
        failed += violates(world, grid.values[best], decision)
    assert missed > allowed(draws)
    assert failed <= allowed(draws)


# -- the whole estimator ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fits", [12, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("decision", [Threshold(recall=0.8), Threshold(recall=0.6, fpr=0.3), Threshold(precision=0.6)])
def test_an_estimator_meets_its_requirements(decision, fits):
    """One feature, normal in both classes: `predict` is a threshold of it, with known measures."""
    failed, points = 0, np.linspace(-4.0, 6.0, 2001)
    density = {label: norm.pdf(points - mean) for label, mean in (("no", 0.0), ("yes", 1.5))}
    for seed in range(fits):
        rng = np.random.default_rng([seed, 31])
        y = np.where(rng.random(300) < 0.4, "yes", "no")
        x = rng.normal(size=300) + 1.5 * (y == "yes")
        model = CertifiedClassifier(
            Grid(LogisticRegression(), {"C": [0.1, 1.0]}), decision=decision, delta=DELTA, cv=3, random_state=seed
        ).fit(x[:, None], y)
        if not model.certificate_.decision.passed:
            continue
        positive = model.predict(points[:, None]) == "yes"
        recall = density["yes"][positive].sum() / density["yes"].sum()
        fpr = density["no"][positive].sum() / density["no"].sum()
        true = {"recall": recall, "fpr": fpr, "precision": 0.4 * recall / max(0.4 * recall + 0.6 * fpr, 1e-12)}
        failed += any((true[name] > x) if name == "fpr" else (true[name] < x) for name, x in decision.required.items())
    assert failed <= allowed(fits)
