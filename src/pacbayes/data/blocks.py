"""Another file, block by block, with its columns read as those of the model's own table were."""

import csv
import io
import math
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.data.columns import as_text, float_of, is_nan, values_of
from pacbayes.data.number_format import AS_USUAL, NumberFormat, suggest_number_formats
from pacbayes.data.packed_files import MemoryBudget, ParquetRows, unpacked_text, without_missing
from pacbayes.data.reading import check_frame, csv_frames, file_kind, is_number, listed
from pacbayes.data.rejections import in_shell
from pacbayes.data.tables import TableReading, TextColumn

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
    path, missing, as_text, sep, signs
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
        signs: NumberFormat | None = None,
        rows: int | None = None,
    ) -> None:
        self._path, self._rows = path, rows
        self._separator = file_kind(path, sep)
        self._missing, self._texts = missing, (as_text, as_written, spaces, signs)
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
            rows, (as_text, as_written, _, signs) = ParquetRows(self._path), self._texts
            for frame in rows.blocks(self._rows_of(rows.metadata.num_columns)):
                self.done += len(frame)
                texts = [*as_text, *(frame.columns[one] if isinstance(one, int) else one for one in as_written)]
                yield (signs or AS_USUAL).read(without_missing(frame, self._missing), texts)
            return
        with self._path.open("rb") as file:
            frames = csv_frames(self._path, file, self._separator, self._missing, *self._texts, rows=self._rows_of)
            for number, frame in enumerate(frames):
                if number == 1 and not _lines_are_counted():
                    _check_lines(self._path, self._separator, spaces=self._texts[2])
                # What the file was asked for so far: pandas reads ahead, by less than a block.
                self.done = file.tell()
                yield frame

    def _rows_of(self, columns: int) -> int:
        return self._rows or min(max(_CELLS // max(1, columns), _FEWEST_ROWS), _MOST_ROWS)


@cache
def _lines_are_counted() -> bool:
    """Return whether pandas refuses a line with too many fields also where a block begins.

    Older versions drop what is too much there, in silence.
    """
    import pandas as pd

    try:
        list(pd.read_csv(io.StringIO("a\n1\n2\n3,4\n"), chunksize=2, index_col=False))
    except pd.errors.ParserError:
        return True
    return False


def _check_lines(path: Path, separator: str, spaces: bool) -> None:
    """Raise for a line of more fields than the names, and the first line below them, have."""
    room, limit = MemoryBudget(path), csv.field_size_limit(2**31 - 1)
    try:
        with path.open("rb") as file:
            raw = unpacked_text(file, path.suffix.lower(), separator, room)
            # Whatever is no UTF-8 has been, or will be, refused by pandas.
            text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")
            lines = csv.reader(text, delimiter=separator, skipinitialspace=not spaces)
            most, above = 0, 2
            for line in lines:
                room.clear()
                if above and (len(line) > 1 or "".join(line).strip()):
                    most, above = max(most, len(line)), above - 1
                elif len(line) > most:
                    raise ValueError(
                        f"cannot read {str(path)!r}: line {lines.line_num} has {len(line)} fields, the lines before it "
                        f"have {most}"
                    )
    finally:
        csv.field_size_limit(limit)


class ColumnFit:
    """Columns of known types in another file, block by block: what is refused does not depend on the blocks.

    A column of True and False is one of numbers, as long as the whole file holds nothing else in it.

    Parameters
    ----------
    names : sequence of str
        The features, in their order.
    reading : TableReading
        How the table of the model was read.
    where : str
        The file, as it is called in errors.
    cells : bool
        Whether it is a CSV or TSV file, whose texts, as they are written, may stand for gaps.

    Examples
    --------
    >>> import pandas as pd
    >>> fitted = ColumnFit(["a"], TableReading(), "'new.csv'")
    >>> fitted.fit(pd.DataFrame({"b": ["x", "y"], "a": [True, False]}))["a"].tolist()
    [1.0, 0.0]
    >>> fitted.fit(pd.DataFrame({"a": [3, 4]}))
    Traceback (most recent call last):
    ValueError: column 'a' of 'new.csv' must hold numbers, got 'True' in example 1
    """

    def __init__(self, names: Sequence[str], reading: TableReading, where: str, cells: bool = True) -> None:
        self._names, self._reading, self._where, self._cells = list(names), reading, where, cells
        self._text = {self._names[column.place]: column for column in reading.text}
        #: Rows of the blocks so far.
        self.done = 0
        self._truths: dict[str, tuple[int, str]] = {}
        self._with_numbers: set[str] = set()
        if reading.unclear:
            raise ValueError(
                f"the model was fitted with dates, or with numbers among texts, in "
                f"{_of(self._names, reading.unclear)}, which {where} cannot hold as they were: use the model in Python"
            )

    def fit(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Return the columns of the next block, numbers as float64, categories as text."""
        import pandas as pd

        absent = [name for name in self._names if name not in frame.columns]
        if absent:
            raise ValueError(f"{self._where} lacks the columns {listed(absent)}, which the model was trained with")
        made: dict[str, Any] = {}
        wrong = []
        for name in self._names:
            if name in self._text:
                made[name], said = self._texts(frame[name], self._text[name])
            else:
                made[name], said = self._numbers(frame[name], name)
            wrong += [] if said is None else [f"column {name!r} of {self._where} must hold {said}"]
        if wrong:
            raise ValueError(_together(wrong))
        self.done += len(frame)
        return pd.DataFrame(made)

    def _texts(self, series: "pd.Series[Any]", column: TextColumn) -> tuple[NDArray[Any] | None, str | None]:
        """Return a column as text, or None and what it must hold and does not."""
        values, reading = values_of(series), self._reading
        places = {value: i for i, value in reversed(list(enumerate(values))) if isinstance(value, str)}
        gaps = {text: self._cells and reading.is_gap(column, text) for text in places}
        unknown = min((places[text] for text, gap in gaps.items() if gap is None), default=-1)
        if unknown >= 0:
            return None, f"texts that are known to be gaps or not, got {self._unknown(values[unknown], unknown)}"
        bad = next((i for i, value in enumerate(values) if not (isinstance(value, str) or is_nan(value))), -1)
        if reading.as_written and bad >= 0:
            return None, f"text, got {values[bad]!r} in example {self.done + bad + 1}"
        kept = [math.nan if isinstance(value, str) and gaps[value] else value for value in values]
        made = np.array(kept, dtype=object)
        return made if reading.as_written else as_text(made), None

    def _unknown(self, text: str, place: int) -> str:
        gap, no_gap = in_shell("missing", text), in_shell("not_missing", text)
        return (
            f"{text!r} in example {self.done + place + 1}: the model was not fitted with a CSV or TSV file and cannot "
            f"say; give {gap} if it means that the value is missing, or {no_gap} if it is a text"
        )

    def _numbers(self, series: "pd.Series[Any]", name: str) -> tuple[NDArray[np.float64] | None, str | None]:
        """Return a column as numbers, or None and what it must hold and does not."""
        if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
            numbers = series.to_numpy(dtype=np.float64)
            infinite = np.isinf(numbers)
            if infinite.any():
                bad = int(infinite.argmax())
                return None, f"finite numbers, got {series.iloc[bad]!r} in example {self.done + bad + 1}"
            if not np.isnan(numbers).all():
                self._with_numbers.add(name)
            return numbers, self._mixed(name)
        values = values_of(series)
        found = [float_of(value) if is_nan(value) or is_number(value) else None for value in values]
        bad = next((i for i, number in enumerate(found) if number is None or math.isinf(number)), -1)
        if bad >= 0:
            finite = "" if found[bad] is None else "finite "
            ways = suggest_number_formats([values[bad]], in_shell)
            way = f" ({', or '.join(ways)})" if ways else ""
            return None, f"{finite}numbers, got {values[bad]!r} in example {self.done + bad + 1}{way}"
        for i, value in enumerate(values):
            if isinstance(value, bool | np.bool_):
                self._truths.setdefault(name, (self.done + i + 1, str(value)))
            elif not is_nan(value):
                self._with_numbers.add(name)
        return np.array(found, dtype=np.float64), self._mixed(name)

    def _mixed(self, name: str) -> str | None:
        """Return what is wrong with a column in which some blocks hold True and False and others numbers."""
        if name not in self._truths or name not in self._with_numbers:
            return None
        place, word = self._truths[name]
        return f"numbers, got {word!r} in example {place}"


def _of(names: Sequence[str], places: Sequence[int]) -> str:
    chosen = [names[place] for place in places]
    return f"{'column' if len(chosen) == 1 else 'columns'} {listed(chosen)}"


def _together(wrong: Sequence[str], most: int = 10) -> str:
    rest = f"; and so {len(wrong) - most} more" if len(wrong) > most else ""
    return "; ".join(wrong[:most]) + rest
