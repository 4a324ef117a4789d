"""Thresholds on a class probability: exact tests compared with SciPy, the order of the tests, and sentences."""

import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom
from sklearn.base import clone

from pacbayes import Abstain, CertifiedClassifier, Threshold
from pacbayes.certificates.decisions import ThresholdResult, max_error_rate
from pacbayes.certificates.thresholds import ConfusionCounts, ThresholdGrid, certify_threshold

DELTA = 0.05


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({}, ValueError, "Threshold requires at least one of recall, precision and fpr"),
        ({"recall": 1.0}, ValueError, "recall must lie strictly between 0 and 1"),
        ({"precision": 0.0}, ValueError, "precision must lie strictly between 0 and 1"),
        ({"fpr": 5}, ValueError, "fpr must lie strictly between 0 and 1"),
        ({"fpr": float("nan")}, ValueError, "fpr must"),
        ({"recall": "0.9"}, TypeError, "recall must be a number between 0 and 1, or None"),
        ({"recall": True}, TypeError, "recall must be"),
        ({"recall": 0.9, "prefer": "best"}, ValueError, "unknown prefer"),
    ],
)
def test_invalid_requirements(parameters, error, message):
    with pytest.raises(error, match=message):
        Threshold(**parameters)


def test_decisions_are_immutable_parameters():
    threshold = Threshold(recall=np.float32(0.5))
    assert type(threshold.recall) is float
    with pytest.raises(AttributeError):
        threshold.recall = 0.9
    assert Threshold(recall=0.5) == threshold
    for decision in (threshold, Abstain(0.02)):
        clf = CertifiedClassifier("logistic", decision=decision)
        assert clone(clf).decision == decision
        assert clf.get_params()["decision"] is decision
        assert clf.set_params(decision=None).decision is None
        assert repr(decision) in repr(CertifiedClassifier("logistic", decision=decision))


@pytest.mark.parametrize(
    ("decision", "preferred"),
    [
        (Threshold(recall=0.9), "precision"),
        (Threshold(precision=0.9), "recall"),
        (Threshold(fpr=0.1), "recall"),
        (Threshold(fpr=0.1, precision=0.9), "recall"),
        (Threshold(recall=0.9, fpr=0.1), "f1"),
        (Threshold(recall=0.9, prefer="recall"), "recall"),
    ],
)
def test_default_preference(decision, preferred):
    assert decision.preferred == preferred


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 1 / 3, 0.999])
@pytest.mark.parametrize("name", ["recall", "precision"])
def test_maximum_error_rates_are_rounded_down(name, share):
    assert Fraction(max_error_rate(name, share)) < 1 - Fraction(share)
    assert max_error_rate(name, share) == pytest.approx(1 - share, rel=1e-12)


def rows(seed, n=400, share=0.3):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    return np.clip(rng.normal(0.35, 0.15, n) + 0.3 * positive, 0.0, 1.0), positive


@pytest.mark.parametrize("seed", range(5))
def test_exact_tests_are_those_of_clopper_and_pearson(seed):
    """Confusion counts and quantiles of the beta distribution, computed independently."""
    scores, positive = rows(seed)
    values = np.array([0.7, 0.5, 0.25])
    decision = Threshold(recall=0.55, precision=0.6, fpr=0.2)
    expected = []
    for t in values:
        predicted = scores >= t
        tp, fn = (predicted & positive).sum(), (~predicted & positive).sum()
        fp, tn = (predicted & ~positive).sum(), (~predicted & ~positive).sum()
        recall, precision = beta.ppf(DELTA, tp, fn + 1), beta.ppf(DELTA, tp, fp + 1)
        expected.append(recall >= 0.55 and precision >= 0.6 and beta.ppf(1 - DELTA, fp + 1, tn) <= 0.2)
    # Scores are compared on their grid; no threshold is within one step of a score.
    assert np.abs(scores[:, None] - values).min() > 2**-20
    assert ConfusionCounts.from_scores(values, scores, positive).passes(decision, DELTA).tolist() == expected


def test_no_rows_prove_nothing():
    counts = ConfusionCounts(10, 0, np.array([0, 10]), np.array([0, 0]))
    assert counts.bounds("recall", DELTA).tolist() == [1.0, 1.0]
    assert counts.bounds("precision", DELTA)[0] == 1.0
    assert not counts.passes(Threshold(recall=0.01), DELTA).any()
    assert not counts.passes(Threshold(precision=0.01), DELTA).any()


def test_the_level_of_a_test_by_enumeration():
    """If the recall is at the requirement, a threshold passes with probability at most delta, for every sample size."""
    for n in range(1, 60):
        true_positives = np.arange(n + 1)
        passes = ConfusionCounts(n, n, true_positives, true_positives).passes(Threshold(recall=0.7), DELTA)
        assert binom.pmf(true_positives[passes], n, 0.7).sum() <= DELTA


