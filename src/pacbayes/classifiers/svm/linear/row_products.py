"""Products with a tall matrix, on all cores, with the same bits for any number of them.

A sum's bits depend on how its terms are divided.  Here rows are divided into blocks by the shape of the matrix alone,
each block is one call of linear algebra in one thread, and what the blocks give is added in their order.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from pacbayes.numeric.arrays import FloatArray, Rows

# Numbers in a block: a few milliseconds of work.
_BLOCK = 2**20

Part = TypeVar("Part")
Result = TypeVar("Result")


class RowProducts:
    """A matrix with a row for each example, and workers to multiply it.

    Examples
    --------
    >>> with row_products(np.array([[1.0, 2.0], [3.0, 4.0]]), jobs=2) as products:
    ...     products.times(np.array([1.0, 1.0])), products.transposed_times(np.array([1.0, 1.0]))
    (array([3., 7.]), array([4., 6.]))
    """

    def __init__(self, matrix: FloatArray, together: Callable[..., Iterator[Any]]) -> None:
        self.matrix = matrix
        self._together = together
        height = max(1, _BLOCK // max(1, matrix.shape[1]))
        self._blocks = _slices(len(matrix), height)
        self._height = height

    def times(self, vector: FloatArray) -> FloatArray:
        """Return the products of all rows and a vector."""
        products = np.empty(len(self.matrix))

        def work(block: slice) -> None:
            np.matmul(self.matrix[block], vector, out=products[block])

        list(self._together(work, self._blocks))
        return products

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        """Return the sum of all rows, each times its entry of a vector."""
        return _sum(self._together(lambda block: vector[block] @ self.matrix[block], self._blocks))

    def gram(self, which: Rows) -> FloatArray:
        """Return the sum over some rows of their outer products, each with a one behind its last number."""
        width = self.matrix.shape[1]

        def work(block: slice) -> FloatArray:
            rows = np.empty((block.stop - block.start, width + 1))
            np.take(self.matrix, which[block], axis=0, out=rows[:, :width], mode="clip")
            rows[:, width] = 1.0
            product: FloatArray = rows.T @ rows
            return product

        # Small blocks: near the end of a search there are few rows.
        parts = _slices(which.size, max(1, self._height // 4))
        return _sum(self._together(work, parts)) if parts else np.zeros((width + 1, width + 1))


@contextmanager
def row_products(matrix: FloatArray, jobs: int) -> Iterator[RowProducts]:
    """Yield the products of a matrix by so many threads, whose linear algebra must be limited to one each."""
    if jobs == 1:
        yield RowProducts(matrix, map)
        return
    with ThreadPoolExecutor(jobs) as workers:
        yield RowProducts(matrix, workers.map)


def _slices(n: int, height: int) -> list[slice]:
    return [slice(start, min(start + height, n)) for start in range(0, n, height)]


def _sum(parts: Iterator[FloatArray]) -> FloatArray:
    """Add arrays in their order."""
    total = next(parts)
    for part in parts:
        total += part
    return total
