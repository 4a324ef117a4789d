"""Bounds on majority votes and their optimal weights, for shared and for independent validation rows.

Against the papers' formulas, arbitrary precision, plain loops and SLSQP: never below, and hardly above.
"""

import json
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import brentq, minimize, minimize_scalar
from tests import oracles
from tests.posteriors.problems import random_rows, random_vote, random_weights, tandem_parts

from pacbayes import kl_roots, optimal_posterior, optimal_vote, vote_bound
from pacbayes.posteriors.error_rows import PairwiseRisks
from pacbayes.posteriors.vote_bounds import VOTE_BOUNDS, cantelli_bound


def random_own(seed, H=12, n=150, share=0.5):
    """Errors of classifiers with independent validation rows, and the mask of these rows."""
    rng = np.random.default_rng(seed)
    validated = rng.random((H, n)) < share
    return random_rows(rng, H, n) & validated, validated


def plain_root(p, x, above):
    """Root of kl(p, r) = x by SciPy."""

    def excess(q):
        first = p * math.log(p / q) if p > 0 else 0.0
        return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0) - x

    end = 1 - 1e-16 if above else 1e-300
    if p == float(above) or excess(end) <= 0:
        return float(above)
    return brentq(excess, *sorted((end, min(max(p, 1e-300), 1 - 1e-16))), xtol=1e-15, rtol=1e-14)


def papers_bound(name, T, K, G, m, delta):
    """Masegosa et al. (2020); CCTND of Wu et al. (2021), minimised over mu by a search on each side of zero."""
    log_term = math.log((4 if name == "cantelli" else 2) * math.sqrt(m) / delta)
    x = (K + log_term) / m
    upper = plain_root(T, (2 * K + log_term) / m, True)
    below, above = plain_root(G, x, False), plain_root(G, x, True)
    if name != "cantelli":
        return 2 * above if name == "first-order" else 4 * upper

    def value(mu):
        return (upper - 2 * mu * (below if mu >= 0 else above) + mu * mu) / (0.5 - mu) ** 2

    # In 1 / (1/2 - mu) the right side is a parabola on each side.
    candidates = [value(0.0), 1.0]
    for ends in ((1e-9, 2.0), (2.0, 1e4)):
        options = {"xatol": 1e-12, "maxiter": 500}
        found = minimize_scalar(lambda v: value(0.5 - 1 / v), bounds=ends, method="bounded", options=options)
        candidates.append(found.fun)
    return min(candidates)


@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_formulas_of_the_papers(name):
    compared = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        errors, m, prior, delta = random_vote(rng)
        weights = random_weights(rng, len(errors), prior, rng.choice([0.1, 1.0, 10.0]))
        ours = vote_bound(weights, errors, m, bound=name, delta=delta, prior=prior, constant="paper")
        theirs = papers_bound(name, *tandem_parts(weights, errors, prior), m, delta)
        assert ours == pytest.approx(theirs, abs=1e-9), seed
        compared += theirs < 1
    assert compared > 20


