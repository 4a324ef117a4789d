"""Validation of rows, labels, groups and slices."""

from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples

from pacbayes._utils.arrays import Codes, Labels, Rows, cached_property
from pacbayes._utils.checks import check_not_masked, convert_long_labels
from pacbayes.data.duplicates import index_distinct_samples
from pacbayes.data.rows import pick_rows, row_hashes, row_hashes_or_none, to_csr
from pacbayes.data.spelling import check_spellings


@dataclass(frozen=True, eq=False)
class Slices:
    """Names of the slices, and the slice index of each row."""

    names: tuple[Any, ...]
    codes: Codes
    #: Name of the Series, or joined column names of the data frame; empty for other containers.
    column: str = ""

    @classmethod
    def from_values(cls, slices: Any, number: int) -> "Slices":
        """Validate slices of `number` rows and encode them.

        Examples
        --------
        >>> Slices.from_values(["north", "south", "north"], 3).codes
        array([0, 1, 0])
        >>> Slices.from_values(["north", None], 2)
        Traceback (most recent call last):
        ValueError: slices must have a value for every row, got none for row 1
        """
        if isinstance(slices, pd.DataFrame):
            return cls._combine([cls.from_values(slices[name], number) for name in slices.columns])
        values = np.asarray(slices)
        if values.shape != (number,):
            raise ValueError(f"slices must have one entry for each of {number} rows, got shape {values.shape}")
        if values.dtype.kind in "mM":  # convert dates and durations to strings
            unknown = np.isnat(values)
            values = values.astype(str).astype(object)
            values[unknown] = None
        if values.dtype == object:
            values = np.array([v.item() if isinstance(v, np.generic) else v for v in values], dtype=object)
        missing = np.flatnonzero(pd.isna(values))
        if missing.size:
            raise ValueError(f"slices must have a value for every row, got none for row {missing[0]}")
        kinds = set(map(type, values.tolist())) - {str, int, float, bool}
        if kinds:
            types = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"slices must be numbers or strings, got {types}")
        try:
            names, codes = np.unique(values, return_inverse=True)
        except TypeError:
            raise ValueError("slices must be all numbers or all strings, got a mixture") from None
        check_spellings(names.tolist(), "slices", "slice")
        column = getattr(slices, "name", None)
        return cls(tuple(names.tolist()), codes.reshape(-1), "" if column is None else str(column))

    @classmethod
    def _combine(cls, parts: "list[Slices]") -> "Slices":
        """Combine the slices of several columns into one slice for each combination of values that occurs.

        Examples
        --------
        >>> crossed = Slices.from_values(pd.DataFrame({"site": ["n", "s", "n"], "device": [1, 1, 2]}), 3)
        >>> crossed.names, crossed.codes, crossed.column
        ((('n', 1), ('n', 2), ('s', 1)), array([0, 2, 1]), 'site, device')
        """
        if not parts:
            raise ValueError("slices must have at least one column")
        if len(parts) == 1:
            return parts[0]
        cells, codes = np.unique(np.stack([part.codes for part in parts]), axis=1, return_inverse=True)
        names = [tuple(part.names[i] for part, i in zip(parts, cell, strict=True)) for cell in cells.T.tolist()]
        return cls(tuple(names), codes.reshape(-1), ", ".join(part.column for part in parts))

    def check_duplicates_share_slice(self, copies: Rows | None) -> None:
        """Raise if duplicates of an example are in different slices."""
        if copies is None:
            return
        first_codes = np.zeros(int(copies.max()) + 1, dtype=np.intp)
        first_codes[copies[::-1]] = self.codes[::-1]
        different = np.flatnonzero(self.codes != first_codes[copies])
        if different.size:
            row = int(different[0])
            first = int(np.argmax(copies == copies[row]))
            first_slice, row_slice = (self.names[self.codes[i]] for i in (first, row))
            raise ValueError(
                f"slices must be the same for duplicates of an example (duplicates='together'), got {first_slice!r} "
                f"for row {first} and {row_slice!r} for row {row}"
            )


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with labels, groups, slices and weights.

    Attributes
    ----------
    rows : array, sparse matrix, data frame or list
        Rows as passed by the user.
    labels : ndarray of shape (N,)
        Label of each row.
    classes : ndarray
        Sorted classes of the labels and, for prefit classifiers, of the classifiers.
    codes : ndarray of shape (N,)
        Index of each row's label in `classes`.
    groups : ndarray of shape (N,), or None
        Group index of each row, in order of first appearance.
    slices : Slices or None
        Slices of the rows.

    Examples
    --------
    >>> data = Dataset.from_arrays([[1.0], [2.0], [1.0]], np.array(["no", "yes", "no"]))
    >>> data.classes.tolist(), data.codes, data.distinct_rows
    (['no', 'yes'], array([0, 1, 0]), array([0, 1, 0]))
    """

    rows: Any
    labels: Labels
    classes: Labels
    codes: Rows
    groups: Rows | None = None
    slices: Slices | None = None

    @classmethod
    def from_arrays(
        cls,
        rows: Any,
        labels: Labels,
        groups: Any = None,
        slices: Any = None,
        *,
        classes: Labels | None = None,
    ) -> "Dataset":
        """Create a dataset from validated rows and labels; `classes` may contain classes without rows."""
        if classes is None:
            classes, codes = np.unique(labels, return_inverse=True)
        else:
            codes = np.searchsorted(classes, labels)
        if labels.dtype.kind in "OU":
            check_spellings(classes.tolist(), "y")
        row_slices = None if slices is None else Slices.from_values(slices, labels.size)
        group_codes = None if groups is None else check_groups(groups, labels.size)
        return cls(rows, labels, classes, codes.astype(np.int64), group_codes, row_slices)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.labels.size)

    @cached_property
    def distinct_rows(self) -> Rows | None:
        """Index of each distinct row (features and class); None if rows cannot be compared."""
        return index_distinct_samples(self.rows, self.codes)

    def hashes(self, key: bytes) -> NDArray[np.uint64]:
        """Compute the keyed hash of each row; results are cached by key."""
        cache = self.__dict__.setdefault("_hashes", {})
        if key not in cache:
            cache[key] = row_hashes(self.rows, key)
        return cache[key]  # type: ignore[no-any-return]

    def row_fingerprints(self, key: bytes) -> NDArray[np.int64] | None:
        """Compute sorted row hashes, which detect reuse of the rows; None if the rows are unhashable or too many."""
        return row_hashes_or_none(self.rows, lambda: self.hashes(key))

    def pick(self, which: Rows) -> "Dataset":
        """Select some rows, without groups and slices."""
        return Dataset(pick_rows(self.rows, which), self.labels[which], self.classes, self.codes[which])


def check_training_labels(data: Dataset) -> None:
    """Raise if y has a single class or looks like a regression target."""
    if data.classes.size < 2:
        raise ValueError(f"y must hold at least two classes, got class {data.classes.tolist()[0]!r} only")
    if looks_like_regression(data.labels, data.classes.size):
        raise ValueError(
            f"y holds {data.classes.size} different numbers in {data.n_rows} rows and looks like a regression target; "
            "if these numbers are classes pass them as strings: y.astype(str)"
        )


def check_groups(groups: Any, n: int) -> Rows:
    """Validate groups and encode them by indices, in order of first appearance.

    Examples
    --------
    >>> check_groups(["anna", "ben", "anna"], 3)
    array([0, 1, 0])
    >>> check_groups([1.0, float("nan")], 2)
    Traceback (most recent call last):
    ValueError: groups must not contain missing values, got nan for row 1
    """
    if isinstance(groups, str | bytes) or not (hasattr(groups, "__len__") or hasattr(groups, "__array__")):
        raise TypeError(f"groups must hold one entry per row of X, got {groups!r}")
    extension = isinstance(groups, pd.Series | pd.Index) and not isinstance(groups.dtype, np.dtype)
    values: Any = groups.array if extension else _as_array(groups)
    if values.ndim != 1 or len(values) != n:
        raise ValueError(f"groups must hold one entry per row of X, shape ({n},), got shape {values.shape}")
    try:
        codes, names = pd.factorize(values)
    except TypeError as error:
        raise TypeError(f"groups must be names or numbers: {error}") from None
    if any(isinstance(name, str) for name in names):
        check_spellings(names, "groups", "group")
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise ValueError(f"groups must not contain missing values, got {values[row]} for row {row}")
    return np.asarray(codes, dtype=np.int64)


def _as_array(groups: Any) -> NDArray[Any]:
    """Convert groups to an array, lists to objects, because NumPy would convert numbers in mixed lists to strings."""
    table = np.asarray(groups)
    return np.array(groups, dtype=object) if isinstance(groups, list | tuple) and table.ndim == 1 else table


def check_same_order(**arguments: Any) -> None:
    """Raise if pandas objects have the same index in different orders, because rows are paired by position.

    Indices with different labels are accepted, because one may have been reset.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [40, 50, 60], "patient": ["anna", "ben", "anna"]})
    >>> check_same_order(X=table[["age"]][::-1], groups=table["patient"])
    Traceback (most recent call last):
    ValueError: X and groups have the same index in different orders, but rows are paired by position: use
    groups.loc[X.index], or groups.to_numpy() if the positions are correct
    """
    indices = {name: value.index for name, value in arguments.items() if isinstance(value, pd.DataFrame | pd.Series)}
    for (name, index), (other, reordered) in combinations(indices.items(), 2):
        if _is_reordered(index, reordered):
            remedy = f"use {other}.loc[{name}.index]" if index.is_unique else "take both from one table, in one order"
            raise ValueError(
                f"{name} and {other} have the same index in different orders, but rows are paired by position: "
                f"{remedy}, or {other}.to_numpy() if the positions are correct"
            )


def _is_reordered(left: "pd.Index[Any]", right: "pd.Index[Any]") -> bool:
    """Whether one index is a permutation of the other."""
    if len(left) != len(right) or left.nlevels != right.nlevels or left.equals(right):
        return False
    if left.inferred_type != right.inferred_type:
        left, right = left.astype(object), right.astype(object)  # otherwise, pandas would parse strings as dates
    if not (bool(right.isin(left[:1]).any()) and bool(left.isin(right).all())):  # a fast test of a single label first
        return False
    if left.is_unique and right.is_unique:
        return True
    left_counts, right_counts = (index.value_counts(dropna=False) for index in (left, right))
    return bool((right_counts.reindex(left_counts.index, fill_value=0) == left_counts).all())


def check_rows(X: Any, y: ArrayLike, name: str = "") -> tuple[Any, Labels]:
    """Validate X and y and make X indexable; `name` is a prefix for error messages.

    Examples
    --------
    >>> check_rows(["good", "bad", "fine"], ["a", "b", "a"])[1]
    array(['a', 'b', 'a'], dtype='<U1')
    """
    labels = column_or_1d(check_no_missing_labels(convert_long_labels(y), f"{name}y"), warn=True)
    if labels.size == 0:
        raise ValueError(f"{name}y must not be empty")
    assert_all_finite(labels, input_name=f"{name}y")
    check_classification_targets(labels)
    X = to_csr(X)
    if isinstance(X, str) or not (hasattr(X, "__len__") or hasattr(X, "shape")):
        raise TypeError(f"{name}X must be rows: an array, a sparse matrix, a data frame or a list, got {X!r}")
    if _num_samples(X) != labels.size:
        raise ValueError(f"{name}X and {name}y must have the same length, got {_num_samples(X)} and {labels.size}")
    return indexable(X)[0], labels


_KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text"}
# Maximum absolute value up to which all integers are exact in float64.
_MAX_EXACT = 2**53
# Up to ten distinct numbers, such as digits or grades, are always accepted as classes.
_FEW_CLASSES = 10


def check_no_missing_labels(y: Any, name: str = "y") -> Any:
    """Raise if labels are missing or a label has two spellings, with an error message that names y.

    Examples
    --------
    >>> check_no_missing_labels(["no", None, "yes"])
    Traceback (most recent call last):
    ValueError: Input y contains NaN or None: row 1 has no label (1 missing). Remove these rows.
    """
    check_not_masked(name, y)
    missing = missing_label_mask(y)
    if missing.any():
        row, number = int(missing.argmax()), int(missing.sum())
        raise ValueError(
            f"Input {name} contains NaN or None: row {row} has no label ({number} missing). Remove these rows."
        )
    values = np.asarray(y) if hasattr(y, "dtype") else np.empty(0)
    if values.dtype.kind == "O" and values.ndim == 1 and not all(isinstance(label, str) for label in values):
        check_spellings(values, name)
    return y


def to_numpy_labels(y: Any) -> Any:
    """Convert nullable and pyarrow-backed labels to NumPy, because scikit-learn would convert integers to floats.

    Examples
    --------
    >>> to_numpy_labels(pd.array([0, 1], dtype="Int64")), to_numpy_labels(pd.array([True, False], dtype="boolean"))
    (array([0, 1]), array([ True, False]))
    """
    dtype: Any = getattr(y, "dtype", None)
    if not isinstance(dtype, pd.api.extensions.ExtensionDtype) or isinstance(dtype, pd.CategoricalDtype):
        return y
    return np.array(y.tolist(), dtype=object if pd.api.types.is_string_dtype(dtype) else None)


def missing_label_mask(y: Any) -> NDArray[np.bool_]:
    """Compute the mask of missing labels; the result is empty for two-dimensional labels.

    Examples
    --------
    >>> missing_label_mask(np.array(["a", None, float("nan")], dtype=object)), missing_label_mask([1, 2])
    (array([False,  True,  True]), array([False, False]))
    """
    values = y if hasattr(y, "isna") else np.asarray(y)
    return np.asarray(pd.isna(values), dtype=bool) if values.ndim == 1 else np.zeros(0, dtype=bool)


def looks_like_regression(labels: NDArray[Any], n_classes: int) -> bool:
    """Whether y looks like a regression target: more than ten numbers with fewer than four rows each on average.

    Examples
    --------
    >>> looks_like_regression(np.arange(40) % 11, 11), looks_like_regression(np.arange(44) % 11, 11)
    (True, False)
    >>> looks_like_regression(np.arange(20) % 10, 10), looks_like_regression((np.arange(40) % 11).astype(str), 11)
    (False, False)
    """
    return n_classes > _FEW_CLASSES and 4 * n_classes > labels.size and _label_kinds(labels) == {"numbers"}


def flatten_predictions(name: str, predictions: Any, rows: int) -> NDArray[Any]:
    """Flatten predictions to shape (rows,); CatBoost returns a column.

    Examples
    --------
    >>> flatten_predictions("predict", [[2], [0]], 2)
    array([2, 0])
    >>> flatten_predictions("predict", [[2, 0], [0, 2]], 2)
    Traceback (most recent call last):
    ValueError: predict must return one label for each of the 2 rows, shape (2,), got shape (2, 2)
    """
    check_not_masked(name, predictions)
    labels = np.asarray(predictions)
    if labels.shape == (rows, 1):
        return labels[:, 0]
    if labels.shape != (rows,):
        raise ValueError(
            f"{name} must return one label for each of the {rows} rows, shape ({rows},), got shape {labels.shape}"
        )
    return labels


def check_label_types(name: str, predictions: NDArray[Any], labels: NDArray[Any], other: str = "y_val") -> None:
    """Raise if predictions and labels have incompatible types, or types that are compared with rounding to float64.

    Incompatible types would count every prediction as an error; rounding might hide errors.

    Examples
    --------
    >>> check_label_types("predictions", np.array([2.0**53]), np.array([2**53 + 1]))
    Traceback (most recent call last):
    TypeError: predictions must be integers, because those of y_val exceed the precision of float64, got float64
    """
    unknown = sorted(_label_kinds(predictions) - _label_kinds(labels))
    if unknown:
        types = predictions.dtype if predictions.dtype != object else ", ".join(unknown)
        raise TypeError(f"{name} must be labels like those of {other} ({labels.dtype}), got {types}")
    if predictions.dtype.kind == "f" and _exceeds_float_precision(labels):
        raise TypeError(
            f"{name} must be integers, because those of {other} exceed the precision of float64, "
            f"got {predictions.dtype}"
        )
    # NumPy compares signed with unsigned integers as floats.
    if {predictions.dtype.kind, labels.dtype.kind} == {"i", "u"} and any(
        map(_exceeds_float_precision, (predictions, labels))
    ):
        raise TypeError(f"{name} must be of the type of {other} ({labels.dtype}), got {predictions.dtype}")
    if labels.dtype.kind == "f" and _exceeds_float_precision(predictions):
        raise TypeError(f"{name} must be labels like those of {other} ({labels.dtype}), which has a lower precision")


def _exceeds_float_precision(labels: NDArray[Any]) -> bool:
    """Whether some integers may not be exact in float64."""
    return labels.dtype.kind in "iu" and labels.size > 0 and max(int(labels.max()), -int(labels.min())) > _MAX_EXACT


def _label_kinds(labels: NDArray[Any]) -> set[str]:
    """Determine the kinds of labels: "numbers", "text", or the names of other types.

    Examples
    --------
    >>> _label_kinds(np.array([1, True])), sorted(_label_kinds(np.array(["a", None, 2.0], dtype=object)))
    ({'numbers'}, ['NoneType', 'numbers', 'text'])
    """
    kind = labels.dtype.kind
    if kind in _KINDS:  # fast path, because this function is called for every classifier
        return {_KINDS[kind]}
    if kind != "O":
        return {str(labels.dtype)}
    types = set(map(type, labels.ravel().tolist()))
    return {
        "text" if issubclass(kind, str) else "numbers" if issubclass(kind, Real | np.bool_) else kind.__name__
        for kind in types
    }
