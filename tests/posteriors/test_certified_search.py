"""The certificate: no point of the simplex has a bound below it, and it agrees with independent oracles."""

import math
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests import oracles
from tests.posteriors.problems import TWO_MINIMA, one_against_many, random_problem

from pacbayes import DISTANCES, bound, gibbs_posterior, log_constant, optimal_posterior
from pacbayes.bounds import get_distance
from pacbayes.posteriors.certified_search import CertifiedSearch
from pacbayes.posteriors.gibbs import GibbsCurve
from pacbayes.posteriors.posterior import Problem


def attacks(risks, m, prior, delta, distance, rng):
    """Yield posteriors that might beat the certificate: vertices, random points, descent and SLSQP."""
    H = risks.size
    p = np.full(H, 1 / H) if prior is None else prior
    inside = p > 0
    yield from (vertex for vertex, allowed in zip(np.eye(H), inside, strict=True) if allowed)
    starts = [p] + [rng.dirichlet(np.full(H, a)) * inside + 1e-9 * p for a in (0.1, 1.0)]
    starts = [s / s.sum() for s in starts]
    yield from starts
    f = get_distance(distance).bound_function(m, delta)

    def value_and_gradient(q):
        # Off the simplex, where solvers wander, the natural extension.
        logs = np.log(np.maximum(q, 1e-300) / np.where(inside, p, 1.0)) * inside
        L, K = min(max(float(q @ risks), 1e-300), 1.0), max(float(q @ logs), 0.0)
        in_risk, in_kl = f.partials(L, K)
        return f(L, K), np.minimum(in_risk, 1e9) * risks + np.minimum(in_kl, 1e9) * (1.0 + logs)

    for q in starts:  # projected gradient
        step = 1.0
        for _ in range(12):
            gradient = value_and_gradient(q)[1]
            moved = q * np.exp(-step * (gradient - gradient.min()) / (1e-9 + np.ptp(gradient))) * inside
            q, step = moved / moved.sum(), 0.8 * step
        yield q
    if H > 1:
        for q in starts[1:]:
            result = minimize(
                value_and_gradient,
                q,
                jac=True,
                method="SLSQP",
                bounds=[(0.0, float(allowed)) for allowed in inside],
                constraints={"type": "eq", "fun": lambda q: q.sum() - 1, "jac": np.ones_like},
                options={"maxiter": 12},
            )
            found = np.maximum(result.x, 0) * inside
            if np.isfinite(found).all() and found.sum() > 0:
                yield found / found.sum()


