"""Refined Pinsker (PAC-Bayes-lambda): inverse, constant, exact validity, and the alternating scheme as reference."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from pacbayes import bound, gibbs_posterior, log_constant, optimal_posterior
from pacbayes.bounds import RefinedPinsker, get_distance

DISTANCE = get_distance("refined-pinsker")
CASES = [(L, x) for L in (0.0, 1e-12, 1e-3, 0.1, 0.5, 1.0) for x in (1e-14, 1e-6, 0.01, 0.3, 2.0)]


@pytest.mark.parametrize(("L", "x"), CASES)
def test_inverse_and_slopes_with_40_digits(L, x):
    with mp.workdps(40):
        exact = mp.mpf(L) + x + mp.sqrt(mp.mpf(x) * (x + 2 * mp.mpf(L)))
        # The margin is 8 units of 2.2e-16, and the formula itself errs by at most 4.
        assert exact <= mp.mpf(DISTANCE.upper(L, x)) <= exact * (1 + mp.mpf(12 * 2.3e-16))
        assert (exact - L) ** 2 / (2 * exact) == pytest.approx(x, rel=1e-30)
        # The bound is the minimum over lambda of PAC-Bayes-lambda, at the ratio of the slopes.
        lam = mp.mpf(DISTANCE.ratio(L, x))
        assert 0 < lam <= 1
        assert float(mp.mpf(L) / (1 - lam / 2) + x / (lam * (1 - lam / 2))) == pytest.approx(float(exact), rel=1e-14)
        in_risk, in_x = DISTANCE.slopes(L, x)
        h = mp.mpf("1e-20")
        numeric = (mp.mpf(L) + x + h + mp.sqrt((x + h) * (x + h + 2 * mp.mpf(L))) - exact) / h
        assert in_x == pytest.approx(float(numeric), rel=1e-5)
        assert in_risk / in_x == pytest.approx(float(lam), rel=1e-12)


def test_below_kl_and_its_constant_covers_the_moment():
    risks = np.linspace(0.0, 1.0, 101)
    kl = get_distance("kl")
    values = DISTANCE.value(risks[:, None], risks)
    with np.errstate(all="ignore"):
        assert (values <= kl.value(risks[:, None], risks) + 1e-15).all()
    for m in (1, 2, 5, 30, 300):
        assert (
            DISTANCE.log_moment(m, np.linspace(0.001, 0.999, 200)).max() <= log_constant("refined-pinsker", m) + 1e-12
        )
    assert log_constant("refined-pinsker", 100, constant="paper") == log_constant("kl", 100, constant="paper")
    with pytest.raises(NotImplementedError, match="one-sided"):
        DISTANCE.lower(0.1, 0.1)


class TooSmall(RefinedPinsker):
    """The same with a constant that is e^3.5 times too small."""

    name = "too-small"

    def exact_log_constant(self, m):
        return super().exact_log_constant(m) - 3.5


@pytest.mark.parametrize(("distance", "valid"), [(DISTANCE, True), (TooSmall(), False)])
def test_exactly_valid_and_a_smaller_constant_is_not(distance, valid):
    worst = 0.0
    for m in (5, 50, 300):
        k = np.arange(m + 1)
        for delta in (0.01, 0.05, 0.5):
            bounds = np.array([bound(risk=i / m, kl=0.0, m=m, delta=delta, distance=distance) for i in k])
            for true in np.linspace(0.01, 0.99, 99):
                worst = max(worst, binom.pmf(k[bounds < true], m, true).sum() / delta)
    assert (worst <= 1.0) == valid


def alternate(risks, m, delta, prior, steps=2000):
    """Alternating minimisation of PAC-Bayes-lambda (Thiemann et al., 2017), with xi(m) for 2 sqrt(m)."""
    lam, log_term = 1.0, log_constant("kl", m) - math.log(delta)
    for _ in range(steps):
        q = prior * np.exp(-lam * m * (risks - risks.min()))
        q /= q.sum()
        used = q > 0
        K = float((q[used] * np.log(q[used] / prior[used])).sum())
        lam = 2.0 / (math.sqrt(2.0 * m * float(q @ risks) / (K + log_term) + 1.0) + 1.0)
    return q, lam


@pytest.mark.parametrize("block", [*range(4), *(pytest.param(block, marks=pytest.mark.slow) for block in range(4, 10))])
def test_200_problems_against_the_alternation_slsqp_and_a_scan(block):
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng(seed)
        H, m = int(rng.choice([1, 2, 4, 8])), int(rng.choice([5, 50, 500, 3000]))
        risks = rng.integers(0, m // 2 + 1, H) / m
        prior, delta = rng.dirichlet(np.ones(H)) + 1e-9, float(rng.choice([0.01, 0.05, 0.3]))
        prior /= prior.sum()
        options = {"distance": "refined-pinsker", "delta": delta, "prior": prior}
        ours = optimal_posterior(risks, m, **options)

        def value(q, risks=risks, m=m, options=options):
            q = np.maximum(q, 0.0)
            return bound(q / q.sum(), risks, m, **options)

        q, lam = alternate(risks, m, delta, prior)
        scan = min(value(gibbs_posterior(risks, beta, prior)) for beta in np.linspace(0.0, m, 300))
        starts = [prior, rng.dirichlet(np.ones(H))]
        equal = {"type": "eq", "fun": lambda w: w.sum() - 1}
        solved = [minimize(value, s, method="SLSQP", bounds=[(0, 1)] * H, constraints=equal).x for s in starts]
        others = min(value(q), scan, *(value(w) for w in solved))
        assert ours.converged
        assert ours.bound <= others + 1e-9
        assert ours.lower_bound <= others
        assert value(q) <= ours.bound + 1e-9
        # At a point mass every larger beta gives the same posterior, and the search may return infinity.
        assert ours.beta == pytest.approx(lam * m, rel=1e-5, abs=1e-6) or (ours.beta > lam * m and q.max() > 1 - 1e-9)
        fixed = optimal_posterior(risks, m, method="fixed-point", **options)
        assert fixed.converged
        assert fixed.bound <= ours.bound + 1e-9


def test_between_kl_and_pinsker_for_small_risks():
    bounds = [optimal_posterior([0.01, 0.02, 0.3], 300, distance=d).bound for d in ("kl", "refined-pinsker", "pinsker")]
    assert bounds == sorted(bounds)
    with pytest.raises(ValueError, match="five distances of the paper"):
        optimal_posterior([0.1, 0.2], 100, distance="refined-pinsker", method="ipopt")
