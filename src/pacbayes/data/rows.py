"""Rows of any kind: picked, copied, told apart by their values, and known again.

Equal rows have equal bytes, in whatever container and as whatever type of number they come.  A model keeps a keyed hash
of 64 bits of every row it was fitted with, sorted: enough to recognise a row, not to read it.
"""

import copy
import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from numbers import Real
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import bdtrc, gammainccinv, gammaincinv, gammaln, pdtr
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.numeric.checks import check_not_masked


def check_table(X: Any) -> None:
    """Raise if X has masked entries, or columns that scikit-learn cannot tell apart by name.

    Their order in `predict` would go unchecked, and no ColumnTransformer could pick them.

    Examples
    --------
    >>> import pandas as pd
    >>> check_table(pd.DataFrame([[1.0, 2.0]], columns=pd.MultiIndex.from_tuples([("left", "x"), ("left", "y")])))
    Traceback (most recent call last):
    ValueError: X must have one name for each column, got a MultiIndex; join its levels first:
    X.columns = ["_".join(map(str, name)) for name in X.columns]
    """
    check_not_masked("X", X)
    columns: Any = getattr(X, "columns", None)
    if hasattr(columns, "levels"):
        raise ValueError(
            "X must have one name for each column, got a MultiIndex; join its levels first: "
            'X.columns = ["_".join(map(str, name)) for name in X.columns]'
        )
    if not getattr(columns, "is_unique", True):
        raise ValueError(f"X must have different names for its columns, got {columns[columns.duplicated()][0]!r} twice")


def csr_rows(X: Any) -> Any:
    """Return sparse rows of any format as compressed sparse rows; anything else as it is.

    Examples
    --------
    >>> csr_rows(sp.dia_array(np.eye(3))).format, csr_rows([[1.0]])
    ('csr', [[1.0]])
    """
    check_table(X)
    if not sp.issparse(X):
        return X
    rows: Any = X
    if rows.ndim != 2:
        raise ValueError(f"X must have rows and columns, got a sparse array of shape {rows.shape}")
    return rows.tocsr()


def pickable_rows(X: Any) -> Any:
    """Return X so that rows can be picked: an array where that is all it can be turned into, sparse rows as CSR.

    Examples
    --------
    >>> pickable_rows([["a"], ["b"]])
    [['a'], ['b']]
    """
    rows = _with_usual_gaps(csr_rows(X))
    lone = hasattr(rows, "__array__") and not hasattr(rows, "__len__") and not sp.issparse(rows)
    return np.asarray(rows) if lone else rows


def _with_usual_gaps(X: Any) -> Any:
    """Return a data frame whose texts have NaN in their gaps, as those of files have.

    scikit-learn's encoders refuse pandas' NA, and take None, which older versions of pandas keep, for another category.
    """
    kinds: Any = getattr(X, "dtypes", None)
    if not hasattr(kinds, "items") or not hasattr(X, "columns"):
        return X
    texts = [name for name, kind in kinds.items() if kind.name == "string" and str(kind.na_value) == "<NA>"]
    texts += [name for name, kind in kinds.items() if kind.name == "object" and any(value is None for value in X[name])]
    if not texts:
        return X
    X = X.copy()
    for name in texts:
        X[name] = X[name].astype(object).where(X[name].notna(), np.nan)
    return X


def pick_rows(X: Any, which: Rows) -> Any:
    """Return some rows, apart from X: a classifier may write into what it is given (StandardScaler(copy=False)).

    Examples
    --------
    >>> X = [["a"], ["b"]]
    >>> pick_rows(X, np.array([1]))[0][0] = "c"
    >>> X
    [['a'], ['b']]
    """
    picked = _safe_indexing(X, which)
    # Picked from a list, rows are still those of the list; everything else is copied by picking.
    return copy_rows(picked) if isinstance(picked, list) else picked


def copy_rows(X: Any) -> Any:
    """Return a copy of rows of any kind, down to their values."""
    if isinstance(X, np.ndarray):
        return np.array(X)  # an ordinary array, also where a worker sees a file in memory
    return copy.deepcopy(X)


