"""Bounds with the chi-square divergence: constants against 40 digits, exact validity, and planted faults."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import bound, kl_divergence, log_constant
from pacbayes.bounds import get_distance
from pacbayes.bounds.bound import chi_square_divergence
from pacbayes.bounds.chi_square import CHI2_DISTANCES, ChiSquareBound


def one_sided(distance, empirical, true):
    """The distance where the empirical risk is the smaller one, else 0."""
    larger = np.maximum(true, empirical)
    values = {"linear": larger - empirical, "squared": (larger - empirical) ** 2}
    return values[distance] if distance in values else np.asarray(kl_divergence(empirical, larger))


def moments(distance, m, risks):
    k = np.arange(m + 1)[:, None]
    return (binom.pmf(k, m, risks) * one_sided(distance, k / m, risks) ** 2).sum(axis=0)


def precise_moment(distance, m, risk):
    total = mp.mpf(0)
    for k in range(int(mp.ceil(m * risk))):
        p = mp.mpf(k) / m
        d = risk - p
        if distance == "kl":
            d = (p * mp.log(p / risk) if k else 0) + (1 - p) * mp.log((1 - p) / (1 - risk))
        total += mp.binomial(m, k) * risk**k * (1 - risk) ** (m - k) * d ** (4 if distance == "squared" else 2)
    return total


def precise_supremum(distance, m):
    """Golden-section search with 40 digits around the best point of a fine grid."""
    grid = np.concatenate([np.geomspace(1e-3 / m, 0.5, 3000), np.linspace(0.5, 1 - 1e-3 / m, 3001)[1:]])
    best = int(moments(distance, m, grid).argmax())
    low, high = mp.mpf(grid[best - 1]), mp.mpf(grid[best + 1])
    ratio = (mp.sqrt(5) - 1) / 2
    for _ in range(45):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if precise_moment(distance, m, a) > precise_moment(distance, m, b):
            high = b
        else:
            low = a
    return precise_moment(distance, m, (low + high) / 2)


@pytest.mark.parametrize("m", [1, 2, 3, 5, 10, 40, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("distance", CHI2_DISTANCES)
def test_constants_against_40_digits(distance, m):
    with mp.workdps(40):
        supremum = precise_supremum(distance, m)
        ours = mp.exp(mp.mpf(log_constant(distance, m, divergence="chi2")))
        assert supremum <= ours <= supremum * (1 + mp.mpf(2e-9))


@pytest.mark.parametrize("distance", CHI2_DISTANCES)
@pytest.mark.parametrize("m", [7, 100, 3000, 10_000, 10_001, 25_000])
def test_no_moment_is_larger(distance, m):
    rng = np.random.default_rng(m)
    risks = np.concatenate(
        [rng.random(40), rng.random(40) * 10 / m, 1 - rng.random(20) / m, rng.integers(1, m, 20) / m]
    )
    ours = math.exp(log_constant(distance, m, divergence="chi2"))
    largest = moments(distance, m, np.clip(risks, 1e-9, 1 - 1e-12)).max()
    assert largest <= ours * (1 + 1e-10)
    assert ours <= 4.1 * max(largest, moments(distance, m, np.array([0.5, 2.5 / m])).max())


def test_constants_do_not_increase():
    for distance in CHI2_DISTANCES:
        values = [
            log_constant(distance, m, divergence="chi2") for m in (1, 2, 3, 9, 10_000, 10_001, 15_000, 10**6, 10**9)
        ]
        assert values == sorted(values, reverse=True)


def test_terms_are_log_concave():
    """Equation (chi2-cell): second differences of the log of every term."""
    for m in (1, 2, 3, 10, 50):
        for k in range(m):
            true = np.linspace(k / m, 1, 4001)[1:-1]
            terms = k * np.log(true) + (m - k) * np.log1p(-true) + 2 * np.log(np.asarray(kl_divergence(k / m, true)))
            assert (np.diff(terms, 2)[5:] <= 1e-11 * np.abs(terms).max()).all()


def failure_probability(function, m, true):
    """Exact probability that the bound of a single classifier with a true risk is too small."""
    return sum(binom.pmf(k, m, true) for k in range(m + 1) if function(k / m, 0.0) < true)


@pytest.mark.parametrize("distance", CHI2_DISTANCES)
def test_exactly_valid_for_one_classifier_and_a_smaller_constant_is_not(distance):
    worst, planted = 0.0, 0.0
    for m in (1, 2, 3, 5):
        for true in np.linspace(0.02, 0.98, 97):
            for delta in (0.05, 0.1, *np.linspace(0.2, 0.9, 29)):
                function = ChiSquareBound(get_distance(distance), m, float(delta))
                worst = max(worst, failure_probability(function, m, true) / delta)
                object.__setattr__(function, "scale", function.scale * 0.9)
                planted = max(planted, failure_probability(function, m, true) / delta)
    assert worst <= 1.0
    assert planted > 1.0


@pytest.mark.parametrize("distance", CHI2_DISTANCES)
def test_valid_for_posteriors_chosen_against_it(distance):
    """The posterior proportional to p phi is the worst: it fails if and only if the average of phi^2 is too large."""
    rng = np.random.default_rng(5)
    m, true, delta = 2, {"linear": 0.6, "squared": 0.75, "kl": 0.65}[distance], 0.2
    # Classifiers 0 to 2 err on the same examples; the other three are independent of them.
    prior = np.array([0.2, 0.25, 0.3, 0.1, 0.1, 0.05])
    function = ChiSquareBound(get_distance(distance), m, delta)
    failures = 0
    for _ in range(4000):
        errors = rng.binomial(m, true, 4)[[0, 0, 0, 1, 2, 3]]
        weights = prior * one_sided(distance, errors / m, np.full(6, true))
        if weights.sum() > 0.0:
            weights /= weights.sum()
            bound_of = bound(weights, errors / m, m, distance=distance, delta=delta, prior=prior, divergence="chi2")
            failures += bound_of < true
    assert failures + 1 > 0
    assert failures <= 4000 * delta + 3 * math.sqrt(4000 * delta)
    assert function(0.0, 0.0) > 0.0


def test_divergence_is_never_too_small():
    rng = np.random.default_rng(1)
    for size in (1, 2, 30, 20_000):
        weights = rng.exponential(size=size) ** 8
        weights /= weights.sum()
        for prior in (None, rng.dirichlet(np.ones(size)) + 1e-12):
            p = np.full(size, 1 / size) if prior is None else prior / prior.sum()
            exact = math.fsum(float(q) ** 2 / float(b) for q, b in zip(weights / weights.sum(), p, strict=True)) - 1
            total = 1.0 if prior is None else float(prior.sum())
            ours = chi_square_divergence(weights, float(weights.sum()), prior, total)
            assert ours == pytest.approx(exact, rel=1e-10, abs=1e-12)
            assert ours >= exact - 1e-15 * (1 + exact)


def test_from_two_numbers_and_options():
    weights, risks = [0.2, 0.8], [0.1, 0.2]
    chi2 = chi_square_divergence(np.array(weights), 1.0, None, 1.0)
    ours = bound(weights, risks, 50, divergence="chi2")
    assert bound(risk=0.18, chi2=chi2, m=50) == pytest.approx(ours, abs=1e-14)
    assert bound(risk=0.18, chi2=chi2, m=50, n_draws=100) > ours
    assert bound([1, 0], risks, 50, prior=[0, 1], divergence="chi2") == 1.0
    for arguments in ({"kl": 1.0, "chi2": 1.0}, {"kl": 1.0, "divergence": "chi2"}, {"chi2": 1.0, "prior": [1.0]}):
        with pytest.raises(TypeError, match="one of kl and chi2"):
            bound(risk=0.1, m=50, **arguments)
    with pytest.raises(ValueError, match="chi2 must be a number of at least 0"):
        bound(risk=0.1, chi2=-1.0, m=50)
    with pytest.raises(ValueError, match="linear, squared, kl"):
        bound(weights, risks, 50, distance="ch", divergence="chi2")
    with pytest.raises(ValueError, match="exact constants only"):
        log_constant("kl", 50, constant="paper", divergence="chi2")
    with pytest.raises(ValueError, match="divergence"):
        bound(weights, risks, 50, divergence="renyi")
