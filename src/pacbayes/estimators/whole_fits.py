"""A fit that fails leaves nothing of it, and nothing of an earlier one, on the estimator."""

from collections.abc import Callable
from functools import wraps
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
