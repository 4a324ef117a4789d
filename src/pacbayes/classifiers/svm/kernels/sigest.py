"""The width of a Gaussian kernel from the distances in the training sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from pacbayes.numeric.arrays import FloatArray
from pacbayes.runtime.seeds import generator

# Few distances, middle and many: kernlab's `ksvm` takes the mean of the first and the last reciprocal.
_QUANTILES = (0.9, 0.1)
_LARGEST = np.finfo(np.float64).max


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
    svm_path : Machines on a kernel matrix of this width.

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
    return _estimate(rows, pairs, generator(random_state))


def _estimate(rows: FloatArray, pairs: int, rng: np.random.Generator) -> float:
    """Draw pairs until some differ, as some do: equal rows were refused before."""
    sigma = np.nan
    while np.isnan(sigma):
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
    quantiles = np.quantile(np.minimum(distances, _LARGEST), _QUANTILES)
    with np.errstate(over="ignore", under="ignore"):
        return float(np.where(quantiles == _LARGEST, 0.0, 1.0 / quantiles).mean())
