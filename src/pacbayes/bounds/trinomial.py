r"""Upper confidence bounds on the difference of two risks, from paired predictions on the same rows.

Of `m` rows, `j` are errors of A alone and `k` of B alone; with the remaining rows, (j, k) is trinomial with
probabilities :math:`p_A`, :math:`p_B`.  The difference of the risks is :math:`d = p_B - p_A`; the discordance rate
:math:`s = p_A + p_B` is a nuisance parameter.  Outcomes are ordered by an approximate bound,

.. math:: t(j, k) = k - j + z \sqrt{j + k + z^2/4},

which increases in `k` and decreases in `j`.  So the probability of the outcomes not above the observed one decreases in
`d`, and the bound is the `d` at which its maximum over `s` reaches the level: equation (difference) of
docs/mathematics.md.

If independent draws are groups of rows, each group has a difference in [-1, 1], and a betting bound applies to their
mean.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaincc, ndtri

from pacbayes._utils.arrays import EPS, FloatArray, default_errstate, round_down, round_up
from pacbayes._utils.checks import check_in_range, check_sample_size
from pacbayes.bounds.bets import DEFAULT_BET, bet_upper
from pacbayes.bounds.binary_kl import kl_divergence
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.bounds.binomial_moments import log_binomial_peaks

# Fraction of the level spent on a confidence interval for the discordance rate, to which the maximum is restricted.
_DISCORDANCE_SHARE = 0.01
# Fraction of the level at which the sum over the errors of A alone is truncated; the truncated part is added.
_TRUNCATION_SHARE = 1e-3
# Maximum number of terms of that sum.  More terms are grouped in blocks, each bounded by its largest term, which moves
# the bound by about a percent of its distance from the observed difference.
_MAX_TERMS = 200
# Relative inflation for rounding: exponents are below a thousand, the sums have positive terms.
_SLACK = 1e-9
# Array elements per NumPy call.
_MAX_ELEMENTS = 400_000
# Discordance rates evaluated in the search, which proves nothing; initial and maximum number of cells of the proof.
_N_POINTS, _N_CELLS, _MAX_CELLS = 7, 32, 256
# The bound is moved up from the point found by the search, by these fractions of its distance from the observed
# difference, until one is proved.  The finest step needs too many cells if many rows disagree.
_STEP_FRACTIONS, _MAX_FINE_ROWS = (0.002, 0.01, 0.03, 0.1, 0.3, 1.0), 50
# Bets on the differences of groups; with more groups the best bet is smaller.
_GROUP_BETS = (DEFAULT_BET, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
# Smallest level, whose fractions stay above the subnormal numbers, and smallest probability considered.
_SMALLEST_LEVEL, _SMALLEST_PROBABILITY = 1e-250, 1e-300


def difference_upper(only_a: int, only_b: int, m: int, delta: float) -> float:
    """Upper confidence bound on the risk of B minus the risk of A, from the discordant rows of a paired sample.

    Parameters
    ----------
    only_a, only_b : int
        Number of rows on which only A is wrong, and only B.
    m : int
        Number of all rows.
    delta : float
        The level, at most 1/2; below 1e-250 the bound is 1.

    Returns
    -------
    float
        Rounded up, from -1 to 1.  The lower bound is minus the upper one with A and B exchanged.

    Examples
    --------
    >>> print(f"{difference_upper(10, 10, 1000, 0.025):.4f} {difference_upper(0, 0, 1000, 0.025):.4f}")
    0.0102 0.0037
    """
    m = check_sample_size(m)
    if not (only_a >= 0 and only_b >= 0 and only_a + only_b <= m):
        raise ValueError(f"only_a and only_b must be counts of at most m = {m} rows together, got {only_a}, {only_b}")
    level = float(check_in_range("delta", delta, 0.0, 0.5))
    if level < _SMALLEST_LEVEL:
        return 1.0
    with default_errstate():
        return _DifferenceBound(int(only_a), int(only_b), m, level).compute()


def group_difference_upper(excess_errors: ArrayLike, sizes: ArrayLike, delta: float) -> float:
    r"""Upper confidence bound on the difference of error rates, B minus A, averaged over groups.

    For the difference :math:`D_g \in [-1, 1]` in group `g`, :math:`(1 + D_g)/2` lies in [0, 1].  The bound is the
    smallest `bet_upper` of several bets, each at an equal fraction of the level; the bets depend on the number of
    groups and the level only.

    Parameters
    ----------
    excess_errors : array_like of int, shape (G,)
        Errors of B minus errors of A, for each group.
    sizes : array_like of int, shape (G,)
        Number of rows of each group.
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
    excess, rows = np.asarray(excess_errors), np.asarray(sizes)
    same_shape = rows.ndim == 1 and rows.size > 0 and excess.shape == rows.shape
    if not same_shape or (rows < 1).any() or (np.abs(excess) > rows).any():
        raise ValueError(
            "excess_errors and sizes must be counts of rows for at least one group, with |excess_errors| <= sizes"
        )
    level = float(check_in_range("delta", delta, 0.0, 1.0))
    # A correctly rounded quotient, moved up by one unit.
    losses = np.nextafter((rows + excess) / (2.0 * rows), 1.0)
    # The best bet if all differences are -1 or 1; smaller bets are not worth their fraction of the level.
    smallest_bet = math.sqrt(-2.0 * math.log(max(level, _SMALLEST_PROBABILITY)) / rows.size)
    bets = [bet for bet in _GROUP_BETS if bet == DEFAULT_BET or bet >= smallest_bet]
    level_per_bet = max(round_down(level / len(bets)), 0.0)
    upper = min(bet_upper(losses, bet, level_per_bet) for bet in bets)
    return min(round_up(2.0 * upper - 1.0), 1.0)


