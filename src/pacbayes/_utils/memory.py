"""Refuse work that does not fit into memory before any of it is allocated."""

from dataclasses import dataclass
from typing import Any

import psutil

# Of the memory that is free, this much may be taken without asking.
_SHARE_OF_FREE = 0.5
# Temporaries of predictions on blocks of rows.
BLOCK_BYTES = 64 * 2**20
# What the largest library, LLVM, takes when it is loaded and used.
LIBRARY_BYTES = 300 * 2**20
# What all libraries take together, with a thread of linear algebra for each of many cores.
THREADS_BYTES = 4 * 2**30


def free_bytes() -> int | None:
    """Return how much memory is available without swapping, None where the system does not tell (no /proc, for one).

    Examples
    --------
    >>> free = free_bytes()
    >>> free is None or 0 < free < psutil.virtual_memory().total
    True
    """
    try:
        return int(psutil.virtual_memory().available)
    except (OSError, psutil.Error):
        return None


@dataclass(frozen=True)
class NarrowSpace:
    """An address space (`ulimit -v`) that is nearly full, in bytes."""

    limit: int
    left: int


def narrow_space(room: int = LIBRARY_BYTES) -> NarrowSpace | None:
    """Return the limit of the address space and what is left, None where there is none or more than `room` is left.

    Examples
    --------
    >>> narrow_space() is None
    True
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    left = max(0, limit - int(psutil.Process().memory_info().vms))
    return NarrowSpace(limit, left) if left < room else None


def check_fits(needed: int, max_bytes: Any, what: str, alternatives: str) -> None:
    """Raise `MemoryError` if `needed` bytes exceed `max_bytes` (None: half of what is free).

    Examples
    --------
    >>> check_fits(8 * 10**12, 10**9, "a kernel matrix of 1000000 x 1000000", "Train on fewer rows.")
    Traceback (most recent call last):
    MemoryError: a kernel matrix of 1000000 x 1000000 needs 8 TB, more than max_bytes = 1 GB. Train on fewer rows.
    """
    limit, name = memory_limit(max_bytes)
    if limit is not None and needed > limit:
        raise MemoryError(f"{what} needs {readable(needed)}, more than {name} {readable(limit)}. {alternatives}")


def memory_limit(max_bytes: Any) -> tuple[int | None, str]:
    """Return how many bytes may be taken, None where that is not known, and what sets this limit.

    Examples
    --------
    >>> memory_limit(10**9)
    (1000000000, 'max_bytes =')
    """
    if max_bytes is None:
        free = free_bytes()
        return None if free is None else int(_SHARE_OF_FREE * free), "half of the free memory,"
    if not max_bytes > 0:
        raise ValueError(f"max_bytes must be positive, got {max_bytes!r}")
    return int(max_bytes), "max_bytes ="


def readable(size: int) -> str:
    """Write a number of bytes with a unit.

    Examples
    --------
    >>> readable(1_500_000)
    '1.5 MB'
    """
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.4g} TB"
