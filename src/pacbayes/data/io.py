"""Reading of tables from text files and Parquet files, as a whole or in blocks.

Ambiguous files are rejected where pandas would guess silently: files without a header, and rows with more fields than
the header.  Memory is bounded during decompression, because a megabyte on disk can expand to gigabytes.
"""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import os
import re
import warnings
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pacbayes._utils.checks import import_optional
from pacbayes._utils.memory import format_bytes, memory_limit
from pacbayes._utils.progress import progress
from pacbayes.data.rejections import Hint, format_argument, format_names
from pacbayes.data.schema import (
    MISSING_WORDS,
    OTHER_FORMATS,
    PLAIN_NUMBERS,
    NumberFormat,
    UnsupportedValue,
    detect_number_formats,
    expand_missing_markers,
    parse_numbers,
)

if TYPE_CHECKING:
    import pandas as pd

#: Number of bytes and lines from which encoding, separator and number format are detected.
_SAMPLE_BYTES, _SAMPLE_LINES = 2**20, 1000
# Minimum fraction of lines with as many fields as the header, and of cells that are numbers in a numeric column.
_MIN_SHARE = 0.9
_KNOWN_SEPARATORS = {".csv": ",;\t|", ".tsv": "\t,;|"}
# First line of some exports, which tells spreadsheets the separator: "sep=;".
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_NUL_MESSAGE = "{} holds NUL bytes: it is no text, or damaged"
# Memory of a cell in pandas, besides its text.
_CELL_BYTES = 24
# Number of simultaneous copies of the data: the columns of Arrow and those of the data frame.
_COPIES = 2
# Number of cells per block, which may take hundreds of megabytes if all of them are long strings.
_CELLS_PER_BLOCK = 2**20
_MIN_BLOCK_ROWS, _MAX_BLOCK_ROWS = 1_000, 2**16


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a file; those that are None are detected."""

    sep: str | None = None
    encoding: str | None = None
    numbers: NumberFormat | None = None
    #: Additional markers of missing values.
    missing: tuple[str, ...] = ()
    #: Function that formats an option for error messages.
    hint: Hint = format_argument


@dataclass(frozen=True)
class TextFormat:
    """Separator, encoding and number format of a text file."""

    separator: str
    encoding: str
    numbers: NumberFormat

    def __str__(self) -> str:
        """Describe the format, without defaults.

        Examples
        --------
        >>> print(TextFormat(";", "cp1252", NumberFormat(",", ".")))
        separator ';', decimal sign ',', thousands separator '.', encoding cp1252
        """
        parts = [f"separator {'tab' if self.separator == chr(9) else repr(self.separator)}"]
        parts += [f"decimal sign {self.numbers.decimal!r}"] if self.numbers.decimal != "." else []
        parts += [f"thousands separator {self.numbers.thousands!r}"] if self.numbers.thousands else []
        return ", ".join([*parts, f"encoding {self.encoding}"])


def open_table(path: Path, options: ReadOptions | None = None) -> "TableFile":
    """Open a table; raise if its file name extension is unknown."""
    options = options or ReadOptions()
    if not path.exists():
        raise FileNotFoundError(f"no such file: {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder, not a CSV, TSV or Parquet file")
    for ending, kind in _FILE_TYPES.items():
        if any(path.name.lower().endswith(f"{ending}{compressions}") for compressions in kind.compressions):
            file: TableFile = kind(path, options)
            return file
    raise ValueError(
        f"cannot tell the format of {str(path)!r}: the name must end in one of .csv, .tsv (these also with .gz, "
        ".bz2, .xz or .zip) and .parquet"
    )


def check_separator(sep: str) -> str:
    r"""Validate a field separator; a tab may be written as ``\t`` or ``tab``.

    Examples
    --------
    >>> check_separator(";"), check_separator("tab")
    (';', '\t')
    >>> check_separator(";;")
    Traceback (most recent call last):
    ValueError: sep must be one character that is no letter, digit, quote, sign, point or line break, or tab; got ';;'
    """
    if not isinstance(sep, str):
        raise TypeError(f"sep must be a character, got {sep!r}")
    character = "\t" if sep in ("\\t", "tab") else sep
    if len(character) != 1 or character.isalnum() or character in "\"'+-.\n\r\0":
        raise ValueError(
            f"sep must be one character that is no letter, digit, quote, sign, point or line break, or tab; got {sep!r}"
        )
    return character


class TableFile(ABC):
    """File that contains a table.

    Attributes
    ----------
    columns : list of str
        Names of the columns.
    total, done : int
        Size of the file and of the part that was read, in bytes of text files or rows of Parquet files.
    format : TextFormat or None
        Format of a text file.
    """

    compressions: tuple[str, ...] = ("",)
    columns: list[str]
    total: int
    format: TextFormat | None = None

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path, self.options, self.done, self._skip_blanks = path, options, 0, True
        self.missing = expand_missing_markers(options.missing)

    def read(
        self, strings: Collection[str] = (), verbatim: Collection[str] = (), leading_blanks: bool = False
    ) -> "pd.DataFrame":
        """Read all rows.

        Columns in `strings` and `verbatim` are not converted to numbers, and in `verbatim`, no string is a missing
        value.  With `leading_blanks`, blanks after a separator are kept.
        """
        self._skip_blanks = not leading_blanks
        with progress(f"reading {self.path.name!r}", None):
            frame = next(self._iter_frames(None, {*strings, *verbatim}, set(verbatim)), None)
        return self._check_not_empty(frame)

    def blocks(
        self, strings: Collection[str] = (), verbatim: Collection[str] = (), leading_blanks: bool = False
    ) -> "Iterator[pd.DataFrame]":
        """Read the rows in blocks of about a million cells."""
        self._skip_blanks = not leading_blanks
        rows = min(max(_CELLS_PER_BLOCK // max(1, len(self.columns)), _MIN_BLOCK_ROWS), _MAX_BLOCK_ROWS)
        empty, self.done = True, 0
        for frame in self._iter_frames(rows, {*strings, *verbatim}, set(verbatim)):
            if len(frame):
                empty = False
                yield frame
        if empty:
            self._check_not_empty(None)
        self.done = self.total

    def _check_not_empty(self, frame: "pd.DataFrame | None") -> "pd.DataFrame":
        if frame is None or not len(frame):
            raise ValueError(f"{str(self.path)!r} has column names but no rows")
        return frame

    @abstractmethod
    def _iter_frames(self, rows: int | None, strings: set[str], verbatim: set[str]) -> "Iterator[pd.DataFrame]":
        """Yield data frames with a number of rows, or a single one with all rows."""

    def _convert_columns(self, frame: "pd.DataFrame", strings: set[str]) -> "pd.DataFrame":
        """Convert strings in the number format of the file to numbers, and other columns to objects."""
        import pandas as pd

        numbers = self.format.numbers if self.format is not None else self.options.numbers or PLAIN_NUMBERS
        frame = frame.reset_index(drop=True)
        for name in [name for name, dtype in frame.dtypes.items() if dtype.kind not in "biufmM"]:
            column = frame[name]
            # Share one object among equal strings to save memory.
            codes, distinct = pd.factorize(column)
            values = pd.Series(np.append(np.asarray(distinct, dtype=object), np.nan)[codes], dtype=object)
            if name not in strings and numbers != PLAIN_NUMBERS and values.map(lambda v: isinstance(v, str)).any():
                converted, bad = parse_numbers(values, numbers)
                if not bad.any():
                    frame[name] = converted
                    continue
                _check_decimal_points(str(name), values, numbers)
            frame[name] = values
        return frame


# -- text --------------------------------------------------------------------------------------------------------------


class TextFile(TableFile):
    """CSV or TSV file, possibly compressed."""

    compressions = ("", ".gz", ".bz2", ".xz", ".zip")

    def __init__(self, path: Path, options: ReadOptions) -> None:
        super().__init__(path, options)
        self._kind = "TSV" if ".tsv" in path.name.lower() else "CSV"
        self.total = os.path.getsize(path)
        with path.open("rb") as file, self._convert_errors():
            sample = self._open_decompressed(file, MemoryBudget(path)).read(_SAMPLE_BYTES)
        encoding = options.encoding or _detect_encoding(sample, path)
        text = self._decode(sample, encoding)
        first = _SEPARATOR_LINE.match(text)
        text, self._lines_before_header = text[first.end() if first else 0 :], int(first is not None)
        separator = first.group(1) if first and options.sep is None else self._detect_separator(text)
        rows = _split_fields(text, separator)
        if len(text) and len(sample) == _SAMPLE_BYTES:
            rows = rows[:-1] or rows  # the last line may be incomplete
        if not rows:
            raise ValueError(f"cannot read {str(path)!r} as {self._kind}: No columns to parse from file")
        _check_header(rows[0], rows[1:], path)
        # Names as in pandas; a file written by pandas may contain the first of these names already.
        unnamed = [f"Unnamed: {place}" for place in range(len(rows[0]))]
        unnamed = [f"{name}.1" if name in rows[0] else name for name in unnamed]
        self.columns = [name or unnamed[place] for place, name in enumerate(rows[0])]
        numbers = options.numbers or _detect_number_format(self.columns, rows[1:], path, options.hint)
        self.format = TextFormat(separator, encoding, numbers)

    def _open_decompressed(self, file: BinaryIO, budget: "MemoryBudget") -> BinaryIO:
        """Open the decompressed text, which is read within the memory budget."""
        suffix = self.path.suffix.lower()
        source = _UNPACKERS[suffix](file) if suffix in _UNPACKERS else file
        # NUL bytes are valid in UTF-16, and the encoding of the sample is not known yet.
        plain = self.format is not None and not self.format.encoding.startswith("utf-16")
        return io.BufferedReader(
            _BudgetedStream(source, budget, _NUL_MESSAGE.format(repr(str(self.path))) if plain else ""), 2**16
        )

    def _decode(self, sample: bytes, encoding: str) -> str:
        try:
            # The sample may end in the middle of a character.
            text = codecs.getincrementaldecoder(encoding)().decode(sample, final=len(sample) < _SAMPLE_BYTES)
        except LookupError:
            raise ValueError(f"unknown encoding {encoding!r}; known are utf-8, utf-16, latin-1, cp1252 ...") from None
        except UnicodeDecodeError as error:
            raise self._make_decoding_error(encoding) from error
        if "\0" in text:
            raise ValueError(_NUL_MESSAGE.format(repr(str(self.path))))
        return text

    def _make_decoding_error(self, encoding: str) -> ValueError:
        way = self.options.hint("encoding", "cp1252")
        return ValueError(f"{str(self.path)!r} is not text in the encoding {encoding}; give another, such as {way}")

    def _detect_separator(self, text: str) -> str:
        """Detect the separator that splits all lines into the same number of fields; raise if there are several."""
        if self.options.sep is not None:
            return check_separator(self.options.sep)
        known = _KNOWN_SEPARATORS[f".{self._kind.lower()}"]
        fitting = []
        for character in known:
            widths = [len(row) for row in _split_fields(text, character)]
            if widths and widths[0] > 1 and widths.count(widths[0]) >= _MIN_SHARE * len(widths):
                fitting.append(character)
        if len(fitting) > 1:
            raise ValueError(
                f"the fields of {str(self.path)!r} may be separated by {' or '.join(map(repr, fitting))}: give "
                f"{' or '.join(self.options.hint('sep', one) for one in fitting)}"
            )
        return fitting[0] if fitting else known[0]

    def _iter_frames(self, rows: int | None, strings: set[str], verbatim: set[str]) -> "Iterator[pd.DataFrame]":
        import pandas as pd

        assert self.format is not None
        rows = rows if _rejects_long_lines() else None
        budget, markers = MemoryBudget(self.path), [*MISSING_WORDS, *self.missing]
        # Before version 3.1, pandas parses decimals only to about 1e-12 by default.  Since 3.1, it parses them exactly
        # and the option is deprecated.
        exact = tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
        with self.path.open("rb") as file, self._convert_errors():
            parts: Any = pd.read_csv(
                self._open_decompressed(file, budget),
                sep=self.format.separator,
                encoding=self.format.encoding,
                header=0,
                skiprows=self._lines_before_header,
                names=self.columns,
                index_col=False,
                na_values={name: [] if name in verbatim else markers for name in self.columns} if verbatim else markers,
                keep_default_na=False,
                dtype=dict.fromkeys(strings, str),
                skipinitialspace=self._skip_blanks,
                low_memory=False,
                decimal=self.format.numbers.decimal,
                float_precision=None if exact else "round_trip",
                chunksize=rows,
            )
            for frame in [parts] if rows is None else parts:
                # pandas reads ahead by less than a block.
                self.done = file.tell()
                budget.reset()
                yield self._convert_columns(frame, strings)

    def _hint_decimal_comma(self) -> str:
        hint = self.options.hint
        return f"; commas before decimals are {hint('decimal', ',')}" if len(self.columns) == 1 else ""

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        """Convert errors of pandas to single-line messages that name the file."""
        import pandas as pd

        try:
            with warnings.catch_warnings():
                # With index_col=False, pandas would drop surplus fields with a warning.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                yield
        except pd.errors.ParserWarning:
            raise ValueError(
                f"the rows of {str(self.path)!r} have more fields than its line of {len(self.columns)} column "
                f"names{self._hint_decimal_comma()}"
            ) from None
        except UnicodeError:
            raise self._make_decoding_error(self.format.encoding if self.format else "utf-8") from None
        except (ValueError, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
            if repr(str(self.path)) in str(error):
                raise
            raise ValueError(f"cannot read {str(self.path)!r} as {self._kind}: {str(error).strip()}") from None


@cache
def _rejects_long_lines() -> bool:
    """Whether pandas rejects over-long lines at chunk boundaries; otherwise files are read in a single chunk."""
    import pandas as pd

    try:
        list(pd.read_csv(io.StringIO("a\n1\n2\n3,4\n"), chunksize=2, index_col=False))
    except pd.errors.ParserError:
        return True
    return False


def _detect_encoding(sample: bytes, path: Path) -> str:
    """Detect the encoding of a text from its first bytes.

    Examples
    --------
    >>> [_detect_encoding("Größe".encode(name), Path("x.csv")) for name in ("utf-8", "utf-8-sig", "utf-16")]
    ['utf-8', 'utf-8-sig', 'utf-16']
    >>> [_detect_encoding("Größe€".encode(name, "ignore"), Path("x.csv")) for name in ("latin-1", "cp1252")]
    ['latin-1', 'cp1252']
    """
    if sample.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    zeros = sample.count(0)
    if zeros:
        even = sample[::2].count(0)
        if 5 * zeros >= len(sample) and (even == 0 or even == zeros):
            return "utf-16-le" if even == 0 else "utf-16-be"
        raise ValueError(_NUL_MESSAGE.format(repr(str(path))))
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
        return "utf-8"
    except UnicodeDecodeError:
        windows = any(0x80 <= byte <= 0x9F for byte in set(sample)) and not set(sample) & set(b"\x81\x8d\x8f\x90\x9d")
        return "cp1252" if windows else "latin-1"


def _split_fields(text: str, separator: str) -> list[list[str]]:
    """Split the first nonempty lines of a text into fields."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
        return [row for row in islice(lines, _SAMPLE_LINES) if row]
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(limit)


