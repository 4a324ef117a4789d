"""Random numbers, and the key of draws, by the seed and what they are for: never by the order of the work."""

from enum import IntEnum
from typing import Any

import numpy as np

#: Of the key of draws.
KEY_BYTES = 32


class Purpose(IntEnum):
    """What random numbers are for.  A number that changes changes the results of every seed."""

    #: Rows that the paper's protocol puts aside for the test.
    TEST = 0
    #: The division of rows that all classifiers share, and that of each one.
    SHARED = 1
    INDEPENDENT = 2
    #: Pairs of rows that a kernel's width is estimated from.
    WIDTH = 3
    #: Random states of a grid's classifiers, and settings drawn from its distributions.
    FITTING = 4
    SAMPLING = 5
    #: Landmarks of linear machines.
    LANDMARKS = 6
    #: Rows on which scaling is tried.
    SCALING = 8
    #: The paper's width that is estimated once, and its validation sample that does not look at the training sample.
    WIDTH_ONCE = 101
    OVERLAPPING = 102
    #: The key of the random choice of classifiers (`draw_key`), and the folds of cross-validation.
    KEY = 1000
    FOLDS = 1001


def seed_of(random_state: Any) -> int:
    """Return a seed: the integer itself, or one drawn from the generator (from the system for None).

    Examples
    --------
    >>> seed_of(7)
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


def generator(random_state: Any, *purpose: Purpose | int) -> np.random.Generator:
    """Return a generator for one purpose: independent for different ones, the same for the same seed and purpose.

    After a `Purpose` may follow the number of what is drawn for it, such as a classifier.

    Examples
    --------
    >>> generator(7, Purpose.SHARED).integers(100) == generator(7, Purpose.SHARED).integers(100)
    np.True_
    """
    return np.random.default_rng(np.random.SeedSequence(seed_of(random_state), spawn_key=purpose))


def draw_key(seed: int) -> bytes:
    """Return the key of the draws that belongs to a seed.

    Examples
    --------
    >>> draw_key(0) == draw_key(0), draw_key(0) == draw_key(1), len(draw_key(0))
    (True, False, 32)
    """
    return generator(seed, Purpose.KEY).bytes(KEY_BYTES)
