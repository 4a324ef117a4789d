"""Indexing, copying and hashing of rows in any container, and tests for batch-dependent predictions.

Equal rows have equal hashes, regardless of container and numeric type.  A model stores sorted keyed 64-bit hashes of
the rows that it was fitted on, from which rows can be recognised, but not reconstructed.

`warn_if_batch_dependent` compares predictions for single rows with those for a batch.  If an estimator
uses statistics of the batch, such as its mean, its validation errors do not estimate its errors on single rows.
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
from pacbayes._utils.threads import limit_to_one_thread


def check_table(X: Any) -> None:
    """Raise if X has masked entries, or column names that are not unique strings.

    For such columns, scikit-learn can neither check the order in `predict` nor select them in a ColumnTransformer.

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
        raise ValueError(f"X must have unique column names, got {columns[columns.duplicated()][0]!r} twice")


def to_csr(X: Any) -> Any:
    """Convert sparse rows to CSR; leave other containers unchanged.

    Examples
    --------
    >>> to_csr(sp.dia_array(np.eye(3))).format, to_csr([[1.0]])
    ('csr', [[1.0]])
    """
    check_table(X)
    if not sp.issparse(X):
        return X
    rows: Any = X
    if rows.ndim != 2:
        raise ValueError(f"X must be two-dimensional, got a sparse array of shape {rows.shape}")
    return rows.tocsr()


def to_indexable(X: Any) -> Any:
    """Make rows indexable: convert sparse matrices to CSR, and objects that only have ``__array__`` to arrays.

    Examples
    --------
    >>> to_indexable([["a"], ["b"]])
    [['a'], ['b']]
    """
    rows = to_csr(to_numpy_columns(X))
    array_only = hasattr(rows, "__array__") and not hasattr(rows, "__len__") and not sp.issparse(rows)
    return np.asarray(rows) if array_only else rows


def to_numpy_columns(X: Any) -> Any:
    """Convert tables of polars and pyarrow, and nullable or pyarrow-backed columns, to a data frame of NumPy types.

    Missing strings become NaN, because scikit-learn's encoders reject pandas' NA and treat None as a category.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.array([True, False], dtype="boolean")})
    >>> to_numpy_columns(X).dtypes.astype(str).tolist()
    ['float64', 'bool']
    """
    if type(X).__module__.partition(".")[0] in ("polars", "pyarrow"):
        X = X.to_pandas()
    dtypes: Any = getattr(X, "dtypes", None)
    if not hasattr(dtypes, "items") or not hasattr(X, "columns"):
        return X
    # Skip numeric columns, because there may be thousands of them.
    others = [i for i, dtype in enumerate(dtypes) if not (isinstance(dtype, np.dtype) and dtype.kind in "biufmM")]
    converted = {i: _to_numpy_column(X.iloc[:, i], dtypes.iloc[i]) for i in others}
    converted = {i: values for i, values in converted.items() if values is not None}
    if not converted:
        return X
    names, attrs = X.columns, X.attrs
    X = X.copy().set_axis(range(len(names)), axis=1)
    for i, values in converted.items():
        X[i] = values
    X = X.set_axis(names, axis=1)
    X.attrs = attrs
    return X


def _to_numpy_column(column: Any, dtype: Any) -> Any:
    """Convert a column to a NumPy type; None if no conversion is needed."""
    if isinstance(dtype, np.dtype):
        if dtype.kind == "O" and any(value is None for value in column):
            return column.where(column.notna(), np.nan)
        return None
    # scikit-learn supports these extension types of pandas.
    if dtype.name == "category" or dtype.name.startswith(("datetime64", "period", "Sparse", "interval")):
        return None
    from pandas.api import types

    if types.is_bool_dtype(dtype):
        return column.astype(bool) if not column.isna().any() else column.astype(object).where(column.notna(), np.nan)
    if types.is_numeric_dtype(dtype):
        whole = types.is_integer_dtype(dtype) and not column.isna().any()
        return column.astype("int64") if whole else column.to_numpy(dtype=np.float64, na_value=np.nan)
    if types.is_datetime64_any_dtype(dtype):
        return column.astype("datetime64[ns]" if getattr(column.dt, "tz", None) is None else "datetime64[ns, UTC]")
    values = column.to_numpy(dtype=object).copy()
    values[column.isna().to_numpy()] = np.nan
    return values


def count_rows(X: Any) -> int:
    """Count the rows of an array, a data frame, a sparse matrix or a list."""
    return int(_num_samples(X))


def pick_rows(X: Any, which: Rows) -> Any:
    """Select some rows as a copy, because an estimator may modify its input, such as StandardScaler(copy=False).

    Examples
    --------
    >>> X = [["a"], ["b"]]
    >>> pick_rows(X, np.array([1]))[0][0] = "c"
    >>> X
    [['a'], ['b']]
    """
    rows = _safe_indexing(X, which)
    # Indexing makes a copy, except of the items of a list.
    return copy_rows(rows) if isinstance(rows, list) else rows


