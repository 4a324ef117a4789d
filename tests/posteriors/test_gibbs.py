"""Gibbs posteriors and the curve they make."""

import math

import mpmath as mp
import numpy as np
import pytest

from pacbayes import gibbs_posterior
from pacbayes.posteriors.gibbs import GibbsCurve


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


def test_the_rounding_errors_of_the_curve_are_bounded():
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
