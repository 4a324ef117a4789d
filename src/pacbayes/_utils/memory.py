"""Memory checks, made before anything is allocated."""

from typing import Any

import psutil

# Share of the available memory that may be used by default.
_MAX_MEMORY_SHARE = 0.5
# Size of the temporary arrays for predictions on a block of rows.
BLOCK_BYTES = 64 * 2**20


def available_memory() -> int | None:
    """Memory available without swapping, in bytes; None if unknown, for example without /proc.

    Examples
    --------
    >>> free = available_memory()
    >>> free is None or 0 < free < psutil.virtual_memory().total
    True
    """
    try:
        return int(psutil.virtual_memory().available)
    except (OSError, psutil.Error):
        return None


def check_memory(n_bytes: int, max_bytes: Any, description: str, advice: str) -> None:
    """Raise `MemoryError` if `n_bytes` exceeds `max_bytes`, by default half of the available memory.

    Examples
    --------
    >>> check_memory(8 * 10**12, 10**9, "a kernel matrix of 1000000 x 1000000", "Train on fewer rows.")
    Traceback (most recent call last):
    MemoryError: a kernel matrix of 1000000 x 1000000 needs 8 TB, more than max_bytes = 1 GB. Train on fewer rows.
    """
    limit, name = memory_limit(max_bytes)
    if limit is not None and n_bytes > limit:
        raise MemoryError(
            f"{description} needs {format_bytes(n_bytes)}, more than {name} {format_bytes(limit)}. {advice}"
        )


def memory_limit(max_bytes: Any) -> tuple[int | None, str]:
    """Memory limit in bytes (None if unknown), and its name in error messages.

    Examples
    --------
    >>> memory_limit(10**9)
    (1000000000, 'max_bytes =')
    """
    if max_bytes is None:
        free = available_memory()
        return None if free is None else int(_MAX_MEMORY_SHARE * free), "half of the free memory,"
    if not max_bytes > 0:
        raise ValueError(f"max_bytes must be positive, got {max_bytes!r}")
    return int(max_bytes), "max_bytes ="


def format_bytes(size: int) -> str:
    """Format a number of bytes with a unit.

    Examples
    --------
    >>> format_bytes(1_500_000)
    '1.5 MB'
    """
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.4g} TB"
