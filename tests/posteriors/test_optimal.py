"""The door to all methods: wrong input, the result object, Gibbs posteriors and grouping."""

import json
import math

import numpy as np
import pytest

from pacbayes import Posterior, gibbs_posterior, optimal_posterior
from pacbayes.posteriors.grouping import group_risks


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"risks": []}, ValueError, "risks must hold at least one"),
        ({"risks": [0.1, 2]}, ValueError, "risks must lie"),
        ({"risks": [0.1, math.nan]}, ValueError, "risks must lie"),
        ({"m": 0}, ValueError, "m must be at least 1"),
        ({"delta": 1}, ValueError, "delta must be strictly"),
        ({"prior": [1.0]}, ValueError, "prior must have one entry per risk"),
        ({"prior": [0.7, 0.7]}, ValueError, "prior must sum to 1, got 1.4"),
        ({"distance": "l1"}, ValueError, "unknown distance 'l1'"),
        ({"constant": "l1"}, ValueError, "unknown constant 'l1'"),
        (
            {"method": "newton"},
            ValueError,
            "unknown method 'newton'; known are certified, fixed-point, ordered-subsets",
        ),
        ({"method": None}, TypeError, "method must be a string"),
        ({"tol": 0}, ValueError, "tol must be positive, got 0"),
        ({"tol": math.nan}, ValueError, "tol must be positive, got nan"),
        ({"tol": "small"}, TypeError, "tol must be a number"),
        ({"start": "prior"}, TypeError, "method 'certified' has no option 'start'; its options are max_evaluations"),
        ({"method": "fixed-point", "size_tol": 1}, TypeError, "no option 'size_tol'; its options are start"),
    ],
)
def test_bad_input(changes, error, message):
    with pytest.raises(error, match=message):
        optimal_posterior(**({"risks": [0.1, 0.2], "m": 100} | changes))


def test_the_result_object():
    posterior = optimal_posterior([0.1, 0.2, 0.2, 0.9], 100)
    assert isinstance(posterior, Posterior)
    assert posterior.hhi == pytest.approx((posterior.weights**2).sum())
    assert posterior.n_effective == pytest.approx(1 / posterior.hhi)
    assert posterior.support_size == 4
    assert posterior.support_size_above(1e-3) == 1
    plain = posterior.to_dict()
    assert json.loads(json.dumps(plain))["weights"] == posterior.weights.tolist()
    assert plain["gap"] == posterior.gap <= 1e-9
    assert {"bound", "lower_bound", "beta", "kl", "m", "delta", "distance", "method", "converged"} <= set(plain)
    with pytest.raises(AttributeError):
        posterior.bound = 0.0
    assert "proved within" in repr(posterior)


def test_gibbs_posterior():
    risks, prior = np.array([0.3, 0.1, 0.2]), np.array([0.5, 0.2, 0.3])
    for beta in (0.0, 1.0, 40.0):
        weights = prior * np.exp(-beta * risks)
        np.testing.assert_allclose(gibbs_posterior(risks, beta, prior), weights / weights.sum(), rtol=1e-14)
    assert gibbs_posterior(risks, math.inf, [0.5, 0.0, 0.5]).tolist() == [0.0, 0.0, 1.0]
    assert gibbs_posterior([0.0, 1.0], 1e300).tolist() == [1.0, 0.0]
    assert gibbs_posterior([np.nextafter(1.0, 0.0), 1.0], math.inf).tolist() == [1.0, 0.0]
    tiny = gibbs_posterior([0.0, 0.5], 3000.0, [5e-324, 1.0])  # the ratio q/p overflows, q does not
    assert tiny.tolist() == [1.0, pytest.approx(0.0)]


@pytest.mark.parametrize(
    ("beta", "error"),
    [(-1, ValueError), (math.nan, ValueError), ("1", TypeError), (True, TypeError), (None, TypeError)],
)
def test_gibbs_posterior_refuses_a_bad_beta(beta, error):
    with pytest.raises(error, match="beta must be"):
        gibbs_posterior([0.1, 0.2], beta)


def test_grouping_by_count_and_by_sort_agree():
    rng = np.random.default_rng(10)
    for m in (1, 7, 1000):
        counts = rng.integers(0, m + 1, 5000)
        prior = rng.dirichlet(np.ones(5000))
        prior[rng.random(5000) < 0.3] = 0.0
        prior[counts == 0] = 0.0  # a whole group without prior mass
        prior /= prior.sum()
        counted = group_risks(counts / m, m, prior)
        values, inverse = np.unique(counts / m, return_inverse=True)
        mass = np.bincount(inverse, weights=prior)
        np.testing.assert_array_equal(counted.risks, values[mass > 0])
        np.testing.assert_allclose(counted.mass, mass[mass > 0], rtol=1e-12)
        np.testing.assert_array_equal(counted.keys, np.unique(counts[prior > 0]))
        # Every group's mass in proportion to the prior, nothing outside the groups.
        np.testing.assert_allclose(counted.spread(counted.mass), prior, rtol=1e-12)
        in_group = np.bincount(counts, weights=prior)[counts]
        shares = np.divide(prior, in_group, out=np.zeros(5000), where=in_group > 0)
        squares = np.bincount(counts, weights=shares**2)
        np.testing.assert_allclose(counted.concentration(), squares[squares > 0], rtol=1e-12)


def test_risks_next_to_a_multiple_count_as_it():
    # A risk rounded up from k/m, as a careful counter would, is the same count.
    risks = np.nextafter(np.arange(1, 6) / 49, 1.0)
    assert group_risks(np.concatenate([risks, np.arange(1, 6) / 49]), 49, None).risks.size == 5
    assert group_risks(np.array([0.1, 0.1 + 1e-12]), 10, None).risks.size == 2  # but not a nearby loss
    assert group_risks(np.array([0.0, 1e-20, 0.1]), 10, None).risks.size == 3  # nor a tiny one as none


def test_bounded_losses_and_large_m_are_sorted():
    risks = np.random.default_rng(11).random(1000)
    assert group_risks(risks, 10**9, None).risks.size == 1000
    assert optimal_posterior(risks, 10**9).converged


def test_float32_and_pandas_like_input():
    exact = optimal_posterior([0.25, 0.5], 64)
    assert optimal_posterior(np.float32([0.25, 0.5]), np.int32(64)).bound == exact.bound
    assert optimal_posterior((0.25, 0.5), 64, prior=np.float32([0.5, 0.5])).bound == pytest.approx(
        exact.bound, rel=1e-12
    )
