"""The certified minimum by the chi-square divergence against SLSQP, a scan of the curve and known answers."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from pacbayes import bound, optimal_posterior
from pacbayes.bounds import get_distance
from pacbayes.bounds.chi_square import CHI2_DISTANCES, ChiSquareBound


def random_problem(seed):
    rng = np.random.default_rng(seed)
    H = int(rng.choice([1, 2, 3, 5, 12]))
    m = int(rng.choice([3, 20, 100, 1000, 5000]))
    risks = rng.integers(0, m + 1, H) / m if rng.random() < 0.5 else rng.random(H) * rng.choice([0.05, 0.3, 1.0])
    prior = None if rng.random() < 0.4 else rng.dirichlet(np.full(H, rng.choice([0.1, 1.0])))
    if prior is not None and H > 2 and rng.random() < 0.3:
        prior[rng.integers(H)] = 0.0
        prior /= prior.sum()
    return risks, m, prior, float(rng.choice([1e-3, 0.01, 0.05, 0.5])), CHI2_DISTANCES[seed % 3]


def least_on_curve(risks, m, prior, delta, distance):
    """Smallest bound on a fine scan of thresholds, from the definition."""
    p = np.full(risks.size, 1 / risks.size) if prior is None else prior
    low = risks[p > 0].min()
    thresholds = low + np.concatenate([np.geomspace(1e-6, 1e3, 1500), np.linspace(0, 1, 1500)[1:]])
    weights = p * np.maximum(thresholds[:, None] - risks, 0.0)
    weights = np.vstack([p, weights])
    weights /= weights.sum(axis=1, keepdims=True)
    used = p > 0
    chi2 = np.maximum((weights[:, used] ** 2 / p[used]).sum(axis=1) - 1.0, 0.0)
    function = ChiSquareBound(get_distance(distance), m, delta)
    return min(function(float(L), float(c)) for L, c in zip(weights @ risks, chi2, strict=True))


def least_by_slsqp(risks, m, prior, delta, distance, seed):
    """Smallest bound that SLSQP reaches from three starts, at weights made feasible."""
    p = np.full(risks.size, 1 / risks.size) if prior is None else prior
    used = p > 0
    function = ChiSquareBound(get_distance(distance), m, delta)

    def value(q):
        q = np.maximum(q, 0.0)
        q = q / q.sum()
        return function(min(float(q @ risks[used]), 1.0), max(float((q**2 / p[used]).sum()) - 1.0, 0.0))

    rng, least = np.random.default_rng(seed), math.inf
    for start in (p[used], rng.dirichlet(np.ones(used.sum())), np.eye(used.sum())[risks[used].argmin()]):
        found = minimize(
            value,
            start,
            method="SLSQP",
            bounds=[(0, 1)] * start.size,
            constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
            options={"maxiter": 300, "ftol": 1e-14},
        )
        least = min(least, value(found.x))
    return least


@pytest.mark.parametrize("block", [*range(4), *(pytest.param(block, marks=pytest.mark.slow) for block in range(4, 10))])
def test_against_slsqp_and_a_scan_on_200_problems(block):
    for seed in range(20 * block, 20 * block + 20):
        risks, m, prior, delta, distance = random_problem(seed)
        ours = optimal_posterior(risks, m, distance=distance, delta=delta, prior=prior, divergence="chi2")
        others = min(
            least_on_curve(risks, m, prior, delta, distance), least_by_slsqp(risks, m, prior, delta, distance, seed)
        )
        assert ours.converged, seed
        assert ours.bound <= others + 1e-9, seed
        assert ours.lower_bound <= min(others, ours.bound), seed
        again = bound(ours.weights, risks, m, distance=distance, delta=delta, prior=prior, divergence="chi2")
        assert ours.bound == again, seed


def test_several_minima():
    """The squared distance has two on this problem; at delta .05 the smaller one is the better classifier alone."""
    risks, prior = np.array([0.002, 0.120]), np.array([0.0058429, 0.9941571])
    ours = optimal_posterior(risks, 1000, prior=prior, distance="squared", divergence="chi2")
    assert ours.bound <= least_on_curve(risks, 1000, prior, 0.05, "squared") + 1e-9
    assert ours.gap <= 1e-9


@pytest.mark.parametrize("distance", CHI2_DISTANCES)
def test_special_cases(distance):
    options = {"distance": distance, "divergence": "chi2"}
    assert optimal_posterior([0.3], 50, **options).weights.tolist() == [1.0]
    equal = optimal_posterior([0.2, 0.2, 0.2], 50, prior=[0.5, 0.3, 0.2], **options)
    assert equal.weights == pytest.approx([0.5, 0.3, 0.2], abs=1e-15)
    assert equal.chi2 == pytest.approx(0.0, abs=1e-13)
    assert optimal_posterior([0.0, 0.2], 50, prior=[0.0, 1.0], **options).weights.tolist() == [0.0, 1.0]
    far = optimal_posterior([0.0, 1.0], 5000, **options)
    assert far.support_size == 1
    many = optimal_posterior(np.arange(100_000) % 400 / 1000, 1000, **options)
    assert many.converged
    assert many.support_size < 100_000


def test_tolerance_and_limits():
    rng = np.random.default_rng(0)
    risks = rng.integers(10, 60, 500) / 200
    fine = optimal_posterior(risks, 200, divergence="chi2", tol=1e-10)
    assert fine.gap <= 1e-10
    stopped = optimal_posterior(risks, 200, divergence="chi2", max_evaluations=3)
    assert not stopped.converged
    assert stopped.lower_bound <= fine.bound <= stopped.bound
    with pytest.raises(ValueError, match="'certified' only"):
        optimal_posterior(risks, 200, divergence="chi2", method="fixed-point")
    with pytest.raises(ValueError, match="divergence"):
        optimal_posterior(risks, 200, divergence="renyi")
    with pytest.raises(ValueError, match="linear, squared, kl"):
        optimal_posterior(risks, 200, divergence="chi2", distance="pinsker")
    with pytest.raises(TypeError, match="no option 'start'"):
        optimal_posterior(risks, 200, divergence="chi2", start="prior")


def test_result_shows_the_divergence():
    posterior = optimal_posterior([0.1, 0.2], 100, divergence="chi2")
    assert "chi2, kl, m=100" in repr(posterior)
    assert "chi-square divergence" in posterior._repr_html_()
    assert posterior.to_dict()["chi2"] == posterior.chi2
