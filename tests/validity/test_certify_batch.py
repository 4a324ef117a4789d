"""Bounds on the number of errors in a batch: enumeration for few rows, simulation with known truth for more.

Planted faults: a rule chosen at uncorrected delta, rows of groups taken for independent rows, several batches at the
level of one, a selected batch.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import betabinom, binom
from tests.bounds.test_binomial import LEVELS, new_tail
from tests.validity.square import DELTA, compatible, fits
from tests.validity.test_fitted_estimators import CLEAN, VOTINGS, fitted, sample

from pacbayes.bounds.binomial import binomial_upper, hypergeometric_upper
from pacbayes.certificates import Plan, certify, fit_posteriors
from pacbayes.certificates.batch import empty_batch
from pacbayes.data.split import make_validation_split
from pacbayes.ensemble.validation import ValidationPredictions

SIZES = range(1, 13)


# -- one rule: all samples of all populations ------------------------------------------------------------------------


def miscoverage(m, rows, bounds):
    """Probability that the bound fails, for every total number of errors."""
    for wrong in range(m + rows + 1):
        ways = sum(
            comb(wrong, k) * comb(m + rows - wrong, m - k)
            for k in range(max(0, wrong - rows), min(m, wrong) + 1)
            if wrong - k > bounds[k]
        )
        yield Fraction(ways, comb(m + rows, m))


@pytest.mark.parametrize("level", LEVELS)
def test_the_exact_bound_reaches_the_level_only_at_ties(level):
    """The bound by its definition reaches the level where a probability equals it; ours is conservative there."""
    reached = 0
    # The decimal number: 0.1 is the double next to a tenth.
    exact_level = Fraction(str(level))
    for m, rows in product(SIZES, repeat=2):
        defined = [max(f for f in range(rows + 1) if new_tail(k, m, rows, f) > exact_level) for k in range(m + 1)]
        most = max(miscoverage(m, rows, defined))
        assert most <= exact_level
        reached += most == exact_level
        ours = [hypergeometric_upper(k, m, rows, level) for k in range(m + 1)]
        assert all(a >= b for a, b in zip(ours, defined, strict=True))
        assert max(miscoverage(m, rows, ours)) <= most
    assert (reached > 0) == (level >= 0.05)


# -- a rule chosen among two: all samples of all populations, by the rules that are wrong on each row -----------------


@cache
def outcomes(size):
    """All counts of four kinds among `size` rows: both rules are right, only one of them, neither."""
    counts = [(a, b, c) for a in range(size + 1) for b in range(size + 1 - a) for c in range(size + 1 - a - b)]
    return np.array([(size - a - b - c, a, b, c) for a, b, c in counts])


def worst_of_two(m, rows, batch_levels, delta=0.2, hedge=0.3):
    """Largest probability, over all populations, that the batch bound of the rule with the smaller bound fails."""
    old, new = outcomes(m), outcomes(rows)
    levels = ((1 - hedge) * delta, hedge * delta)
    errors, later = (np.stack([one[:, 1] + one[:, 3], one[:, 2] + one[:, 3]]) for one in (old, new))
    bounds = [binomial_upper(errors[j], m, levels[j]) for j in (0, 1)]
    chosen = (bounds[1] < bounds[0]).astype(int)
    batch = np.array([[hypergeometric_upper(k, m, rows, level) for k in range(m + 1)] for level in batch_levels])
    bound = batch[chosen, errors[chosen, np.arange(len(old))]]
    failed = later[chosen] > bound[:, None]
    pascal = np.array([[comb(n, k) for k in range(25)] for n in range(25)], dtype=np.float64)
    together = old[:, None, :] + new[None, :, :]
    ways = np.prod(pascal[together, old[:, None, :]], axis=2)  # integers below 2^53
    population = together @ np.array([25**3, 25**2, 25, 1])
    total = np.bincount(population.ravel(), weights=(ways * failed).ravel())
    return Fraction(int(total.max()), comb(m + rows, m))


def test_a_hedged_rule_keeps_delta():
    """The primary rule has 0.7 delta and the alternative 0.3; the one with the smaller bound predicts."""
    delta, hedge, worst = 0.2, 0.3, {}
    for m, rows in product(SIZES, repeat=2):
        worst[m, rows] = worst_of_two(m, rows, ((1 - hedge) * delta, hedge * delta), delta, hedge)
        assert worst[m, rows] <= Fraction(delta)
    assert max(worst.values()) > 0.5 * delta


def test_two_rules_at_uncorrected_delta_are_caught():
    """The planted fault: the rule that predicts has its bound at delta."""
    assert max(worst_of_two(m, rows, (0.2, 0.2)) for m, rows in product((6, 9, 12), repeat=2)) > 0.2


# -- a rule chosen among many ----------------------------------------------------------------------------------------


def chosen_among_many(draws, number=200, m=100, rows=100, risk=0.2):
    """Number of failures of Occam's choice: at its share of delta, and at uncorrected delta."""
    failed = np.zeros(2, dtype=int)
    split = make_validation_split(m)
    for seed in range(draws):
        rng = np.random.default_rng([seed, 15])
        wrong = (rng.random((number, m)) < risk).astype(np.uint8)
        predictions = ValidationPredictions(np.array([0, 1]), 2, wrong, np.zeros(m, dtype=np.uint8))
        plan = Plan(split, delta=DELTA)
        certificates = certify(plan, predictions, fit_posteriors(plan, predictions))
        batch = replace(empty_batch(plan, certificates.inputs, certificates.rule("best")), rows=rows)
        assert batch.level == pytest.approx(DELTA / number)
        assert batch.errors == wrong.sum(axis=1).min()
        # All classifiers have the same risk: new errors do not depend on the choice.
        later = rng.binomial(rows, risk)
        failed += [later > batch.wrong, later > replace(batch, level=DELTA).wrong]
    return failed