def exact_bound(name, weights, errors, validated, prior, delta):
    """Bound in arbitrary precision; losses of a pair are counted on the validation rows of both."""
    H = len(errors)
    rows = [[int((validated[i] & validated[j]).sum()) for j in range(H)] for i in range(H)]
    losses = [[mp.mpf(int((errors[i] & errors[j]).sum())) / rows[i][j] for j in range(H)] for i in range(H)]
    q = [mp.mpf(float(w)) for w in weights]
    q = [w / mp.fsum(q) for w in q]
    p = [mp.mpf(1) / H] * H if prior is None else [mp.mpf(float(v)) for v in prior]
    K = mp.fsum(a * mp.log(a * mp.fsum(p) / b) for a, b in zip(q, p, strict=True) if a > 0)
    T = mp.fsum(q[i] * q[j] * losses[i][j] for i in range(H) for j in range(H))
    G = mp.fsum(q[i] * losses[i][i] for i in range(H))

    def x(K, m):
        level = mp.mpf(delta) / (2 if name == "cantelli" else 1)
        return (K + oracles.log_constant("kl", m, "exact") - mp.log(level)) / m

    pairs, singles = min(map(min, rows)), min(rows[i][i] for i in range(H))
    upper, above = oracles.kl_upper(T, x(2 * K, pairs)), oracles.kl_upper(G, x(K, singles))
    if name != "cantelli":
        return 4 * upper if name == "tandem" else 2 * above
    exact = mp.mpf(1)
    for g, sign in ((oracles.kl_lower(G, x(K, singles)), 1), (above, -1)):
        mu = max((g - 2 * upper) / (1 - 2 * g) * sign, 0) * sign if g < 0.5 else mp.mpf(0)
        if mu < 0.5:
            exact = min(exact, (upper - 2 * mu * g + mu**2) / (mp.mpf(1) / 2 - mu) ** 2)
    return exact


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_never_below_arbitrary_precision(name, own):
    for seed in range(12 if own else 25):
        rng = np.random.default_rng(seed)
        errors, _, prior, delta = random_vote(rng, 12)
        errors = errors[:, :60]
        validated = np.ones_like(errors)
        if own:
            (errors, validated), prior, delta = random_own(seed, H=6, n=60), None, 0.05
        weights = random_weights(rng, len(errors), prior)
        choices = {"bound": name, "delta": delta, "prior": prior} | ({"validated": validated} if own else {})
        ours = vote_bound(weights, errors, errors.shape[1], **choices)
        exact = exact_bound(name, weights, errors, validated, prior, delta)
        assert exact <= mp.mpf(ours) <= exact + mp.mpf("1e-10"), seed


def test_cantelli_is_the_minimum_over_mu():
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
        assert min(grid.min(), 1.0) * (1 - 1e-4) <= found <= grid.min() + 1e-9
        assert at < 0.5
        if at > -math.inf:
            g = low if at >= 0 else high
            assert found == pytest.approx((upper - 2 * at * g + at**2) / (0.5 - at) ** 2, rel=1e-9)
    # mu = 0 is the tandem bound at half the level.
    assert cantelli_bound(0.04, 0.08, 0.08) == (pytest.approx(0.16, rel=1e-12), 0.0)


def test_kl_roots_are_jointly_concave_and_convex():
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


# The best weights.


@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("name", VOTE_BOUNDS)
def test_bound_is_that_of_the_weights(name, constant):
    for seed in range(15):
        errors, m, prior, delta = random_vote(np.random.default_rng(seed))
        arguments = {"bound": name, "delta": delta, "prior": prior, "constant": constant}
        vote = optimal_vote(errors, m, **arguments)
        assert vote.converged
        assert vote.bound == vote_bound(vote.weights, errors, m, **arguments)
        assert vote.weights.min() >= 0
        assert vote.weights.sum() == pytest.approx(1, abs=1e-12)
        assert (vote.method, vote.m, vote.delta, vote.constant) == (name, m, delta, constant)
        assert (vote.mu is None) == (name != "cantelli")
        start = np.full(len(errors), 1 / len(errors)) if prior is None else prior
        assert vote.bound <= vote_bound(start, errors, m, **arguments) + 1e-6
    values = json.loads(json.dumps(vote.to_dict()))
    assert (values["bound"], values["method"], values["weights"]) == (vote.bound, name, vote.weights.tolist())
    assert f"Vote of {len(errors)} classifiers" in vote._repr_html_()
    assert repr(vote).count("\n") == 0


@pytest.mark.parametrize("own", [False, True])
def test_first_order_bound_is_twice_that_of_the_optimal_posterior(own):
    errors, validated = random_own(3)
    validated = validated if own else np.ones_like(validated)
    sizes = validated.sum(axis=1)
    choices = {"bound": "first-order"} | ({"validated": validated} if own else {})
    vote = optimal_vote(errors, 150, **choices)
    single = optimal_posterior(errors.sum(axis=1) / sizes, sizes, tol=1e-7)
    assert vote.m == sizes.min()
    assert vote.bound == pytest.approx(2 * single.bound, abs=1e-6)
    assert 0 <= vote.gap <= 1e-6


