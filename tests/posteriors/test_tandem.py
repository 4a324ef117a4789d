"""The tandem optimum: certified to 1e-6, no attack is below the lower bound, every line is below all weights."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import oracles
from tests.posteriors.problems import attacks, forest_rows, random_rows, random_vote, random_weights, tandem_parts

from pacbayes import optimal_vote, vote_bound
from pacbayes.bounds import get_distance
from pacbayes.posteriors.error_rows import TandemFactor
from pacbayes.posteriors.tandem import Line, TandemDual, TandemSearch, intersect

TOL = 1e-6


def check(errors, m, prior, delta, rng, maxiter):
    """Check the gap and attack the lower bound; return how close the best attack comes."""
    vote = optimal_vote(errors, m, prior=prior, delta=delta)
    assert vote.converged, vote.message
    assert 0.0 <= vote.gap <= TOL
    assert vote.bound == vote_bound(vote.weights, errors, m, prior=prior, delta=delta)
    p = np.full(len(errors), 1 / len(errors)) if prior is None else prior
    losses, f = (errors.astype(float) @ errors.T) / m, get_distance("kl").bound_function(m, delta)

    def value_and_gradient(q):
        q = np.maximum(q, 1e-300)
        logs = np.log(q / np.where(p > 0, p, 1.0)) * (p > 0)
        T, K = min(max(float(q @ losses @ q), 1e-300), 1.0), max(float(q @ logs), 0.0)
        in_risk, in_kl = f.partials(T, 2 * K)
        gradient = np.minimum(in_risk, 1e9) * 2 * (losses @ q) + 2 * np.minimum(in_kl, 1e9) * (1.0 + logs)
        return 4 * f(T, 2 * K), 4 * gradient

    others = attacks(value_and_gradient, len(errors), prior, rng, maxiter)
    least = min(vote_bound(q, errors, m, prior=prior, delta=delta) for q in others)
    assert least >= vote.lower_bound
    return least - vote.bound


def test_nothing_on_the_simplex_beats_the_certificate():
    excess = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        excess.append(check(*random_vote(rng, 25), rng, maxiter=15))
    # The attacks are worth something: often they come as close as the tolerance.
    assert np.mean(np.array(excess) < TOL) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_nothing_on_the_simplex_beats_the_certificate_2000(block):
    for seed in range(1000 + 200 * block, 1200 + 200 * block):
        rng = np.random.default_rng(seed)
        check(*random_vote(rng), rng, maxiter=100)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["haberman", "wdbc", "ionosphere", "mammographic", "banknote", "digits"])
def test_forests_attacked(name):
    errors = forest_rows(name)
    check(errors, errors.shape[1], None, 0.05, np.random.default_rng(0), maxiter=200)


def exact_tandem_bound(q, errors, delta, log_xi):
    """The tandem bound of weights in arbitrary precision, with the uniform prior."""
    H, m = errors.shape
    K = mp.fsum(w * mp.log(w * H) for w in q if w > 0)
    patterns, counts = np.unique(errors.T, axis=0, return_counts=True)
    rows = [mp.fsum(q[i] for i in np.flatnonzero(row)) for row in patterns]
    T = mp.fsum(int(n) * erring**2 for erring, n in zip(rows, counts, strict=True)) / m
    return 4 * oracles.kl_upper(T, (2 * K + log_xi - mp.log(mp.mpf(delta))) / m)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_against_a_scan_in_arbitrary_precision(seed):
    errors = random_rows(np.random.default_rng(seed + 40), 3, 30)
    vote = optimal_vote(errors, 30, tol=1e-10)
    log_xi = oracles.log_constant("kl", 30, "exact")
    with mp.workdps(25):
        center, size = (mp.mpf(1) / 3, mp.mpf(1) / 3), mp.mpf(1) / 3
        best = mp.inf
        for _ in range(11):  # grids around the best point, each a third of the one before
            grid = [(center[0] + size * i / 3, center[1] + size * j / 3) for i in range(-3, 7) for j in range(-3, 7)]
            grid = [(a, b) for a, b in grid if a >= 0 and b >= 0 and a + b <= 1]
            values = [(exact_tandem_bound((a, b, 1 - a - b), errors, 0.05, log_xi), a, b) for a, b in grid]
            least = min(values)
            best, center, size = min(best, least[0]), least[1:], size / 3
        assert mp.mpf(vote.lower_bound) <= best <= mp.mpf(vote.bound) + mp.mpf("1e-9")
        assert abs(best - mp.mpf(vote.bound)) < mp.mpf("1e-8")


@pytest.mark.parametrize("delta", [0.05, 0.999])
def test_constant_is_rounded_down_in_a_lower_bound(delta):
    # Without errors and at the prior the bound is 4 (1 - (delta / xi)^(1/m)), and no other weights have a smaller one.
    for m in range(1, 60):
        vote = optimal_vote(np.zeros((2, m), dtype=bool), m, delta=delta, tol=1e-12)
        exact = -4 * mp.expm1((mp.log(mp.mpf(delta)) - oracles.log_constant("kl", m, "exact")) / m)
        assert vote.converged
        assert mp.mpf(vote.lower_bound) <= exact <= mp.mpf(vote.bound)


# Problems on which a search got lost or took long.


@pytest.mark.parametrize("delta", [0.05, 0.999])
def test_extreme_priors(delta):
    # At a bound near four its slope in T vanishes: inner problems must not be solved as loosely as that would allow.
    for seed in (98, 196, 217, 276, 315, 365, 415, 464, 523, *range(20)):
        rng = np.random.default_rng([seed, 4])
        H, m = int(rng.integers(2, 26)), int(rng.choice([2, 5, 20, 100]))
        errors = rng.random((H, m)) < rng.random((H, 1))
        prior = 10.0 ** -rng.uniform(0, 300, H)
        vote = optimal_vote(errors, m, prior=prior / prior.sum(), delta=delta, tol=1e-6)
        assert vote.converged, seed
        assert 0.0 <= vote.gap <= 1e-6
    prior = 10.0 ** -np.arange(0, 310, 10)
    prior /= prior.sum()
    errors = np.random.default_rng(0).random((prior.size, 300)) < np.linspace(0.5, 0.01, prior.size)[:, None]
    vote = optimal_vote(errors, 300, prior=prior)
    assert vote.gap <= TOL
    assert vote.bound <= min(vote_bound(v, errors, 300, prior=prior) for v in np.eye(prior.size))


def test_tolerance_beyond_rounding_is_not_certified():
    errors, m, prior, delta = random_vote(np.random.default_rng(3))
    vote = optimal_vote(errors, m, prior=prior, delta=delta, tol=1e-300, max_problems=60)
    assert not vote.converged
    assert 0 <= vote.gap < 1e-9
    assert "not converged" in repr(vote)
    with np.errstate(all="raise"):
        assert optimal_vote(errors, m, prior=prior, delta=delta, tol=1e-300, max_problems=60).bound == vote.bound


def test_classifiers_without_errors():
    # T = 0 only if the vote is among those without errors, in the proportions of the prior.
    errors = np.zeros((5, 400), dtype=bool)
    errors[2:, :150] = True
    prior = np.array([0.3, 0.1, 0.2, 0.2, 0.2])
    vote = optimal_vote(errors, 400, prior=prior)
    assert vote.gap <= TOL
    assert vote.weights[0] / vote.weights[1] == pytest.approx(3, rel=1e-9)
    assert vote.weights[2:].sum() < 0.01
    assert vote.bound <= vote_bound([0.75, 0.25, 0, 0, 0], errors, 400, prior=prior)
    # With many good ones and a prior against the perfect one, it is not worth its divergence.
    errors = np.random.default_rng(0).random((200, 60)) < 0.05
    errors[0] = False
    vote = optimal_vote(errors, 60, prior=np.r_[1e-30, np.full(199, (1 - 1e-30) / 199)])
    assert vote.gap <= TOL
    assert vote.weights[0] < 1e-6


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_duplicates_and_order_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    errors = random_rows(rng, 7, 80)
    once = optimal_vote(errors, 80, tol=1e-10)
    twice = optimal_vote(np.vstack([errors, errors]), 80, tol=1e-10)
    assert twice.bound == pytest.approx(once.bound, abs=1e-9)
    np.testing.assert_allclose(twice.weights[:7] + twice.weights[7:], once.weights, atol=1e-4)
    order, rows = rng.permutation(7), rng.permutation(80)
    moved = optimal_vote(errors[order][:, rows], 80, tol=1e-10)
    assert moved.bound == pytest.approx(once.bound, abs=1e-9)
    np.testing.assert_allclose(moved.weights, once.weights[order], atol=1e-4)


# Lines and where they meet.


@pytest.fixture
def search():
    errors = random_rows(np.random.default_rng(0), 10, 100)
    return TandemSearch(TandemFactor.from_errors(errors, None, 1.0), get_distance("kl").bound_function(100))


def test_crossings_are_rounded_down():
    # Lines so close that rounding leaves a long piece on which they may meet: f at both ends is not below the value.
    search = TandemSearch(
        TandemFactor.from_errors(np.eye(3, dtype=bool), None, 1.0), get_distance("kl").bound_function(3)
    )
    for apart in (1e-12, 1e-9, 1e-5, 1e-2):
        for kl in (1e-6, 0.3, 5.0):
            second = Line(0.01, 0.2 + 0.01 * kl)
            first = Line(0.01 * (1 + apart), 0.2 + 0.01 * (1 + apart) * kl)
            vertex = intersect(first, second)
            (high, near), (low, far) = vertex.ends
            assert vertex.tandem_low == low <= 0.2 <= vertex.tandem_high
            assert high <= vertex.tandem_high
            assert near <= kl <= far
            value, exact = search._value(vertex, first, second), 4 * search.function(0.2, 2 * kl)
            assert value <= min(search._evaluate_down(high, near), search._evaluate_down(low, far), exact)
            assert apart < 1e-5 or value == pytest.approx(exact, rel=1e-9)


def test_every_line_is_below_all_weights():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        errors, _, prior, _ = random_vote(rng)
        factor = TandemFactor.from_errors(errors, prior, 1.0 if prior is None else float(prior.sum()))
        dual = TandemDual(factor)
        for kappa in 10.0 ** rng.uniform(-6, 1, 5):
            point = dual.solve(float(kappa), tol=float(10.0 ** rng.uniform(-12, -1)))
            weights = factor.groups.spread(point.weights)
            T, K, _ = tandem_parts(weights / weights.sum(), errors, prior)
            # The inner optimum itself: where the line must not be too high, and should be close.
            assert point.line <= T + kappa * K + 1e-15
            assert (point.tandem, point.kl) == (pytest.approx(T, abs=1e-12), pytest.approx(K, abs=1e-9))
            for _ in range(20):
                q = random_weights(rng, len(errors), prior, rng.choice([0.05, 1.0, 20.0]))
                T, K, _ = tandem_parts(q, errors, prior)
                assert T + kappa * K >= point.line
                assert point.least_tandem <= T
    dual = TandemDual(TandemFactor.from_errors(random_rows(np.random.default_rng(4), 60, 300), None, 1.0))
    for tol in (1e-4, 1e-8, 1e-12):
        for kappa in (1e-5, 1e-3, 1e-1):
            point = dual.solve(kappa, tol=tol)
            assert 0 <= point.tandem + kappa * point.kl - point.line <= tol + 1e-11


def test_rounding_of_lines_in_arbitrary_precision():
    # D(u) of the very u, with the exact matrix: the line is not above it.
    for seed in range(12):
        rng = np.random.default_rng(seed)
        errors, m, prior, _ = random_vote(rng, 10)
        errors, m = errors[:, :50], min(m, 50)
        factor = TandemFactor.from_errors(errors, prior, 1.0 if prior is None else float(prior.sum()))
        dual = TandemDual(factor)
        point = dual.solve(float(10.0 ** rng.uniform(-4, 0)), tol=1e-10)
        u = [mp.mpf(float(v)) for v in point.u]
        images = [mp.fsum(mp.mpf(float(a)) * b for a, b in zip(row, u, strict=True)) for row in factor.factor]
        mass = [mp.mpf(float(v)) / mp.mpf(factor.groups.total) for v in factor.groups.mass]
        terms = [p * mp.exp(-2 * w / mp.mpf(point.kappa)) for p, w in zip(mass, images, strict=True)]
        exact = -mp.fsum(v * v for v in u) - mp.mpf(point.kappa) * mp.log(mp.fsum(terms))
        assert mp.mpf(point.line) <= exact - mp.mpf(factor.slack) / 2
        assert exact - mp.mpf(point.line) < mp.mpf("1e-11")
