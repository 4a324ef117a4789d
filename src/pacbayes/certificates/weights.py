"""Weights of classifiers in whole multiples of 2^-52: their sums are exact in double precision, in any order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import need, need_array
from pacbayes.numeric.rounding import usual_float_errors

#: Weights as whole numbers with the sum 2^52.
Counts = NDArray[np.int64]

BITS = 52


def integer_weights(weights: FloatArray) -> Counts:
    """Return weights as whole multiples of 2^-52 with the sum 2^52; the largest takes up what rounding leaves.

    Examples
    --------
    >>> parts = integer_weights(np.array([0.3, 0.7, 0.0]))
    >>> int(parts.sum()) == 2**52, int(parts[2])
    (True, 0)
    """
    with usual_float_errors():
        parts: Counts = np.rint(np.ldexp(weights / weights.sum(), BITS)).astype(np.int64)
    parts[np.argmax(parts)] += 2**BITS - int(parts.sum())
    return parts


def weights_of(parts: Counts) -> FloatArray:
    """Return the weights that the whole parts are, exactly."""
    return np.ldexp(parts.astype(np.float64), -BITS)


def parts_of_one(index: int, number: int) -> Counts:
    """Return the weights of a single classifier among so many, in whole multiples of 2^-52."""
    parts = np.zeros(number, dtype=np.int64)
    parts[index] = 2**BITS
    return parts


def check_parts(parts: Any, name: str) -> None:
    """Raise unless weights are whole multiples of 2^-52 with the sum one."""
    need_array(parts, name, "i", (None,))
    inside = parts.size > 0 and bool((parts >= 0).all() and (parts <= 2**BITS).all())
    need(inside and sum(parts.tolist()) == 2**BITS, name, "must be whole multiples of 2^-52 with the sum one")
