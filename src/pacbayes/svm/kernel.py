"""Scaling, Gaussian and linear kernels, and kernlab's estimate of the kernel width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.checks import check_choice, check_number, require, require_array, require_choice
from pacbayes._utils.progress import COMPILING, progress
from pacbayes._utils.seeds import make_rng
from pacbayes._utils.threads import limit_to_one_core, parallel_for

KERNELS = ("rbf", "linear")
# Nystroem approximation of the rbf kernel; see landmarks.py.
NYSTROEM = "nystroem"
# Kernels of the SVM family.
SVM_KERNELS = (*KERNELS, NYSTROEM)
# Number of terms per compiled call, about 10 ms of work: interrupts are handled between calls.
_TERMS_PER_PART = 2**24
# With at least this many rows, kernel matrices for training use single precision; in double precision they take 2 GB.
SINGLE_PRECISION_FROM = 16_000
# Rows of such a matrix per part.
_ROWS_PER_BAND = 128
# Number of columns of a kernel matrix that are computed together, so that they stay in the cache.
_COLUMNS_PER_TILE = 256
# Values are clipped to this magnitude, so that no square, product or sum overflows.
MAX_ABS_VALUE = 1e100
#: Values of `scale`: standardise if it reduces the cross-validated error, or like R's kernlab.
AUTO_SCALE = "auto"
SCALES = (AUTO_SCALE, "kernlab")
# Quantiles of squared distances; kernlab's `ksvm` takes the mean of their reciprocals.
_QUANTILES = (0.9, 0.1)
_MAX_FLOAT = float(np.finfo(np.float64).max)
_MIN_WIDTH = float(np.finfo(np.float64).tiny)
#: Values of `gamma`; "widths" and "three widths" multiply the value of "sigest" by these factors.
WIDTHS, THREE_WIDTHS = "widths", "three widths"
GAMMAS = (WIDTHS, THREE_WIDTHS, "sigest", "scale", "auto")
WIDTH_FACTORS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
_WIDTH_FACTORS_BY_NAME = {WIDTHS: WIDTH_FACTORS, THREE_WIDTHS: WIDTH_FACTORS[1:4]}
Gamma: TypeAlias = float | str | tuple[float, ...]


@dataclass(frozen=True)
class Scaling:
    """Standardisation fitted on the training rows: subtract `shift` from the columns and divide by `width`."""

    shift: FloatArray
    width: FloatArray

    def __post_init__(self) -> None:
        require_array(self.shift, "Scaling.shift", "f", (None,))
        require_array(self.width, "Scaling.width", "f", self.shift.shape)
        require(bool((self.width > 0.0).all()), "Scaling.width", "must be positive")

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return a scaled copy of rows.

        Examples
        --------
        >>> Scaling(np.array([1.0]), np.array([2.0]))(np.array([[5.0], [-1e300]]))
        array([[ 2.e+00],
               [-5.e+99]])
        """
        rows = clip_rows(X)
        rows -= self.shift
        with np.errstate(over="ignore", under="ignore"):
            rows /= self.width
        return np.clip(rows, -MAX_ABS_VALUE, MAX_ABS_VALUE, out=rows)


def clip_rows(X: FloatArray) -> FloatArray:
    """Clip values to the range from `-LARGEST` to `MAX_ABS_VALUE`, as a copy.

    Examples
    --------
    >>> clip_rows(np.array([[1.0, -1e308]]))
    array([[ 1.e+000, -1.e+100]])
    """
    rows: FloatArray = np.clip(X, -MAX_ABS_VALUE, MAX_ABS_VALUE)
    return rows


def fit_scaling(rows: FloatArray, scale: bool | str) -> Scaling:
    """Fit the scaling of training rows: means and standard deviations (with m - 1).

    Constant columns are only shifted; with ``scale="kernlab"``, no column is scaled if one is constant.  Without
    scaling there is no shift either, since distances are computed from differences.

    Examples
    --------
    >>> fit_scaling(np.array([[1.0, 5.0], [3.0, 5.0]]), True).width.round(6)
    array([1.414214, 1.      ])
    >>> fit_scaling(np.array([[1.0, 5.0], [3.0, 5.0]]), "kernlab").width
    array([1., 1.])
    """
    rows = clip_rows(rows)
    constant = (rows == rows[0]).all(axis=0)
    if scale is False or (scale == "kernlab" and constant.any()):
        return Scaling(np.zeros(rows.shape[1]), np.ones(rows.shape[1]))
    with np.errstate(under="ignore"):
        deviation = rows.std(axis=0, ddof=1)
    return Scaling(rows.mean(axis=0), np.where(constant | (deviation == 0.0), 1.0, deviation))


