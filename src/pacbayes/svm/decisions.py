"""Kernel values of pairs of rows, and decisions of machines, compiled: functions of their rows, to the last bit.

Importing this module imports numba; `load` of kernel.py does so when it is first needed.

A certificate counts the errors of the classifier that predicts later only if both see the same kernel values, whatever
rows stand beside.  A matrix product does not promise that: its bits depend on the shape of the block, and squared
distances from products lose all digits for rows far from the origin unless they are centred, on something that other
rows would have a part in.  Here every value is the sum of the terms of its columns, added from the first to the last,
of differences where it is a distance.  Only whole pairs are computed side by side, and nothing is compiled with
fastmath: what IEEE arithmetic says is what every processor gives, in vector registers or not.

NumPy's exponential in double precision is not vectorised on most processors and would take most of the time of training
on a new sample.  This one is, in one pass over memory: about one unit in the last place from exact, and zero below
exp(-708).

A decision is the sum over the training rows, from the first to the last, of kernel values weighted by dual
coefficients, then the intercept: this is the one definition for every machine.  Rows whose coefficient is zero add
nothing, so that it is the same sum whether they are there or not; it is not compiled with fastmath, so that it has the
same bits for one new row and for a thousand.

Whatever is faster may be used to decide, but only where it cannot come to another label.  Scores summed up from
changes, or by a matrix product, differ from the decisions by rounding.  How much is bounded, and a score nearer to its
threshold than that bound does not decide: the label then comes from the decision itself.  Each function goes once over
the machines and keeps one row in the cache: with arrays of machines by rows a path of ten times as many machines would
take ten times as long, whatever changes along it.
"""

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from pacbayes._utils.arrays import EPS, FloatArray
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
# Multiplying by C and dividing again may move a variable that stood still by a few units in the last place.
_STILL = 4.0 * EPS
# Below this all products may be lost to underflow.
_TINY = 1e-290


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
def pairs_between(A, columns, kind, gamma, out, power, bits, start, top, bottom):
    """Set out[i, j] to the value of the i-th row of A and the j-th of `columns`: a tile of columns, some rows."""
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
def pairs_within(A, columns, kind, gamma, out, power, bits, start, top, bottom):
    """Set out[i, j] and out[j, i] to the value of the i-th and the j-th row of A; `columns` is A transposed.

    For a tile of columns and some rows up to its end, from a multiple of the tile on: one triangle is computed, since
    the terms of (a, b) and (b, a) are equal, and so are their sums.
    """
    pairs_between(A, columns, kind, gamma, out, power, bits, start, top, bottom)
    stop = min(start + TILE, out.shape[1])
    for upper in range(top, min(bottom, start), _CORNER):
        for left in range(start, stop, _CORNER):
            for j in range(left, min(left + _CORNER, stop)):
                for i in range(upper, upper + _CORNER):
                    out[j, i] = out[i, j]


@compiled()
def _sums_of_some(coefs, K, places):
    """Return for each of some columns of K its sum weighted by the coefficients."""
    sums = np.zeros(places.size)
    for t in range(coefs.size):
        coef = coefs[t]
        if coef != 0.0:
            row = K[t]
            for k in range(places.size):
                sums[k] += coef * row[places[k]]
    return sums


@compiled()
def weighted_sums(coefs, K, sums):
    """Set `sums` to those of the columns of K; four terms at a time, added in the same order."""
    sums[:] = 0.0
    used = np.flatnonzero(coefs)
    k = 0
    while k + 4 <= used.size:
        t, u, v, w = used[k], used[k + 1], used[k + 2], used[k + 3]
        a, b, c, d = coefs[t], coefs[u], coefs[v], coefs[w]
        p, q, r, s = K[t], K[u], K[v], K[w]
        for j in range(sums.size):
            sums[j] = (((sums[j] + a * p[j]) + b * q[j]) + c * r[j]) + d * s[j]
        k += 4
    while k < used.size:
        coef, row = coefs[used[k]], K[used[k]]
        for j in range(sums.size):
            sums[j] += coef * row[j]
        k += 1


@compiled()
def absolute_sums(coefs, sums):
    """Set the sum of the sizes of every machine's coefficients, from the first to the last.

    Four machines at a time, since an addition waits for the one before it.
    """
    sums[:] = 0.0
    h = 0
    while h + 4 <= sums.size:
        p, q, r, s = coefs[h], coefs[h + 1], coefs[h + 2], coefs[h + 3]
        for t in range(p.size):
            sums[h] += abs(p[t])
            sums[h + 1] += abs(q[t])
            sums[h + 2] += abs(r[t])
            sums[h + 3] += abs(s[t])
        h += 4
    while h < sums.size:
        for t in range(coefs.shape[1]):
            sums[h] += abs(coefs[h, t])
        h += 1


@compiled(error_model="numpy", fastmath={"nnan", "nsz", "contract", "reassoc"})
def _scaled(coefs, scale, s):
    """Set s = scale * coefs and return the sum of its absolute values."""
    total = 0.0
    for t in range(coefs.size):
        s[t] = coefs[t] * scale
        total += abs(s[t])
    return total


