"""Occam's bound: of all classifiers, each with its limit at a level times its prior weight, the one with the smallest.

The level is that of the rule (`Plan.rules`); for the baseline it is all that bounds have.
"""

from dataclasses import dataclass

import numpy as np

from pacbayes.classifiers.counted import Counted
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.rounding import round_down, round_up, usual_float_errors


def occam_levels(number: int, delta: float, prior: FloatArray | None) -> FloatArray:
    """Return delta times the prior weight of each of so many classifiers, rounded down.

    Examples
    --------
    >>> occam_levels(2, 0.05, None).round(4)
    array([0.025, 0.025])
    """
    with usual_float_errors():
        # Rounded down: a smaller level makes a larger limit.
        return np.maximum(round_down(delta * prior_shares(number, prior), 64.0), 0.0)


def prior_shares(number: int, prior: FloatArray | None) -> FloatArray:
    """Return the prior weights of so many classifiers, with the sum one; None stands for equal ones."""
    return np.full(number, 1.0 / number) if prior is None else prior / prior.sum()


@dataclass(frozen=True)
class SingleBest:
    """The classifier with the smallest Occam bound, and the numbers behind it."""

    index: int
    bound: float
    empirical_risk: float
    kl: float


def best_single(counted: Counted, delta: float, prior: FloatArray | None) -> SingleBest:
    """Return the classifier with the smallest Occam bound, the first of several.

    Each has its limit at delta times its prior weight, from its own number of validation examples.

    Examples
    --------
    >>> counted = Counted(np.array([[3], [2], [2]]), None, np.array([50, 50, 50]))
    >>> best = best_single(counted, 0.05, np.array([0.9, 0.05, 0.05]))
    >>> best.index, round(best.bound, 4), round(best.kl, 4)
    (0, 0.1506, 0.1054)
    """
    shares = prior_shares(len(counted), prior)
    bounds = counted.upper(occam_levels(len(counted), delta, prior))
    best = int(np.argmin(np.where(shares > 0.0, bounds, np.inf)))
    kl = round_up(float(-np.log(shares[best])), 8.0) if shares[best] < 1.0 else 0.0
    return SingleBest(best, float(bounds[best]), float(counted.risks[best]), kl)
