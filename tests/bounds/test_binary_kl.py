"""kl and its roots against arbitrary precision."""

import math

import mpmath as mp
import numpy as np
import pytest
from tests import oracles

from pacbayes import kl_divergence, kl_roots

SUBNORMAL = 5e-324
EDGES_P = [0.0, 1.0, 0.5, SUBNORMAL, 1 - 2**-53, 0.5 - 2**-54, 0.5 + 2**-53, 2.3e-308, 1e-16, 1e-200, 1e-201, 1e-290]
EDGES_X = [0.0, 1.0, SUBNORMAL, 1e3, 700.0, 745.0, 1e-16, 1e-32, 1e-200, 1e-290]


def adversarial(n, seed):
    """p and x over 300 orders of magnitude, next to 0 and 1, subnormal, and of similar size."""
    rng = np.random.default_rng(seed)
    p = np.choose(
        rng.integers(0, 7, n),
        [
            10.0 ** rng.uniform(-300, 0, n),
            rng.random(n),
            1 - 10.0 ** rng.uniform(-16, 0, n),
            10.0 ** rng.uniform(-8, 0, n),
            rng.integers(1, 1000, n) * SUBNORMAL,
            rng.choice(EDGES_P, n),
            10.0 ** rng.uniform(-324, -290, n),
        ],
    )
    x = np.choose(
        rng.integers(0, 7, n),
        [
            10.0 ** rng.uniform(-300, 0, n),
            10.0 ** rng.uniform(-300, 3, n),
            rng.exponential(size=n),
            10.0 ** rng.uniform(-10, 3, n),
            rng.integers(0, 1000, n) * SUBNORMAL,
            rng.choice(EDGES_X, n),
            10.0 ** rng.uniform(-324, -290, n),
        ],
    )
    # Where the root is within a few units in the last place of p, and the Newton step is rounding noise.
    noise = (rng.random(n) < 0.1) & (p > 1e-100) & (p < 1)
    s = np.minimum(p[noise], 1 - p[noise])
    x[noise] = (10.0 ** rng.uniform(-4, 1.5, noise.sum()) * 2**-52 * s) ** 2 / (2 * s)
    similar = rng.random(n) < 0.3
    x[similar] = p[similar] * 10.0 ** rng.uniform(-20, 3, similar.sum())
    return p, np.minimum(x, 1e3)


def tolerance(r):
    """1e-12 of r, and of 1 - r where r > 1/2, and one unit in the last place for the outward rounding."""
    exact = mp.mpf(r)
    return mp.mpf("1e-12") * (min(exact, 1 - exact) if r > 0.5 else exact) + mp.mpf(math.ulp(r))


def faults(p, x, lower, upper):
    """Check a pair of roots by the signs of kl - x, since kl increases away from p."""
    P, X = mp.mpf(p), mp.mpf(x)
    found = []
    if upper < 1 and oracles.kl(P, mp.mpf(upper)) < X:
        found.append("upper root below the truth")
    if lower > 0 and oracles.kl(P, mp.mpf(lower)) < X:
        found.append("lower root above the truth")
    inside = mp.mpf(upper) - tolerance(upper)
    if inside > P and oracles.kl(P, inside) > X:
        found.append("upper root too large")
    inside = mp.mpf(lower) + tolerance(lower)
    if inside < P and oracles.kl(P, inside) > X:
        found.append("lower root too small")
    return found


SEEDS = [(seed, 3_000) for seed in range(4)]
MORE = [pytest.param(seed, 20_000, marks=pytest.mark.slow) for seed in range(100, 110)]


@pytest.mark.parametrize(("seed", "number"), [*SEEDS, *MORE])
def test_roots_are_rounded_outward_and_tight(seed, number):
    p, x = adversarial(number, seed)
    lower, upper = kl_roots(p, x)
    assert [(*case, f) for case in zip(p, x, lower, upper, strict=True) for f in faults(*case)] == []
    # One by one, in plain floats.
    some = range(0, number, 10)
    for roots, alone in zip((lower, upper), zip(*(kl_roots(p[i], x[i]) for i in some), strict=True), strict=True):
        np.testing.assert_allclose(alone, roots[some], rtol=4e-15, atol=1e-323)


