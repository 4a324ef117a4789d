r"""A certified supremum over the unknown risk, for distances whose worst risk has no closed form.

For :math:`F(l) = \sum_k u_k(l)`, :math:`u_k(l) = \binom{m}{k} l^k (1-l)^{m-k} e^{n \phi(k/m - l)}` with an even, convex
:math:`\phi`, branch and bound on `l` in [0, 1/2].  On a cell :math:`c \pm h`, Taylor's formula for
:math:`\ln u_k`, equation (cell) of docs/mathematics.md, gives

.. math:: \sup_{|l-c| \le h} F(l) \le \max_{\pm} \sum_k u_k(c) \exp(\pm h g_k + \tfrac{1}{2} h^2 \max(G_k, 0)),

where :math:`g_k` is the slope of :math:`\ln u_k` at `c` and :math:`G_k` an upper bound of its second derivative on the
cell (a sum of exponentials of something linear in `l - c` is convex, so it is largest at an end).
"""

from collections.abc import Callable

import numpy as np
from scipy.special import xlogy

from pacbayes.bounds.binomial_moments import log_binomial_peaks
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.rounding import round_up

Function = Callable[[FloatArray], FloatArray]

# Cells in one NumPy call: enough to amortise its overhead, few enough to stay in the cache.
_MOST_NUMBERS = 400_000
# Relative inflation for rounding: exponents are sums of terms below 1e5 in absolute value for m <= 1e4.
_SLACK = 2e-11


# An exponential is cut here rather than overflowing: such a cell is far above the supremum and is split again.
_LARGEST_EXPONENT = 600.0


def _sum_exp(exponents: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.minimum(exponents, _LARGEST_EXPONENT)).sum(axis=-1))


class CellBounds:
    """F at the centre of cells and its upper bounds on them."""

    def __init__(self, m: int, n: int, phi: Function, slope: Function, curvature: Function) -> None:
        self.m, self.n = m, n
        self.phi, self.slope, self.curvature = phi, slope, curvature
        self.k = np.arange(m + 1.0)
        fractions = self.k / m
        self.log_binomial = log_binomial_peaks(m) - xlogy(self.k, fractions) - xlogy(m - self.k, 1.0 - fractions)

    def log_terms(self, c: FloatArray) -> FloatArray:
        """Return ln u_k(c) for all k, along a new last axis if `c` has one of length one."""
        k, m = self.k, self.m
        return np.asarray(self.log_binomial + k * np.log(c) + (m - k) * np.log1p(-c) + self.n * self.phi(k / m - c))

    def __call__(self, center: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return F at each cell's centre, and its upper bound on the cell."""
        c, h = center[:, None], half[:, None]
        k, m, n = self.k, self.m, self.n
        d = k / m - c
        terms = self.log_terms(c)
        drift = h * (m * d / (c * (1.0 - c)) - n * self.slope(d))
        second = n * self.curvature(np.abs(d) + h) - k / (c + h) ** 2 - (m - k) / (1.0 - c + h) ** 2
        bent = terms + 0.5 * h * h * np.maximum(second, 0.0)
        return _sum_exp(terms), np.maximum(_sum_exp(bent - drift), _sum_exp(bent + drift))

    def first(self, end: float) -> float:
        """Return an upper bound of F on [0, end]: there the term k = 0 is at most 1 and the others increase."""
        return 1.0 + float(np.exp(self.log_terms(np.array(end))[1:]).sum())


def log_supremum(m: int, n: int, phi: Function, slope: Function, curvature: Function, tol: float = 1e-9) -> float:
    """Return an upper bound of ln sup F, at most `tol` above it where sup F is at least 1.002.

    Parameters
    ----------
    m : int
        Number of examples.
    n : int
        The factor of the distance in the exponent, at most 2m.
    phi, slope, curvature : callable
        The distance as a function of the difference d in [-1, 1] and its first two derivatives: even, convex, with
        a curvature that grows with |d| and a slope below 100.
    tol : float
        The absolute width of the enclosure of ln sup F.

    Examples
    --------
    >>> two = lambda d: np.full_like(d, 2.0)
    >>> pinsker = log_supremum(100, 200, lambda d: d * d, lambda d: 2 * d, two)
    >>> print(f"{np.exp(pinsker):.6f}")  # attained at l = 1/2
    4.356020
    """
    cells = CellBounds(m, n, phi, slope, curvature)
    first = 1e-3 / m
    best, ceiling = 1.0, cells.first(first)
    edges = np.linspace(first, 0.5, 17)
    center, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    batch = max(1, _MOST_NUMBERS // (m + 1))
    while center.size:
        parts = [cells(center[i : i + batch], half[i : i + batch]) for i in range(0, center.size, batch)]
        value, worst = np.concatenate([v for v, _ in parts]), np.concatenate([w for _, w in parts])
        best = max(best, float(value.max()))
        keep = worst > best * (1.0 + 0.5 * tol)
        ceiling = max(ceiling, float(worst[~keep].max(initial=0.0)))
        center, half = center[keep], 0.5 * half[keep]
        center, half = np.concatenate([center - half, center + half]), np.concatenate([half, half])
    return round_up(float(np.log(max(ceiling, best))) + _SLACK)
