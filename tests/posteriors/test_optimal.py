"""The door to all methods: wrong input, kinds of input."""

import math

import numpy as np
import pytest

from pacbayes import DISTANCES, optimal_posterior


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"risks": []}, ValueError, "risks must hold at least one"),
        ({"risks": [0.1, 2]}, ValueError, "risks must lie"),
        ({"risks": [0.1, math.nan]}, ValueError, "risks must lie"),
        ({"m": 0}, ValueError, "m must be at least 1"),
        ({"delta": 1}, ValueError, "delta must be strictly"),
        ({"prior": [1.0]}, ValueError, "prior must have one entry per risk"),
        ({"prior": [0.7, 0.7]}, ValueError, "prior must sum to 1, got 1.4"),
        ({"distance": "l1"}, ValueError, "unknown distance 'l1'"),
        ({"constant": "l1"}, ValueError, "unknown constant 'l1'"),
        (
            {"method": "newton"},
            ValueError,
            "unknown method 'newton'; known are certified, fixed-point, ordered-subsets",
        ),
        ({"method": None}, TypeError, "method must be a string"),
        ({"tol": 0}, ValueError, "tol must be positive, got 0"),
        ({"tol": math.nan}, ValueError, "tol must be positive, got nan"),
        ({"tol": "small"}, TypeError, "tol must be a number"),
        ({"start": "prior"}, TypeError, "method 'certified' has no option 'start'; its options are max_evaluations"),
        ({"method": "fixed-point", "size_tol": 1}, TypeError, "no option 'size_tol'; its options are start"),
    ],
)
def test_bad_input(changes, error, message):
    with pytest.raises(error, match=message):
        optimal_posterior(**({"risks": [0.1, 0.2], "m": 100} | changes))


def test_float32_and_pandas_like_input():
    exact = optimal_posterior([0.25, 0.5], 64)
    assert optimal_posterior(np.float32([0.25, 0.5]), np.int32(64)).bound == exact.bound
    assert optimal_posterior((0.25, 0.5), 64, prior=np.float32([0.5, 0.5])).bound == pytest.approx(
        exact.bound, rel=1e-12
    )


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_sample_size_for_each(distance):
    risks = np.array([3 / 40, 0.1, 11 / 70])
    equal, unequal = (optimal_posterior(risks, m, distance=distance) for m in ([40, 40, 40], [40, 50, 70]))
    least = optimal_posterior(risks, 40, distance=distance)
    for found in (equal, unequal):
        assert (found.m, found.bound, found.lower_bound) == (40, least.bound, least.lower_bound)
        assert found.weights.tolist() == least.weights.tolist()
