"""Input validation of `fit` and `predict`."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pacbayes._utils.arrays import BoolArray, Rows
from pacbayes._utils.checks import check_not_masked, convert_long_labels
from pacbayes.data.dataset import (
    Dataset,
    check_label_types,
    check_no_missing_labels,
    check_rows,
    check_same_order,
    to_numpy_labels,
)
from pacbayes.data.preprocessing import add_column_to_errors, check_finite
from pacbayes.data.rows import check_table, check_values, count_rows, pick_rows, to_indexable, to_numpy_columns
from pacbayes.data.schema import CATEGORY, Schema, to_data_frame

# Key in `DataFrame.attrs` of the schema of the file that the frame was read from.
_SOURCE = "pacbayes.source"


class Advice(NamedTuple):
    """Advice on missing values and on strings for error messages."""

    fill: str
    encode: str


class FitInput(NamedTuple):
    """Arguments of `fit`; `validation` is a mask of the validation rows, or None for a random split."""

    X: Any
    y: Any
    groups: Any
    slices: Any
    validation: BoolArray | None


def fit_input(
    X: Any, y: Any, groups: Any, slices: Any, validation: Any, validation_set: tuple[Any, Any, Any, Any]
) -> FitInput:
    """Concatenate the rows of `fit` with those of a separate validation set (X, y, groups, slices), if any.

    Examples
    --------
    >>> rows = fit_input([[1], [2]], ["a", "b"], None, None, None, ([[3]], ["b"], None, None))
    >>> rows.X, rows.validation
    ([[1], [2], [3]], array([False, False,  True]))
    >>> fit_input([[1], [2]], ["a", "b"], None, None, [0, 1], (None, None, None, None))
    Traceback (most recent call last):
    TypeError: validation must be a boolean mask of 2 rows, got dtype int64
    """
    X_val, y_val, groups_val, slices_val = validation_set
    X, X_val = to_numpy_columns(X), to_numpy_columns(X_val)
    arguments = {"X": X, "y": y, "groups": groups, "slices": slices, "validation": validation}
    arguments |= {"X_val": X_val, "y_val": y_val, "groups_val": groups_val, "slices_val": slices_val}
    for name, values in arguments.items():
        check_not_masked(name, values)
    check_same_order(X=X, y=y, groups=groups, slices=slices, validation=validation)
    check_same_order(X_val=X_val, y_val=y_val, groups_val=groups_val, slices_val=slices_val)
    if X_val is None:
        if not (y_val is None and groups_val is None and slices_val is None):
            raise ValueError("y_val, groups_val and slices_val require X_val")
        mask = None if validation is None else _check_mask(validation, _length(y))
        return FitInput(X, y, groups, slices, mask)
    if y_val is None:
        raise ValueError("X_val requires y_val")
    if validation is not None:
        raise ValueError("validation and X_val are mutually exclusive")
    n_train, n_val = _length(y), _length(y_val)
    for name, rows, n_labels in (("", X, n_train), ("_val", X_val, n_val)):
        n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        if n_rows != n_labels:
            raise ValueError(f"X{name} and y{name} must have the same length, got {n_rows} and {n_labels}")
    mask = np.repeat([False, True], [n_train, n_val])
    pairs = {"y": (y, y_val), "groups": (groups, groups_val), "slices": (slices, slices_val)}
    columns = {name: _concatenate_column(name, *pair, (n_train, n_val)) for name, pair in pairs.items()}
    return FitInput(_concatenate_rows(X, X_val), columns["y"], columns["groups"], columns["slices"], mask)


def make_dataset(estimator: Any, rows: FitInput, numeric: bool, advice: Advice) -> Dataset:
    """Validate X and y and set ``n_features_in_`` and ``feature_names_in_``; convert `numeric` rows to numbers."""
    X, y = rows.X, to_numpy_labels(check_no_missing_labels(convert_long_labels(rows.y)))
    if numeric:
        X, y = _convert_to_numbers(estimator, X, advice, y=y, ensure_min_samples=2)
        check_classification_targets(y)
    else:
        X = to_indexable(X)
        validate_data(estimator, X, y, skip_check_array=True)
        X, y = check_rows(X, y)
        if y.size < 2:
            raise ValueError("X must contain at least two rows, got 1 sample")
        check_values(X)
    return Dataset.from_arrays(X, y, rows.groups, rows.slices)


def validate_new_rows(estimator: Any, X: Any, numeric: bool, advice: Advice) -> Any:
    """Validate the X of `predict`; convert `numeric` rows to numbers."""
    if numeric:
        return _convert_to_numbers(estimator, X, advice, reset=False)
    rows = to_indexable(X)
    if count_rows(rows) == 0:
        raise ValueError("X must contain at least one row, got 0")
    if hasattr(estimator, "n_features_in_") and np.ndim(rows) == 1:
        raise ValueError(f"X must have {estimator.n_features_in_} columns, got a 1D array. Reshape your data.")
    validate_data(estimator, rows, reset=False, skip_check_array=True)
    return rows


def _convert_to_numbers(estimator: Any, X: Any, advice: Advice, **options: Any) -> Any:
    X = to_numpy_columns(X)
    check_table(X)
    with add_column_to_errors(X, advice.encode):
        result = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, **options)
    check_finite(result[0] if "y" in options else result, X, advice.fill)
    return result


def attach_schema(X: pd.DataFrame, source: Schema) -> pd.DataFrame:
    """Attach the schema of a file to its data frame; models fitted on it then read new files in the same way."""
    X.attrs[_SOURCE] = source
    return X


def infer_schema(X: Any, rows: Any, train: Rows | None) -> Schema | None:
    """Infer the schema of the non-numeric columns from the training rows; None if the rows are not a table."""
    if sp.issparse(rows) or (isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind in "biuf"):
        return Schema()
    source = getattr(X, "attrs", {}).get(_SOURCE, Schema())
    categorical = source.kinds(CATEGORY)
    try:
        frame = to_data_frame(rows if train is None else pick_rows(rows, train))
        schema = Schema.infer(frame, categorical=categorical, missing=source.missing, numbers=source.numbers)
    except (TypeError, ValueError):
        return None
    return schema.other_columns


def _length(y: Any) -> int:
    return int(y.shape[0]) if hasattr(y, "shape") else len(y)


def _check_mask(validation: Any, n_rows: int) -> BoolArray:
    mask: NDArray[Any] = np.asarray(validation)
    if mask.dtype == object and all(isinstance(value, bool | np.bool_) for value in mask.ravel().tolist()):
        mask = mask.astype(bool)
    if mask.dtype != bool:
        raise TypeError(f"validation must be a boolean mask of {n_rows} rows, got dtype {mask.dtype}")
    if mask.shape != (n_rows,):
        raise ValueError(f"validation must be a boolean mask of {n_rows} rows, got shape {mask.shape}")
    return mask


def _concatenate_column(name: str, train: Any, val: Any, sizes: tuple[int, int]) -> Any:
    """Concatenate labels, groups or slices; numbers are not converted to strings."""
    if train is None and val is None:
        return None
    if train is None or val is None:
        raise ValueError(f"{name} and {name}_val must be set together")
    if isinstance(train, pd.DataFrame) and isinstance(val, pd.DataFrame) and train.columns.equals(val.columns):
        # Slices of several columns.
        pairs = {column: (train[column], val[column]) for column in train.columns}
        return pd.DataFrame({column: _concatenate_column(name, *pair, sizes) for column, pair in pairs.items()})
    train_values, val_values = np.asarray(train), np.asarray(val)
    for column, values, size in ((name, train_values, sizes[0]), (f"{name}_val", val_values, sizes[1])):
        if values.shape != (size,):
            raise ValueError(f"{column} must have one entry per row, shape ({size},), got shape {values.shape}")
    check_label_types(f"{name}_val", val_values, train_values, name)
    # Dtypes differ if one side is categorical or has missing values: use the dtype object.
    same = train_values.dtype.kind == val_values.dtype.kind
    values = (
        np.concatenate([train_values, val_values]) if same else np.array([*train_values, *val_values], dtype=object)
    )
    return pd.Series(values, name=getattr(train, "name", None)) if name == "slices" else values


def _concatenate_rows(X: Any, X_val: Any) -> Any:
    """Concatenate training and validation rows, in this order."""
    if sp.issparse(X) and sp.issparse(X_val):
        parts: list[Any] = [X, X_val]
        return sp.vstack(parts, format="csr")
    if isinstance(X, pd.DataFrame) and isinstance(X_val, pd.DataFrame):
        return _concatenate_frames(X, X_val)
    if isinstance(X, list | tuple) and isinstance(X_val, list | tuple):
        return [*X, *X_val]
    if type(X) is not type(X_val) or not isinstance(X, np.ndarray):
        types = f"{type(X).__name__} and {type(X_val).__name__}"
        raise TypeError(f"X and X_val must both be arrays, sparse matrices, data frames or lists, got {types}")
    if X.shape[1:] != X_val.shape[1:]:
        raise ValueError(f"X and X_val must have the same columns, got shapes {X.shape} and {X_val.shape}")
    numeric = [rows.dtype.kind in "biuf" for rows in (X, X_val)]
    if numeric[0] != numeric[1]:
        raise TypeError(f"X and X_val must have the same dtype, got {X.dtype} and {X_val.dtype}")
    return np.concatenate([X, X_val])


def _concatenate_frames(X: pd.DataFrame, X_val: pd.DataFrame) -> pd.DataFrame:
    if list(X.columns) != list(X_val.columns):
        differing = sorted(set(map(str, X.columns)) ^ set(map(str, X_val.columns)))
        detail = f"but only one has {', '.join(differing[:5])}" if differing else "but their order differs"
        raise ValueError(f"X and X_val must have the same columns, {detail}")
    for i, name in enumerate(X.columns):
        dtype, val_dtype = X.dtypes.iloc[i], X_val.dtypes.iloc[i]
        numeric = all(map(pd.api.types.is_numeric_dtype, (dtype, val_dtype)))
        # pandas concatenates numbers and booleans to objects.
        numeric = numeric and pd.api.types.is_bool_dtype(dtype) == pd.api.types.is_bool_dtype(val_dtype)
        if dtype != val_dtype and not numeric:
            # Strings next to numbers, or different categories, would change the dtype of the training rows.
            raise TypeError(
                f"X and X_val must have columns of the same types, got {dtype} and {val_dtype} for {name!r}"
            )
    return pd.concat([X, X_val], ignore_index=True)
