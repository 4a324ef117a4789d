"""A user's file block by block: some rows at a time, for work whose memory must not grow with the file."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pacbayes.data.files.parquet import ParquetRows, without_missing
from pacbayes.data.files.reading import check_frame, csv_frames, file_kind

if TYPE_CHECKING:
    import pandas as pd

# Cells of a block: some hundred megabytes, were all of them long texts.
_CELLS = 2**20
_FEWEST_ROWS, _MOST_ROWS = 1_000, 2**16


class FileBlocks:
    """The rows of a CSV, TSV or Parquet file in blocks, each a data frame as `read_frame` would give it.

    What kind of numbers a column of a CSV file holds is seen in each block anew: who needs one kind for the whole file
    has to compare (see `ColumnFit`).

    Parameters
    ----------
    path, missing, as_text, sep
        As for `read_frame`.
    as_written, spaces
        As for `csv_frames`.
    rows : int, optional
        Rows of a block, by default about a million cells.

    Attributes
    ----------
    total, done : int
        The size of the work and how much of it is done: bytes of a text file, rows of a Parquet file.
    """

    def __init__(
        self,
        path: Path,
        missing: Sequence[str] = (),
        as_text: Sequence[str] = (),
        sep: str | None = None,
        as_written: Sequence[str | int] = (),
        spaces: bool = False,
        rows: int | None = None,
    ) -> None:
        self._path, self._rows = path, rows
        self._separator = file_kind(path, sep)
        self._missing, self._texts = missing, (as_text, as_written, spaces)
        self.done = 0
        self.total = os.path.getsize(path) if self._separator is not None else ParquetRows(path).metadata.num_rows

    def __iter__(self) -> "Iterator[pd.DataFrame]":
        """Yield the blocks, at least one, each with at least one row."""
        self.done = 0
        empty = True
        for frame in self._frames():
            if len(frame):
                empty = False
                yield check_frame(frame, self._path)
        if empty:
            raise ValueError(f"{str(self._path)!r} has column names but no rows")
        self.done = self.total

    def _frames(self) -> "Iterator[pd.DataFrame]":
        if self._separator is None:
            rows = ParquetRows(self._path)
            for frame in rows.blocks(self._rows_of(rows.metadata.num_columns)):
                self.done += len(frame)
                yield without_missing(frame, self._missing)
            return
        with self._path.open("rb") as file:
            for frame in csv_frames(self._path, file, self._separator, self._missing, *self._texts, rows=self._rows_of):
                # What the file was asked for so far: pandas reads ahead, by less than a block.
                self.done = file.tell()
                yield frame

    def _rows_of(self, columns: int) -> int:
        return self._rows or min(max(_CELLS // max(1, columns), _FEWEST_ROWS), _MOST_ROWS)
