"""Rows by their values: equal rows have equal bytes, in whatever container and as whatever type of number they come."""

import hashlib
import struct
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
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

    A row is hashed by its values: numbers, True and False among them, as their float64 bytes (-0.0 as 0.0, every NaN
    and whatever else stands for a gap as the same), dates as ISO 8601 writes them, anything else as its text, both with
    a mark and the length before them.  Neither the container (array, list, data frame, sparse matrix) nor the type of
    the number matters, nor do the rows around.
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
    table = _table(X)
    if table.dtype.kind in "biuf":
        yield from _numeric_rows(table)
        return
    values = table.reshape(len(table), -1)
    # As Python's own, times of some units would be numbers.
    for row in values if table.dtype.kind in "mM" else values.tolist():
        yield b"".join(map(_value_bytes, row))


def _table(X: Any) -> NDArray[Any]:
    """Return rows as an array that holds every value as it was given, of whatever kind the others are."""
    # A data frame of several types becomes an array of objects; one of numbers stays one of numbers.
    table = np.asarray(X)
    # A list in which a text stands would make texts of its numbers, and a length of time lengths of them.
    return np.array(X, dtype=object) if table.dtype.kind in "SUmMc" and not isinstance(X, np.ndarray) else table


def check_values(X: Any) -> None:
    """Raise if rows hold what has no value to be hashed by: lists, dicts, sets, functions."""
    table = None if sp.issparse(X) else _table(X)
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
    # Most often; `isinstance` with an abstract class takes longer than the rest.
    if isinstance(value, str):  # by its letters, which `str` does not give of a member of an enumeration
        return _text_bytes(value)
    if type(value) is float:
        return _number_bytes(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return _NAN
    # Before numbers: NumPy's lengths of time are some.
    if isinstance(value, date | timedelta | np.datetime64 | np.timedelta64):
        return _text_bytes(_iso(value)) if value == value else _NAN
    if isinstance(value, Real | np.bool_ | Decimal):
        return _number_bytes(float(value))
    # What prints its address, or has parts of its own, has no text that stands for its value.
    kind: Any = type(value)
    parts = isinstance(value, Iterable) and not isinstance(value, bytes)
    if parts or callable(value) or kind.__repr__ is object.__repr__:
        raise TypeError(f"X argument must be a table of strings, numbers, dates and the like, got {value!r}")
    return _text_bytes(str(value))


def _number_bytes(number: float) -> bytes:
    return _NAN if number != number else struct.pack("<d", number + 0.0)


def _iso(value: Any) -> str:
    """Return a time or a length of time as text, the same for every type that holds it.

    Examples
    --------
    >>> _iso(date(2020, 2, 3)), _iso(np.datetime64("2020-02-03T00:00", "ns"))
    ('2020-02-03T00:00:00', '2020-02-03T00:00:00')
    """
    import pandas as pd  # not for tables without times

    kind = pd.Timedelta if isinstance(value, timedelta | np.timedelta64) else pd.Timestamp
    return str(kind(value).isoformat())


def _text_bytes(text: str) -> bytes:
    encoded = text.encode("utf-8", "surrogatepass")
    return b"\xff" + len(encoded).to_bytes(8, "little") + encoded
