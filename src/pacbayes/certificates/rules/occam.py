"""Occam's bound: of all classifiers, each with the exact limit at its own share of delta, the one with the smallest."""

from dataclasses import dataclass

import numpy as np

from pacbayes.certificates.limits import risks_of, upper_limits
from pacbayes.classifiers.classifier_set import Errors
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.numeric.rounding import round_down, round_up, usual_float_errors


@dataclass(frozen=True)
class SingleBest:
    """The classifier with the smallest Occam bound, and the numbers behind it."""

    index: int
    bound: float
    empirical_risk: float
    kl: float


def best_single(errors: Errors | GroupErrors, m: int | Rows, delta: float, prior: FloatArray | None) -> SingleBest:
    """Return the classifier with the smallest Occam bound, the first of several.

    Where classifiers have different numbers `m` of validation examples, each limit is computed with its own.

    Examples
    --------
    >>> best = best_single(np.array([3, 2, 2]), 50, 0.05, np.array([0.9, 0.05, 0.05]))
    >>> best.index, round(best.bound, 4), round(best.kl, 4)
    (0, 0.1506, 0.1054)
    """
    shares = _shares(len(errors), prior)
    bounds = occam_limits(errors, m, delta, prior)
    best = int(np.argmin(np.where(shares > 0.0, bounds, np.inf)))
    kl = round_up(float(-np.log(shares[best])), 8.0) if shares[best] < 1.0 else 0.0
    size = m if isinstance(m, int) else m[best : best + 1]
    return SingleBest(best, float(bounds[best]), float(risks_of(errors[best : best + 1], size)[0]), kl)


def occam_limits(errors: Errors | GroupErrors, m: int | Rows, delta: float, prior: FloatArray | None) -> FloatArray:
    """Return the limit of every classifier at delta times its prior weight: all hold at once, shape (H,).

    Examples
    --------
    >>> occam_limits(np.array([3, 2, 2]), 50, 0.05, np.array([0.9, 0.05, 0.05])).round(4)
    array([0.1506, 0.1868, 0.1868])
    """
    return upper_limits(errors, m, occam_levels(len(errors), delta, prior))


def occam_levels(number: int, delta: float, prior: FloatArray | None) -> FloatArray:
    """Return delta times the prior weight of each of so many classifiers, rounded down.

    Examples
    --------
    >>> occam_levels(2, 0.05, None).round(4)
    array([0.025, 0.025])
    """
    with usual_float_errors():
        # Rounded down: a smaller level makes a larger limit.
        return np.maximum(round_down(delta * _shares(number, prior), 64.0), 0.0)


def _shares(number: int, prior: FloatArray | None) -> FloatArray:
    return np.full(number, 1.0 / number) if prior is None else prior / prior.sum()
