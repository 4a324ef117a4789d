"""Preparing rows for support vector machines: a transformer fitted on training rows, then applied to all."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import _num_samples

from pacbayes.bounds.validation import FloatArray
from pacbayes.classifiers.samples import own
from pacbayes.classifiers.sparse_rows import csr_rows
from pacbayes.classifiers.splits import Rows


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
    if split != "shared":
        raise ValueError(
            "prepare must be None for split='independent', where each classifier needs its own; use "
            "grid_set(make_pipeline(prepare, SVMClassifier()), {'svmclassifier__lam': lambdas}, ...)"
        )


def fit_prepare(prepare: Any, X: Any, y: Any, train: Rows) -> tuple[Any, FloatArray]:
    """Return a copy of the transformer fitted on the training rows alone, and all rows as it prepares them.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> fitted, rows = fit_prepare(MinMaxScaler(), np.array([[0.0], [2.0], [6.0]]), np.zeros(3), np.array([0, 1]))
    >>> rows.ravel()
    array([0., 1., 3.])
    """
    fitted = clone(prepare).fit(own(_safe_indexing(X, train)), y[train])
    return fitted, apply_prepare(fitted, X)


def apply_prepare(fitted: Any, X: Any) -> FloatArray:
    """Return rows as a fitted transformer prepares them: a dense table of finite numbers."""
    made: Any = fitted.transform(own(csr_rows(X)))
    rows: FloatArray = check_array(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)
    if len(rows) != _num_samples(X):
        raise ValueError(f"prepare must keep every row, got {len(rows)} of {_num_samples(X)}")
    return rows