def copy_rows(X: Any) -> Any:
    """Make a deep copy of rows in any container."""
    if isinstance(X, np.ndarray):
        return np.array(X)  # converts a memory map of a worker to an ordinary array
    return copy.deepcopy(X)


_HASH_BYTES = 8
# Number of rows from which integer rows are deduplicated before hashing, and size of the sample that shows whether
# there are many duplicates.
_MANY_ROWS, _N_SAMPLED = 100_000, 5_000
# Size of digests by which long rows are compared; among a billion rows, the collision probability is 1e-21.
_DIGEST_BYTES = 16
# Maximum size of rows that are compared directly, which is much faster.
_MAX_DIRECT_BYTES = 512
# Number of sparse rows that are densified together.
_ROWS_PER_BLOCK = 4096
_NAN = np.array(np.nan, dtype="<f8").tobytes()


def row_hashes(X: Any, key: bytes) -> NDArray[np.uint64]:
    """Compute a keyed 64-bit hash of each row.

    Numbers and booleans are hashed as float64 (with -0.0 as 0.0, and all missing values as the same NaN), dates in
    ISO 8601, and other values as strings; dates and strings are prefixed by a marker and their length.  The
    hash does not depend on the container, on the numeric type, or on other rows.
    """
    first, inverse = _deduplicate_rows(X)
    digests = b"".join(_iter_digests(first, hashlib.blake2b(digest_size=_HASH_BYTES, key=key)))
    hashes = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    return hashes if inverse is None else hashes[inverse]


