"""Limits by class: counts, levels that sum to no more than the rule's, and validity where the rule was chosen."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.questions.by_class import (
    PartErrors,
    check_class_share,
    count_parts,
    main_level,
    part_level,
    part_limits,
)
from pacbayes.certificates.rules.occam import best_single, occam_levels


def test_counts_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    wrong, codes, slices = rng.random(200) < 0.3, rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    found = count_parts(wrong, codes, 4, slices, 2)
    expected = [sum(codes == c) for c in range(4)] + [sum(slices == s) for s in range(2)]
    assert found.rows.tolist() == expected
    assert found.errors.tolist()[1] == sum(wrong & (codes == 1))
    assert found.errors[:4].sum() == found.errors[4:].sum() == wrong.sum()


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.99])
@pytest.mark.parametrize("number", [2, 3, 7, 101])
def test_levels_sum_to_no_more_than_the_rules(share, number):
    for level in (0.05, 0.045, 1e-9, 0.3):
        assert main_level(level, share) + number * part_level(level, share, number) <= level
    assert main_level(0.05, 0.0) == 0.05


def test_limits_are_the_exact_ones_at_their_level():
    counted = PartErrors(np.array([80, 0, 20]), np.array([4, 0, 20]))
    found = part_limits(counted, ["a", "b", "c"], [], 0.04, 0.25)
    assert found[0].bound == pytest.approx(beta.ppf(1 - 0.04 * 0.25 / 3, 5, 76), rel=1e-6)
    assert found[0].bound >= beta.ppf(1 - 0.04 * 0.25 / 3, 5, 76)
    assert [one.bound for one in found[1:]] == [1.0, 1.0]
    assert [one.also for one in found] == ["", "", ""]
    two = part_limits(PartErrors(np.array([8, 9]), np.array([0, 1])), np.array([0, 1]), [], 0.04, 0.25)
    assert [(one.name, one.also) for one in two] == [(0, "false positives"), (1, "false negatives")]
    assert type(two[0].name) is int
    assert "1 error on 9" in str(two[1])


@pytest.mark.parametrize("slices", [1, 3, 50])
def test_classes_and_slices_have_half_of_the_share_each(slices):
    # How many slices occur comes from the rows: the level of a limit by class must not depend on it.
    rows = np.array([60, 40, *[10] * slices])
    counted, names = PartErrors(rows, np.minimum(rows, 3)), [str(one) for one in range(slices)]
    found = [one.bound for one in part_limits(counted, ["a", "b"], names, 0.04, 0.25)]
    assert found[:2] == pytest.approx(beta.ppf(1 - 0.04 * 0.25 / 4, 4, [57, 37]), rel=1e-6)
    assert found[2:] == pytest.approx([beta.ppf(1 - 0.04 * 0.25 / 2 / slices, 4, 7)] * slices, rel=1e-6)


def test_shares_that_are_none():
    for value, error in ((-0.1, ValueError), (1.0, ValueError), ("a", TypeError), (True, TypeError)):
        with pytest.raises(error, match="class_share must"):
            check_class_share(value)


def failures(limits_of, number, H=200, delta=0.05):
    """How often any limit of the classifier with the fewest errors, of many equally good ones, is too small."""
    truth, failed = np.array([0.05, 0.3]), 0
    for seed in range(number):
        rng = np.random.default_rng([seed, 5])
        rows = rng.multinomial(150, [0.85, 0.15])  # a rare class
        errors = rng.binomial(rows, truth, (H, 2))
        best = best_single(errors.sum(axis=1), 150, delta * 0.8, None).index
        failed += bool((limits_of(PartErrors(rows, errors[best]), H, delta) < truth).any())
    return failed


def at_its_share(counted, H, delta):
    level = float(occam_levels(H, delta, None)[0])
    return np.array([one.bound for one in part_limits(counted, ["a", "b"], [], level, 0.2)])


def plain(counted, H, delta):
    """The planted fault: exact limits, as if the classifier had been fixed beforehand."""
    return np.array([float(binomial_upper(k, n, delta / 2)) for k, n in zip(counted.errors, counted.rows, strict=True)])


def test_all_hold_at_once_for_a_chosen_classifier():
    assert binom.sf(failures(at_its_share, 100) - 1, 100, 0.05) > 1e-4


@pytest.mark.slow
def test_all_hold_at_once_in_many_samples():
    assert binom.sf(failures(at_its_share, 3000) - 1, 3000, 0.05) > 1e-4


def test_plain_limits_of_a_chosen_classifier_are_caught():
    assert binom.sf(failures(plain, 100) - 1, 100, 0.05) < 1e-4
