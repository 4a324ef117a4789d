r"""Duplicates: validation rows that a model was trained on, and copies that were made after sampling.

What is done with copies: `find_units`, `Division`.

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

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import bdtrc, gammainccinv, gammaincinv, gammaln, pdtr
from sklearn.pipeline import Pipeline

from pacbayes._utils.arrays import Rows
from pacbayes._utils.checks import warn_caller
from pacbayes.data.rows import copy_rows, equal_rows, pick_rows

# Independent rows fail each test for copies with at most this probability; the second is for rows of one distribution
# of which half or more are known, be it a single one.
_OVERLAP_LEVEL, _HALF_LEVEL = 1e-3, 1e-2


@dataclass(frozen=True)
class Overlap:
    """How many rows of a table are among others."""

    #: Rows of the table that equal one of the others.
    seen: int
    #: All rows of the table.
    rows: int
    #: All others.
    known: int
    #: Whether they must be copies: the same table in any order, or half of it, which no one distribution explains.
    is_copy: bool
    #: Whether more are equal than chance explains, be the two distributions the same or not.
    is_large: bool

    @property
    def said(self) -> str:
        """How many there are, as the beginning of a sentence.

        Examples
        --------
        >>> from pacbayes.data.rows import hashed_rows
        >>> known = hashed_rows([[1], [2], [3]], b"")
        >>> overlap(known, hashed_rows([[2], [5], [6], [7]], b"")).said
        '1 of 4 rows equals a row'
        """
        return f"{self.seen} of {self.rows} rows equal{'s' if self.seen == 1 else ''} a row"


def overlap(known: NDArray[np.int64], new: NDArray[np.int64] | None) -> Overlap | None:
    """Return how many rows of a table are among known ones, from the hashes of both; None where it is not known.

    Examples
    --------
    >>> from pacbayes.data.rows import hashed_rows
    >>> known = hashed_rows([[i] for i in range(100)], b"")
    >>> overlap(known, hashed_rows([[i] for i in range(100)][::-1], b""))
    Overlap(seen=100, rows=100, known=100, is_copy=True, is_large=True)
    >>> overlap(known, hashed_rows([[i + 90] for i in range(100)], b""))
    Overlap(seen=10, rows=100, known=100, is_copy=False, is_large=True)
    >>> coins = hashed_rows([[i % 2] for i in range(100)], b"")
    >>> overlap(coins, coins[:60])
    Overlap(seen=60, rows=60, known=100, is_copy=False, is_large=False)
    """
    if new is None or not new.size:
        return None
    before, after = _occurrences(known, new)
    seen = int(after[before > 0].sum())
    is_copy = (before.max() == 1 and np.array_equal(before, after)) or _p_same_table(before, after) <= _OVERLAP_LEVEL
    if not is_copy and 2 * seen >= new.size:
        originals = _originals(before)
        is_copy = _p_pairs(originals, after, float(new.size / (originals.sum() + new.size))) <= _HALF_LEVEL
    return Overlap(seen, new.size, known.size, is_copy, is_copy or more_equal_than_chance(known, new))


def more_equal_than_chance(known: NDArray[np.int64], new: NDArray[np.int64]) -> bool:
    """Whether more new rows equal known ones, by the hashes of both, than independent draws explain.

    The chance of equal rows is taken from equal rows within each side, and the two sides may be of any two
    distributions: docs/mathematics.md, "A division of one's own".

    Examples
    --------
    >>> rows = np.arange(300)
    >>> more_equal_than_chance(np.repeat(rows, 3), rows[:200])
    True
    >>> coins = np.random.default_rng(0).integers(0, 20, 1000)
    >>> more_equal_than_chance(coins[:900], coins[900:])
    False
    """
    before, after = _occurrences(known, new)
    if min(_p_same_table(before, after), _p_few_repeats(before, after)) <= _OVERLAP_LEVEL:
        return True
    originals = _originals(before)
    return _p_pairs(originals, after) <= _OVERLAP_LEVEL or _is_odd(originals, after)


def _occurrences(known: NDArray[np.int64], new: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Count how often each different row occurs among the known rows and among the new ones."""
    joined = np.concatenate([known, new])
    order = np.argsort(joined, kind="stable")
    ordered = joined[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    before = np.add.reduceat((order < known.size).astype(np.int64), starts)
    return before, np.diff(starts, append=joined.size) - before


def _originals(before: Rows) -> Rows:
    """Count known rows as before each of them was copied equally often."""
    copies: Rows = np.gcd.reduce(before)
    return before // copies


def _p_same_table(before: Rows, after: Rows) -> float:
    """Bound the probability that independent rows occur equally often on both sides; equation (same-table)."""
    if not np.array_equal(before, after):
        return 1.0
    n = before.sum()
    return float(np.exp(_log_central(before).sum() - _log_central(n)))


def _log_central(k: Any) -> Any:
    """Logarithm of the binomial coefficient of k out of 2k."""
    return gammaln(2.0 * k + 1.0) - 2.0 * gammaln(k + 1.0)


def _p_few_repeats(before: Rows, after: Rows) -> float:
    """Bound the probability that independent new rows repeat each other so rarely; equation (few-repeats).

    Nothing is assumed of the known rows, so that copies among these hide nothing.
    """
    met = after[before > 0]
    different = np.count_nonzero(met)
    repeats, expected = met.sum() - different, different * (different - 1.0) / (2.0 * met.size)
    return float(pdtr(repeats, expected)) if repeats <= expected - 1.0 else 1.0


def _p_pairs(before: Rows, after: Rows, share: float = 0.5) -> float:
    """Bound the probability that of the rows that occur twice so many do so across the sides; equation (pairs).

    `share` is that of the new rows where both sides are of one distribution.  One half holds for any two.
    """
    pairs = np.count_nonzero(before + after == 2)
    across = np.count_nonzero((before == 1) & (after == 1))
    return float(bdtrc(across - 1, pairs, 2.0 * share * (1.0 - share))) if across else 1.0


def _is_odd(before: Rows, after: Rows) -> bool:
    """Whether the rows that occur among the new ones occur once among the known ones too often; equation (once)."""
    absent, once, twice = np.bincount(before[after > 0], minlength=3)[:3]
    level = _OVERLAP_LEVEL / 3.0
    least = gammaincinv(once, level) if once else 0.0
    return bool(least**2 > 2.0 * gammainccinv(absent + 1.0, level) * gammainccinv(twice + 1.0, level))


def models_inside(model: Any, X: Any) -> list[tuple[Any, Callable[[], Any]]]:
    """Find the models of this library nested in a model, or the model itself, each with a function that makes its rows.

    In a Pipeline the rows are transformed by the steps before, elsewhere they are X as it is.  Attributes, lists and
    dictionaries are searched at any depth.
    """
    models, visited = [], {}
    todo: list[tuple[Any, Callable[[], Any]]] = [(model, lambda: X)]
    while todo:
        value, rows = todo.pop()
        # Of the type: an attribute of the value may be that of a model it passes everything on to.
        if hasattr(type(value), "_overlap_with"):
            models.append((value, rows))
        if id(value) in visited:
            continue
        visited[id(value)] = value
        if isinstance(value, Pipeline):
            for _, step in value.steps:
                todo.append((step, rows))
                rows = partial(_transformed, step, rows) if hasattr(step, "transform") else rows
        else:
            todo += [(part, rows) for part in _parts(value) if not isinstance(part, _WITHOUT_PARTS)]
    return models


# Modules, types and functions lead to everything that was ever imported.
_WITHOUT_PARTS = (type(None), bool, int, float, complex, str, bytes, np.generic, type, ModuleType, FunctionType)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.kind == "O" else ()
    return tuple(getattr(value, "__dict__", {}).values())


def _transformed(step: Any, rows: Callable[[], Any]) -> Any:
    return step.transform(copy_rows(rows()))  # a step may write into its rows


def largest_overlap(model: Any, X: Any) -> Overlap | None:
    """Largest overlap of rows with those that a model, or a model of this library nested in it, was fitted with.

    None where it is not known.
    """
    overlaps: list[Overlap] = []
    for one, rows in models_inside(model, X):
        try:
            met = one._overlap_with(rows())
        except Exception:  # not fitted, or a step before it takes other rows: predict does not hand it these
            continue
        overlaps += [] if met is None else [met]
    return max(overlaps, key=lambda one: (one.is_copy, one.is_large, one.seen), default=None)


def check_new_rows(model: Any, X: Any, name: str, who: str) -> Overlap | None:
    """Raise if rows, called `name`, are all those that a model of this library was fitted with; return how many are.

    Some of them may be equal by chance.  Models of this library nested in a Pipeline, a search or a vote count too; of
    other models it is not known what they were fitted with.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> X, y = [[float(i), i % 3] for i in range(60)], [0, 1] * 30
    >>> check_new_rows(StochasticSVC([1.0], random_state=0).fit(X, y), X, "test", "the model")
    Traceback (most recent call last):
    ValueError: test must hold rows that the model was not fitted with, but 60 of 60 rows equal a row behind it
    """
    found = largest_overlap(model, X)
    if found is not None and found.is_copy and found.seen == found.rows == found.known:
        raise ValueError(f"{name} must hold rows that {who} was not fitted with, but {found.said} behind it")
    return found


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
