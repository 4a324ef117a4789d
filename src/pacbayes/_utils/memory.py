"""Refuse work that does not fit into memory before any of it is allocated."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import psutil

# Of the memory that is free, this much may be taken without asking.
_SHARE_OF_FREE = 0.5
# Temporaries of predictions on blocks of rows.
BLOCK_BYTES = 64 * 2**20
# The buffers of NumPy's and SciPy's copies of OpenBLAS, for one thread, and what is around them.
BUFFER_BYTES = 100 * 2**20
# What linear algebra and the largest library, LLVM, take when they are loaded and used.
LIBRARY_BYTES = 400 * 2**20 + BUFFER_BYTES
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
    try:
        left = max(0, limit - int(psutil.Process().memory_info().vms))
    except MemoryError:  # not even for the question
        left = 0
    return NarrowSpace(limit, left) if left < room else None


def check_libraries() -> None:
    """Raise `MemoryError` unless linear algebra and LLVM fit: without room they end the process, or try for ever."""
    if narrow_space() is not None:
        needed = readable(LIBRARY_BYTES)
        raise MemoryError(f"linear algebra and the compiler of support vector machines take up to {needed}")


@cache
def reserve_buffers() -> None:
    """Let OpenBLAS allocate its buffers while there is room in a small address space, or raise `MemoryError`.

    It needs one of 32 MB for every thread that calls it, allocated on the first call and kept.  Where there is no room
    it tries for ever (`blas_memory_alloc`), and LAPACK's wrappers in SciPy hold the lock of the interpreter meanwhile:
    not even an interrupt is heard.
    """
    if narrow_space(THREADS_BYTES) is None:
        return
    import numpy as np
    from scipy.linalg import cholesky

    if narrow_space(BUFFER_BYTES) is not None:
        raise MemoryError(f"linear algebra takes up to {readable(BUFFER_BYTES)}")
    # By NumPy's copy of OpenBLAS and by SciPy's; a small product needs no buffer.
    cholesky(np.ones((256, 256)) @ np.full((256, 256), 2.0**-9) + np.eye(256))


def check_fits(needed: int, max_bytes: Any, what: str, alternatives: str) -> None:
    """Raise `MemoryError` if `needed` bytes exceed `max_bytes` (None: half of what is free).

    Of a limited address space (`ulimit -v`) a quarter, as libraries and the compiler still take some of it.

    Examples
    --------
    >>> check_fits(8 * 10**12, 10**9, "a kernel matrix of 1000000 x 1000000", "Train on fewer rows.")
    Traceback (most recent call last):
    MemoryError: a kernel matrix of 1000000 x 1000000 needs 8 TB, more than max_bytes = 1 GB. Train on fewer rows.
    """
    limit, name = memory_limit(max_bytes)
    narrow = narrow_space(4 * needed) if max_bytes is None else None
    if narrow is not None:
        limit, name = narrow.left // 4, "a quarter of what ulimit -v leaves,"
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
