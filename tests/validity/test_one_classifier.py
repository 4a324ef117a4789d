"""The guarantee for one classifier, exactly: the binomial is summed, nothing is simulated."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import DISTANCES, bound

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
        warnings.filterwarnings("ignore", "the paper's constant of ch at m = 1")  # tested in test_ch.py
        return np.array(
            [bound([1.0], [k / m], m, distance=distance, delta=delta, constant=constant) for k in range(m + 1)]
        )


@pytest.mark.parametrize("constant", ["exact", "paper"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_failure_probability_is_at_most_delta(distance, constant):
    for m in SIZES:
        for delta in DELTAS:
            assert worst_failure(bounds_for_each_count(m, distance, delta, constant), m) <= delta


def test_the_check_catches_a_bound_without_its_complexity_term():
    for m in SIZES[1:]:
        assert worst_failure(np.arange(m + 1) / m, m) > 0.49


def test_the_check_catches_a_bound_for_another_delta():
    # kl is within a factor of its constant of the exact tail: asking for delta = 0.01 must not pass with delta = 0.9.
    failures = [worst_failure(bounds_for_each_count(m, "kl", 0.9, "exact"), m) for m in SIZES]
    assert max(failures) > 0.01
