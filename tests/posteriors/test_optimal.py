"""The optimal posterior: no point of the simplex is below its lower bound; independent oracles; input and result."""

import json
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import oracles
from tests.posteriors.problems import attacks, one_against_many, random_problem

from pacbayes import DISTANCES, bound, log_constant, optimal_posterior
from pacbayes.bounds import get_distance


def descent(risks, m, prior, delta, distance):
    """The bound and its gradient; off the simplex, where solvers wander, the natural extension."""
    p = np.full(risks.size, 1 / risks.size) if prior is None else prior
    inside, f = p > 0, get_distance(distance).bound_function(m, delta)

    def value_and_gradient(q):
        logs = np.log(np.maximum(q, 1e-300) / np.where(inside, p, 1.0)) * inside
        L, K = min(max(float(q @ risks), 1e-300), 1.0), max(float(q @ logs), 0.0)
        in_risk, in_kl = f.partials(L, K)
        return f(L, K), np.minimum(in_risk, 1e9) * risks + np.minimum(in_kl, 1e9) * (1.0 + logs)

    return value_and_gradient


BLOCKS = [range(16 * block, 16 * block + 16) for block in range(2)]
MORE = [pytest.param(range(1000 + 100 * block, 1100 + 100 * block), marks=pytest.mark.slow) for block in range(20)]


@pytest.mark.parametrize("seeds", [*BLOCKS, *MORE], ids=str)
def test_nothing_on_the_simplex_beats_the_certificate(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        risks, m, prior, delta = random_problem(rng)
        for distance in DISTANCES:
            posterior = optimal_posterior(risks, m, distance=distance, prior=prior, delta=delta)
            assert posterior.converged, (seed, distance, posterior.message)
            assert posterior.gap <= 1e-9
            arguments = {"distance": distance, "prior": prior, "delta": delta}
            assert posterior.bound == bound(posterior.weights, risks, m, **arguments)
            others = attacks(descent(risks, m, prior, delta, distance), risks.size, prior, rng, maxiter=12)
            assert min(bound(q, risks, m, **arguments) for q in others) >= posterior.lower_bound, (seed, distance)
            fixed = optimal_posterior(risks, m, method="fixed-point", max_iter=200, **arguments)
            assert fixed.bound >= posterior.lower_bound
            if prior is None and seed % 4 == 0:
                subset = optimal_posterior(risks, m, method="ordered-subsets", **arguments)
                assert posterior.lower_bound <= subset.bound <= posterior.bound + 1e-6 + 1e-9


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


def gibbs_in_arbitrary_precision(risks, prior, beta):
    """Weights, risk and divergence of the Gibbs posterior."""
    risks = [mp.mpf(float(risk)) for risk in risks]
    p = [mp.mpf(float(v)) for v in (np.ones(len(risks)) if prior is None else prior)]
    least = min(risk for risk, v in zip(risks, p, strict=True) if v > 0)
    q = [v / mp.fsum(p) * mp.exp(-beta * (risk - least)) for risk, v in zip(risks, p, strict=True)]
    total = mp.fsum(q)
    L = mp.fsum(v * risk for v, risk in zip(q, risks, strict=True)) / total
    return [v / total for v in q], L, max(-beta * (L - least) - mp.log(total), mp.mpf(0))


def least_bound_by_scan(risks, prior, m, delta, distance):
    """Least B over beta in arbitrary precision: a scan of 161 temperatures, the best refined by golden section."""
    with mp.workdps(30):
        log_i = mp.mpf(log_constant("ch", m)) if distance == "ch" else oracles.log_constant(distance, m, "exact")

        def value(log_beta):
            _, L, K = gibbs_in_arbitrary_precision(risks, prior, mp.exp(log_beta))
            return oracles.bound_from(distance, L, K, m, delta, log_i)

        grid = mp.linspace(mp.log(mp.mpf("0.05")), mp.log(mp.mpf(20000)), 161)
        values = [value(t) for t in grid]
        i = min(range(len(grid)), key=values.__getitem__)
        low, high = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
        golden = (mp.sqrt(5) - 1) / 2
        for _ in range(30):
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, right) if value(left) < value(right) else (left, high)
        return min(value((low + high) / 2), *values)


