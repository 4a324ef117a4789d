"""Rows that were seen before: whether a table is the one that a model was fitted with, or shares many rows with it.

A model keeps a keyed hash of 64 bits of every row it was fitted with, sorted: enough to recognise a row, not to read
it.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pacbayes.data.row_values import row_hashes

#: No hashes of tables with more values than this: a sparse one of a million columns is hashed as if it were full.
MOST_VALUES = 1_000_000_000
# New rows equal old ones by chance about as often as old ones equal each other; many are more than that by this share
# and so many standard deviations.
_MANY, _DEVIATIONS = 0.05, 4.0
# Where hardly any old rows are equal, and half of the new ones equal an old one, they are copies.
_FINE, _HALF = 0.05, 0.5


def hashed_rows(X: Any, key: bytes) -> NDArray[np.int64] | None:
    """Return the hashes of all rows, sorted; None for rows without values, and for very many of them.

    Examples
    --------
    >>> hashed_rows([[1, 2], [3, 4]], b"key").size, hashed_rows([[print]], b"key")
    (2, None)
    """
    shape: tuple[int, ...] = X.shape if sp.issparse(X) or hasattr(X, "shape") else np.shape(np.asarray(X, dtype=object))
    if float(np.prod(shape, dtype=np.float64)) > MOST_VALUES:
        return None
    try:
        return np.sort(row_hashes(X, key).view(np.int64))
    except (TypeError, ValueError):  # functions, rows of different lengths: nothing stands for their value
        return None


@dataclass(frozen=True)
class Overlap:
    """How many rows of a table are among others."""

    #: Rows of the table that equal one of the others.
    seen: int
    #: All rows of the table.
    rows: int
    #: Whether they must be copies: the same table in any order, or half of it where equal rows are rare.
    is_copy: bool
    #: Whether more are equal than chance explains.
    is_large: bool

    @property
    def said(self) -> str:
        """How many there are, as the beginning of a sentence.

        Examples
        --------
        >>> known = hashed_rows([[1], [2], [3]], b"")
        >>> overlap(known, hashed_rows([[2], [5], [6], [7]], b"")).said
        '1 of 4 rows equals a row'
        """
        return f"{self.seen} of {self.rows} rows equal{'s' if self.seen == 1 else ''} a row"


def overlap(known: NDArray[np.int64], new: NDArray[np.int64]) -> Overlap:
    """Return how many rows of a table are among known ones, from the sorted hashes of both.

    Examples
    --------
    >>> known = hashed_rows([[i] for i in range(100)], b"")
    >>> overlap(known, hashed_rows([[i] for i in range(100)][::-1], b""))
    Overlap(seen=100, rows=100, is_copy=True, is_large=True)
    >>> overlap(known, hashed_rows([[i + 90] for i in range(100)], b""))
    Overlap(seen=10, rows=100, is_copy=False, is_large=True)
    >>> coins = hashed_rows([[i % 2] for i in range(100)], b"")
    >>> overlap(coins, coins[:60])
    Overlap(seen=60, rows=60, is_copy=False, is_large=False)
    """
    seen, rows = int(np.isin(new, known).sum()), int(new.size)
    times = np.unique(known, return_counts=True)[1]
    by_chance, share = float(times[times > 1].sum() / known.size), seen / rows
    spread = math.sqrt(by_chance * (1.0 - by_chance) * (1.0 / known.size + 1.0 / rows))
    is_copy = np.array_equal(known, new) or (share >= _HALF and by_chance <= _FINE)
    return Overlap(seen, rows, is_copy, is_copy or share > by_chance + _MANY + _DEVIATIONS * spread)


def check_new_rows(model: Any, X: Any, name: str, who: str) -> Overlap | None:
    """Raise if rows, called `name`, are all those that a model of this library was fitted with; return how many are.

    Some of them may be equal by chance.  Of other models it is not known what they were fitted with.

    Examples
    --------
    >>> from pacbayes import StochasticSVC
    >>> X, y = [[float(i), i % 3] for i in range(60)], [0, 1] * 30
    >>> check_new_rows(StochasticSVC([1.0], random_state=0).fit(X, y), X, "test", "the model")
    Traceback (most recent call last):
    ValueError: test must hold rows that the model was not fitted with, but 60 of 60 rows equal a row behind it
    """
    found: Overlap | None = model._overlap_with(X) if hasattr(model, "_overlap_with") else None
    if found is not None and found.is_copy and found.seen == found.rows == model._fitted_rows.size:
        raise ValueError(f"{name} must hold rows that {who} was not fitted with, but {found.said} behind it")
    return found
