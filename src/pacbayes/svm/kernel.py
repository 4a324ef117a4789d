"""Scaling fitted on training rows, the kernels rbf and linear between rows, and the width of R's kernlab."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.checks import check_choice, check_number, need, need_array, need_choice
from pacbayes._utils.progress import compile_notice, progress
from pacbayes._utils.seeds import generator
from pacbayes._utils.threads import one_core, parallel_for

KERNELS = ("rbf", "linear")
# An approximation of rbf by few rows; see landmarks.py.
NYSTROEM = "nystroem"
# What machines may be asked to use.
SVM_KERNELS = (*KERNELS, NYSTROEM)
# Terms of sums in one part of the work, after which an interrupt is heard: about a hundredth of a second.
_TERMS_PER_PART = 2**24
# Rows from which kernel matrices for training are kept in single precision: they would take two gigabytes in double.
SINGLE_FROM = 16_000
# Rows of such a matrix computed at a time.
_BAND = 128
# Numbers beyond this size count as this size: no square, product or sum of them overflows.
LARGEST = 1e100
#: Words for scaling: whether to standardise is decided on the training rows, or as R's kernlab does.
AUTO_SCALE = "auto"
SCALES = (AUTO_SCALE, "kernlab")
# Few distances, middle and many: kernlab's `ksvm` takes the mean of the first and the last reciprocal.
_QUANTILES = (0.9, 0.1)
_FARTHEST = float(np.finfo(np.float64).max)
_LEAST_WIDTH = float(np.finfo(np.float64).tiny)
#: Words for widths of the Gaussian kernel; "widths" are those of "sigest" times these factors.
WIDTHS, THREE_WIDTHS = "widths", "three widths"
GAMMAS = (WIDTHS, THREE_WIDTHS, "sigest", "scale", "auto")
FACTORS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
#: By word, the factors of `sigest` that it stands for.
_FACTORS = {WIDTHS: FACTORS, THREE_WIDTHS: FACTORS[1:4]}
Gamma: TypeAlias = float | str | tuple[float, ...]


@dataclass(frozen=True)
class Scaling:
    """Subtract `shift` from the columns and divide by `width`, both from the training rows alone.

    What becomes of a row depends on that row only.
    """

    shift: FloatArray
    width: FloatArray

    def __post_init__(self) -> None:
        need_array(self.shift, "Scaling.shift", "f", (None,))
        need_array(self.width, "Scaling.width", "f", self.shift.shape)
        need(bool((self.width > 0.0).all()), "Scaling.width", "must be positive")

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the scaled rows in new memory.

        Examples
        --------
        >>> Scaling(np.array([1.0]), np.array([2.0]))(np.array([[5.0], [-1e300]]))
        array([[ 2.e+00],
               [-5.e+99]])
        """
        rows = within_range(X)
        rows -= self.shift
        with np.errstate(over="ignore", under="ignore"):
            rows /= self.width
        return np.clip(rows, -LARGEST, LARGEST, out=rows)


def within_range(X: FloatArray) -> FloatArray:
    """Return the rows in new memory, with numbers larger than `LARGEST` as that.

    Examples
    --------
    >>> within_range(np.array([[1.0, -1e308]]))
    array([[ 1.e+000, -1.e+100]])
    """
    rows: FloatArray = np.clip(X, -LARGEST, LARGEST)
    return rows


def fit_scaling(rows: FloatArray, scale: bool | str) -> Scaling:
    """Return the scaling of training rows: means and standard deviations (with m - 1).

    A constant column is shifted only; with ``scale="kernlab"`` one constant column makes all of them be left as they
    are.  Without scaling nothing is shifted either: distances come from differences, which need no centre.

    Examples
    --------
    >>> fit_scaling(np.array([[1.0, 5.0], [3.0, 5.0]]), True).width.round(6)
    array([1.414214, 1.      ])
    >>> fit_scaling(np.array([[1.0, 5.0], [3.0, 5.0]]), "kernlab").width
    array([1., 1.])
    """
    rows = within_range(rows)
    constant = (rows == rows[0]).all(axis=0)
    if scale is False or (scale == "kernlab" and constant.any()):
        return Scaling(np.zeros(rows.shape[1]), np.ones(rows.shape[1]))
    with np.errstate(under="ignore"):
        deviation = rows.std(axis=0, ddof=1)
    return Scaling(rows.mean(axis=0), np.where(constant | (deviation == 0.0), 1.0, deviation))


