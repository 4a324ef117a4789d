"""Preprocessing with transformers fitted on the training set, and error messages about unusable values."""

import re
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_datetime64_any_dtype, is_timedelta64_dtype
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples

from pacbayes._utils.arrays import FloatArray
from pacbayes.data.dataset import Dataset
from pacbayes.data.encoder import TableEncoder
from pacbayes.data.rows import copy_rows, pick_rows, select_test_rows, to_csr, warn_if_batch_dependent

AUTO = "auto"


def check_preprocessor(preprocessor: Any, split: str) -> None:
    """Raise if `preprocessor` is not an unfitted transformer, or if the split is not shared.

    Examples
    --------
    >>> check_preprocessor("one-hot", "shared")
    Traceback (most recent call last):
    TypeError: preprocessor must be an unfitted scikit-learn transformer or None, got 'one-hot'
    """
    if preprocessor is None:
        return
    if isinstance(preprocessor, type) or not all(
        hasattr(preprocessor, name) for name in ("fit", "transform", "get_params")
    ):
        raise TypeError(f"preprocessor must be an unfitted scikit-learn transformer or None, got {preprocessor!r}")
    check_not_frozen("preprocessor", preprocessor)
    if split != "shared":
        raise ValueError(
            "preprocessor must be None with split='independent', where each classifier requires its own one; use "
            "grid_set(make_pipeline(preprocessor, SVMClassifier()), {'svmclassifier__lam': lambdas}, ...)"
        )


def resolve_preprocessor(preprocessor: Any, rows: Any) -> Any:
    """Resolve "auto" to a `TableEncoder`, or to None if no preprocessing is needed.

    "auto" depends only on the column types of a data frame, not on its values: no preprocessing is needed if all
    columns are NumPy integers or booleans, which have no missing values.

    Examples
    --------
    >>> import pandas as pd
    >>> resolve_preprocessor("auto", pd.DataFrame({"age": [31, 52]})) is None
    True
    >>> resolve_preprocessor("auto", pd.DataFrame({"age": [31], "blood": ["A"]}))
    TableEncoder()
    """
    if not isinstance(preprocessor, str):
        return preprocessor
    if preprocessor != AUTO:
        raise ValueError(f"preprocessor must be 'auto', None or a transformer, got {preprocessor!r}")
    if not isinstance(rows, pd.DataFrame):
        return None
    complete = all(isinstance(dtype, np.dtype) and dtype.kind in "biu" for dtype in rows.dtypes)
    return None if complete else TableEncoder()


def to_native_encoder(preprocessor: Any) -> Any:
    """Derive a preprocessor that keeps categories and missing values, for boosting; None if it is not the default.

    Examples
    --------
    >>> to_native_encoder(TableEncoder()), to_native_encoder("passthrough")
    (TableEncoder(native=True), None)
    """
    return clone(preprocessor).set_params(native=True) if isinstance(preprocessor, TableEncoder) else None


def check_not_frozen(name: str, estimator: Any) -> None:
    """Raise if an estimator has a frozen part, which may have been fitted on validation rows.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.preprocessing import StandardScaler
    >>> check_not_frozen("preprocessor", FrozenEstimator(StandardScaler().fit([[0.0]])))
    Traceback (most recent call last):
    ValueError: preprocessor must be unfitted, but contains FrozenEstimator(estimator=StandardScaler()). Apply
    a transformer that was fitted on other rows to X, or certify a prefit classifier with from_fitted
    """
    for part in _iter_params(estimator):
        if isinstance(part, FrozenEstimator):
            raise ValueError(
                f"{name} must be unfitted, but contains {part!r}. Apply a transformer that was fitted on other rows to "
                "X, or certify a prefit classifier with from_fitted"
            )


