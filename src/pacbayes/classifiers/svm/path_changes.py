"""The compiled part of scoring a path: what changes from machine to machine, and labels from scores summed up of it.

Importing this module imports numba; `path_scores` does so when it is first called.  Each function goes once over the
machines and keeps one row in the cache: with arrays of machines by rows a path of ten times as many machines would take
ten times as long, whatever changes along it.

Scores summed up from changes, or by a matrix product, differ from the decisions that define the labels
(weighted_sums.py) by rounding.  How much is bounded, and a score nearer to its threshold than that bound does not
decide: the label then comes from the decision itself.
"""

import numpy as np
from numba import types

from pacbayes.classifiers.svm.weighted_sums import sums_of_some
from pacbayes.numeric.rounding import EPS
from pacbayes.runtime.compiled import compiled

# Multiplying by C and dividing again may move a variable that stood still by a few units in the last place.
_STILL = 4.0 * EPS
# Below this all products may be lost to underflow.
_TINY = 1e-290


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
    sums = sums_of_some(coefs, K, places)
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
    """Compile the three functions, or load them from the cache."""
    matrix, vector, integers, short = types.float64[:, ::1], types.float64[::1], types.int64[::1], types.int32[::1]
    flags = types.boolean[:, ::1]
    collect.compile((matrix, integers, vector, vector, integers, short, vector))
    accumulate.compile(
        (integers, short, vector, integers, vector, vector, matrix, vector, vector, matrix, flags)
    )  # fmt: skip
    compare_products.compile((matrix, vector, matrix, vector, vector, matrix, flags))