def check_scale(scale: Any) -> bool | str:
    """Return `scale`, or raise if it is not True, False, "auto" or "kernlab"."""
    if isinstance(scale, bool | np.bool_):
        return bool(scale)
    if isinstance(scale, str) and scale in SCALES:
        return scale
    raise ValueError(f"scale must be True, False, 'auto' or 'kernlab', got {scale!r}")


def check_gamma(gamma: Any) -> Gamma:
    """Return `gamma`, or raise unless it is a word for widths, a positive number, or several.

    Examples
    --------
    >>> check_gamma("sigest"), check_gamma(1), check_gamma([0.1, 1])
    ('sigest', 1.0, (0.1, 1.0))
    """
    if isinstance(gamma, str):
        return check_choice("gamma", gamma, GAMMAS)
    if isinstance(gamma, list | tuple | np.ndarray):
        several = tuple(_check_width(one) for one in gamma)
        if not several or len(set(several)) < len(several):
            raise ValueError(f"gamma must be different widths, at least one, got {gamma!r}")
        return several
    return _check_width(gamma)


def _check_width(gamma: Any) -> float:
    allowed = "one of 'widths', 'three widths', 'sigest', 'scale' and 'auto', a positive number, or a list of some"
    width = check_number("gamma", gamma, allowed)
    if not 0.0 < width < np.inf:
        raise ValueError(f"gamma must be {allowed}, got {gamma!r}")
    return width


def number_of_widths(gamma: Gamma) -> int:
    """Return how many widths are asked for.

    Examples
    --------
    >>> [number_of_widths(gamma) for gamma in ("widths", "three widths", (0.1, 1.0), 2.0)]
    [5, 3, 2, 1]
    """
    if isinstance(gamma, tuple):
        return len(gamma)
    return len(_FACTORS.get(gamma, (1.0,))) if isinstance(gamma, str) else 1


