"""Checks that work fits into memory, before anything is allocated."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import psutil

# Share of the free memory that may be used by default.
_SHARE_OF_FREE = 0.5
# Temporary arrays of predictions on a block of rows.
BLOCK_BYTES = 64 * 2**20
# Buffers of the OpenBLAS copies of NumPy and SciPy for one thread, with a margin.
BUFFER_BYTES = 100 * 2**20
# OpenBLAS and the largest library, LLVM, when loaded and in use.
LIBRARY_BYTES = 400 * 2**20 + BUFFER_BYTES
# All libraries, with a BLAS thread for each of many cores.
THREADS_BYTES = 4 * 2**30


def free_bytes() -> int | None:
    """Memory available without swapping; None if unknown, for example without /proc.

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
    """Limit of the address space (`ulimit -v`) and bytes left."""

    limit: int
    left: int


def narrow_space(room: int = LIBRARY_BYTES) -> NarrowSpace | None:
    """Address space, if it is limited and less than `room` is left; None otherwise.

    Examples
    --------
    >>> narrow_space() is None
    True
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        left = max(0, limit - int(psutil.Process().memory_info().vms))
    except MemoryError:
        left = 0
    return NarrowSpace(limit, left) if left < room else None


def check_libraries() -> None:
    """Raise `MemoryError` unless OpenBLAS and LLVM fit: otherwise they abort the process or loop forever."""
    if narrow_space() is not None:
        needed = readable(LIBRARY_BYTES)
        raise MemoryError(f"linear algebra and the compiler of support vector machines take up to {needed}")


@cache
def reserve_buffers() -> None:
    """Make OpenBLAS allocate its buffers early in a limited address space; raise `MemoryError` if they do not fit.

    It allocates a buffer of 32 MB on the first call of every thread.  If that fails it loops forever
    (`blas_memory_alloc`), and SciPy's LAPACK wrappers hold the GIL meanwhile, so that interrupts are not handled.
    """
    if narrow_space(THREADS_BYTES) is None:
        return
    import numpy as np
    from scipy.linalg import cholesky

    if narrow_space(BUFFER_BYTES) is not None:
        raise MemoryError(f"linear algebra takes up to {readable(BUFFER_BYTES)}")
    # In NumPy's and SciPy's copies of OpenBLAS; a smaller product needs no buffer.
    cholesky(np.ones((256, 256)) @ np.full((256, 256), 2.0**-9) + np.eye(256))


def check_fits(needed: int, max_bytes: Any, what: str, alternatives: str) -> None:
    """Raise `MemoryError` if `needed` bytes exceed `max_bytes` (None: half of the free memory).

    In a limited address space (`ulimit -v`) at most a quarter may be used, since libraries need some of it.

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
    """Memory that may be used, in bytes, None if unknown, and the name of this limit in messages.

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
    """Format a number of bytes with a unit.

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
