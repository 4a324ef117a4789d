"""Options that several commands have, each with one help text; files they write; messages in the words of options."""

import decimal
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

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


#: Kinds of options, of which a command declares some; what each says stands in `HELP`, here or in its module.
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

#: What options say that several commands have, by heading.
HELP = {
    "How files are read": {
        "missing": "A text that means a missing value, such as ?.",
        "not_missing": "A text that means no missing value, such as NA for Namibia.",
        "sep": "The separator of fields, such as ';' or tab.  [default: comma, or tab in TSV]",
        "decimal": "The sign before decimals: . or ,  [default: .]",
        "thousands": "The sign between thousands, as in 3,682.50.  [default: none]",
        "trust": "Load types of scikit-learn too that skops does not trust: for files whose origin you know.",
        "sha256": "The SHA-256 that certify printed; any other file is refused.",
    },
    "What is printed": {
        "plot": "Draw a picture: a file that ends in .svg, .png or .pdf.",
        "json": "Print JSON instead of tables.",
        "quiet": "Print nothing but errors to stderr.",
        "help": "Show this message and exit.",
    },
}


class Command(TyperCommand):
    """A command that shows its arguments and options by what they are about: `texts` has what each says, by heading."""

    texts: ClassVar[dict[str, dict[str, str]]] = {}

    # typer has a click of its own in some versions, and shares the one that is installed in others.
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        said = {name: text for texts in (self.texts | HELP).values() for name, text in texts.items()}
        for one in self.params:
            one.help = said[str(one.name)]  # type: ignore[attr-defined]
            one.secondary_opts = []  # no --no-json beside --json

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, each under its heading."""
        by_name: dict[str, Any] = {str(one.name): one for one in self.get_params(ctx)}
        for heading, texts in (self.texts | HELP).items():
            if records := [by_name[name].get_help_record(ctx) for name in texts if name in by_name]:
                with formatter.section(heading):
                    formatter.write_dl(records)


_PICTURES = (".svg", ".png", ".pdf")
# Parameters whose options are not called the same.
_CALLED = {
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


def in_words_of_options(name: str, *value: Any) -> str:
    """Name a parameter, or the parameter with its value, as it is written on the command line.

    Examples
    --------
    >>> in_words_of_options("groups"), in_words_of_options("split", "independent"), in_words_of_options("refit", True)
    ('--group', '--split independent', '--refit')
    """
    option = _CALLED.get(name, "--" + name.replace("_", "-"))
    if not value or value[0] is True:
        return option
    if name == "decision":
        shares = {"max_error": value[0].max_error} if hasattr(value[0], "max_error") else value[0].required
        return " ".join(in_words_of_options(*share) for share in shares.items())
    several = value[0] if isinstance(value[0], list) else value
    return " ".join(f"{option} {one:g}" if isinstance(one, float) else f"{option} {one}" for one in several)


# What the library calls by the names of arguments, and the command line by options.  Names in the data are in quotes.
_ARGUMENTS: dict[str, Any] = {
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
    r"^The '(\w+)' parameter of (?:CertifiedClassifier|StochasticSVC)": (
        lambda found: in_words_of_options(found[1]).partition(" (")[0]
    ),
    r"^max_error must": "--max-error must",
    r"^at_most must": "--at-most must",
    r"^pos_label must": "--positive must",
    r"at_most, recall or precision$": "--at-most, --recall or --precision",
    r"^(delta|target|voting|candidates|grid|alpha|chance|error|limits|recall|precision|fpr|lambdas) must": r"--\1 must",
    r"^unknown (kernel|distance)": r"unknown --\1",
    r"^grid names": "--grid names",
    r"^candidates (?=')": "--candidates ",
    r"Cost\(matrix, classes\)": "costs (--cost FILE)",
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