def check_nothing_beats(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        risks, m, prior, delta = random_problem(rng)
        for distance in DISTANCES:
            posterior = optimal_posterior(risks, m, distance=distance, prior=prior, delta=delta)
            assert posterior.converged, (seed, distance, posterior.message)
            assert posterior.gap <= 1e-9
            arguments = {"distance": distance, "prior": prior, "delta": delta}
            assert posterior.bound == bound(posterior.weights, risks, m, **arguments)
            least = min(bound(q, risks, m, **arguments) for q in attacks(risks, m, prior, delta, distance, rng))
            assert least >= posterior.lower_bound, (seed, distance)
            assert (
                optimal_posterior(risks, m, method="fixed-point", max_iter=200, **arguments).bound
                >= posterior.lower_bound
            )
            if prior is None and seed % 4 == 0:
                subset = optimal_posterior(risks, m, method="ordered-subsets", **arguments)
                assert posterior.lower_bound <= subset.bound <= posterior.bound + 1e-6 + 1e-9


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("block", range(4))
def test_nothing_on_the_simplex_beats_the_certificate(block):
    check_nothing_beats(range(25 * block, 25 * block + 25))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("block", range(20))
def test_nothing_on_the_simplex_beats_the_certificate_2000(block):
    check_nothing_beats(range(1000 + 100 * block, 1100 + 100 * block))


@pytest.mark.parametrize(("distance", "H", "m", "a", "b", "first", "second"), TWO_MINIMA)
def test_the_better_of_two_minima(distance, H, m, a, b, first, second):
    posterior = optimal_posterior(one_against_many(H, a, b), m, distance=distance, delta=0.01, constant="paper")
    beta, least = min(first, second, key=lambda pair: pair[1])
    assert posterior.bound == pytest.approx(least, abs=1e-6)
    assert posterior.beta == pytest.approx(beta, rel=1e-4)
    assert posterior.gap <= 1e-9


def test_two_minima_at_useful_values():
    # m = 227, 1990 classifiers: one with no error, five with one, the rest with three.
    risks = np.concatenate([[0], np.full(5, 1), np.full(1984, 3)]) / 227
    posterior = optimal_posterior(risks, 227, delta=0.01, constant="paper")
    assert posterior.beta == math.inf
    assert posterior.support_size == 1
    assert posterior.bound == pytest.approx(0.0664417, abs=1e-7)
    other = optimal_posterior(risks, 227, delta=0.01, constant="paper", method="fixed-point", start="prior")
    assert other.beta == pytest.approx(427.597, abs=0.001)
    assert other.bound == pytest.approx(0.0677940, abs=1e-7)
    # beta = inf is a strict local minimum here, but only a local one: the other is far better.
    risks, prior = np.array([0.0, 0.02]), np.array([1e-9, 1 - 1e-9])
    posterior = optimal_posterior(risks, 100, delta=0.01, constant="paper", prior=prior)
    assert posterior.bound == pytest.approx(0.126661, abs=1e-6)
    assert posterior.beta == pytest.approx(196.10, abs=0.01)
    assert bound([1.0, 0.0], risks, 100, delta=0.01, constant="paper", prior=prior) == pytest.approx(0.246662, abs=1e-6)


SMALL = [
    ([0.1, 0.2, 0.25], None, 50, 0.05),
    ([0.0, 0.1, 0.4], [0.2, 0.5, 0.3], 30, 0.01),
    ([0.45, 0.55, 0.9], [0.01, 0.9, 0.09], 12, 0.1),
    ([0.0, 0.04, 0.08, 0.5], None, 25, 0.05),
]


def least_bound_by_scan(risks, prior, m, delta, distance):
    """Least B over beta in arbitrary precision: a scan of 161 temperatures, the best refined by golden section."""
    with mp.workdps(30):
        log_i = mp.mpf(log_constant("ch", m)) if distance == "ch" else oracles.log_constant(distance, m, "exact")
        p = (
            [mp.mpf(1) / len(risks)] * len(risks)
            if prior is None
            else [mp.mpf(v) / sum(map(mp.mpf, prior)) for v in prior]
        )
        risks = [mp.mpf(float(v)) for v in risks]

        def value(log_beta):
            beta = mp.exp(log_beta)
            q = [v * mp.exp(-beta * (risk - risks[0])) for v, risk in zip(p, risks, strict=True)]
            total = mp.fsum(q)
            q = [v / total for v in q]
            L = mp.fsum(v * risk for v, risk in zip(q, risks, strict=True))
            K = mp.fsum(v * mp.log(v / w) for v, w in zip(q, p, strict=True) if v > mp.mpf("1e-200"))
            return oracles.bound_from(distance, L, max(K, 0), m, delta, log_i)

        grid = mp.linspace(mp.log(mp.mpf("0.05")), mp.log(mp.mpf(20000)), 161)
        values = [value(t) for t in grid]
        i = min(range(len(grid)), key=values.__getitem__)
        low, high = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
        golden = (mp.sqrt(5) - 1) / 2
        for _ in range(30):
            left, right = high - golden * (high - low), low + golden * (high - low)
            if value(left) < value(right):
                high = right
            else:
                low = left
        return min(value((low + high) / 2), *values)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("risks", "prior", "m", "delta"), SMALL)
def test_against_a_scan_in_arbitrary_precision(risks, prior, m, delta, distance):
    posterior = optimal_posterior(risks, m, distance=distance, prior=prior, delta=delta, tol=1e-12)
    least = least_bound_by_scan(risks, prior, m, delta, distance)
    assert abs(posterior.bound - least) < 1e-10
    # For ch and the sums the oracle's constant is the exact one, which the library rounds up by up to 1e-9.
    assert mp.mpf(posterior.lower_bound) <= least + (2e-12 if distance != "ch" else 0)


def gibbs_in_arbitrary_precision(risks, prior, beta):
    """Weights, risk and divergence of the Gibbs posterior."""
    risks = [mp.mpf(float(risk)) for risk in risks]
    p = [mp.mpf(float(v)) for v in (np.ones(len(risks)) if prior is None else prior)]
    least = min(risk for risk, v in zip(risks, p, strict=True) if v > 0)
    q = [v / mp.fsum(p) * mp.exp(-beta * (risk - least)) for risk, v in zip(risks, p, strict=True)]
    total = mp.fsum(q)
    q = [v / total for v in q]
    L = mp.fsum(v * risk for v, risk in zip(q, risks, strict=True))
    return q, L, max(-beta * (L - least) - mp.log(total), mp.mpf(0))