def _check_header(header: list[str], rows: list[list[str]], path: Path) -> None:
    """Raise if the first line is not a header, or has duplicate names.

    Numbers, such as years, and values of a column are accepted as names, but not both in one header.
    """
    are_numbers = [PLAIN_NUMBERS.parse_number(cell) is not None for cell in header]
    others = [i for i, is_number in enumerate(are_numbers) if not is_number and header[i]]
    names = [i for i in others if all(header[i] != row[i] for row in rows if i < len(row))]
    if any(header) and (not names or (len(names) < len(others) and any(are_numbers))):
        what = "only numbers" if all(are_numbers) else "numbers, and values that its columns hold too"
        raise ValueError(
            f"the first line of {str(path)!r} must hold column names, but it holds {what} ({format_names(header)}); "
            "add a line of names, or the first example is lost"
        )
    repeated = sorted(cell for cell, times in Counter(header).items() if times > 1 and cell)
    if repeated:
        raise ValueError(f"column names of {str(path)!r} must differ, got more than once: {format_names(repeated)}")


def _detect_number_format(names: list[str], rows: list[list[str]], path: Path, hint: Hint) -> NumberFormat:
    """Detect the number format; raise if there are several possible formats."""
    readable_in: dict[str, set[str]] = {}
    with_points: dict[str, set[str]] = {}
    for i, name in enumerate(names):
        cells = {row[i].strip() for row in rows if i < len(row)}.difference(MISSING_WORDS)
        numbers = {
            cell for cell in cells if any(one.parse_number(cell) is not None for one in (PLAIN_NUMBERS, *OTHER_FORMATS))
        }
        if not numbers or len(numbers) < _MIN_SHARE * len(cells):
            continue
        if PLAIN_NUMBERS.parses_all(numbers):
            with_points |= {name: numbers} if any("." in cell for cell in numbers) else {}
        elif detect_number_formats(numbers):
            readable_in[name] = numbers
        else:
            raise ValueError(
                f"column {name!r} of {str(path)!r} writes numbers in several ways "
                f"({format_names(sorted(numbers)[:3])}): make them one, or give {hint('decimal', '.')} "
                f"if they are categories"
            )
    if not readable_in:
        return PLAIN_NUMBERS
    formats = detect_number_formats(set().union(*readable_in.values()))
    if formats and all(one.decimal == "," for one in formats) and with_points:
        # A point must be a thousands separator then; otherwise the file is rejected when it is read.
        formats = detect_number_formats(set().union(*readable_in.values(), *with_points.values())) or formats
    if len(formats) > 1:
        name, cells = next(iter(readable_in.items()))
        cell = next(cell for cell in sorted(cells) if PLAIN_NUMBERS.parse_number(cell) is None)
        ways = [
            " ".join(
                [hint("decimal", one.decimal)] * (one.decimal != ".")
                + ([] if one.thousands is None else [hint("thousands", one.thousands)])
            )
            for one in formats
        ]
        raise ValueError(
            f"the numbers in column {name!r} of {str(path)!r} may be read in {len(formats)} ways ({cell!r}): give "
            f"{', or '.join(ways)}"
        )
    return formats[0] if formats else PLAIN_NUMBERS


