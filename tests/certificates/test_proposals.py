"""What the training rows propose: whole weights that follow the errors."""

import numpy as np
import pytest

from pacbayes.certificates.proposals import given_rules, propose
from pacbayes.certificates.voting import PROPOSAL


def test_proposals_are_whole_weights_that_follow_the_errors():
    k = np.array([12, 10, 10, 10, 14, 30])
    found = propose(np.array([0, 2, 3, 4, 6, 7]), k, 9)
    assert all(sum(rule.weights.tolist()) == 2**52 and rule.weights.min() >= 0 for rule in found)
    assert all(rule.weights[[1, 5, 8]].tolist() == [0, 0, 0] for rule in found)
    by_name = {(rule.voting, rule.name): rule for rule in found}
    assert by_name["best", PROPOSAL].index == by_name["majority", "single"].index == 3
    draws = by_name["stochastic", PROPOSAL].weights[[0, 2, 3, 4, 6, 7]] / 2**52
    assert draws == pytest.approx(np.exp(20 - 2 * k) / np.exp(20 - 2 * k).sum(), abs=1e-15)
    for s in (0, 0.5, 1, 2, 4):
        weights = np.exp(-s * (k - 10) / np.sqrt(11))
        assert by_name["majority", f"vote s={s:g}"].weights[[0, 2, 3, 4, 6, 7]] / 2**52 == pytest.approx(
            weights / weights.sum(), abs=1e-15
        )
    weights = np.exp(-0.25 * (k - 10) / np.sqrt(11))
    assert by_name["majority", PROPOSAL].weights[0] / 2**52 == pytest.approx(weights[0] / weights.sum(), abs=1e-15)


@pytest.mark.parametrize("k", [[5], [7, 7, 7]])
def test_votes_that_would_be_the_same_are_tested_once(k):
    votes = [rule.name for rule in propose(np.arange(len(k)), k, len(k)) if rule.voting == "majority"]
    assert votes == (["proposal"] if len(k) == 1 else ["proposal", "single"])


@pytest.mark.parametrize(("wrong", "error"), [(3, ValueError), (-1, ValueError), (True, TypeError), ("1", TypeError)])
def test_proposals_that_are_none(wrong, error):
    with pytest.raises(error, match="proposal must be the number of"):
        given_rules(wrong, 3)
