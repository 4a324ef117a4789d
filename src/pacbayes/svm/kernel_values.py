"""Kernel values of pairs of rows, compiled: each a function of its two rows and the width, to the last bit.

Importing this module imports numba.

A certificate counts the errors of the classifier that predicts later only if both see the same kernel values, whatever
rows stand beside.  A matrix product does not promise that: its bits depend on the shape of the block, and squared
distances from products lose all digits for rows far from the origin unless they are centred, on something that other
rows would have a part in.  Here every value is the sum of the terms of its columns, added from the first to the last,
of differences where it is a distance.  Only whole pairs are computed side by side, and nothing is compiled with
fastmath: what IEEE arithmetic says is what every processor gives, in vector registers or not.

NumPy's exponential in double precision is not vectorised on most processors and would take most of the time of training
on a new sample.  This one is, in one pass over memory: about one unit in the last place from exact, and zero below
exp(-708).
"""

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.progress import compiled

_LOG2E = 1.0 / math.log(2.0)
# ln 2 in two parts, the first with so few digits that its integer multiples below 2^11 are exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Adding this to |n| < 2^51 leaves the rounded integer in the low bits.
_ROUND = 1.5 * 2.0**52
_UNDERFLOW = -708.0
_PRODUCTS, _DISTANCES, _GAUSSIANS = 0, 1, 2
KINDS = {"products": _PRODUCTS, "distances": _DISTANCES, "gaussians": _GAUSSIANS}
# Columns of the result at a time: they and their rows' numbers stay in the cache.
TILE = 256
# Rows and columns copied at a time when one triangle is copied to the other.
_CORNER = 32


@compiled()
def _exp_row(x, power, bits):
    """Replace x <= 0 by exp(x); `power` is a buffer and `bits` the same memory seen as integers."""
    for t in range(x.size):
        value = x[t] if x[t] > _UNDERFLOW else _UNDERFLOW
        shifted = value * _LOG2E + _ROUND
        power[t] = shifted
        n = shifted - _ROUND
        r = (value - n * _LN2_HIGH) - n * _LN2_LOW
        # Taylor series: |r| <= 0.35, so the term of degree 14 is below 1e-17.
        series = 1.0 + r * (1.0 / 13.0)
        series = 1.0 + r * (1.0 / 12.0) * series
        series = 1.0 + r * (1.0 / 11.0) * series
        series = 1.0 + r * (1.0 / 10.0) * series
        series = 1.0 + r * (1.0 / 9.0) * series
        series = 1.0 + r * (1.0 / 8.0) * series
        series = 1.0 + r * (1.0 / 7.0) * series
        series = 1.0 + r * (1.0 / 6.0) * series
        series = 1.0 + r * (1.0 / 5.0) * series
        series = 1.0 + r * (1.0 / 4.0) * series
        series = 1.0 + r * (1.0 / 3.0) * series
        series = 1.0 + r * (1.0 / 2.0) * series
        x[t] = (1.0 + r * series) if x[t] > _UNDERFLOW else 0.0
    for t in range(x.size):
        bits[t] = (bits[t] + 1023) << 52
    for t in range(x.size):
        x[t] *= power[t]


@compiled()
def gaussian_of_distances(distances, rows, columns, gamma, out, power, bits):
    """Set out[i, j] = exp(-gamma distances[rows[i], columns[j]])."""
    for i in range(rows.size):
        source, row = distances[rows[i]], out[i]
        for t in range(row.size):
            row[t] = -gamma * source[columns[t]]
        _exp_row(row, power, bits)


@compiled()
def gaussian_in_single(distances, rows, columns, gamma, out, power, bits):
    """Set out[i, j] = exp(-gamma distances[rows[i], columns[j]]), rounded to single precision."""
    row = np.empty(columns.size)
    for i in range(rows.size):
        source = distances[rows[i]]
        for t in range(row.size):
            row[t] = -gamma * source[columns[t]]
        _exp_row(row, power, bits)
        out[i, :] = row


@compiled()
def pick_values(source, rows, columns, out):
    """Set out[i, j] = source[rows[i], columns[j]]."""
    for i in range(rows.size):
        given, row = source[rows[i]], out[i]
        for t in range(row.size):
            row[t] = given[columns[t]]


# Below, two rows at a time and four of their numbers: what is loaded is used eight times.