def _check_decimal_points(name: str, values: Any, numbers: NumberFormat) -> None:
    """Raise if numbers contain a point although the decimal sign is a comma, because they are ambiguous."""
    cells = {cell for cell in values if isinstance(cell, str)}
    wrong = sorted(cell for cell in cells if "." in cell and PLAIN_NUMBERS.parse_number(cell) is not None)
    if numbers.decimal == "," and wrong:
        raise ValueError(
            f"column {name!r} holds {wrong[0]!r}, but the decimal sign of the file, or of the model's own table, is a "
            "comma; give '.' as decimal if it is a point here, or as thousands too if it is between these"
        )


class MemoryBudget:
    """Memory budget for reading a file: half of the memory that is free at the start.

    Examples
    --------
    >>> budget = MemoryBudget(Path("own.csv"))
    >>> budget.reserve(1000)
    >>> try:
    ...     budget.reserve(10**15)
    ... except MemoryError as error:
    ...     print(str(error).split(",")[0])
    reading 'own.csv' needs more than half of the free memory
    """

    def __init__(self, path: Path) -> None:
        self._path, self._reserved = path, 0
        self._limit, self._name = memory_limit(None)

    def reserve(self, size: int) -> None:
        """Add a number of bytes; raise `MemoryError` if the budget is exceeded."""
        self._reserved += size
        if self._limit is not None and self._reserved > self._limit:
            raise MemoryError(
                f"reading {str(self._path)!r} needs more than {self._name} {format_bytes(self._limit)}: use a machine "
                "with more memory, or a file of fewer rows or columns"
            )

    def reset(self) -> None:
        """Reset the budget, because earlier blocks have been freed."""
        self._reserved = 0


