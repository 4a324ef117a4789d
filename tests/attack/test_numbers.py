"""Numbers at the edges of double precision: subnormal risks, priors and levels, huge samples, tiny tolerances.

For all numbers, and in any floating-point error state, no upper bound may be too small, no lower bound too large, and
nothing may raise or hang.  Oracles are tests/oracles.py and sums in arbitrary precision.
"""

import subprocess
import sys

import mpmath as mp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import oracles
from tests.bounds.test_binomial import tail

from pacbayes import (
    DISTANCES,
    ClassifierSet,
    bound,
    gibbs_posterior,
    kl_divergence,
    kl_roots,
    log_constant,
    optimal_posterior,
)
from pacbayes.certificates import Plan, binomial_upper, certify, choose_posterior, fit_posteriors
from pacbayes.certificates.certificate import Certificate
from pacbayes.data.split import make_validation_split

MAX_SAMPLE_SIZE = 2**53
# Close to zero, to one and to each other; subnormal numbers.
EDGES = [0.0, 5e-324, 1e-323, 1e-310, 2.3e-308, 1e-300, 1e-200, 1e-100, 1e-30, 1e-17, 1e-9, 0.25, 0.3,
         0.30000000000000004, 0.5, 1 - 1e-9, 1 - 2**-53, 1.0]  # fmt: skip
RISK = st.sampled_from(EDGES) | st.floats(0.0, 1.0) | st.integers(0, 20).map(lambda k: k / 20)
MASS = st.sampled_from([0.0, 5e-324, 1e-310, 1e-300, 1e-100, 1e-20, 1e-10, 1.0, 1 + 1e-13]) | st.floats(0.0, 1.0)
DELTA = st.sampled_from([5e-324, 1e-310, 1e-300, 1e-100, 1e-30, 1e-7, 0.05, 0.5, 1 - 2**-53]) | st.floats(1e-6, 0.999)
# For ch a sample between a hundred and ten thousand takes long.
SIZE = st.sampled_from([1, 2, 3, 10, 50, 10**5, 10**6, 10**9, MAX_SAMPLE_SIZE])


@st.composite
def problems(draw):
    """Draw risks, a prior (None for the uniform one), m, delta and a distance."""
    risks = np.array(draw(st.lists(RISK, min_size=1, max_size=6)))
    prior = None
    if draw(st.booleans()):
        prior = np.array(draw(st.lists(MASS, min_size=risks.size, max_size=risks.size)))
        prior[draw(st.integers(0, risks.size - 1))] = 1.0
        prior /= prior.sum()
    return risks, prior, draw(SIZE), draw(DELTA), draw(st.sampled_from(DISTANCES))


def true_bound(weights, problem):
    """Bound of weights in real arithmetic, with the constant of the library."""
    risks, prior, m, delta, distance = problem
    L, K = oracles.risk_and_divergence(weights, risks, prior)
    return oracles.bound_from(distance, L, max(K, mp.mpf(0)), m, delta, mp.mpf(log_constant(distance, m)))


def scan(problem, betas):
    """Smallest bound of Gibbs posteriors in real arithmetic."""
    risks, prior, m, delta, distance = problem
    p = [mp.mpf(1)] * risks.size if prior is None else [mp.mpf(float(v)) for v in prior]
    total = mp.fsum(p)
    least = min(float(risk) for risk, v in zip(risks, p, strict=True) if v > 0)
    above = [mp.mpf(float(risk)) - mp.mpf(least) for risk in risks]
    log_i, best = mp.mpf(log_constant(distance, m)), mp.inf
    for beta in betas:
        q = [v / total * mp.exp(-mp.mpf(beta) * d) if v > 0 else mp.mpf(0) for v, d in zip(p, above, strict=True)]
        z = mp.fsum(q)
        L = mp.mpf(least) + mp.fsum(v * d for v, d in zip(q, above, strict=True)) / z
        K = max(-mp.mpf(beta) * (L - mp.mpf(least)) - mp.log(z), mp.mpf(0))
        best = min(best, oracles.bound_from(distance, min(L, mp.mpf(1)), K, m, delta, log_i))
    return best


def competitors(problem, seed):
    """Weights that might have a smaller bound: single classifiers, the prior, random weights."""
    risks, prior, *_ = problem
    rng = np.random.default_rng(seed)
    support = np.ones(risks.size) if prior is None else prior
    yield support / support.sum()
    yield from (weights for weights, mass in zip(np.eye(risks.size), support, strict=True) if mass > 0)
    for concentration in (1.0, 0.1):
        weights = rng.dirichlet(np.full(risks.size, concentration)) * (support > 0)
        if weights.sum() > 0:
            yield weights / weights.sum()