@compiled()
def _set_distances(first, second, columns, start, out, other):
    """Set out[t] and other[t] to the squared distances of two rows and the row in column start + t of `columns`."""
    stop = start + out.size
    out[:] = 0.0
    other[:] = 0.0
    j = 0
    while j + 4 <= first.size:
        a, b, c, d = first[j], first[j + 1], first[j + 2], first[j + 3]
        e, f, g, h = second[j], second[j + 1], second[j + 2], second[j + 3]
        p, q = columns[j, start:stop], columns[j + 1, start:stop]
        r, s = columns[j + 2, start:stop], columns[j + 3, start:stop]
        for t in range(out.size):
            u, v, w, x = a - p[t], b - q[t], c - r[t], d - s[t]
            out[t] = (((out[t] + u * u) + v * v) + w * w) + x * x
            u, v, w, x = e - p[t], f - q[t], g - r[t], h - s[t]
            other[t] = (((other[t] + u * u) + v * v) + w * w) + x * x
        j += 4
    while j < first.size:
        a, e, p = first[j], second[j], columns[j, start:stop]
        for t in range(out.size):
            u, v = a - p[t], e - p[t]
            out[t] += u * u
            other[t] += v * v
        j += 1


@compiled()
def _set_products(first, second, columns, start, out, other):
    """Set out[t] and other[t] to the inner products of two rows and the row in column start + t of `columns`."""
    stop = start + out.size
    out[:] = 0.0
    other[:] = 0.0
    j = 0
    while j + 4 <= first.size:
        a, b, c, d = first[j], first[j + 1], first[j + 2], first[j + 3]
        e, f, g, h = second[j], second[j + 1], second[j + 2], second[j + 3]
        p, q = columns[j, start:stop], columns[j + 1, start:stop]
        r, s = columns[j + 2, start:stop], columns[j + 3, start:stop]
        for t in range(out.size):
            out[t] = (((out[t] + a * p[t]) + b * q[t]) + c * r[t]) + d * s[t]
            other[t] = (((other[t] + e * p[t]) + f * q[t]) + g * r[t]) + h * s[t]
        j += 4
    while j < first.size:
        a, e, p = first[j], second[j], columns[j, start:stop]
        for t in range(out.size):
            out[t] += a * p[t]
            other[t] += e * p[t]
        j += 1


@compiled()
def _to_gaussians(gamma, values, power, bits):
    for t in range(values.size):
        values[t] = -gamma * values[t]
    _exp_row(values, power, bits)


@compiled()
def _fill(A, columns, kind, gamma, out, power, bits, start, top, bottom):
    """Set the kernel values of some rows of A and those in a tile of columns."""
    stop, spare = min(start + TILE, out.shape[1]), np.empty(TILE)
    for i in range(top, bottom, 2):
        # The last of an odd number is its own partner.
        second = min(i + 1, bottom - 1)
        one, other = out[i, start:stop], out[second, start:stop] if second > i else spare[: stop - start]
        if kind == _PRODUCTS:
            _set_products(A[i], A[second], columns, start, one, other)
        else:
            _set_distances(A[i], A[second], columns, start, one, other)
        if kind == _GAUSSIANS:
            _to_gaussians(gamma, one, power, bits)
            if second > i:
                _to_gaussians(gamma, other, power, bits)


@compiled()
def pairs_between(A, columns, kind, gamma, out, power, bits, start, top, bottom):
    """Set out[i, j] to the value of the i-th row of A and the j-th of `columns`: a tile of columns, some rows."""
    _fill(A, columns, kind, gamma, out, power, bits, start, top, bottom)


@compiled()
def pairs_within(A, columns, kind, gamma, out, power, bits, start, top, bottom):
    """Set out[i, j] and out[j, i] to the value of the i-th and the j-th row of A; `columns` is A transposed.

    For a tile of columns and some rows up to its end, from a multiple of the tile on: one triangle is computed, since
    the terms of (a, b) and (b, a) are equal, and so are their sums.
    """
    _fill(A, columns, kind, gamma, out, power, bits, start, top, bottom)
    stop = min(start + TILE, out.shape[1])
    for upper in range(top, min(bottom, start), _CORNER):
        for left in range(start, stop, _CORNER):
            for j in range(left, min(left + _CORNER, stop)):
                for i in range(upper, upper + _CORNER):
                    out[j, i] = out[i, j]


def compile_all() -> None:
    """Compile what is called from outside compiled code, or load it from the cache."""
    matrix, vector, integers = types.float64[:, ::1], types.float64[::1], types.int64[::1]
    place = (types.int64, types.int64, types.int64)
    arguments = (matrix, matrix, types.int64, types.float64, matrix, vector, integers, *place)
    pairs_between.compile(arguments)
    pairs_within.compile(arguments)
    pick_values.compile((matrix, integers, integers, matrix))
    gaussian_of_distances.compile((matrix, integers, integers, types.float64, matrix, vector, integers))
    single = types.float32[:, ::1]
    gaussian_in_single.compile((matrix, integers, integers, types.float64, single, vector, integers))


def buffer(n: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return memory for n numbers, seen as floats and as integers."""
    power = np.empty(n)
    return power, power.view(np.int64)