def check_scale(scale: Any) -> bool | str:
    """Raise unless `scale` is True, False, "auto" or "kernlab"."""
    if isinstance(scale, bool | np.bool_):
        return bool(scale)
    if isinstance(scale, str) and scale in SCALES:
        return scale
    raise ValueError(f"scale must be True, False, 'auto' or 'kernlab', got {scale!r}")


def check_gamma(gamma: Any) -> Gamma:
    """Validate and convert `gamma`: one of `GAMMAS`, a positive number, or a sequence of different positive numbers.

    Examples
    --------
    >>> check_gamma("sigest"), check_gamma(1), check_gamma([0.1, 1])
    ('sigest', 1.0, (0.1, 1.0))
    """
    if isinstance(gamma, str):
        return check_choice("gamma", gamma, GAMMAS)
    if isinstance(gamma, list | tuple | np.ndarray):
        widths = tuple(_check_width(width) for width in gamma)
        if not widths or len(set(widths)) < len(widths):
            raise ValueError(f"gamma must be a non-empty sequence without duplicates, got {gamma!r}")
        return widths
    return _check_width(gamma)


def _check_width(gamma: Any) -> float:
    allowed = "'widths', 'three widths', 'sigest', 'scale', 'auto', a positive number or a list of positive numbers"
    width = check_number("gamma", gamma, allowed)
    if not 0.0 < width < np.inf:
        raise ValueError(f"gamma must be {allowed}, got {gamma!r}")
    return width


def count_widths(gamma: Gamma) -> int:
    """Count the widths that `gamma` requests.

    Examples
    --------
    >>> [count_widths(gamma) for gamma in ("widths", "three widths", (0.1, 1.0), 2.0)]
    [5, 3, 2, 1]
    """
    if isinstance(gamma, tuple):
        return len(gamma)
    return len(_WIDTH_FACTORS_BY_NAME.get(gamma, (1.0,))) if isinstance(gamma, str) else 1