@fits(60, 1000)
def test_a_rule_chosen_at_uncorrected_delta_is_caught(fits):
    at_its_share, uncorrected = chosen_among_many(fits)
    assert compatible(at_its_share, fits)
    assert not compatible(uncorrected, fits)


# -- dependent rows --------------------------------------------------------------------------------------------------


def group_misses(draws, size, groups=40, level=0.05):
    """Number of failures for rows in groups with different error rates."""
    failed = 0
    for seed in range(draws):
        rng = np.random.default_rng([seed, 16])
        old, new = (rng.binomial(size, rng.beta(0.5, 4.5, groups)).sum() for _ in range(2))
        failed += int(new) > hypergeometric_upper(int(old), groups * size, groups * size, level)
    return failed


def test_rows_of_groups_taken_for_independent_rows_are_caught():
    """Groups of single rows are fine."""
    single, grouped = group_misses(1500, 1), group_misses(1500, 10)
    assert compatible(single, 1500, 0.05)
    assert not compatible(grouped, 1500, 0.05)


def test_the_numbers_of_planted_faults_in_the_docs():
    """Exact sums for docs/mathematics.md: 200 equal classifiers, and forty groups of ten rows."""
    fewest = np.diff(1 - binom.sf(np.arange(-1, 101), 100, 0.2) ** 200)
    bounds = np.array([hypergeometric_upper(k, 100, 100, 0.1) for k in range(101)])
    assert round(100 * float(fewest @ binom.sf(bounds, 100, 0.2)), 1) == 75.4
    whole = reduce(np.convolve, [betabinom.pmf(np.arange(11), 10, 0.5, 4.5)] * 40)
    bounds = np.array([hypergeometric_upper(k, 400, 400, 0.05) for k in range(401)])
    above = 1 - np.cumsum(whole)
    assert round(100 * float(whole @ above[bounds]), 1) == 13.3


def test_a_selected_batch_is_caught():
    """Rows that are harder than the validation rows: half of them have twice the risk."""
    draws = np.random.default_rng(17).binomial([200, 200], [0.1, 0.15], (2000, 2))
    failed = sum(int(new) > hypergeometric_upper(int(old), 200, 200, 0.05) for old, new in draws)
    assert not compatible(failed, 2000, 0.05)


# -- several batches for one validation set --------------------------------------------------------------------------


def one_and_any(number, m=200, rows=200, risk=0.05, level=0.05):
    """Probability that the bound of one batch fails, and that any of several fails; exact sums."""
    bounds = np.array([hypergeometric_upper(k, m, rows, level) for k in range(m + 1)])
    sample_of, holds = binom.pmf(np.arange(m + 1), m, risk), binom.cdf(bounds, rows, risk)
    return float(sample_of @ (1 - holds)), float(sample_of @ (1 - holds**number))


def test_the_numbers_of_several_batches_in_the_docs():
    """Exact sums for docs/what-to-certify.md and docs/mathematics.md."""
    one, any_of_twenty = one_and_any(20)
    assert (round(100 * one, 1), round(100 * any_of_twenty, 1)) == (3.1, 23.2)
    assert any_of_twenty < 1 - (1 - one) ** 20  # failures are positively dependent
    # At delta / 20 each, all hold jointly for every risk.
    for risk in (0.01, 0.05, 0.2, 0.5):
        assert one_and_any(20, risk=risk, level=0.05 / 20)[1] < 0.05


# -- whole fits ------------------------------------------------------------------------------------------------------


@fits(8, 400)
@pytest.mark.parametrize("kind", CLEAN)
def test_whole_fits(kind, fits):
    """A model, and a batch from the same distribution; the hedge is small or large in turn."""
    failed, chosen = dict.fromkeys(VOTINGS, 0), 0
    for seed in range(fits):
        clf = fitted(kind, seed, hedge=0.1 if seed % 2 else 0.8)
        X, y = sample(kind, 120, np.random.default_rng([seed, 18]))
        for voting in VOTINGS:
            clf.set_params(voting=voting)
            if clf.certificate_.rule == "posterior":
                with pytest.raises(ValueError, match="optimised on the validation rows"):
                    clf.certify_batch(X)
                continue
            batch = clf.certify_batch(X)
            assert batch.rows == 120
            chosen += clf.certificate_.rule != "primary"
            failed[voting] += int((clf.predict(X) != y).sum()) > batch.wrong
    assert chosen > 0
    assert all(compatible(one, fits) for one in failed.values())
