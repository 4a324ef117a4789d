"""A lock on a file that dies with its process."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def hold_lock(path: Path, name: str) -> Iterator[None]:
    """Hold the lock, or raise a `BlockingIOError` that says which process has it.

    Forked workers leave it to their parent (filelock sees to that from version 3.30 on): one that outlives it does not
    keep the directory locked.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory, hold_lock(Path(directory, "lock"), "the directory"):
    ...     with hold_lock(Path(directory, "lock"), "the directory"):
    ...         pass  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    BlockingIOError: the directory is in use by process ... on ...; one run at a time can work there
    """
    # The file stays: whoever waits for a file that is removed and made again waits for another one.  And no soft lock
    # where the system has no other: that one outlives a killed process.
    lock = FileLock(path, blocking=False, fallback_to_soft=False, preserve_lock_file=True, on_acquired=_sign)
    try:
        lock.acquire()
    except Timeout:
        raise BlockingIOError(f"{name} is in use by {_holder(path)}; one run at a time can work there") from None
    try:
        yield
    finally:
        lock.release()


def _sign(descriptor: int) -> None:
    """Write who has the lock, after a first byte that nobody else can read on Windows while it is locked."""
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f"\nprocess {os.getpid()} on {socket.gethostname()}\n".encode())


def _holder(path: Path) -> str:
    """Return what the process that has the lock wrote; it may not have come to that."""
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(1)
            return file.read(200).decode(errors="replace").strip() or "another process"
    except OSError:
        return "another process"