def _iter_params(value: Any) -> Iterator[Any]:
    """Yield an estimator and its nested parameters, including items of lists and dicts, and bound methods."""
    if isinstance(value, types.MethodType) and isinstance(value.__self__, BaseEstimator):
        yield FrozenEstimator(value.__self__)  # `clone` copies a bound method together with its fitted estimator
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _iter_params(part)
    elif isinstance(value, dict):
        yield from _iter_params(list(value.values()))
    else:
        yield value
        if hasattr(value, "get_params") and not isinstance(value, type):
            yield from _iter_params(list(value.get_params(deep=False).values()))


def fit_preprocessor(preprocessor: Any, training: Dataset) -> tuple[Any, FloatArray]:
    """Fit a clone of the transformer on the training rows; return the clone and the transformed rows.

    Warn if the output for a row depends on the rest of the batch.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> fitted, rows = fit_preprocessor(MinMaxScaler(), Dataset.from_arrays(np.array([[0.0], [2.0]]), np.array([0, 1])))
    >>> rows.ravel(), apply_preprocessor(fitted, np.array([[6.0]])).ravel()
    (array([0., 1.]), array([3.]))
    """
    fitted = clone(preprocessor)
    if isinstance(fitted, TableEncoder):
        # Target encodings of training rows are cross-fitted.
        rows = check_array(fitted.fit_transform(copy_rows(training.rows), training.labels), dtype=np.float64)
    else:
        rows = apply_preprocessor(fitted.fit(copy_rows(training.rows), training.labels), training.rows)
    sample = select_test_rows(training.labels)
    warn_if_batch_dependent([fitted], lambda i: pick_rows(training.rows, sample), "transform")
    return fitted, rows


def apply_preprocessor(fitted: Any, X: Any) -> FloatArray:
    """Transform rows to a dense array of finite numbers."""
    transformed: Any = fitted.transform(copy_rows(to_csr(X)))
    dense = transformed.toarray() if hasattr(transformed, "toarray") else transformed
    rows: FloatArray = check_array(dense, dtype=np.float64)
    if len(rows) != _num_samples(X):
        raise ValueError(f"preprocessor must keep every row, got {len(rows)} of {_num_samples(X)}")
    return rows


_IMPUTE = "Impute missing values with an imputer that is fitted on the training rows: "
#: Advice for `StochasticSVC` with a shared split.
IMPUTE_IN_PREPROCESSOR = f"{_IMPUTE}StochasticSVC(preprocessor=SimpleImputer())"
# Matches errors about missing values, but not those about missing columns.
_ABOUT_MISSING = re.compile(r"\b(NaN|nan|infinity|missing values?)\b")


def suggest_imputation(estimator: Any) -> str:
    """Suggest how to impute missing values for an estimator of `CertifiedClassifier`; None for a list of estimators.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> suggest_imputation(SVC()).partition(": ")[2]
    'CertifiedClassifier(make_pipeline(SimpleImputer(), SVC())), with svc__ before the names in a Grid'
    """
    if isinstance(estimator, Pipeline):
        return f"{_IMPUTE}SimpleImputer() as the first step of the pipeline"
    if estimator is None:
        return f"{_IMPUTE}make_pipeline(SimpleImputer(), ...) around each estimator of the list"
    name = type(estimator).__name__
    example = f"CertifiedClassifier(make_pipeline(SimpleImputer(), {name}()))"
    return f"{_IMPUTE}{example}, with {name.lower()}__ before the names in a Grid"


def check_finite(rows: FloatArray, X: Any, remedy: str) -> None:
    """Raise if numbers are not finite, with the position of the first such number and a remedy.

    Examples
    --------
    >>> check_finite(np.array([[1.0, np.nan]]), pd.DataFrame({"a": [1], "b": [None]}), "Impute it")
    Traceback (most recent call last):
    ValueError: X must hold finite numbers, got NaN in row 0, column 'b' (1 missing). Impute it.
    """
    # The sum is a fast test without a temporary array, as in scikit-learn.
    with np.errstate(over="ignore", invalid="ignore"):
        total = rows.sum()
    if np.isfinite(total) or np.isfinite(rows).all():
        return
    missing = np.isnan(rows)
    invalid = missing if missing.any() else ~np.isfinite(rows)
    row, column = (int(index) for index in np.argwhere(invalid)[0])
    where = f"row {row}, column {X.columns[column]!r}" if hasattr(X, "columns") else f"row {row}, column {column}"
    if missing.any():
        raise ValueError(f"X must hold finite numbers, got NaN in {where} ({int(missing.sum())} missing). {remedy}.")
    raise ValueError(
        f"X must hold finite numbers, got {rows[row, column]} in {where}. Replace infinities by finite numbers, or by "
        "NaN for missing values."
    )


