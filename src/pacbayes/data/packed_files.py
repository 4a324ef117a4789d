"""How far a file is unpacked: a megabyte on disk can be gigabytes in memory.  Compressed text, and Parquet."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pacbayes._utils.checks import import_optional
from pacbayes._utils.memory import memory_limit, readable

if TYPE_CHECKING:
    import pandas as pd

# What pandas takes for a cell of a text file beside its text: where it begins, and its value.
_CELL_BYTES = 24


class MemoryBudget:
    """The memory that reading a file may take: half of what is free when it begins.

    Examples
    --------
    >>> room = MemoryBudget(Path("own.csv"))
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

    def __init__(self, source: BinaryIO, separator: str, room: MemoryBudget) -> None:
        self._source, self._separator, self._room = source, separator.encode(), room

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(len(buffer))
        self._room.take(len(data) + _CELL_BYTES * (data.count(self._separator) + data.count(b"\n")))
        buffer[: len(data)] = data
        return len(data)


def unpacked_text(file: BinaryIO, suffix: str, separator: str, room: MemoryBudget) -> BinaryIO:
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

# Arrow's columns and those of the data frame exist at once.
_COPIES = 2


class ParquetRows:
    """A Parquet file whose texts are written out only after their length is known.

    Its own metadata say how many numbers it holds.  Of texts they do not: one that stands in a million rows may be
    stored once.  So texts are read as a list of different ones and where each stands, and counted before they are
    copied.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with need_pyarrow(path):
            from pyarrow.parquet import ParquetFile

            # Read ahead, it would hold the file.
            self._file = ParquetFile(path, pre_buffer=False)
            columns = [self._file.schema.column(j) for j in range(self.metadata.num_columns)]
            texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
            self._schema = self._file.schema_arrow
            self._file = ParquetFile(path, pre_buffer=False, read_dictionary=texts)

    @property
    def metadata(self) -> Any:
        """What the file says of itself."""
        return self._file.metadata

    def whole(self) -> "pd.DataFrame":
        """Return all rows as a data frame, or raise `MemoryError` before they are read."""
        room = MemoryBudget(self._path)
        groups = [self.metadata.row_group(i) for i in range(self.metadata.num_row_groups)]
        chunks = [group.column(j) for group in groups for j in range(group.num_columns)]
        room.take(_COPIES * sum(8 * max(0, chunk.num_values) for chunk in chunks))
        room.take(sum(max(0, chunk.total_uncompressed_size) for chunk in chunks))
        with need_pyarrow(self._path):
            return self._frame(self._file.read(), room)

    def blocks(self, rows: int) -> "Iterator[pd.DataFrame]":
        """Yield data frames of so many rows; raise `MemoryError` before one is made that is too long."""
        with need_pyarrow(self._path):
            import pyarrow as pa

        batches = self._file.iter_batches(batch_size=rows)
        while True:
            with need_pyarrow(self._path):
                batch = next(batches, None)
                if batch is None:
                    return
                frame = self._frame(pa.Table.from_batches([batch]), MemoryBudget(self._path)).reset_index(drop=True)
            yield frame

    def _frame(self, table: Any, room: MemoryBudget) -> "pd.DataFrame":
        """Return a table with its texts written out, as a data frame."""
        import pyarrow as pa
        from pyarrow import compute

        for j, field in enumerate(self._schema):
            column = table.column(j)
            if column.type == field.type or not pa.types.is_dictionary(column.type):
                continue
            for chunk in column.chunks:
                lengths = compute.binary_length(chunk.dictionary).take(chunk.indices)
                room.take(_COPIES * (compute.sum(lengths).as_py() or 0))
            table = table.set_column(j, field, column.cast(field.type))
        frame: pd.DataFrame = table.to_pandas()
        return frame


@contextmanager
def need_pyarrow(path: Path) -> Iterator[None]:
    """Say that pyarrow is missing, or that a file is no Parquet."""
    import_optional("pyarrow", f"reading {str(path)!r}")
    try:
        yield
    except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError
        raise ValueError(f"cannot read {str(path)!r} as Parquet: {error}") from None


def without_missing(frame: "pd.DataFrame", missing: Sequence[str], but: Sequence[str] = ()) -> "pd.DataFrame":
    """Return a frame, in which gaps are gaps, without the texts and numbers that stand for some too.

    Examples
    --------
    >>> import pandas as pd
    >>> without_missing(pd.DataFrame({"a": [1, 999], "b": ["?", "x"]}), ["999", "?"]).isna().to_numpy().tolist()
    [[False, True], [True, False]]
    """
    from pandas.api.types import is_bool_dtype

    gaps = [*missing, *_numbers(missing)]
    for name in frame.columns if gaps else ():
        if name in but or is_bool_dtype(frame[name]):
            continue
        found = frame[name].isin(gaps)
        if found.any():
            frame[name] = frame[name].mask(found)
    return frame


def _numbers(texts: Sequence[str]) -> Iterator[float]:
    for text in texts:
        try:
            yield float(text)
        except ValueError:
            continue
