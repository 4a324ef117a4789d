"""Votes of classifiers with validation rows of their own: numbers against plain loops, the descent against others."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import minimize
from tests.posteriors.vote_problems import random_rows

from pacbayes import bound, log_constant, optimal_posterior, optimal_vote, vote_bound
from pacbayes.posteriors.error_rows import OwnRows, TandemFactor
from pacbayes.posteriors.vote_bounds import VOTE_BOUNDS


def random_own(seed, H=12, n=150, share=0.5):
    rng = np.random.default_rng(seed)
    validated = rng.random((H, n)) < share
    return random_rows(rng, H, n) & validated, validated


def plain_losses(errors, validated):
    """Shares of the rows of each pair on which both err, by whole numbers, and the least number of such rows."""
    H = len(errors)
    both = [[int((errors[i] & errors[j]).sum()) for j in range(H)] for i in range(H)]
    rows = [[int((validated[i] & validated[j]).sum()) for j in range(H)] for i in range(H)]
    return [[mp.mpf(both[i][j]) / rows[i][j] for j in range(H)] for i in range(H)], min(map(min, rows))


def test_everything_validated_is_as_before():
    for seed in range(10):
        errors, _ = random_own(seed)
        everything = np.ones_like(errors)
        weights = np.random.default_rng(seed).dirichlet(np.ones(len(errors)))
        for name in VOTE_BOUNDS:
            plain = vote_bound(weights, errors, 150, bound=name)
            assert vote_bound(weights, errors, 150, bound=name, validated=everything) == pytest.approx(plain, rel=1e-12)
        best = optimal_vote(errors, 150)
        found = optimal_vote(errors, 150, validated=everything)
        # All is convex here, up to rounding: the descent ends where the proof says the minimum is.
        assert best.lower_bound <= found.bound <= best.bound + 2e-6
        assert found.lower_bound == -math.inf


@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_never_below_arbitrary_precision(name):
    with mp.workdps(40):
        for seed in range(12):
            errors, validated = random_own(seed, H=6, n=60)
            weights = np.random.default_rng(seed).dirichlet(np.ones(6))
            losses, pair = plain_losses(errors, validated)
            q = [mp.mpf(float(w)) / mp.fsum(map(mp.mpf, weights.tolist())) for w in weights]
            T = mp.fsum(q[i] * q[j] * losses[i][j] for i in range(6) for j in range(6))
            G = mp.fsum(q[i] * losses[i][i] for i in range(6))
            K = mp.fsum(a * mp.log(6 * a) for a in q)
            single = int(validated.sum(axis=1).min())
            level = 0.025 if name == "cantelli" else 0.05

            def roots(p, K, m, level=level):
                x = (K + mp.mpf(log_constant("kl", m)) - mp.log(mp.mpf(level))) / m
                ends = []
                for low, high, above in ((p, mp.mpf(1), True), (mp.mpf(0), p, False)):
                    for _ in range(160):
                        r = (low + high) / 2
                        kl = (p * mp.log(p / r) if p else 0) + ((1 - p) * mp.log((1 - p) / (1 - r)) if p < 1 else 0)
                        low, high = (r, high) if (kl <= x) == above else (low, r)
                    ends.append(low)
                return ends

            above, (g_high, g_low) = roots(T, 2 * K, pair)[0], roots(G, K, single)
            if name == "tandem":
                exact = 4 * above
            elif name == "first-order":
                exact = 2 * g_high
            else:
                exact = mp.mpf(1)
                for g, sign in ((g_low, 1), (g_high, -1)):
                    mu = max((g - 2 * above) / (1 - 2 * g) * sign, 0) * sign if g < 0.5 else mp.mpf(0)
                    exact = min(exact, (above - 2 * mu * g + mu**2) / (mp.mpf(1) / 2 - mu) ** 2) if mu < 0.5 else exact
            ours = vote_bound(weights, errors, 60, bound=name, validated=validated)
            assert exact <= mp.mpf(ours) <= exact + mp.mpf("1e-10"), seed


def test_first_order_is_twice_the_posterior_with_a_sample_size_for_each():
    errors, validated = random_own(3)
    sizes = validated.sum(axis=1)
    vote = optimal_vote(errors, 150, bound="first-order", validated=validated)
    single = optimal_posterior(errors.sum(axis=1) / sizes, sizes, tol=1e-7)
    assert vote.m == sizes.min()
    assert vote.bound == pytest.approx(2 * single.bound, abs=1e-6)
    assert 0 <= vote.gap <= 1e-6
    alone = np.eye(12)[0]
    assert vote_bound(alone, errors, 150, bound="first-order", validated=validated) == pytest.approx(
        2 * bound(alone, errors.sum(axis=1) / sizes, sizes), rel=1e-12
    )


def test_the_matrix_is_not_positive_semidefinite_and_the_factor_says_so():
    indefinite = 0
    for seed in range(10):
        errors, validated = random_own(seed, share=0.3)
        own = OwnRows.of(errors, validated)
        factor = TandemFactor.of_losses(own.losses, own.risks, None, 1.0)
        indefinite += factor.concave is not None
        for q in np.random.default_rng(seed).dirichlet(np.ones(12), 5):
            assert factor.value(q) == pytest.approx(q @ own.losses @ q, abs=1e-12)
            # The tangent of the concave part is above it.
            other = np.random.default_rng(seed + 1).dirichlet(np.ones(12))
            if factor.concave is not None:
                part = -np.square(other @ factor.concave).sum()
                at = -np.square(q @ factor.concave).sum()
                assert part <= at + factor.tangent(q) @ (other - q) + 1e-12
    assert indefinite >= 5


@pytest.mark.parametrize("name", ["tandem", "cantelli"])
def test_the_descent_against_slsqp(name):
    for seed in range(6):
        errors, validated = random_own(seed, H=10, n=400)
        found = optimal_vote(errors, 400, bound=name, validated=validated)
        assert found.converged
        assert found.bound == vote_bound(found.weights, errors, 400, bound=name, validated=validated)
        assert found.details["m_pairs"] == OwnRows.of(errors, validated).least_pair

        def value(q, errors=errors, validated=validated):
            q = np.maximum(q, 0) + 1e-14
            return vote_bound(q / q.sum(), errors, 400, bound=name, validated=validated)

        rng = np.random.default_rng(seed)
        for start in (np.full(10, 0.1), rng.dirichlet(np.ones(10))):
            other = minimize(value, start, method="SLSQP", bounds=[(0, 1)] * 10, options={"maxiter": 40},
                             constraints={"type": "eq", "fun": lambda q: q.sum() - 1})  # fmt: skip
            assert found.bound <= other.fun + 1e-5


def test_a_prior_with_zeros():
    errors, validated = random_own(1)
    prior = np.r_[0.0, 0.0, np.full(10, 0.1)]
    vote = optimal_vote(errors, 150, prior=prior, validated=validated)
    assert vote.weights[:2].tolist() == [0.0, 0.0]
    assert vote.weights.sum() == pytest.approx(1.0)


def test_no_errors_and_nothing_but_errors():
    validated = np.random.default_rng(0).random((5, 60)) < 0.5
    none = optimal_vote(np.zeros((5, 60)), 60, validated=validated)
    assert (none.tandem_risk, none.gibbs_risk) == (0.0, 0.0)
    np.testing.assert_allclose(none.weights, 0.2, rtol=1e-9)
    everything = optimal_vote(validated, 60, validated=validated)
    assert everything.bound == 4.0


@pytest.mark.parametrize(
    ("validated", "message"),
    [
        ([[1, 1, 1], [0, 0, 0]], "none validates classifier 1"),
        ([[1, 1, 0], [0, 0, 1]], "every two classifiers a common row for bound='tandem'"),
        ([[1, 1, 1]], r"validated must have the shape of error_rows, \(2, 3\), got \(1, 3\)"),
        ([[0, 1, 1], [1, 1, 1]], "got an error of classifier 0 in row 0"),
        ([[2, 1, 1], [1, 1, 1]], "validated must be 0 or 1, got 2"),
    ],
)
def test_wrong_rows(validated, message):
    with pytest.raises(ValueError, match=message):
        optimal_vote([[1, 0, 0], [0, 0, 0]], 3, validated=validated)


def test_first_order_needs_no_common_row():
    vote = optimal_vote([[1, 0, 0], [0, 0, 0]], 3, bound="first-order", validated=[[1, 1, 0], [0, 0, 1]])
    assert vote.m == 1
