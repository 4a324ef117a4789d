"""Encoding of a model as JSON and arrays; objects of other libraries are collected separately."""

from collections.abc import Sequence
from typing import Any

from pacbayes._utils.values import Decoder, Encoder, KnownTypes, check_part_index
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.distances import get_distance
from pacbayes.certificates.decisions import Abstain, PredictionSet, Threshold
from pacbayes.certificates.metric_bounds import Cost
from pacbayes.data.schema import NumberFormat
from pacbayes.files.checks import RULES, validate_value
from pacbayes.svm.kernel import Kernel, Scaling
from pacbayes.svm.one_vs_one import OneVsOnePaths, Pair
from pacbayes.svm.path import SVMPath
from pacbayes.svm.svm_classifier import SVMSettings

# Classes whose constructors check their values.
_SELF_VALIDATING = (
    *(Abstain, Cost, Kernel, SVMSettings, OneVsOnePaths, NumberFormat, Pair, PredictionSet, SVMPath, Scaling),
    Threshold,
)
# Classes that a file may contain, with their checks; all others are rejected.
KNOWN_CLASSES: KnownTypes = dict.fromkeys(_SELF_VALIDATING) | dict.fromkeys(RULES, validate_value)


class ModelEncoder(Encoder):
    """Encoder that also collects objects of other libraries.

    Examples
    --------
    >>> encoder = ModelEncoder()
    >>> encoder.encode((0.5, print))
    {'@': 'tuple', 'values': [0.5, {'@': 'object', 'number': 0}]}
    >>> encoder.objects
    [<built-in function print>]
    """

    def __init__(self) -> None:
        super().__init__(KNOWN_CLASSES)
        self.objects: list[Any] = []

    def encode_other(self, value: Any) -> Any:
        """Encode a distance by its name, and any other object by its index."""
        if isinstance(value, Distance):
            return {"@": "Distance", "name": _get_registered_name(value)}
        self.objects.append(value)
        return {"@": "object", "number": len(self.objects) - 1}


class ModelDecoder(Decoder):
    """Decoder of values from JSON, and the arrays and objects that it refers to.

    Examples
    --------
    >>> ModelDecoder([], []).decode({"@": "Kernel", "name": "rbf", "gamma": 0.5})
    Kernel(name='rbf', gamma=0.5)
    """

    def __init__(self, arrays: Sequence[Any], objects: Sequence[Any]) -> None:
        super().__init__(KNOWN_CLASSES, arrays)
        self._objects = objects

    def decode_other(self, kind: Any, inner: dict[str, Any]) -> Any:
        """Decode a distance from its name, or an object from its index."""
        if kind not in ("Distance", "object"):
            return super().decode_other(kind, inner)
        (only,) = inner.values()
        return _decode_distance(only) if kind == "Distance" else self._objects[check_part_index(only)]


def _decode_distance(name: Any) -> Distance:
    if not isinstance(name, str):
        raise ValueError(f"the name of a distance must be a string, got {name!r}")
    return get_distance(name)


def _get_registered_name(distance: Distance) -> str:
    """Look up the registered name of a distance; raise if there is none, because a file contains no code."""
    try:
        if get_distance(distance.name) == distance:
            return distance.name
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"distance {distance!r} cannot be saved, because a file contains no code: register it with "
        "pacbayes.bounds.register_distance, here and where the model is loaded"
    )
