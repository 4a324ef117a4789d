"""Values of this package as JSON and arrays, and back by constructors that check them: reading one runs no code."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

# Dicts with this name are no plain dicts but what stands behind it.
_KIND = "@"
_PLAIN = (str, int, float, bool)


class Encoder:
    """Turns values into JSON, and gathers the arrays in them; dataclasses are of the `known` kinds.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> Point = make_dataclass("Point", ["x", "y"])
    >>> encoder = Encoder({"Point": Point})
    >>> encoder.encode(Point(0.5, np.arange(3))), len(encoder.arrays)
    ({'@': 'Point', 'x': 0.5, 'y': {'@': 'array', 'number': 0}}, 1)
    """

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known
        self.arrays: list[np.ndarray[Any, Any]] = []

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
        if type(value).__name__ in self._known and type(value) is self._known[type(value).__name__]:
            own = {field.name: self.encode(getattr(value, field.name)) for field in fields(value)}
            return {_KIND: type(value).__name__, **own}
        return self.encode_other(value)

    def encode_other(self, value: Any) -> Any:
        """Return what is no value of this package as JSON holds it; here nothing else is."""
        raise TypeError(f"{type(value).__name__} cannot be written as JSON and arrays")

    def _array(self, array: Any) -> Any:
        if array.dtype.kind in "biufU":
            self.arrays.append(np.ascontiguousarray(array) if array.ndim else array)
            return {_KIND: "array", "number": len(self.arrays) - 1}
        if array.dtype == object and array.ndim == 1 and all(type(one) in _PLAIN for one in array.tolist()):
            return {_KIND: "objects", "values": [self.encode(one) for one in array.tolist()]}
        return self.encode_other(array)


class Decoder:
    """Turns JSON back into values, given the arrays that it names.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> Point = make_dataclass("Point", ["x", "y"])
    >>> Decoder({"Point": Point}, []).decode({"@": "Point", "x": 0.5, "y": [1]})
    Point(x=0.5, y=[1])
    >>> Decoder({"Point": Point}, []).decode({"@": "Popen"})
    Traceback (most recent call last):
    ValueError: the file names 'Popen', which is no part of a saved model
    """

    def __init__(self, known: Mapping[str, Any], arrays: Sequence[Any]) -> None:
        self._known, self._arrays = known, arrays
        self._named: set[int] = set()

    def decode(self, value: Any) -> Any:
        """Return what was encoded, or raise `ValueError` for what this version does not know, or what cannot be."""
        if isinstance(value, list):
            return [self.decode(one) for one in value]
        if not isinstance(value, dict):
            return value
        inner = dict(value)
        kind = inner.pop(_KIND, None)
        if kind == "tuple":
            return tuple(self.decode(inner["values"]))
        if kind == "dict":
            return {self.decode(name): self.decode(one) for name, one in inner["pairs"]}
        if kind in ("array", "objects", "float"):
            (only,) = inner.values()
            return {"array": self._array, "objects": _objects, "float": float}[kind](only)
        if not isinstance(kind, str) or kind not in self._known:
            return self.decode_other(kind, inner)
        expected = {field.name for field in fields(self._known[kind])}
        if set(inner) != expected:
            raise ValueError(f"the file's {kind} has the fields {', '.join(inner)}, which this version does not know")
        return self._known[kind](**{name: self.decode(one) for name, one in inner.items()})

    def decode_other(self, kind: Any, inner: dict[str, Any]) -> Any:
        """Return what `Encoder.encode_other` wrote."""
        raise ValueError(f"the file names {kind!r}, which is no part of a saved model")

    def _array(self, number: Any) -> Any:
        # Two values must not share an array that one of them may change.
        if check_place(number) in self._named:
            raise ValueError(f"the file names array {number} twice")
        self._named.add(number)
        return self._arrays[number]


def check_place(number: Any) -> int:
    """Return the place of a part, or raise if it is none."""
    if type(number) is not int or number < 0:
        raise ValueError(f"the file names part {number!r}")
    return number


def _objects(values: Any) -> Any:
    made = np.empty(len(values), dtype=object)
    for place, one in enumerate(values):
        if type(one) not in _PLAIN:
            raise ValueError(f"an array must hold numbers or text, got {one!r}")
        made[place] = one
    return made
