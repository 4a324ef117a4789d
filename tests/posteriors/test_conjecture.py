"""The paper's quasi-convexity conjecture is false: explicit triples in arbitrary precision, and the example's table."""

import runpy
from pathlib import Path

import mpmath as mp
import pytest
from tests import oracles

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "conjecture.py"))


def bound_at(case, mass):
    """Bound of the posterior with this mass on the single classifier, by definition."""
    s, H = mp.mpf(mass), case.H
    L = s * mp.mpf(case.a) + (1 - s) * mp.mpf(case.b)
    K = (s * mp.log(s * H) if s > 0 else 0) + ((1 - s) * mp.log((1 - s) * H / (H - 1)) if s < 1 else 0)
    log_i = oracles.log_constant(case.distance, case.m, case.constant)
    return oracles.bound_from(case.distance, L, K, case.m, case.delta, log_i)


# distance, mass of Q, mass of Q', alpha
TRIPLES = [
    ("squared", "0.0817", "0.8662", "0.376"),
    ("pinsker", "0.0796", "0.9884", "0.823"),
    ("ch", "0.0419", "0.9778", "0.584"),
    ("kl", "0.1641", "1", "0.301"),
]


@pytest.mark.parametrize(("distance", "q", "other", "alpha"), TRIPLES)
def test_a_mixture_is_worse_than_both_ends(distance, q, other, alpha):
    case = next(c for c in EXAMPLE["CASES"] if c.distance == distance)
    q, other, alpha = mp.mpf(q), mp.mpf(other), mp.mpf(alpha)
    mixture = alpha * q + (1 - alpha) * other
    assert bound_at(case, mixture) > max(bound_at(case, q), bound_at(case, other)) + mp.mpf("1e-4")


@pytest.mark.parametrize("case", EXAMPLE["CASES"] + EXAMPLE["SMALLEST"], ids=str)
def test_every_case_has_two_minima(case):
    kinds = [kind for kind, _, _ in EXAMPLE["stationary_points"](case)]
    assert kinds == ["minimum", "maximum", "minimum"]


def test_documented_numbers_are_those_of_the_example():
    text = (Path(__file__).parents[2] / "docs" / "conjecture.md").read_text()
    for case in EXAMPLE["CASES"]:
        for _, z, value in EXAMPLE["stationary_points"](case):
            assert f"{value:.6f}" in text
            beta = EXAMPLE["BoundOnLine"](case).beta(z)
            assert f"β = {beta:.2f}" in text or f"β = {'∞'}" in text
