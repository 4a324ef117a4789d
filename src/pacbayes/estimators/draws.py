"""Which classifier predicts which row: a draw that depends on the row and on the key, and on nothing else."""

import hashlib
import struct
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pacbayes.bounds.validation import FloatArray
from pacbayes.certificates.choice import BITS, Counts
from pacbayes.classifiers.seeds import generator

# The purpose of the key's random numbers, see `seeds.generator`: far from those of splits and kernel widths.
KEY = 1000
KEY_BYTES = 32
_DIGEST_BYTES = 8
# Rows of a sparse matrix made dense together.
_ROWS_PER_BLOCK = 4096
_NAN = np.array(np.nan, dtype="<f8").tobytes()


def draw_key(seed: int) -> bytes:
    """Return the key of the draws that belongs to a seed.

    Examples
    --------
    >>> draw_key(0) == draw_key(0), draw_key(0) == draw_key(1), len(draw_key(0))
    (True, False, 32)
    """
    return generator(seed, KEY).bytes(KEY_BYTES)


def draw_classifiers(X: Any, parts: Counts, key: bytes) -> NDArray[np.intp]:
    r"""Draw a classifier for every row of X from weights in whole parts of :math:`2^{-52}`.

    A row's keyed hash (BLAKE2b) is a number of 64 bits; its first 52 are compared with the sums of the parts.  Equal
    rows get equal draws whatever other rows are asked about, and different keys give independent draws.

    Examples
    --------
    >>> from pacbayes.certificates.choice import whole_parts
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> drawn = draw_classifiers(X, whole_parts(np.array([0.25, 0.0, 0.75])), draw_key(0))
    >>> np.bincount(drawn).tolist()
    [249, 0, 751]
    >>> np.array_equal(draw_classifiers(X[7:9], whole_parts(np.array([0.25, 0.0, 0.75])), draw_key(0)), drawn[7:9])
    True
    """
    uniform = row_hashes(X, key) >> np.uint64(8 * _DIGEST_BYTES - BITS)
    return np.searchsorted(np.cumsum(parts), uniform.astype(np.int64), side="right")


def row_hashes(X: Any, key: bytes) -> NDArray[np.uint64]:
    """Return the keyed hash of every row, as numbers of 64 bits.

    A row is hashed by its values: numbers as their float64 bytes (-0.0 as 0.0, every NaN as the same), anything else as
    a mark, the length and the UTF-8 of its text.  Neither the container (array, list, data frame, sparse matrix) nor
    the type of the number matters.
    """
    start = hashlib.blake2b(digest_size=_DIGEST_BYTES, key=key)
    digests = bytearray()
    for row in _row_bytes(X):
        state = start.copy()
        state.update(row)
        digests += state.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)


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
