"""Sparse rows in the one format in which rows can be picked."""

from typing import Any

import scipy.sparse as sp


def csr_rows(X: Any) -> Any:
    """Return sparse rows of any format as compressed sparse rows; anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> csr_rows(sp.dia_array(np.eye(3))).format, csr_rows([[1.0]])
    ('csr', [[1.0]])
    """
    if not sp.issparse(X):
        return X
    rows: Any = X
    if rows.ndim != 2:
        raise ValueError(f"X must have rows and columns, got a sparse array of shape {rows.shape}")
    return rows.tocsr()
