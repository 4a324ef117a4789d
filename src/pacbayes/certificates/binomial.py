"""The exact binomial upper limit of Clopper and Pearson, rounded up."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincc, betainccinv

from pacbayes.bounds.rounding import round_up
from pacbayes.bounds.validation import FloatArray, check_between, check_sample_size

# The tail at the limit returned is below the level by this part of it, far more than `betaincc` is ever wrong by.
_MARGIN = 1e-10


def binomial_upper(errors: ArrayLike, m: int, delta: ArrayLike) -> FloatArray:
    r"""Upper confidence limit of a risk from errors counted on `m` examples.

    The largest `r` under which so few errors still have a probability of `delta`,

    .. math:: \sum_{j \le k} \binom{m}{j} r^j (1-r)^{m-j} = \delta, \qquad r = 1 \text{ at } k = m,

    which is the `1 - delta` quantile of the Beta distribution with parameters `k + 1` and `m - k`.

    Parameters
    ----------
    errors : array_like of int
        `k`, from 0 to `m`; broadcast against `delta`.
    m : int
    delta : array_like of float
        Levels in [0, 1]; the limit at level 0 is 1.

    Returns
    -------
    ndarray
        Rounded up: the tail at each limit, in real arithmetic, is at most `delta`.

    Examples
    --------
    >>> binomial_upper([0, 8, 100], 100, 0.05).round(6)
    array([0.029513, 0.139717, 1.      ])
    """
    m = check_sample_size(m)
    counts = np.asarray(errors)
    if counts.dtype.kind not in "iu":
        raise TypeError(f"errors must be integers, got dtype {counts.dtype}")
    if counts.size and not (counts.min() >= 0 and counts.max() <= m):
        raise ValueError(f"errors must lie between 0 and m = {m}, got {counts[(counts < 0) | (counts > m)].flat[0]}")
    k, level = np.broadcast_arrays(counts, check_between("delta", delta, 0.0, 1.0))
    limits = np.ones(k.shape)
    none = (k == 0) & (level > 0.0)
    limits[none] = np.minimum(round_up(-np.expm1(np.log(level[none]) / m), 8.0), 1.0)
    some = (k > 0) & (k < m) & (level > 0.0)
    limits[some] = _limits(k[some].astype(np.float64), m, level[some])
    return limits


def _limits(k: FloatArray, m: int, level: FloatArray) -> FloatArray:
    """Return the limits for 0 < k < m: SciPy's inverse, moved up until the tail is safely below the level."""
    limits: NDArray[Any] = np.asarray(betainccinv(k + 1.0, m - k, level), dtype=np.float64)
    # Where the inverse failed, the trivial limit.
    limits = np.where(np.isfinite(limits), limits, 1.0)
    step = 1e-13
    while True:
        tail = betaincc(k + 1.0, m - k, limits)
        short = (limits < 1.0) & ~(tail <= level * (1.0 - _MARGIN))
        if not short.any():
            return limits
        limits = np.where(short, np.minimum(limits * (1.0 + step), 1.0), limits)
        step *= 2.0