@dataclass(frozen=True)
class Kernel:
    """A kernel with its width; `gamma` is None for the linear one.

    The value of two rows depends on these and the width alone, to the last bit: not on their order, on other rows, or
    on which of the methods computes it (see decisions.py).
    """

    name: str
    gamma: float | None

    def __post_init__(self) -> None:
        need_choice(self.name, "Kernel.name", KERNELS)
        if self.name == "linear":
            need(self.gamma is None, "Kernel.gamma", "must be None for linear")
        else:
            need(type(self.gamma) is float and 0.0 < self.gamma < math.inf, "Kernel.gamma", "must be positive")

    def between(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return the kernel values of rows of A (down) and rows of B (across).

        Examples
        --------
        >>> Kernel("rbf", 0.5).between(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(6)
        array([[1.      , 0.606531]])
        """
        return _of_pairs(A, B, "products" if self.gamma is None else "gaussians", self.gamma)

    def gram(self, A: FloatArray) -> FloatArray:
        """Return the kernel values of rows of A with each other: symmetric to the last bit.

        Examples
        --------
        >>> Kernel("linear", None).gram(np.array([[1.0, 1.0], [2.0, 0.0]]))
        array([[2., 2.],
               [2., 4.]])
        """
        return _of_pairs(A, None, "products" if self.gamma is None else "gaussians", self.gamma)

    def gram_in_single(self, A: FloatArray) -> NDArray[np.float32]:
        r"""Return `gram` rounded to single precision, without ever holding it in double: half the memory, for training.

        LIBSVM does the same for any number of rows.  A machine is then optimal for values that are off by at most
        :math:`2^{-24}` of their size: by the kernel it predicts with, which stays in double precision whatever it was
        trained on, its KKT violation is larger by at most :math:`2^{-23} \max|K| \sum_i |\beta_i|`.  Its errors are
        counted, and certified, with the latter.

        Examples
        --------
        >>> Kernel("linear", None).gram_in_single(np.array([[1.0], [3.0]]))
        array([[1., 3.],
               [3., 9.]], dtype=float32)
        """
        values = np.empty((len(A), len(A)), dtype=np.float32)
        starts = range(0, len(A), _BAND)
        with progress("kernel matrix", len(starts)) as advance:

            def work(start: int) -> None:
                band = slice(start, start + _BAND)
                with one_core(), np.errstate(under="ignore", over="ignore"):
                    values[band, : band.stop] = self.between(A[band], A[: band.stop])
                values[:start, band] = values[band, :start].T
                advance(1)

            parallel_for(work, starts)
        return values

    def of_shared(
        self,
        shared: FloatArray,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Return the kernel values of some rows and columns of what `shared_matrix` computed for all, in `out`."""
        values: NDArray[Any] = np.empty((rows.size, columns.size)) if out is None else out
        compiled = load_compiled()
        height = max(1, _TERMS_PER_PART // (16 * max(1, columns.size)))

        def work(top: int) -> None:
            some = slice(top, top + height)
            if self.gamma is None:
                compiled.pick_values(shared, rows[some], columns, values[some])
            else:
                buffer = compiled.buffer(columns.size)
                fill = compiled.gaussian_in_single if values.dtype == np.float32 else compiled.gaussian_of_distances
                fill(shared, rows[some], columns, self.gamma, values[some], *buffer)

        parallel_for(work, range(0, rows.size, height))
        return values


def shared_matrix(X: FloatArray, kernel: str) -> FloatArray:
    """Return what kernels of every width share: squared distances for rbf, inner products for linear.

    Examples
    --------
    >>> shared_matrix(np.array([[1.0], [3.0]]), "rbf")
    array([[0., 4.],
           [4., 0.]])
    """
    return _of_pairs(X, None, "products" if kernel == "linear" else "distances", None)


def fit_kernels(rows: FloatArray, name: str, gamma: Gamma, rng: np.random.Generator) -> tuple[Kernel, ...]:
    """Return the kernels for (scaled) training rows; widths are estimated from them if `gamma` says so.

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
        # Rows that are all equal have no width of their own, and any other serves.
        width = 1.0 if bool((rows == rows[0]).all()) else sigest(rows, random_state=rng)
    factors = _FACTORS.get(gamma, (1.0,))
    return tuple(Kernel("rbf", min(max(factor * width, _LEAST_WIDTH), _FARTHEST)) for factor in factors)


def _of_pairs(A: FloatArray, B: FloatArray | None, kind: str, gamma: float | None) -> FloatArray:
    """Return values of rows of A (down) and B (across), of A with itself where B is None."""
    compiled = load_compiled()
    down, across = np.ascontiguousarray(A), np.ascontiguousarray((A if B is None else B).T)
    # Compiled code does not look: rows of a file may have any width.
    if down.shape[1] != len(across):
        raise ValueError(f"rows must have equally many columns, got {down.shape[1]} and {len(across)}")
    values: FloatArray = np.empty((len(down), across.shape[1]))
    arguments = (down, across, compiled.KINDS[kind], 0.0 if gamma is None else gamma, values)
    tile = compiled.TILE
    if B is not None:
        places = _places(values.shape, A.shape[1], tile, triangle=False)
        parallel_for(lambda place: compiled.pairs_between(*arguments, *compiled.buffer(tile), *place), places)
        return values
    places = _places(values.shape, A.shape[1], tile, triangle=True)
    with progress("kernel matrix", len(places)) as advance:

        def work(place: tuple[int, int, int]) -> None:
            compiled.pairs_within(*arguments, *compiled.buffer(tile), *place)
            advance(1)

        parallel_for(work, places)
    return values


def _places(shape: tuple[int, ...], n_columns: int, tile: int, triangle: bool) -> list[tuple[int, int, int]]:
    """Divide values of pairs into parts that are short: where a tile of columns begins, and some rows of it.

    Examples
    --------
    >>> _places((300, 300), 2, 256, triangle=True)
    [(0, 0, 256), (256, 0, 300)]
    >>> _places((600, 200), 10**6, 256, triangle=False)
    [(0, 0, 256), (0, 256, 512), (0, 512, 600)]
    """
    # An exponential costs as much as some columns.
    height = max(1, _TERMS_PER_PART // (tile * tile * (n_columns + 16))) * tile
    places = []
    for start in range(0, shape[1], tile):
        bottom = min(start + tile, shape[0]) if triangle else shape[0]
        places += [(start, top, min(top + height, bottom)) for top in range(0, bottom, height)]
    return places


@cache
def load_compiled() -> Any:
    """Return the compiled functions; numba is imported here, when first needed."""
    from pacbayes.svm import decisions

    with compile_notice(decisions.pairs_between, decisions.gaussian_of_distances, decisions.accumulate):
        decisions.compile_all()
    return decisions


def sigest(X: ArrayLike, *, frac: float = 0.5, random_state: Any = None) -> float:
    r"""Estimate the parameter of the Gaussian kernel :math:`\exp(-\sigma |x - x'|^2)` as R's kernlab does.

    For :math:`\lfloor` `frac` :math:`\cdot m \rfloor` pairs of rows drawn with replacement, the squared distances
    other than zero have the quantiles :math:`q_{0.9}` and :math:`q_{0.1}`;

    .. math:: \sigma = \tfrac12 (1/q_{0.9} + 1/q_{0.1}),

    the value kernlab's `ksvm` uses.  Its `sigest` standardises the columns first; here they are taken as they are.

    Parameters
    ----------
    X : array_like of shape (m, d)
        Training rows, standardised if the classifier will be trained on standardised rows.
    frac : float
        Pairs per row, positive.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Where the pairs come from.  If all pairs drawn are of equal rows, others are drawn.

    Returns
    -------
    float
        Positive and finite.

    See Also
    --------
    svm_set : Where it is the default width.
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
        raise ValueError(f"frac must give at least one pair of rows, got {frac!r} of {len(rows)}")
    # Rows may differ and their squared distances still underflow to zero.
    with np.errstate(over="ignore", under="ignore"):
        differ = np.square(rows - rows[0]).any()
    if not differ:
        raise ValueError("X must hold rows that differ: all are equal, so no kernel width fits; give gamma a number")
    rng, sigma = generator(random_state), np.nan
    while np.isnan(sigma):  # no pair differs, but some rows do
        first, second = rng.integers(len(rows), size=(2, pairs))
        sigma = sigma_of_pairs(rows, first, second)
    if not 0.0 < sigma < np.inf:
        raise ValueError(f"X must hold rows at finite distances that are not too small, got a kernel width of {sigma}")
    return sigma


def sigma_of_pairs(rows: FloatArray, first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Return the estimate from given pairs of rows, NaN if no pair differs.

    Examples
    --------
    >>> sigma_of_pairs(np.array([[0.0], [2.0]]), np.array([0, 1]), np.array([1, 1]))
    0.25
    """
    with np.errstate(over="ignore", under="ignore"):
        distances = np.square(rows[first] - rows[second]).sum(axis=1)
    distances = distances[distances != 0.0]
    if distances.size == 0:
        return float("nan")
    # Linear interpolation is R's type 7; between two infinite distances it would find no number.
    quantiles = np.quantile(np.minimum(distances, _FARTHEST), _QUANTILES)
    with np.errstate(over="ignore", under="ignore"):
        return float(np.where(quantiles == _FARTHEST, 0.0, 1.0 / quantiles).mean())
