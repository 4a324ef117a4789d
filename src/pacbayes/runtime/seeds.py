"""Random numbers that depend on the seed and on what they are for, never on the order of the work."""

from typing import Any

import numpy as np


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


def generator(random_state: Any, *purpose: int) -> np.random.Generator:
    """Return a generator for one purpose: independent for different ones, the same for the same seed and purpose.

    Examples
    --------
    >>> generator(7, 1).integers(100) == generator(7, 1).integers(100)
    np.True_
    """
    return np.random.default_rng(np.random.SeedSequence(seed_of(random_state), spawn_key=purpose))