def optimal_weights(risks, prior, m, delta, distance, near):
    """Weights where the derivative of B in beta, a difference quotient, is zero; the root is next to `near`."""
    log_i = mp.mpf(get_distance(distance).log_constant(m))

    def slope(beta):
        ends = [gibbs_in_arbitrary_precision(risks, prior, beta * (1 + h)) for h in (-STEP, STEP)]
        low, high = (oracles.bound_from(distance, L, K, m, delta, log_i) for _, L, K in ends)
        return (high - low) / STEP

    beta = mp.findroot(slope, (mp.mpf(near), mp.mpf(near) * (1 + mp.mpf("1e-6"))), tol=mp.mpf("1e-60"), maxsteps=200)
    assert abs(beta / near - 1) < 0.1
    return gibbs_in_arbitrary_precision(risks, prior, beta)[0]


STEP = mp.mpf("1e-15")


@pytest.mark.parametrize("distance", DISTANCES)
def test_weights_are_right_to_the_last_digits(distance):
    """The bound is flat at its minimum: beta, and with it the weights, has to come from the equation beta = ratio."""
    worst = compared = 0
    for seed in range(60):
        risks, m, prior, delta = random_problem(np.random.default_rng(seed))
        posterior = optimal_posterior(risks, m, distance=distance, prior=prior, delta=delta)
        if posterior.beta in (0.0, math.inf) or np.ptp(risks) == 0.0 or posterior.bound == 1.0:
            continue  # a posterior that is known exactly, or a bound that is flat
        exact = optimal_weights(risks, prior, m, delta, distance, posterior.beta)
        errors = [abs(float(mp.mpf(w) - v)) for w, v in zip(posterior.weights.tolist(), exact, strict=True)]
        worst, compared = max(worst, *errors), compared + 1
    assert compared >= 30
    assert worst <= 2e-14


@pytest.mark.parametrize("distance", DISTANCES)
def test_polishing_neither_raises_the_bound_nor_costs_much(distance):
    for seed in range(100):
        risks, m, prior, delta = random_problem(np.random.default_rng(seed))
        problem = Problem.checked(risks, m, distance, delta, prior, "exact")
        search = CertifiedSearch(problem.curve, problem.function)
        found = search.run(1e-9, 1000)
        before, after = (problem.at(point)[1].bound for point in (found.point, search.polish()))
        assert after <= before * (1 + 32 * np.finfo(float).eps)
        assert search.evaluations - found.evaluations <= 12


def test_a_polished_point_that_is_worse_is_not_taken():
    # A ratio that is off moves the fixed point to where the bound is larger.
    problem = Problem.checked([0.1, 0.2, 0.4], 60, "pinsker", 0.05, None, "exact")
    search = CertifiedSearch(problem.curve, problem.function)
    best = search.run(1e-9, 1000).point
    search.function = SimpleNamespace(value_and_ratio=lambda risk, kl: (problem.function(risk, kl), 1.1 * best.beta))
    assert search.polish() == best


@pytest.mark.parametrize("distance", DISTANCES)
def test_tolerance_down_to_1e_12(distance):
    rng = np.random.default_rng(5)
    for m in (30, 1000, 10**6):
        risks = rng.binomial(m, rng.uniform(0.02, 0.4, 200)) / m
        for tol in (1e-6, 1e-12):
            posterior = optimal_posterior(risks, m, distance=distance, tol=tol)
            assert posterior.converged
            assert 0 <= posterior.gap <= tol


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("m", [1, 2, 10**9])
def test_extreme_sample_sizes(distance, m):
    risks = np.array([0.0, 0.25, 0.5, 1.0])
    for values in (risks, risks[1:], 0.3 + 1e-10 * risks):
        posterior = optimal_posterior(values, m, distance=distance)
        assert posterior.converged
        assert posterior.gap <= 1e-9


@pytest.mark.parametrize("distance", DISTANCES)
def test_prior_over_300_orders_of_magnitude(distance):
    prior = 10.0 ** -np.arange(0, 310, 10)
    prior /= prior.sum()
    risks = np.linspace(0.5, 0.0, prior.size)
    for m in (50, 5000, 10**7):
        posterior = optimal_posterior(risks, m, distance=distance, prior=prior)
        assert posterior.converged
        vertices = [bound(v, risks, m, distance=distance, prior=prior) for v in np.eye(prior.size)]
        assert posterior.bound <= min(vertices)