_HASH_BYTES = 8
# Enough for rows with equal digests to be equal rows: among a billion, two others collide with probability 1e-21.
_DIGEST_BYTES = 16
# Rows of no more bytes are told apart by these themselves, which is many times faster.
_SHORT = 512
# Rows of a sparse matrix made dense together.
_ROWS_PER_BLOCK = 4096
_NAN = np.array(np.nan, dtype="<f8").tobytes()


def row_hashes(X: Any, key: bytes) -> NDArray[np.uint64]:
    """Return the keyed hash of every row, as numbers of 64 bits.

    A row is hashed by its values: numbers, True and False among them, as their float64 bytes (-0.0 as 0.0, every NaN
    and whatever else stands for a gap as the same), dates as ISO 8601 writes them, anything else as its text, both with
    a mark and the length before them.  Neither the container (array, list, data frame, sparse matrix) nor the type of
    the number matters, nor do the rows around.
    """
    digests = b"".join(_digests(X, hashlib.blake2b(digest_size=_HASH_BYTES, key=key)))
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def equal_rows(X: Any) -> NDArray[np.int64]:
    """Return a number for every row, the same for rows of equal values and no others, from 0 by first appearance.

    Examples
    --------
    >>> equal_rows([[1, 2], [3, 4], [1.0, 2.0], [-0.0, 1], [0.0, 1]])
    array([0, 1, 0, 2, 2])
    """
    numbers: dict[bytes, int] = {}
    found = [
        numbers.setdefault(
            bytes(row) if len(row) <= _SHORT else hashlib.blake2b(row, digest_size=_DIGEST_BYTES).digest(), len(numbers)
        )
        for row in _row_bytes(X)
    ]
    return np.array(found, dtype=np.int64)


def _digests(X: Any, start: "hashlib.blake2b") -> Iterator[bytes]:
    for row in _row_bytes(X):
        state = start.copy()
        state.update(row)
        yield state.digest()


def _row_bytes(X: Any) -> Any:
    """Yield the bytes every row is hashed by."""
    if sp.issparse(X):
        yield from _sparse_rows(X)
        return
    table = _table(X)
    if table.dtype.kind in "biuf":
        yield from _numeric_rows(table)
        return
    values = table.reshape(len(table), -1)
    # As Python's own, times of some units would be numbers.
    for row in values if table.dtype.kind in "mM" else values.tolist():
        yield b"".join(map(_value_bytes, row))


def _table(X: Any) -> NDArray[Any]:
    """Return rows as an array that holds every value as it was given, of whatever kind the others are."""
    # A data frame of several types becomes an array of objects; one of numbers stays one of numbers.
    table = np.asarray(X)
    # A list in which a text stands would make texts of its numbers, and a length of time lengths of them.
    return np.array(X, dtype=object) if table.dtype.kind in "SUmMc" and not isinstance(X, np.ndarray) else table


def check_values(X: Any) -> None:
    """Raise if rows hold what has no value to be hashed by: lists, dicts, sets, functions."""
    table = None if sp.issparse(X) else _table(X)
    if table is not None and table.dtype.kind == "O":
        for value in table.ravel().tolist():
            _value_bytes(value)


def _sparse_rows(X: Any) -> Any:
    rows = X.tocsr()
    for start in range(0, X.shape[0], _ROWS_PER_BLOCK):
        yield from _numeric_rows(rows[start : start + _ROWS_PER_BLOCK].toarray())


def _numeric_rows(table: NDArray[Any]) -> Any:
    numbers: FloatArray = np.array(table, dtype="<f8", order="C").reshape(len(table), -1)
    numbers += 0.0  # -0.0 becomes 0.0
    numbers[np.isnan(numbers)] = np.nan
    if numbers.shape[1] == 0:
        return (b"" for _ in range(len(table)))
    whole, size = memoryview(numbers.tobytes()), numbers.shape[1] * numbers.itemsize
    return (whole[start : start + size] for start in range(0, len(whole), size))


