"""Atomic writing of files, and locks that end with their process."""

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
    """Write a file atomically: it is synced to the disk, then replaces the old file.

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
    with writing(path) as file, naming(path):
        file.write(data)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Context manager form of `write_file`: yield a file, which replaces the old one on exit, except after an error.

    Data for a device or a pipe is buffered until then.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with writing(folder + "/numbers.txt") as file:
    ...         _ = [file.write(part) for part in (b"1 ", b"2 ", b"3")], len(os.listdir(folder))
    ...     print(Path(folder, "numbers.txt").read_text(), len(os.listdir(folder)))
    1 2 3 1
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with spooled() as buffer:
            yield buffer
            buffer.seek(0)
            with naming(path), target.open("wb", buffering=0) as device:
                shutil.copyfileobj(buffer, device, _BUFFER)
        return
    prefix = f"{target.name}.{platform.node()}-"
    part = target.with_name(f"{prefix}{os.getpid()}-{secrets.token_hex(4)}.part")
    with naming(path):
        _remove_stale_parts(target.parent, prefix)
        file = part.open("xb")  # not by `tempfile`, which does not use the umask
    try:
        with file:
            yield file
            with naming(path):
                file.flush()
                os.fsync(file.fileno())
        with naming(path):
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
            _sync_entries(target.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def spooled() -> Iterator[BinaryIO]:
    """Yield a temporary file, in memory while it is small."""
    with tempfile.SpooledTemporaryFile(_BUFFER) as file:
        yield cast(BinaryIO, file)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Make every `OSError` name this file, rather than a temporary file or none."""
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


def _sync_entries(folder: Path) -> None:
    """Sync a folder, so that a rename in it survives a crash, where the system can."""
    flag = getattr(os, "O_DIRECTORY", None)
    if flag is None:  # Windows
        return
    directory = os.open(folder, os.O_RDONLY | flag)
    try:
        with suppress(OSError):  # of network and container file systems
            os.fsync(directory)
    finally:
        os.close(directory)


def check_can_write(name: str, path: str | os.PathLike[str]) -> None:
    """Raise `OSError` before any work if a file cannot be written; `name` is the argument.

    Examples
    --------
    >>> check_can_write("--out", "no such folder/numbers.txt")
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
def hold_lock(path: Path, name: str, patience: float = _LOCK_TIMEOUT) -> Iterator[None]:
    """Hold a lock; raise `BlockingIOError` if another process has it.

    Forked workers do not inherit the lock (filelock 3.30 or later), so that one that outlives its parent does not keep
    the directory locked; one that is being started holds it for a moment, hence the timeout.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory, hold_lock(Path(directory, "lock"), "the directory"):
    ...     with hold_lock(Path(directory, "lock"), "the directory"):
    ...         pass
    Traceback (most recent call last):
    BlockingIOError: the directory is in use by another process; one run at a time can work there
    """
    # The file is not removed, since a process may be waiting for it.  A soft lock would outlive a killed process.
    lock = FileLock(path, timeout=patience, fallback_to_soft=False, preserve_lock_file=True)
    try:
        lock.acquire(poll_interval=0.05)
    except Timeout:
        raise BlockingIOError(f"{name} is in use by another process; one run at a time can work there") from None
    try:
        yield
    finally:
        lock.release()