@compiled(error_model="numpy")
def collect(dual_coef, order, scales, doubts, starts, columns, values):
    """Store the changes of s = y alpha / C along the path; return how many, or -1 if there is no room for them.

    A machine with the coefficients of the one before changes nothing and takes over its scale, 1/C, as well.

    `doubts` are bounds, with a factor of two to spare, on how far the scores of kernel values up to 1 can be from the
    decisions times the scale.  An addition is off by half a unit in the last place of a sum that is at most `reach`, a
    change and its product by as much of their own; a decision by so much for each of its m terms; and variables that
    were taken to stand still by `_STILL`.
    """
    m = dual_coef.shape[1]
    s, before = np.empty(m), np.zeros(m)
    count, size, drift = 0, 0.0, 0.0
    for place in range(order.size):
        coefs = dual_coef[order[place]]
        same = place > 0
        if same:
            last = dual_coef[order[place - 1]]
            t = 0
            while t < m and coefs[t] == last[t]:
                t += 1
            same = t == m
        if same:
            scales[place] = scales[place - 1]
        else:
            reach = size + drift
            size = _scaled(coefs, scales[place], s)
            for t in range(m):
                change = s[t] - before[t]
                if abs(change) > _STILL * abs(s[t]):
                    if count == columns.size:
                        return -1
                    columns[count], values[count] = t, change
                    count += 1
                    before[t] = s[t]
                    reach += abs(change)
                    drift += EPS * (reach + 2.0 * abs(change))
        doubts[place] = drift + (m + 16.0) * EPS * size
        starts[place + 1] = count
    return count


@compiled(fastmath={"nnan", "nsz", "contract"})
def _add(scores, change, row):
    for t in range(scores.size):
        scores[t] += change * row[t]


@compiled()
def _largest(K, largest):
    """Set the largest size of the kernel values of every new row."""
    largest[:] = 0.0
    for i in range(K.shape[0]):
        row = K[i]
        for t in range(largest.size):
            size = abs(row[t])
            largest[t] = size if size > largest[t] else largest[t]


@compiled()
def _compare(scores, threshold, doubt, floor, largest, out):
    """Set which scores reach the threshold; return how many are too near to it to say (or are no numbers)."""
    unsure = 0
    for t in range(scores.size):
        excess = scores[t] - threshold
        out[t] = excess >= 0.0
        unsure += 0 if abs(excess) > doubt * largest[t] + floor else 1
    return unsure


@compiled()
def _decide(scores, scale, doubt, largest, coefs, K, intercept, tie, out):
    """Set which decisions of one machine are at least -tie, given scores that are about `scale` times their sums."""
    threshold = (-tie - intercept) * scale
    floor = 4.0 * EPS * (abs(intercept) + tie) * scale + _TINY
    unsure = _compare(scores, threshold, doubt, floor, largest, out)
    if unsure == 0:
        return
    places, k = np.empty(unsure, dtype=np.int64), 0
    for t in range(scores.size):
        if not abs(scores[t] - threshold) > doubt * largest[t] + floor:
            places[k] = t
            k += 1
    sums = _sums_of_some(coefs, K, places)
    for k in range(unsure):
        out[places[k]] = sums[k] + intercept >= -tie


@compiled()
def accumulate(starts, columns, values, order, scales, doubts, dual_coef, intercepts, ties, K, positive):
    """Set which machines' decisions are positive, from scores that are sums of the changes so far times rows of K."""
    scores, largest = np.zeros(K.shape[1]), np.empty(K.shape[1])
    _largest(K, largest)
    for place in range(order.size):
        for k in range(starts[place], starts[place + 1]):
            _add(scores, values[k], K[columns[k]])
        h = order[place]
        _decide(
            scores, scales[place], doubts[place], largest, dual_coef[h], K, intercepts[h], ties[h], positive[h]
        )  # fmt: skip


@compiled()
def compare_products(products, sizes, dual_coef, intercepts, ties, K, positive):
    """Set which machines' decisions are positive, from the matrix product of dual coefficients and K."""
    largest = np.empty(K.shape[1])
    _largest(K, largest)
    for h in range(products.shape[0]):
        # Product and decision are each off by at most half a unit in the last place of the sizes, for each of m terms.
        doubt = (2.0 * dual_coef.shape[1] + 16.0) * EPS * sizes[h]
        _decide(products[h], 1.0, doubt, largest, dual_coef[h], K, intercepts[h], ties[h], positive[h])


def compile_all() -> None:
    """Compile what is called from outside compiled code, or load it from the cache."""
    matrix, vector, integers, number = types.float64[:, ::1], types.float64[::1], types.int64[::1], types.int64
    single, short, flags = types.float32[:, ::1], types.int32[::1], types.boolean[:, ::1]
    arguments = (matrix, matrix, number, types.float64, matrix, vector, integers, number, number, number)
    pairs_between.compile(arguments)
    pairs_within.compile(arguments)
    pick_values.compile((matrix, integers, integers, matrix))
    gaussian_of_distances.compile((matrix, integers, integers, types.float64, matrix, vector, integers))
    gaussian_in_single.compile((matrix, integers, integers, types.float64, single, vector, integers))
    weighted_sums.compile((vector, matrix, vector))
    absolute_sums.compile((matrix, vector))
    collect.compile((matrix, integers, vector, vector, integers, short, vector))
    accumulate.compile(
        (integers, short, vector, integers, vector, vector, matrix, vector, vector, matrix, flags)
    )  # fmt: skip
    compare_products.compile((matrix, vector, matrix, vector, vector, matrix, flags))


def buffer(n: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return memory for n numbers, seen as floats and as integers."""
    power = np.empty(n)
    return power, power.view(np.int64)
