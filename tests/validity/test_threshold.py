"""Targets by a threshold keep their level: draws from known distributions, and faults that must be caught.

Scores are normal in both classes, so that recall, precision and false alarms at a threshold are known exactly.
"""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from pacbayes import CertifiedClassifier, Grid, Threshold
from pacbayes.certificates.decisions import max_error_rate
from pacbayes.certificates.thresholds import ConfusionCounts, ThresholdGrid, certify_threshold

DELTA = 0.1
# How far apart the classes are, the share of positive rows, rows that train and that validate.
WORLDS = {
    "usual": (2.0, 0.3, 300, 300),
    "rare": (2.5, 0.04, 1000, 800),
    "useless": (0.0, 0.3, 300, 300),
    "few": (1.5, 0.5, 60, 60),
}
TARGETS = {
    "recall": Threshold(recall=0.8),
    "precision": Threshold(precision=0.6),
    "fpr": Threshold(fpr=0.1),
    "recall and precision": Threshold(recall=0.7, precision=0.6),
    "recall and fpr": Threshold(recall=0.7, fpr=0.2),
    "all": Threshold(recall=0.6, precision=0.5, fpr=0.2, prefer="recall"),
}


def drawn(world, n, rng):
    """Scores between 0 and 1, and which rows are positive; the score is a strictly rising function of a normal one."""
    apart, share, *_ = WORLDS[world]
    positive = rng.random(n) < share
    return norm.cdf(rng.normal(size=n) + apart * positive), positive


def truth(world, threshold):
    """Recall, precision and false positive rate at a threshold."""
    apart, share, *_ = WORLDS[world]
    cut = norm.ppf(threshold)
    recall, fpr = norm.sf(cut - apart), norm.sf(cut)
    answered = share * recall + (1 - share) * fpr
    return {"recall": recall, "precision": share * recall / answered if answered else 1.0, "fpr": fpr}


def broken(world, threshold, target):
    """Whether a target does not hold at a threshold."""
    true = truth(world, threshold)
    return any(
        (true[name] > share) if name == "fpr" else (true[name] < share) for name, share in target.required.items()
    )


def fixed_rules(world, seed):
    """Thresholds from training rows, and scores of the validation rows."""
    rng = np.random.default_rng([seed, 17])
    train, (scores, positive) = drawn(world, WORLDS[world][2], rng), drawn(world, WORLDS[world][3], rng)
    return ThresholdGrid.from_scores(*train, "yes"), scores, positive


def failures(world, target, draws, choose):
    """How often the threshold that `choose` takes breaks a target, and how often it takes one."""
    failed = some = 0
    for seed in range(draws):
        threshold = choose(*fixed_rules(world, seed), target)
        some += threshold is not None
        failed += threshold is not None and broken(world, threshold, target)
    return failed, some


def ours(cuts, scores, positive, target):
    found = certify_threshold(cuts, ConfusionCounts.at(cuts.values, scores, positive), target, DELTA)
    return found.threshold if found.passed else None


def allowed(draws):
    return DELTA * draws + 2 * np.sqrt(draws * DELTA * (1 - DELTA))


