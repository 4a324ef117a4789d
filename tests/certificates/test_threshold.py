"""Targets as values, exact tests against SciPy, the order of thresholds, and what they say."""

import re

import numpy as np
import pytest
from scipy.stats import beta, binom
from sklearn.base import clone

from pacbayes import Abstain, CertifiedClassifier, Threshold
from pacbayes.certificates.decisions import ThresholdResult, max_error_rate
from pacbayes.certificates.thresholds import ConfusionCounts, ThresholdGrid, certify_threshold
from pacbayes.files.checks import check

DELTA = 0.05


@pytest.mark.parametrize(
    ("choices", "error", "message"),
    [
        ({}, ValueError, "Threshold needs at least one of recall, precision and fpr"),
        ({"recall": 1.0}, ValueError, "recall must lie strictly between 0 and 1"),
        ({"precision": 0.0}, ValueError, "precision must lie strictly between 0 and 1"),
        ({"fpr": 5}, ValueError, "fpr must lie strictly between 0 and 1"),
        ({"fpr": float("nan")}, ValueError, "fpr must"),
        ({"recall": "0.9"}, TypeError, "recall must be a number between 0 and 1, or None"),
        ({"recall": True}, TypeError, "recall must be"),
        ({"recall": 0.9, "prefer": "best"}, ValueError, "unknown prefer"),
    ],
)
def test_what_is_no_target_is_refused(choices, error, message):
    with pytest.raises(error, match=message):
        Threshold(**choices)


def test_values_are_frozen_equal_and_clone():
    decision = Threshold(recall=np.float32(0.5))
    assert type(decision.recall) is float
    with pytest.raises(AttributeError):
        decision.recall = 0.9
    assert Threshold(recall=0.5) == decision
    for one in (decision, Abstain(0.02)):
        clf = CertifiedClassifier("logistic", decision=one)
        assert clone(clf).decision == one
        assert clf.get_params()["decision"] is one
        assert clf.set_params(decision=None).decision is None
        assert repr(one) in repr(CertifiedClassifier("logistic", decision=one))


@pytest.mark.parametrize(
    ("target", "preferred"),
    [
        (Threshold(recall=0.9), "precision"),
        (Threshold(precision=0.9), "recall"),
        (Threshold(fpr=0.1), "recall"),
        (Threshold(fpr=0.1, precision=0.9), "recall"),
        (Threshold(recall=0.9, fpr=0.1), "f1"),
        (Threshold(recall=0.9, prefer="recall"), "recall"),
    ],
)
def test_what_is_preferred_where_nobody_says(target, preferred):
    assert target.preferred == preferred


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 1 / 3, 0.999])
def test_allowed_errors_are_rounded_down(share):
    from fractions import Fraction

    for name in ("recall", "precision"):
        assert Fraction(max_error_rate(name, share)) < 1 - Fraction(share)
        assert max_error_rate(name, share) == pytest.approx(1 - share, rel=1e-12)


def rows(seed, n=400, share=0.3):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    return np.clip(rng.normal(0.35, 0.15, n) + 0.3 * positive, 0.0, 1.0), positive


@pytest.mark.parametrize("seed", range(5))
def test_tests_are_clopper_and_pearsons(seed):
    """Counted by hand, with limits of the beta distribution."""
    scores, positive = rows(seed)
    values = np.array([0.7, 0.5, 0.25])
    target = Threshold(recall=0.55, precision=0.6, fpr=0.2)
    expected = []
    for t in values:
        said = scores >= t
        hit, miss = (said & positive).sum(), (~said & positive).sum()
        alarm, quiet = (said & ~positive).sum(), (~said & ~positive).sum()
        lower = beta.ppf(DELTA, hit, miss + 1), beta.ppf(DELTA, hit, alarm + 1)
        upper = beta.ppf(1 - DELTA, alarm + 1, quiet)
        expected.append(lower[0] >= 0.55 and lower[1] >= 0.6 and upper <= 0.2)
    # Scores are compared on their grid; no threshold is within one step of a score.
    assert np.abs(scores[:, None] - values).min() > 2**-20
    assert ConfusionCounts.at(values, scores, positive).passes(target, DELTA).tolist() == expected


def test_no_rows_prove_nothing():
    counted = ConfusionCounts(10, 0, np.array([0, 10]), np.array([0, 0]))
    assert counted.metrics("recall", DELTA).tolist() == [1.0, 1.0]
    assert counted.metrics("precision", DELTA)[0] == 1.0
    assert not counted.passes(Threshold(recall=0.01), DELTA).any()
    assert not counted.passes(Threshold(precision=0.01), DELTA).any()


def test_the_level_of_one_test_enumerated():
    """With a recall just below the target, a threshold passes with a probability of at most delta, for every number."""
    for n in range(1, 60):
        hits = np.arange(n + 1)
        counted = ConfusionCounts(n, n, hits, hits)
        passes = counted.passes(Threshold(recall=0.7), DELTA)
        assert binom.pmf(hits[passes], n, 0.7).sum() <= DELTA


