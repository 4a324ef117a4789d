"""Products with a tall matrix, on all cores, with the same bits for any number of them.

A sum's bits depend on how its terms are divided.  Here rows are divided into blocks by the shape of the matrix alone,
each block is one call of linear algebra in one thread, and what the blocks give is added in their order.
"""

import numpy as np

from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.runtime.threads import on_cores

# Numbers in a block: a few milliseconds of work.
_BLOCK = 2**20
#: Square matrices that exist at once.
GRAM_BLOCKS = 32


class RowProducts:
    """A matrix with a row for each example, to be multiplied many times; linear algebra must be limited to one thread.

    Examples
    --------
    >>> products = RowProducts(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> products.times(np.array([1.0, 1.0])), products.transposed_times(np.array([1.0, 1.0]))
    (array([3., 7.]), array([4., 6.]))
    """

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix
        self._height = max(1, _BLOCK // max(1, matrix.shape[1]))
        self._blocks = _slices(len(matrix), self._height)

    def times(self, vector: FloatArray) -> FloatArray:
        """Return the products of all rows and a vector."""
        products = np.empty(len(self.matrix))

        def work(block: slice) -> None:
            np.matmul(self.matrix[block], vector, out=products[block])

        on_cores(work, self._blocks)
        return products

    def transposed_times(self, vector: FloatArray) -> FloatArray:
        """Return the sum of all rows, each times its entry of a vector."""
        parts = np.empty((len(self._blocks), self.matrix.shape[1]))

        def work(place: int) -> None:
            block = self._blocks[place]
            np.matmul(vector[block], self.matrix[block], out=parts[place])

        on_cores(work, range(len(self._blocks)))
        return _sum_in_order(parts)

    def gram(self, which: Rows) -> FloatArray:
        """Return the sum over some rows of their outer products, each with a one behind its last number."""
        width = self.matrix.shape[1]
        # Small blocks: near the end of a search there are few rows.  Not too many: each has a matrix of its own.
        blocks = _slices(which.size, max(width, self._height // 4, -(-which.size // GRAM_BLOCKS)))
        parts = np.empty((len(blocks), width + 1, width + 1))

        def work(place: int) -> None:
            block = blocks[place]
            rows = np.empty((block.stop - block.start, width + 1))
            rows[:, :width] = self.matrix[which[block]]
            rows[:, width] = 1.0
            np.matmul(rows.T, rows, out=parts[place])

        on_cores(work, range(len(blocks)))
        return _sum_in_order(parts)


def _slices(n: int, height: int) -> list[slice]:
    return [slice(start, min(start + height, n)) for start in range(0, n, height)]


def _sum_in_order(parts: FloatArray) -> FloatArray:
    """Add arrays one after the other; zero where there are none."""
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total
