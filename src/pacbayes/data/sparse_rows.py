"""Rows in a form in which some of them can be picked; sparse ones in the one format that allows it."""

from typing import Any

import numpy as np
import scipy.sparse as sp

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