def test_planted_roots_off_by_one_ulp_and_loose_are_detected():
    lower, upper = kl_roots(0.1, 0.05)
    truth = float(oracles.kl_upper(0.1, 0.05))
    assert faults(0.1, 0.05, lower, math.nextafter(truth, 0)) == ["upper root below the truth"]
    assert faults(0.1, 0.05, lower, upper * (1 + 1e-11)) == ["upper root too large"]
    assert faults(0.1, 0.05, lower * (1 - 1e-11), upper) == ["lower root too small"]


def test_closed_forms():
    x = np.array([0.0, 1e-300, 1e-3, 0.5, 30.0, 800.0, math.inf])
    lower, upper = kl_roots(0.0, x)
    assert (lower == 0).all()
    np.testing.assert_allclose(upper, -np.expm1(-x), rtol=1e-14)
    lower, upper = kl_roots(1.0, x)
    assert (upper == 1).all()
    np.testing.assert_allclose(lower, np.exp(-x), rtol=1e-12)
    # Where there is no root on a side, the end of the interval.
    assert kl_roots(0.3, math.inf) == (0.0, 1.0)
    assert kl_roots(0.3, 0.0) == (0.3, 0.3)
    assert kl_roots(1e-5, 5.0)[0] == 0.0


def test_shapes_and_types():
    lower, upper = kl_roots(np.zeros((3, 1)), np.ones((1, 4)))
    assert lower.shape == upper.shape == (3, 4)
    assert all(isinstance(r, float) for r in kl_roots(0.1, 0.2))
    assert all(isinstance(r, float) for r in kl_roots(np.array(0.1), np.float32(0.2)))
    assert kl_roots([], [])[0].shape == (0,)
    assert kl_roots(np.float32([0.25]), [0.5])[1].dtype == np.float64
    assert kl_roots([0, 1], 1)[1].tolist() == [kl_roots(0.0, 1.0)[1], 1.0]
    big = np.linspace(0, 1, 10_001)  # several blocks, with the closed forms at both ends
    np.testing.assert_allclose(kl_roots(big, 0.1)[1][[0, 5_000, 10_000]], kl_roots(big[[0, 5_000, 10_000]], 0.1)[1])


@pytest.mark.parametrize(("function", "p", "other", "message"), [
    (kl_roots, 1.5, 0.1, r"p must lie in \[0, 1\], got 1.5"),
    (kl_roots, math.nan, 0.1, "p must lie .* got nan"),
    (kl_roots, 0.1, -1.0, "x must lie .* got -1"),
    (kl_roots, [0.1, 0.2], [0.1, 0.2, 0.3], "p and x must broadcast"),
    (kl_divergence, math.nan, 0.5, "^p must lie"),
    (kl_divergence, 0.5, -1, "^q must lie"),
    (kl_divergence, [0.1, 0.2], [1, 1, 1], "^p and q must broadcast"),
])  # fmt: skip
def test_bad_input(function, p, other, message):
    with pytest.raises(ValueError, match=message):
        function(p, other)
    with pytest.raises(TypeError, match="p must be real numbers"):
        function("a", 0.1)


def test_divergence_keeps_relative_precision():
    rng = np.random.default_rng(0)
    p = np.concatenate([10.0 ** rng.uniform(-300, 0, 600), rng.random(600), 1 - 10.0 ** rng.uniform(-16, 0, 400)])
    near = np.clip(p * (1 + 10.0 ** rng.uniform(-15, 0, p.size) * rng.choice([-1, 1], p.size)), 0, 1)
    subnormal = rng.integers(1, 1000, p.size) * SUBNORMAL
    for q in (near, rng.random(p.size), 10.0 ** rng.uniform(-300, 0, p.size), subnormal):
        truth = [float(oracles.kl(mp.mpf(a), mp.mpf(b))) for a, b in zip(p, q, strict=True)]
        np.testing.assert_allclose(kl_divergence(p, q), truth, rtol=3e-15)
