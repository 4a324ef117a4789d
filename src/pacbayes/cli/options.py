"""Shared options with their help texts, output files, and messages with option names instead of parameter names."""

import decimal
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Exit code if a requested guarantee was not reached, or no longer holds.
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
        # Decimal arithmetic, because 0.7 / 100 is not 0.007 in floats.
        number = decimal.Decimal(written.removesuffix("%").strip())
        share = float(number.scaleb(-2) if written.endswith("%") else number)
    except (ArithmeticError, ValueError):
        share = float("nan")
    if 0.0 <= share <= 1.0:
        return share
    hint = f"write {written}% or {share / 100:g}" if 1.0 < share <= 100.0 and "%" not in written else "write 5% or .05"
    raise typer.BadParameter(f"must be a share between 0 and 1, got {written!r}; {hint}")


def parse_hedge(text: object) -> float | str:
    """Parse a share, or 'auto'."""
    return "auto" if str(text).strip() == "auto" else parse_share(text)


def parse_size(text: object) -> float | int | str:
    """Parse a number of rows, a share, or 'auto'.

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
        raise typer.BadParameter(f"must be auto, a fraction or a number of rows, got {str(text)!r}") from None


#: Types of options; their help texts are in `HELP`, here or in the module of the command.
SHARE = typer.Option(parser=parse_share, metavar="SHARE")
Share = Annotated[float | None, SHARE]
Column = Annotated[str | None, typer.Option(metavar="COLUMN")]
Name = Annotated[str | None, typer.Option(metavar="NAME")]
Sign = Annotated[str | None, typer.Option(metavar="SIGN")]
Separator = Annotated[str | None, typer.Option(metavar="CHARACTER")]
Digest = Annotated[str | None, typer.Option(metavar="DIGEST")]
Texts = Annotated[list[str] | None, typer.Option(metavar="TEXT")]
File = Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False)]
Model = Annotated[Path | None, typer.Option(metavar="MODEL", dir_okay=False)]
Plot = Annotated[Path | None, typer.Option(metavar="FILE")]
Input = Annotated[Path, typer.Argument(dir_okay=False)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q")]

#: Help texts of options that several commands share, by heading.
HELP = {
    "Input format": {
        "missing": "A string that marks a missing value, such as ?; may be repeated.",
        "not_missing": "A string that is a value, although it usually marks a missing one, such as NA for Namibia; may "
        "be repeated.",
        "sep": "Field separator, such as ';' or tab.  [default: detected]",
        "encoding": "Text encoding, such as utf-16 or cp1252.  [default: detected]",
        "decimal": "Decimal separator: . or ,  [default: detected]",
        "thousands": "Thousands separator, as in 3,682.50.  [default: detected]",
        "trust": "Also load scikit-learn types that skops does not trust; only for files from a known source.",
        "sha256": "The SHA-256 that certify printed; any other file is rejected.",
    },
    "Output": {
        "plot": "Save a figure as .svg, .png or .pdf.",
        "json": "Print JSON instead of tables.",
        "quiet": "Print only errors to stderr.",
        "help": "Show this message and exit.",
    },
}


class Command(TyperCommand):
    """Command whose help page groups options under headings; `texts` maps headings to help texts."""

    texts: ClassVar[dict[str, dict[str, str]]] = {}

    # Some versions of typer bundle click, others use the installed one.
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        help_texts = {name: text for texts in (self.texts | HELP).values() for name, text in texts.items()}
        for param in self.params:
            param.help = help_texts[str(param.name)]  # type: ignore[attr-defined]
            param.secondary_opts = []  # no --no-json beside --json

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options under their headings."""
        by_name: dict[str, Any] = {str(param.name): param for param in self.get_params(ctx)}
        for heading, texts in (self.texts | HELP).items():
            if records := [by_name[name].get_help_record(ctx) for name in texts if name in by_name]:
                with formatter.section(heading):
                    formatter.write_dl(records)


_FIGURE_FORMATS = (".svg", ".png", ".pdf")
# Formats that a report might be expected in.
_OTHER_PAGES = (".pdf", ".docx", ".md", ".txt", ".json")
# Options whose names differ from those of the parameters.
_OPTIONS = {
    "metrics": "--metrics (and --by-class, --slice, --cost)",
    "groups": "--group",
    "slice_": "--slice",
    "slices": "--slice",
    "validation": "--validation (and --validation-column)",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "pos_label": "--positive",
    "data": "DATA",
}


