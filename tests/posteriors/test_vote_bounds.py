"""The bounds on a vote against the papers' formulas and arbitrary precision: never below, and hardly above."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from tests.posteriors.vote_problems import random_vote, tandem_parts

from pacbayes import bound, kl_roots, log_constant
from pacbayes.posteriors.vote_bounds import VOTE_BOUNDS, cantelli_bound, half_level, vote_bound


def plain_kl(p, q):
    first = p * math.log(p / q) if p > 0 else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def root_above(p, x):
    if p == 1 or plain_kl(p, 1 - 1e-16) <= x:
        return 1.0
    return brentq(lambda q: plain_kl(p, q) - x, max(p, 1e-300), 1 - 1e-16, xtol=1e-15, rtol=1e-14)


def root_below(p, x):
    if p == 0 or plain_kl(p, 1e-300) <= x:
        return 0.0
    return brentq(lambda q: plain_kl(p, q) - x, 1e-300, p if p < 1 else 1 - 1e-16, xtol=1e-15, rtol=1e-14)


def paper_first_order(T, K, G, m, delta):
    """The first-order bound of Masegosa et al. (2020), with the inverse of kl as in their own experiments."""
    return 2 * root_above(G, (K + math.log(2 * math.sqrt(m) / delta)) / m)


def paper_tandem(T, K, G, m, delta):
    """The tandem bound of Masegosa et al. (2020), with the inverse of kl as in their own experiments."""
    return 4 * root_above(T, (2 * K + math.log(2 * math.sqrt(m) / delta)) / m)


def paper_cantelli(T, K, G, m, delta):
    """CCTND of Wu et al. (2021): both means at delta / 2, minimised over mu by a search on each side of zero."""
    upper = root_above(T, (2 * K + math.log(4 * math.sqrt(m) / delta)) / m)
    x = (K + math.log(4 * math.sqrt(m) / delta)) / m
    below, above = root_below(G, x), root_above(G, x)

    def value(mu):
        return (upper - 2 * mu * (below if mu >= 0 else above) + mu * mu) / (0.5 - mu) ** 2

    # In 1 / (1/2 - mu) the right side is a parabola on each side.
    candidates = [value(0.0), 1.0]
    for low, high in ((1e-9, 2.0), (2.0, 1e4)):
        found = minimize_scalar(lambda v: value(0.5 - 1 / v), bounds=(low, high), method="bounded",
                                options={"xatol": 1e-12, "maxiter": 500})  # fmt: skip
        candidates.append(found.fun)
    return min(candidates)


PAPER = {"first-order": paper_first_order, "tandem": paper_tandem, "cantelli": paper_cantelli}


@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_the_papers_formulas(name):
    compared = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        errors, m, prior, delta = random_vote(rng)
        weights = rng.dirichlet(np.full(len(errors), rng.choice([0.1, 1.0, 10.0])))
        if prior is not None:
            weights = np.where(prior > 0, weights + 1e-12, 0.0)
            weights /= weights.sum()
        ours = vote_bound(weights, errors, m, bound=name, delta=delta, prior=prior, constant="paper")
        theirs = PAPER[name](*tandem_parts(weights, errors, prior), m, delta)
        assert ours == pytest.approx(theirs, abs=1e-9), seed
        compared += theirs < 1
    assert compared > 20


def exact_parts(weights, errors, prior):
    weights = [mp.mpf(float(w)) for w in weights]
    total = mp.fsum(weights)
    q = [w / total for w in weights]
    p = [mp.mpf(1) / len(q)] * len(q) if prior is None else [mp.mpf(float(v)) for v in prior]
    whole = mp.fsum(p)
    K = mp.fsum(a * mp.log(a * whole / b) for a, b in zip(q, p, strict=True) if a > 0)
    erring = [mp.fsum(q[i] for i in np.flatnonzero(column)) for column in errors.T]
    m = len(erring)
    return mp.fsum(w * w for w in erring) / m, K, mp.fsum(erring) / m


def exact_root(p, x, above):
    def kl(q):
        first = p * mp.log(p / q) if p > 0 else mp.mpf(0)
        return first + ((1 - p) * mp.log((1 - p) / (1 - q)) if p < 1 else 0)

    low, high = (p, mp.mpf(1)) if above else (mp.mpf(0), p)
    for _ in range(200):
        middle = (low + high) / 2
        inside = 0 < middle < 1 and kl(middle) <= x
        low, high = (middle, high) if inside == above else (low, middle)
    return (low + high) / 2


@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_never_below_arbitrary_precision(name):
    with mp.workdps(40):
        for seed in range(25):
            rng = np.random.default_rng(seed)
            errors, m, prior, delta = random_vote(rng, 12)
            errors, m = errors[:, :60], min(m, 60)
            weights = rng.dirichlet(np.ones(len(errors)))
            if prior is not None:
                weights = np.where(prior > 0, weights + 1e-12, 0.0)
                weights /= weights.sum()
            T, K, G = exact_parts(weights, errors, prior)
            exact_log = mp.log(mp.fsum(mp.binomial(m, k) * (mp.mpf(k) / m) ** k * (1 - mp.mpf(k) / m) ** (m - k)
                                       for k in range(m + 1)))  # fmt: skip
            level = mp.mpf(delta) / (2 if name == "cantelli" else 1)
            c = exact_log - mp.log(level)
            upper = exact_root(T, (2 * K + c) / m, True)
            if name == "first-order":
                exact = 2 * exact_root(G, (K + c) / m, True)
            elif name == "tandem":
                exact = 4 * upper
            else:
                exact = mp.mpf(1)
                for g, sign in ((exact_root(G, (K + c) / m, False), 1), (exact_root(G, (K + c) / m, True), -1)):
                    mu = max((g - 2 * upper) / (1 - 2 * g) * sign, 0) * sign if g < 0.5 else mp.mpf(0)
                    if mu < 0.5:
                        exact = min(exact, (upper - 2 * mu * g + mu**2) / (mp.mpf(1) / 2 - mu) ** 2)
            ours = vote_bound(weights, errors, m, bound=name, delta=delta, prior=prior)
            assert exact <= mp.mpf(ours) <= exact + mp.mpf("1e-10"), seed


def test_cantelli_is_the_least_over_mu():
    rng = np.random.default_rng(3)
    v = np.concatenate([np.geomspace(1e-4, 2, 4000), np.geomspace(2, 1e3, 4000)])
    mu = 0.5 - 1 / v
    for _ in range(300):
        G = rng.random() * 0.7
        T = G * G + (G - G * G) * rng.random()
        low, high = G * rng.random(), G + (1 - G) * rng.random() * 0.3
        upper = T + (1 - T) * rng.random() ** 3
        found, at = cantelli_bound(upper, low, high)
        grid = (upper - 2 * mu * np.where(mu >= 0, low, high) + mu**2) / (0.5 - mu) ** 2
        assert found <= grid.min() + 1e-9
        assert at < 0.5
        if at > -math.inf:
            g = low if at >= 0 else high
            assert found == pytest.approx((upper - 2 * at * g + at**2) / (0.5 - at) ** 2, rel=1e-9)
        assert found >= min(grid.min(), 1.0) * (1 - 1e-4)


def test_mu_zero_is_the_tandem_bound_at_half_the_level():
    upper = 0.04
    assert cantelli_bound(upper, 2 * upper, 2 * upper)[0] == pytest.approx(4 * upper, rel=1e-12)
    assert cantelli_bound(upper, 2 * upper, 2 * upper)[1] == 0.0


def test_one_classifier():
    errors = np.zeros((1, 100), dtype=bool)
    errors[0, :7] = True
    assert vote_bound([1.0], errors, 100, bound="first-order") == 2 * bound([1.0], [0.07], 100)
    assert vote_bound([1.0], errors, 100) == pytest.approx(4 * bound([1.0], [0.07], 100), rel=1e-13)


def test_no_errors_at_all():
    errors = np.zeros((4, 50), dtype=bool)
    x = (log_constant("kl", 50) - math.log(0.05)) / 50
    assert vote_bound(np.full(4, 0.25), errors, 50) == pytest.approx(4 * (1 - math.exp(-x)), rel=1e-12)


@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_weight_where_the_prior_has_none(name):
    errors = np.eye(2, 50, dtype=bool)
    worst = {"first-order": 2.0, "tandem": 4.0, "cantelli": 1.0}[name]
    assert vote_bound([0.5, 0.5], errors, 50, bound=name, prior=[1.0, 0.0]) == worst


def test_the_kl_roots_are_jointly_concave_and_convex():
    # What the proof of the optimum rests on; random chords of the two surfaces, short and long.
    rng = np.random.default_rng(8)
    p, x = rng.random((2, 40_000)) ** rng.choice([1, 4, 12], (2, 1)), rng.exponential(1, (2, 40_000)) ** 3
    p[1, ::2] = np.clip(p[0, ::2] + 0.02 * rng.normal(size=20_000), 0, 1)
    x[1, ::2] = np.abs(x[0, ::2] * (1 + 0.2 * rng.normal(size=20_000)))
    t = rng.random(40_000)
    lower, upper = kl_roots(p, x)
    middle_low, middle_high = kl_roots((1 - t) * p[0] + t * p[1], (1 - t) * x[0] + t * x[1])
    assert (middle_high >= (1 - t) * upper[0] + t * upper[1] - 1e-14).all()
    assert (middle_low <= (1 - t) * lower[0] + t * lower[1] + 1e-14).all()
    # Neither is linear: most chords lie strictly inside.
    assert (middle_high > (1 - t) * upper[0] + t * upper[1] + 1e-6).mean() > 0.3


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"error_rows": np.zeros(3)}, ValueError, r"error_rows must be a matrix, .*\(3,\)"),
        ({"error_rows": np.zeros((0, 3))}, ValueError, "at least one classifier"),
        ({"error_rows": np.zeros((2, 4))}, ValueError, "m = 3, got 4 columns"),
        ({"error_rows": [[0, 1, 2], [0, 0, 0]]}, ValueError, "error_rows must be 0 or 1, got 2"),
        ({"error_rows": [[0, 1, math.nan], [0, 0, 0]]}, ValueError, "error_rows must be 0 or 1, got nan"),
        ({"error_rows": [["a", "b", "c"]] * 2}, TypeError, "error_rows must be true or false, or 0 and 1"),
        ({"m": 3.0}, TypeError, "m must be an integer"),
        ({"bound": "third"}, ValueError, "unknown bound 'third'; known are tandem, cantelli, first-order"),
        ({"delta": 1.0}, ValueError, "delta must be strictly between 0 and 1"),
        ({"prior": [0.5, 0.6]}, ValueError, "prior must sum to 1"),
        ({"constant": "old"}, ValueError, "unknown constant 'old'"),
        ({"weights": [0.5, 0.6]}, ValueError, "weights must sum to 1"),
        ({"weights": [1.0]}, ValueError, "weights must have one entry per risk"),
    ],
)
def test_wrong_arguments(change, error, message):
    arguments = {"weights": [0.5, 0.5], "error_rows": np.zeros((2, 3), dtype=bool), "m": 3} | change
    with pytest.raises(error, match=message):
        vote_bound(**arguments)


@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_whatever_numpy_is_told_about_floating_point_errors(name):
    # Weights whose squares, and products with risks, underflow.
    weights = np.array([1.0, 1e-160, 1e-320])
    errors = np.array([[0, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0]], dtype=bool)
    quiet = vote_bound(weights, errors, 4, bound=name)
    with np.errstate(all="raise"):
        assert vote_bound(weights, errors, 4, bound=name) == quiet


def test_half_of_a_level_is_never_more():
    smallest = math.ulp(0.0)
    for delta in (0.05, 1e-300, 2 * smallest, 3 * smallest, 5 * smallest, 7 * smallest):
        assert half_level(delta) > 0.0
        assert 2 * half_level(delta) <= delta
    with pytest.raises(ValueError, match="delta must be strictly between 0 and 1"):
        vote_bound([1.0], [[1, 0]], 2, bound="cantelli", delta=smallest)


def test_masked_rows_are_refused():
    rows = np.ma.masked_array(np.zeros((2, 3)), mask=[[0, 0, 1], [0, 0, 0]])
    with pytest.raises(ValueError, match="masked"):
        vote_bound([0.5, 0.5], rows, 3)