def _deduplicate_rows(X: Any) -> tuple[Any, Rows | None]:
    """Find the distinct rows, and the index of each row, of integer rows with many duplicates; otherwise return X."""
    table = _to_table(X) if not sp.issparse(X) and count_rows(X) >= _MANY_ROWS else None
    if table is None or table.dtype.kind not in "iu" or table.ndim != 2 or not table.shape[1]:
        return X, None
    import pandas as pd  # imported lazily, because most tables are small

    sample = table[:: max(1, len(table) // _N_SAMPLED)]
    if 10 * len(np.unique(sample, axis=0)) > len(sample):
        return X, None
    codes = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        values = pd.factorize(column)[0]
        codes = pd.factorize(codes * (int(values.max()) + 1) + values)[0]
    first = np.zeros(int(codes.max()) + 1, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return table[first], codes


def index_distinct_rows(X: Any) -> NDArray[np.int64]:
    """Assign an index to each distinct row, in order of first appearance.

    Examples
    --------
    >>> index_distinct_rows([[1, 2], [3, 4], [1.0, 2.0], [-0.0, 1], [0.0, 1]])
    array([0, 1, 0, 2, 2])
    """
    indices: dict[bytes, int] = {}
    row_indices = [
        indices.setdefault(
            bytes(row) if len(row) <= _MAX_DIRECT_BYTES else hashlib.blake2b(row, digest_size=_DIGEST_BYTES).digest(),
            len(indices),
        )
        for row in _iter_row_bytes(X)
    ]
    return np.array(row_indices, dtype=np.int64)


def _iter_digests(X: Any, start: "hashlib.blake2b") -> Iterator[bytes]:
    for row in _iter_row_bytes(X):
        state = start.copy()
        state.update(row)
        yield state.digest()


def _iter_row_bytes(X: Any) -> Any:
    """Yield the canonical bytes of each row."""
    if sp.issparse(X):
        yield from _iter_sparse_bytes(X)
        return
    table = _to_table(X)
    if table.dtype.kind in "biuf":
        yield from _iter_numeric_bytes(table)
        return
    values = table.reshape(len(table), -1)
    # `tolist` would convert times of some units to integers.
    for row in values if table.dtype.kind in "mM" else values.tolist():
        yield b"".join(map(_encode_value, row))


def _to_table(X: Any) -> NDArray[Any]:
    """Convert rows to an array without converting values."""
    # A data frame with several dtypes becomes an array of objects.
    table = np.asarray(X)
    # NumPy would convert the numbers of a list to strings or durations if it contains one of these.
    return np.array(X, dtype=object) if table.dtype.kind in "SUmMc" and not isinstance(X, np.ndarray) else table


def check_values(X: Any) -> None:
    """Raise if rows contain unhashable values, such as lists, dicts or functions."""
    table = None if sp.issparse(X) else _to_table(X)
    if table is not None and table.dtype.kind == "O":
        for value in table.ravel().tolist():
            _encode_value(value)


def _iter_sparse_bytes(X: Any) -> Any:
    rows = X.tocsr()
    for start in range(0, X.shape[0], _ROWS_PER_BLOCK):
        yield from _iter_numeric_bytes(rows[start : start + _ROWS_PER_BLOCK].toarray())


def _iter_numeric_bytes(table: NDArray[Any]) -> Any:
    numbers: FloatArray = np.array(table, dtype="<f8", order="C").reshape(len(table), -1)
    numbers += 0.0  # -0.0 becomes 0.0
    numbers[np.isnan(numbers)] = np.nan
    if numbers.shape[1] == 0:
        return (b"" for _ in range(len(table)))
    buffer, size = memoryview(numbers.tobytes()), numbers.shape[1] * numbers.itemsize
    return (buffer[start : start + size] for start in range(0, len(buffer), size))


def _encode_value(value: Any) -> bytes:
    # Check frequent types first, because `isinstance` is slow for abstract classes.
    if isinstance(value, str):  # without `str`, which returns the name of an enumeration member
        return _encode_text(value)
    if type(value) is float:
        return _encode_number(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return _NAN
    # Check dates before numbers, because NumPy's durations are integers.
    if isinstance(value, date | timedelta | np.datetime64 | np.timedelta64):
        return _encode_text(_to_iso(value)) if value == value else _NAN
    if isinstance(value, Real | np.bool_ | Decimal):
        return _encode_number(float(value))
    # Collections, functions and objects with the default repr cannot be identified by their strings.
    kind: Any = type(value)
    is_collection = isinstance(value, Iterable) and not isinstance(value, bytes)
    if is_collection or callable(value) or kind.__repr__ is object.__repr__:
        raise TypeError(f"X argument must be a table of strings, numbers, dates and the like, got {value!r}")
    return _encode_text(str(value))


def _encode_number(number: float) -> bytes:
    return _NAN if number != number else struct.pack("<d", number + 0.0)


def _to_iso(value: Any) -> str:
    """Convert a date or duration to ISO 8601, regardless of its type.

    Examples
    --------
    >>> _to_iso(date(2020, 2, 3)), _to_iso(np.datetime64("2020-02-03T00:00", "ns"))
    ('2020-02-03T00:00:00', '2020-02-03T00:00:00')
    """
    import pandas as pd  # imported lazily, because most tables have no dates

    kind = pd.Timedelta if isinstance(value, timedelta | np.timedelta64) else pd.Timestamp
    return str(kind(value).isoformat())


def _encode_text(text: str) -> bytes:
    encoded = text.encode("utf-8", "surrogatepass")
    return b"\xff" + len(encoded).to_bytes(8, "little") + encoded


#: Maximum number of values of a table that is hashed, including the zeros of a sparse matrix.
MAX_HASHED_VALUES = 1_000_000_000


def sorted_row_hashes(X: Any, key: bytes) -> NDArray[np.int64] | None:
    """Compute sorted row hashes; None if X is too large or unhashable.

    Examples
    --------
    >>> sorted_row_hashes([[1, 2], [3, 4]], b"key").size, sorted_row_hashes([[print]], b"key")
    (2, None)
    """
    return row_hashes_or_none(X, lambda: row_hashes(X, key))


def row_hashes_or_none(X: Any, hashes: Callable[[], NDArray[np.uint64]]) -> NDArray[np.int64] | None:
    """Call `hashes` and sort the result; None if X is too large or unhashable."""
    shape: tuple[int, ...] = X.shape if sp.issparse(X) or hasattr(X, "shape") else np.shape(np.asarray(X, dtype=object))
    if float(np.prod(shape, dtype=np.float64)) > MAX_HASHED_VALUES:
        return None
    try:
        return np.sort(hashes().view(np.int64))
    except (TypeError, ValueError):  # functions or rows of different lengths are unhashable
        return None


# Maximum batch size of the test; two rows of the batch are also predicted one by one.
MAX_BATCH_SIZE = 100
# Only every 50th classifier of a kind is tested, because predicting may take as long as fitting.
CHECK_EVERY = 50
# Tolerance for rounding errors of sums of products, in ulps of the largest number.
_ROUNDING = 1000.0


def select_test_rows(y: NDArray[Any]) -> Rows:
    """Select a few rows of all classes, ordered by class.

    Examples
    --------
    >>> select_test_rows(np.array([0, 1, 2, 1, 0])).tolist()
    [0, 4, 1, 3, 2]
    """
    # Subsample very many rows before sorting.
    step = max(1, y.size // _MANY_ROWS)
    order = np.argsort(y[::step], kind="stable") * step
    return order[np.unique(np.linspace(0, order.size - 1, min(MAX_BATCH_SIZE, order.size)).round().astype(np.int64))]


def warn_if_batch_dependent(
    estimators: Sequence[Any],
    rows: Callable[[int], Any],
    method: str = "predict",
    settings: Sequence[Any] | None = None,
) -> None:
    """Warn if the prediction of an estimator for a row depends on the rest of the batch.

    ``rows(i)`` is a batch for the i-th estimator.  The first estimator of each kind is tested, and every fiftieth.
    `settings` are the parameters of the estimators, if known.
    """
    kinds: set[Any] = set()
    selected: list[int] = []
    for i, estimator in enumerate(estimators):
        kind = _structure_key(estimator if settings is None else settings[i])
        if i % CHECK_EVERY == 0 or kind not in kinds:
            kinds.add(kind)
            selected.append(i)
    with limit_to_one_thread():
        names = [find_batch_dependence(estimators[i], rows(i), method) for i in selected]
    for name in dict.fromkeys(names):
        if name is not None:
            warn_caller(
                f"{name} predicts differently, or fails, for single rows of a batch. Certificates hold only for "
                "classifiers whose prediction for a row does not depend on other rows."
            )


def _structure_key(value: Any) -> Any:
    """Compute a key that is equal for estimators, or settings, that differ only in numbers.

    Strings and booleans are part of the key, because they may enable a batch-dependent step.

    Examples
    --------
    >>> _structure_key({"depth": 3}) == _structure_key({"depth": 5})
    True
    >>> _structure_key({"scaled": True}) == _structure_key({"scaled": False})
    False
    """
    if value is None or isinstance(value, bool | np.bool_ | str):
        return value
    if isinstance(value, Mapping):
        return tuple((str(name), _structure_key(inner)) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_structure_key, value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        return type(value), _structure_key(value.get_params(deep=False))
    return id(value) if callable(value) else type(value)


def find_batch_dependence(estimator: Any, X: Any, method: str = "predict") -> str | None:
    """Find the class name of the estimator or pipeline step whose output for a row depends on the batch; None if none.

    The steps of a pipeline are tested one after the other.  Classifiers are compared by their labels.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> find_batch_dependence(FunctionTransformer(lambda rows: rows - rows.mean()), X, "transform")
    'FunctionTransformer'
    >>> find_batch_dependence(StandardScaler().fit(X), X, "transform") is None
    True
    """
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    # Resamplers and "passthrough" have no `transform`.
    calls = [getattr(step, "transform", None) for step in steps[:-1]] + [getattr(steps[-1], method, None)]
    rows = X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about single rows are not relevant to the user
        for step, call in zip(steps, calls, strict=True):
            if call is None:
                continue
            try:
                batch = call(pick_rows(rows, np.arange(_num_samples(rows))))
                dense = _to_dense(batch)
                pair = _select_contrasting_rows(dense)
                single = np.concatenate([_to_dense(call(pick_rows(rows, np.array([j])))) for j in pair])
                same = _nearly_equal(dense[pair], single)
            except Exception:  # third-party estimators may raise anything for single rows
                same = False
            if not same:
                return type(step).__name__
            rows = batch
    return None


def _select_contrasting_rows(predictions: NDArray[Any]) -> list[int]:
    """Select two rows with different predictions, if any.

    They are needed because a batch-dependent estimator may predict a constant for single rows.

    Examples
    --------
    >>> _select_contrasting_rows(np.array([1, 0, 0, 1, 2]))
    [1, 4]
    """
    if predictions.ndim > 1:
        return [0, len(predictions) - 1]
    # Sort objects as strings, because they may not be comparable.
    order = np.argsort(predictions if predictions.dtype.kind in "biufU" else predictions.astype(str), kind="stable")
    return [int(order[0]), int(order[-1])]


def _to_dense(X: Any) -> NDArray[Any]:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def _nearly_equal(batch_values: NDArray[Any], single_values: NDArray[Any]) -> bool:
    """Whether two tables are equal up to rounding.

    The tolerance is the square root of the machine epsilon, relative to the maximum of the column.  It exceeds rounding
    errors, but not the effect of batch statistics.  For columns that contain rounding errors only, it is relative to
    the maximum of the table.

    Examples
    --------
    >>> _nearly_equal(np.array([1.0, 1e9]), np.array([1.0 + 1e-12, 1e9]))
    True
    >>> _nearly_equal(np.array([1.0]), np.array([1.001]))
    False
    """
    if batch_values.shape != single_values.shape:
        return False
    equal = (batch_values == single_values) | ((batch_values != batch_values) & (single_values != single_values))
    if batch_values.dtype.kind == "f" and single_values.dtype.kind == "f":
        unit = float(np.finfo(batch_values.dtype).eps)
        sizes = np.where(np.isfinite(batch_values), np.abs(batch_values), 0.0)
        allowed = np.sqrt(unit) * sizes.max(axis=0) + _ROUNDING * unit * sizes.max(initial=0.0)
        with np.errstate(invalid="ignore"):
            equal |= np.abs(batch_values - single_values) <= allowed
    return bool(np.all(equal))