@contextmanager
def add_remedy_to_errors(X: Any, remedy: str) -> Iterator[None]:
    """Add a remedy to errors about missing values if X contains any."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        # Search only the first line, because the others may contain column names.
        first, newline, rest = message.partition("\n")
        if remedy in message or not _ABOUT_MISSING.search(first) or not contains_missing(X):
            raise
        raise ValueError(f"{first.rstrip('.')}. {remedy}.{newline}{rest}") from error


def contains_missing(X: Any) -> bool:
    """Whether X contains NaN or None.

    Examples
    --------
    >>> contains_missing([["a", None]]), contains_missing(np.eye(2)), contains_missing(["a text"])
    (True, False, False)
    """
    values: Any = X
    if sp.issparse(X):
        values = values.data
    return bool(np.any(pd.isna(values if hasattr(values, "isna") else np.asarray(values, dtype=object))))


# Matches errors of NumPy and scikit-learn about rows that are not numeric.
_NOT_NUMERIC = re.compile(r"could not convert string to float|could not be promoted|datetime|Timestamp|Timedelta")


@contextmanager
def add_column_to_errors(X: Any, remedy: str) -> Iterator[None]:
    """Add the name of the first column of dates or strings, and a remedy, to errors about such columns."""
    try:
        yield
    except (TypeError, ValueError) as error:
        unusable = find_unusable_column(X) if _NOT_NUMERIC.search(str(error)) else None
        if unusable is None:
            raise
        column, value, is_text = unusable
        kind, advice = ("strings", remedy.format(column=column)) if is_text else ("dates or times", _CONVERT_DATES)
        raise ValueError(f"column {column!r} of X holds {kind} ({str(value)[:40]!r}). {advice}. ({error})") from error


_CONVERT_DATES = "Convert them to numbers, such as days since a reference date"
_ENCODER_EXAMPLE = (
    "make_column_transformer((OneHotEncoder(handle_unknown='ignore'), [{column!r}]), remainder='passthrough')"
)
#: Advice for `StochasticSVC` with a shared split, and for classifiers in general.
ENCODE = f"Encode them with StochasticSVC(preprocessor=...), such as {_ENCODER_EXAMPLE}"
ENCODE_PREPROCESSOR = f"Encode them with CertifiedClassifier(preprocessor=...), such as {_ENCODER_EXAMPLE}"
ENCODE_FIRST = f"Start the pipeline of the estimator with an encoder, such as {_ENCODER_EXAMPLE}"


def find_unusable_column(X: Any) -> tuple[Any, Any, bool] | None:
    """Find the first column of dates or strings; return its name, a value, and whether the value is a string.

    Examples
    --------
    >>> find_unusable_column(pd.DataFrame({"size": [1.0, 2.0], "colour": ["1", "red"]}))
    ('colour', 'red', True)
    >>> find_unusable_column([[1.0, "red"], [2.0, "blue"]])
    (1, 'red', True)
    """
    if sp.issparse(X):
        return None
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X, dtype=object))
    for name in table.columns:
        column = table[name]
        if is_datetime64_any_dtype(column) or is_timedelta64_dtype(column):
            return name, column.iloc[0], False
        if column.dtype.kind in "biuf":
            continue
        for value in column.tolist():
            if isinstance(value, str) and not _is_number(value):
                return name, value, True
            if hasattr(value, "isoformat"):
                return name, value, False
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
