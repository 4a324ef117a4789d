"""Values that are computed when they are first asked for, and kept."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801  # used like functools.cached_property
    """`functools.cached_property` as Python 3.12 has it: that of 3.11 computes under a lock of all instances.

    Threads waited there for each other's values, and a process that was forked meanwhile waited for ever.

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
        """Compute the value and keep it where it is found before this descriptor."""
        if instance is None:
            return self
        value = self._compute(instance)
        # Not by setattr, which frozen instances refuse.
        instance.__dict__[self._name] = value
        return value
