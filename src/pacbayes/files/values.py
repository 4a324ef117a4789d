"""Values of a model as JSON and arrays; other people's objects beside them."""

from collections.abc import Sequence
from typing import Any

from pacbayes._utils.values import Decoder, Encoder, Known, check_place
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.distances import get_distance
from pacbayes.certificates.decisions import Abstain, Threshold
from pacbayes.certificates.metric_bounds import Cost
from pacbayes.data.number_format import NumberFormat
from pacbayes.files.checks import RULES, check
from pacbayes.svm.kernel import Kernel, Scaling
from pacbayes.svm.one_vs_one import OneVsOnePaths, Pair
from pacbayes.svm.path import SVMPath
from pacbayes.svm.svm_classifier import SVMSettings

# Whose constructors check.
_CHECKED = (Abstain, Cost, Kernel, SVMSettings, OneVsOnePaths, NumberFormat, Pair, SVMPath, Scaling, Threshold)
# The classes a file may name, with their checks; nothing else is ever made from one.
KNOWN: Known = dict.fromkeys(_CHECKED) | dict.fromkeys(RULES, check)


class ModelEncoder(Encoder):
    """Gathers other people's objects, too.

    Examples
    --------
    >>> encoder = ModelEncoder()
    >>> encoder.encode((0.5, print))
    {'@': 'tuple', 'values': [0.5, {'@': 'object', 'number': 0}]}
    >>> encoder.objects
    [<built-in function print>]
    """

    def __init__(self) -> None:
        super().__init__(KNOWN)
        self.objects: list[Any] = []

    def encode_other(self, value: Any) -> Any:
        """Return a distance by its name, and the place of any other object."""
        if isinstance(value, Distance):
            return {"@": "Distance", "name": _known_name(value)}
        self.objects.append(value)
        return {"@": "object", "number": len(self.objects) - 1}


class ModelDecoder(Decoder):
    """Turns JSON back into values, given the arrays and the objects that it names.

    Examples
    --------
    >>> ModelDecoder([], []).decode({"@": "Kernel", "name": "rbf", "gamma": 0.5})
    Kernel(name='rbf', gamma=0.5)
    """

    def __init__(self, arrays: Sequence[Any], objects: Sequence[Any]) -> None:
        super().__init__(KNOWN, arrays)
        self._objects = objects

    def decode_other(self, kind: Any, inner: dict[str, Any]) -> Any:
        """Return the distance of a name, or the object of a place."""
        if kind not in ("Distance", "object"):
            return super().decode_other(kind, inner)
        (only,) = inner.values()
        return _distance(only) if kind == "Distance" else self._objects[check_place(only)]


def _distance(name: Any) -> Distance:
    if not isinstance(name, str):
        raise ValueError(f"a distance must have a name, got {name!r}")
    return get_distance(name)


def _known_name(distance: Distance) -> str:
    """Return the name by which a distance will be found again, or raise: a file holds no code."""
    try:
        if get_distance(distance.name) == distance:
            return distance.name
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"distance {distance!r} cannot be saved, for a file holds no code: make it known by its name with "
        "pacbayes.bounds.register_distance, here and where the model is loaded"
    )
