"""Outward rounding: results that a certificate rests on are moved away from the truth, never towards it."""

from typing import TypeVar

import numpy as np

from pacbayes._utils.arrays import FloatArray

EPS = float(np.finfo(np.float64).eps)
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
SMALLEST_NORMAL = float(np.finfo(np.float64).smallest_normal)

Number = TypeVar("Number", float, FloatArray)


def usual_float_errors() -> np.errstate:
    """Return a context in which NumPy treats floating-point errors as it does by default, whatever the caller has set.

    A product of small numbers that becomes zero is part of the arithmetic here, whose error bounds allow for it: under
    the caller's ``np.seterr(all="raise")`` it is no reason to stop.

    Examples
    --------
    >>> with np.errstate(all="raise"), usual_float_errors():
    ...     np.exp(np.array([-1e3]))
    array([0.])
    """
    return np.errstate(all="warn", under="ignore")


def round_up(value: Number, ulps: float = 4.0) -> Number:
    """Move a number up by `ulps` units in the last place.

    For a `value` computed with a relative error of at most ``ulps - 1`` units, the result is at
    least the exact value.  Infinity stays; subnormal numbers move by at least one unit.

    Examples
    --------
    >>> round_up(0.1) > 0.1, round_up(0.1) < 0.1 + 1e-15
    (True, True)
    """
    return value + (abs(value) * (ulps * EPS) + SMALLEST)


def round_down(value: Number, ulps: float = 4.0) -> Number:
    """Move a number down by `ulps` units in the last place; see `round_up`.

    Examples
    --------
    >>> round_down(0.1) < 0.1
    True
    """
    return value - (abs(value) * (ulps * EPS) + SMALLEST)


def difference_down(a: float, b: float) -> float:
    """Return a - b for non-negative numbers with relative errors of at most six units in the last place, rounded down.

    Examples
    --------
    >>> difference_down(0.3, 0.1) < 0.3 - 0.1
    True
    """
    return a - b - (8 * EPS * (a + b) + SMALLEST)
