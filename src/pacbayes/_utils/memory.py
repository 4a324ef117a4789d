"""Checks that work fits into memory, before anything is allocated."""

from typing import Any

import psutil

# Share of the free memory that may be used by default.
_SHARE_OF_FREE = 0.5
# Temporary arrays of predictions on a block of rows.
BLOCK_BYTES = 64 * 2**20


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


def check_fits(needed: int, max_bytes: Any, what: str, alternatives: str) -> None:
    """Raise `MemoryError` if `needed` bytes exceed `max_bytes` (None: half of the free memory).

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
