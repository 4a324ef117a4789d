"""The parameters of a classifier as a person reads them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

# Longer texts are cut: a parameter may be a list of a thousand settings.
_LONGEST = 600


def format_params(params: Mapping[str, Any]) -> str:
    """Return the parameters of a classifier as text.

    The names of a pipeline that was made here are those of its last step.

    Examples
    --------
    >>> format_params({"lambda": 0.1 + 0.2, "kernel": "rbf"}), format_params({"model__C": 10}), format_params({})
    ("lambda = 0.3, kernel = 'rbf'", 'C = 10', 'as it is')
    """
    shown = {name.removeprefix("model__"): value for name, value in params.items()}
    return (
        ", ".join(
            f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {format_value(value)}"
            for name, value in shown.items()
        )
        or "as it is"
    )


def format_value(value: Any) -> str:
    """Return any value as a text of bearable length.

    Examples
    --------
    >>> format_value(np.arange(0.1, 20, 0.1)), format_value("uniform"), format_value(len)
    ('199 values from 0.1 to 19.9', "'uniform'", 'builtins.len')
    """
    if isinstance(value, np.ndarray | list | tuple) and len(value) > 8:
        numbers = np.asarray(value) if all(isinstance(one, float | int | np.number) for one in value) else None
        if numbers is not None and numbers.ndim == 1:
            return f"{numbers.size} values from {numbers.min():.6g} to {numbers.max():.6g}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return cut(repr(value), _LONGEST)


def cut(text: str, longest: int) -> str:
    """Return a text, or its beginning with a remark on how long it was.

    Examples
    --------
    >>> cut("abcdef", 6), cut("abcdef", 3)
    ('abcdef', 'abc … (6 characters)')
    """
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text)} characters)"