def _value_bytes(value: Any) -> bytes:
    # Most often; `isinstance` with an abstract class takes longer than the rest.
    if isinstance(value, str):  # by its letters, which `str` does not give of a member of an enumeration
        return _text_bytes(value)
    if type(value) is float:
        return _number_bytes(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return _NAN
    # Before numbers: NumPy's lengths of time are some.
    if isinstance(value, date | timedelta | np.datetime64 | np.timedelta64):
        return _text_bytes(_iso(value)) if value == value else _NAN
    if isinstance(value, Real | np.bool_ | Decimal):
        return _number_bytes(float(value))
    # What prints its address, or has parts of its own, has no text that stands for its value.
    kind: Any = type(value)
    parts = isinstance(value, Iterable) and not isinstance(value, bytes)
    if parts or callable(value) or kind.__repr__ is object.__repr__:
        raise TypeError(f"X argument must be a table of strings, numbers, dates and the like, got {value!r}")
    return _text_bytes(str(value))


def _number_bytes(number: float) -> bytes:
    return _NAN if number != number else struct.pack("<d", number + 0.0)


def _iso(value: Any) -> str:
    """Return a time or a length of time as text, the same for every type that holds it.

    Examples
    --------
    >>> _iso(date(2020, 2, 3)), _iso(np.datetime64("2020-02-03T00:00", "ns"))
    ('2020-02-03T00:00:00', '2020-02-03T00:00:00')
    """
    import pandas as pd  # not for tables without times

    kind = pd.Timedelta if isinstance(value, timedelta | np.timedelta64) else pd.Timestamp
    return str(kind(value).isoformat())


def _text_bytes(text: str) -> bytes:
    encoded = text.encode("utf-8", "surrogatepass")
    return b"\xff" + len(encoded).to_bytes(8, "little") + encoded


#: No hashes of tables with more values than this: a sparse one of a million columns is hashed as if it were full.
MOST_VALUES = 1_000_000_000
# Independent rows fail each test for copies with at most this probability; the second is for rows of one distribution
# of which half or more are known, be it a single one.
_LEVEL, _LEVEL_OF_HALF = 1e-3, 1e-2


def hashed_rows(X: Any, key: bytes) -> NDArray[np.int64] | None:
    """Return the hashes of all rows, sorted; None for rows without values, and for very many of them.

    Examples
    --------
    >>> hashed_rows([[1, 2], [3, 4]], b"key").size, hashed_rows([[print]], b"key")
    (2, None)
    """
    return hashes_if_few(X, lambda: row_hashes(X, key))


def hashes_if_few(X: Any, hashes: Callable[[], NDArray[np.uint64]]) -> NDArray[np.int64] | None:
    """Return what `hashes` gives of rows, sorted; it is not asked about very many, and may fail."""
    shape: tuple[int, ...] = X.shape if sp.issparse(X) or hasattr(X, "shape") else np.shape(np.asarray(X, dtype=object))
    if float(np.prod(shape, dtype=np.float64)) > MOST_VALUES:
        return None
    try:
        return np.sort(hashes().view(np.int64))
    except (TypeError, ValueError):  # functions, rows of different lengths: nothing stands for their value
        return None


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
        >>> known = hashed_rows([[1], [2], [3]], b"")
        >>> overlap(known, hashed_rows([[2], [5], [6], [7]], b"")).said
        '1 of 4 rows equals a row'
        """
        return f"{self.seen} of {self.rows} rows equal{'s' if self.seen == 1 else ''} a row"


def overlap(known: NDArray[np.int64], new: NDArray[np.int64] | None) -> Overlap | None:
    """Return how many rows of a table are among known ones, from the hashes of both; None where it is not known.

    Examples
    --------
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
    is_copy = (before.max() == 1 and np.array_equal(before, after)) or _p_same_table(before, after) <= _LEVEL
    if not is_copy and 2 * seen >= new.size:
        originals = _originals(before)
        is_copy = _p_pairs(originals, after, float(new.size / (originals.sum() + new.size))) <= _LEVEL_OF_HALF
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
    if min(_p_same_table(before, after), _p_few_repeats(before, after)) <= _LEVEL:
        return True
    originals = _originals(before)
    return _p_pairs(originals, after) <= _LEVEL or _is_odd(originals, after)


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
    level = _LEVEL / 3.0
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
