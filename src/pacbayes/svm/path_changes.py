"""The compiled part of scoring a path: decisions, what changes from machine to machine, and labels summed up of it.

Importing this module imports numba; `path_scores` does so when it is first called.

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

import numpy as np
from numba import types

from pacbayes._utils.arrays import EPS
from pacbayes._utils.progress import compiled

# Multiplying by C and dividing again may move a variable that stood still by a few units in the last place.
_STILL = 4.0 * EPS
# Below this all products may be lost to underflow.
_TINY = 1e-290


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
def weighted_sums(coefs, K, start, sums):
    """Set `sums` to those of as many columns of K, from `start` on; four terms at a time, added in the same order."""
    stop = start + sums.size
    sums[:] = 0.0
    used = np.flatnonzero(coefs)
    k = 0
    while k + 4 <= used.size:
        t, u, v, w = used[k], used[k + 1], used[k + 2], used[k + 3]
        a, b, c, d = coefs[t], coefs[u], coefs[v], coefs[w]
        p, q, r, s = K[t, start:stop], K[u, start:stop], K[v, start:stop], K[w, start:stop]
        for j in range(sums.size):
            sums[j] = (((sums[j] + a * p[j]) + b * q[j]) + c * r[j]) + d * s[j]
        k += 4
    while k < used.size:
        coef, row = coefs[used[k]], K[used[k], start:stop]
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
    matrix, vector, integers, short = types.float64[:, ::1], types.float64[::1], types.int64[::1], types.int32[::1]
    flags = types.boolean[:, ::1]
    weighted_sums.compile((vector, matrix, types.int64, vector))
    absolute_sums.compile((matrix, vector))
    collect.compile((matrix, integers, vector, vector, integers, short, vector))
    accumulate.compile(
        (integers, short, vector, integers, vector, vector, matrix, vector, vector, matrix, flags)
    )  # fmt: skip
    compare_products.compile((matrix, vector, matrix, vector, vector, matrix, flags))