class _DifferenceBound:
    """Search for the bound of one paired sample."""

    def __init__(self, only_a: int, only_b: int, m: int, delta: float) -> None:
        self.observed = (only_b - only_a) / m
        self.level = round_down(delta * (1.0 - _DISCORDANCE_SHARE), 8.0)
        half = round_down(0.5 * _DISCORDANCE_SHARE * delta)
        discordant = only_a + only_b
        self.steps = _STEP_FRACTIONS if discordant < _MAX_FINE_ROWS else _STEP_FRACTIONS[1:]
        self.min_rate = max(round_down(1.0 - float(binomial_upper(m - discordant, m, half))), 0.0)
        self.max_rate = float(binomial_upper(discordant, m, half))
        self.tail = _Tail(only_a, only_b, m, delta)

    def compute(self) -> float:
        """Find the difference at which the largest probability reaches the level, and move it up until proved."""
        if self._excess(self.max_rate) > 0.0:
            return self.max_rate
        if self._excess(-self.max_rate) <= 0.0:
            point = -self.max_rate
        else:
            tolerance = 1e-4 * (self.max_rate - self.min_rate)
            point = float(brentq(self._excess, -self.max_rate, self.max_rate, xtol=tolerance))
        distance = max(abs(point - self.observed), self.tail.unit)
        for step in self.steps:
            bound = point + step * distance
            if bound < self.max_rate and self._is_proved(bound):
                return round_up(bound)
        # The difference cannot exceed the discordance rate.
        return self.max_rate

    def _excess(self, difference: float) -> float:
        """Log ratio of the largest probability, over a few discordance rates, to the level."""
        rates = np.linspace(min(max(self.min_rate, abs(difference)), self.max_rate), self.max_rate, _N_POINTS)
        largest = float(self.tail(rates, rates, difference).max())
        return math.log(max(largest, _SMALLEST_PROBABILITY)) - math.log(self.level)

    def _is_proved(self, difference: float) -> bool:
        """Whether the probability is proved to be at most the level for every discordance rate."""
        edges = np.linspace(min(max(self.min_rate, abs(difference)), self.max_rate), self.max_rate, _N_CELLS + 1)
        low, high = edges[:-1], edges[1:]
        while low.size <= _MAX_CELLS:
            unproved = self.tail(low, high, difference) > self.level
            if not unproved.any():
                return True
            low, high = low[unproved], high[unproved]
            middle = 0.5 * (low + high)
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        return False


