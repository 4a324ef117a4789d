"""Limits by class: counts, levels that sum to no more than the rule's, and validity where the rule was chosen."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates import best_single
from pacbayes.certificates.classes import check_class_share, part_limits
from pacbayes.certificates.occam import occam_levels
from pacbayes.classifiers.counted import Counted
from pacbayes.classifiers.evidence import Evidence


def limits_of(wrong, truth, level, share, classes=(0, 1), slices=None, names=()):
    """The limits of a rule that gets these rows wrong, of classes and slices by number."""
    truth = np.asarray(truth, dtype=np.uint8)
    evidence = Evidence(np.array(classes), len(classes), truth[None], truth, slices=slices)
    return part_limits(np.asarray(wrong, dtype=bool), evidence, names, level, share)


def limits_of_counts(rows, errors, level, share, classes):
    """The same, from the rows of every class and the errors among them."""
    wrong = np.concatenate([np.arange(n) < k for n, k in zip(rows, errors, strict=True)])
    return limits_of(wrong, np.repeat(np.arange(len(rows)), rows), level, share, classes)


def test_counts_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    wrong, codes, slices = rng.random(200) < 0.3, rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    # Nobody validates the last class, nor the last slice.
    found = limits_of(wrong, codes, 0.05, 0.2, list("abcd"), slices, ["x", "y", "z"])
    assert [(one.kind, one.name) for one in found] == [
        *(("class", name) for name in "abcd"),
        *(("slice", name) for name in "xyz"),
    ]
    expected = [codes == c for c in range(4)] + [slices == s for s in range(3)]
    assert [one.rows for one in found] == [sum(mine) for mine in expected]
    assert [one.errors for one in found] == [sum(wrong & mine) for mine in expected]


def test_limits_are_the_exact_ones_at_their_level():
    found = limits_of_counts([80, 0, 20], [4, 0, 20], 0.04, 0.25, list("abc"))
    assert found[0].bound == pytest.approx(beta.ppf(1 - 0.04 * 0.25 / 3, 5, 76), rel=1e-6)
    assert found[0].bound >= beta.ppf(1 - 0.04 * 0.25 / 3, 5, 76)
    assert [one.bound for one in found[1:]] == [1.0, 1.0]
    assert [one.also for one in found] == ["", "", ""]
    two = limits_of_counts([8, 9], [0, 1], 0.04, 0.25, [0, 1])
    assert [(one.name, one.also) for one in two] == [(0, "false positives"), (1, "false negatives")]
    assert type(two[0].name) is int
    assert "1 error on 9" in str(two[1])


@pytest.mark.parametrize("slices", [1, 3, 50])
def test_classes_and_slices_have_half_of_the_share_each(slices):
    # How many slices occur comes from the rows: the level of a limit by class must not depend on it.
    of_row = np.repeat(np.arange(slices), 10)
    wrong, truth = np.tile(np.arange(10) < 3, slices), np.tile(np.arange(10) % 2, slices)
    found = limits_of(wrong, truth, 0.04, 0.25, slices=of_row, names=[str(one) for one in range(slices)])
    expected = [beta.ppf(1 - 0.04 * 0.25 / 4, k * slices + 1, (5 - k) * slices) for k in (2, 1)]
    assert [one.bound for one in found[:2]] == pytest.approx(expected, rel=1e-6)
    of_slice = beta.ppf(1 - 0.04 * 0.25 / 2 / slices, 4, 7)
    assert [one.bound for one in found[2:]] == pytest.approx([of_slice] * slices, rel=1e-6)


def test_shares_that_are_none():
    for value, error in ((-0.1, ValueError), (1.0, ValueError), ("a", TypeError), (True, TypeError)):
        with pytest.raises(error, match="class_share must"):
            check_class_share(value)


def failures(choose, number, H=200, delta=0.05):
    """How often any limit of the classifier with the fewest errors, of many equally good ones, is too small."""
    truth, failed = np.array([0.05, 0.3]), 0
    for seed in range(number):
        rng = np.random.default_rng([seed, 5])
        rows = rng.multinomial(150, [0.85, 0.15])  # a rare class
        errors = rng.binomial(rows, truth, (H, 2))
        counted = Counted(errors.sum(axis=1)[:, None], None, np.full(H, 150))
        best = best_single(counted, delta * 0.8, None).index
        failed += bool((choose(rows, errors[best], H, delta) < truth).any())
    return failed


def at_its_share(rows, errors, H, delta):
    level = float(occam_levels(H, delta, None)[0])
    return np.array([one.bound for one in limits_of_counts(rows, errors, level, 0.2, ["a", "b"])])


def plain(rows, errors, H, delta):
    """The planted fault: exact limits, as if the classifier had been fixed beforehand."""
    return np.array([float(binomial_upper(k, n, delta / 2)) for k, n in zip(errors, rows, strict=True)])


def test_all_hold_at_once_for_a_chosen_classifier():
    assert binom.sf(failures(at_its_share, 100) - 1, 100, 0.05) > 1e-4


@pytest.mark.slow
def test_all_hold_at_once_in_many_samples():
    assert binom.sf(failures(at_its_share, 3000) - 1, 3000, 0.05) > 1e-4


def test_plain_limits_of_a_chosen_classifier_are_caught():
    assert binom.sf(failures(plain, 100) - 1, 100, 0.05) < 1e-4
