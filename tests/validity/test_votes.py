"""The guarantee of the bounds on a vote, for the weights that minimise them, by simulation with a known law.

Rows are drawn from finitely many kinds; which classifier errs on which kind is fixed, so the risk of every vote and the
true tandem and Gibbs risks are known.  A bound counts as failed not only where the vote's risk exceeds it: already
where the second or first moment that it claims to bound does, a sharper test.
"""

import numpy as np
import pytest
from tests.validity.square import DELTA, fits, largest

from pacbayes.bounds import get_distance
from pacbayes.posteriors.optimal_vote import optimal_vote
from pacbayes.posteriors.vote_bounds import VOTE_BOUNDS, vote_bound


class Law:
    """Kinds of rows with their probabilities, and the errors of H classifiers on each kind."""

    def __init__(self, rng, H, kinds, risk):
        self.errors = rng.random((H, kinds)) < np.clip(rng.beta(0.5, 1.5, kinds) * 4 * risk, 0, 1)
        self.probability = rng.dirichlet(np.ones(kinds))

    def sample(self, rng, m):
        return self.errors[:, rng.choice(self.probability.size, m, p=self.probability)]

    def moments(self, weights):
        """The vote's risk, ties counted as errors, and the means of W and of its square."""
        erring = weights @ self.errors
        return [float(self.probability @ values) for values in (erring >= 0.5 - 1e-12, erring, erring**2)]


def claimed(vote, law):
    """What the bound says an upper limit of, the vote's risk included."""
    risk, first, second = law.moments(vote.weights)
    if vote.method == "first-order":
        return max(risk, 2 * first)
    if vote.method == "tandem":
        return max(risk, 4 * second)
    if vote.mu == -np.inf:
        return risk
    return max(risk, (second - 2 * vote.mu * first + vote.mu**2) / (0.5 - vote.mu) ** 2)


def failures(name, samples, m, H, risk, seed=0):
    rng = np.random.default_rng(seed)
    law = Law(rng, H, 400, risk)
    count = 0
    for _ in range(samples):
        vote = optimal_vote(law.sample(rng, m), m, bound=name, delta=DELTA, tol=1e-4)
        count += claimed(vote, law) > vote.bound
    return count


@fits(100, 2000)
@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_failures_are_compatible_with_delta(name, fits):
    for m, H, risk in [(40, 15, 0.1), *([(5, 300, 0.2), (300, 40, 0.05)] if fits > 100 else [])]:
        assert failures(name, fits, m, H, risk) <= largest(fits)


# Where a pair's divergence counts: each of a million classifiers errs on its own, nearly always.  Weights tilted
# towards the few that err less make the share W of the weight that errs smaller on *every* row, from p to q.  This
# costs the divergence K = m kl(q, p), and the second moment seems to be q^2 while it is p^2: m kl(q^2, p^2) is between
# K and 2 K.
P, PLANTED_M, PLANTED_H = 0.98, 8, 10**6
PATTERNS = (np.arange(2**PLANTED_M)[:, None] >> np.arange(PLANTED_M)) % 2 == 1
LAW = P ** PATTERNS.sum(axis=1) * (1 - P) ** (PLANTED_M - PATTERNS.sum(axis=1))


def tilted(counts):
    """Yield weights of all classifiers with each pattern of errors, tilted more and more to the patterns of few."""
    for beta in np.linspace(0.5, 6.0, 12):
        weights = counts * np.exp(-beta * PATTERNS.sum(axis=1))
        yield weights / weights.sum()


def test_the_divergence_of_a_pair_is_needed():
    samples = 40
    function = get_distance("kl").bound_function(PLANTED_M, DELTA)
    right = wrong = 0
    rng = np.random.default_rng(5)
    for _ in range(samples):
        # How many of the classifiers err on which of the m rows; the uniform prior on them is one on the patterns.
        counts = rng.multinomial(PLANTED_H, LAW / LAW.sum())
        prior = counts / PLANTED_H
        failed_right = failed_wrong = False
        optimal = optimal_vote(PATTERNS, PLANTED_M, prior=prior, delta=DELTA, tol=1e-3).weights
        for weights in (optimal, *tilted(counts)):
            some = weights > 0
            T = float(((weights @ PATTERNS) ** 2).mean())
            K = float(weights[some] @ np.log(weights[some] / prior[some]))
            # On a new row two classifiers err together with probability p^2, one with itself with probability p.
            same = float((weights[some] ** 2 / counts[some]).sum())
            truth = 4 * (P * P + (P - P * P) * same)
            failed_wrong |= truth > 4 * function(T, K)
            failed_right |= truth > vote_bound(weights, PATTERNS, PLANTED_M, prior=prior, delta=DELTA)
        right, wrong = right + failed_right, wrong + failed_wrong
    assert right <= largest(samples)
    assert wrong > largest(samples)


def test_rows_that_trained_the_classifiers_are_caught():
    # Each classifier is the best of 10000 coins on the very rows its errors are then counted on.
    samples, m, H = 20, 100, 10
    rng = np.random.default_rng(6)
    count = 0
    for _ in range(samples):
        least = rng.binomial(m, 0.5, (H, 10_000)).min(axis=1)
        errors = rng.permuted(np.arange(m) < least[:, None], axis=1)
        vote = optimal_vote(errors, m, delta=DELTA, tol=1e-4)
        # Two different coins err together on a quarter of the rows, one with itself on half of them.
        count += 4 * (0.25 + 0.25 * float(vote.weights @ vote.weights)) > vote.bound
    assert count > largest(samples)