@pytest.mark.parametrize("distance", DISTANCES)
def test_special_shapes(distance):
    one = optimal_posterior([0.2], 50, distance=distance)
    assert one.weights.tolist() == [1.0]
    assert one.bound == bound([1.0], [0.2], 50, distance=distance)
    prior = np.array([0.5, 0.3, 0.2])
    equal = optimal_posterior([0.2] * 3, 50, distance=distance, prior=prior)
    np.testing.assert_allclose(equal.weights, prior, rtol=1e-15)
    zero = optimal_posterior([0.0, 0.3, 0.2], 50, distance=distance, prior=[0.0, 0.5, 0.5])
    assert zero.weights[0] == 0.0
    assert zero.bound < 1 or distance == "squared"
    worst = optimal_posterior([1.0, 1.0], 5, distance=distance)
    assert worst.weights.tolist() == [0.5, 0.5]


def test_linear_is_the_closed_form():
    rng = np.random.default_rng(2)
    risks, m, delta = rng.random(40), 70, 0.03
    posterior = optimal_posterior(risks, m, distance="linear", delta=delta)
    assert posterior.beta == m
    closed = (math.log(40) - math.log(np.exp(-m * risks).sum()) + log_constant("linear", m) - math.log(delta)) / m
    assert posterior.bound == pytest.approx(closed, rel=1e-13)
    assert posterior.lower_bound <= closed <= posterior.bound


def test_zero_risk_support_of_kl():
    # beta = inf is a local minimum exactly if pi1/pi0 < m (e^x0 - 1) when the next classifiers make one error.
    m, delta = 50, 0.05
    for many in (1, 10**6):
        risks, prior = np.array([0.0, 1 / m]), np.array([1.0, many]) / (1 + many)
        x0 = (log_constant("kl", m) - math.log(delta) - math.log(prior[0])) / m
        local = many < m * math.expm1(x0)
        near = bound(gibbs_posterior(risks, 20 * m, prior), risks, m, prior=prior)
        at_infinity = bound([1.0, 0.0], risks, m, prior=prior)
        assert (at_infinity <= near) == local


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_subnormal_prior_weight_keeps_its_digits(distance):
    # Divided by the sum 1 - 1e-9 the weight 5e-324 would not change, and its logarithm would be wrong by 1e-9.
    posterior = optimal_posterior([0, 0.9], 1000, distance=distance, prior=[5e-324, 1 - 1e-9], tol=1e-11)
    assert 0 <= posterior.gap <= 1e-11


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_tolerance_below_rounding_ends_soon_and_honestly(distance):
    posterior = optimal_posterior([0.1, 0.2, 0.5], 50, distance=distance, tol=1e-15)
    assert posterior.n_iter < 60
    assert not posterior.converged
    assert 0 < posterior.gap < 1e-12
    assert optimal_posterior([0.1], 50, distance=distance, tol=1e-15).n_iter < 10


# Narrow cells, whose tangents have nearly the same slope and cross just anywhere.
NARROW = [
    ("kl", [0.027, 0.026, 0.022, 0.04], [1e-234, 1.0, 1e-204, 1e-155], 1000, 1e-300),
    ("ch", [0.04, 0.16, 0.58, 0.08], [1.8e-53, 1.0, 1.6e-74, 9.9e-98], 50, 1e-30),
    ("squared", [1e-30, 0.5, 0.33498254850559783], [3e-216, 6e-53, 1.0], 2, 1e-30),
    ("pinsker", [1.0, 0.0, 0.0, 0.0], None, 3, 1e-7),
    ("ch", [1e-300, 0.25, 1.0, 1e-300, 0.30000000000000004, 0.30000000000000004],
     [5e-301, 5e-11, 0.5 - 2.5e-11, 0.5 - 2.5e-11, 5e-21, 5e-301], 3, 0.05),
]  # fmt: skip


@pytest.mark.parametrize(("distance", "risks", "prior", "m", "delta"), NARROW)
def test_a_smaller_tolerance_proves_no_less(distance, risks, prior, m, delta):
    usual, *others = (
        optimal_posterior(risks, m, distance=distance, prior=prior, delta=delta, tol=tol)
        for tol in (1e-9, 1e-12, 1e-15, 5e-324)
    )
    assert usual.converged
    for other in others:
        assert other.gap <= usual.gap
        assert other.n_iter < 300


SUBNORMAL = 5e-324


