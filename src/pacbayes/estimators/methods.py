"""Methods with habits: a fit that leaves all or nothing, and methods that are there under a condition."""

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])
# What a fit keeps beside its public attributes; scikit-learn has private ones of its own on every estimator.
STATE = "_fitted"


def forget_fit(estimator: Any) -> None:
    """Drop all that a fit left on an estimator: names that end as fitted ones do, and what certificates rest on."""
    for name in [name for name in vars(estimator) if name.endswith("_") or name == STATE]:
        del estimator.__dict__[name]


def whole_or_not_at_all(fit: Fit) -> Fit:
    """Return a method `fit` that leaves nothing behind if it fails, but for what was there if it had not begun."""

    @wraps(fit)
    def whole(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = estimator.__dict__.get("certificates_")
        try:
            return fit(estimator, *args, **kwargs)
        except BaseException:
            # Wrong parameters are refused before an earlier fit is forgotten; it then stays as it was.
            if before is None or estimator.__dict__.get("certificates_") is not before:
                forget_fit(estimator)
            raise

    return cast(Fit, whole)


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
