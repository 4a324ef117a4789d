"""Sums of kernel values weighted by dual coefficients, compiled: the one definition of every machine's decisions.

Importing this module imports numba.

A decision is the sum over the training rows, from the first to the last, then the intercept.  Rows whose coefficient is
zero add nothing, so that it is the same sum whether they are there or not; nothing is compiled with fastmath, so that
it has the same bits for one new row and for a thousand.  Whatever is faster may be used to decide (see
path_changes.py), but only where it cannot come to another label.
"""

import numpy as np
from numba import types

from pacbayes.runtime.compiled import compiled


@compiled()
def sums_of_some(coefs, K, places):
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


def compile_all() -> None:
    """Compile what is called from outside compiled code, or load it from the cache."""
    matrix, vector = types.float64[:, ::1], types.float64[::1]
    weighted_sums.compile((vector, matrix, types.int64, vector))
    absolute_sums.compile((matrix, vector))
