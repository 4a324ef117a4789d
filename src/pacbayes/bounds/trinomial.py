r"""The upper limit of a difference of two risks, from the rows on which exactly one of two classifiers errs.

Of `m` rows, `j` are wrong for A alone and `k` for B alone: with the rest, a trinomial with probabilities :math:`p_A`,
:math:`p_B`.  The difference of the risks is :math:`d = p_B - p_A`; the rate of disagreement :math:`s = p_A + p_B` is a
nuisance.  Outcomes are ordered by an approximate limit,

.. math:: t(j, k) = k - j + z \sqrt{j + k + z^2/4},

which rises in `k` and falls in `j`.  So the probability of the outcomes that are not above the one seen falls as `d`
grows, and the limit is where the largest of these probabilities over `s` reaches the level: equation (difference) of
docs/mathematics.md.

Where independent draws are groups of rows, the difference of each is a number in [-1, 1], and a bet bounds their mean.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaincc, ndtri

from pacbayes._utils.arrays import EPS, FloatArray, round_down, round_up, usual_float_errors
from pacbayes._utils.checks import check_between, check_sample_size
from pacbayes.bounds.bets import USUAL_BET, bet_upper
from pacbayes.bounds.binary_kl import kl_divergence
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.bounds.binomial_moments import log_binomial_peaks

# The part of the level that pays for an interval of the rate of disagreement, outside of which nothing is looked at.
_FOR_DISAGREEMENT = 0.01
# The part of the level at which the sum over the rows on which A alone errs is cut; what is cut off is added.
_CUT = 1e-3
# Terms of that sum: more are taken together, each block by its largest, which moves the limit by about a percent of its
# distance from the difference seen.
_TERMS = 200
# Relative inflation for rounding: exponents are below a thousand, the sums have positive terms.
_SLACK = 1e-9
# Numbers in one NumPy call.
_MOST_NUMBERS = 400_000
# Rates of disagreement looked at where nothing is proved yet; cells with which the proof begins, and ends.
_POINTS, _CELLS, _MOST_CELLS = 7, 32, 256
# How far beyond the point found the limit is proved: the first of these parts of its distance that can be.  The finest
# takes too many cells where many rows disagree.
_STEPS, _FEW = (0.002, 0.01, 0.03, 0.1, 0.3, 1.0), 50
# Bets on the differences of groups; the more groups, the smaller the best one may be.
_GROUP_BETS = (USUAL_BET, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
# The smallest level, with room for its parts above the subnormal numbers; and the smallest probability looked at.
_SMALLEST_LEVEL, _LEAST = 1e-250, 1e-300


def difference_upper(only_a: int, only_b: int, m: int, delta: float) -> float:
    """Upper confidence limit of B's risk less A's, from the rows of `m` on which exactly one of them errs.

    Parameters
    ----------
    only_a, only_b : int
        The rows on which only A errs, and only B.
    m : int
        All rows.
    delta : float
        The level, at most 1/2; below 1e-250 the limit is 1.

    Returns
    -------
    float
        Rounded up, from -1 to 1.  The lower limit is minus the upper one with A and B exchanged.

    Examples
    --------
    >>> print(f"{difference_upper(10, 10, 1000, 0.025):.4f} {difference_upper(0, 0, 1000, 0.025):.4f}")
    0.0102 0.0037
    """
    m = check_sample_size(m)
    if not (only_a >= 0 and only_b >= 0 and only_a + only_b <= m):
        raise ValueError(f"only_a and only_b must be counts of at most m = {m} rows together, got {only_a}, {only_b}")
    level = float(check_between("delta", delta, 0.0, 0.5))
    if level < _SMALLEST_LEVEL:
        return 1.0
    with usual_float_errors():
        return _Limit(int(only_a), int(only_b), m, level).found()


def group_difference_upper(more: ArrayLike, sizes: ArrayLike, delta: float) -> float:
    r"""Upper confidence limit of the mean over groups of B's error rate less A's.

    With the difference :math:`D_g \in [-1, 1]` of group `g`, :math:`(1 + D_g)/2` lies in [0, 1].  The limit is the
    smallest of `bet_upper` for several bets, each at an equal part of the level; their number depends on the number of
    groups alone.

    Parameters
    ----------
    more : array_like of int, shape (G,)
        For each group by how many rows B errs more often than A.
    sizes : array_like of int, shape (G,)
        The rows of each group.
    delta : float
        The level in [0, 1].

    Returns
    -------
    float
        Rounded up, from -1 to 1.

    Examples
    --------
    >>> print(f"{group_difference_upper([0] * 30, [10] * 30, 0.025):.4f}")
    0.1282
    """
    surplus, rows = np.asarray(more), np.asarray(sizes)
    shaped = rows.ndim == 1 and rows.size > 0 and surplus.shape == rows.shape
    if not shaped or (rows < 1).any() or (np.abs(surplus) > rows).any():
        raise ValueError("more and sizes must be counts of rows for at least one group, with |more| <= sizes")
    level = float(check_between("delta", delta, 0.0, 1.0))
    # One division, rounded up.
    losses = np.nextafter((rows + surplus) / (2.0 * rows), 1.0)
    # The best bet if all differences were -1 or 1.
    least = math.sqrt(-2.0 * math.log(max(level, _LEAST)) / rows.size)
    bets = [bet for bet in _GROUP_BETS if bet == USUAL_BET or bet >= least]
    part = max(round_down(level / len(bets)), 0.0)
    upper = min(bet_upper(losses, bet, part) for bet in bets)
    return min(round_up(2.0 * upper - 1.0), 1.0)


class _Limit:
    """The search for one limit."""

    def __init__(self, only_a: int, only_b: int, m: int, delta: float) -> None:
        self.seen = (only_b - only_a) / m
        self.level = round_down(delta * (1.0 - _FOR_DISAGREEMENT), 8.0)
        half = round_down(0.5 * _FOR_DISAGREEMENT * delta)
        disagree = only_a + only_b
        self.steps = _STEPS if disagree < _FEW else _STEPS[1:]
        self.least = max(round_down(1.0 - float(binomial_upper(m - disagree, m, half))), 0.0)
        self.most = float(binomial_upper(disagree, m, half))
        self.tail = _Tail(only_a, only_b, m, delta)

    def found(self) -> float:
        """Return the limit: the point where the largest probability seen reaches the level, moved up until proved."""
        if self._excess(self.most) > 0.0:
            return self.most
        if self._excess(-self.most) <= 0.0:
            point = -self.most
        else:
            point = float(brentq(self._excess, -self.most, self.most, xtol=1e-4 * (self.most - self.least)))
        distance = max(abs(point - self.seen), self.tail.unit)
        for step in self.steps:
            limit = point + step * distance
            if limit < self.most and self._proved(limit):
                return round_up(limit)
        # No difference is larger than the rate of disagreement.
        return self.most

    def _excess(self, difference: float) -> float:
        """Return by how much the largest probability at a few rates of disagreement exceeds the level (logarithms)."""
        rates = np.linspace(min(max(self.least, abs(difference)), self.most), self.most, _POINTS)
        largest = float(self.tail(rates, rates, difference).max())
        return math.log(max(largest, _LEAST)) - math.log(self.level)

    def _proved(self, difference: float) -> bool:
        """Return whether the probability is at most the level at every rate of disagreement."""
        edges = np.linspace(min(max(self.least, abs(difference)), self.most), self.most, _CELLS + 1)
        low, high = edges[:-1], edges[1:]
        while low.size <= _MOST_CELLS:
            open_ = self.tail(low, high, difference) > self.level
            if not open_.any():
                return True
            low, high = low[open_], high[open_]
            middle = 0.5 * (low + high)
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        return False


class _Tail:
    """The probability of all outcomes that the order does not put above the one seen, never too small."""

    def __init__(self, only_a: int, only_b: int, m: int, delta: float) -> None:
        self.m, self.unit = m, 1.0 / m
        self.z = float(-ndtri(delta))
        self.shift = 0.25 * self.z * self.z
        here = only_b - only_a + self.z * math.sqrt(only_a + only_b + self.shift)
        # A little more than the outcome itself: the sets of outcomes stay nested, which is all that validity needs.
        self.height = here + 1e-9 * (1.0 + abs(here))
        self.spread = math.sqrt(2.0 * math.log(1.0 / (_CUT * delta)))
        self.cut = _CUT * delta

    def __call__(self, low: FloatArray, high: FloatArray, difference: float) -> FloatArray:
        """Return upper bounds of the probability for rates of disagreement between `low` and `high`.

        It rises with A's probability and falls with B's, equation (monotone-cells) of docs/mathematics.md: A's is
        taken at the upper end, B's at the lower.
        """
        error = 4.0 * EPS * (high + abs(difference))
        of_a = np.clip(0.5 * (high - difference) + error, 0.0, 1.0)
        of_b = np.maximum(0.5 * (low + difference) - error, 0.0)
        first, last = self._range(float(of_a.min()), float(of_a.max()))
        j = np.arange(first, last + 1.0)
        starts = np.arange(0, j.size, max(1, -(-j.size // _TERMS)))
        peaks = log_binomial_peaks(self.m, j)
        # Of a block the last: the most rows for B allowed, of the fewest rows left.
        ends = j[np.append(starts[1:], j.size) - 1]
        most, rest = np.minimum(self._largest(ends), self.m - ends), self.m - ends
        found = np.empty(of_a.size)
        for part in np.array_split(np.arange(of_a.size), max(1, of_a.size * j.size // _MOST_NUMBERS)):
            a, b = of_a[part, None], of_b[part, None]
            masses = np.exp(peaks - self.m * np.asarray(kl_divergence(j / self.m, a)))
            share = np.minimum(b / np.maximum(1.0 - a, EPS) * (1.0 - 4.0 * EPS), 1.0)
            below = np.where(
                most >= rest, 1.0, betaincc(np.maximum(most, 0.0) + 1.0, np.maximum(rest - most, 1.0), share)
            )
            below = np.where(most < 0.0, 0.0, below)
            found[part] = (np.add.reduceat(masses, starts, axis=1) * below).sum(axis=1)
        return np.asarray(found * (1.0 + _SLACK) + 2.0 * self.cut)

    def _largest(self, j: FloatArray) -> FloatArray:
        """Return the most rows on which B alone errs that are not above the outcome seen; -1 where there are none."""
        square = self.z * self.z + 4.0 * (self.height + self.shift + 2.0 * j)
        root = 0.5 * (np.sqrt(np.maximum(square, 0.0)) - self.z)
        rows = np.where((square >= 0.0) & (root >= 0.0), np.floor(root * root - self.shift - j), -1.0)
        # Rounding must not break that more rows of A allow more of B.
        return np.asarray(np.maximum.accumulate(np.maximum(rows, -1.0)))

    def _range(self, least: float, most: float) -> tuple[float, float]:
        r"""Return between which counts the sum is taken: beyond either there is at most the cut (Chernoff).

        With :math:`kl(a, p) \ge (a-p)^2 / (2 \max(a, p))`, a distance of :math:`x(\sqrt{mp} + x)` with
        :math:`x^2 = 2 \ln(1/\text{cut})` is enough on both sides.
        """
        x, m = self.spread, self.m
        first = math.floor(m * least - x * math.sqrt(m * least)) - 1
        last = math.ceil(m * most + x * (math.sqrt(m * most) + x)) + 1
        return max(first, 0), min(last, m)