@pytest.mark.parametrize("tol", [1e-9, 1e-15])
@pytest.mark.parametrize(
    ("risks", "m", "delta"),
    [([0.0, SUBNORMAL, 0.2, 0.5], 2, 0.5), ([0.0, SUBNORMAL, 0.5, 1.0], 2, 0.5), ([0.0, SUBNORMAL, 0.1], 10, 0.01),
     ([0.0, 1e-300, 1.0], 1, 0.5), ([0.0, SUBNORMAL, 1e-310, 0.02], 50, 0.05)],
)  # fmt: skip
def test_risks_a_subnormal_number_apart(risks, m, delta, tol):
    for prior in (None, np.geomspace(1e-9, 1.0, len(risks)) / np.geomspace(1e-9, 1.0, len(risks)).sum()):
        posterior = optimal_posterior(risks, m, delta=delta, prior=prior, tol=tol)
        assert posterior.gap <= 1e-9
        # Next to nothing apart is nothing apart.
        merged = [0.0 if risk < 1e-200 else risk for risk in risks]
        assert optimal_posterior(merged, m, delta=delta, prior=prior).bound == pytest.approx(posterior.bound, abs=2e-9)


def test_the_largest_sample_size_and_an_optimum_at_infinity():
    # The ratio is 7e9 here and the curve's last node lies at 5e16: the rounding of L does not enter K.
    risks, prior = [0.9974276886022093, 0.9974276886022091, 0.5090219344531072], [0.5, 0.5, 5e-311]
    assert optimal_posterior(risks, 2**53, delta=1 - 2**-53, prior=prior).converged


def test_cells_end_where_the_ratio_is_certain():
    # The ends move past beta only as far as a ratio perturbed by its stated error allows.
    curve = GibbsCurve(np.array([0.1, 0.2, 0.4]), np.log([0.2, 0.3, 0.5]))
    search = CertifiedSearch(curve, get_distance("pinsker").bound_function(60, 0.05))
    start, end = search._node(0.0), search._node(math.inf)
    search._add(start, end, False)
    before = search.evaluations
    assert search._refine(search._cells.pop()) == math.inf
    low, high = search._nodes[before : before + 2]
    assert start.ratio * (1 - 1e-11) < low.point.beta < start.ratio * (1 - 1e-13)
    assert end.ratio * (1 + 1e-13) < high.point.beta < end.ratio * (1 + 1e-11)


def test_not_converged_is_said():
    posterior = optimal_posterior(one_against_many(1000, 0.0, 0.2), 10, max_evaluations=5)
    assert not posterior.converged
    assert "gap" in posterior.message
    assert "not converged" in repr(posterior)
    assert posterior.lower_bound <= optimal_posterior(one_against_many(1000, 0.0, 0.2), 10).bound


RISKS = st.lists(st.integers(0, 40).map(lambda k: k / 40), min_size=1, max_size=12)


@settings(max_examples=60)
@given(RISKS, st.sampled_from(DISTANCES), st.randoms(use_true_random=False))
def test_permuting_classifiers_permutes_weights(risks, distance, random):
    order = list(range(len(risks)))
    random.shuffle(order)
    prior = np.array([random.random() + 0.01 for _ in risks])
    prior /= prior.sum()
    plain = optimal_posterior(risks, 40, distance=distance, prior=prior)
    permuted = optimal_posterior(np.array(risks)[order], 40, distance=distance, prior=prior[order])
    np.testing.assert_allclose(permuted.weights, plain.weights[order], rtol=1e-6, atol=1e-12)
    assert permuted.bound == pytest.approx(plain.bound, abs=2e-9)


@settings(max_examples=60)
@given(RISKS, st.sampled_from(DISTANCES))
def test_duplicating_classifiers_changes_nothing(risks, distance):
    once = optimal_posterior(risks, 40, distance=distance)
    twice = optimal_posterior(risks + risks, 40, distance=distance)
    assert twice.bound == pytest.approx(once.bound, abs=1e-12)
    np.testing.assert_allclose(twice.weights[: len(risks)] * 2, once.weights, rtol=1e-9)


@settings(max_examples=100)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(1, 10**6), st.sampled_from(DISTANCES))
def test_weights_are_a_distribution(risks, m, distance):
    posterior = optimal_posterior(risks, m, distance=distance)
    assert (posterior.weights >= 0).all()
    assert abs(posterior.weights.sum() - 1) <= 1e-12
    assert posterior.gap <= 1e-9
