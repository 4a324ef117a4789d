"""Rows by their values: equal rows have equal bytes, in whatever container and as whatever type of number they come."""

import hashlib
import struct
from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pacbayes.numeric.arrays import FloatArray

_HASH_BYTES = 8
# Enough for rows with equal digests to be equal rows: among a billion, two others collide with probability 1e-21.
_DIGEST_BYTES = 16
# Rows of no more bytes are told apart by these themselves, which is many times faster.
_SHORT = 512
# Rows of a sparse matrix made dense together.
_ROWS_PER_BLOCK = 4096
_NAN = np.array(np.nan, dtype="<f8").tobytes()


def row_hashes(X: Any, key: bytes) -> NDArray[np.uint64]:
    """Return the keyed hash of every row, as numbers of 64 bits.

    A row is hashed by its values: numbers as their float64 bytes (-0.0 as 0.0, every NaN as the same), anything else as
    a mark, the length and the UTF-8 of its text.  Neither the container (array, list, data frame, sparse matrix) nor
    the type of the number matters.
    """
    digests = b"".join(_digests(X, hashlib.blake2b(digest_size=_HASH_BYTES, key=key)))
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def equal_rows(X: Any) -> NDArray[np.int64]:
    """Return a number for every row, the same for rows of equal values and no others, from 0 by first appearance.

    Examples
    --------
    >>> equal_rows([[1, 2], [3, 4], [1.0, 2.0], [-0.0, 1], [0.0, 1]])
    array([0, 1, 0, 2, 2])
    """
    numbers: dict[bytes, int] = {}
    found = [
        numbers.setdefault(
            bytes(row) if len(row) <= _SHORT else hashlib.blake2b(row, digest_size=_DIGEST_BYTES).digest(), len(numbers)
        )
        for row in _row_bytes(X)
    ]
    return np.array(found, dtype=np.int64)


def _digests(X: Any, start: "hashlib.blake2b") -> Iterator[bytes]:
    for row in _row_bytes(X):
        state = start.copy()
        state.update(row)
        yield state.digest()


def _row_bytes(X: Any) -> Any:
    """Yield the bytes every row is hashed by."""
    if sp.issparse(X):
        yield from _sparse_rows(X)
        return
    # A data frame of several types becomes an array of objects; one of numbers stays one of numbers.
    table = np.asarray(X)
    if table.dtype.kind in "biuf":
        yield from _numeric_rows(table)
        return
    for row in table.reshape(len(table), -1).tolist():
        yield b"".join(map(_value_bytes, row))


def check_values(X: Any) -> None:
    """Raise if rows hold what has no value to be hashed by: lists, dicts, sets, functions."""
    table = None if sp.issparse(X) else np.asarray(X)
    if table is not None and table.dtype.kind == "O":
        for value in table.ravel().tolist():
            _value_bytes(value)


def _sparse_rows(X: Any) -> Any:
    rows = X.tocsr()
    for start in range(0, X.shape[0], _ROWS_PER_BLOCK):
        yield from _numeric_rows(rows[start : start + _ROWS_PER_BLOCK].toarray())


def _numeric_rows(table: NDArray[Any]) -> Any:
    numbers: FloatArray = np.array(table, dtype="<f8", order="C").reshape(len(table), -1)
    numbers += 0.0  # -0.0 becomes 0.0
    numbers[np.isnan(numbers)] = np.nan
    if numbers.shape[1] == 0:
        return (b"" for _ in range(len(table)))
    whole, size = memoryview(numbers.tobytes()), numbers.shape[1] * numbers.itemsize
    return (whole[start : start + size] for start in range(0, len(whole), size))


def _value_bytes(value: Any) -> bytes:
    if type(value) is str:  # most often; `isinstance` with an abstract class takes longer than the rest
        return _text_bytes(value)
    if type(value) is float or isinstance(value, Real):
        number = float(value)
        return _NAN if number != number else struct.pack("<d", number + 0.0)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return _NAN
    # What prints its address, or has parts of its own, has no text that stands for its value.
    kind: Any = type(value)
    parts = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    if parts or callable(value) or kind.__repr__ is object.__repr__:
        raise TypeError(f"X argument must be a table of strings, numbers, dates and the like, got {value!r}")
    return _text_bytes(str(value))


def _text_bytes(text: str) -> bytes:
    encoded = text.encode("utf-8", "surrogatepass")
    return b"\xff" + len(encoded).to_bytes(8, "little") + encoded
