"""Selective classification: confidence thresholds, the order of their tests, and the certified error rate."""

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import Abstain
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.decisions import SelectiveResult
from pacbayes.certificates.thresholds import ConfidenceGrid, certify_abstention, count_at_thresholds

DELTA = 0.1


def test_counts_at_thresholds():
    rng = np.random.default_rng(0)
    scores, wrong = rng.integers(0, 40, 300) / 16, rng.random(300) < 0.2
    grid = ConfidenceGrid.from_scores(scores, wrong)
    assert grid.values[-1] == -np.inf
    assert np.all(np.diff(grid.values) < 0)
    for value, accepted, errors in zip(grid.values, grid.accepted, grid.wrong, strict=True):
        assert accepted == sum(score >= value for score in scores)
        assert errors == sum(error for score, error in zip(scores, wrong, strict=True) if score >= value)


def grid_of(accepted, errors):
    """A grid with these counts in cross-validation."""
    values = np.append(np.arange(len(accepted) - 1, 0, -1.0), -np.inf)
    return ConfidenceGrid(values, np.array(accepted), np.array(errors))


def test_testing_stops_at_the_first_failure():
    # The third threshold would pass too, but the second fails.
    grid = grid_of([80, 100, 160, 200], [0, 3, 4, 60])
    counts = (np.array([80, 100, 170, 200]), np.array([0, 2, 3, 40]))
    assert grid.order(200, 0.05, 0.05)[0] == 0
    result = certify_abstention(grid, counts, 200, 0.05, 0.05)
    assert (result.threshold, result.accepted, result.errors, result.tested) == (grid.values[0], 80, 0, 2)
    assert float(binomial_upper(3, 170, 0.05)) < 0.05 < float(binomial_upper(2, 100, 0.05))


def test_the_smallest_max_error_that_passes_is_reported():
    grid = grid_of([50, 100], [10, 30])

    def certified(max_error):
        return certify_abstention(grid, (grid.accepted, grid.wrong), 100, max_error, 0.05)

    result = certified(0.05)
    assert (result.passed, result.threshold, result.accepted) == (False, None, 0)
    assert certified(result.smallest_max_error).passed
    assert not certified(result.smallest_max_error - 0.005).passed


def test_the_smallest_max_error_among_all_is_reported():
    # Another requirement starts at another threshold, so that a looser one may fail where a stricter one passes.
    rng = np.random.default_rng(4)
    for _ in range(2):
        grid = ConfidenceGrid.from_scores(rng.random(60), rng.random(60) < rng.random() * 0.5)
        counts = count_at_thresholds(grid.values, rng.random(60), rng.random(60) < rng.random() * 0.5)
        smallest = certify_abstention(grid, counts, 60, 0.01, 0.05).smallest_max_error
        larger = (max_error for max_error in np.arange(1, 200) / 200 if max_error > 0.01)
        passing = [max_error for max_error in larger if certify_abstention(grid, counts, 60, max_error, 0.05).passed]
        assert smallest == (min(passing) if passing else None)


@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (1.0, ValueError), ("a", TypeError), (True, TypeError)])
def test_invalid_max_error(value, error):
    with pytest.raises(error, match="max_error must"):
        Abstain(value)


# Error rate of a row with confidence u in [0, 1), above the requirement for all u or for some.
ERROR_RATES = {
    "uninformative": lambda u: np.full_like(u, 0.101),
    "useful": lambda u: 0.4 * (1 - u) ** 2,
    "reversed": lambda u: 0.2 * u,
    "confident errors": lambda u: np.where(u > 0.9, 0.3, 0.02),
}


def draw(kind, n, rng):
    # Few different values: the error rate above each is known.
    u = rng.integers(0, 64, n) / 64
    return u, rng.random(n) < ERROR_RATES[kind](u)


def true_error_rate(kind, threshold):
    u = np.arange(64) / 64
    return float(ERROR_RATES[kind](u[u >= threshold]).mean())


def count_failures(choose, kind, number, m=250, max_error=0.1):
    failures = 0
    for seed in range(number):
        rng = np.random.default_rng([seed, 3])
        grid = ConfidenceGrid.from_scores(*draw(kind, 200, rng))
        counts = count_at_thresholds(grid.values, *draw(kind, m, rng))
        threshold = choose(grid, counts, m, max_error)
        failures += threshold is not None and true_error_rate(kind, threshold) > max_error
    return failures


def certified_threshold(grid, counts, m, max_error):
    return certify_abstention(grid, counts, m, max_error, DELTA).threshold


def loosest_threshold(grid, counts, m, max_error):
    """Planted fault: the loosest threshold that passes on the validation rows, whatever fails before."""
    bounds = (float(binomial_upper(int(k), int(n), DELTA)) if n else 1.0 for n, k in zip(*counts, strict=True))
    passing = [place for place, bound in enumerate(bounds) if bound <= max_error]
    return float(grid.values[passing[-1]]) if passing else None


def order_from_validation_rows(grid, counts, m, max_error):
    """Planted fault: the order is computed from the rows that test it."""
    return certify_abstention(ConfidenceGrid(grid.values, *counts), counts, m, max_error, DELTA).threshold


@pytest.mark.parametrize("number", [60, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ERROR_RATES)
def test_the_requirement_holds(kind, number):
    assert binom.sf(count_failures(certified_threshold, kind, number) - 1, number, DELTA) > 1e-4


@pytest.mark.parametrize("fault", [loosest_threshold, order_from_validation_rows])
def test_planted_faults_are_detected(fault):
    assert binom.sf(count_failures(fault, "uninformative", 80) - 1, 80, DELTA) < 1e-4


# -- sentences ---------------------------------------------------------------------------------------------------------


def test_sentences():
    result = SelectiveResult(0.02, 0.5, 1000, 910, 10, 7)
    assert result.acceptance_rate == 0.91
    assert result.summary_line == "Error rate at most 2.0 % on accepted examples; 91.0 % accepted"
    assert result.observed == "10 errors on 910 accepted of 1000 validation rows (acceptance rate 91.0 %)."
    assert result.details == ["Thresholds tested: 7; the loosest that passed is used."]
