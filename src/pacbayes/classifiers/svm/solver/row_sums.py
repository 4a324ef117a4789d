"""Weighted sums of rows of a matrix, compiled; importing this module imports numba.

A pass over memory as fast as it can be read, four rows at a time, for a range of columns: ranges are computed side by
side.  The bits of a sum may depend on the ranges but not on who computes them.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.compiled import compile_notice, compiled
from pacbayes.runtime.threads import on_cores

# Columns at a time: they stay in the cache while all rows are added.
_COLUMNS = 1024
# Fewer columns are not worth being shared.
_FEW = 512


@compiled(fastmath={"nnan", "nsz", "contract"})
def _add_range(matrix, rows, coefs, out, start, stop):
    """Add to out[start:stop] the same columns of the listed rows, weighted."""
    sums = out[start:stop]
    k = 0
    while k + 4 <= rows.size:
        a, b, c, d = coefs[k], coefs[k + 1], coefs[k + 2], coefs[k + 3]
        p, q = matrix[rows[k], start:stop], matrix[rows[k + 1], start:stop]
        r, s = matrix[rows[k + 2], start:stop], matrix[rows[k + 3], start:stop]
        for t in range(sums.size):
            sums[t] += ((a * p[t] + b * q[t]) + c * r[t]) + d * s[t]
        k += 4
    while k < rows.size:
        a, p = coefs[k], matrix[rows[k], start:stop]
        for t in range(sums.size):
            sums[t] += a * p[t]
        k += 1


@compiled(fastmath={"nnan", "nsz", "contract"})
def _add_range_and_ones(matrix, coefs, out, ones, start, stop):
    """Add to out[start:stop] the same columns of the first rows, weighted, and to `ones` without weights."""
    sums, plain = out[start:stop], ones[start:stop]
    k = 0
    while k + 4 <= coefs.size:
        a, b, c, d = coefs[k], coefs[k + 1], coefs[k + 2], coefs[k + 3]
        p, q = matrix[k, start:stop], matrix[k + 1, start:stop]
        r, s = matrix[k + 2, start:stop], matrix[k + 3, start:stop]
        for t in range(sums.size):
            sums[t] += ((a * p[t] + b * q[t]) + c * r[t]) + d * s[t]
            plain[t] += ((p[t] + q[t]) + r[t]) + s[t]
        k += 4
    while k < coefs.size:
        a, p = coefs[k], matrix[k, start:stop]
        for t in range(sums.size):
            sums[t] += a * p[t]
            plain[t] += p[t]
        k += 1


def _ranges(size: int) -> list[tuple[int, int]]:
    """Divide columns into ranges of about equal length, as many as two or four cores can share evenly.

    Examples
    --------
    >>> _ranges(300), _ranges(1000)
    ([(0, 300)], [(0, 256), (256, 512), (512, 768), (768, 1000)])
    """
    number = 4 * -(-size // (4 * _COLUMNS)) if size > _FEW else 1
    # Whole lines of the cache.
    width = 8 * -(-size // (8 * number))
    return [(start, min(start + width, size)) for start in range(0, size, width)]


@cache
def _compiled_with_ones() -> Any:
    vector, number = types.float64[::1], types.int64
    with compile_notice(_add_range_and_ones):
        _add_range_and_ones.compile((types.float64[:, ::1], vector, vector, vector, number, number))
    return _add_range_and_ones


@cache
def _compiled_for(dtype: np.dtype[Any]) -> Any:
    """Return the function for matrices of this precision, or load it from the cache."""
    matrix = types.Array(types.float32 if dtype == np.float32 else types.float64, 2, "C")
    vector, integers, number = types.float64[::1], types.int64[::1], types.int64
    with compile_notice(_add_range):
        _add_range.compile((matrix, integers, vector, vector, number, number))
    return _add_range


def add_rows(matrix: NDArray[Any], rows: Rows, coefs: FloatArray, out: FloatArray) -> None:
    """Add to `out` the listed rows of a matrix times their coefficients, as many columns as `out` has.

    Examples
    --------
    >>> sums = np.zeros(2)
    >>> add_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0]), np.array([1.0, -1.0]), sums)
    >>> sums
    array([2., 2.])
    """
    add = _compiled_for(matrix.dtype)
    on_cores(lambda columns: add(matrix, rows, coefs, out, *columns), _ranges(out.size))


def multiply_and_add_up(matrix: FloatArray, coefs: FloatArray, out: FloatArray, ones: FloatArray) -> None:
    """Add to `out` the first rows of a matrix times as many coefficients, and to `ones` the rows as they are.

    Examples
    --------
    >>> sums, plain = np.zeros(2), np.zeros(2)
    >>> multiply_and_add_up(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0]), sums, plain)
    >>> sums, plain
    (array([-2., -2.]), array([4., 6.]))
    """
    add = _compiled_with_ones()
    on_cores(lambda columns: add(matrix, coefs, out, ones, *columns), _ranges(out.size))