def option_name(name: str, *value: Any) -> str:
    """Format a parameter, with its value if any, as an option of the command line.

    Examples
    --------
    >>> option_name("groups"), option_name("split", "independent"), option_name("refit", True)
    ('--group', '--split independent', '--refit')
    """
    option = _OPTIONS.get(name, "--" + name.replace("_", "-"))
    if not value or value[0] is True:
        return option
    if name == "decision":
        shares = {"max_error": value[0].max_error} if hasattr(value[0], "max_error") else value[0].required
        return " ".join(option_name(*share) for share in shares.items())
    values = value[0] if isinstance(value[0], list) else value
    return " ".join(f"{option} {item:g}" if isinstance(item, float) else f"{option} {item}" for item in values)


# Parameters in messages of the library, and the options that replace them.  Names from the data are in quotes.
_REPLACEMENTS: dict[str, Any] = {
    r'(kernel|candidates)="(\w+)"': r"--\1 \2",
    r"duplicates='(\w+)'": r"--duplicates \1",
    r"groups=X\[('[^']*'|\"[^\"]*\")\] and drop it from X": r"--group \1",
    r"drop (it|them) from X": r"drop \1 with --drop",
    r"groups=(?!\w)": "--group COLUMN",
    r"(?<!['\w])validation_size(?!['\w])": "--validation-size",
    r"target=$": "--target COLUMN",
    r"^target must be above error": "--at-most must be above --error",
    r"^target must be farther from error": "--at-most must be farther from --error",
    r"(?<!\w)(sep|decimal)=('.')": r"--\1 \2",
    r"fewer lambdas": "fewer --lambdas",
    r"fewer n_jobs": "fewer --jobs",
    r"^The '(\w+)' parameter of (?:CertifiedClassifier|StochasticSVC)": (
        lambda match: option_name(match[1]).partition(" (")[0]
    ),
    r"^max_error must": "--max-error must",
    r"^at_most must": "--at-most must",
    r"^pos_label must": "--positive must",
    r"at_most, recall or precision$": "--at-most, --recall or --precision",
    r"^(delta|target|voting|candidates|grid|alpha|chance|error|metrics|recall|precision|fpr|coverage|lambdas) must": (
        r"--\1 must"
    ),
    r"^unknown (kernel|distance)": r"unknown --\1",
    r"^grid names": "--grid names",
    r"^candidates (?=')": "--candidates ",
    r"Cost\(matrix, classes\)": "costs (--cost FILE)",
}


def with_option_names(message: str) -> str:
    """Replace the parameter names in a message of the library by option names.

    Examples
    --------
    >>> with_option_names('Use kernel="nystroem", or a larger validation_size.')
    'Use --kernel nystroem, or a larger --validation-size.'
    """
    for argument, option in _REPLACEMENTS.items():
        message = re.sub(argument, option, message)
    return message


def named_columns(options: dict[str, str | None]) -> dict[str, str]:
    """Map options to the columns they name; raise if two name the same column."""
    named = {option: name for option, name in options.items() if name is not None}
    if len(set(named.values())) < len(named):
        raise ValueError(f"{', '.join(named)} must name different columns")
    return named


def check_outputs(outputs: dict[str, Path | None], inputs: Sequence[Path | None]) -> None:
    """Raise before any work if an output cannot be written, or would overwrite an input or another output."""
    from pacbayes._utils.files import check_writable

    taken = [path for path in inputs if path is not None]
    for name, path in outputs.items():
        if path is None:
            continue
        check_writable(name, path)
        # Several outputs may be written to the same device.
        if (path.is_file() or not path.exists()) and any(other.resolve() == path.resolve() for other in taken):
            raise ValueError(
                f"{name}: {str(path)!r} is already an input or output of this command; choose another name"
            )
        taken.append(path)
    if (plot := outputs.get("--plot")) is not None and plot.suffix not in _FIGURE_FORMATS:
        raise ValueError(f"--plot must end in {', '.join(_FIGURE_FORMATS)}, got {str(plot)!r}")
    if (report := outputs.get("--report")) is not None:
        if report.suffix.lower() in _OTHER_PAGES:
            raise ValueError(f"--report writes an HTML page: its name must end in .html, got {str(report)!r}")
        from pacbayes.report.page import check_can_render

        check_can_render()


def write_plot(path: Path, draw: "Callable[[Axes], object]") -> None:
    """Save a figure with one plot atomically, in the format of the file extension."""
    write_figure(path, lambda figure: draw(figure.subplots()))


def write_figure(path: Path, draw: "Callable[[Figure], object]") -> None:
    """Save a figure atomically, in the format of the file extension."""
    from pacbayes._utils.checks import import_optional
    from pacbayes._utils.files import open_atomic

    # pyplot is not used because it may require a display.
    figure = import_optional("matplotlib.figure", "a plot").Figure(layout="constrained")
    draw(figure)
    with open_atomic(path) as file:
        figure.savefig(file, format=path.suffix[1:])