def test_the_order_goes_from_a_likely_to_the_preferred_threshold():
    grid = ThresholdGrid.from_scores(*rows(0), "yes")
    last = grid.values.size - 1
    recall = grid.order(Threshold(recall=0.8), 400, DELTA)
    assert (recall[0], recall[-1]) == (last, 0)
    fpr = grid.order(Threshold(fpr=0.1), 400, DELTA)
    assert (fpr[0], fpr[-1]) == (0, last)
    precision = grid.order(Threshold(precision=0.7), 400, DELTA)
    assert 0 < precision[0] < last
    assert precision[-1] == last
    both = grid.order(Threshold(recall=0.7, precision=0.6), 400, DELTA)
    assert both[-1] == np.argmax(grid.f1)
    for order in (recall, fpr, precision, both):
        assert set(np.abs(np.diff(order)).tolist()) <= {1}


def test_testing_stops_at_the_first_failure():
    """A later threshold is not used, however good it is."""
    scores, positive = rows(1)
    grid, decision = ThresholdGrid.from_scores(scores, positive, "yes"), Threshold(fpr=0.3)
    counts = ConfusionCounts.from_scores(grid.values, scores, positive)
    order = grid.order(decision, counts.rows, DELTA)
    assert certify_threshold(grid, counts, decision, DELTA).passed
    predicted_positives = counts.predicted_positives.copy()
    predicted_positives[order[3]] = counts.true_positives[order[3]] + counts.rows - counts.positives
    failing = ConfusionCounts(counts.rows, counts.positives, predicted_positives, counts.true_positives)
    result = certify_threshold(grid, failing, decision, DELTA)
    assert result.threshold == grid.values[order[2]]
    assert result.tested == 4


@pytest.mark.parametrize(("decision", "best"), [(Threshold(recall=0.8), np.max), (Threshold(fpr=0.2), np.min)])
def test_a_monotone_metric_gives_the_extreme_threshold_that_passes(decision, best):
    """Recall and false positive rate fall with the threshold: no threshold beyond the first failure passes."""
    grid = ThresholdGrid.from_scores(*rows(3), "yes")
    counts = ConfusionCounts.from_scores(grid.values, *rows(2))
    result = certify_threshold(grid, counts, decision, DELTA)
    assert result.threshold == best(grid.values[counts.passes(decision, DELTA)])


@pytest.mark.parametrize("name", ["recall", "precision", "fpr"])
@pytest.mark.parametrize(("rows", "share"), [(1, 0.5), (28, 0.9), (29, 0.9), (298, 0.99), (299, 0.99)])
def test_more_rows_are_requested_only_if_no_errors_would_not_suffice(name, rows, share):
    """By SciPy's beta quantiles: n rows without an error show an error rate of at most 1 - delta ** (1 / n)."""
    decision = Threshold(**{name: 1 - share if name == "fpr" else share})
    positives, others = (10_000, rows) if name == "fpr" else (rows, 10_000)
    true_positives, false_positives = (0, 1) if name == "fpr" else (rows, 10_000)
    m, predicted_positives = positives + others, true_positives + false_positives
    result = ThresholdResult(decision, "late", False, 0.0, m, positives, predicted_positives, true_positives, 1, DELTA)
    claim = result.claim(DELTA, "the vote")
    enough = beta.ppf(1 - DELTA, 1, rows) <= 1 - share
    assert ("Not enough data" in claim) == (not enough)
    needed = int(np.ceil(np.log(DELTA) / np.log(share)))
    assert enough == (rows >= needed)
    if enough:
        assert "At the first threshold tested, 0" in claim
        return
    best = 100 * (beta.ppf(1 - DELTA, 1, rows) if name == "fpr" else DELTA ** (1 / rows))
    numbers = re.search(
        r"at least (\d+) validation rows of (.+), but there are (\d+); the best possible bound is .*?(\d\S+) %", claim
    )
    of = "the other class" if name == "fpr" else "class 'late'"
    assert numbers.groups()[:3] == (str(needed), of, str(rows))
    assert abs(float(numbers[4]) - best) <= 0.1


def test_sentences():
    result = ThresholdResult(Threshold(precision=0.7), np.int64(1), True, 0.25, 100, 20, 25, 19, 3, DELTA)
    assert result.claim(DELTA, "it") == (
        "With 95 % confidence, at the threshold 0.25 the precision of class 1 is at least 70.0 %."
    )
    assert result.summary_line == "Precision at least 70.0 %"
    assert (result.errors, result.to_dict()["positive"]) == (7, 1)
    assert "19 of 20 validation rows of the class and 6 of 80 others" in result.details[1]
    failed = ThresholdResult(Threshold(recall=0.7), "yes", False, 0.25, 100, 0, 25, 0, 1, DELTA)
    assert "No threshold could be certified" in failed.claim(DELTA, "it")
    assert (failed.recall, failed.summary_line) == (None, "Not certified: recall at least 70.0 %")
