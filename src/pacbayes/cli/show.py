"""What the commands print: tables to stdout, everything else to stderr."""

import io
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from pacbayes._utils.words import printable, printable_lines
from pacbayes.cli.options import in_options

if TYPE_CHECKING:
    from pacbayes.report.tables import TextTable


class BestEffortStream:
    """A stream for remarks that goes silent where it cannot be written (a full disk): the results are elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text, if that is possible."""
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Write what is left, if that is possible."""
        self._try(self._stream.flush)

    def _try(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError:
            # What is in its buffer too: Python would try once more at the end, and make an exit code of it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def print_lines(*lines: str) -> None:
    """Print lines to stdout, wrapped at words on a terminal; an empty one counts at the end alone."""
    _say("\n".join(printable(line) for place, line in enumerate(lines) if line or place == len(lines) - 1), sys.stdout)


def _say(text: str, stream: TextIO, style: str = "") -> None:
    if not stream.isatty():
        print(text, file=stream)
        return
    from rich.console import Console
    from rich.text import Text

    Console(file=stream, highlight=False).print(Text(text, style=style))


def print_file(file: BinaryIO) -> None:
    """Print a file of text, from its beginning, to stdout: as it is, or on a terminal as `printable`."""
    file.seek(0)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    is_screen = sys.stdout.isatty()
    while part := text.read(2**20):
        sys.stdout.write(printable_lines(part) if is_screen else part)
    text.detach()


def print_tables(tables: "Iterable[TextTable]", note: "Note") -> None:
    """Print tables: drawn with rich on a terminal; elsewhere one line a row, cells apart by tabs, a line between two.

    Captions stand below the tables on a terminal and are notes elsewhere.
    """
    for i, table in enumerate(tables):
        if sys.stdout.isatty():
            _draw(table)
            continue
        lines = [table.columns, *table.rows]
        print(("\n" if i else "") + "\n".join("\t".join(map(printable, line)) for line in lines))
        if table.caption:
            note(f"{table.title}: {table.caption}")


def _draw(table: "TextTable") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=Text(table.title, style="bold"), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in table.columns:
        drawn.add_column(Text(name))
    for row in table.rows:
        # As Text: names from the data are never markup.
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    Console(highlight=False).print(drawn)
    if table.caption:
        _say(f"{printable(table.caption)}\n", sys.stdout, "dim")


def print_json(values: Any) -> None:
    """Print values as JSON that any reader takes: infinities and NaN, which JSON does not have, become null."""
    print(json.dumps(_plain(values), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what JSON does not have as Python writes it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else " ".join(repr(value).split())


class Note:
    """Prints lines to stderr for the person who waits, unless they asked for quiet."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet

    def __call__(self, text: str) -> None:
        """Print one paragraph."""
        if self.quiet:
            return
        # What was printed to stdout so far comes first where both are the same terminal.
        sys.stdout.flush()
        _say(printable(text), sys.stderr)


@contextmanager
def warnings_as_notes(note: Note) -> Iterator[None]:
    """Say every different warning once, in one line, and not as Python shows it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            # What was warned of before a failure may be its reason.
            said: dict[str, int] = {}
            for warning in caught:
                if not issubclass(warning.category, DeprecationWarning | FutureWarning):
                    text = in_options(" ".join(str(warning.message).split()))
                    said[text] = said.get(text, 0) + 1
            for text, times in said.items():
                note(f"warning: {text}" + (f" ({times} times)" if times > 1 else ""))
