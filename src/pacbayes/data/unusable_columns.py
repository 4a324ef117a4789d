"""Columns that a classifier cannot compute with, dates and text: the error names them, and what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_datetime64_any_dtype, is_timedelta64_dtype

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
