"""Methods that an estimator has under a condition; where not, an error that names the remedy."""

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any


class available:  # noqa: N801  (used as a decorator)
    """Make a method one that an object has only where `missing(object)` is None; else it is why, and what to do.

    scikit-learn's `available_if` does the same with a message of its own.

    Examples
    --------
    >>> class Door:
    ...     locked = True
    ...
    ...     @available(lambda self: "unlock the door first" if self.locked else None)
    ...     def enter(self):
    ...         return "inside"
    >>> hasattr(Door(), "enter")
    False
    >>> Door().enter()
    Traceback (most recent call last):
    AttributeError: 'Door' object has no attribute 'enter': unlock the door first
    """

    def __init__(self, missing: Callable[[Any], str | None]) -> None:
        self._missing = missing

    def __call__(self, method: Callable[..., Any]) -> "available":
        """Take the method."""
        self._method = method
        # The documentation reads name, signature and docstring here.
        update_wrapper(self, method)
        return self

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self._method
        why = self._missing(instance)
        if why is not None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._method.__name__!r}: {why}")
        return MethodType(self._method, instance)
