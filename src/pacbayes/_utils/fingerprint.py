"""A fingerprint of values: the same in every process for equal bits, whatever objects hold them.

A pickle will not do: it remembers which of two equal strings were one object, and that differs from run to run.
"""

import hashlib
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

_PLAIN = (type(None), bool, int, complex, str, bytes, type(...))


def fingerprint(value: Any) -> str:
    """Return 64 hexadecimal digits (SHA-256) that depend on types, values and memory layout, and on nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> fingerprint(np.array([1.0, 2.0])) == fingerprint(np.array([1.0, 2.0]))
    True
    >>> fingerprint([1.0]) == fingerprint([1])
    False
    """
    digest = hashlib.sha256()
    _Walker(digest.update).walk(value)
    return digest.hexdigest()


class _Walker:
    """Writes a value as a stream of tagged pieces."""

    def __init__(self, write: Callable[[Any], object]) -> None:
        self._write = write
        self._open: list[int] = []

    def walk(self, value: Any) -> None:
        """Write one value and all it consists of."""
        if isinstance(value, float) and type(value) is float:
            self._piece("float", value.hex())
        elif type(value) in _PLAIN:
            self._piece(type(value).__name__, value if isinstance(value, bytes) else str(value))
        elif id(value) in self._open:
            self._piece("cycle", str(len(self._open) - self._open.index(id(value))))
        else:
            self._open.append(id(value))
            self._compound(value)
            self._open.pop()

    def _piece(self, tag: str, content: str | bytes = b"") -> None:
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        self._write(f"{tag}:{len(data)}:".encode())
        self._write(data)

    def _parts(self, tag: str, parts: Iterable[Any]) -> None:
        parts = list(parts)
        self._piece(tag, str(len(parts)))
        for part in parts:
            self.walk(part)

    def _compound(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            self._array(value)
        elif isinstance(value, np.generic):
            self._parts("scalar", [value.dtype.str, np.asarray(value)])
        elif sparse.issparse(value):
            # Attributes of sparse matrices change when they are looked at (sorted or not): the arrays do not.
            table: Any = value
            name, table = type(table).__name__, table if table.format in ("csr", "csc", "bsr") else table.tocsr()
            self._parts("sparse", [name, table.shape, table.data, table.indices, table.indptr])
        elif isinstance(value, pd.DataFrame):
            self._parts("frame", [list(value.columns), *(value.iloc[:, j] for j in range(value.shape[1]))])
        elif isinstance(value, pd.Series | pd.Index):
            self._parts("column", [str(value.dtype), value.to_numpy()])
        elif type(value) in (list, tuple):
            self._parts(type(value).__name__, value)
        elif type(value) is dict:
            self._parts("dict", [part for item in value.items() for part in item])
        elif type(value) in (set, frozenset):
            self._parts(type(value).__name__, sorted(fingerprint(part) for part in value))
        elif isinstance(value, type | types.BuiltinFunctionType | np.ufunc):
            self._piece("name", f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', repr(value))}")
        elif isinstance(value, types.FunctionType):
            parts = [value.__module__, value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__]
            self._parts("function", [*parts, [cell.cell_contents for cell in value.__closure__ or ()]])
        elif isinstance(value, types.CodeType):
            self._parts("code", [value.co_code, value.co_names, value.co_consts])
        else:
            self._object(value)

    def _array(self, array: np.ndarray[Any, Any]) -> None:
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        self._piece("array", f"{array.dtype.descr if array.dtype.names else array.dtype.str} {array.shape} {order}")
        if array.dtype.names:
            # Field by field: what lies between them is whatever was in memory.
            for name in array.dtype.names:
                self._array(np.ascontiguousarray(array[name]))
        elif array.dtype.hasobject:
            for part in array.ravel():
                self.walk(part)
        else:
            self._write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def _object(self, value: Any) -> None:
        """Write what pickle would need to make the object again."""
        try:
            reduced = value.__reduce_ex__(4)
        except TypeError as error:
            raise TypeError(f"{value!r} has no fingerprint, because it cannot be pickled: {error}") from error
        if isinstance(reduced, str):
            self._piece("global", f"{type(value).__module__}.{reduced}")
            return
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        self._parts("object", [make, arguments, state, list(items or ()), [list(pair) for pair in pairs or ()]])