class _BudgetedStream(io.RawIOBase):
    """Stream that charges its bytes, and a cell for each separator and line end, to a memory budget."""

    def __init__(self, source: BinaryIO, budget: MemoryBudget, nul: str) -> None:
        self._source, self._budget, self._nul = source, budget, nul

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(len(buffer))
        if self._nul and b"\0" in data:
            raise ValueError(self._nul)
        # Count all separators, because the actual one may not be known yet.
        cells = sum(data.count(character) for character in (b",", b";", b"\t", b"|", b" ", b"\n", b"\r"))
        self._budget.reserve(len(data) + _CELL_BYTES * cells)
        buffer[: len(data)] = data
        return len(data)


def _open_single_member(file: BinaryIO) -> Any:
    archive = zipfile.ZipFile(file)
    members = [info for info in archive.infolist() if not info.is_dir()]
    if len(members) != 1:
        raise ValueError(f"its archive must hold one file, got {len(members)}")
    # Other methods cannot be decompressed incrementally.
    if members[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or members[0].flag_bits & 1:
        raise ValueError("its archive must be packed by the method deflate, without a password")
    return archive.open(members[0])


_UNPACKERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zip": _open_single_member,
}


# -- Parquet -----------------------------------------------------------------------------------------------------------


class ParquetTable(TableFile):
    """Parquet file.

    Strings are read as dictionaries, so that their length is known before they are copied.  Only columns of numbers,
    dates and strings are read, because the size of others cannot be determined from the file.
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        super().__init__(path, options)
        if options.sep is not None or options.encoding is not None:
            raise ValueError(f"sep and encoding are for CSV and TSV files, got them for {str(path)!r}")
        with self._convert_errors():
            import pyarrow as pa
            from pyarrow.parquet import ParquetFile

            # With `pre_buffer`, the file would be held in memory.
            schema = ParquetFile(path, pre_buffer=False).schema_arrow
            index = (schema.pandas_metadata or {}).get("index_columns", [])
            fields = [field for field in schema if field.name not in index]
            self.columns = [str(field.name) for field in fields]
            self._types = {str(field.name): field.type for field in fields}
            if len(self._types) < len(fields):
                repeated = [name for name, times in Counter(self.columns).items() if times > 1]
                raise ValueError(
                    f"column names of {str(path)!r} must differ, got more than once: {format_names(repeated)}"
                )
            bounded = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_null, _is_string)
            self._read = [
                name for name, kind in self._types.items() if any(test(_value_type(kind)) for test in bounded)
            ]
            strings = [name for name in self._read if _is_string(self._types[name])]
            self._file = ParquetFile(path, pre_buffer=False, read_dictionary=strings)
            self.total = self._file.metadata.num_rows

    def _iter_frames(self, rows: int | None, strings: set[str], verbatim: set[str]) -> "Iterator[pd.DataFrame]":
        with self._convert_errors():
            import pyarrow as pa

            metadata = self._file.metadata
            groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
            chunks = [[group.column(j) for j in range(group.num_columns)] for group in groups]
            chunks = [[chunk for chunk in group if chunk.path_in_schema in self._read] for group in chunks]
            sizes = [[max(0, chunk.total_uncompressed_size) for chunk in group] for group in chunks]
            if rows is None:
                budget = MemoryBudget(self.path)
                budget.reserve(_COPIES * sum(8 * max(0, chunk.num_values) for group in chunks for chunk in group))
                budget.reserve(sum(map(sum, sizes)))
                yield self._to_frame(self._file.read(columns=self._read), budget, strings, verbatim)
                return
            # A single string may take all of a column chunk.
            MemoryBudget(self.path).reserve(_COPIES * max((size for group in sizes for size in group), default=0))
            for batch in self._file.iter_batches(batch_size=rows, columns=self._read):
                self.done += batch.num_rows
                table = pa.Table.from_batches([batch])
                yield self._to_frame(table, MemoryBudget(self.path), strings, verbatim)

    def _to_frame(self, table: Any, budget: MemoryBudget, strings: set[str], verbatim: set[str]) -> "pd.DataFrame":
        import pandas as pd
        import pyarrow as pa
        from pyarrow import compute

        series_by_name: dict[str, Any] = {}
        for name in self.columns:
            if name not in self._read:
                series_by_name[name] = pd.Series(
                    [UnsupportedValue(str(self._types[name]))] * table.num_rows, dtype=object
                )
                continue
            column = table.column(name)
            if pa.types.is_dictionary(column.type):
                for chunk in column.chunks if _is_string(column.type.value_type) else ():
                    lengths = compute.binary_length(chunk.dictionary).take(chunk.indices)
                    budget.reserve(_COPIES * (compute.sum(lengths).as_py() or 0))
                column = column.cast(column.type.value_type)
            if pa.types.is_decimal(column.type):
                column = column.cast(pa.float64())
            values = column.to_pandas(date_as_object=False)
            missing = () if name in verbatim else self.missing
            series_by_name[name] = _replace_markers(values, missing)
            if name in strings and values.dtype.kind in "iufb":
                series_by_name[name] = values.astype(object).where(values.notna(), np.nan).map(str, na_action="ignore")
        return self._convert_columns(pd.DataFrame(series_by_name), strings)

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        """Raise if pyarrow is not installed, and convert its errors to messages that name the file."""
        import_optional("pyarrow", f"reading {str(self.path)!r}")
        try:
            yield
        except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError
            if repr(str(self.path)) in str(error) or str(error).startswith("column"):
                raise
            raise ValueError(f"cannot read {str(self.path)!r} as Parquet: {error}") from None


def _value_type(kind: Any) -> Any:
    return getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind


def _is_string(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _replace_markers(values: "pd.Series[Any]", missing: Sequence[str]) -> "pd.Series[Any]":
    """Replace missing-value markers, in the form of strings or numbers, by missing values."""
    if not missing or values.dtype.kind in "bmM":
        return values
    numbers = [number for number in map(PLAIN_NUMBERS.parse_number, missing) if number is not None]
    marked = values.isin(numbers if values.dtype.kind in "iuf" else [*missing, *numbers])
    return values.mask(marked) if marked.any() else values


_FILE_TYPES: dict[str, Any] = {".csv": TextFile, ".tsv": TextFile, ".parquet": ParquetTable}
