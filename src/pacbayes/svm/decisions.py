"""Compiled kernel values and SVM decisions that do not depend on the other rows of a batch, to the last bit.

A certificate holds for later predictions only if kernel values do not depend on the other rows of a batch.  Kernel
values from a matrix product do: their bits depend on the shape of the block, and squared distances from products
lose all digits for rows far from the origin, unless centred by a mean of other rows.  Here every value is a sum of
terms over the columns, from the first to the last; the terms of distances are squared differences.  Vectorisation is
across pairs of rows only, and without fastmath, so that IEEE arithmetic gives the same bits on every processor.

The exponential is vectorised, unlike NumPy's in double precision on most processors, which would take most of the
training time.  Its error is about one unit in the last place, and it is zero below exp(-708).

The decision value of an SVM is defined as the sum over the training rows, from the first to the last, of kernel values
weighted by dual coefficients, plus the intercept.  Rows with coefficient zero add nothing, whether they are present or
not.  The sum is compiled without fastmath, so that a row has the same bits alone and in a batch.

Labels are predicted from faster scores (matrix products, or sums of changes along a path) where the result is certain:
the difference between score and decision value is bounded, and the decision value is computed only if the score is
within this bound of the threshold.  Each function visits the SVMs of a path once and keeps the scores of one SVM in the
cache, so that its time depends on the changes along the path rather than on the number of SVMs.

Importing this module imports numba; `load_compiled` of kernel.py does so when it is first needed.
"""

import math

from numba import types

from pacbayes._utils.arrays import EPS
from pacbayes._utils.progress import cached_njit

_LOG2E = 1.0 / math.log(2.0)
# ln 2 in two parts; integer multiples of the first below 2^11 are exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Adding this to |n| < 2^51 leaves the rounded integer in the low bits.
_ROUND = 1.5 * 2.0**52
_UNDERFLOW = -708.0
# Smaller relative changes are ignored: multiplication and division by C may change a few units in the last place.
_UNCHANGED = 4.0 * EPS
# Bound on products lost to underflow.
_TINY = 1e-290


@cached_njit(internal=True)
def _exp_row(x, power, bits):
    """Replace x <= 0 by exp(x); `power` is a buffer and `bits` the same memory as integers."""
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


@cached_njit()
def gaussian_of_distances(distances, rows, columns, gamma, out, power, bits):
    """Set out[i, j] = exp(-gamma distances[rows[i], columns[j]])."""
    for i in range(rows.size):
        source, row = distances[rows[i]], out[i]
        for t in range(row.size):
            row[t] = -gamma * source[columns[t]]
        _exp_row(row, power, bits)


@cached_njit()
def gaussian_in_single(distances, rows, columns, gamma, out, row, power, bits):
    """Set out[i, j] = exp(-gamma distances[rows[i], columns[j]]), rounded to single precision; `row` is a buffer."""
    for i in range(rows.size):
        source, single = distances[rows[i]], out[i]
        for t in range(row.size):
            row[t] = -gamma * source[columns[t]]
        _exp_row(row, power, bits)
        for t in range(row.size):
            single[t] = row[t]


# Process two rows and four columns at a time, so that each loaded value is used eight times.


@cached_njit(internal=True)
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


@cached_njit(internal=True)
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


@cached_njit(internal=True)
def _to_gaussians(gamma, values, power, bits):
    for t in range(values.size):
        values[t] = -gamma * values[t]
    _exp_row(values, power, bits)


# If the number of rows is odd, the last row is computed twice, with `spare` as the second output.


@cached_njit()
def products_between(A, columns, out, spare, start, top, bottom):
    """Set out[i, j] to the product of row i of A and column j of `columns`, for a tile of columns and some rows."""
    stop = min(start + spare.size, out.shape[1])
    for i in range(top, bottom, 2):
        second = min(i + 1, bottom - 1)
        other = out[second, start:stop] if second > i else spare[: stop - start]
        _set_products(A[i], A[second], columns, start, out[i, start:stop], other)


@cached_njit()
def distances_between(A, columns, out, spare, start, top, bottom, gamma, power, bits):
    """Set out[i, j] to squared distances, like `products_between`, and for positive gamma to kernel values."""
    stop = min(start + spare.size, out.shape[1])
    for i in range(top, bottom, 2):
        second = min(i + 1, bottom - 1)
        first, other = out[i, start:stop], out[second, start:stop] if second > i else spare[: stop - start]
        _set_distances(A[i], A[second], columns, start, first, other)
        if gamma > 0.0:
            _to_gaussians(gamma, first, power, bits)
            if second > i:
                _to_gaussians(gamma, other, power, bits)


@cached_njit()
def weighted_sums(used, coefs, K, sums):
    """Set `sums` to the weighted sums of all columns of K, adding four terms at a time in order.

    `used` are the indices of the nonzero coefficients.
    """
    for j in range(sums.size):
        sums[j] = 0.0
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


@cached_njit()
def absolute_sums(coefs, sums):
    """Set `sums` to the 1-norms of the rows of `coefs`, added from the first entry to the last.

    Four rows are processed at a time, because consecutive additions to one sum cannot overlap.
    """
    for h in range(sums.size):
        sums[h] = 0.0
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


@cached_njit(internal=True, error_model="numpy", fastmath={"nnan", "nsz", "contract", "reassoc"})
def _scale(coefs, scale, s):
    """Set s = scale * coefs and return the sum of its absolute values."""
    total = 0.0
    for t in range(coefs.size):
        s[t] = coefs[t] * scale
        total += abs(s[t])
    return total


