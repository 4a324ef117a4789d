"""Thresholds of a confidence: what is counted, in which order they are tested, and that the target is kept."""

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import Abstain
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.decisions import SelectiveResult
from pacbayes.certificates.sentences import format_max_error
from pacbayes.certificates.thresholds import ConfidenceGrid, certify_abstention, counted_at, on_grid
from pacbayes.files.checks import check

DELTA = 0.1


def test_counts_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    scores, wrong = rng.integers(0, 40, 300) / 16, rng.random(300) < 0.2
    found = ConfidenceGrid.from_scores(scores, wrong)
    assert found.values[-1] == -np.inf
    assert np.all(np.diff(found.values) < 0)
    for value, answered, bad in zip(found.values, found.answered, found.wrong, strict=True):
        assert answered == sum(score >= value for score in scores)
        assert bad == sum(one for score, one in zip(scores, wrong, strict=True) if score >= value)


def test_scores_of_minus_infinity_are_answered_only_where_every_row_is():
    scores = np.array([1.0, 0.5, *[-np.inf] * 98])
    found = ConfidenceGrid.from_scores(scores, np.zeros(100, dtype=bool))
    assert found.values.tolist() == [1.0, 0.5, -np.inf]
    assert found.answered.tolist() == [1, 2, 100]


def test_sums_in_another_order_have_the_same_score():
    numbers = np.random.default_rng(0).random(100)
    sums = np.array([numbers.sum(), numbers[::-1].sum(), sum(numbers.tolist()), sum(sorted(numbers.tolist()))])
    assert len(set(sums.tolist())) > 1
    assert len(set(on_grid(sums).tolist())) == 1


def counts_like(rows, errors):
    """Thresholds that cross-validation answers like the validation rows, one for each pair of counts."""
    values = np.append(np.arange(len(rows) - 1, 0, -1.0), -np.inf)
    return ConfidenceGrid(values, np.array(rows), np.array(errors)), (np.array(rows), np.array(errors))


def test_they_are_tested_up_to_the_first_failure():
    # The last but one would pass too, but the second does not.
    thresholds, _ = counts_like([80, 100, 160, 200], [0, 3, 4, 60])
    counted = (np.array([80, 100, 170, 200]), np.array([0, 2, 3, 40]))
    assert thresholds.order(200, 0.05, 0.05)[0] == 0
    passed = certify_abstention(thresholds, counted, 200, 0.05, 0.05)
    assert (passed.threshold, passed.rows, passed.errors, passed.tested) == (thresholds.values[0], 80, 0, 2)
    assert float(binomial_upper(3, 170, 0.05)) < 0.05 < float(binomial_upper(2, 100, 0.05))


def test_every_row_is_answered_where_the_target_is_loose():
    thresholds, counted = counts_like([50, 100], [0, 5])
    passed = certify_abstention(thresholds, counted, 100, 0.2, 0.05)
    assert (passed.threshold, passed.rows) == (-np.inf, 100)


def test_nothing_passes_and_a_larger_target_is_named():
    thresholds, counted = counts_like([50, 100], [10, 30])
    passed = certify_abstention(thresholds, counted, 100, 0.05, 0.05)
    assert (passed.passed, passed.threshold, passed.rows) == (False, None, 0)
    assert certify_abstention(thresholds, counted, 100, passed.smallest_max_error, 0.05).passed
    assert certify_abstention(thresholds, counted, 100, passed.smallest_max_error - 0.005, 0.05).rows == 0


def test_the_target_named_is_the_smallest_of_all():
    # Another target puts another threshold first, so that a larger one need not pass where a smaller one does.
    rng = np.random.default_rng(4)
    for _ in range(2):
        scores, wrong = rng.random(60), rng.random(60) < rng.random() * 0.5
        thresholds = ConfidenceGrid.from_scores(scores, wrong)
        counted = counted_at(thresholds.values, rng.random(60), rng.random(60) < rng.random() * 0.5)
        named = certify_abstention(thresholds, counted, 60, 0.01, 0.05).smallest_max_error
        every = (one for one in np.arange(1, 200) / 200 if one > 0.01)
        passing = [one for one in every if certify_abstention(thresholds, counted, 60, one, 0.05).passed]
        assert named == (min(passing) if passing else None)


def test_the_start_has_enough_rows_to_pass():
    # Strictest first would begin with one row, which no target of five percent can pass.
    scores = np.linspace(0, 1, 400)
    thresholds = ConfidenceGrid.from_scores(scores, scores < 0.05)
    start = int(thresholds.order(400, 0.05, 0.05)[0])
    assert 0.95 ** thresholds.answered[start] < 0.05


