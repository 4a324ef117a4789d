r"""How many rows a limit needs: with which chance the exact limit of counted errors stays at or below a target.

With `m` rows the limit is at most the target up to :math:`k_m` errors, the largest number k with
:math:`P(\mathrm{Bin}(m, \tau) \le k) \le \delta`.  So the chance is :math:`P(\mathrm{Bin}(m, r) \le k_m)`, r the true
risk: a saw-tooth in `m`.  It falls with every row, until one more error is allowed.  Tooth k are the `m` with
:math:`k_m = k`; its end is its lowest point, equation (tooth) of docs/mathematics.md.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaincc, ndtri

from pacbayes._utils.arrays import FloatArray, usual_float_errors
from pacbayes._utils.checks import check_level, check_number, check_sample_sizes
from pacbayes.bounds.binary_kl import kl_divergence
from pacbayes.bounds.binomial import tail_wanted

# More rows nobody has, and for these the incomplete beta function is not known well enough.
_MOST = 10**8
# Teeth that are looked at together.
_TEETH = 1000


def rows_needed(error: float, target: float, *, delta: float = 0.05, chance: float = 0.8) -> int:
    """Return how many validation rows it takes to certify a target, if the true error is known to be smaller.

    The least number of rows such that with it, and with every larger one, the exact limit of the errors (that of
    Clopper and Pearson) is at or below the target with the given chance.

    Parameters
    ----------
    error : float
        The share of errors that is expected, below the target.
    target : float
        What the limit should not be above, at most 1.
    delta : float, default=0.05
        The level of the limit.
    chance : float, default=0.8
        With this probability over the sample, or a larger one, the limit is to reach the target; between 0 and 1.

    Returns
    -------
    int

    See Also
    --------
    pacbayes.bounds.chances : The chance with given numbers of rows.
    pacbayes.report.plot_plan : The picture.

    Notes
    -----
    With a few rows less than that the chance may be larger again: it is a saw-tooth.  The search goes down, tooth by
    tooth, from a number of rows from which on it is proved to be large enough, equation (enough) of
    docs/mathematics.md.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26, 1934.
    .. [2] A. M. Zubkov and A. A. Serov, "A complete proof of universal inequalities for the distribution function of
       the binomial law", Theory of Probability and its Applications 57, 2013.

    Examples
    --------
    >>> rows_needed(0.05, 0.08)
    475
    >>> rows_needed(0.0, 0.02)
    149
    """
    risk, limit, level, wanted = _checked(error, target, delta, chance)
    if limit == 1.0:
        return 1
    with usual_float_errors():
        if risk == 0.0:  # never an error: only tooth 0 matters
            return int(_starts(np.zeros(1), limit, level)[0])
        high = int(_allowed(np.array([_enough(risk, limit, level, wanted)]), limit, level)[0])
        while True:
            # The tooth before one that is good is seen first; tooth -1, where no number of errors passes, never is.
            teeth = np.arange(max(high - _TEETH, -1), high + 1, dtype=np.float64)
            starts = _starts(teeth[1:], limit, level)
            low = _tail(teeth[1:-1], starts[1:] - 1.0, risk) < wanted
            if low.any():
                return int(starts[int(np.flatnonzero(low)[-1]) + 1])
            if teeth[0] < 0.0:
                return int(starts[0])
            high = int(teeth[1])


def chances(rows: ArrayLike, error: float, target: float, *, delta: float = 0.05) -> FloatArray:
    """Return with which probability the exact limit of the errors on so many rows is at or below a target.

    Parameters
    ----------
    rows : array_like of int, shape (n,)
    error, target, delta
        As for `rows_needed`.

    Returns
    -------
    ndarray of shape (n,)

    See Also
    --------
    rows_needed : How many rows a chance takes.

    Examples
    --------
    >>> chances([455, 474, 475], 0.05, 0.08).round(3)
    array([0.793, 0.792, 0.842])
    """
    risk, limit, level, _ = _checked(error, target, delta, 0.5)
    m = check_sample_sizes(np.asarray(rows).ravel(), np.asarray(rows).size).astype(np.float64)
    if limit == 1.0:
        return np.ones(m.size)
    with usual_float_errors():
        allowed = _allowed(m, limit, level)
        return np.where(allowed < 0.0, 0.0, _tail(np.maximum(allowed, 0.0), m, risk))


def _checked(error: Any, target: Any, delta: Any, chance: Any) -> tuple[float, float, float, float]:
    """Return risk, target, level and chance, or raise."""
    risk = check_number("error", error, "a number from 0 to 1")
    limit = check_number("target", target, "a number from 0 to 1")
    wanted = check_number("chance", chance, "a number between 0 and 1")
    if not 0.0 <= risk <= 1.0:
        raise ValueError(f"error must lie in [0, 1], got {error!r}")
    if not risk < limit <= 1.0:
        raise ValueError(f"target must be above error = {risk:g}, and at most 1, got {target!r}")
    if not 0.0 < wanted < 1.0:
        raise ValueError(f"chance must be strictly between 0 and 1, got {chance!r}")
    return risk, limit, check_level(delta), wanted


def _tail(k: FloatArray, m: FloatArray, p: float) -> FloatArray:
    """Return P(Bin(m, p) <= k) for k from 0."""
    # From k = m on it is one, where the function is not defined.
    return np.where(k >= m, 1.0, betaincc(k + 1.0, np.maximum(m - k, 1.0), p))


def _starts(k: FloatArray, target: float, level: float) -> FloatArray:
    """Return the first number of rows with which k errors are allowed: by halving, as the tail falls with the rows."""
    low = k.copy()
    high = 2.0 * (k + 1.0)
    while (open_ := _tail(k, high, target) > tail_wanted(high, level)).any():
        low, high = np.where(open_, high, low), np.where(open_, 2.0 * high, high)
    while ((high - low) > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        allowed = _tail(k, middle, target) <= tail_wanted(middle, level)
        low, high = np.where(allowed, low, middle), np.where(allowed, middle, high)
    return high


def _allowed(m: FloatArray, target: float, level: float) -> FloatArray:
    """Return the most errors with which the limit is at or below the target, -1 where not even none is allowed."""
    low, high = np.full(m.size, -1.0), np.floor(m)
    while ((high - low) > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        allowed = _tail(middle, m, target) <= tail_wanted(m, level)
        low, high = np.where(allowed, middle, low), np.where(allowed, high, middle)
    return low


def _enough(risk: float, target: float, level: float, chance: float) -> float:
    r"""Return a number of rows from which on the chance is large enough, by the inequalities of Zubkov and Serov.

    :math:`P(\mathrm{Bin}(m,p) \le k)` lies between :math:`C(k)` and :math:`C(k+1)`, equation (zubkov-serov), where
    :math:`C(k) = \Phi(\mathrm{sign}(k/m - p) \sqrt{2m\,kl(k/m, p)})`.  With :math:`k = \lfloor sm \rfloor` for some s
    between risk and target it is enough that :math:`2m\,kl(s + 1/m, \tau)` and :math:`2m\,kl(s - 1/m, r)` are at least
    the squares of the normal quantiles; both grow with m.
    """
    # A little more than is asked for: for the rounding of all that follows.
    z, y = (float(-ndtri(one * (1.0 - 1e-6))) for one in (min(level, 0.5), min(1.0 - chance, 0.5)))

    def holds(m: float) -> bool:
        # The least s - 1/m that is far enough from the risk, then whether s + 1/m is from the target.
        if 2.0 * m * float(kl_divergence(target, risk)) <= y**2:
            return False
        low = brentq(lambda q: 2.0 * m * float(kl_divergence(q, risk)) - y**2, risk, target)
        high = low * (1.0 + 1e-12) + 2.0 / m
        return bool(high < target and 2.0 * m * float(kl_divergence(high, target)) >= z**2)

    m = 2.0
    while not holds(m):
        m *= 2.0
        if m > _MOST:
            raise ValueError(
                f"target must be farther from error = {risk:g}, got {target!r}: it would take more than fifty million "
                "rows to tell them apart"
            )
    low = 0.5 * m
    while m - low > max(1.0, 1e-5 * m):
        middle = 0.5 * (low + m)
        low, m = (low, middle) if holds(middle) else (middle, m)
    return float(np.ceil(m))
