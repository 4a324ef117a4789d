"""Serialisation of values as JSON and arrays, validated when they are loaded, and fingerprints of values.

Loading a value executes no code from the file.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from joblib.hashing import Hasher

# Key of the type name in encoded dicts.
_KIND = "@"
_PLAIN = (str, int, float, bool)
#: Dataclasses that a file may contain, each with a function that raises `ValueError` for an invalid value, or None if
#: the constructor validates it.
KnownTypes = Mapping[type, Callable[[Any], None] | None]


class Encoder:
    """Encode values as JSON and collect their arrays; dataclasses must be `known`.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> Point = make_dataclass("Point", ["x", "y"])
    >>> encoder = Encoder({Point: None})
    >>> encoder.encode(Point(0.5, np.arange(3))), len(encoder.arrays)
    ({'@': 'Point', 'x': 0.5, 'y': {'@': 'array', 'number': 0}}, 1)
    """

    def __init__(self, known: KnownTypes) -> None:
        self._known = known
        self.arrays: list[np.ndarray[Any, Any]] = []

    def encode(self, value: Any) -> Any:
        """Encode a value for JSON."""
        if isinstance(value, np.generic):
            value = value.item()
        kind = type(value)
        if value is None or kind in (str, int, bool) or (kind is float and math.isfinite(value)):
            return value
        if kind is float:
            return {_KIND: "float", "value": repr(value)}
        if kind is list:
            return [self.encode(item) for item in value]
        if kind is tuple:
            return {_KIND: "tuple", "values": self.encode(list(value))}
        if kind is dict:
            return {_KIND: "dict", "pairs": [self.encode(list(item)) for item in value.items()]}
        if kind is np.ndarray and value.dtype.kind in "biufU":
            self.arrays.append(np.ascontiguousarray(value) if value.ndim else value)
            return {_KIND: "array", "number": len(self.arrays) - 1}
        if kind is np.ndarray and value.dtype == object and value.ndim == 1 and all(type(v) in _PLAIN for v in value):
            return {_KIND: "objects", "values": self.encode(value.tolist())}
        if kind in self._known:
            return {_KIND: kind.__name__} | {
                field.name: self.encode(getattr(value, field.name)) for field in fields(value)
            }
        return self.encode_other(value)

    def encode_other(self, value: Any) -> Any:
        """Encode a value of another type; overridden by subclasses that support more types."""
        raise TypeError(f"{type(value).__name__} cannot be written as JSON and arrays")


class Decoder:
    """Decode and validate values from JSON and arrays.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> Point = make_dataclass("Point", ["x", "y"])
    >>> def check_point(point):
    ...     if point.x < 0:
    ...         raise ValueError("Point.x must not be negative")
    >>> Decoder({Point: check_point}, []).decode({"@": "Point", "x": 0.5, "y": [1]})
    Point(x=0.5, y=[1])
    >>> Decoder({Point: check_point}, []).decode({"@": "Point", "x": -0.5, "y": [1]})
    Traceback (most recent call last):
    ValueError: Point.x must not be negative
    >>> Decoder({Point: check_point}, []).decode({"@": "Popen"})
    Traceback (most recent call last):
    ValueError: the file names 'Popen', which is no part of a saved model
    """

    def __init__(self, known: KnownTypes, arrays: Sequence[Any]) -> None:
        self._known, self._arrays = {kind.__name__: (kind, check) for kind, check in known.items()}, arrays
        self._named: set[int] = set()

    def decode(self, value: Any) -> Any:
        """Decode a value; raise `ValueError` for unknown types and invalid values."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        inner = dict(value)
        kind = inner.pop(_KIND, None)
        if kind == "tuple":
            return tuple(self.decode(inner["values"]))
        if kind == "dict":
            return {self.decode(name): self.decode(item) for name, item in inner["pairs"]}
        if kind in ("array", "objects", "float"):
            (only,) = inner.values()
            return {"array": self._array, "objects": _to_object_array, "float": float}[kind](only)
        if not isinstance(kind, str) or kind not in self._known:
            return self.decode_other(kind, inner)
        return self._value(kind, inner)

    def decode_other(self, kind: Any, inner: dict[str, Any]) -> Any:
        """Decode a value encoded by `Encoder.encode_other`."""
        raise ValueError(f"the file names {kind!r}, which is no part of a saved model")

    def _value(self, name: str, inner: dict[str, Any]) -> Any:
        """Construct a dataclass from its fields, which are validated first."""
        kind, check = self._known[name]
        if set(inner) != {field.name for field in fields(kind)}:
            raise ValueError(f"the file's {name} has the fields {', '.join(inner)}, which this version does not know")
        decoded = {field: self.decode(item) for field, item in inner.items()}
        if check is not None:
            unchecked: Any = object.__new__(kind)
            vars(unchecked).update(decoded)
            check(unchecked)
        return kind(**decoded)

    def _array(self, number: Any) -> Any:
        # Two values must not share an array, since one of them may modify it.
        if check_part_index(number) in self._named:
            raise ValueError(f"the file names array {number} twice")
        self._named.add(number)
        return self._arrays[number]


def check_part_index(number: Any) -> int:
    """Raise unless a number is the index of a part."""
    if type(number) is not int or number < 0:
        raise ValueError(f"the file names part {number!r}")
    return number


def _to_object_array(values: Any) -> Any:
    objects = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        if type(value) not in _PLAIN:
            raise ValueError(f"an array must hold numbers or text, got {value!r}")
        objects[i] = value
    return objects


class _Hasher(Hasher):  # type: ignore[misc]  # joblib publishes no types
    """joblib's hasher without memoisation, since object identity differs between runs."""

    def memoize(self, obj: Any) -> None:
        """Do nothing, so that repeated objects are hashed again."""

    def save(self, obj: Any) -> None:
        """Hash arrays without strides, and structured ones by field, since padding is uninitialised."""
        if isinstance(obj, np.ndarray) and obj.dtype.names:
            obj = (obj.dtype.descr, [obj[name] for name in obj.dtype.names])
        elif isinstance(obj, np.ndarray) and not obj.dtype.hasobject:
            self._hash.update(obj.ravel("A").view(np.uint8))
            obj = (obj.dtype.str, obj.shape, obj.flags.fnc)
        super().save(obj)


def fingerprint(value: Any) -> str:
    """SHA-256 hash of the types, contents and memory layout of a value (of functions, the name).

    Examples
    --------
    >>> fingerprint(np.array([1.0, 2.0])) == fingerprint(np.array([1.0, 2.0]))
    True
    >>> fingerprint([1.0]) == fingerprint([1])
    False
    """
    return str(_Hasher("sha256").hash(value))
