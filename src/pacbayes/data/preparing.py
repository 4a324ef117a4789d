"""Preparing rows for support vector machines: a transformer fitted on training rows, then applied to each sample."""

import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples

from pacbayes._utils.arrays import FloatArray
from pacbayes.data.columns import Columns, preparation
from pacbayes.data.labelled import Labelled
from pacbayes.data.rows import copy_rows, csr_rows, pick_rows
from pacbayes.data.rows_alone import few_rows, warn_of_batches

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
