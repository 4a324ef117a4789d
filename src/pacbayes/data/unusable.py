"""Values that a classifier cannot compute with, gaps, dates and text: the error says where they are, and what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_datetime64_any_dtype, is_timedelta64_dtype
from sklearn.pipeline import Pipeline

from pacbayes._utils.arrays import FloatArray

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
