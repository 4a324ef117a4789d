"""Division of delta: main bound and metrics, primary rule and hedge, rules, distances, classifiers.

Every share is rounded down, so that their sum is at most delta: equation (hedge) and equation (by-class) of
docs/mathematics.md.  `Plan.levels` contains the shares of the rules.  The Occam bound divides its share further, among
the classifiers by their prior weights.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray, default_errstate, round_down, round_up
from pacbayes._utils.checks import check_number
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.ensemble.validation import ErrorCounts

AUTO = "auto"
# Default hedge with a primary rule.
DEFAULT_HEDGE = 0.02


def check_hedge(hedge: Any) -> None:
    """Validate `hedge`: "auto" or a number from 0 to 1.

    Examples
    --------
    >>> check_hedge("auto"), check_hedge(0.1)
    (None, None)
    >>> check_hedge(2)
    Traceback (most recent call last):
    ValueError: hedge must lie in [0, 1] or be 'auto', got 2
    """
    if isinstance(hedge, str):
        if hedge != AUTO:
            raise ValueError(f"hedge must be 'auto' or a number from 0 to 1, got {hedge!r}")
    elif not 0.0 <= check_number("hedge", hedge, "'auto' or a number from 0 to 1") <= 1.0:
        raise ValueError(f"hedge must lie in [0, 1] or be 'auto', got {hedge!r}")


def resolve_hedge(hedge: Any, why_no_primary: str | None) -> float:
    """Resolve the hedge; `why_no_primary` is the reason why there is no primary rule, or None.

    Examples
    --------
    >>> resolve_hedge("auto", None), resolve_hedge("auto", "cv=None"), resolve_hedge(0, None)
    (0.02, 1.0, 0.0)
    >>> resolve_hedge(0.1, "cv=None")
    Traceback (most recent call last):
    ValueError: hedge must be 'auto' or 1 without a primary rule: cv=None; got 0.1
    """
    check_hedge(hedge)
    if isinstance(hedge, str):
        return DEFAULT_HEDGE if why_no_primary is None else 1.0
    if hedge < 1.0 and why_no_primary is not None:
        raise ValueError(f"hedge must be 'auto' or 1 without a primary rule: {why_no_primary}; got {hedge!r}")
    return float(hedge)


def primary_level(delta: float, hedge: float) -> float:
    """Level of the primary rule, (1 - hedge) delta, rounded down.

    The sum of this level and those of `hedged_level` is at most delta.

    Examples
    --------
    >>> primary_level(0.05, 0.0), 0.9 * 0.05 - primary_level(0.05, 0.1) < 1e-16
    (0.05, True)
    """
    return delta if hedge == 0.0 else max(round_down((1.0 - hedge) * delta), 0.0)


def hedged_level(delta: float, hedge: float, number: int) -> float:
    """Level of each of `number` rules that share the hedge, hedge delta / number, rounded down.

    Examples
    --------
    >>> hedged_level(0.05, 1.0, 1), hedged_level(0.05, 0.1, 7) < 0.005 / 7
    (0.05, True)
    """
    return divide_delta(delta if hedge == 1.0 else max(round_down(hedge * delta), 0.0), number)


def divide_delta(delta: float, number: int) -> float:
    """Divide delta equally, rounded down so that the sum is at most delta.

    Examples
    --------
    >>> divide_delta(0.05, 1), divide_delta(0.06, 3) < 0.02
    (0.05, True)
    """
    return delta if number == 1 else max(round_down(delta / number), 0.0)


def main_level(level: float, share: float) -> float:
    """Level of the main bound beside metrics, (1 - share) level, rounded down.

    The sum of this level and those of `level_per_bound` is at most `level`.

    Examples
    --------
    >>> main_level(0.05, 0.0), main_level(0.05, 0.2) <= 0.04
    (0.05, True)
    """
    return level if share == 0.0 else max(round_down((1.0 - share) * level), 0.0)


def level_per_bound(level: float, share: float, number: int) -> float:
    """Level of each of `number` metric bounds, share level / number, rounded down.

    Examples
    --------
    >>> level_per_bound(0.05, 0.2, 2) <= 0.005
    True
    """
    return max(round_down(share * level / number, 8.0), 0.0)


def occam_levels(number: int, delta: float, prior: FloatArray | None) -> FloatArray:
    """Level of each classifier in the Occam bound, delta times its prior weight, rounded down.

    Examples
    --------
    >>> occam_levels(2, 0.05, None).round(4)
    array([0.025, 0.025])
    """
    with default_errstate():
        # Rounded down: a smaller level gives a larger bound.
        return np.maximum(round_down(delta * prior_shares(number, prior), 64.0), 0.0)


def prior_shares(number: int, prior: FloatArray | None) -> FloatArray:
    """Normalise the prior weights; None is the uniform prior."""
    return np.full(number, 1.0 / number) if prior is None else prior / prior.sum()


def clopper_pearson_upper(count: int, rows: int, level: float) -> float:
    """Clopper-Pearson upper bound from counts; 1 without rows.

    Examples
    --------
    >>> round(clopper_pearson_upper(2, 40, 0.05), 4), clopper_pearson_upper(0, 0, 0.05)
    (0.1492, 1.0)
    """
    return 1.0 if rows == 0 else float(binomial_upper(count, rows, level))


def clopper_pearson_lower(count: int, rows: int, level: float) -> float:
    """Clopper-Pearson lower bound from counts, 1 minus the upper bound of the complement; 0 without rows.

    Examples
    --------
    >>> round(clopper_pearson_lower(38, 40, 0.05), 4), clopper_pearson_lower(0, 0, 0.05)
    (0.8508, 0.0)
    """
    return max(round_down(1.0 - clopper_pearson_upper(rows - count, rows, level)), 0.0)


@dataclass(frozen=True)
class SingleBest:
    """Classifier with the smallest Occam bound."""

    index: int
    bound: float
    empirical_risk: float
    kl: float


def best_single(counted: ErrorCounts, delta: float, prior: FloatArray | None) -> SingleBest:
    """Find the classifier with the smallest Occam bound (the first in case of ties).

    The bound of each classifier is at delta times its prior weight.

    Examples
    --------
    >>> counted = ErrorCounts(np.array([[3], [2], [2]]), None, 50)
    >>> best = best_single(counted, 0.05, np.array([0.9, 0.05, 0.05]))
    >>> best.index, round(best.bound, 4), round(best.kl, 4)
    (0, 0.1506, 0.1054)
    """
    shares = prior_shares(len(counted), prior)
    bounds = counted.upper(occam_levels(len(counted), delta, prior))
    best = int(np.argmin(np.where(shares > 0.0, bounds, np.inf)))
    kl = round_up(float(-np.log(shares[best])), 8.0) if shares[best] < 1.0 else 0.0
    return SingleBest(best, float(bounds[best]), float(counted.risks[best]), kl)


def to_python_scalar(name: Any) -> Any:
    """Convert a NumPy scalar to a Python object."""
    return name.item() if isinstance(name, np.generic) else name
