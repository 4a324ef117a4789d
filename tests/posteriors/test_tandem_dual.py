"""The regularised tandem risk: lines that are below all weights, whatever is rounded, and the factors of the form."""

import mpmath as mp
import numpy as np
import pytest
from tests.posteriors.vote_problems import random_rows, random_vote, tandem_parts

from pacbayes.posteriors.error_rows import TandemFactor
from pacbayes.posteriors.tandem import TandemDual


def test_every_line_is_below_all_weights():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        errors, _, prior, _ = random_vote(rng)
        factor = TandemFactor.of(errors, prior, 1.0 if prior is None else float(prior.sum()))
        dual = TandemDual(factor)
        for kappa in 10.0 ** rng.uniform(-6, 1, 5):
            point = dual.solve(float(kappa), tol=float(10.0 ** rng.uniform(-12, -1)))
            weights = factor.groups.spread(point.weights)
            T, K, _ = tandem_parts(weights / weights.sum(), errors, prior)
            # The inner optimum itself: where the line must not be too high, and should be close.
            assert point.line <= T + kappa * K + 1e-15
            assert (point.tandem, point.kl) == (pytest.approx(T, abs=1e-12), pytest.approx(K, abs=1e-9))
            for _ in range(20):
                q = rng.dirichlet(np.full(len(errors), rng.choice([0.05, 1.0, 20.0])))
                if prior is not None:
                    q = np.where(prior > 0, q + 1e-300, 0.0)
                    q /= q.sum()
                T, K, _ = tandem_parts(q, errors, prior)
                assert T + kappa * K >= point.line
                assert point.least_tandem <= T


def test_the_inner_gap_is_what_is_asked_for():
    rng = np.random.default_rng(4)
    errors = random_rows(rng, 60, 300)
    dual = TandemDual(TandemFactor.of(errors, None, 1.0))
    for tol in (1e-4, 1e-8, 1e-12):
        for kappa in (1e-5, 1e-3, 1e-1):
            point = dual.solve(kappa, tol=tol)
            assert 0 <= point.tandem + kappa * point.kl - point.line <= tol + 1e-11


def test_rounding_of_a_line_in_arbitrary_precision():
    # D(u) of the very u, with the exact matrix: the line is not above it.
    for seed in range(12):
        rng = np.random.default_rng(seed)
        errors, m, prior, _ = random_vote(rng, 10)
        errors, m = errors[:, :50], min(m, 50)
        factor = TandemFactor.of(errors, prior, 1.0 if prior is None else float(prior.sum()))
        dual = TandemDual(factor)
        point = dual.solve(float(10.0 ** rng.uniform(-4, 0)), tol=1e-10)
        kappas = point.kappa * np.array([0.2, 0.9, 0.999, 1.0, 1.001, 1.1, 5.0])
        with mp.workdps(40):
            u = [mp.mpf(float(v)) for v in point.u]
            images = [mp.fsum(mp.mpf(float(a)) * b for a, b in zip(row, u, strict=True)) for row in factor.factor]
            mass = [mp.mpf(float(v)) / mp.mpf(factor.groups.total) for v in factor.groups.mass]
            # The line of the solution, and the lines of the same u for other kappas.
            for kappa, line in [(point.kappa, point.line), *zip(kappas, dual.lines(point.u, kappas), strict=True)]:
                terms = [p * mp.exp(-2 * w / mp.mpf(float(kappa))) for p, w in zip(mass, images, strict=True)]
                exact = -mp.fsum(v * v for v in u) - mp.mpf(float(kappa)) * mp.log(mp.fsum(terms))
                assert mp.mpf(float(line)) <= exact - mp.mpf(factor.slack) / 2
                assert exact - mp.mpf(float(line)) < mp.mpf("1e-11")


@pytest.mark.parametrize(("H", "m"), [(8, 600), (60, 40)])
def test_both_factors_are_the_tandem_losses(H, m):
    rng = np.random.default_rng(1)
    errors = random_rows(rng, H, m)
    factor = TandemFactor.of(errors, None, 1.0)
    assert factor.factor.shape[1] <= min(H, m)
    for _ in range(20):
        shares = rng.dirichlet(np.ones(len(factor.risks)))
        weights = factor.groups.spread(shares)
        T = tandem_parts(weights, errors, None)[0]
        erring = shares @ factor.factor
        assert abs(float(erring @ erring) - T) <= factor.slack + 1e-15
    assert factor.slack < 1e-13
