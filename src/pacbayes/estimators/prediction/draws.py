"""Which classifier predicts which row: a draw that depends on the row and on the key, and on nothing else."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.certificates.posterior_choice import BITS, Counts
from pacbayes.data.rows import row_hashes
from pacbayes.runtime.seeds import Purpose, generator

KEY_BYTES = 32


def draw_key(seed: int) -> bytes:
    """Return the key of the draws that belongs to a seed.

    Examples
    --------
    >>> draw_key(0) == draw_key(0), draw_key(0) == draw_key(1), len(draw_key(0))
    (True, False, 32)
    """
    return generator(seed, Purpose.KEY).bytes(KEY_BYTES)


def draw_classifiers(X: Any, parts: Counts, key: bytes) -> NDArray[np.intp]:
    r"""Draw a classifier for every row of X, as it was given, from weights in whole parts of :math:`2^{-52}`.

    A row's keyed hash (BLAKE2b) is a number of 64 bits; its first 52 are compared with the sums of the parts.  Equal
    rows get equal draws whatever other rows are asked about, and different keys give independent draws.

    Examples
    --------
    >>> from pacbayes.certificates.posterior_choice import integer_weights
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> drawn = draw_classifiers(X, integer_weights(np.array([0.25, 0.0, 0.75])), draw_key(0))
    >>> np.bincount(drawn).tolist()
    [249, 0, 751]
    >>> np.array_equal(draw_classifiers(X[7:9], integer_weights(np.array([0.25, 0.0, 0.75])), draw_key(0)), drawn[7:9])
    True
    """
    uniform = row_hashes(X, key) >> np.uint64(64 - BITS)
    return np.searchsorted(np.cumsum(parts), uniform.astype(np.int64), side="right")
