"""Serialisation of values as JSON and arrays, checked when they are read, and fingerprints of values.

Reading a value runs no code from the file.
"""

import hashlib
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

# Key of encoded dicts that names the type of the value.
_KIND = "@"
_PLAIN = (str, int, float, bool)
#: Dataclasses that a file may contain, each with a function that raises `ValueError` for an invalid value, or None if
#: its constructor does.
Known = Mapping[type, Callable[[Any], None] | None]


class Encoder:
    """Encode values as JSON, and collect their arrays; dataclasses must be `known`.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> Point = make_dataclass("Point", ["x", "y"])
    >>> encoder = Encoder({Point: None})
    >>> encoder.encode(Point(0.5, np.arange(3))), len(encoder.arrays)
    ({'@': 'Point', 'x': 0.5, 'y': {'@': 'array', 'number': 0}}, 1)
    """

    def __init__(self, known: Known) -> None:
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
        """Encode values of other types; subclasses may support some."""
        raise TypeError(f"{type(value).__name__} cannot be written as JSON and arrays")


class Decoder:
    """Decode and check values from JSON and arrays.

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

    def __init__(self, known: Known, arrays: Sequence[Any]) -> None:
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
            return {"array": self._array, "objects": _objects, "float": float}[kind](only)
        if not isinstance(kind, str) or kind not in self._known:
            return self.decode_other(kind, inner)
        return self._value(kind, inner)

    def decode_other(self, kind: Any, inner: dict[str, Any]) -> Any:
        """Decode values of `Encoder.encode_other`."""
        raise ValueError(f"the file names {kind!r}, which is no part of a saved model")

    def _value(self, name: str, inner: dict[str, Any]) -> Any:
        """Construct a dataclass from its fields, checked before its constructor runs."""
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
        # Two values must not share an array, which one of them may change.
        if check_place(number) in self._named:
            raise ValueError(f"the file names array {number} twice")
        self._named.add(number)
        return self._arrays[number]


def check_place(number: Any) -> int:
    """Raise unless a number is the index of a part."""
    if type(number) is not int or number < 0:
        raise ValueError(f"the file names part {number!r}")
    return number


def _objects(values: Any) -> Any:
    objects = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        if type(value) not in _PLAIN:
            raise ValueError(f"an array must hold numbers or text, got {value!r}")
        objects[i] = value
    return objects


def fingerprint(value: Any) -> str:
    """SHA-256 of the types, contents and memory layout of a value, equal in every process.

    Unlike `joblib.hash`, which hashes a pickle: that depends on the identity of objects, which differs between runs.

    Examples
    --------
    >>> fingerprint(np.array([1.0, 2.0])) == fingerprint(np.array([1.0, 2.0]))
    True
    >>> fingerprint([1.0]) == fingerprint([1])
    False
    """
    digest = hashlib.sha256()
    _hash(value, digest.update, ())
    return digest.hexdigest()


def _hash(value: Any, write: Callable[[Any], None], outer: tuple[int, ...]) -> None:
    """Write the type of a value, its length, and its bytes or parts; `outer` are the ids of enclosing objects."""
    cycle = id(value) in outer
    kind, parts = ("cycle", str(outer.index(id(value))).encode()) if cycle else _parts_of(value)
    write(f"{kind}:{len(parts)}:".encode())
    if not isinstance(parts, list):
        write(parts)
        return
    inner = (id(value), *outer)
    for part in parts:
        _hash(part, write, inner)


def _parts_of(value: Any) -> tuple[str, bytes | memoryview | list[Any]]:
    """Type of a value, and its bytes or parts."""
    name = type(value).__name__
    if type(value) in (bytes, memoryview):
        return name, value
    if type(value) in (type(None), bool, int, complex, str, type(...)):
        return name, str(value).encode("utf-8", "surrogatepass")
    if type(value) is float:
        return name, value.hex().encode()
    if type(value) in (list, tuple):
        return name, list(value)
    if type(value) is dict:
        return name, [part for item in value.items() for part in item]
    if type(value) in (set, frozenset):
        return name, sorted(map(fingerprint, value))
    if isinstance(value, np.ndarray):
        return "array", _parts_of_array(value)
    if isinstance(value, np.generic):
        return "scalar", [value.dtype.str, np.asarray(value)]
    if sparse.issparse(value):
        # Reading attributes of a sparse matrix may change others (`has_sorted_indices`), but not its arrays.
        rows: Any = value if value.format in ("csr", "csc", "bsr") else value.tocsr()  # type: ignore[attr-defined]
        return "sparse", [name, rows.shape, rows.data, rows.indices, rows.indptr]
    if isinstance(value, pd.DataFrame):
        return "frame", [list(value.columns), *(value.iloc[:, j] for j in range(value.shape[1]))]
    if isinstance(value, pd.Series | pd.Index):
        return "column", [str(value.dtype), value.to_numpy()]
    if isinstance(value, type | types.BuiltinFunctionType | np.ufunc):
        return "name", [getattr(value, "__module__", ""), getattr(value, "__qualname__", repr(value))]
    if isinstance(value, types.FunctionType):
        parts = [value.__module__, value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__]
        return "function", [*parts, [cell.cell_contents for cell in value.__closure__ or ()]]
    if isinstance(value, types.CodeType):
        return "code", [value.co_code, value.co_names, value.co_consts]
    return "object", _parts_of_object(value)


def _parts_of_array(array: np.ndarray[Any, Any]) -> list[Any]:
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    content: list[Any]
    if array.dtype.names:
        # Field by field: padding between fields is uninitialised.
        content = [np.ascontiguousarray(array[name]) for name in array.dtype.names]
    elif array.dtype.hasobject:
        content = list(array.ravel())
    else:
        content = [np.ascontiguousarray(array).reshape(-1).view(np.uint8).data]
    return [str(array.dtype.descr if array.dtype.names else array.dtype.str), array.shape, order, *content]


def _parts_of_object(value: Any) -> list[Any]:
    """Parts of an object as for pickle."""
    try:
        reduced = value.__reduce_ex__(4)
    except TypeError as error:
        raise TypeError(f"{value!r} has no fingerprint, because it cannot be pickled: {error}") from error
    if isinstance(reduced, str):
        return [type(value).__module__, reduced]
    function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    return [function, arguments, state, list(items or ()), [list(pair) for pair in pairs or ()]]
