"""The compiled part of scoring a path: what changes from machine to machine, and scores summed up from it.

Importing this module imports numba; `path_scores` does so when it is first called.  Each function goes once over the
machines and keeps one row in the cache: with arrays of machines by rows a path of ten times as many machines would take
ten times as long, whatever changes along it.
"""

import numpy as np
from numba import types

from pacbayes.bounds.rounding import EPS
from pacbayes.classifiers.compiled import compiled

# Multiplying by C and dividing again may move a variable that stood still by a few units in the last place.
_STILL = 4.0 * EPS


@compiled(error_model="numpy", fastmath={"nnan", "nsz", "contract", "reassoc"})
def _scaled(coefs, scale, s):
    """Set s = scale * coefs and return the sum of its absolute values."""
    total = 0.0
    for t in range(coefs.size):
        s[t] = coefs[t] * scale
        total += abs(s[t])
    return total


@compiled(error_model="numpy")
def collect(dual_coef, order, scales, sizes, starts, columns, values):
    """Store the changes of s = y alpha / C along the path; return how many, or -1 if there is no room for them.

    A machine with the coefficients of the one before changes nothing and takes over its scale, 1/C, as well.
    """
    m = dual_coef.shape[1]
    s, before = np.empty(m), np.zeros(m)
    count = 0
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
            sizes[place] = sizes[place - 1]
        else:
            sizes[place] = _scaled(coefs, scales[place], s) / scales[place]
            for t in range(m):
                change = s[t] - before[t]
                if abs(change) > _STILL * abs(s[t]):
                    if count == columns.size:
                        return -1
                    columns[count], values[count] = t, change
                    count += 1
                    before[t] = s[t]
        starts[place + 1] = count
    return count


@compiled(fastmath={"nnan", "nsz", "contract"})
def _add(scores, change, row):
    for t in range(scores.size):
        scores[t] += change * row[t]


@compiled(fastmath={"nnan", "nsz", "contract"})
def _compare(scores, threshold, out):
    for t in range(scores.size):
        out[t] = scores[t] >= threshold


@compiled()
def accumulate(starts, columns, values, K, order, thresholds, positive):
    """Set which scores, sums of the changes so far times rows of K, reach the threshold of each machine."""
    scores = np.zeros(K.shape[1])
    for place in range(order.size):
        for k in range(starts[place], starts[place + 1]):
            _add(scores, values[k], K[columns[k]])
        _compare(scores, thresholds[place], positive[order[place]])


def compile_all() -> None:
    """Compile both functions, or load them from the cache."""
    matrix, vector, integers, short = types.float64[:, ::1], types.float64[::1], types.int64[::1], types.int32[::1]
    collect.compile((matrix, integers, vector, vector, integers, short, vector))
    accumulate.compile((integers, short, vector, matrix, integers, vector, types.boolean[:, ::1]))
