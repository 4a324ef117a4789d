"""How far a user's file is unpacked: a megabyte on disk can be gigabytes in memory."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from pacbayes.runtime.memory import memory_limit, readable

# What pandas takes for a cell of a text file beside its text: where it begins, and its value.
_CELL_BYTES = 24


class Room:
    """The memory that reading a file may take: half of what is free when it begins.

    Examples
    --------
    >>> room = Room(Path("own.csv"))
    >>> room.take(1000)
    >>> try:
    ...     room.take(10**15)
    ... except MemoryError as error:
    ...     print(str(error).split(",")[0])
    reading 'own.csv' needs more than half of the free memory
    """

    def __init__(self, path: Path) -> None:
        self._path, self._taken = path, 0
        self._limit, self._name = memory_limit(None)

    def take(self, size: int) -> None:
        """Raise `MemoryError` if, with so many bytes more, it would be too much."""
        self._taken += size
        if self._limit is not None and self._taken > self._limit:
            raise MemoryError(
                f"reading {str(self._path)!r} needs more than {self._name} {readable(self._limit)}: use a machine with "
                "more memory, or a file of fewer rows or columns"
            )

    def clear(self) -> None:
        """Begin anew: what was read before is not kept."""
        self._taken = 0


class _CountedText(io.RawIOBase):
    """Text as it is unpacked, a bit at a time, in a room that it must not outgrow."""

    def __init__(self, source: BinaryIO, separator: str, room: Room) -> None:
        self._source, self._separator, self._room = source, separator.encode(), room

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(len(buffer))
        self._room.take(len(data) + _CELL_BYTES * (data.count(self._separator) + data.count(b"\n")))
        buffer[: len(data)] = data
        return len(data)


def unpacked_text(file: BinaryIO, suffix: str, separator: str, room: Room) -> BinaryIO:
    """Return the text of an open file, unpacked as the end of its name says, no further than there is room."""
    source = _UNPACKERS[suffix](file) if suffix in _UNPACKERS else file
    return io.BufferedReader(_CountedText(source, separator, room), 2**16)


def _only_member(file: BinaryIO) -> Any:
    archive = zipfile.ZipFile(file)
    members = [info for info in archive.infolist() if not info.is_dir()]
    if len(members) != 1:
        raise ValueError(f"its archive must hold one file, got {len(members)}")
    # Other methods cannot be unpacked a bit at a time.
    if members[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or members[0].flag_bits & 1:
        raise ValueError("its archive must be packed by the method deflate, without a password")
    return archive.open(members[0])


_UNPACKERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zip": _only_member,
}