def test_the_order_goes_from_what_is_likely_to_what_is_preferred():
    scores, positive = rows(0)
    cuts = ThresholdGrid.from_scores(scores, positive, "yes")
    last = cuts.values.size - 1
    recall = cuts.order(Threshold(recall=0.8), 400, DELTA)
    assert (recall[0], recall[-1]) == (last, 0)
    fpr = cuts.order(Threshold(fpr=0.1), 400, DELTA)
    assert (fpr[0], fpr[-1]) == (0, last)
    precision = cuts.order(Threshold(precision=0.7), 400, DELTA)
    assert 0 < precision[0] < last
    assert precision[-1] == last
    both = cuts.order(Threshold(recall=0.7, precision=0.6), 400, DELTA)
    assert both[-1] == np.argmax(cuts.f1)
    for order in (recall, fpr, precision, both):
        assert set(np.abs(np.diff(order)).tolist()) <= {1}


def test_it_stops_at_the_first_failure():
    """A threshold behind it, however good, is not taken."""
    scores, positive = rows(1)
    cuts = ThresholdGrid.from_scores(scores, positive, "yes")
    target = Threshold(fpr=0.3)
    counted = ConfusionCounts.at(cuts.values, scores, positive)
    order = cuts.order(target, counted.rows, DELTA)
    good = certify_threshold(cuts, counted, target, DELTA)
    assert good.passed
    spoilt = counted.answered.copy()
    spoilt[order[3]] = counted.hits[order[3]] + counted.rows - counted.positives
    found = certify_threshold(
        cuts, ConfusionCounts(counted.rows, counted.positives, spoilt, counted.hits), target, DELTA
    )
    assert found.threshold == cuts.values[order[2]]
    assert found.tested == 4


def test_recall_alone_takes_the_largest_threshold_that_passes():
    """Recall falls with the threshold: of all thresholds the largest that passes is found."""
    scores, positive = rows(2)
    cuts = ThresholdGrid.from_scores(*rows(3), "yes")
    counted = ConfusionCounts.at(cuts.values, scores, positive)
    target = Threshold(recall=0.8)
    assert certify_threshold(cuts, counted, target, DELTA).threshold == cuts.values[counted.passes(target, DELTA)].max()
    target = Threshold(fpr=0.2)
    assert certify_threshold(cuts, counted, target, DELTA).threshold == cuts.values[counted.passes(target, DELTA)].min()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("values", np.array([0.5, 0.7, 0.0])),
        ("values", np.array([0.5, 0.3, 0.1])),
        ("values", np.array([np.nan, 0.5, 0.0])),
        ("answered", np.array([9, 5, 20])),
        ("hits", np.array([5, 6, 7, 8])),
        ("hits", np.array([5, 6, 30])),
    ],
)
def test_cuts_check_themselves(field, value):
    good = {"positive": "yes", "values": np.array([0.7, 0.5, 0.0])}
    good |= {"answered": np.array([5, 9, 20]), "hits": np.array([4, 6, 7])}
    check(ThresholdGrid(**good))
    with pytest.raises(ValueError, match="ThresholdGrid"):
        check(ThresholdGrid(**good | {field: value}))


@pytest.mark.parametrize("name", ["recall", "precision", "fpr"])
@pytest.mark.parametrize("rows", [1, 12, 28, 29, 58, 59, 298, 299])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_more_rows_are_asked_for_exactly_where_no_error_at_all_would_not_do(name, rows, share):
    """By SciPy's beta quantiles: n rows without an error show a share of errors of at most 1 - delta ** (1 / n)."""
    target = Threshold(**{name: 1 - share if name == "fpr" else share})
    positives, others = (10_000, rows) if name == "fpr" else (rows, 10_000)
    hits, alarms = (0, 1) if name == "fpr" else (rows, 10_000)
    found = ThresholdResult(target, "late", False, 0.0, positives + others, positives, hits + alarms, hits, 1, DELTA)
    said = found.claim("Surely,", "the vote")
    enough = beta.ppf(1 - DELTA, 1, rows) <= 1 - share
    assert ("Not enough data" in said) == (not enough)
    needed = int(np.ceil(np.log(DELTA) / np.log(share)))
    assert enough == (rows >= needed)
    if not enough:
        best = 100 * (beta.ppf(1 - DELTA, 1, rows) if name == "fpr" else DELTA ** (1 / rows))
        found = re.search(r"at least (\d+) validation rows of (.+), there are (\d+), .* show (\S+) % at best", said)
        of = "the other class" if name == "fpr" else "class 'late'"
        assert found.groups()[:3] == (str(needed), of, str(rows))
        assert abs(float(found[4]) - best) <= 0.1
    else:
        assert "At the one that was tested first, 0" in said


def test_a_threshold_of_0_is_explained():
    found = ThresholdResult(Threshold(recall=0.8, precision=0.8), "late", False, 0.0, 100, 40, 100, 40, 1, DELTA)
    assert "0, where every row is answered 'late', recall of class 'late' is at least 92.7 %" in found.claim("", "it")


def test_words():
    found = ThresholdResult(Threshold(precision=0.7), np.int64(1), True, 0.25, 100, 20, 25, 19, 3, DELTA)
    assert found.claim("Surely,", "it") == "Surely, at the threshold 0.25 the precision of class 1 is at least 70.0 %."
    assert found.headline == "Precision at least 70.0 %"
    assert (found.errors, found.to_dict()["positive"]) == (7, 1)
    assert "19 of 20 validation rows of the class and 6 of 80 others" in found.details[1]
    none = ThresholdResult(Threshold(recall=0.7), "yes", False, 0.25, 100, 0, 25, 0, 1, DELTA)
    assert "No threshold was shown to reach the target" in none.claim("Surely,", "it")
    assert (none.recall, none.headline) == (None, "Not reached: recall at least 70.0 %")
