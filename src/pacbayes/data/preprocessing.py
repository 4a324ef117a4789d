"""Preprocessing: a transformer fitted on training rows, then applied to each sample; errors about unusable values."""

import re
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype, is_timedelta64_dtype
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples

from pacbayes._utils.arrays import FloatArray
from pacbayes.data.columns import Columns, preparation
from pacbayes.data.labelled import Labelled
from pacbayes.data.rows import copy_rows, csr_rows, few_rows, pick_rows, warn_of_batches

AUTO = "auto"
# Boosting sorts values into 255 bins.
_MOST_CATEGORIES = 250


def check_prepare(prepare: Any, split: str) -> None:
    """Raise before any work if `prepare` is no transformer, or the split is not shared.

    Examples
    --------
    >>> check_prepare("one-hot", "shared")
    Traceback (most recent call last):
    TypeError: prepare must be an unfitted scikit-learn transformer or None, got 'one-hot'
    """
    if prepare is None:
        return
    if isinstance(prepare, type) or not all(hasattr(prepare, name) for name in ("fit", "transform", "get_params")):
        raise TypeError(f"prepare must be an unfitted scikit-learn transformer or None, got {prepare!r}")
    check_trained_here("prepare", prepare)
    if split != "shared":
        raise ValueError(
            "prepare must be None for split='independent', where each classifier needs its own; use "
            "grid_set(make_pipeline(prepare, SVMClassifier()), {'svmclassifier__lam': lambdas}, ...)"
        )


def resolve_prepare(prepare: Any, rows: Any) -> Any:
    """Return the transformer that `prepare` stands for; None where there is nothing to prepare.

    "auto" looks at the types of a data frame's columns, never at values: numbers that are not whole may have gaps, the
    others are categories.

    Examples
    --------
    >>> import pandas as pd
    >>> resolve_prepare("auto", pd.DataFrame({"age": [31, 52]})) is None
    True
    >>> [name for name, _, _ in resolve_prepare("auto", pd.DataFrame({"age": [31], "blood": ["A"]})).transformers]
    ['numbers', 'categories']
    """
    if not isinstance(prepare, str):
        return prepare
    if prepare != AUTO:
        raise ValueError(f"prepare must be 'auto', None or a transformer, got {prepare!r}")
    if not isinstance(rows, pd.DataFrame):
        return None
    # Whole numbers as names would be taken for places.
    named = all(isinstance(name, str) for name in rows.columns)
    names: list[Any] = list(rows.columns) if named else list(range(rows.shape[1]))
    kinds = dict(zip(names, rows.dtypes, strict=True))
    dated = [str(name) for name, kind in kinds.items() if kind.kind in "mM"]
    if dated:
        raise ValueError(
            f"column {dated[0]!r} of X holds dates or durations: make numbers of it (a month, days since a day), leave "
            "it out, or give prepare= a transformer"
        )
    numeric = [name for name, kind in kinds.items() if is_numeric_dtype(kind) or is_bool_dtype(kind)]
    others = tuple(name for name in names if name not in set(numeric))
    # What no number of it can be missing of.
    whole = all(isinstance(kinds[name], np.dtype) and kinds[name].kind in "biu" for name in numeric)
    return None if whole and not others else preparation(Columns(tuple(numeric), others, dict.fromkeys(numeric, 1)))


def with_categories(prepare: Any) -> tuple[Any, list[int]] | None:
    """Return what prepares rows for boosting, which takes gaps and categories as such, and which columns these are.

    None where `prepare` is not the usual transformer with categories, see `preparation`.  The categories that are
    rarest in the training rows are one, where there are more than boosting takes.

    Examples
    --------
    >>> import pandas as pd
    >>> with_categories(resolve_prepare("auto", pd.DataFrame({"age": [31], "blood": ["A"]})))[1]
    [1]
    """
    parts = {name: (part, columns) for name, part, columns in getattr(prepare, "transformers", ())}
    if "categories" not in parts or not set(parts) <= {"numbers", "categories"}:
        return None
    if not isinstance(parts["categories"][0], OneHotEncoder):
        return None
    numbers, categories = (list(parts[name][1]) if name in parts else [] for name in ("numbers", "categories"))
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=_MOST_CATEGORIES,
    )
    made = [("numbers", "passthrough", numbers)] if numbers else []
    places = list(range(len(numbers), len(numbers) + len(categories)))
    return ColumnTransformer([*made, ("categories", codes, categories)]), places


