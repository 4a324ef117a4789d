"""The guarantee for one classifier, exactly: the binomial is summed, nothing is simulated."""

import warnings
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import DISTANCES, ClassifierSet, bound
from pacbayes.bounds import Catoni
from pacbayes.certificates import Plan, Posteriors, certify
from pacbayes.certificates.plan import without_hedge
from pacbayes.certificates.primary import prefit_rules

SIZES = [1, 2, 3, 5, 10, 30, 100]
DELTAS = [0.5, 0.1, 0.05, 0.01, 1e-4]


def worst_failure(bounds, m):
    """Largest probability, over all true risks, that the bound is below it.

    `bounds` holds the bound for k = 0..m errors.  As a function of the true risk the probability
    increases between the bounds' values, so it is largest just above one of them: the risks tried are
    those, and a grid.
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
def test_more_examples_than_the_bound_knows_of(distance):
    # The theorem for unequal sample sizes uses the least: with the risk on more examples it fails no more often.
    for least, m in [(1, 2), (1, 7), (3, 4), (10, 17), (30, 100)]:
        for delta in DELTAS:
            bounds = np.array([bound([1.0], [k / m], least, distance=distance, delta=delta) for k in range(m + 1)])
            assert worst_failure(bounds, m) <= delta


def test_the_check_catches_the_largest_sample_size_in_place_of_the_least():
    # Two classifiers, one of them measured on few rows: with the m of the other the bound fails.
    bounds = np.array([bound([1.0], [k / 5], 100, delta=0.05) for k in range(6)])
    assert worst_failure(bounds, 5) > 0.05


def fails_at_most(delta, bounds, m):
    """Return whether the probability is at most delta, which some bounds reach to all digits that SciPy's sums have."""
    found = worst_failure(bounds, m)
    return found <= delta or (found <= delta * (1 + 1e-9) and worst_failure_in_mp(bounds, m) <= delta)


def worst_failure_in_mp(bounds, m):
    """Return the same as `worst_failure` for bounds that rise with the count, without rounding errors."""
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


def test_one_classifier_may_choose_its_parameter_afterwards():
    """That is Chernoff's limit, equation (catoni-C), valid for one classifier; only among several it is not covered."""
    for m in SIZES:
        for delta in DELTAS:
            chosen = [Catoni.expecting(k / m, m, delta) if 0 < k < m else Catoni(50.0) for k in range(m + 1)]
            bounds = [bound([1.0], [k / m], m, distance=chosen[k], delta=delta) for k in range(m + 1)]
            assert fails_at_most(delta, np.array(bounds), m)


def test_the_check_catches_a_bound_without_its_complexity_term():
    for m in SIZES[1:]:
        assert worst_failure(np.arange(m + 1) / m, m) > 0.49


def test_the_check_catches_a_bound_for_another_delta():
    # kl is within a factor of its constant of the exact tail: asking for delta = 0.01 must not pass with delta = 0.9.
    failures = [worst_failure(bounds_for_each_count(m, "kl", 0.9, "exact"), m) for m in SIZES]
    assert max(failures) > 0.01


def limits_of_one_rule(m, level):
    """The limits of a single classifier that was proposed beforehand, by its errors among m rows."""
    limits = []
    for errors in range(m + 1):
        classifiers = ClassifierSet.from_predictions([np.arange(m) < errors], np.zeros(m, dtype=bool))
        plan = Plan(classifiers.splits, delta=level, hedge=0.0, fixed_rules=without_hedge(prefit_rules(0, 1)))
        predictions = replace(
            classifiers.predictions, rule_predictions=np.repeat(classifiers.predictions.y_pred, 3, axis=0)
        )
        limits.append(certify(plan, predictions, Posteriors())["best"].bound)
    return np.array(limits)


@pytest.mark.parametrize("level", [0.3, 0.05, 0.045, 1e-4])
@pytest.mark.parametrize("m", [1, 2, 7, 60, 284])
def test_the_limit_of_one_rule_fails_with_at_most_its_level(m, level):
    """Summed over the binomial distribution, on a grid of true risks that holds the limits themselves."""
    limits = limits_of_one_rule(m, level)
    assert limits[-1] == 1.0
    for risk in (*np.linspace(0.0, 1.0, 101), *limits, *np.nextafter(limits, 1.0)):
        failing = float(binom.pmf(np.flatnonzero(risk > limits), m, risk).sum())
        assert failing <= level * (1 + 1e-9)
