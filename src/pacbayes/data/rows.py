"""Rows of any kind: picked, copied, told apart by their values, and known again.

Equal rows have equal bytes, in whatever container and as whatever type of number they come.  A model keeps a keyed hash
of 64 bits of every row it was fitted with, sorted: enough to recognise a row, not to read it.

Classifiers are asked about a few rows alone and among others (`warn_of_batches`): what is fitted anew on every batch, a
scaler that takes the batch's own mean, gives a row one answer among the validation rows and another when it comes
alone.  Then errors were counted of a classifier that nobody will use.
"""

import copy
import hashlib
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from pacbayes._utils.arrays import FloatArray, Rows
from pacbayes._utils.checks import check_not_masked, warn_caller
from pacbayes._utils.threads import one_thread


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


def number_of_rows(X: Any) -> int:
    """Return the number of rows of an array, a frame, a sparse matrix or a list."""
    return int(_num_samples(X))


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


# Rows to ask about together, two of them also alone.  Asking takes as long as some fits do: it is done for one
# classifier of so many of a kind.
TOGETHER = 100
ONE_OF = 50
# What rounding may do to a sum of products, in units of the largest number's last place.
_ROUNDING = 1000.0


def few_rows(y: NDArray[Any]) -> Rows:
    """Return the numbers of a few rows of all classes, in the order of these.

    Examples
    --------
    >>> few_rows(np.array([0, 1, 2, 1, 0])).tolist()
    [0, 4, 1, 3, 2]
    """
    order = np.argsort(y, kind="stable")
    return order[np.unique(np.linspace(0, y.size - 1, min(TOGETHER, y.size)).round().astype(np.int64))]


def warn_of_batches(
    estimators: Sequence[Any],
    rows: Callable[[int], Any],
    method: str = "predict",
    settings: Sequence[Any] | None = None,
) -> None:
    """Warn of estimators whose answer for a row depends on the rows around it; ``rows(i)`` gives some for the i-th.

    One of each kind is asked, and every fiftieth.  `settings` are what distinguishes them, where that is known.
    """
    kinds: set[Any] = set()
    asked: list[int] = []
    for i, estimator in enumerate(estimators):
        kind = _kind(estimator if settings is None else settings[i])
        if i % ONE_OF == 0 or kind not in kinds:
            kinds.add(kind)
            asked.append(i)
    with one_thread():
        found = [depends_on_batch(estimators[i], rows(i), method) for i in asked]
    for name in dict.fromkeys(found):
        if name is not None:
            warn_caller(
                f"{name} gives a row another answer, or none, when asked about it alone and not among other rows. "
                "Certificates hold only for classifiers whose answer for a row depends on that row alone."
            )


def _kind(value: Any) -> Any:
    """Return what estimators, or their settings, have in common that differ in their numbers only.

    A step that looks at the batch may be anywhere in an estimator, and chosen by a word or a switch.

    Examples
    --------
    >>> _kind({"depth": 3}) == _kind({"depth": 5}), _kind({"scaled": True}) == _kind({"scaled": False})
    (True, False)
    """
    if value is None or isinstance(value, bool | np.bool_ | str):
        return value
    if isinstance(value, Mapping):
        return tuple((str(name), _kind(inner)) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_kind, value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        return type(value), _kind(value.get_params(deep=False))
    return id(value) if callable(value) else type(value)


def depends_on_batch(estimator: Any, X: Any, method: str = "predict") -> str | None:
    """Return the name of the class that answers for some row otherwise alone than among the rows of X, or None.

    In a pipeline each step is asked in its turn; of a classifier, labels are compared.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> depends_on_batch(FunctionTransformer(lambda rows: rows - rows.mean()), X, "transform")
    'FunctionTransformer'
    >>> depends_on_batch(StandardScaler().fit(X), X, "transform") is None
    True
    """
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    # Steps that only training has, and "passthrough", have no such method.
    asked = [getattr(step, "transform", None) for step in steps[:-1]] + [getattr(steps[-1], method, None)]
    rows = X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is said of a single row is no answer to the user
        for step, ask in zip(steps, asked, strict=True):
            if ask is None:
                continue
            try:
                together = ask(_picked(rows, range(_num_samples(rows))))
                said = _dense(together)
                some = _two(said)
                same = _same(said[some], np.concatenate([_dense(ask(_picked(rows, [j]))) for j in some]))
            except Exception:  # other people's classifiers raise what they like; these rows they have been trained on
                same = False
            if not same:
                return type(step).__name__
            rows = together
    return None


def _two(said: NDArray[Any]) -> list[int]:
    """Return two rows, with different answers where there are any: who looks at the batch may say one of all lone rows.

    Examples
    --------
    >>> _two(np.array([1, 0, 0, 1, 2]))
    [1, 4]
    """
    if said.ndim > 1:
        return [0, len(said) - 1]
    # As texts labels of any kind have an order.
    order = np.argsort(said if said.dtype.kind in "biufU" else said.astype(str), kind="stable")
    return [int(order[0]), int(order[-1])]


def _picked(X: Any, which: Sequence[int]) -> Any:
    """Return a copy of some rows: a classifier may write into what it is given."""
    return pick_rows(X, np.array(which))


def _dense(made: Any) -> NDArray[Any]:
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made)


def _same(together: NDArray[Any], alone: NDArray[Any]) -> bool:
    """Return whether two tables hold the same, up to what rounding does in sums of another order.

    Numbers may differ by half of their digits within a column: rounding does less, a mean of other rows does more.
    In a column that is nothing but the rounding error of large numbers they may differ by that.

    Examples
    --------
    >>> _same(np.array([[1.0, 1e9]]), np.array([[1.0 + 1e-12, 1e9]])), _same(np.array([1.0]), np.array([1.001]))
    (True, False)
    """
    if together.shape != alone.shape:
        return False
    equal = (together == alone) | ((together != together) & (alone != alone))
    if together.dtype.kind == "f" and alone.dtype.kind == "f":
        unit = float(np.finfo(together.dtype).eps)
        sizes = np.where(np.isfinite(together), np.abs(together), 0.0)
        allowed = np.sqrt(unit) * sizes.max(axis=0) + _ROUNDING * unit * sizes.max(initial=0.0)
        with np.errstate(invalid="ignore"):
            equal |= np.abs(together - alone) <= allowed
    return bool(np.all(equal))
