r"""Bounds with the chi-square divergence instead of the Kullback-Leibler divergence.

With :math:`K_2(q) = \sum_i q_i^2/p_i = 1 + \chi^2(q \| p)` and :math:`\phi_+(\hat l, l)` the distance where
:math:`\hat l < l` and 0 elsewhere, with probability at least :math:`1 - \delta`, for all posteriors simultaneously,

.. math:: \phi_+(L, l) \le x = \sqrt{K_2\, I_2(m)/\delta}, \qquad
          I_2(m) \ge \sup_{0 \le l \le 1} E\,\phi_+(k/m, l)^2,

equation (chi2) of docs/mathematics.md, where `k` is binomial with parameters `m` and `l`.  The inverse of the distance
is the same as for the Kullback-Leibler divergence; the threshold `x` differs.

The supremum is enclosed by branch and bound on `l`.  Every term :math:`u_k(l)` of the moment is log-concave in `l` on
:math:`(k/m, 1)`, so it lies below the exponential of its tangent at the centre `c` of a cell,
:math:`u_k(c)\, e^{(l-c) g_k}`, equation (chi2-cell).  A sum of such exponentials is convex in `l`: its maximum is at an
end of the cell.  Terms that start to be positive within the cell, or close to it, are bounded by their factors: the
probability of `k` falls with `l`, and the distance rises.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from pacbayes._utils.arrays import EPS, FloatArray, round_up
from pacbayes._utils.checks import check_level, check_sample_size
from pacbayes.bounds.binary_kl import kl_divergence
from pacbayes.bounds.binomial_moments import log_binomial_peaks
from pacbayes.bounds.distance import Distance

CHI2 = "chi2"
DIVERGENCES = ("kl", CHI2)
# Largest m for which the supremum is enclosed.
_LARGEST_M = 10_000
# Standard deviations of k below its mean that are summed; Chernoff's bound covers the rest.
_WINDOW = 12.0
# Relative width of the enclosure, and relative inflation for rounding: exponents are sums of terms below 1e3.
_TOL, _SLACK = 1e-9, 2e-11
# Cells that are evaluated together.
_BATCH = 32

DistanceFunction = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class _OneSidedDistance:
    """A one-sided distance for l > l^, its logarithmic slope in l, and an upper bound of I_2 for every m."""

    value: DistanceFunction
    log_slope: DistanceFunction
    #: For m >= 2.
    any_m: Callable[[int], float]


def _linear_difference(empirical: FloatArray, true: FloatArray) -> FloatArray:
    return true - empirical


def _one_sided_kl(empirical: FloatArray, true: FloatArray) -> FloatArray:
    return np.asarray(kl_divergence(empirical, true))


def _one_sided_kl_slope(empirical: FloatArray, true: FloatArray) -> FloatArray:
    return np.asarray((true - empirical) / (true * (1.0 - true) * _one_sided_kl(empirical, true)))


_ONE_SIDED = {
    "linear": _OneSidedDistance(_linear_difference, lambda p, true: 1.0 / (true - p), lambda m: 0.25 / m),
    "squared": _OneSidedDistance(
        lambda p, true: (true - p) ** 2,
        lambda p, true: 2.0 / (true - p),
        lambda m: (3.0 * m - 2.0) / (16.0 * float(m) ** 3),
    ),
    "kl": _OneSidedDistance(_one_sided_kl, _one_sided_kl_slope, lambda m: 2.0 / float(m) ** 2),
}
#: Distances with a bound by the chi-square divergence.
CHI2_DISTANCES = tuple(_ONE_SIDED)


class _Cells:
    """Moments E phi_+^2 at the centres of cells [a, b], and upper bounds on the cells."""

    def __init__(self, kind: _OneSidedDistance, m: int) -> None:
        self.kind, self.m = kind, m
        self.peaks = log_binomial_peaks(m)

    def __call__(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Moment at the centre of each cell, and an upper bound of the moment on the cell."""
        m = self.m
        lowest = np.maximum(np.floor(m * a - _WINDOW * np.sqrt(m * a * (1.0 - a)) - _WINDOW), 0.0)
        top = np.minimum(np.ceil(m * b), m) - 1.0
        k = top[:, None] - np.arange(int((top - lowest).max()) + 1)
        inside = k >= 0.0
        p, peaks = np.where(inside, k, 0.0) / m, self.peaks[np.where(inside, k, 0.0).astype(np.int64)]
        c, h, low, high = (0.5 * (a + b))[:, None], (0.5 * (b - a))[:, None], a[:, None], b[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            ceiling = peaks - m * kl_divergence(p, np.maximum(low, p)) + 2.0 * np.log(self.kind.value(p, high))
            positive = inside & (p < c)
            at = np.where(positive, c, 1.0 - 0.5 * (1.0 - p))  # any l > p where the term is masked
            terms = peaks - m * kl_divergence(p, at) + 2.0 * np.log(self.kind.value(p, at))
            drift = h * (m * (p - at) / (at * (1.0 - at)) + 2.0 * self.kind.log_slope(p, at))
        tangent = positive & (terms + np.abs(drift) < ceiling)
        capped = np.exp(np.where(inside & ~tangent, ceiling, -np.inf)).sum(axis=1)
        sides = [np.exp(np.where(tangent, terms + sign * drift, -np.inf)).sum(axis=1) for sign in (-1.0, 1.0)]
        # Below the window: the probability is at most exp(-m kl), and the distance at most that of k = 0.
        below = np.where(lowest > 0.0, np.exp(-m * np.asarray(kl_divergence(lowest / m, a))), 0.0)
        tail = below * self.kind.value(np.zeros_like(b), b) ** 2
        moment = np.exp(np.where(positive, terms, -np.inf)).sum(axis=1)
        return moment, np.maximum(*sides) + capped + tail

    def decreases_from(self, risk: float) -> bool:
        """Whether every term decreases on [risk, 1): by log-concavity, if it does at its left end."""
        p = np.arange(self.m) / self.m
        slopes = self.m * (p - risk) / (risk * (1.0 - risk)) + 2.0 * self.kind.log_slope(p, np.full_like(p, risk))
        return bool((slopes <= 0.0).all())


@lru_cache(maxsize=1024)
def log_second_moment(distance: str, m: int) -> float:
    r"""Log of :math:`I_2(m) \ge \sup_l E\,\phi_+(k/m, l)^2`, rounded up.

    At most 1e-9 above the supremum up to m = 10 000.  For larger m, the smaller of the value at 10 000 (the moment does
    not increase with m) and a closed form: the two-sided moments 1/(4m) and (3m - 2)/(16 m^3), and 2/m^2 for kl,
    because :math:`P(m\,kl_+ > t) \le e^{-t}`.

    Examples
    --------
    >>> print(f"{math.exp(log_second_moment('linear', 1)):.6f}")  # sup of (1 - l) l^2, at l = 2/3
    0.148148
    """
    if m > _LARGEST_M:
        largest = log_second_moment(distance, _LARGEST_M)
        return min(largest, round_up(math.log(_ONE_SIDED[distance].any_m(m)), 8))
    cells = _Cells(_ONE_SIDED[distance], m)
    first = 1e-3 / m
    if not cells.decreases_from(1.0 - first):
        raise AssertionError("the moment must decrease next to l = 1")
    end = np.array([1.0 - first])
    # Only k = 0 counts below 1/m, where the moment is at most the square of the distance.
    best, ceiling = 0.0, float(_ONE_SIDED[distance].value(np.zeros(1), np.array([first]))[0]) ** 2
    ceiling = max(ceiling, float(cells(end, end)[1][0]))
    left = np.geomspace(first, 0.5, 17)
    edges = np.concatenate([left, 1.0 - left[-2::-1]])
    a, b = edges[:-1], edges[1:]
    while a.size:
        parts = [cells(a[i : i + _BATCH], b[i : i + _BATCH]) for i in range(0, a.size, _BATCH)]
        value, worst = np.concatenate([v for v, _ in parts]), np.concatenate([w for _, w in parts])
        best = max(best, float(value.max()))
        keep = worst > best * (1.0 + 0.5 * _TOL)
        ceiling = max(ceiling, float(worst[~keep].max(initial=0.0)))
        a, b = a[keep], b[keep]
        middle = 0.5 * (a + b)
        a, b = np.stack([a, middle], axis=1).ravel(), np.stack([middle, b], axis=1).ravel()
    return round_up(math.log(max(ceiling, best)) + _SLACK)


def check_chi2(distance: Distance, constant: str) -> str:
    """Raise unless there is a chi-square bound; the name of the distance."""
    if distance.name not in _ONE_SIDED:
        raise ValueError(f"divergence='chi2' is for the distances {', '.join(_ONE_SIDED)}, got {distance.name!r}")
    if constant != "exact":
        raise ValueError(f"divergence='chi2' has exact constants only, got constant={constant!r}")
    return distance.name


@dataclass(frozen=True)
class ChiSquareBound:
    r"""The bound :math:`B = f(L, \chi^2)` of a distance for fixed `m` and `delta`.

    `f` is increasing and concave in the pair :math:`(L, \chi^2)`, and rounded up.  Arguments are not checked.

    Examples
    --------
    >>> from pacbayes.bounds import get_distance
    >>> f = ChiSquareBound(get_distance("kl"), 1000, 0.05)
    >>> print(f"{f(0.1, 0.0):.6f}")
    0.126608
    """

    distance: Distance
    m: int
    delta: float
    constant: str = "exact"
    #: I_2(m) / delta, rounded up.
    scale: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        name = check_chi2(self.distance, self.constant)
        scale = math.exp(log_second_moment(name, check_sample_size(self.m))) / check_level(self.delta)
        object.__setattr__(self, "scale", scale * (1.0 + 64 * EPS))

    def threshold(self, chi2: float) -> float:
        """Threshold x = sqrt((1 + chi^2) I_2 / delta), rounded up."""
        return round_up(math.sqrt((1.0 + chi2) * self.scale), 4)

    def __call__(self, risk: float, chi2: float) -> float:
        """Evaluate B = f(L, chi^2), rounded up."""
        return self.distance.upper(risk, self.threshold(chi2))

    def ratio(self, risk: float, chi2: float) -> float:
        """Ratio (dB/dL) / (dB/dchi^2)."""
        x = self.threshold(chi2)
        return self.distance.ratio(risk, x) * 2.0 * (1.0 + chi2) / x
