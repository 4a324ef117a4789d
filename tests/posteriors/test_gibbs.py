"""Gibbs posteriors, their curve, and groups of equal risk."""

import math

import mpmath as mp
import numpy as np
import pytest

from pacbayes import bound, gibbs_posterior, optimal_posterior
from pacbayes.posteriors.gibbs import GibbsCurve, group_risks
from pacbayes.posteriors.posterior import Problem


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
    for beta, error in [(-1, ValueError), (math.nan, ValueError), ("1", TypeError), (True, TypeError)]:
        with pytest.raises(error, match="beta must be"):
            gibbs_posterior([0.1, 0.2], beta)


@mp.workdps(40)
def test_rounding_errors_of_the_curve():
    # Against arbitrary precision with the same masses: never larger than stated, and some exceed a tenth of it.
    rng = np.random.default_rng(13)
    largest = 0.0
    for _ in range(150):
        G = int(rng.integers(2, 40))
        risks = np.sort(rng.random(G) * rng.choice([1e-6, 0.1, 1.0]) + rng.choice([0.0, 0.3]) * (1 - 0.3))
        risks = np.minimum(risks, 1.0)
        mass = 10.0 ** -rng.uniform(0, rng.choice([1, 30, 300]), G)
        curve = GibbsCurve(risks, np.log(mass), 0.0)
        point = curve.at(float(10.0 ** rng.uniform(-2, 6)))
        beta = mp.mpf(point.beta)
        terms = [mp.exp(mp.mpf(float(v)) - beta * (mp.mpf(float(r)) - mp.mpf(float(risks[0])))) for v, r in
                 zip(curve.log_mass, risks, strict=True)]  # fmt: skip
        total = mp.fsum(terms)
        L = mp.fsum(t * mp.mpf(float(r)) for t, r in zip(terms, risks, strict=True)) / total
        K = max(-beta * (L - mp.mpf(float(risks[0]))) - mp.log(total), 0)
        true = (abs(point.risk - L), abs(point.kl - K), abs(point.log_normaliser - mp.log(total)))
        for error, stated in zip(true, curve.errors(point), strict=True):
            assert error <= stated
            largest = max(largest, float(error / stated))
    assert largest > 0.01


@pytest.mark.parametrize("m", [1, 7, 1000])
def test_groups_of_rounded_risks_equal_those_of_equal_risks(m):
    rng = np.random.default_rng(10)
    counts, prior = rng.integers(0, m + 1, 5000), rng.dirichlet(np.ones(5000))
    prior[rng.random(5000) < 0.3] = 0.0
    prior[counts == 0] = 0.0  # a whole group without prior mass
    prior /= prior.sum()
    counted = group_risks(counts / m, m, prior)
    values, inverse = np.unique(counts / m, return_inverse=True)
    mass = np.bincount(inverse, weights=prior)
    np.testing.assert_array_equal(counted.risks, values[mass > 0])
    np.testing.assert_allclose(counted.mass, mass[mass > 0], rtol=1e-12)
    # Every group's mass in proportion to the prior, nothing outside the groups.
    np.testing.assert_allclose(counted.spread(counted.mass), prior, rtol=1e-12)


def test_risks_of_equal_counts():
    # A risk rounded up from k/m, as a careful counter would, is the same count.
    risks = np.nextafter(np.arange(1, 6) / 49, 1.0)
    assert group_risks(np.concatenate([risks, np.arange(1, 6) / 49]), 49, None).risks.size == 5
    assert group_risks(np.array([0.1, 0.1 + 1e-12]), 10, None).risks.size == 2  # but not a nearby loss
    assert group_risks(np.array([0.0, 1e-20, 0.1]), 10, None).risks.size == 3  # nor a tiny one as none
    losses = np.random.default_rng(11).random(1000)
    assert group_risks(losses, 10**9, None).risks.size == 1000
    assert optimal_posterior(losses, 10**9).converged


@pytest.mark.parametrize("H", [1, 3, 1990, 70_000])
@pytest.mark.parametrize("m", [7, 1840, 200_000])
def test_bound_at_a_point_is_that_of_its_weights(H, m):
    rng = np.random.default_rng(H + m)
    risks = rng.binomial(m, np.linspace(0.05, 0.3, H)) / m
    for prior in (None, rng.dirichlet(np.ones(H))):
        problem = Problem.from_arguments(risks, m, "kl", 0.05, prior, "exact")
        for beta in (0.0, 3.0, 900.0, np.inf):
            weights, values = problem.at(problem.curve.at(beta))
            assert values.bound == bound(weights, risks, m, prior=prior)


def test_a_million_classifiers():
    risks = np.random.default_rng(0).integers(0, 1000, 10**6) / 2000
    posterior = optimal_posterior(risks, 2000)
    assert posterior.bound == bound(posterior.weights, risks, 2000)
    # Equal risks have equal weights.
    _, first = np.unique(risks, return_index=True)
    np.testing.assert_array_equal(posterior.weights, posterior.weights[first][(risks * 2000).round().astype(int)])
    # Added one after the other, a million prior weights of 1e-6 are off by 8e-12.
    risks = np.full(10**6, 0.3)
    risks[0] = 0.29
    posterior = optimal_posterior(risks, 1, distance="linear", prior=np.full(10**6, 1e-6), tol=1e-12)
    assert 0 <= posterior.gap <= 1e-12
    assert abs(posterior.weights.sum() - 1) < 1e-12
    assert posterior.lower_bound <= optimal_posterior(risks, 1, distance="linear", tol=1e-12).bound
