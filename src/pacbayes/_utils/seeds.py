"""Random generators for each seed and purpose, independent of the order of execution, and keys of random draws."""

from enum import IntEnum
from typing import Any

import numpy as np

#: Length of the key of draws.
KEY_BYTES = 32


class Purpose(IntEnum):
    """Purposes of random numbers.  Changing a value changes the results for every seed."""

    #: Test rows of the paper's protocol.
    TEST = 0
    #: Shared split, and independent splits.
    SHARED = 1
    INDEPENDENT = 2
    #: Pairs of rows from which a kernel width is estimated.
    WIDTH = 3
    #: Random states of a grid's classifiers, and parameters drawn from its distributions.
    FITTING = 4
    SAMPLING = 5
    #: Landmarks of the Nystroem approximation.
    LANDMARKS = 6
    #: Rows on which scaling is compared.
    SCALING = 8
    #: Rows on which kernel widths and costs are compared.
    SUBSAMPLE = 9
    #: The paper's kernel width that is estimated once, and its validation samples that overlap training samples.
    WIDTH_ONCE = 101
    OVERLAPPING = 102
    #: Key of the random draws of classifiers (`draw_key`), and folds of cross-validation.
    KEY = 1000
    FOLDS = 1001
    #: Pairs of a positive and a negative row, for the AUC.
    PAIRS = 1002


def resolve_seed(random_state: Any) -> int:
    """Convert `random_state` to a seed: the integer itself, or one drawn from the generator (from the system if None).

    Examples
    --------
    >>> resolve_seed(7)
    7
    """
    if random_state is None:
        entropy = np.random.SeedSequence().entropy
        assert isinstance(entropy, int)
        return entropy
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    raise TypeError(
        "random_state must be an integer, a numpy.random.Generator, a numpy.random.RandomState or None, "
        f"got {random_state!r}"
    )


def make_rng(random_state: Any, *purpose: Purpose | int) -> np.random.Generator:
    """Create a random generator for a seed and a purpose; different purposes give independent streams.

    A `Purpose` may be followed by an index, for example of a classifier.

    Examples
    --------
    >>> make_rng(7, Purpose.SHARED).integers(100) == make_rng(7, Purpose.SHARED).integers(100)
    np.True_
    """
    return np.random.default_rng(np.random.SeedSequence(resolve_seed(random_state), spawn_key=purpose))


def draw_key(seed: int) -> bytes:
    """Derive the secret key of a stochastic classifier from a seed.

    Examples
    --------
    >>> draw_key(0) == draw_key(0), draw_key(0) == draw_key(1), len(draw_key(0))
    (True, False, 32)
    """
    return make_rng(seed, Purpose.KEY).bytes(KEY_BYTES)
