"""Predictions of rules, compared with sums in integers; from classifiers and from their predictions."""

import numpy as np
import pytest
from tests.ensemble.recording import recording_members

from pacbayes._utils.seeds import draw_key
from pacbayes.certificates import voting as module
from pacbayes.certificates.rules import Draws, Single, Vote
from pacbayes.certificates.voting import BITS, draw_classifiers, float_weights, integer_weights, single_weight
from pacbayes.data.rows import row_hashes
from pacbayes.ensemble.members import Coding
from pacbayes.files.checks import validate_value

KEY = draw_key(3)


def weighted_vote(table, parts):
    """The label with the largest sum of integers, the first in the alphabet of several."""
    winners = []
    for column in table.T:
        behind = {
            label: sum(int(part) for part, one in zip(parts, column, strict=True) if one == label) for label in "abcd"
        }
        winners.append(max(behind, key=lambda label: (behind[label], -ord(label))))
    return np.array(winners)


def both(rule, members, X):
    """Labels that a rule predicts with its classifiers, and from the predictions of all."""
    coding = Coding(members.classes)
    y_pred = members.predict(X, np.arange(len(members)), coding)
    codes = rule.predict(members, X, lambda: row_hashes(X, KEY), coding)
    return coding.labels[codes], coding.labels[rule.combine(y_pred, coding.labels, lambda: row_hashes(X, KEY))]


@pytest.mark.parametrize("block", [20, 4_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_votes_are_exact_with_ties_and_unknown_labels(seed, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_SIZE", block)
    table, members, X = recording_members(seed, n_classifiers=8)
    unequal = np.random.default_rng(seed).dirichlet(np.ones(8))
    some = [integer_weights(np.ones(8)), integer_weights(unequal), single_weight(3, 8)]
    for parts in some:
        for labels in both(Vote("mine", parts), members, X):
            np.testing.assert_array_equal(labels, weighted_vote(table, parts))


def test_draws_and_single_classifiers():
    table, members, X = recording_members()
    parts = integer_weights(np.random.default_rng(1).dirichlet(np.ones(9)))
    which = draw_classifiers(row_hashes(X, KEY), parts)
    for labels in both(Draws("mine", parts), members, X):
        np.testing.assert_array_equal(labels, table[which, np.arange(len(X))])
    for labels in both(Single("mine", single_weight(4, 9)), members, X):
        np.testing.assert_array_equal(labels, table[4])


def test_weights_are_integers():
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 1990):
        weights = rng.dirichlet(np.full(size, 0.1))
        parts = integer_weights(weights)
        assert int(parts.sum()) == 2**BITS
        assert parts.min() >= 0
        validate_value(Vote("mine", parts))
        np.testing.assert_allclose(float_weights(parts), weights, atol=size * 2.0**-BITS)
        assert float_weights(parts)[rng.permutation(size)].sum() == 1.0
        # Integer weights are unchanged.
        np.testing.assert_array_equal(integer_weights(float_weights(parts)), parts)
