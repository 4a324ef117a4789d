"""Atomic file writing, and locks that are released when their process exits."""

import os
import platform
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

import psutil
from filelock import FileLock, Timeout

# Bytes kept in memory or written per call.
_BUFFER = 2**23


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically: the data is synced to a temporary file, which then replaces the old one.

    Links are followed; devices and pipes are written to, not replaced.  A new file has the permissions of the user's
    umask, a replaced file keeps its own.  Errors name the file.  Temporary files of killed processes on this computer,
    ``<name>.<computer>-<process>-<random>.part``, are removed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_file(folder + "/numbers.txt", b"1 2 3")
    ...     print(Path(folder, "numbers.txt").read_text(), len(os.listdir(folder)))
    1 2 3 1
    """
    with open_atomic(path) as file, name_file_in_errors(path):
        file.write(data)


@contextmanager
def open_atomic(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Context manager form of `write_file`; the yielded file replaces the old one on exit, unless an error occurred.

    Data for a device or a pipe is buffered until exit.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open_atomic(folder + "/numbers.txt") as file:
    ...         _ = [file.write(part) for part in (b"1 ", b"2 ", b"3")], len(os.listdir(folder))
    ...     print(Path(folder, "numbers.txt").read_text(), len(os.listdir(folder)))
    1 2 3 1
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with spooled_file() as buffer:
            yield buffer
            buffer.seek(0)
            with name_file_in_errors(path), target.open("wb", buffering=0) as device:
                shutil.copyfileobj(buffer, device, _BUFFER)
        return
    prefix = f"{target.name}.{platform.node()}-"
    part = target.with_name(f"{prefix}{os.getpid()}-{secrets.token_hex(4)}.part")
    with name_file_in_errors(path):
        _remove_stale_parts(target.parent, prefix)
        file = part.open("xb")  # not by `tempfile`, which does not use the umask
    try:
        with file:
            yield file
            with name_file_in_errors(path):
                file.flush()
                os.fsync(file.fileno())
        with name_file_in_errors(path):
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
            _sync_directory(target.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def spooled_file() -> Iterator[BinaryIO]:
    """Yield a temporary file that is kept in memory while it is small."""
    with tempfile.SpooledTemporaryFile(_BUFFER) as file:
        yield cast(BinaryIO, file)


@contextmanager
def name_file_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Context manager that sets the file name of every `OSError` to `path` instead of a temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _remove_stale_parts(folder: Path, prefix: str) -> None:
    """Remove temporary files of processes that have ended without removing them."""
    stale = re.compile(re.escape(prefix) + r"(\d+)-[0-9a-f]{8}\.part")
    with suppress(OSError):
        for part in list(folder.iterdir()):
            if (match := stale.fullmatch(part.name)) and not psutil.pid_exists(int(match[1])):
                part.unlink(missing_ok=True)


def _sync_directory(folder: Path) -> None:
    """Sync a directory, if the system supports it, so that a rename in it survives a crash."""
    flag = getattr(os, "O_DIRECTORY", None)
    if flag is None:  # Windows
        return
    directory = os.open(folder, os.O_RDONLY | flag)
    try:
        with suppress(OSError):  # of network and container file systems
            os.fsync(directory)
    finally:
        os.close(directory)


def check_writable(name: str, path: str | os.PathLike[str]) -> None:
    """Raise `OSError` early if a file cannot be written; `name` is the argument in the message.

    Examples
    --------
    >>> check_writable("--out", "no such folder/numbers.txt")
    Traceback (most recent call last):
    FileNotFoundError: --out: cannot write 'no such folder/numbers.txt': there is no folder 'no such folder'
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{name}: cannot write {str(path)!r}: it is a folder")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{name}: cannot write {str(path)!r}: there is no folder {str(Path(path).parent)!r}")
    if target.exists() and not target.is_file():
        return
    try:
        # Permissions alone do not show that a disk is read-only.
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise PermissionError(f"{name}: cannot write {str(path)!r}: {error.strerror or error}") from None


# Seconds to wait for a lock.
_LOCK_TIMEOUT = 0.25


@contextmanager
def hold_lock(path: Path, name: str, timeout: float = _LOCK_TIMEOUT) -> Iterator[None]:
    """Context manager that holds a file lock; raise `BlockingIOError` if another process holds it.

    Forked workers do not inherit the lock (filelock 3.30 or later), so a worker that outlives its parent does not keep
    the directory locked.  A worker that is being started holds the lock briefly, hence the timeout.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory, hold_lock(Path(directory, "lock"), "the directory"):
    ...     with hold_lock(Path(directory, "lock"), "the directory"):
    ...         pass
    Traceback (most recent call last):
    BlockingIOError: the directory is in use by another process; one run at a time can work there
    """
    # Keep the lock file, since a process may be waiting for it.  A soft lock would outlive a killed process.
    lock = FileLock(path, timeout=timeout, fallback_to_soft=False, preserve_lock_file=True)
    try:
        lock.acquire(poll_interval=0.05)
    except Timeout:
        raise BlockingIOError(f"{name} is in use by another process; one run at a time can work there") from None
    try:
        yield
    finally:
        lock.release()