@pytest.mark.parametrize(("name", "own"), [("cantelli", False), ("cantelli", True), ("tandem", True)])
def test_descent_against_slsqp(name, own):
    compared = 0
    for seed in range(6 if own else 25):
        rng = np.random.default_rng(seed)
        errors, m, prior, delta = random_vote(rng, 20)
        choices = {"bound": name, "prior": prior, "delta": delta}
        if own:
            errors, validated = random_own(seed, H=10, n=400)
            m, choices = 400, {"bound": name, "validated": validated}
        vote = optimal_vote(errors, m, **choices)
        if vote.bound >= 1 and not own:
            continue
        assert vote.converged
        assert not own or vote.details["m_pairs"] == PairwiseRisks.from_masks(errors, validated).min_pair_rows
        compared, H = compared + 1, len(errors)
        inside = np.ones(H) if choices.get("prior") is None else (prior > 0).astype(float)

        def value(q, inside=inside, errors=errors, m=m, choices=choices):
            q = (np.maximum(q, 0) + 1e-14) * inside
            return vote_bound(q / q.sum(), errors, m, **choices)

        for start in (inside / inside.sum(), rng.dirichlet(np.ones(H))):
            found = minimize(value, start, method="SLSQP", bounds=[(0, 1)] * H, options={"maxiter": 50, "ftol": 1e-12},
                             constraints={"type": "eq", "fun": lambda q: q.sum() - 1})  # fmt: skip
            assert vote.bound <= found.fun + (1e-5 if own else 1e-6), seed
    assert compared >= (6 if own else 8)


# Rows of each classifier's own.


def test_full_mask_equals_shared_rows():
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


ROWS = {"error_rows": np.zeros((2, 3), dtype=bool), "m": 3}
WEIGHED = {"weights": [0.5, 0.5], **ROWS}
OWN = {"error_rows": [[1, 0, 0], [0, 0, 0]], "m": 3}


@pytest.mark.parametrize(("call", "given", "change", "error", "message"), [
    (vote_bound, WEIGHED, {"error_rows": np.zeros(3)}, ValueError, r"error_rows must be a matrix, .*\(3,\)"),
    (vote_bound, WEIGHED, {"error_rows": np.zeros((2, 4))}, ValueError, "m = 3, got 4 columns"),
    (vote_bound, WEIGHED, {"error_rows": [[0, 1, 2], [0, 0, 0]]}, ValueError, "error_rows must be 0 or 1, got 2"),
    (vote_bound, WEIGHED, {"error_rows": np.ma.masked_equal(np.eye(2, 3), 1)}, ValueError, "masked"),
    (vote_bound, WEIGHED, {"bound": "third"}, ValueError, "unknown bound 'third'; known are tandem, cantelli, first-"),
    (vote_bound, WEIGHED, {"weights": [1.0]}, ValueError, "weights must have one entry per risk"),
    (optimal_vote, ROWS, {"tol": 0.0}, ValueError, "tol must be positive"),
    (optimal_vote, ROWS, {"max_iter": 3}, TypeError, "bound 'tandem' has no option 'max_iter'; its options are max_pr"),
    (optimal_vote, OWN, {"validated": [[1, 1, 1], [0, 0, 0]]}, ValueError, "got none for classifier 1"),
    (optimal_vote, OWN, {"validated": [[1, 1, 0], [0, 0, 1]]}, ValueError, "a common row for every pair"),
    (optimal_vote, OWN, {"validated": [[1, 1, 1]]}, ValueError, r"the shape of error_rows, \(2, 3\), got \(1, 3\)"),
    (optimal_vote, OWN, {"validated": [[0, 1, 1], [1, 1, 1]]}, ValueError, "an error of classifier 0 in row 0"),
])  # fmt: skip
def test_wrong_arguments(call, given, change, error, message):
    with pytest.raises(error, match=message):
        call(**(given | change))
