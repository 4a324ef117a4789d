"""Bounds on votes hold at the weights that minimise them, by simulation with known risks.

Rows are of finitely many kinds, and the errors of each classifier on each kind are fixed: the risk of every vote, and
the true tandem and Gibbs risks, are known.  A bound fails if the first or second moment that it bounds exceeds it: a
stricter test than the risk of the vote.
"""

import numpy as np
import pytest
from tests.validity.square import DELTA, fits, largest

from pacbayes.bounds import get_distance
from pacbayes.posteriors.optimal_vote import optimal_vote
from pacbayes.posteriors.vote_bounds import VOTE_BOUNDS, vote_bound


class Distribution:
    """Kinds of rows with their probabilities, and the errors of H classifiers on each kind."""

    def __init__(self, rng, H, kinds, risk):
        self.errors = rng.random((H, kinds)) < np.clip(rng.beta(0.5, 1.5, kinds) * 4 * risk, 0, 1)
        self.probability = rng.dirichlet(np.ones(kinds))

    def sample(self, rng, m):
        return self.errors[:, rng.choice(self.probability.size, m, p=self.probability)]

    def moments(self, weights):
        """The vote's risk, ties counted as errors, and the means of W and of its square."""
        W = weights @ self.errors
        return [float(self.probability @ values) for values in (W >= 0.5 - 1e-12, W, W**2)]


def bounded_value(vote, distribution):
    """The true value that the bound is for, at least the risk of the vote."""
    risk, first, second = distribution.moments(vote.weights)
    if vote.method == "first-order":
        return max(risk, 2 * first)
    if vote.method == "tandem":
        return max(risk, 4 * second)
    if vote.mu == -np.inf:
        return risk
    return max(risk, (second - 2 * vote.mu * first + vote.mu**2) / (0.5 - vote.mu) ** 2)


def failures(name, samples, m, H, risk, seed=0):
    rng = np.random.default_rng(seed)
    distribution = Distribution(rng, H, 400, risk)
    count = 0
    for _ in range(samples):
        vote = optimal_vote(distribution.sample(rng, m), m, bound=name, delta=DELTA, tol=1e-4)
        count += bounded_value(vote, distribution) > vote.bound
    return count


@fits(100, 2000)
@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_failures_are_compatible_with_delta(name, fits):
    for m, H, risk in [(40, 15, 0.1), *([(5, 300, 0.2), (300, 40, 0.05)] if fits > 100 else [])]:
        assert failures(name, fits, m, H, risk) <= largest(fits)


# A case in which the divergence of pairs matters: a million classifiers with independent errors and a large risk p.
# Weights tilted towards those with few errors decrease the weight W of wrong classifiers on *every* validation row,
# from p to q.  This costs the divergence K = m kl(q, p).  The empirical second moment is q^2, the true one p^2, and
# m kl(q^2, p^2) is between K and 2 K.
P, PLANTED_M, PLANTED_H = 0.98, 8, 10**6
PATTERNS = (np.arange(2**PLANTED_M)[:, None] >> np.arange(PLANTED_M)) % 2 == 1
PROBABILITIES = P ** PATTERNS.sum(axis=1) * (1 - P) ** (PLANTED_M - PATTERNS.sum(axis=1))


def tilted(counts):
    """Yield weights of the error patterns, tilted more and more towards patterns with few errors."""
    for beta in np.linspace(0.5, 6.0, 12):
        weights = counts * np.exp(-beta * PATTERNS.sum(axis=1))
        yield weights / weights.sum()


def test_the_divergence_of_a_pair_is_needed():
    samples = 40
    function = get_distance("kl").bound_function(PLANTED_M, DELTA)
    valid = invalid = 0
    rng = np.random.default_rng(5)
    for _ in range(samples):
        # The number of classifiers with each error pattern; the uniform prior on classifiers is a prior on patterns.
        counts = rng.multinomial(PLANTED_H, PROBABILITIES / PROBABILITIES.sum())
        prior = counts / PLANTED_H
        valid_fails = invalid_fails = False
        optimal = optimal_vote(PATTERNS, PLANTED_M, prior=prior, delta=DELTA, tol=1e-3).weights
        for weights in (optimal, *tilted(counts)):
            used = weights > 0
            T = float(((weights @ PATTERNS) ** 2).mean())
            K = float(weights[used] @ np.log(weights[used] / prior[used]))
            # On a new row a pair of different classifiers is wrong with probability p^2, of equal ones with p.
            same = float((weights[used] ** 2 / counts[used]).sum())
            true = 4 * (P * P + (P - P * P) * same)
            invalid_fails |= true > 4 * function(T, K)
            valid_fails |= true > vote_bound(weights, PATTERNS, PLANTED_M, prior=prior, delta=DELTA)
        valid, invalid = valid + valid_fails, invalid + invalid_fails
    assert valid <= largest(samples)
    assert invalid > largest(samples)


def test_classifiers_chosen_on_the_validation_rows_are_caught():
    # Each classifier is the best of 10000 coins on its own validation rows.
    samples, m, H = 20, 100, 10
    rng = np.random.default_rng(6)
    count = 0
    for _ in range(samples):
        errors_of_best = rng.binomial(m, 0.5, (H, 10_000)).min(axis=1)
        errors = rng.permuted(np.arange(m) < errors_of_best[:, None], axis=1)
        vote = optimal_vote(errors, m, delta=DELTA, tol=1e-4)
        # Pairs of different coins are both wrong on a quarter of the rows, equal ones on half of them.
        count += 4 * (0.25 + 0.25 * float(vote.weights @ vote.weights)) > vote.bound
    assert count > largest(samples)
