"""Files that are there whole or not at all, and a lock on a file that dies with its process."""

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

# Bytes that are kept in memory, or written at a time.
_PART = 2**23


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Put a file in its place: all of it, on the disk, or none; what was there before stays until then.

    A link is followed, and what is no ordinary file (a device, a pipe) is written to, not replaced.  What a killed
    process left of an earlier attempt is removed (not on Windows, where such parts cannot be told).  A new file has the
    permissions that the user's umask leaves, one that is replaced keeps its own.  An error names the file.

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
    """Yield a file to write into, part by part, which is put in its place on leaving; not after an error.

    As for `write_file`.  For what is no ordinary file all parts are kept until then.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with writing(folder + "/numbers.txt") as file:
    ...         _ = [file.write(part) for part in (b"1 ", b"2 ", b"3")], len(os.listdir(folder))
    ...     print(Path(folder, "numbers.txt").read_text(), len(os.listdir(folder)))
    1 2 3 1
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        with spooled() as parts:
            yield parts
            parts.seek(0)
            with naming(path), place.open("wb", buffering=0) as device:
                shutil.copyfileobj(parts, device, _PART)
        return
    with naming(path):
        mode = place.stat().st_mode & 0o777 if place.exists() else None
        _remove_stale_parts(place)
        part, file = _open_part(place)
    try:
        yield file
        with naming(path):
            file.flush()
            os.fsync(file.fileno())
            if os.name != "posix":  # Windows renames no open file; elsewhere the lock goes with it, too early
                file.close()
            if mode is not None:
                os.chmod(part, mode)
            part.replace(place)
            file.close()
            _sync_entries(place.parent)
    except BaseException:
        with suppress(OSError):
            file.close()
        part.unlink(missing_ok=True)
        raise


@contextmanager
def spooled() -> Iterator[BinaryIO]:
    """Yield a file without a name, in memory while it is small."""
    with tempfile.SpooledTemporaryFile(_PART) as file:
        yield cast(BinaryIO, file)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have an `OSError` name the file the caller knows: a full disk names none, a part file one nobody has heard of."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _open_part(place: Path) -> tuple[Path, BinaryIO]:
    """Return a new file beside a place, locked where the system can, which tells it from one of a dead process."""
    while True:
        part = place.with_name(f"{place.name}.{secrets.token_hex(4)}.part")
        # Made by `open`, not by `tempfile`: only the system knows the umask without changing it for all threads.
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        _lock(descriptor, wait=True)
        if part.exists():
            return part, os.fdopen(descriptor, "wb")
        os.close(descriptor)  # taken for a stale part before it was locked


def _remove_stale_parts(place: Path) -> None:
    """Remove the parts of this place that processes left which were killed: their locks died with them."""
    stale = re.compile(re.escape(place.name) + r"\.[0-9a-f]{8}\.part")
    with suppress(OSError):
        for part in [one for one in place.parent.iterdir() if stale.fullmatch(one.name)]:
            descriptor = os.open(part, os.O_WRONLY)
            try:
                if _lock(descriptor, wait=False):
                    part.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


def _lock(descriptor: int, wait: bool) -> bool:
    """Lock an open file until it is closed or its process dies; false if another has it, or nothing can be locked."""
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
    """Bring a rename to the disk: it is an entry of the folder, which has a cache of its own.

    Windows opens no folders, and some file systems of networks and containers do not sync them (EINVAL).  The file is
    in its place by then, whole, and nobody can do more.
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
    """Raise `OSError` before any work if a file could not be written at the end; `name` is the argument.

    Examples
    --------
    >>> check_can_write("--out", "no such folder/numbers.txt")
    Traceback (most recent call last):
    FileNotFoundError: --out: cannot write 'no such folder/numbers.txt': there is no folder 'no such folder'
    """
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(f"{name}: cannot write {str(path)!r}: it is a folder")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"{name}: cannot write {str(path)!r}: there is no folder {str(Path(path).parent)!r}")
    if place.exists() and not place.is_file():
        return
    try:
        # Made and gone again: permissions alone do not tell of read-only disks.
        with tempfile.TemporaryFile(dir=place.parent):
            pass
    except OSError as error:
        raise PermissionError(f"{name}: cannot write {str(path)!r}: {error.strerror or error}") from None


# Seconds that a lock is waited for.
_PATIENCE = 0.25


@contextmanager
def hold_lock(path: Path, name: str, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold the lock, or raise a `BlockingIOError` that says which process has it.

    Forked workers leave it to their parent (filelock sees to that from version 3.30 on): one that outlives it does not
    keep the directory locked.  One that is just being started holds it for a moment longer, so it is waited for.

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