def check_trained_here(name: str, estimator: Any) -> None:
    """Raise for an estimator with a part that was fitted before and stays as it is: it may know validation rows.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.preprocessing import StandardScaler
    >>> check_trained_here("prepare", FrozenEstimator(StandardScaler().fit([[0.0]])))
    Traceback (most recent call last):
    ValueError: prepare must be trained here, on training rows alone, but holds
    FrozenEstimator(estimator=StandardScaler()). Give it unfitted; what
    was fitted on other rows can transform X beforehand, or be certified by from_fitted
    """
    for part in _parts_of(estimator):
        if isinstance(part, FrozenEstimator):
            raise ValueError(
                f"{name} must be trained here, on training rows alone, but holds {part!r}. Give it unfitted; what was "
                "fitted on other rows can transform X beforehand, or be certified by from_fitted"
            )


def _parts_of(value: Any) -> Iterator[Any]:
    """Yield an estimator, and all that stands in its parameters, in lists and dicts of these, or behind a method."""
    if isinstance(value, types.MethodType) and isinstance(value.__self__, BaseEstimator):
        yield FrozenEstimator(value.__self__)  # a clone takes the estimator along with its method, as it is
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _parts_of(part)
    elif isinstance(value, dict):
        yield from _parts_of(list(value.values()))
    else:
        yield value
        if hasattr(value, "get_params") and not isinstance(value, type):
            yield from _parts_of(list(value.get_params(deep=False).values()))


def fit_prepare(prepare: Any, training: Labelled) -> tuple[Any, FloatArray]:
    """Return a copy of the transformer fitted on the training rows alone, and these rows as it prepares them.

    Warn if what it makes of a row depends on the rows around it.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> fitted, rows = fit_prepare(MinMaxScaler(), Labelled.checked(np.array([[0.0], [2.0]]), np.array([0, 1])))
    >>> rows.ravel(), apply_prepare(fitted, np.array([[6.0]])).ravel()
    (array([0., 1.]), array([3.]))
    """
    fitted = clone(prepare).fit(copy_rows(training.rows), training.labels)
    rows = apply_prepare(fitted, training.rows)
    few = few_rows(training.labels)
    warn_of_batches([fitted], lambda i: pick_rows(training.rows, few), "transform")
    return fitted, rows


def apply_prepare(fitted: Any, X: Any) -> FloatArray:
    """Return rows as a fitted transformer prepares them: a dense table of finite numbers."""
    made: Any = fitted.transform(copy_rows(csr_rows(X)))
    rows: FloatArray = check_array(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)
    if len(rows) != _num_samples(X):
        raise ValueError(f"prepare must keep every row, got {len(rows)} of {_num_samples(X)}")
    return rows


_FILL = "Fill missing values in with what is fitted on training rows alone: "
#: For `StochasticSVC` with a shared split.
IN_PREPARE = f"{_FILL}StochasticSVC(prepare=SimpleImputer())"
# What errors say that are about missing values; columns that a table lacks are called missing too.
_ABOUT_GAPS = re.compile(r"\b(NaN|nan|infinity|missing values?)\b")


def in_pipeline(estimator: Any) -> str:
    """Return where an imputer goes for the estimator of a `CertifiedClassifier`; None for a list of them.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> in_pipeline(SVC()).partition(": ")[2]
    'CertifiedClassifier(make_pipeline(SimpleImputer(), SVC())), with svc__ before the names in a Grid'
    """
    if isinstance(estimator, Pipeline):
        return f"{_FILL}SimpleImputer() as the first step of the pipeline"
    if estimator is None:
        return f"{_FILL}make_pipeline(SimpleImputer(), ...) around each estimator of the list"
    name = type(estimator).__name__
    made = f"CertifiedClassifier(make_pipeline(SimpleImputer(), {name}()))"
    return f"{_FILL}{made}, with {name.lower()}__ before the names in a Grid"


