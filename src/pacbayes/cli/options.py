"""Options that several commands have, each with one help text; files they write; messages in the words of options."""

import decimal
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The exit code where a guarantee that was asked for was not reached, or no longer holds.
NO_GUARANTEE = 3


def parse_share(text: object) -> float:
    """Parse a share between 0 and 1, written as a number or as a percentage.

    Examples
    --------
    >>> parse_share(".05"), parse_share("5%"), parse_share("0.7 %")
    (0.05, 0.05, 0.007)
    """
    written = str(text).strip()
    try:
        # Not by floats: 0.7 / 100 is not 0.007.
        number = decimal.Decimal(written.removesuffix("%").strip())
        share = float(number.scaleb(-2) if written.endswith("%") else number)
    except (ArithmeticError, ValueError):
        share = float("nan")
    if 0.0 <= share <= 1.0:
        return share
    meant = f"write {written}% or {share / 100:g}" if 1.0 < share <= 100.0 and "%" not in written else "write 5% or .05"
    raise typer.BadParameter(f"must be a share between 0 and 1, got {written!r}; {meant}")


def parse_hedge(text: object) -> float | str:
    """Parse a share, or the word auto."""
    return "auto" if str(text).strip() == "auto" else parse_share(text)


def parse_size(text: object) -> float | int | str:
    """Parse a number of examples, a share, or the word auto.

    Examples
    --------
    >>> parse_size("200"), parse_size("30%"), parse_size("auto")
    (200, 0.3, 'auto')
    """
    try:
        return int(str(text))
    except ValueError:
        pass
    try:
        return parse_hedge(text)
    except typer.BadParameter:
        raise typer.BadParameter(f"must be auto, a fraction or a number of examples, got {str(text)!r}") from None


def share_option(text: str) -> Any:
    """Declare an option that takes a share; `text` is its help."""
    return typer.Option(parser=parse_share, metavar="SHARE", help=text)


MissingTexts = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="TEXT", help="A text that means a missing value, such as ?."),
]
NotMissing = Annotated[
    list[str] | None,
    typer.Option("--not-missing", metavar="TEXT", help="A text that means no missing value, such as NA for Namibia."),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="CHARACTER",
        help="The separator of fields, such as ';' or tab.  [default: comma, or tab in TSV]",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option("--decimal", metavar="SIGN", help="The sign before decimals: . or ,  [default: .]"),
]
Thousands = Annotated[
    str | None,
    typer.Option("--thousands", metavar="SIGN", help="The sign between thousands, as in 3,682.50.  [default: none]"),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust", help="Load types of scikit-learn too that skops does not trust: for files whose origin you know."
    ),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw a picture: a file that ends in .svg, .png or .pdf.")
]
Digest = Annotated[
    str | None,
    typer.Option("--sha256", metavar="DIGEST", help="The SHA-256 that certify printed; any other file is refused."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors to stderr.")]

_PICTURES = (".svg", ".png", ".pdf")
# What the library calls by the names of arguments, and the command line by options.  Names in the data are in quotes.
_ARGUMENTS = {
    r'(kernel|candidates)="(\w+)"': r"--\1 \2",
    r"duplicates='(\w+)'": r"--duplicates \1",
    r"groups=X\[('[^']*'|\"[^\"]*\")\] and drop it from X": r"--group \1",
    r"drop (it|them) from X": r"drop \1 with --drop",
    r"groups=(?!\w)": "--group COLUMN",
    r"(?<!['\w])validation_size(?!['\w])": "--validation-size",
    r"target=$": "--target COLUMN",
    r"(?<!\w)(sep|decimal)=('.')": r"--\1 \2",
    r"fewer lambdas": "fewer --lambdas",
    r"fewer n_jobs": "fewer --jobs",
    r"^(delta|target|voting|candidates|grid|alpha|chance|error) must": r"--\1 must",
    r"^grid names": "--grid names",
    r"^candidates (?=')": "--candidates ",
    r"^unknown distance": "unknown --distance",
}


def in_options(message: str) -> str:
    """Return what the library says in the words of the command line.

    Examples
    --------
    >>> in_options('Use kernel="nystroem", or a larger validation_size.')
    'Use --kernel nystroem, or a larger --validation-size.'
    """
    for argument, option in _ARGUMENTS.items():
        message = re.sub(argument, option, message)
    return message


def named_columns(options: dict[str, str | None]) -> dict[str, str]:
    """Return the columns that options name, by option, or raise where two name the same."""
    named = {option: name for option, name in options.items() if name is not None}
    if len(set(named.values())) < len(named):
        raise ValueError(f"{', '.join(named)} must name different columns")
    return named


def check_outputs(outputs: dict[str, Path | None], inputs: Sequence[Path | None]) -> None:
    """Raise before any work if an output could not be written, or would replace an input or another output."""
    from pacbayes._utils.files import check_can_write

    taken = [path for path in inputs if path is not None]
    for name, path in outputs.items():
        if path is None:
            continue
        check_can_write(name, path)
        # Devices take any number of outputs.
        if (path.is_file() or not path.exists()) and any(other.resolve() == path.resolve() for other in taken):
            raise ValueError(f"{name}: {str(path)!r} is a file of this command already; give another name")
        taken.append(path)
    if (plot := outputs.get("--plot")) is not None and plot.suffix not in _PICTURES:
        raise ValueError(f"--plot must be a file that ends in {', '.join(_PICTURES)}, got {str(plot)!r}")
    if outputs.get("--report") is not None:
        from pacbayes.report.page import check_can_render

        check_can_render()


def write_plot(path: Path, draw: "Callable[[Axes], object]") -> None:
    """Write a picture, of the kind that the name of the file says, whole or not at all."""
    from pacbayes._utils.checks import import_optional
    from pacbayes._utils.files import writing

    # Not by pyplot, which would look for a screen.
    figure = import_optional("matplotlib.figure", "a plot").Figure(layout="constrained")
    draw(figure.subplots())
    with writing(path) as file:
        figure.savefig(file, format=path.suffix[1:])