@pytest.mark.parametrize("draws", [60, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("world", WORLDS)
def test_targets_are_kept(world, target, draws):
    failed, some = failures(world, target, draws, ours)
    assert failed <= allowed(draws)
    if world == "usual":
        assert some >= 0.4 * draws


@pytest.mark.parametrize("world", ["usual", "rare", "few"])
def test_all_that_passed_hold_at_once(world):
    """Not only the one that is taken."""
    failed, target = 0, Threshold(recall=0.7)
    for seed in range(100):
        cuts, scores, positive = fixed_rules(world, seed)
        counted = ConfusionCounts.at(cuts.values, scores, positive)
        order = cuts.order(target, counted.rows, DELTA)
        passes = counted.passes(target, DELTA)[order]
        passed = order[: int(np.argmin(passes)) if not passes.all() else passes.size]
        failed += any(broken(world, cuts.values[one], target) for one in passed)
    assert failed <= allowed(100)


# -- planted faults: each of these must be seen ----------------------------------------------------------------------


def chosen_on_validation_rows(cuts, scores, positive, target):
    """Fault: every threshold of the validation rows is tested, and the best that passes is taken."""
    values = np.unique(scores)[::-1].copy()
    counted = ConfusionCounts.at(values, scores, positive)
    passed = np.flatnonzero(counted.passes(target, DELTA))
    return float(values[passed[-1]]) if passed.size else None


def ordered_by_validation_rows(cuts, scores, positive, target):
    """Fault: thresholds are put into the order of their own p-values, so that the luckiest is first."""
    counted = ConfusionCounts.at(cuts.values, scores, positive)
    limits = counted.metrics("precision", DELTA)
    best = int(np.argmin(limits))
    return float(cuts.values[best]) if limits[best] <= max_error_rate("precision", target.precision) else None


@pytest.mark.parametrize("fault", [chosen_on_validation_rows, ordered_by_validation_rows])
def test_a_threshold_or_order_of_the_validation_rows_is_caught(fault):
    """Of useless scores, whose precision is the share of positive rows everywhere, just below the target."""
    target = Threshold(precision=0.31)
    failed, _ = failures("useless", target, 100, fault)
    assert failed > 1.5 * allowed(100)
    assert failures("useless", target, 100, ours)[0] <= allowed(100)


def test_one_sequence_for_each_target_is_caught():
    """Fault: recall from the loosest threshold on, precision from the strictest on, and any that passed both.

    There are two thresholds.  At the larger recall is a little too small, at the smaller precision is: at each just one
    of both is broken, and either sequence may err.
    """
    failed = ours_failed = 0
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
        counted = ConfusionCounts.at(values, scores, positive)
        by_recall = counted.metrics("recall", DELTA) <= max_error_rate("recall", recall)
        by_precision = counted.metrics("precision", DELTA) <= max_error_rate("precision", precision)
        apart = _passed(by_recall, [1, 0]) & _passed(by_precision, [0, 1])
        failed += bool(apart)
        both = by_recall & by_precision
        ours_failed += bool(_passed(both, [0, 1]))
    assert failed > allowed(draws)
    assert ours_failed <= allowed(draws)


def _kinds(rng, n, chances):
    return np.searchsorted(np.cumsum(chances), rng.random(n), side="right")


def _passed(passes, order):
    found = set()
    for one in order:
        if not passes[one]:
            break
        found.add(one)
    return found


def test_a_limit_at_the_chosen_threshold_is_caught():
    """Fault: of the thresholds that passed the one with the best limit of precision is taken, and this limit quoted.

    Any of them may be taken, and the target holds there: but not the limit, which was chosen among several.
    """
    missed = failed = 0
    target, world, draws = Threshold(precision=0.15, prefer="precision"), "useless", 300
    for seed in range(draws):
        cuts, scores, positive = fixed_rules(world, seed)
        counted = ConfusionCounts.at(cuts.values, scores, positive)
        passed = _passed(counted.passes(target, DELTA), cuts.order(target, counted.rows, DELTA))
        if not passed:
            continue
        limits = counted.metrics("precision", DELTA)
        best = min(passed, key=lambda place: limits[place])
        missed += truth(world, cuts.values[best])["precision"] < 1.0 - limits[best]
        failed += broken(world, cuts.values[best], target)
    assert missed > allowed(draws)
    assert failed <= allowed(draws)


# -- the whole estimator ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fits", [12, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("decision", [Threshold(recall=0.8), Threshold(recall=0.6, fpr=0.3), Threshold(precision=0.6)])
def test_an_estimator_keeps_its_targets(decision, fits):
    """One feature, normal in both classes: what `predict` says is a threshold of it, whose measures are known."""
    failed, grid = 0, np.linspace(-4.0, 6.0, 2001)
    density = {label: norm.pdf(grid - apart) for label, apart in (("no", 0.0), ("yes", 1.5))}
    for seed in range(fits):
        rng = np.random.default_rng([seed, 31])
        y = np.where(rng.random(300) < 0.4, "yes", "no")
        x = rng.normal(size=300) + 1.5 * (y == "yes")
        model = CertifiedClassifier(
            Grid(LogisticRegression(), {"C": [0.1, 1.0]}), decision=decision, delta=DELTA, cv=3, random_state=seed
        ).fit(x[:, None], y)
        if not model.certificate_.decision.passed:
            continue
        said = model.predict(grid[:, None]) == "yes"
        recall = density["yes"][said].sum() / density["yes"].sum()
        fpr = density["no"][said].sum() / density["no"].sum()
        found = {"recall": recall, "fpr": fpr, "precision": 0.4 * recall / max(0.4 * recall + 0.6 * fpr, 1e-12)}
        failed += any((found[n] > s) if n == "fpr" else (found[n] < s) for n, s in decision.required.items())
    assert failed <= allowed(fits)
