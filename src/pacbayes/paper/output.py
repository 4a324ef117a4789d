"""What `pacbayes reproduce` writes: Markdown to read, CSV to compute with, SVG to look at."""

import csv
import hashlib
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacbayes._utils.checks import import_optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
# CSV files keep so many significant digits: more than any table shows, fewer than differ between machines.
_DIGITS = 8


@dataclass(frozen=True)
class Output:
    """One table or figure: its rows, the text that is made of them, and functions that draw its figures."""

    name: str
    rows: list[Row]
    text: Callable[[list[Row]], str]
    figures: Mapping[str, Callable[[], "Figure"]] = field(default_factory=dict)

    @property
    def csv(self) -> str:
        """The rows as the CSV file has them."""
        return to_csv(self.rows)

    @property
    def markdown(self) -> str:
        """The page, made of what the CSV file has."""
        return render(self.name, self.csv, self.text)

    def write(self, folder: Path) -> list[Path]:
        """Write NAME.md, NAME.csv and an .svg per figure; return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{self.name}.md", folder / f"{self.name}.csv"]
        paths[0].write_text(self.markdown, encoding="utf-8")
        paths[1].write_text(self.csv, encoding="utf-8")
        for name, draw in self.figures.items():
            paths.append(folder / f"{name}.svg")
            _save_figure(draw(), paths[-1])
        return paths


def render(name: str, table: str, text: Callable[[list[Row]], str]) -> str:
    """Page of a table from its CSV file alone, ending in the fingerprint of that file.

    The page has fewer digits than the file; by the fingerprint a change of any digit shows.
    """
    digest = hashlib.sha256(table.encode()).hexdigest()[:16]
    return f"{text(from_csv(table)).rstrip()}\n\nMade from `{name}.csv` (SHA-256 {digest}).\n"


def new_figure(rows: int, columns: int, *, width: float, height: float) -> tuple["Figure", list[Any]]:
    """Figure without a screen, drawn only when it is written, and its axes, row by row."""
    figure: Figure = import_optional("matplotlib.figure", "a figure").Figure(
        figsize=(width, height), layout="constrained"
    )
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.ravel())


def _save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure as SVG whose bytes depend on nothing but its content."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "pacbayes", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None, "Creator": "pacbayes"})


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV; the columns are those of all rows, in the order in which they first occur.

    Examples
    --------
    >>> print(to_csv([{"a": 1, "b": 0.123456789012}, {"a": 2, "c": None}]), end="")
    a,b,c
    1,0.12345679,
    2,,
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_csv_cell(row.get(name)) for name in columns] for row in rows)
    return text.getvalue()


def from_csv(text: str) -> list[Row]:
    r"""Rows of a CSV file, numbers and truth values as such and empty cells as None.

    Examples
    --------
    >>> from_csv("a,b,c\n1,0.12345679,yes\n,1e-23,True\n")
    [{'a': 1, 'b': 0.12345679, 'c': 'yes'}, {'a': None, 'b': 1e-23, 'c': True}]
    """
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return [{name: _value(cell) for name, cell in row.items()} for row in rows]


def _value(cell: str) -> Any:
    if cell in ("", "True", "False"):
        return None if cell == "" else cell == "True"
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def _csv_cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else value


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Markdown table.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [[1, "x"]]))
    | a | b |
    |---|---|
    | 1 | x |
    """
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def number(value: float | None, digits: int = 5) -> str:
    """Format a number for a table: small ones in scientific notation, a dash where there is none.

    Examples
    --------
    >>> number(0.151571), number(1.39e-5), number(0.0), number(None)
    ('0.15157', '1.4e-05', '0', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if value == 0.0:
        return "0"
    return f"{value:.{digits}f}" if abs(value) >= 10.0 ** (1 - digits) else f"{value:.1e}"


def lettered(value: float | None, letter: str | None, digits: int = 5) -> str:
    """Format a solver's bound with the letter of its failure, if it failed.

    Examples
    --------
    >>> lettered(0.26885, "E"), lettered(0.19625, None)
    ('0.26885 E', '0.19625 ')
    """
    return f"{number(value, digits)} {letter or ''}"


def signed(value: float | None, digits: int = 4) -> str:
    """Format a difference with its sign.

    Examples
    --------
    >>> signed(0.00312), signed(-0.2), signed(None)
    ('+0.0031', '−0.2000', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    return f"{value:+.{digits}f}".replace("-", "−")


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (NaN for a single value).

    Examples
    --------
    >>> mean_and_deviation([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return mean, math.nan
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def spread(mean: float, deviation: float | None, digits: int = 4) -> str:
    """Format a mean with its deviation, where there is one.

    Examples
    --------
    >>> spread(0.15, 0.003), spread(0.15, None)
    ('0.1500 ± 0.0030', '0.1500')
    """
    return number(mean, digits) if deviation is None else f"{number(mean, digits)} ± {number(deviation, digits)}"
