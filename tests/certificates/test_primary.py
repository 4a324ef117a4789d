"""Primary rules: integer weights from errors and log-losses in cross-validation."""

import numpy as np
import pytest

from pacbayes.certificates.primary import (
    cross_validated_soft_weights,
    primary_soft_vote,
    primary_weights,
    soft_weights,
)
from pacbayes.certificates.voting import PRIMARY
from pacbayes.ensemble.calibration import DECISIONS, Calibration
from pacbayes.ensemble.cross_validation import CrossValidation
from pacbayes.ensemble.members import Calibrations


def test_weights_follow_the_errors():
    k = np.array([12, 10, 10, 10, 14, 30])
    rules = primary_weights(np.array([0, 2, 3, 4, 6, 7]), k, 9)
    assert all(sum(rule.weights.tolist()) == 2**52 and rule.weights.min() >= 0 for rule in rules)
    assert all(rule.weights[[1, 5, 8]].tolist() == [0, 0, 0] for rule in rules)
    by_name = {(rule.voting, rule.name): rule for rule in rules}
    assert by_name["best", PRIMARY].index == by_name["majority", "single"].index == 3
    draws = by_name["stochastic", PRIMARY].weights[[0, 2, 3, 4, 6, 7]] / 2**52
    assert draws == pytest.approx(np.exp(20 - 2 * k) / np.exp(20 - 2 * k).sum(), abs=1e-15)
    for s in (0, 0.5, 1, 2, 4):
        weights = np.exp(-s * (k - 10) / np.sqrt(11))
        assert by_name["majority", f"vote s={s:g}"].weights[[0, 2, 3, 4, 6, 7]] / 2**52 == pytest.approx(
            weights / weights.sum(), abs=1e-15
        )
    weights = np.exp(-0.25 * (k - 10) / np.sqrt(11))
    assert by_name["majority", PRIMARY].weights[0] / 2**52 == pytest.approx(weights[0] / weights.sum(), abs=1e-15)


@pytest.mark.parametrize("k", [[5], [7, 7, 7]])
def test_equal_votes_are_tested_once(k):
    votes = [rule.name for rule in primary_weights(np.arange(len(k)), k, len(k)) if rule.voting == "majority"]
    assert votes == (["primary"] if len(k) == 1 else ["primary", "single"])


def test_weights_of_a_soft_vote():
    """The best of each family has weight exp(-(L - min L) / sqrt n); below a thousandth of the largest, it is 0."""
    losses = np.array([40.0, 35.0, 35.0, 52.0, 51.0, 103.9, 104.3])
    families = np.array([2, 2, 2, 7, 7, 0, 1])
    errors = np.zeros((7, 1), dtype=np.int64)
    found = CrossValidation(np.array([0, 2, 3, 4, 6, 7, 8]), errors, np.array([90]), None, losses, families)
    weights = np.exp(-(np.array([35.0, 51.0, 103.9]) - 35.0) / 10)
    assert np.exp(-(104.3 - 35.0) / 10) < 1e-3 < weights[-1]
    expected = np.zeros(9)
    expected[[2, 6, 7]] = weights / weights.sum()
    parts = cross_validated_soft_weights(found, 9, 100)
    assert sum(parts.tolist()) == 2**52
    np.testing.assert_allclose(np.ldexp(parts.astype(float), -52), expected, rtol=0, atol=2.0**-51)
    maps = {i: Calibration(DECISIONS, 100, 1.0, np.zeros(2), np.zeros(2)) for i in found.candidates.tolist()}
    rule = primary_soft_vote(found, 9, 100, Calibrations(np.array([0, 1]), maps))
    assert (rule.voting, rule.name) == ("soft", PRIMARY)
    assert np.array_equal(rule.weights, parts)
    assert {i: maps[i] for i in (2, 6, 7)} == rule.soft.maps


@pytest.mark.parametrize("losses", [[0.0], [5.0, 5.0, 5.0], [0.0, 1e308], [1e308, 1e308], [0.0, 1e-300]])
def test_weights_of_extreme_losses(losses):
    parts = soft_weights(np.array(losses), np.arange(len(losses)), 4)
    assert sum(parts.tolist()) == 2**52
    assert parts.min() >= 0
    assert (np.ptp(parts) <= len(losses)) == (max(losses) - min(losses) < 1.0)
