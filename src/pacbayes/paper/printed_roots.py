"""The paper's fixed-point scheme for kl with its own KLRoots: bisection that stops at a tolerance.

KLRoots returns the first midpoint r with |kl(L, r) - x| <= tol.  Its error in r is up to tol / (dkl/dr), of either
sign; a search for the smallest of many such values finds the largest error downwards.
"""

import math

import numpy as np

from pacbayes.numeric.arrays import FloatArray
from pacbayes.paper.protocol import DELTA
from pacbayes.paper.runs import Run

_EPS = 1e-9
_MAX_STEPS = 200


def bisected_root(p: float, x: float, tol: float) -> float:
    """Return the upper root of kl(p, .) = x as the paper's algorithm does.

    Examples
    --------
    >>> bisected_root(0.0, 0.1, 1e-4) == 1 - math.exp(-0.1)
    True
    >>> abs(bisected_root(0.1, 0.02, 1e-10) - 0.170384) < 1e-6
    True
    """
    if p == 0.0:
        return 1.0 - math.exp(-x)
    low, high = p, 1.0 - _EPS
    middle = 0.5 * (low + high)
    while abs((z := _kl(p, middle)) - x) > tol:
        if z > x:
            high = middle
        else:
            low = middle
        middle = 0.5 * (low + high)
        if abs(middle - high) < _EPS:
            break
    return middle


def _kl(p: float, q: float) -> float:
    return p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))


def scheme_bound(risks: FloatArray, H: int, m: int, tol: float) -> float:
    """Return the bound at the fixed point on some of H classifiers under a uniform prior, all roots bisected."""
    log_term = math.log(2.0 * math.sqrt(m) / DELTA)
    values, counts = np.unique(risks, return_counts=True)
    mass = counts / counts.sum()
    r, change, steps = math.nan, math.inf, 0
    while change > tol and steps < _MAX_STEPS:
        risk = float(mass @ values)
        # An equal risk has an equal weight: the sum over classifiers of q ln(q H) is one over groups.
        kl = float(np.sum(mass * np.log(np.maximum(mass, 1e-300) / counts * H)))
        r = bisected_root(risk, (kl + log_term) / m, tol)
        if risk == 0.0:
            return r
        beta = m * (math.log(r / (1.0 - r)) - math.log(risk / (1.0 - risk)))
        new = counts * np.exp(-beta * (values - values[0]))
        new /= new.sum()
        change, mass, steps = float(np.linalg.norm(new - mass)), new, steps + 1
    return r


def subset_bounds(run: Run, tol: float) -> FloatArray:
    """Return the scheme's bound on the first H' classifiers by risk, for every H'."""
    risks = np.sort(run.errors) / run.m
    return np.array([scheme_bound(risks[:size], risks.size, run.m, tol) for size in range(1, risks.size + 1)])
