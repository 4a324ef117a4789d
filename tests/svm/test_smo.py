"""Weighted sums of rows against NumPy's product."""

import numpy as np
import pytest

from pacbayes.svm.smo import add_rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("rows", "columns"), [(0, 5), (1, 1), (3, 1023), (4, 1024), (9, 2500)])
def test_sums(dtype, rows, columns):
    rng = np.random.default_rng(rows)
    matrix = rng.normal(size=(20, 2600)).astype(dtype)
    which, coefs, out = rng.permutation(20)[:rows], rng.normal(size=rows), rng.normal(size=columns)
    expected = out + coefs @ matrix[which, :columns].astype(np.float64)
    add_rows(matrix, which, coefs, out)
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)
