"""Array types, outward rounding, and a cached property without a lock."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
#: Integer arrays: row indices, or one integer per row (class codes, folds, groups).
Rows = NDArray[np.int64]
#: Indices of classes or classifiers.
Codes = NDArray[np.intp]
#: Class labels of any type.
Labels = NDArray[Any]

# Outward rounding: every number that a certificate depends on is rounded conservatively.
EPS = float(np.finfo(np.float64).eps)
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
SMALLEST_NORMAL = float(np.finfo(np.float64).smallest_normal)

Number = TypeVar("Number", float, FloatArray)


def default_errstate() -> np.errstate:
    """Context manager that restores NumPy's default handling of floating-point errors.

    Underflow is expected and error bounds account for it, so it must not raise if the caller has set
    ``np.seterr(all="raise")``.

    Examples
    --------
    >>> with np.errstate(all="raise"), default_errstate():
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


def subtract_down(a: float, b: float) -> float:
    """Lower bound on ``a - b`` for non-negative numbers with relative errors of at most six units in the last place.

    Examples
    --------
    >>> subtract_down(0.3, 0.1) < 0.3 - 0.1
    True
    """
    return a - b - (8 * EPS * (a + b) + SMALLEST)


Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801  # used like functools.cached_property
    """Backport of `functools.cached_property` from Python 3.12, which does not lock.

    The lock of Python 3.11 is shared by all instances: threads wait for each other, and forked processes can deadlock.

    Examples
    --------
    >>> class Square:
    ...     @cached_property
    ...     def area(self) -> int:
    ...         print("computed")
    ...         return 4
    >>> square = Square()
    >>> square.area, square.area
    computed
    (4, 4)
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute, self._name = compute, compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        """Compute the value and store it in the instance, which bypasses this descriptor from then on."""
        if instance is None:
            return self
        value = self._compute(instance)
        # Frozen dataclasses reject `setattr`.
        instance.__dict__[self._name] = value
        return value
