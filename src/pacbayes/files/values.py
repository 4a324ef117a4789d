"""Our own values as JSON and arrays, and back by their checked constructors; other people's objects beside them."""

import io
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.lib import format as npy

from pacbayes.bounds.distance import Distance
from pacbayes.bounds.registry import get_distance
from pacbayes.certificates.limits import Cost
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.refit import Refit
from pacbayes.certificates.risks import Question
from pacbayes.certificates.target import Thresholds
from pacbayes.certificates.threshold import Abstain, Cuts, Threshold
from pacbayes.certificates.voting import Rule
from pacbayes.classifiers.calibration import Calibration
from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.classifiers.evidence import Evidence
from pacbayes.classifiers.joined import Joined
from pacbayes.classifiers.members import Calibrated, Estimators
from pacbayes.classifiers.svm.kernel import Kernel, Scaling
from pacbayes.classifiers.svm.machines import Machines, Pair
from pacbayes.classifiers.svm.path import SVMPath
from pacbayes.classifiers.svm.shared import SharedMachines
from pacbayes.classifiers.svm.svm_classifier import MachineSettings
from pacbayes.data.division import Division
from pacbayes.data.number_signs import NumberSigns
from pacbayes.data.tables import TableReading, TextColumn

# The classes a file may name; nothing else is ever made from one.
KNOWN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Abstain,
        Calibrated,
        Calibration,
        Cost,
        CrossValidation,
        Cuts,
        Division,
        Estimators,
        Evidence,
        Joined,
        Kernel,
        MachineSettings,
        Machines,
        NumberSigns,
        Pair,
        Plan,
        Question,
        Refit,
        Rule,
        SVMPath,
        Scaling,
        SharedMachines,
        TableReading,
        TextColumn,
        Threshold,
        Thresholds,
    )
}
# Dicts with this name are no plain dicts but what stands behind it.
_KIND = "@"
_PLAIN = (str, int, float, bool)


class Encoder:
    """Turns values into JSON, and gathers the arrays and the other people's objects in them.

    Examples
    --------
    >>> encoder = Encoder()
    >>> encoder.encode(Kernel("rbf", 0.5))
    {'@': 'Kernel', 'name': 'rbf', 'gamma': 0.5}
    >>> encoder.encode(np.arange(3)), len(encoder.arrays)
    ({'@': 'array', 'number': 0}, 1)
    """

    def __init__(self) -> None:
        self.arrays: list[bytes] = []
        self.objects: list[Any] = []

    def encode(self, value: Any) -> Any:
        """Return a value as JSON holds it."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value) in (str, int, bool):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {_KIND: "float", "value": repr(value)}
        if type(value) is list:
            return [self.encode(one) for one in value]
        if type(value) is tuple:
            return {_KIND: "tuple", "values": [self.encode(one) for one in value]}
        if type(value) is dict:
            pairs = [[self.encode(name), self.encode(one)] for name, one in value.items()]
            return {_KIND: "dict", "pairs": pairs}
        if type(value) is np.ndarray:
            return self._array(value)
        if type(value).__name__ in KNOWN and type(value) is KNOWN[type(value).__name__]:
            own = {field.name: self.encode(getattr(value, field.name)) for field in fields(value)}
            return {_KIND: type(value).__name__, **own}
        if isinstance(value, Distance):
            return {_KIND: "Distance", "name": _known_name(value)}
        return self._object(value)

    def _array(self, array: Any) -> Any:
        if array.dtype.kind in "biufU":
            file = io.BytesIO()
            npy.write_array(file, np.ascontiguousarray(array) if array.ndim else array, allow_pickle=False)
            self.arrays.append(file.getvalue())
            return {_KIND: "array", "number": len(self.arrays) - 1}
        if array.dtype == object and array.ndim == 1 and all(type(one) in _PLAIN for one in array.tolist()):
            return {_KIND: "objects", "values": [self.encode(one) for one in array.tolist()]}
        return self._object(array)

    def _object(self, value: Any) -> Any:
        self.objects.append(value)
        return {_KIND: "object", "number": len(self.objects) - 1}


class Decoder:
    """Turns JSON back into values, given the arrays and the objects that it names.

    Examples
    --------
    >>> Decoder([], []).decode({"@": "Kernel", "name": "rbf", "gamma": 0.5})
    Kernel(name='rbf', gamma=0.5)
    >>> Decoder([], []).decode({"@": "Popen"})
    Traceback (most recent call last):
    ValueError: the file names 'Popen', which is no part of a saved model
    """

    def __init__(self, arrays: Sequence[bytes], objects: Sequence[Any]) -> None:
        self._arrays, self._objects = arrays, objects
        self._named: set[int] = set()

    def decode(self, value: Any) -> Any:
        """Return what was encoded, or raise `ValueError` for what this version does not know, or what cannot be."""
        if isinstance(value, list):
            return [self.decode(one) for one in value]
        if not isinstance(value, dict):
            return value
        inner = dict(value)
        kind = inner.pop(_KIND, None)
        made = {
            "array": self._array,
            "objects": _objects,
            "object": self._object,
            "Distance": _distance,
            "float": float,
        }
        if kind == "tuple":
            return tuple(self.decode(inner["values"]))
        if kind == "dict":
            return {self.decode(name): self.decode(one) for name, one in inner["pairs"]}
        if kind in made:
            (only,) = inner.values()
            return made[kind](only)
        if not isinstance(kind, str) or kind not in KNOWN:
            raise ValueError(f"the file names {kind!r}, which is no part of a saved model")
        expected = {field.name for field in fields(KNOWN[kind])}
        if set(inner) != expected:
            raise ValueError(f"the file's {kind} has the fields {', '.join(inner)}, which this version does not know")
        return KNOWN[kind](**{name: self.decode(one) for name, one in inner.items()})

    def _array(self, number: Any) -> Any:
        # An array that is named again and again would be made as often.
        if _index(number) in self._named:
            raise ValueError(f"the file names array {number} twice")
        self._named.add(number)
        return npy.read_array(io.BytesIO(self._arrays[number]), allow_pickle=False)

    def _object(self, number: Any) -> Any:
        return self._objects[_index(number)]


def _index(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"the file names part {number!r}")
    return number


def _objects(values: Any) -> Any:
    found = np.empty(len(values), dtype=object)
    for place, one in enumerate(values):
        if type(one) not in _PLAIN:
            raise ValueError(f"an array must hold numbers or text, got {one!r}")
        found[place] = one
    return found


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