def check_finite(rows: FloatArray, X: Any, remedy: str) -> None:
    """Raise if numbers made of X are not finite, naming the first of them and what to do.

    Examples
    --------
    >>> check_finite(np.array([[1.0, np.nan]]), pd.DataFrame({"a": [1], "b": [None]}), "Fill it in")
    Traceback (most recent call last):
    ValueError: X must hold finite numbers, got NaN in row 0, column 'b' (1 missing). Fill it in.
    """
    # One pass without a second table for what is almost always true.
    with np.errstate(over="ignore", invalid="ignore"):
        total = rows.sum()
    if np.isfinite(total) or np.isfinite(rows).all():
        return
    gaps = np.isnan(rows)
    bad = gaps if gaps.any() else ~np.isfinite(rows)
    row, column = (int(place) for place in np.argwhere(bad)[0])
    where = f"row {row}, column {X.columns[column]!r}" if hasattr(X, "columns") else f"row {row}, column {column}"
    if gaps.any():
        raise ValueError(f"X must hold finite numbers, got NaN in {where} ({int(gaps.sum())} missing). {remedy}.")
    raise ValueError(
        f"X must hold finite numbers, got {rows[row, column]} in {where}. Replace infinities by what they stand for, "
        "or by NaN for missing values."
    )


@contextmanager
def naming_remedy(X: Any, remedy: str) -> Iterator[None]:
    """Add to an error about missing values how to fill them in, if X has some."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        # The lines below the first may hold anything, such as names of columns.
        first, line, others = said.partition("\n")
        if remedy in said or not _ABOUT_GAPS.search(first) or not has_gaps(X):
            raise
        raise ValueError(f"{first.rstrip('.')}. {remedy}.{line}{others}") from error


def has_gaps(X: Any) -> bool:
    """Return whether rows of any kind hold NaN or None.

    Examples
    --------
    >>> has_gaps([["a", None]]), has_gaps(np.eye(2)), has_gaps(["a text"])
    (True, False, False)
    """
    values: Any = X
    if sp.issparse(X):
        values = values.data
    return bool(np.any(pd.isna(values if hasattr(values, "isna") else np.asarray(values, dtype=object))))


# What NumPy and scikit-learn say of rows that hold something else than numbers.
_NO_NUMBER = re.compile(r"could not convert string to float|could not be promoted|datetime|Timestamp|Timedelta")


@contextmanager
def naming_column(X: Any, remedy: str) -> Iterator[None]:
    """Name the first column of dates or text in an error about such, and add what to do: for text, the remedy."""
    try:
        yield
    except (TypeError, ValueError) as error:
        found = unusable_column(X) if _NO_NUMBER.search(str(error)) else None
        if found is None:
            raise
        column, value, is_text = found
        kind, way = ("text", remedy.format(column=column)) if is_text else ("dates or times", _DATES)
        raise ValueError(f"column {column!r} of X holds {kind} ({str(value)[:40]!r}). {way}. ({error})") from error


_DATES = "Turn them into numbers, such as days since a day you choose"
_ENCODER = "make_column_transformer((OneHotEncoder(handle_unknown='ignore'), [{column!r}]), remainder='passthrough')"
#: For `StochasticSVC` with a shared split, and for classifiers in general.
ENCODE = f"Give StochasticSVC(prepare=...) what makes numbers of it, such as {_ENCODER}"
ENCODE_PREPARE = f"Give CertifiedClassifier(prepare=...) what makes numbers of it, such as {_ENCODER}"
ENCODE_FIRST = f"Let the estimator be a pipeline that begins with what makes numbers of it, such as {_ENCODER}"


def unusable_column(X: Any) -> tuple[Any, Any, bool] | None:
    """Return the first column of dates or text, a value of it, and whether it is text; None if there is none.

    Examples
    --------
    >>> unusable_column(pd.DataFrame({"size": [1.0, 2.0], "colour": ["1", "red"]}))
    ('colour', 'red', True)
    >>> unusable_column([[1.0, "red"], [2.0, "blue"]])
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