@cached_njit(error_model="numpy")
def collect_changes(dual_coef, order, scales, error_bounds, s, before, starts, columns, values):
    """Store the changes of s = y alpha / C along the path; return their number, or -1 if it exceeds `columns`.

    An SVM with the same coefficients as the preceding one has no changes and gets its scale, 1/C.  `s` is a buffer, and
    `before` a buffer of zeros.

    `error_bounds` are bounds (larger than necessary by a factor of two) on the differences between scores and scaled
    decision values, for kernel values up to 1.  They add up half a unit in the last place for each addition to a sum
    of at most `largest`, for each change and its product, and for each of the m terms of a decision value, and
    `_UNCHANGED` for variables without a change.
    """
    m = dual_coef.shape[1]
    count, size, drift = 0, 0.0, 0.0
    for k in range(order.size):
        coefs = dual_coef[order[k]]
        same = k > 0
        if same:
            last = dual_coef[order[k - 1]]
            t = 0
            while t < m and coefs[t] == last[t]:
                t += 1
            same = t == m
        if same:
            scales[k] = scales[k - 1]
        else:
            largest = size + drift
            size = _scale(coefs, scales[k], s)
            for t in range(m):
                change = s[t] - before[t]
                if abs(change) > _UNCHANGED * abs(s[t]):
                    if count == columns.size:
                        return -1
                    columns[count], values[count] = t, change
                    count += 1
                    before[t] = s[t]
                    largest += abs(change)
                    drift += EPS * (largest + 2.0 * abs(change))
        error_bounds[k] = drift + (m + 16.0) * EPS * size
        starts[k + 1] = count
    return count


@cached_njit(internal=True, fastmath={"nnan", "nsz", "contract"})
def _add_scaled(scores, change, row):
    for t in range(scores.size):
        scores[t] += change * row[t]


@cached_njit(internal=True)
def _column_maxima(K, largest):
    """Set `largest` to the largest absolute value of each column of K."""
    for t in range(largest.size):
        largest[t] = 0.0
    for i in range(K.shape[0]):
        row = K[i]
        for t in range(largest.size):
            size = abs(row[t])
            largest[t] = size if size > largest[t] else largest[t]


@cached_njit(internal=True)
def _compare(scores, threshold, doubt, floor, largest, out):
    """Compare scores with the threshold; return the number of those that are too close to it or NaN."""
    uncertain = 0
    for t in range(scores.size):
        excess = scores[t] - threshold
        out[t] = excess >= 0.0
        uncertain += 0 if abs(excess) > doubt * largest[t] + floor else 1
    return uncertain


@cached_njit(internal=True)
def _weighted_sum(coefs, K, column):
    """Weighted sum of a column of K."""
    total = 0.0
    for t in range(coefs.size):
        if coefs[t] != 0.0:
            total += coefs[t] * K[t, column]
    return total


@cached_njit(internal=True)
def _decide(scores, scale, doubt, largest, coefs, K, intercept, tie, out):
    """Set `out` where decision values of an SVM are at least -tie; scores are about `scale` times their sums."""
    threshold = (-tie - intercept) * scale
    floor = 4.0 * EPS * (abs(intercept) + tie) * scale + _TINY
    number = _compare(scores, threshold, doubt, floor, largest, out)
    if number == 0:
        return
    for t in range(scores.size):
        if not abs(scores[t] - threshold) > doubt * largest[t] + floor:
            out[t] = _weighted_sum(coefs, K, t) + intercept >= -tie


@cached_njit()
def compare_accumulated(
    starts, columns, values, order, scales, error_bounds, dual_coef, intercepts, ties, K, scores, largest, positive
):
    """Set `positive` by SVM and new row, from scores that are sums of changes times rows of K.

    `scores` are zeros, and `largest` is a buffer.
    """
    _column_maxima(K, largest)
    for i in range(order.size):
        for k in range(starts[i], starts[i + 1]):
            _add_scaled(scores, values[k], K[columns[k]])
        h = order[i]
        _decide(scores, scales[i], error_bounds[i], largest, dual_coef[h], K, intercepts[h], ties[h], positive[h])


@cached_njit()
def compare_products(products, sizes, dual_coef, intercepts, ties, K, largest, positive):
    """Set `positive` by SVM and new row, from the matrix product of dual coefficients and K; `largest` is a buffer."""
    _column_maxima(K, largest)
    for h in range(products.shape[0]):
        # Product and decision value each have an error of half a unit in the last place of the 1-norm per term.
        doubt = (2.0 * dual_coef.shape[1] + 16.0) * EPS * sizes[h]
        _decide(products[h], 1.0, doubt, largest, dual_coef[h], K, intercepts[h], ties[h], positive[h])


_matrix, _vector, _integers, _number = types.float64[:, ::1], types.float64[::1], types.int64[::1], types.int64
_single, _short, _flags, _float = types.float32[:, ::1], types.int32[::1], types.boolean[:, ::1], types.float64
_between = (_matrix, _matrix, _matrix, _vector, _number, _number, _number)
_gaussian = (_matrix, _integers, _integers, _float)
_path = (_matrix, _vector, _vector, _matrix)
#: Argument types of each function; for other types, numba would compile variants with different last bits.
SIGNATURES = {
    "products_between": _between,
    "distances_between": (*_between, _float, _vector, _integers),
    "gaussian_of_distances": (*_gaussian, _matrix, _vector, _integers),
    "gaussian_in_single": (*_gaussian, _single, _vector, _vector, _integers),
    "weighted_sums": (_integers, _vector, _matrix, _vector),
    "absolute_sums": (_matrix, _vector),
    "collect_changes": (_matrix, _integers, _vector, _vector, _vector, _vector, _integers, _short, _vector),
    "compare_accumulated": (_integers, _short, _vector, _integers, _vector, _vector, *_path, _vector, _vector, _flags),
    "compare_products": (_matrix, _vector, *_path, _vector, _flags),
}