@pytest.mark.parametrize("distance", DISTANCES)
def test_against_a_scan_in_arbitrary_precision(distance):
    for risks, prior, m, delta in SMALL:
        posterior = optimal_posterior(risks, m, distance=distance, prior=prior, delta=delta, tol=1e-12)
        least = least_bound_by_scan(risks, prior, m, delta, distance)
        assert abs(posterior.bound - least) < 1e-10
        # For ch and the sums the oracle's constant is the exact one, which the library rounds up by up to 1e-9.
        assert mp.mpf(posterior.lower_bound) <= least + (2e-12 if distance != "ch" else 0)


STEP = mp.mpf("1e-15")


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


@pytest.mark.parametrize("distance", DISTANCES)
def test_weights_to_the_last_digits(distance):
    """The bound is flat at its minimum: beta, and with it the weights, has to come from the equation beta = ratio."""
    worst = compared = 0
    for seed in range(40):
        risks, m, prior, delta = random_problem(np.random.default_rng(seed))
        posterior = optimal_posterior(risks, m, distance=distance, prior=prior, delta=delta)
        if posterior.beta in (0.0, math.inf) or np.ptp(risks) == 0.0 or posterior.bound == 1.0:
            continue  # a posterior that is known exactly, or a bound that is flat
        exact = optimal_weights(risks, prior, m, delta, distance, posterior.beta)
        errors = [abs(float(mp.mpf(w) - v)) for w, v in zip(posterior.weights.tolist(), exact, strict=True)]
        worst, compared = max(worst, *errors), compared + 1
    assert compared >= 20
    assert worst <= 2e-14


@pytest.mark.parametrize("distance", DISTANCES)
def test_small_tolerances_and_extreme_sample_sizes(distance):
    rng = np.random.default_rng(5)
    for m in (30, 1000, 10**6):
        risks = rng.binomial(m, rng.uniform(0.02, 0.4, 200)) / m
        for tol in (1e-6, 1e-12):
            assert 0 <= optimal_posterior(risks, m, distance=distance, tol=tol).gap <= tol
    risks = np.array([0.0, 0.25, 0.5, 1.0])
    for values in (risks, risks[1:], 0.3 + 1e-10 * risks):
        assert all(optimal_posterior(values, m, distance=distance).gap <= 1e-9 for m in (1, 2, 10**9))
    # A tolerance below rounding ends soon, and honestly.
    posterior = optimal_posterior([0.1, 0.2, 0.5], 50, distance=distance, tol=1e-15)
    assert posterior.n_iter < 60
    assert not posterior.converged
    assert 0 < posterior.gap < 1e-12
    assert optimal_posterior([0.1], 50, distance=distance, tol=1e-15).n_iter < 10


@pytest.mark.parametrize("distance", DISTANCES)
def test_prior_over_300_orders_of_magnitude(distance):
    prior = 10.0 ** -np.arange(0, 310, 10)
    prior /= prior.sum()
    risks = np.linspace(0.5, 0.0, prior.size)
    for m in (50, 5000, 10**7):
        posterior = optimal_posterior(risks, m, distance=distance, prior=prior)
        assert posterior.converged
        assert posterior.bound <= min(bound(v, risks, m, distance=distance, prior=prior) for v in np.eye(prior.size))
    # Divided by the sum 1 - 1e-9 the weight 5e-324 would not change, and its logarithm would be wrong by 1e-9.
    posterior = optimal_posterior([0, 0.9], 1000, distance=distance, prior=[5e-324, 1 - 1e-9], tol=1e-11)
    assert 0 <= posterior.gap <= 1e-11


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


def test_linear_against_the_closed_form():
    rng = np.random.default_rng(2)
    risks, m, delta = rng.random(40), 70, 0.03
    posterior = optimal_posterior(risks, m, distance="linear", delta=delta)
    assert posterior.beta == m
    closed = (math.log(40) - math.log(np.exp(-m * risks).sum()) + log_constant("linear", m) - math.log(delta)) / m
    assert posterior.bound == pytest.approx(closed, rel=1e-13)
    assert posterior.lower_bound <= closed <= posterior.bound


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
def test_smaller_tolerance_gives_no_smaller_lower_bound(distance, risks, prior, m, delta):
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


