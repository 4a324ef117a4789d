"""How delta is divided: between bound and limits by class, proposal and reserve, rules, distances and classifiers.

Every share is rounded down, so that all of them together are at most delta: equation (hedge) and equation (by-class)
of docs/mathematics.md.  `Plan.rules` hands them out.  Occam's bound divides
one further, among single classifiers: each has its limit at the level times its prior weight, and the smallest counts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray, round_down, round_up, usual_float_errors
from pacbayes._utils.checks import check_number
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.ensemble.validation import ErrorCounts

AUTO = "auto"
# The share kept for what the validation rows may show, where the training rows propose something.
USUAL = 0.02


def check_hedge(hedge: Any) -> None:
    """Raise unless `hedge` is "auto" or a number from 0 to 1.

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


def resolve_hedge(hedge: Any, no_primary: str | None) -> float:
    """Return the share of delta that is kept; `no_primary` is why nothing is proposed, None where something is.

    Examples
    --------
    >>> resolve_hedge("auto", None), resolve_hedge("auto", "cv=None"), resolve_hedge(0, None)
    (0.02, 1.0, 0.0)
    >>> resolve_hedge(0.1, "cv=None leaves out the cross-validation that proposes")
    Traceback (most recent call last):
    ValueError: hedge must be 'auto' or 1 where nothing is proposed: cv=None leaves out the cross-validation that
    proposes; got 0.1
    """
    check_hedge(hedge)
    if isinstance(hedge, str):
        return USUAL if no_primary is None else 1.0
    if hedge < 1.0 and no_primary is not None:
        raise ValueError(f"hedge must be 'auto' or 1 where nothing is proposed: {no_primary}; got {hedge!r}")
    return float(hedge)


def primary_level(delta: float, hedge: float) -> float:
    """Return (1 - hedge) delta, rounded down: with all that `hedged_level` hands out it is at most delta.

    Examples
    --------
    >>> primary_level(0.05, 0.0), 0.9 * 0.05 - primary_level(0.05, 0.1) < 1e-16
    (0.05, True)
    """
    return delta if hedge == 0.0 else max(round_down((1.0 - hedge) * delta), 0.0)


def hedged_level(delta: float, hedge: float, number: int) -> float:
    """Return hedge delta / number, rounded down: what each of so many rules has that share the hedge.

    Examples
    --------
    >>> hedged_level(0.05, 1.0, 1), hedged_level(0.05, 0.1, 7) < 0.005 / 7
    (0.05, True)
    """
    return max(divide_delta(delta if hedge == 1.0 else round_down(hedge * delta), number), 0.0)


def divide_delta(delta: float, number: int) -> float:
    """Return delta / number, rounded down so that the shares never sum to more than delta.

    Examples
    --------
    >>> divide_delta(0.05, 1), divide_delta(0.06, 3) < 0.02
    (0.05, True)
    """
    return delta if number == 1 else round_down(delta / number)


def main_level(level: float, share: float) -> float:
    """Level of the main bound, (1 - share) * level, rounded down.

    Together with the levels of `level_per_bound` it is at most `level`.

    Examples
    --------
    >>> main_level(0.05, 0.0), main_level(0.05, 0.2) <= 0.04
    (0.05, True)
    """
    return level if share == 0.0 else max(round_down((1.0 - share) * level), 0.0)


def level_per_bound(level: float, share: float, number: int) -> float:
    """Return share times a level over the number of limits, rounded down.

    Examples
    --------
    >>> level_per_bound(0.05, 0.2, 2) <= 0.005
    True
    """
    return max(round_down(share * level / number, 8.0), 0.0)


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


def upper_of(count: int, rows: int, level: float) -> float:
    """Return the exact upper limit of a probability from counts; 1 without rows.

    Examples
    --------
    >>> round(upper_of(2, 40, 0.05), 4), upper_of(0, 0, 0.05)
    (0.1492, 1.0)
    """
    return 1.0 if rows == 0 else float(binomial_upper(count, rows, level))


def lower_of(count: int, rows: int, level: float) -> float:
    """Return the exact lower limit of a probability from counts: one less the upper limit of its opposite.

    Examples
    --------
    >>> round(lower_of(38, 40, 0.05), 4), lower_of(0, 0, 0.05)
    (0.8508, 0.0)
    """
    return max(round_down(1.0 - upper_of(rows - count, rows, level)), 0.0)


@dataclass(frozen=True)
class SingleBest:
    """The classifier with the smallest Occam bound, and the numbers behind it."""

    index: int
    bound: float
    empirical_risk: float
    kl: float


def best_single(counted: ErrorCounts, delta: float, prior: FloatArray | None) -> SingleBest:
    """Return the classifier with the smallest Occam bound, the first of several.

    Each has its limit at delta times its prior weight.

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


def plain(name: Any) -> Any:
    """Return a name as a plain Python value, ready for JSON."""
    return name.item() if isinstance(name, np.generic) else name