@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (1.0, ValueError), ("a", TypeError), (True, TypeError)])
def test_targets_that_are_none(value, error):
    with pytest.raises(error, match="max_error must"):
        Abstain(value)


@pytest.mark.parametrize(
    ("values", "answered", "wrong", "field"),
    [
        ([0.5, 0.7, -np.inf], [1, 2, 3], [0, 0, 1], "values"),
        ([0.7, 0.5], [1, 2], [0, 0], "values"),
        ([], [], [], "values"),
        ([0.5, -np.inf], [2, 1], [0, 0], "answered"),
        ([0.5, -np.inf], [1, 2], [2, 2], "wrong"),
        ([0.5, -np.inf], [1], [0], "answered"),
    ],
)
def test_thresholds_that_cannot_be(values, answered, wrong, field):
    with pytest.raises(ValueError, match=rf"ConfidenceGrid\.{field} is not"):
        check(ConfidenceGrid(np.array(values), *(np.array(one, dtype=np.int64) for one in (answered, wrong))))


# How likely a row with a confidence u in [0, 1) is to be wrong; all means above the target, or some.
ERRORS = {
    "noise": lambda u: np.full_like(u, 0.101),
    "useful": lambda u: 0.4 * (1 - u) ** 2,
    "wrong way round": lambda u: 0.2 * u,
    "sure errors": lambda u: np.where(u > 0.9, 0.3, 0.02),
}


def drawn(kind, n, rng):
    # Few different values: the mean risk above each is known.
    u = rng.integers(0, 64, n) / 64
    return u, rng.random(n) < ERRORS[kind](u)


def true_risk(kind, threshold):
    u = np.arange(64) / 64
    return float(ERRORS[kind](u[u >= threshold]).mean())


def failures(choose, kind, number, m=250, target=0.1):
    failed = 0
    for seed in range(number):
        rng = np.random.default_rng([seed, 3])
        thresholds = ConfidenceGrid.from_scores(*drawn(kind, 200, rng))
        scores, wrong = drawn(kind, m, rng)
        threshold = choose(thresholds, counted_at(thresholds.values, scores, wrong), m, target)
        failed += threshold is not None and true_risk(kind, threshold) > target
    return failed


def by_the_book(thresholds, counted, m, target):
    return certify_abstention(thresholds, counted, m, target, DELTA).threshold


def loosest_of_all(thresholds, counted, m, target):
    """The planted fault: whatever threshold passes on the validation rows, wherever it stands."""
    passing = [
        place
        for place, (a, k) in enumerate(zip(*counted, strict=True))
        if a and float(binomial_upper(int(k), int(a), DELTA)) <= target
    ]
    return float(thresholds.values[passing[-1]]) if passing else None


def ordered_by_validation(thresholds, counted, m, target):
    """Another: the order comes from the rows that test it."""
    peeked = ConfidenceGrid(thresholds.values, *counted)
    return certify_abstention(peeked, counted, m, target, DELTA).threshold


@pytest.mark.parametrize("kind", ERRORS)
def test_the_target_is_kept(kind):
    assert binom.sf(failures(by_the_book, kind, 60) - 1, 60, DELTA) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ERRORS)
def test_the_target_is_kept_in_many_samples(kind):
    assert binom.sf(failures(by_the_book, kind, 2000) - 1, 2000, DELTA) > 1e-4


@pytest.mark.parametrize("fault", [loosest_of_all, ordered_by_validation])
def test_planted_faults_are_caught(fault):
    assert binom.sf(failures(fault, "noise", 80) - 1, 80, DELTA) < 1e-4


# -- words -------------------------------------------------------------------------------------------------------------


def test_words():
    found = SelectiveResult(0.02, 0.5, 1000, 910, 10, 7)
    assert found.share == 0.91
    assert found.headline == "At most 2.0 % errors among the 91.0 % that it answers"
    assert found.observed == "It erred on 10 of the 910 that it answered."
    assert found.details[0].startswith("Of 7 thresholds")


def test_words_where_nothing_passed():
    found = SelectiveResult(0.02, None, 100, 0, 0, 1, None)
    assert not found.passed
    assert found.observed == ""
    assert "no guarantee" not in found.claim("Surely,", "it")
    assert found.headline == "Answers nothing: 2.0 % was not reached"
    assert "did not pass" in found.details[0]


def test_targets_are_written_as_a_person_writes_them():
    assert [format_max_error(t) for t in (0.02, 0.07, 0.001, 0.5, 0.0333)] == [
        "2.0 %",
        "7.0 %",
        "0.1 %",
        "50.0 %",
        "3.33 %",
    ]
