"""Rows by their values, in whatever container they come."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pacbayes.data.row_values import equal_rows


@pytest.mark.parametrize("container", [np.asarray, lambda X: X.astype(object), pd.DataFrame, sp.csr_array])
def test_equal_rows_are_equal_by_value(container):
    X = np.array([[1.0, -0.0], [1.0, 0.0], [np.nan, 2.0], [np.nan, 2.0], [0.0, 1.0]])
    assert equal_rows(container(X)).tolist() == [0, 0, 1, 1, 2]


def test_texts_are_equal_letter_by_letter():
    assert equal_rows(["1", "1.0", "1"]).tolist() == [0, 1, 0]
