"""Scaling fitted on training rows, and the kernels rbf and linear between rows."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.bounds.validation import FloatArray, check_choice
from pacbayes.classifiers.compiled import compile_notice
from pacbayes.classifiers.sigest import sigest

KERNELS = ("rbf", "linear")


@dataclass(frozen=True)
class Scaling:
    """Subtract `shift` from the columns and divide by `width`, both from the training rows alone."""

    shift: FloatArray
    width: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the scaled rows in new memory."""
        rows: FloatArray = X - self.shift
        rows /= self.width
        return rows


def fit_scaling(rows: FloatArray, scale: bool | str, kernel: str) -> Scaling:
    """Return the scaling of training rows: means and standard deviations (with m - 1).

    A constant column is shifted only; with ``scale="kernlab"`` one constant column makes all of them be left unscaled.
    Without scaling the rows are still centred for rbf, whose distances do not see it but keep more digits.

    Examples
    --------
    >>> fit_scaling(np.array([[1.0, 5.0], [3.0, 5.0]]), True, "rbf").width.round(6)
    array([1.414214, 1.      ])
    >>> fit_scaling(np.array([[1.0, 5.0], [3.0, 5.0]]), "kernlab", "rbf").width
    array([1., 1.])
    """
    mean, ones = rows.mean(axis=0), np.ones(rows.shape[1])
    constant = (rows == rows[0]).all(axis=0)
    if scale is False or (scale == "kernlab" and constant.any()):
        return Scaling(mean if kernel == "rbf" else np.zeros_like(mean), ones)
    deviation = rows.std(axis=0, ddof=1)
    return Scaling(mean, np.where(constant | (deviation == 0.0), 1.0, deviation))


def check_scale(scale: Any) -> bool | str:
    """Return `scale`, or raise if it is not True, False or "kernlab"."""
    if isinstance(scale, bool | np.bool_):
        return bool(scale)
    if scale == "kernlab":
        return "kernlab"
    raise ValueError(f"scale must be True, False or 'kernlab', got {scale!r}")


def check_gamma(gamma: Any) -> float | str:
    """Return `gamma`, or raise if it is neither "sigest" nor a positive number."""
    if isinstance(gamma, str):
        return check_choice("gamma", gamma, ("sigest",))
    if isinstance(gamma, bool) or not isinstance(gamma, int | float | np.integer | np.floating):
        raise TypeError(f"gamma must be 'sigest' or a positive number, got {gamma!r}")
    if not 0.0 < gamma < np.inf:
        raise ValueError(f"gamma must be 'sigest' or a positive number, got {gamma!r}")
    return float(gamma)


@dataclass(frozen=True)
class Kernel:
    """A kernel with its width; `gamma` is None for the linear one."""

    name: str
    gamma: float | None

    def between(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return the kernel values of rows of A (down) and rows of B (across).

        Examples
        --------
        >>> Kernel("rbf", 0.5).between(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(6)
        array([[1.      , 0.606531]])
        """
        values: FloatArray = A @ B.T
        if self.gamma is not None:
            _gaussian(values, np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B), self.gamma)
        return values

    def gram(self, A: FloatArray) -> FloatArray:
        """Return the kernel values of rows of A with each other: symmetric to the last bit.

        Examples
        --------
        >>> Kernel("linear", None).gram(np.array([[1.0, 1.0], [2.0, 0.0]]))
        array([[2., 2.],
               [2., 4.]])
        """
        values: FloatArray = A @ A.T
        if self.gamma is not None:
            squares = values.diagonal().copy()
            _gaussian(values, squares, squares, self.gamma)
        return values

    def of_shared(self, shared: FloatArray, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> FloatArray:
        """Return the kernel values of some rows and columns of what `shared_matrix` computed for all."""
        if self.gamma is None:
            return shared[np.ix_(rows, columns)]
        gaussian = _compiled_gaussian()
        values = np.empty((rows.size, columns.size))
        gaussian.gaussian_of_distances(shared, rows, columns, self.gamma, values, *gaussian.buffer(columns.size))
        return values


def shared_matrix(X: FloatArray, kernel: str) -> FloatArray:
    """Return what kernels of every width share: squared distances for rbf, inner products for linear.

    Examples
    --------
    >>> shared_matrix(np.array([[1.0], [3.0]]), "rbf")
    array([[0., 4.],
           [4., 0.]])
    """
    rows = X - X.mean(axis=0) if kernel == "rbf" else X
    values: FloatArray = rows @ rows.T
    if kernel == "rbf":
        squares = values.diagonal().copy()
        values *= -2.0
        values += squares[:, None]
        values += squares
        np.maximum(values, 0.0, out=values)
        # Rounding left the diagonal and the pairs apart by a unit or two.
        np.fill_diagonal(values, 0.0)
    return values


def fit_kernel(rows: FloatArray, name: str, gamma: float | str, rng: np.random.Generator) -> Kernel:
    """Return the kernel for (scaled) training rows; the width is estimated from them if `gamma` says so."""
    if name == "linear":
        return Kernel(name, None)
    return Kernel(name, sigest(rows, random_state=rng) if isinstance(gamma, str) else gamma)


def _gaussian(products: FloatArray, squares: FloatArray, other_squares: FloatArray, gamma: float) -> None:
    gaussian = _compiled_gaussian()
    gaussian.gaussian_of_products(products, squares, other_squares, gamma, *gaussian.buffer(products.shape[1]))


@cache
def _compiled_gaussian() -> Any:
    """Return the compiled module; numba is imported here, when first needed."""
    from pacbayes.classifiers import gaussian

    with compile_notice(gaussian.gaussian_of_products, gaussian.gaussian_of_distances):
        gaussian.compile_all()
    return gaussian
