"""Bounds of metrics: counts, levels that sum to at most that of the rule, and invalid input."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom

from pacbayes.bounds.bets import bet_upper, joint_upper
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates import best_single
from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.levels import level_per_bound, occam_levels
from pacbayes.certificates.metric_bounds import ClassErrors, Cost
from pacbayes.certificates.metrics import MetricSpec, bound_metrics, parse_metrics
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.primary import prefit_rules
from pacbayes.data.split import make_validation_split
from pacbayes.ensemble.validation import ErrorCounts, ValidationPredictions


def bounds_from_errors(wrong, y_true, level, share, classes=(0, 1), slices=None, names=()):
    """Bounds of error rates by class and slice, of a rule that is wrong on these rows."""
    y_true = np.asarray(y_true, dtype=np.uint8)
    y_pred = np.where(wrong, (y_true + 1) % len(classes), y_true).astype(np.uint8)
    return bounds_of(y_pred, y_true, ("error",), level, share, classes, slices, names)


def bounds_of(y_pred, y_true, metrics, level=0.05, share=0.2, classes=(0, 1), slices=None, names=(), specs=None):
    """Bounds of metrics of a rule with these predictions."""
    y_pred, y_true = np.asarray(y_pred, dtype=np.uint8), np.asarray(y_true, dtype=np.uint8)
    predictions = ValidationPredictions(np.array(classes), len(classes), y_pred[None], y_true, slices=slices)
    plan = Plan(
        make_validation_split(y_true.size),
        hedge=0.1,
        fixed_rules=prefit_rules(0, 1),
        metrics=parse_metrics(metrics) if specs is None else specs,
        metrics_share=share,
        slices=tuple(names),
    )
    return bound_metrics(y_pred, plan, predictions, level)


def bounds_from_counts(rows, errors, level, share, classes):
    """The same, from the rows and errors of every class."""
    wrong = np.concatenate([np.arange(n) < k for n, k in zip(rows, errors, strict=True)])
    return bounds_from_errors(wrong, np.repeat(np.arange(len(rows)), rows), level, share, classes)


def test_counts_by_class_and_slice():
    rng = np.random.default_rng(0)
    wrong, codes, slices = rng.random(200) < 0.3, rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    # The last class and the last slice have no rows.
    found = bounds_from_errors(wrong, codes, 0.05, 0.2, list("abcd"), slices, ["x", "y", "z"])
    assert [(one.kind, one.of) for one in found] == [
        *(("class", name) for name in "abcd"),
        *(("slice", name) for name in "xyz"),
    ]
    expected = [codes == c for c in range(4)] + [slices == s for s in range(3)]
    assert [one.rows for one in found] == [sum(mine) for mine in expected]
    assert [one.count for one in found] == [sum(wrong & mine) for mine in expected]


def test_error_rates_have_exact_bounds_at_their_level():
    found = bounds_from_counts([80, 0, 20], [4, 0, 20], 0.04, 0.25, list("abc"))
    assert found[0].bound == pytest.approx(beta.ppf(1 - 0.04 * 0.25 / 3, 5, 76), rel=1e-6)
    assert found[0].bound >= beta.ppf(1 - 0.04 * 0.25 / 3, 5, 76)
    assert [one.bound for one in found[1:]] == [1.0, 1.0]
    assert [one.also for one in found] == ["", "", ""]
    two = bounds_from_counts([8, 9], [0, 1], 0.04, 0.25, [0, 1])
    assert [(one.of, one.also) for one in two] == [(0, "false positives"), (1, "false negatives")]
    assert type(two[0].of) is int
    assert "1 error on 9" in str(two[1])


@pytest.mark.parametrize("slices", [1, 3, 50])
def test_classes_and_slices_have_half_of_the_share_each(slices):
    # The number of slices depends on the rows: levels of classes must not depend on it.
    of_row = np.repeat(np.arange(slices), 10)
    wrong, y_true = np.tile(np.arange(10) < 3, slices), np.tile(np.arange(10) % 2, slices)
    found = bounds_from_errors(wrong, y_true, 0.04, 0.25, slices=of_row, names=list(range(slices)))
    expected = [beta.ppf(1 - 0.04 * 0.25 / 4, k * slices + 1, (5 - k) * slices) for k in (2, 1)]
    assert [one.bound for one in found[:2]] == pytest.approx(expected, rel=1e-6)
    of_slice = beta.ppf(1 - 0.04 * 0.25 / 2 / slices, 4, 7)
    assert [one.bound for one in found[2:]] == pytest.approx([of_slice] * slices, rel=1e-6)


# -- other metrics ---------------------------------------------------------------------------------------------------


Y_PRED, Y_TRUE = [0] * 40 + [1] * 10 + [0] * 5 + [1] * 25, [0] * 50 + [1] * 30


def lower(count, rows, level):
    return beta.ppf(level, count, rows - count + 1)


def test_each_metric_has_its_rows_and_its_exact_bound():
    names = ("recall", "precision", "specificity", "f1")
    found = bounds_of(Y_PRED, Y_TRUE, names, level=0.04, share=0.25)
    assert [(one.name, one.of) for one in found] == [(name, c) for name in names for c in (0, 1)]
    expected = [(40, 50), (25, 30), (40, 45), (25, 35), (25, 30), (40, 50), (40, 55), (25, 40)]
    assert [(one.count, one.rows) for one in found] == expected
    level = 0.04 * 0.25 / 4 / 2
    for one, (count, rows) in zip(found, expected, strict=True):
        exact = lower(count, rows, level)
        exact = 2 * exact / (1 + exact) if one.name == "f1" else exact
        assert one.bound == pytest.approx(exact, rel=1e-7)
        assert one.bound <= exact
        assert one.side == "lower"


def test_one_class_alone_has_the_whole_level():
    specs = parse_metrics(("recall", "balanced_error"), pos_label=1)
    recall, _ = bounds_of(Y_PRED, Y_TRUE, (), specs=specs)
    assert (recall.of, recall.bound) == (1, pytest.approx(lower(25, 30, 0.05 * 0.2 / 2), rel=1e-7))


@pytest.mark.parametrize("y_pred", [[1, 1, 1], [0, 1, 0]])
def test_conditions_without_rows(y_pred):
    names = ("error", "recall", "precision", "f1", "specificity", "balanced_error")
    found = {(one.name, one.of): one for one in bounds_of(y_pred, [1, 1, 1], names, classes=(0, 1, 2))}
    for name in ("recall", "precision"):
        assert (found[name, 2].rows, found[name, 2].bound) == (0, 0.0)
    assert (found["error", 0].rows, found["error", 0].bound) == (0, 1.0)
    assert (found["f1", 2].rows, found["f1", 2].bound) == (0, 0.0)
    assert found["specificity", 1].rows == 0
    assert found["specificity", 1].bound == 0.0
    # Two of three classes may be all wrong.
    assert 2 / 3 <= found["balanced_error", None].bound <= 1.0


def test_all_rows_wrong():
    cost = Cost([[0, 2], [8, 1]], [0, 1])
    names = ("error", "recall", "precision", "f1", "specificity", "balanced_error", cost)
    found = bounds_of([1] * 9, [0] * 9, names)
    assert {one.bound for one in found if one.side == "lower"} == {0.0}
    assert {one.bound for one in found if one.side == "upper" and one.name != "cost"} == {1.0}
    assert found[-1].bound < 8.0
    # All losses are the largest entry.
    assert bounds_of([0] * 9, [1] * 9, names)[-1].bound == 8.0


def test_costs_are_divided_by_the_largest_entry():
    cost = Cost([[0, 3], [9, 0]], [0, 1])
    (mean_cost,) = bounds_of(Y_PRED, Y_TRUE, (cost,), level=0.05, share=0.2)
    assert (mean_cost.count, mean_cost.rows) == (pytest.approx(10 * 3 + 5 * 9), 80)
    expected = 9 * bet_upper([0.0, np.nextafter(1 / 3, 1), 1.0], 0.89, 0.01, [65, 10, 5])
    assert mean_cost.bound == pytest.approx(expected, rel=1e-12)
    # The bound depends on the largest entry, although no row has it.
    bounds = [bounds_of(Y_PRED[:50], Y_TRUE[:50], (Cost([[0, 3], [one, 0]], [0, 1]),))[0].bound for one in (3, 9, 90)]
    assert len(set(bounds)) == 3


def test_a_prediction_that_is_no_class_has_the_largest_cost():
    y_pred = np.array([2, 0, 0, 1], dtype=np.uint8)
    y_true = np.array([0, 0, 0, 1], dtype=np.uint8)
    predictions = ValidationPredictions(np.array([0, 1, -1]), 2, y_pred[None], y_true)
    specs = parse_metrics((Cost([[0, 1], [5, 0]], [0, 1]), "recall", "error"))
    plan = Plan(make_validation_split(4), hedge=0.1, fixed_rules=prefit_rules(0, 1), metrics=specs)
    found = bound_metrics(y_pred, plan, predictions, 0.05)
    assert found[0].count == 5.0
    assert [(one.count, one.rows) for one in found[1:]] == [(2, 3), (1, 1), (1, 3), (0, 1)]


def test_costs_by_class_name():
    first, other = Cost([[0, 3], [9, 0]], ["a", "b"]), Cost([[0, 9], [3, 0]], ["b", "a"])
    bounds = [bounds_of(Y_PRED, Y_TRUE, (one,), classes=("a", "b"))[0].bound for one in (first, other)]
    assert bounds[0] == bounds[1]


def test_balanced_error_by_one_bet_or_by_class():
    rows, wrong = (50, 30), (10, 5)
    (union,) = bounds_of(Y_PRED, Y_TRUE, ("balanced_error",), level=0.05)
    each = [beta.ppf(1 - 0.05 * 0.2 / 2, k + 1, n - k) for k, n in zip(wrong, rows, strict=True)]
    assert union.bound == pytest.approx(np.mean(each), rel=1e-7)
    assert union.bound >= np.mean(each)
    (joint,) = bounds_of(Y_PRED, Y_TRUE, (), specs=(MetricSpec("balanced_error", bets=(0.4, 0.5)),))
    seen = [[0.0, 1.0]] * 2
    expected = joint_upper(seen, [0.4, 0.5], 0.01, [0.5, 0.5], [[40, 10], [25, 5]])
    assert joint.bound == pytest.approx(expected, rel=1e-9)
    assert (joint.count, joint.rows) == (15, 80)


def test_levels_sum_to_at_most_the_share():
    names = ("error", "recall", "precision", "f1", "specificity", "balanced_error", Cost([[0, 1], [1, 0]], [0, 1]))
    level, share = 0.05, 0.2
    specs = parse_metrics(names)
    seen = [(q, q.n_bounds([0, 1])) for q in specs]
    total = sum(Fraction(level_per_bound(level, share, len(specs) * n)) * n for _, n in seen)
    assert total <= Fraction(level) * Fraction(share)


# -- class shares ----------------------------------------------------------------------------------------------------


def certificate(metrics):
    return Certificate(0.5, None, 0.05, 80, "binomial", 0.2, 0.0, "it", "Exact.", metrics=tuple(metrics))


def test_error_rates_under_class_shares():
    found = certificate(bounds_of(Y_PRED, Y_TRUE, ("error", "f1")))
    bounds = [one.bound for one in found.metrics]
    overall = found.with_class_shares({0: 0.9, 1: 0.1})
    assert overall.bound == pytest.approx(0.9 * bounds[0] + 0.1 * bounds[1], rel=1e-12)
    assert overall.bound >= 0.9 * bounds[0] + 0.1 * bounds[1]
    assert (overall.name, overall.count, overall.rows) == ("error", 15, 80)
    recall = certificate(bounds_of(Y_PRED, Y_TRUE, ("recall",))).with_class_shares({0: 0.9, 1: 0.1})
    assert recall.bound == pytest.approx(0.9 * beta.ppf(1 - 0.005, 11, 40) + 0.1 * beta.ppf(1 - 0.005, 6, 25), rel=1e-7)
    assert (recall.count, recall.rows) == (15, 80)
    joint = certificate(bounds_of(Y_PRED, Y_TRUE, (), specs=(MetricSpec("balanced_error", bets=(0.4, 0.5)),)))
    equal = joint.with_class_shares({0: 0.5, 1: 0.5})
    assert equal.bound == joint.metrics[0].bound
    parts = ClassErrors((0, 1), (10, 5), (50, 30), joint.metrics[0].parts.level, (0.4, 0.5))
    assert joint.with_class_shares({1: 1.0, 0: 0.0}).bound == parts.upper([0.0, 1.0])


@pytest.mark.parametrize(
    ("metrics", "shares", "message"),
    [
        (("f1",), {0: 0.5, 1: 0.5}, "requires a bound for every class"),
        (("error",), {0: 0.5}, "a share for each of the classes"),
        (("error",), [0.5, 0.5], "a share for each of the classes"),
        (("error",), {0: 0.5, 1: 0.6}, "must sum to 1"),
        (("error",), {0: -0.5, 1: 1.5}, "non-negative"),
    ],
)
def test_invalid_class_shares(metrics, shares, message):
    with pytest.raises(ValueError, match=message):
        certificate(bounds_of(Y_PRED, Y_TRUE, metrics)).with_class_shares(shares)


# -- invalid input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metrics", "error", "message"),
    [
        ("recall", TypeError, "metrics must be a tuple"),
        (None, TypeError, "metrics must be a tuple"),
        (("recal",), ValueError, "did you mean 'recall'"),
        (("cost",), ValueError, r"Cost\(matrix, classes\), got 'cost'"),
        (("recall", "recall"), ValueError, "must not contain duplicates"),
    ],
)
def test_invalid_metrics(metrics, error, message):
    with pytest.raises(error, match=message):
        parse_metrics(metrics)


@pytest.mark.parametrize(
    ("matrix", "classes", "message"),
    [
        ([[0, 1], [1, 0]], ["a"], "a row for each of at least two classes"),
        ([[0, 1], [1, 0]], ["a", "a"], "must be unique"),
        ([[0, -1], [1, 0]], ["a", "b"], "costs from 0 to"),
        ([[0, np.nan], [1, 0]], ["a", "b"], "costs from 0 to"),
        ([[0, 0], [0, 0]], ["a", "b"], "at least one of them positive"),
    ],
)
def test_invalid_costs(matrix, classes, message):
    with pytest.raises(ValueError, match=message):
        Cost(matrix, classes)


# -- rules chosen on the validation rows -----------------------------------------------------------------------------


def failures(choose, number, H=200, delta=0.05):
    """How often any bound of the classifier with the fewest errors, of many equally good ones, is too small."""
    risks, failed = np.array([0.05, 0.3]), 0
    for seed in range(number):
        rng = np.random.default_rng([seed, 5])
        rows = rng.multinomial(150, [0.85, 0.15])  # a rare class
        errors = rng.binomial(rows, risks, (H, 2))
        counted = ErrorCounts(errors.sum(axis=1)[:, None], None, 150)
        best = best_single(counted, delta * 0.8, None).index
        failed += bool((choose(rows, errors[best], H, delta) < risks).any())
    return failed


def at_its_share(rows, errors, H, delta):
    level = float(occam_levels(H, delta, None)[0])
    return np.array([one.bound for one in bounds_from_counts(rows, errors, level, 0.2, ["a", "b"])])


def plain(rows, errors, H, delta):
    """The planted fault: exact bounds, as if the classifier had been fixed before validation."""
    return np.array([float(binomial_upper(k, n, delta / 2)) for k, n in zip(errors, rows, strict=True)])


def test_occam_bounds_of_a_chosen_classifier_hold():
    assert binom.sf(failures(at_its_share, 100) - 1, 100, 0.05) > 1e-4


@pytest.mark.slow
def test_occam_bounds_of_a_chosen_classifier_hold_in_many_samples():
    assert binom.sf(failures(at_its_share, 3000) - 1, 3000, 0.05) > 1e-4


def test_exact_bounds_of_a_chosen_classifier_do_not_hold():
    assert binom.sf(failures(plain, 100) - 1, 100, 0.05) < 1e-4


def test_every_risk_has_words():
    from pacbayes.certificates.metrics import METRICS
    from pacbayes.certificates.sentences import WORDS

    assert set(METRICS) == set(WORDS)