def test_result_attributes():
    posterior = optimal_posterior([0.1, 0.2, 0.2, 0.9], 100)
    assert posterior.hhi == pytest.approx((posterior.weights**2).sum())
    assert posterior.n_effective == pytest.approx(1 / posterior.hhi)
    assert (posterior.support_size, posterior.support_size_above(1e-3)) == (4, 1)
    plain = posterior.to_dict()
    assert json.loads(json.dumps(plain))["weights"] == posterior.weights.tolist()
    assert plain["gap"] == posterior.gap <= 1e-9
    assert {"bound", "lower_bound", "beta", "kl", "m", "delta", "distance", "method", "converged"} <= set(plain)
    with pytest.raises(AttributeError):
        posterior.bound = 0.0
    assert "proved to be within" in repr(posterior)
    assert "Posterior over 4 classifiers" in posterior._repr_html_()
    ended = optimal_posterior(one_against_many(1000, 0.0, 0.2), 10, max_evaluations=5)
    assert not ended.converged
    assert "gap" in ended.message
    assert "not converged" in repr(ended)
    assert ended.lower_bound <= optimal_posterior(one_against_many(1000, 0.0, 0.2), 10).bound


@pytest.mark.parametrize("distance", DISTANCES)
def test_unequal_sample_sizes_use_the_smallest(distance):
    risks = np.array([3 / 40, 0.1, 11 / 70])
    least = optimal_posterior(risks, 40, distance=distance)
    for m in ([40, 40, 40], [40, 50, 70]):
        found = optimal_posterior(risks, m, distance=distance)
        assert (found.m, found.bound, found.lower_bound) == (40, least.bound, least.lower_bound)
        assert found.weights.tolist() == least.weights.tolist()


@pytest.mark.parametrize(("changes", "error", "message"), [
    ({"risks": []}, ValueError, "risks must hold at least one"),
    ({"prior": [0.7, 0.7]}, ValueError, "prior must sum to 1, got 1.4"),
    ({"method": "newton"}, ValueError, "unknown method 'newton'; known are certified, fixed-point, ordered-subsets"),
    ({"method": None}, TypeError, "method must be a string"),
    ({"tol": math.nan}, ValueError, "tol must be positive, got nan"),
    ({"tol": "small"}, TypeError, "tol must be a number"),
    ({"start": "prior"}, TypeError, "method 'certified' has no option 'start'; its options are max_evaluations"),
    ({"method": "fixed-point", "size_tol": 1}, TypeError, "no option 'size_tol'; its options are start"),
])  # fmt: skip
def test_bad_input(changes, error, message):
    with pytest.raises(error, match=message):
        optimal_posterior(**({"risks": [0.1, 0.2], "m": 100} | changes))


METRICS = st.lists(st.integers(0, 40).map(lambda k: k / 40), min_size=1, max_size=12)


@settings(max_examples=60)
@given(METRICS, st.sampled_from(DISTANCES), st.randoms(use_true_random=False))
def test_order_and_duplicates_of_classifiers_do_not_matter(risks, distance, random):
    order = list(range(len(risks)))
    random.shuffle(order)
    prior = np.array([random.random() + 0.01 for _ in risks])
    prior /= prior.sum()
    plain = optimal_posterior(risks, 40, distance=distance, prior=prior)
    permuted = optimal_posterior(np.array(risks)[order], 40, distance=distance, prior=prior[order])
    np.testing.assert_allclose(permuted.weights, plain.weights[order], rtol=1e-6, atol=1e-12)
    assert permuted.bound == pytest.approx(plain.bound, abs=2e-9)
    once, twice = (optimal_posterior(some, 40, distance=distance) for some in (risks, risks + risks))
    assert twice.bound == pytest.approx(once.bound, abs=1e-12)
    np.testing.assert_allclose(twice.weights[: len(risks)] * 2, once.weights, rtol=1e-9)
