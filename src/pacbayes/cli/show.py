"""Output of the commands: results to stdout, messages to stderr."""

import io
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from pacbayes._utils.words import escape_controls, escape_lines
from pacbayes.cli.options import with_option_names

if TYPE_CHECKING:
    from pacbayes.report.tables import TextTable


class BestEffortStream:
    """Stream that ignores write errors (such as a full disk), so that failing messages do not suppress results."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text, if possible."""
        self._write_or_ignore(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush the buffer, if possible."""
        self._write_or_ignore(self._stream.flush)

    def _write_or_ignore(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError:
            # Discard the buffer too: Python would try again on exit and fail.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def print_lines(*lines: str) -> None:
    """Print lines to stdout, wrapped at words on a terminal; empty lines are skipped, except at the end."""
    last = len(lines) - 1
    _write("\n".join(escape_controls(line) for i, line in enumerate(lines) if line or i == last), sys.stdout)


def _write(text: str, stream: TextIO, style: str = "") -> None:
    if not stream.isatty():
        print(text, file=stream)
        return
    from rich.console import Console
    from rich.text import Text

    Console(file=stream, highlight=False).print(Text(text, style=style))


def print_file(file: BinaryIO) -> None:
    """Copy a text file to stdout; control characters are escaped on a terminal only."""
    file.seek(0)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    is_terminal = sys.stdout.isatty()
    while part := text.read(2**20):
        sys.stdout.write(escape_lines(part) if is_terminal else part)
    text.detach()


def print_tables(tables: "Iterable[TextTable]", note: "Note") -> None:
    """Print tables: with rich on a terminal, otherwise tab-separated, with an empty line between tables.

    Captions are printed below the tables on a terminal, otherwise as notes.
    """
    for i, table in enumerate(tables):
        if sys.stdout.isatty():
            _draw(table)
            continue
        lines = [table.columns, *table.rows]
        print(("\n" if i else "") + "\n".join("\t".join(map(escape_controls, line)) for line in lines))
        if table.caption:
            note(f"{table.title}: {table.caption}")


def _draw(table: "TextTable") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=Text(table.title, style="bold"), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name, numeric in zip(table.columns, table.numeric, strict=True):
        drawn.add_column(Text(name), justify="right" if numeric else "left")
    for row in table.rows:
        # Use Text, so that names from the data are not parsed as markup.
        drawn.add_row(*(Text(escape_controls(cell)) for cell in row))
    Console(highlight=False).print(drawn)
    if table.caption:
        _write(f"{escape_controls(table.caption)}\n", sys.stdout, "dim")


def print_json(values: Any) -> None:
    """Print values as strict JSON; infinities and NaN become null."""
    print(json.dumps(_to_json(values), indent=2, allow_nan=False))


def _to_json(value: Any) -> Any:
    """Convert a value to JSON types; other types become their repr."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _to_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else " ".join(repr(value).split())


class Note:
    """Print messages to stderr, unless `quiet`."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet

    def __call__(self, text: str) -> None:
        """Print one paragraph."""
        if self.quiet:
            return
        # Preserve the order of both streams on a terminal.
        sys.stdout.flush()
        _write(escape_controls(text), sys.stderr)


@contextmanager
def warnings_as_notes(note: Note) -> Iterator[None]:
    """Print each distinct warning once, as a one-line note."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            # Also print warnings after an error, which they may explain.
            counts: dict[str, int] = {}
            for warning in caught:
                if not issubclass(warning.category, DeprecationWarning | FutureWarning):
                    text = with_option_names(" ".join(str(warning.message).split()))
                    counts[text] = counts.get(text, 0) + 1
            for text, times in counts.items():
                note(f"warning: {text}" + (f" ({times} times)" if times > 1 else ""))
