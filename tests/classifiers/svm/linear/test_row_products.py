"""Products in blocks."""

import numpy as np
import pytest

from pacbayes.classifiers.svm.linear.row_products import RowProducts
from pacbayes.runtime import threads


@pytest.fixture(params=[1, 4], ids=["one core", "four cores"], autouse=True)
def some_cores(request, monkeypatch):
    monkeypatch.setattr(threads, "_cores_of_process", lambda: request.param)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40_000, 60), (3, 2_000_000)])
def test_products_are_those_of_the_whole_matrix(shape):
    rng = np.random.default_rng(0)
    matrix, down, across = rng.normal(size=shape), rng.normal(size=shape[0]), rng.normal(size=shape[1])
    products = RowProducts(matrix)
    np.testing.assert_allclose(products.times(across), matrix @ across, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(products.transposed_times(down), down @ matrix, rtol=1e-9, atol=1e-9)


def test_outer_products_of_some_rows():
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(30_000, 40))
    products = RowProducts(matrix)
    for which in (np.arange(0), np.array([7]), np.flatnonzero(rng.random(30_000) < 0.7)):
        rows = np.column_stack([matrix[which], np.ones(which.size)])
        np.testing.assert_allclose(products.gram(which), rows.T @ rows, atol=1e-8)
