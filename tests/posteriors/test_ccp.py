"""The convex-concave procedure: the paper's stays at its start, the one-sided one is the fixed-point iteration."""

import sys

import numpy as np
import pytest

from pacbayes import bound, gibbs_posterior, kl_divergence, kl_roots, optimal_posterior
from pacbayes.bounds import get_distance
from pacbayes.paper.protocol import PROFILES, profile_risks

pytest.importorskip("cvxpy")

PAPER = {"delta": 0.01, "constant": "paper"}
SEPARABLE = ("banknote", "mushroom")  # no errors for the first 50, in the paper too
OTHERS = [name for name in PROFILES if name not in SEPARABLE]


STARTS = [3, pytest.param(100, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n_init", STARTS)
@pytest.mark.parametrize("name", OTHERS)
def test_one_sided_reaches_the_certified_bound_from_every_start(name, n_init):
    risks, m = profile_risks(name, 50)
    certified = optimal_posterior(risks, m, **PAPER)
    posterior = optimal_posterior(risks, m, method="ccp", n_init=n_init, **PAPER)
    details = posterior.details
    assert details["converged"].all()
    assert details["bounds"].shape == (n_init,)
    assert details["bounds"].min() >= certified.lower_bound
    assert details["bounds"].max() <= certified.bound + 1e-6
    assert details["rounds"].max() <= 10
    assert posterior.bound == bound(posterior.weights, risks, m, **PAPER)


@pytest.mark.parametrize("n_init", STARTS)
@pytest.mark.parametrize("name", OTHERS)
def test_paper_procedure_stays_at_its_start(name, n_init):
    """A round lowers the bound by some 1e-5 through Clarabel's tolerance; with tol = 1e-5 that ends a run."""
    risks, m = profile_risks(name, 50)
    posterior = optimal_posterior(risks, m, method="ccp", formulation="paper", n_init=n_init, tol=1e-5, **PAPER)
    details = posterior.details
    assert (details["start_bounds"] - details["bounds"]).min() >= 0.0
    assert (details["start_bounds"] - details["bounds"]).max() < 1e-3
    # "FP is always better than CCP", because this one has not left a random point.
    assert posterior.bound > optimal_posterior(risks, m, **PAPER).bound + 2e-3


@pytest.mark.parametrize("seed", range(5))
def test_both_inequalities_leave_only_the_start(seed):
    """Their sum is at least KL(q || q0) / m > 0 for every other q, whatever r; tangents as the paper prints them."""
    rng = np.random.default_rng(seed)
    H, m = 8, int(rng.integers(10, 1000))
    risks, log_term = rng.uniform(0.05, 0.4, H), np.log(2 * np.sqrt(m) / 0.01)
    q0, q = rng.dirichlet(np.ones(H), 2)
    L0 = risks @ q0
    r0 = float(kl_roots(L0, (q0 @ np.log(H * q0) + log_term) / m)[1])

    def excesses(q, r):
        in_risk = np.log(L0 / r0) - np.log((1 - L0) / (1 - r0))
        of_distance = np.log((1 - L0) / (1 - r0)) + (risks @ q) * in_risk + (r0 - L0) / (r0 * (1 - r0)) * (r - r0)
        divergence, of_divergence = ((q @ np.log(H * some) + log_term) / m for some in (q, q0))
        return divergence - of_distance, float(kl_divergence(risks @ q, r)) - of_divergence

    assert excesses(q0, r0) == pytest.approx((0.0, 0.0), abs=1e-12)
    for r in rng.uniform(risks @ q, 1.0, 20):
        assert sum(excesses(q, r)) >= q @ np.log(q / q0) / m - 1e-14
    # As printed the reverse constraint has no solution: the minus sign before kl reaches its first term only, and what
    # is left contradicts the other inequality.
    L, x = rng.uniform(0.01, 0.9), rng.exponential(0.05) + 1e-3
    r = np.linspace(L, 1.0, 1002)[1:-1]
    reverse = x - L * np.log(L / r) + (1 - L) * np.log((1 - L) / (1 - r))
    assert np.maximum(np.asarray(kl_divergence(L, r)) - x, reverse).min() > 0.0


@pytest.mark.parametrize("name", OTHERS)
def test_one_sided_round_is_a_fixed_point_step(name):
    risks, m = profile_risks(name, 50)
    f = get_distance("kl").bound_function(m, **PAPER)
    start = np.random.default_rng(0).exponential(size=50)
    start /= start.sum()
    step = gibbs_posterior(risks, f.ratio(risks @ start, start @ np.log(50 * start)))
    posterior = optimal_posterior(risks, m, method="ccp", start=start, max_iter=1, **PAPER)
    # A round minimises K + beta L, which is flat: an error of 1e-10 m in it is one of its root in the weights.
    np.testing.assert_allclose(posterior.weights, step, atol=np.sqrt(m * 1e-10))
    trace = optimal_posterior(risks, m, method="fixed-point", start=start, **PAPER).details["trace"]
    assert posterior.details["trace"] == pytest.approx(trace[:2], abs=1e-6)


@pytest.mark.parametrize("name", SEPARABLE)
@pytest.mark.parametrize("formulation", ["one-sided", "paper"])
def test_not_applicable_without_errors(name, formulation):
    risks, m = profile_risks(name, 50)
    posterior = optimal_posterior(risks, m, method="ccp", formulation=formulation, **PAPER)
    assert not posterior.converged
    assert posterior.details["status"] == "NA"
    assert posterior.message.startswith("not applicable: the average empirical risk of the start is zero")


@pytest.mark.parametrize(("options", "error", "match"), [
    ({"formulation": "two-sided"}, ValueError, "unknown formulation 'two-sided'; known are one-sided, paper"),
    ({"distance": "ch"}, ValueError, "method 'ccp' requires distance 'kl', got 'ch'"),
    ({"n_init": 0}, ValueError, "n_init must be at least 1"),
    ({"max_iter": 1.5}, TypeError, "max_iter must be an integer"),
    ({"n_init": 2, "start": "prior"}, ValueError, "requires start='random'"),
    ({"eps": 1e-3}, TypeError, "has no option 'eps'"),
])  # fmt: skip
def test_wrong_options(options, error, match):
    with pytest.raises(error, match=match):
        optimal_posterior([0.1, 0.2, 0.3], 100, method="ccp", **options)


@pytest.mark.parametrize("package", ["cvxpy", "clarabel"])
def test_missing_packages_are_named(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"method 'ccp' needs {package}, .*: pip install {package}$"):
        optimal_posterior([0.1, 0.2], 100, method="ccp")
