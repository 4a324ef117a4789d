"""How many of a given number of new answers are wrong at most: the exact limit, from errors that were counted."""

from numbers import Integral
from typing import Any

import numpy as np

from pacbayes._utils.arrays import EPS, usual_float_errors
from pacbayes._utils.checks import MOST, check_between

# A tail counts as above the level unless it is below by this part of it, and by what rounding may have done.
_MARGIN = 1e-9
# Terms of a sum below 1e-308 are lost; of 1e9 of them nothing is seen at this level.  At smaller ones the limit is all.
_SMALLEST = 1e-280


def hypergeometric_upper(errors: int, m: int, rows: int, delta: float) -> int:
    r"""Upper limit of the number of errors among `rows` new examples, from errors counted on `m` others.

    The largest number of new errors under which so few of the old ones still have a probability above `delta`,

    .. math:: u = \max\{f \le N : P(X \le k) > \delta\}, \qquad X \sim \mathrm{Hypergeometric}(m + N,\ k + f,\ m):

    of all :math:`m + N` examples :math:`k + f` are wrong, and which of them were counted first is a matter of chance.
    With probability at least :math:`1-\delta` over both samples no more than `u` are wrong; equation (batch) of
    docs/mathematics.md.  It is a quantile of the beta-binomial distribution; equation (beta-binomial) there.

    Parameters
    ----------
    errors : int
        `k`, from 0 to `m`.
    m : int
        The examples on which they were counted.
    rows : int
        `N`, the new examples; of none, none are wrong.
    delta : float
        A level in [0, 1]; at level 0 the limit is `rows`.

    Returns
    -------
    int
        Never too small; too large by one only where the probability is within a part of :math:`10^{-9}` of `delta`, or
        within :math:`10^{-15} \min(m, N)` of it where that is more.

    See Also
    --------
    binomial_upper : The limit of the risk, to which u / N tends as N grows.

    References
    ----------
    .. [1] A. R. Thatcher, "Relationships between Bayesian and confidence limits for predictions", Journal of the Royal
       Statistical Society B 26, 1964.
    .. [2] K. Krishnamoorthy and J. Peng, "Improved closed-form prediction intervals for binomial and Poisson
       distributions", Journal of Statistical Planning and Inference 141, 2011.

    Examples
    --------
    Eight errors on 284 examples, and 1000 new ones:

    >>> hypergeometric_upper(8, 284, 1000, 0.05)
    53
    >>> hypergeometric_upper(0, 100, 10, 0.05), hypergeometric_upper(100, 100, 10, 0.05)
    (1, 10)
    """
    m, rows = _whole("m", m, 1, MOST), _whole("rows", rows, 0, MOST)
    errors = _whole("errors", errors, 0, m)
    level = float(check_between("delta", delta, 0.0, 1.0))
    if errors == m or level < _SMALLEST:
        return rows
    # It cannot be too small: the probability falls as f grows, and `above` is only moved to an f whose true probability
    # is below the level, since the one computed is so by more than its error.  So every f from `above` on is excluded
    # in real arithmetic too.
    least = level * (1.0 - _MARGIN - 8.0 * EPS * (min(m, rows) + 64))
    possible, above = 0, rows + 1
    while above - possible > 1:
        middle = (possible + above) // 2
        if _lower_tail(errors, m, rows, middle) < least:
            above = middle
        else:
            possible = middle
    return possible


def _lower_tail(errors: int, m: int, rows: int, new: int) -> float:
    """Return the probability that at most `errors` of all `errors + new` wrong examples are among the first `m`.

    A sum of terms over the sum of all, each the one before times a ratio of whole numbers, from the largest outwards:
    no logarithm of a large factorial, whose error would be that of a number of millions.  The k-th is therefore wrong
    by at most 2 k epsilon (two products, a quotient and a step, half an epsilon each), and the result by twice that for
    the last k, with the errors of the sums.  Terms of the whole that become zero can only make the result too large.
    """
    wrong, right = errors + new, m + rows - errors - new
    first, last = max(0, wrong - rows), min(m, wrong)
    mode = min(max((m + 1) * (wrong + 1) // (m + rows + 2), first), last)
    with usual_float_errors():
        up = np.arange(mode, last, dtype=np.float64)
        rising = np.cumprod((m - up) * (wrong - up) / ((up + 1.0) * (right - m + up + 1.0)))
        down = np.arange(mode, first, -1, dtype=np.float64)
        falling = np.cumprod(down * (right - m + down) / ((m - down + 1.0) * (wrong - down + 1.0)))
    # rising[i] is of mode + 1 + i among the m, falling[i] of mode - 1 - i.
    whole = 1.0 + float(rising.sum()) + float(falling.sum())
    if errors >= mode:
        return (1.0 + float(rising[: errors - mode].sum()) + float(falling.sum())) / whole
    return float(falling[mode - 1 - errors :].sum()) / whole


def _whole(name: str, value: Any, least: int, most: int) -> int:
    """Return a whole number within limits, or raise."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    number = int(value)
    if not least <= number <= most:
        raise ValueError(f"{name} must lie between {least} and {most}, got {number}")
    return number
