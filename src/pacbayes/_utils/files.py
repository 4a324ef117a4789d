"""Atomic writing of files, and locks that end with their process."""

import errno
import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from filelock import FileLock, Timeout

# Bytes kept in memory or written per call.
_BUFFER = 2**23


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically: it is synced to the disk, then replaces the old file.

    Links are followed; devices and pipes are written to, not replaced.  Temporary files of killed processes are removed
    (not on Windows, where files without a lock cannot be recognised).  A new file has the permissions of the user's
    umask, a replaced file keeps its own.  Errors name the file.

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
    with naming(path):
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        _remove_stale_parts(target)
        part, file = _open_part(target)
    try:
        yield file
        with naming(path):
            file.flush()
            os.fsync(file.fileno())
            if os.name != "posix":  # Windows cannot rename an open file; on POSIX closing would release the lock
                file.close()
            if mode is not None:
                os.chmod(part, mode)
            part.replace(target)
            file.close()
            _sync_entries(target.parent)
    except BaseException:
        with suppress(OSError):
            file.close()
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


def _open_part(target: Path) -> tuple[Path, BinaryIO]:
    """Open a temporary file beside the target, with a lock that distinguishes it from files of killed processes."""
    while True:
        part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
        # By `open`, not by `tempfile`: reading the umask would change it for all threads.
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        _lock(descriptor, wait=True)
        if part.exists():
            return part, os.fdopen(descriptor, "wb")
        os.close(descriptor)  # removed as stale before it was locked


def _remove_stale_parts(target: Path) -> None:
    """Remove temporary files without a lock, which killed processes left."""
    stale = re.compile(re.escape(target.name) + r"\.[0-9a-f]{8}\.part")
    with suppress(OSError):
        for part in [path for path in target.parent.iterdir() if stale.fullmatch(path.name)]:
            descriptor = os.open(part, os.O_WRONLY)
            try:
                if _lock(descriptor, wait=False):
                    part.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


def _lock(descriptor: int, wait: bool) -> bool:
    """Lock an open file until it is closed or its process ends; return False if that is impossible."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync_entries(folder: Path) -> None:
    """Sync a folder, so that a rename in it survives a crash.

    Windows cannot open folders, and some network and container file systems cannot sync them (EINVAL).
    """
    flag = getattr(os, "O_DIRECTORY", None)
    if flag is None:
        return
    directory = os.open(folder, os.O_RDONLY | flag)
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
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
    """Hold a lock; raise `BlockingIOError` with the process that has it.

    Forked workers do not inherit the lock (filelock 3.30 or later), so that one that outlives its parent does not keep
    the directory locked; one that is being started holds it for a moment, hence the timeout.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory, hold_lock(Path(directory, "lock"), "the directory"):
    ...     with hold_lock(Path(directory, "lock"), "the directory"):
    ...         pass  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    BlockingIOError: the directory is in use by process ... on ...; one run at a time can work there
    """
    # The file is not removed, since a process may be waiting for it.  A soft lock would outlive a killed process.
    lock = FileLock(path, timeout=patience, fallback_to_soft=False, preserve_lock_file=True, on_acquired=_sign)
    try:
        lock.acquire(poll_interval=0.05)
    except Timeout:
        raise BlockingIOError(f"{name} is in use by {_holder(path)}; one run at a time can work there") from None
    try:
        yield
    finally:
        lock.release()


def _sign(descriptor: int) -> None:
    """Write the process to the lock file, after a byte that other processes cannot read on Windows."""
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f"\nprocess {os.getpid()} on {socket.gethostname()}\n".encode())


def _holder(path: Path) -> str:
    """Process that holds the lock, from the lock file."""
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(1)
            return file.read(200).decode(errors="replace").strip() or "another process"
    except OSError:
        return "another process"