@dataclass(frozen=True)
class Kernel:
    """Kernel function: Gaussian with parameter `gamma`, or linear with `gamma` None.

    The kernel value of two rows depends on these rows and `gamma` alone, to the last bit, and not on their order, on
    other rows, or on the method that computes it (see decisions.py).
    """

    name: str
    gamma: float | None

    def __post_init__(self) -> None:
        require_choice(self.name, "Kernel.name", KERNELS)
        if self.name == "linear":
            require(self.gamma is None, "Kernel.gamma", "must be None for linear")
        else:
            require(type(self.gamma) is float and 0.0 < self.gamma < math.inf, "Kernel.gamma", "must be positive")

    def between(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Kernel matrix of rows of A by rows of B.

        Examples
        --------
        >>> Kernel("rbf", 0.5).between(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(6)
        array([[1.      , 0.606531]])
        """
        return _pairwise(A, B, "products" if self.gamma is None else "gaussians", self.gamma)

    def gram(self, A: FloatArray) -> FloatArray:
        """Kernel matrix of the rows of A, symmetric to the last bit.

        Examples
        --------
        >>> Kernel("linear", None).gram(np.array([[1.0, 1.0], [2.0, 0.0]]))
        array([[2., 2.],
               [2., 4.]])
        """
        return _pairwise(A, None, "products" if self.gamma is None else "gaussians", self.gamma)

    def gram_in_single(self, A: FloatArray) -> NDArray[np.float32]:
        r"""`gram` rounded to single precision, for training with half the memory.

        LIBSVM uses single precision for any number of rows.  The relative error of the values is at most
        :math:`2^{-24}`, which
        increases the KKT violation of an SVM by at most :math:`2^{-23} \max|K| \sum_i |\beta_i|`.  Predictions, and the
        errors that are certified, use kernel values in double precision.

        Examples
        --------
        >>> Kernel("linear", None).gram_in_single(np.array([[1.0], [3.0]]))
        array([[1., 3.],
               [3., 9.]], dtype=float32)
        """
        values = np.empty((len(A), len(A)), dtype=np.float32)
        starts = range(0, len(A), _ROWS_PER_BAND)
        with progress("kernel matrix", len(starts)) as advance:

            def work(start: int) -> None:
                band = slice(start, start + _ROWS_PER_BAND)
                with limit_to_one_core(), np.errstate(under="ignore", over="ignore"):
                    values[band, : band.stop] = self.between(A[band], A[: band.stop])
                values[:start, band] = values[band, :start].T
                advance(1)

            parallel_for(work, starts)
        return values

    def gram_from_shared(
        self,
        shared: FloatArray,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Store in `out` the kernel matrix of selected rows and columns, computed from a `shared_matrix`."""
        values: NDArray[Any] = np.empty((rows.size, columns.size)) if out is None else out
        height = max(1, _TERMS_PER_PART // (16 * max(1, columns.size)))

        def work(top: int) -> None:
            part = slice(top, top + height)
            if self.gamma is None:
                values[part] = shared[np.ix_(rows[part], columns)]
                return
            arguments = (shared, rows[part], columns, self.gamma, values[part])
            if values.dtype == np.float32:
                load_compiled("gaussian_in_single")(*arguments, np.empty(columns.size), *_allocate_buffer(columns.size))
            else:
                load_compiled("gaussian_of_distances")(*arguments, *_allocate_buffer(columns.size))

        parallel_for(work, range(0, rows.size, height))
        return values


def shared_matrix(X: FloatArray, kernel: str) -> FloatArray:
    """Compute the matrix that kernels of all widths share: squared distances for rbf, inner products for linear.

    Examples
    --------
    >>> shared_matrix(np.array([[1.0], [3.0]]), "rbf")
    array([[0., 4.],
           [4., 0.]])
    """
    return _pairwise(X, None, "products" if kernel == "linear" else "distances", None)


def fit_kernels(rows: FloatArray, name: str, gamma: Gamma, rng: np.random.Generator) -> tuple[Kernel, ...]:
    """Create a kernel for each width in `gamma`, which may be estimated from scaled training rows.

    Examples
    --------
    >>> rows = np.array([[0.0], [2.0]])
    >>> [kernel.gamma for kernel in fit_kernels(rows, "rbf", "widths", np.random.default_rng(0))]
    [0.015625, 0.0625, 0.25, 1.0, 4.0]
    """
    if name == "linear":
        return (Kernel(name, None),)
    if isinstance(gamma, float):
        return (Kernel("rbf", gamma),)
    if isinstance(gamma, tuple):
        return tuple(Kernel("rbf", width) for width in gamma)
    if gamma == "sigest":
        return (Kernel("rbf", sigest(rows, random_state=rng)),)
    if gamma in ("scale", "auto"):  # as in `sklearn.svm.SVC`
        with np.errstate(over="ignore", under="ignore"):
            spread = float(rows.var()) if gamma == "scale" else 1.0
        width = 1.0 / (rows.shape[1] * spread) if 0.0 < spread < np.inf else 1.0
    else:
        # The kernel of equal rows is 1 for any width.
        width = 1.0 if bool((rows == rows[0]).all()) else sigest(rows, random_state=rng)
    factors = _WIDTH_FACTORS_BY_NAME.get(gamma, (1.0,))
    return tuple(Kernel("rbf", min(max(factor * width, _MIN_WIDTH), _MAX_FLOAT)) for factor in factors)


def _pairwise(A: FloatArray, B: FloatArray | None, kind: str, gamma: float | None) -> FloatArray:
    """Compute kernel values or squared distances between the rows of A and B, or of A with itself."""
    rows, columns = np.ascontiguousarray(A), np.ascontiguousarray((A if B is None else B).T)
    # Compiled code does not check bounds: validate the number of columns, which may come from a file.
    if rows.shape[1] != len(columns):
        raise ValueError(f"rows must have the same number of columns, got {rows.shape[1]} and {len(columns)}")
    values: FloatArray = np.empty((len(rows), columns.shape[1]))
    compiled = load_compiled("products_between" if kind == "products" else "distances_between")
    width = 0.0 if gamma is None else gamma

    def work(part: tuple[int, int, int]) -> None:
        start, top, bottom = part
        more = () if kind == "products" else (width, *_allocate_buffer(_COLUMNS_PER_TILE))
        compiled(rows, columns, values, np.empty(_COLUMNS_PER_TILE), start, top, bottom, *more)
        # Compute one triangle only: the matrix is symmetric to the last bit.
        for corner in range(top, min(bottom, start) if B is None else top, _COLUMNS_PER_TILE):
            block = slice(corner, corner + _COLUMNS_PER_TILE)
            values[start : start + _COLUMNS_PER_TILE, block] = values[block, start : start + _COLUMNS_PER_TILE].T

    parts = _tiles(values.shape, A.shape[1], _COLUMNS_PER_TILE, triangle=B is None)
    if B is not None:
        parallel_for(work, parts)
        return values
    with progress("kernel matrix", len(parts)) as advance:

        def counted(part: tuple[int, int, int]) -> None:
            work(part)
            advance(1)

        parallel_for(counted, parts)
    return values


def _tiles(shape: tuple[int, ...], n_columns: int, tile: int, triangle: bool) -> list[tuple[int, int, int]]:
    """Divide a matrix into tiles (first column, first row, stop row) of `tile` columns.

    Examples
    --------
    >>> _tiles((300, 300), 2, 256, triangle=True)
    [(0, 0, 256), (256, 0, 300)]
    >>> _tiles((600, 200), 10**6, 256, triangle=False)
    [(0, 0, 256), (0, 256, 512), (0, 512, 600)]
    """
    # An exponential takes about as long as the terms of 16 columns.
    height = max(1, _TERMS_PER_PART // (tile * tile * (n_columns + 16))) * tile
    parts = []
    for start in range(0, shape[1], tile):
        bottom = min(start + tile, shape[0]) if triangle else shape[0]
        parts += [(start, top, min(top + height, bottom)) for top in range(0, bottom, height)]
    return parts


@cache
def load_compiled(name: str) -> Any:
    """Load a compiled function of decisions.py, which imports numba."""
    from pacbayes.svm import decisions

    function = getattr(decisions, name)
    with progress(COMPILING, None):
        function.compile(decisions.SIGNATURES[name])
    return function


def _allocate_buffer(n: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Allocate n numbers, viewed as floats and as integers."""
    power = np.empty(n)
    return power, power.view(np.int64)


def sigest(X: ArrayLike, *, frac: float = 0.5, random_state: Any = None) -> float:
    r"""Estimate the parameter of the Gaussian kernel :math:`\exp(-\sigma |x - x'|^2)` as R's kernlab does.

    For :math:`\lfloor` `frac` :math:`\cdot m \rfloor` pairs of rows drawn with replacement, the squared distances
    other than zero have the quantiles :math:`q_{0.9}` and :math:`q_{0.1}`;

    .. math:: \sigma = \tfrac12 (1/q_{0.9} + 1/q_{0.1}),

    the value that kernlab's `ksvm` uses.  Unlike kernlab's `sigest`, this function does not standardise the columns.

    Parameters
    ----------
    X : array_like of shape (m, d)
        Training rows, standardised if the classifier will be trained on standardised rows.
    frac : float
        Pairs per row, positive.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Determines the pairs.  If the rows of all pairs are equal, other pairs are drawn.

    Returns
    -------
    float
        Positive and finite.

    See Also
    --------
    svm_set : SVMs with this width by default.
    svm_path : SVMs on a kernel matrix of this width.

    References
    ----------
    .. [1] B. Caputo, K. Sim, F. Furesjo and A. Smola, "Appearance-based object recognition using SVMs: which kernel
       should I use?", NIPS workshop on statistical methods for computational experiments in visual processing and
       computer vision, 2002.
    .. [2] A. Karatzoglou, A. Smola, K. Hornik and A. Zeileis, "kernlab: an S4 package for kernel methods in R", Journal
       of Statistical Software 11, 2004.

    Examples
    --------
    >>> from pacbayes import sigest
    >>> sigest([[0.0], [2.0]], random_state=0)
    0.25
    """
    rows = check_array(X, dtype=np.float64, ensure_min_samples=2)
    if not 0.0 < frac < np.inf:
        raise ValueError(f"frac must be positive, got {frac!r}")
    pairs = int(frac * len(rows))
    if pairs < 1:
        raise ValueError(f"frac must select at least one pair of rows, got frac={frac!r} for {len(rows)} rows")
    # The squared distances of different rows may underflow to zero.
    with np.errstate(over="ignore", under="ignore"):
        differ = np.square(rows - rows[0]).any()
    if not differ:
        raise ValueError(
            "X must contain different rows to estimate the kernel width: all are equal; set gamma to a number"
        )
    rng, sigma = make_rng(random_state), np.nan
    while np.isnan(sigma):  # all drawn pairs are equal, although some rows differ
        first, second = rng.integers(len(rows), size=(2, pairs))
        sigma = sigma_from_pairs(rows, first, second)
    if not 0.0 < sigma < np.inf:
        raise ValueError(
            f"X must contain rows at finite distances that are not too small, got a kernel width of {sigma}"
        )
    return sigma


def sigma_from_pairs(rows: FloatArray, first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Estimate the parameter from pairs of rows; NaN if all pairs have equal rows.

    Examples
    --------
    >>> sigma_from_pairs(np.array([[0.0], [2.0]]), np.array([0, 1]), np.array([1, 1]))
    0.25
    """
    with np.errstate(over="ignore", under="ignore"):
        distances = np.square(rows[first] - rows[second]).sum(axis=1)
    distances = distances[distances != 0.0]
    if distances.size == 0:
        return float("nan")
    # Linear interpolation is R's type 7; between two infinite distances it would give NaN.
    quantiles = np.quantile(np.minimum(distances, _MAX_FLOAT), _QUANTILES)
    with np.errstate(over="ignore", under="ignore"):
        return float(np.where(quantiles == _MAX_FLOAT, 0.0, 1.0 / quantiles).mean())
