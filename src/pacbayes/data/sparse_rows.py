"""Rows in a form in which some of them can be picked, and the picking; sparse ones in the one format that allows it."""

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from pacbayes.numeric.arrays import Rows
from pacbayes.numeric.checks import check_not_masked


def csr_rows(X: Any) -> Any:
    """Return sparse rows of any format as compressed sparse rows; anything else as it is.

    Examples
    --------
    >>> csr_rows(sp.dia_array(np.eye(3))).format, csr_rows([[1.0]])
    ('csr', [[1.0]])
    """
    check_not_masked("X", X)
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
    rows = csr_rows(X)
    lone = hasattr(rows, "__array__") and not hasattr(rows, "__len__") and not sp.issparse(rows)
    return np.asarray(rows) if lone else rows


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
