"""The guarantee for a single classifier, by exact sums over the binomial distribution."""

import warnings
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import DISTANCES, ClassifierSet, bound
from pacbayes.bounds import Catoni
from pacbayes.certificates import Plan, Posteriors, certify
from pacbayes.certificates.plan import select_primary_rules
from pacbayes.certificates.primary import prefit_rules

SIZES = [1, 2, 3, 5, 10, 30, 100]
DELTAS = [0.5, 0.1, 0.05, 0.01, 1e-4]


def worst_failure(bounds, m):
    """Largest probability, over all true risks, that the bound is below the risk.

    `bounds` has the bound for k = 0, ..., m errors.  Between bounds the probability increases with the true risk, so
    it is largest just above a bound: these risks are evaluated, and a grid.
    """
    risks = np.concatenate([np.nextafter(bounds, 2.0), np.linspace(0, 1, 201), 1 - np.nextafter(bounds, 2.0)])
    risks = risks[(risks >= 0) & (risks <= 1)]
    probabilities = binom.pmf(np.arange(m + 1), m, risks[:, None])
    return float((probabilities * (bounds < risks[:, None])).sum(axis=1).max())


def bounds_for_each_count(m, distance, delta, constant):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the paper's constant of ch at m = 1")  # tested in test_constants.py
        return np.array(
            [bound([1.0], [k / m], m, distance=distance, delta=delta, constant=constant) for k in range(m + 1)]
        )


@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_failure_probability_is_at_most_delta(distance, constant):
    for m in SIZES:
        for delta in DELTAS:
            assert worst_failure(bounds_for_each_count(m, distance, delta, constant), m) <= delta


@pytest.mark.parametrize("distance", [*DISTANCES, Catoni(1.0)])
def test_more_examples_than_the_sample_size_of_the_bound(distance):
    # The theorem for unequal sample sizes uses the smallest: risks on more examples fail no more often.
    for least, m in [(1, 2), (1, 7), (3, 4), (10, 17), (30, 100)]:
        for delta in DELTAS:
            bounds = np.array([bound([1.0], [k / m], least, distance=distance, delta=delta) for k in range(m + 1)])
            assert worst_failure(bounds, m) <= delta


def test_the_largest_sample_size_instead_of_the_smallest_is_caught():
    bounds = np.array([bound([1.0], [k / 5], 100, delta=0.05) for k in range(6)])
    assert worst_failure(bounds, 5) > 0.05


def fails_at_most(delta, bounds, m):
    """Whether the probability is at most delta; bounds that attain delta are summed with mpmath."""
    worst = worst_failure(bounds, m)
    return worst <= delta or (worst <= delta * (1 + 1e-9) and worst_failure_in_mp(bounds, m) <= delta)


def worst_failure_in_mp(bounds, m):
    """`worst_failure` of increasing bounds without rounding errors."""
    assert (np.diff(bounds) >= 0.0).all()
    worst = mp.mpf(0)
    for k in range(m):
        risk = mp.mpf(float(np.nextafter(bounds[k], 2.0)))
        if risk <= 1:
            terms = (mp.binomial(m, j) * risk**j * (1 - risk) ** (m - j) for j in range(k + 1))
            worst = max(worst, mp.fsum(terms))
    return worst


@pytest.mark.parametrize("C", [1e-3, 0.05, 0.3, 1.0, 4.0, 50.0])
def test_failure_probability_of_catoni_is_at_most_delta(C):
    for m in SIZES:
        for delta in DELTAS:
            assert fails_at_most(delta, bounds_for_each_count(m, Catoni(C), delta, "exact"), m)


def test_the_parameter_of_a_single_classifier_may_be_chosen_afterwards():
    """This is the Chernoff bound, equation (catoni-C), valid for a single classifier but not for several."""
    for m in SIZES:
        for delta in DELTAS:
            chosen = [Catoni.expecting(k / m, m, delta) if 0 < k < m else Catoni(50.0) for k in range(m + 1)]
            bounds = [bound([1.0], [k / m], m, distance=chosen[k], delta=delta) for k in range(m + 1)]
            assert fails_at_most(delta, np.array(bounds), m)


def test_a_bound_without_its_complexity_term_is_caught():
    for m in SIZES[1:]:
        assert worst_failure(np.arange(m + 1) / m, m) > 0.49


def test_a_bound_for_another_delta_is_caught():
    # kl is within a factor of its constant of the exact tail.
    failures = [worst_failure(bounds_for_each_count(m, "kl", 0.9, "exact"), m) for m in SIZES]
    assert max(failures) > 0.01


def bounds_of_a_primary_rule(m, level):
    """Bounds of a single primary classifier, by its errors among m rows."""
    bounds = []
    for errors in range(m + 1):
        classifiers = ClassifierSet.from_predictions([np.arange(m) < errors], np.zeros(m, dtype=bool))
        plan = Plan(classifiers.splits, delta=level, hedge=0.0, fixed_rules=select_primary_rules(prefit_rules(0, 1)))
        predictions = replace(
            classifiers.predictions, rule_predictions=np.repeat(classifiers.predictions.y_pred, 3, axis=0)
        )
        bounds.append(certify(plan, predictions, Posteriors())["best"].bound)
    return np.array(bounds)


@pytest.mark.parametrize("level", [0.3, 0.05, 0.045, 1e-4])
@pytest.mark.parametrize("m", [1, 2, 7, 60, 284])
def test_the_bound_of_a_primary_rule_fails_with_at_most_its_level(m, level):
    """Exact sums on a grid of true risks that contains the bounds."""
    bounds = bounds_of_a_primary_rule(m, level)
    assert bounds[-1] == 1.0
    for risk in (*np.linspace(0.0, 1.0, 101), *bounds, *np.nextafter(bounds, 1.0)):
        failure = float(binom.pmf(np.flatnonzero(risk > bounds), m, risk).sum())
        assert failure <= level * (1 + 1e-9)
