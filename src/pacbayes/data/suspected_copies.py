r"""Whether equal rows look like copies made after sampling.  What is done with copies: `Labelled.units`, `Division`.

Equal rows that were drawn one by one do no harm: rows of a few coarse columns meet by chance.  Copies made afterwards
(oversampling, a join) are no new draws, and validation rows that have their copy among the training rows are no test.
Two signs tell copies from chance.

*How often rows occur.*  Let :math:`f_k` be the number of different rows that occur `k` times.  Where rows are
independent draws, a row of probability `p` occurs (nearly) as often as a Poisson variable with mean :math:`\lambda=np`
says, so that :math:`k!\,E f_k = \sum \lambda^k e^{-\lambda}` over all possible rows, and by the inequality of Cauchy
and Schwarz

.. math:: (k!\,E f_k)^2 \le (k-1)!\,E f_{k-1} \; (k+1)!\,E f_{k+1}.

Rows that all occur five times, or either once or twice, break it.  It is held against Poisson confidence limits of the
three means.

*How they meet.*  Where rows are equal by chance, more are nearly equal.  Copies agree in all columns or in none.  So
copies are suspected where at least a tenth of the different rows of a class, and ten of them, occur more than once, and
different rows that agree with another in the finer half of the columns are less than a quarter of those that occur more
than once.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import gammainccinv, gammaincinv

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import warn_caller
from pacbayes.data.rows import equal_rows, pick_rows

# Each of the three limits is wrong with this probability; with a handful of inequalities a false alarm is rare.
_LEVEL = 1e-5
_REPEATED, _SHARE, _NEAR = 10, 0.1, 0.25
# Columns are ordered by their number of values in so many rows: their order is all that matters.
_LOOKED_AT = 2000


def equal_labelled_rows(X: Any, codes: Rows) -> Rows | None:
    """Return a number for every row, the same for rows equal in features and class; None for rows without values.

    Examples
    --------
    >>> equal_labelled_rows([["a"], ["b"], ["a"], ["a"]], np.array([0, 0, 0, 1]))
    array([0, 1, 0, 2])
    """
    try:
        rows = equal_rows(X)
    except (TypeError, ValueError):  # functions, rows of different lengths: nothing stands for their value
        return None
    _, first, numbers = np.unique(rows * (int(codes.max()) + 1) + codes, return_index=True, return_inverse=True)
    ranks = np.empty(first.size, dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(first.size)
    return ranks[numbers]


def warn_of_copies(X: Any, codes: Rows, same: Rows, copies: int, groups: Rows | None) -> None:
    """Warn where equal rows on both sides look like copies made after sampling."""
    if copies == 0:
        return
    # Copies within one group are on one side.
    rows = np.arange(same.size)
    if groups is not None:
        rows = np.unique(same * (int(groups.max()) + 1) + groups, return_index=True)[1]
    sign = systematic(pick_rows(X, rows), codes[rows], same[rows])
    if sign is not None:
        warn_caller(
            f"{copies} validation rows equal a training row in features and class, and the equal rows look like copies "
            f"made after sampling: {sign}. The certificate counts on independent rows and does not hold for copies. "
            "If they are copies, fit the rows from before the copying, or give duplicates='together'; rows of one "
            "person or thing belong in groups=."
        )


def systematic(X: Any, codes: Rows, same: Rows) -> str | None:
    """Return why equal rows look like copies made after sampling, None where they look like draws.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), rng.integers(0, 2, 100)
    >>> X5, y5 = np.tile(X, (5, 1)), np.tile(y, 5)
    >>> systematic(X, y, equal_labelled_rows(X, y)) is None
    True
    >>> systematic(X5, y5, equal_labelled_rows(X5, y5))
    '100 different rows occur 5 times each, 0 occur 4 times and 0 occur 6 times'
    """
    times = np.bincount(same)
    first = np.unique(same, return_index=True)[1]
    for found in [times, *(times[codes[first] == code] for code in np.unique(codes))]:
        sign = _odd_frequencies(np.bincount(found))
        if sign is not None:
            return sign
    for code in np.unique(codes):
        of_class = times[codes[first] == code]
        repeated = int(np.count_nonzero(of_class > 1))
        if repeated >= max(_REPEATED, _SHARE * of_class.size) and _meet_as_copies(X, first, times):
            return (
                f"{repeated} of the {of_class.size} different rows of one class occur more than once, and hardly any "
                "two different rows are nearly equal"
            )
    return None


def _odd_frequencies(occur: NDArray[np.int64]) -> str | None:
    """Return which numbers of different rows that occur k times no independent draws explain; None if all may be."""
    f = np.concatenate([occur, [0]]).astype(np.float64)
    k = np.arange(2, f.size - 1)
    least = gammaincinv(np.maximum(f[k], 1.0), _LEVEL) * (f[k] > 0)
    below, above = gammainccinv(f[k - 1] + 1.0, _LEVEL), gammainccinv(f[k + 1] + 1.0, _LEVEL)
    odd = k[least**2 * k / (k + 1.0) > below * above]
    if odd.size == 0:
        return None
    worst = int(odd[np.argmax(f[odd])])
    return (
        f"{int(f[worst])} different rows occur {worst} times each, {int(f[worst - 1])} occur {_times(worst - 1)} and "
        f"{int(f[worst + 1])} occur {_times(worst + 1)}"
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _meet_as_copies(X: Any, first: Rows, times: Rows) -> bool:
    """Return whether different rows, one of each, hardly ever agree in the finer half of the columns."""
    half = _finer_half(pick_rows(X, first))
    if half is None:
        return False
    alike = np.bincount(equal_rows(half))
    return bool(alike[alike > 1].sum() < _NEAR * np.count_nonzero(times > 1))


def _finer_half(X: Any) -> Any:
    """Return the half of the columns with the most values, of a sparse matrix the fullest; None for a single column."""
    table: Any = X
    if sp.issparse(X):
        table = table.tocsc()
        values = np.diff(table.indptr)
    else:
        table = np.asarray(X)
        table = table.reshape(len(table), -1)
        some = table[:: max(1, len(table) // _LOOKED_AT)]
        values = np.array([np.unique(equal_rows(some[:, j])).size for j in range(table.shape[1])])
    if values.size < 2:
        return None
    return table[:, np.argsort(-values, kind="stable")[: (values.size + 1) // 2]]
