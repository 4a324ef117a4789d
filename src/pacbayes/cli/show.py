"""What the commands print: tables to stdout, everything else to stderr."""

import io
import json
import math
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from pacbayes.certificates.certificate import Certificate
    from pacbayes.report.tables import TextTable


def print_guarantee(certificate: "Certificate") -> None:
    """Print what is guaranteed and what is assumed above all, each a line, then an empty one: to stdout, always."""
    lines = [line for line in (str(certificate), certificate.main_assumption) if line]
    if not sys.stdout.isatty():
        print("\n".join(lines), end="\n\n")
        return
    from rich.console import Console
    from rich.text import Text

    Console(highlight=False).print(Text("\n".join(lines)), end="\n\n")


def print_file(file: BinaryIO) -> None:
    """Print a file of text, from its beginning, to stdout."""
    file.seek(0)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    while part := text.read(2**20):
        sys.stdout.write(part)
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
        print(("\n" if i else "") + "\n".join("\t".join(_cell(cell) for cell in line) for line in lines))
        if table.caption:
            note(f"{table.title}: {table.caption}")


def _cell(text: str) -> str:
    """Return a cell that stays one: without tabs, line breaks and other control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


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
        drawn.add_row(*(Text(_cell(cell)) for cell in row))
    console = Console(highlight=False)
    console.print(drawn)
    if table.caption:
        console.print(Text(table.caption, style="dim"))
        console.print()


def print_json(values: Any) -> None:
    """Print values as JSON that any reader takes: infinities and NaN, which JSON does not have, become null."""
    print(json.dumps(_finite(values), indent=2, allow_nan=False, default=str))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


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
        if not sys.stderr.isatty():
            print(_cell(text), file=sys.stderr)
            return
        from rich.console import Console
        from rich.text import Text

        Console(stderr=True, highlight=False).print(Text(_cell(text)))


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
                    text = " ".join(str(warning.message).split())
                    said[text] = said.get(text, 0) + 1
            for text, times in said.items():
                note(f"warning: {text}" + (f" ({times} times)" if times > 1 else ""))
