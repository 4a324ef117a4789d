"""Labels of one kind: numbers are never compared with strings, nor with numbers that cannot tell them apart."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text"}
# Beyond this, two whole numbers may be one double.
_EXACT = 2**53


def check_same_kind(name: str, predictions: NDArray[Any], labels: NDArray[Any], other: str = "y_val") -> None:
    """Raise if labels would be compared that can never be equal, or that are equal only because digits are lost.

    In the first case every prediction would count as an error, in the second errors would count as hits.

    Examples
    --------
    >>> check_same_kind("predictions", np.array([2.0**53]), np.array([2**53 + 1]))
    Traceback (most recent call last):
    TypeError: predictions must be whole numbers, since those of y_val have more digits than float64, got float64
    """
    known = _kinds_of(labels)
    unknown = sorted(_kinds_of(predictions) - known)
    if unknown:
        found = predictions.dtype if predictions.dtype != object else ", ".join(unknown)
        raise TypeError(f"{name} must be labels like those of {other} ({labels.dtype}), got {found}")
    rounded = predictions.dtype.kind == "f" and labels.dtype.kind in "iu" and labels.size > 0
    if rounded and max(int(labels.max()), -int(labels.min())) > _EXACT:
        raise TypeError(
            f"{name} must be whole numbers, since those of {other} have more digits than float64, "
            f"got {predictions.dtype}"
        )


def _kinds_of(labels: NDArray[Any]) -> set[str]:
    """Return what the labels are: "numbers", "text", or the names of other types.

    Examples
    --------
    >>> _kinds_of(np.array([1, True])), sorted(_kinds_of(np.array(["a", None, 2.0], dtype=object)))
    ({'numbers'}, ['NoneType', 'numbers', 'text'])
    """
    kind = labels.dtype.kind
    if kind in _KINDS:  # asked for every classifier: the name of a type takes longer than all the rest
        return {_KINDS[kind]}
    if kind != "O":
        return {str(labels.dtype)}
    types = set(map(type, labels.ravel().tolist()))
    return {
        "text" if issubclass(kind, str) else "numbers" if issubclass(kind, Real | np.bool_) else kind.__name__
        for kind in types
    }
