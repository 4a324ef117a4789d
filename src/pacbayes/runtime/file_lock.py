"""A lock on a file that dies with its process."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # `hold_lock` says that there is no lock without it

_held: set[int] = set()


def _close_in_child() -> None:
    """Leave the lock to the parent: a forked worker that outlives it would keep the directory locked."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


@contextmanager
def hold_lock(path: Path, name: str) -> Iterator[None]:
    """Hold the lock, or raise a `BlockingIOError` that says which process has it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory, hold_lock(Path(directory, "lock"), "the directory"):
    ...     with hold_lock(Path(directory, "lock"), "the directory"):
    ...         pass  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    BlockingIOError: the directory is in use by process ... on ...; one run at a time can work there
    """
    if fcntl is None:
        raise OSError(f"{name} cannot be locked: this system has no flock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    _held.add(descriptor)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 200).decode(errors="replace").strip() or "another process"
            raise BlockingIOError(f"{name} is in use by {holder}; one run at a time can work there") from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        # The file stays: whoever waits for a file that is removed and made again waits for another one.
        _held.discard(descriptor)
        os.close(descriptor)