class _Tail:
    """Probability of all outcomes that are not ordered above the observed one, rounded up."""

    def __init__(self, only_a: int, only_b: int, m: int, delta: float) -> None:
        self.m, self.unit = m, 1.0 / m
        self.z = float(-ndtri(delta))
        self.shift = 0.25 * self.z * self.z
        statistic = only_b - only_a + self.z * math.sqrt(only_a + only_b + self.shift)
        # Slightly more than the observed statistic: the sets of outcomes stay nested, which is sufficient for validity.
        self.height = statistic + 1e-9 * (1.0 + abs(statistic))
        self.spread = math.sqrt(2.0 * math.log(1.0 / (_TRUNCATION_SHARE * delta)))
        self.cut = _TRUNCATION_SHARE * delta

    def __call__(self, low: FloatArray, high: FloatArray, difference: float) -> FloatArray:
        """Bound the probability for discordance rates between `low` and `high`.

        It increases in p_A and decreases in p_B, equation (monotone-cells) of docs/mathematics.md: p_A is evaluated at
        the upper end, p_B at the lower.
        """
        error = 4.0 * EPS * (high + abs(difference))
        p_a = np.clip(0.5 * (high - difference) + error, 0.0, 1.0)
        p_b = np.maximum(0.5 * (low + difference) - error, 0.0)
        first, last = self._summation_range(float(p_a.min()), float(p_a.max()))
        j = np.arange(first, last + 1.0)
        starts = np.arange(0, j.size, max(1, -(-j.size // _MAX_TERMS)))
        peaks = log_binomial_peaks(self.m, j)
        # A block is bounded by its last j, which allows the most errors of B on the fewest remaining rows.
        ends = j[np.append(starts[1:], j.size) - 1]
        max_k, rest = np.minimum(self._largest_k(ends), self.m - ends), self.m - ends
        probabilities = np.empty(p_a.size)
        for cells in np.array_split(np.arange(p_a.size), max(1, p_a.size * j.size // _MAX_ELEMENTS)):
            a, b = p_a[cells, None], p_b[cells, None]
            masses = np.exp(peaks - self.m * np.asarray(kl_divergence(j / self.m, a)))
            conditional = np.minimum(b / np.maximum(1.0 - a, EPS) * (1.0 - 4.0 * EPS), 1.0)
            below = np.where(
                max_k >= rest, 1.0, betaincc(np.maximum(max_k, 0.0) + 1.0, np.maximum(rest - max_k, 1.0), conditional)
            )
            below = np.where(max_k < 0.0, 0.0, below)
            probabilities[cells] = (np.add.reduceat(masses, starts, axis=1) * below).sum(axis=1)
        return np.asarray(probabilities * (1.0 + _SLACK) + 2.0 * self.cut)

    def _largest_k(self, j: FloatArray) -> FloatArray:
        """Largest k for which (j, k) is not ordered above the observed outcome; -1 if there is none."""
        square = self.z * self.z + 4.0 * (self.height + self.shift + 2.0 * j)
        root = 0.5 * (np.sqrt(np.maximum(square, 0.0)) - self.z)
        rows = np.where((square >= 0.0) & (root >= 0.0), np.floor(root * root - self.shift - j), -1.0)
        # Despite rounding, the largest k must not decrease in j.
        return np.asarray(np.maximum.accumulate(np.maximum(rows, -1.0)))

    def _summation_range(self, low: float, high: float) -> tuple[float, float]:
        r"""Range of j in the sum: each tail outside has probability at most `cut`, by Chernoff's bound.

        Since :math:`kl(a, p) \ge (a-p)^2 / (2 \max(a, p))`, a distance of :math:`x(\sqrt{mp} + x)` with
        :math:`x^2 = 2 \ln(1/\text{cut})` is sufficient on both sides.
        """
        x, m = self.spread, self.m
        first = math.floor(m * low - x * math.sqrt(m * low)) - 1
        last = math.ceil(m * high + x * (math.sqrt(m * high) + x)) + 1
        return max(first, 0), min(last, m)