def check_posterior(problem, seed):
    risks, prior, m, delta, distance = problem
    arguments = {"distance": distance, "delta": delta, "prior": prior}
    methods = ["certified", "fixed-point"]
    if prior is None or np.ptp(prior) <= 1e-12 * prior.max():
        methods.append("ordered-subsets")
    posteriors = [optimal_posterior(risks, m, method=method, **arguments) for method in methods]
    posteriors += [optimal_posterior(risks, m, tol=tol, **arguments) for tol in (1e-12, 1e-15, 5e-324)]
    default, fine = posteriors[0], posteriors[-3:]
    assert default.gap <= 1e-9 * max(default.bound, 1.0)
    for posterior in fine:
        assert posterior.gap <= default.gap
        assert posterior.n_iter < 5_000
    for posterior in posteriors:
        assert (posterior.weights >= 0.0).all()
        assert abs(posterior.weights.sum() - 1.0) < 1e-12
        assert posterior.bound >= true_bound(posterior.weights, problem)
        assert posterior.bound == bound(posterior.weights, risks, m, **arguments)
        assert posterior.bound >= default.lower_bound
    lower = max(posterior.lower_bound for posterior in posteriors)
    for weights in (*competitors(problem, seed), *(posterior.weights for posterior in posteriors)):
        true = true_bound(weights, problem)
        assert true >= lower
        assert bound(weights, risks, m, **arguments) >= true
    betas = [0.0, *np.geomspace(1e-3, 1e4 * max(m, 100), 12).tolist(), 1e300]
    betas += (
        [] if default.beta in (None, np.inf) else [default.beta * (1 + shift) for shift in (-0.1, -1e-4, 0, 1e-4, 0.1)]
    )
    assert scan(problem, betas) >= lower


@settings(max_examples=150)
@given(problems(), st.integers(0, 2**32 - 1))
def test_bounds_are_on_the_right_side(problem, seed):
    check_posterior(problem, seed)


@settings(max_examples=150)
@given(problems())
def test_results_ignore_the_floating_point_error_state(problem):
    risks, prior, m, delta, distance = problem
    arguments = {"distance": distance, "delta": delta, "prior": prior}

    def results():
        posterior = optimal_posterior(risks, m, **arguments)
        yield posterior.to_dict()
        yield posterior.n_effective
        yield repr(posterior)
        yield optimal_posterior(risks, m, method="fixed-point", max_iter=50, **arguments).to_dict()
        if prior is None:
            yield optimal_posterior(risks, m, method="ordered-subsets", **arguments).to_dict()
        for beta in (0.0, 1e-300, 1.0, 1e3, 1e308, np.inf):
            yield gibbs_posterior(risks, beta, prior).tolist()
        yield bound(gibbs_posterior(risks, 1e3, prior), risks, m, **arguments)
        yield kl_divergence(risks[:, None], risks).tolist()
        yield kl_roots(risks, delta)
        yield kl_roots(risks[:, None], risks)[1].tolist()
        yield log_constant(distance, m)
        yield choose_posterior(risks, m, constant="exact", **arguments).to_dict()

    with np.errstate(all="ignore"):
        expected = list(results())
    with np.errstate(all="raise"):
        assert repr(list(results())) == repr(expected)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=6), DELTA, st.data())
def test_certificates_ignore_the_floating_point_error_state(errors, delta, data):
    errors, m = np.array(errors), 60
    prior = np.array(data.draw(st.lists(MASS, min_size=errors.size, max_size=errors.size)))
    prior[0] = 1.0
    prior /= prior.sum()
    predictions = ClassifierSet.from_predictions(np.arange(m) < errors[:, None], np.arange(m) < 0).predictions
    with np.errstate(all="raise"):
        plan = Plan(make_validation_split(m), delta=delta, prior=prior, prior_kind="given")
        certificates = certify(plan, predictions, fit_posteriors(plan, predictions))
    assert all(isinstance(one, Certificate) and 0.0 <= one.bound <= 1.0 for one in certificates.values())
    best = certificates["best"]
    tails = [
        (tail(int(k), m, best.bound) if k < m and best.bound < 1.0 else mp.mpf(0), mp.mpf(delta) * mp.mpf(float(p)))
        for k, p in zip(errors, prior, strict=True)
    ]
    # The tail of some classifier is below its share of the level, up to rounding of the sum of the prior.
    assert best.bound == 1.0 or any(probability <= level * (1 + mp.mpf("1e-14")) for probability, level in tails)


@settings(max_examples=150)
@given(st.data(), st.sampled_from([1, 2, 7, 100, 10**4, 10**6, 10**9, MAX_SAMPLE_SIZE]), st.floats(5e-324, 1.0) | DELTA)
def test_binomial_bounds_at_any_level(data, m, delta):
    few = st.integers(0, min(m, 300))
    # The sum of the oracle has about as many terms as errors.
    k = data.draw(few | st.integers(max(m - 5, 0), m) if m <= 10**4 else few)
    with np.errstate(all="raise"):
        upper = float(binomial_upper(k, m, delta))
    assert 0.0 <= upper <= 1.0
    if k == m or upper in (0.0, 1.0):
        assert upper == 1.0 or delta == 1.0
    else:
        assert tail(k, m, upper) <= mp.mpf(delta)


def test_constants_ignore_the_floating_point_error_state():
    # In another process, before imports and caches.
    sizes = [1, 2, 10, 99, 100, 3000, 10**6, MAX_SAMPLE_SIZE]
    code = (
        "import numpy; numpy.seterr(all='raise')\n"
        "from pacbayes import *\n"
        f"print([log_constant(name, m) for name in DISTANCES for m in {sizes}])\n"
        "optimal_posterior([0.0, 0.3], 50), bound([0.5, 0.5], [1e-320, 0.3], 50)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([log_constant(name, m) for name in DISTANCES for m in sizes])
