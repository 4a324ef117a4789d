"""Entry point of the command line: commands, error handling and exit codes."""

import io
import math
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn, TextIO, cast

import typer

from pacbayes._utils.words import escape_controls
from pacbayes.cli import bounds, certify, compare, gate, predict, watch
from pacbayes.cli.interrupted import (
    INTERRUPTED,
    clear_interrupt_reports,
    exit_interrupted,
    finish_command,
    on_interrupt_report,
)
from pacbayes.cli.options import Command, with_option_names
from pacbayes.cli.show import BestEffortStream

_SUMMARY = "Train classifiers with a guaranteed upper bound on their error rate."
EXAMPLES = ("pacbayes certify", "pacbayes certify data.csv --target class", "pacbayes certify --help")
# Values of PACBAYES_DEBUG that switch tracebacks off.
_OFF = ("", "0", "false", "no", "off")
_INVALID_INPUT, _INTERNAL_ERROR = 2, 1
#: Address of the documentation.
DOCS = "https://pacbayes.readthedocs.io/en/latest"

#: Text of `pacbayes help assumptions`, to which the first screen of `certify` refers.
ASSUMPTIONS = f"""\
1. The rows are independent draws from the population that the model will
   predict. Several rows of one patient: --group COLUMN. Rows duplicated after
   sampling: --duplicates together. Training on old rows, validation on new
   ones: --validation FILE. If the future differs from the past, no
   certificate holds; pacbayes watch detects that.
2. The validation rows were used neither for training nor for choosing
   anything. pacbayes ensures this for its own steps. Scaling, imputation or
   feature selection on all rows beforehand violates it.
3. You fixed delta, seed, candidates and voting before you saw results.
   Trying several and quoting the best is not covered.

More: {DOCS}/data-roles.html"""


app = typer.Typer(
    help=_SUMMARY,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _examples(lines: Sequence[str]) -> str:
    """Epilog of a help page with examples; the control character preserves line breaks."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


_HELP = {
    "Arguments": {"topic": "A command, or 'assumptions'.  [default: the list of commands]"},
}


def show_help(context: typer.Context, topic: Annotated[str | None, typer.Argument()] = None) -> None:
    """Show the help page of a command, or the assumptions of a certificate."""
    assert context.parent is not None
    if topic == "assumptions":
        print(ASSUMPTIONS)
        return
    words = ["--help"] if topic is None else [topic, "--help"]
    app(words, prog_name=context.parent.info_name, standalone_mode=False)
    if topic is None:
        print(f"\nAssumptions of a certificate: pacbayes help assumptions.\nDocumentation: {DOCS}/")


_DATASETS = {"Arguments": {"name": "Print the rows of this data set as CSV.  [default: the list]"}}


def datasets(name: Annotated[str | None, typer.Argument()] = None) -> None:
    """List the bundled data sets with the split sizes of the paper's table, or print the rows of one."""
    from pacbayes._utils.checks import check_choice
    from pacbayes.cli.show import Note, print_tables
    from pacbayes.data.bundled import DATASETS
    from pacbayes.data.load import load_dataset
    from pacbayes.report.tables import TextTable

    if name is not None:
        bunch = load_dataset(check_choice("NAME", name, DATASETS), as_frame=True)
        rows = bunch.data.assign(**{"class": bunch.target_names[bunch.target]})
        print(rows.to_csv(index=False, lineterminator="\n"), end="")
        return
    lines = [
        (
            dataset.name,
            str(dataset.rows),
            str(dataset.features),
            "/".join(map(str, dataset.classes.values())),
            "–" if dataset.split_sizes is None else "/".join(map(str, dataset.split_sizes)),
            dataset.title,
        )
        for dataset in DATASETS.values()
    ]
    header = ("name", "rows", "features", "classes", "train/val/test", "title")
    print_tables([TextTable("Data sets", header, lines)], Note())


_REPRODUCE = {
    "Arguments": {"names": "Tables and figures.  [default: all]"},
    "Options": {
        "quick": "Run a small version of everything, in about a minute.",
        "full": "Use the paper's counts: 1000 starts, Ipopt on all seeds, 5 seeds for slow parts too.",
        "out": "Output folder for NAME.md, NAME.csv and figures.",
        "jobs": "Number of threads.  [default: all cores]",
        "seeds": "Number of seeds.  [default: 10 for one split, 5 or 1 for many]",
        "split": "independent, shared, overlapping or all.",
        "dataset": "One of the paper's data sets instead of all nine; may be repeated.",
        "list_names": "List the names and exit.",
    },
}


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    quick: bool = False,
    full: bool = False,
    out: Path = Path("results"),
    jobs: int | None = None,
    seeds: Annotated[int | None, typer.Option(min=1)] = None,
    split: str = "all",
    dataset: Annotated[list[str] | None, typer.Option(metavar="NAME")] = None,
    list_names: Annotated[bool, typer.Option("--list")] = False,
) -> None:
    """Reproduce the paper's tables and figures, and show the published numbers beside them.

    Finished work is stored: a second run, or one after an interruption, computes only what is missing.
    """
    from pacbayes._utils.checks import check_choice
    from pacbayes._utils.progress import progress
    from pacbayes.paper.protocol import NINE, SPLIT_SCHEMES
    from pacbayes.paper.tables import BY_DATASET, DESCRIPTIONS, load
    from pacbayes.paper.workspace import Workspace

    if list_names:
        for name, description in DESCRIPTIONS.items():
            print(f"{name:18s}{description}")
        return
    for name in names or ():
        check_choice("NAME", name, DESCRIPTIONS)
    for name in dataset or ():
        check_choice("--dataset", name, NINE)
    if dataset and not set(names or ()) <= set(BY_DATASET):
        raise ValueError(f"--dataset is for {', '.join(BY_DATASET)}")
    splits = SPLIT_SCHEMES if check_choice("--split", split, (*SPLIT_SCHEMES, "all")) == "all" else (split,)
    cache = out / ".cache"
    space = Workspace.at(
        cache, quick=quick, full=full, seeds=seeds, splits=splits, jobs=jobs, ipopt_seconds=3.0 if quick else 30.0,
        quiet=False, only=tuple(dataset or ()),
    )  # fmt: skip
    on_interrupt_report(lambda: f"finished work is in {str(cache)!r}; the same command resumes from it")
    chosen = names or (BY_DATASET if dataset else tuple(DESCRIPTIONS))
    if {"main", "small-lambda", "concentration"} & set(chosen):
        # The overlapping scheme uses the SVMs of the shared one.
        schemes = [scheme for scheme in splits if scheme != "overlapping" or "shared" not in splits]
        seconds = sum(space.seconds(name, scheme) for name in space.datasets for scheme in schemes)
        about = f"training takes about {math.ceil(seconds)} s on two cores, less for finished work in {str(cache)!r}"
        print(about, file=sys.stderr)
    with progress("tables", len(chosen)) as advance:
        for name in chosen:
            start = time.perf_counter()
            for path in load(name)(space).write(out):
                print(path)
            print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
            advance(1)


for _command, _short_help, _texts, _lines in (
    (certify.certify, "Train a classifier and bound its error rate.", certify.HELP, certify.EXAMPLES),
    (predict.predict, "Predict with a saved model.", predict.HELP, predict.EXAMPLES),
    (compare.compare, "Bound the difference in error rate between two models.", compare.HELP, compare.EXAMPLES),
    (gate.gate, "Pass or fail for a model in a release pipeline.", gate.HELP, gate.EXAMPLES),
    (watch.watch, "Monitor whether a certificate still holds on new rows.", watch.HELP, watch.EXAMPLES),
    (bounds.plan, "Compute how many validation rows a bound requires.", bounds.PLAN_HELP, bounds.PLAN_EXAMPLES),
    (bounds.posterior, "Compute the optimal posterior.", bounds.POSTERIOR_HELP, bounds.POSTERIOR_EXAMPLES),
    (bounds.bound, "Compute PAC-Bayesian bounds of a posterior.", bounds.BOUND_HELP, bounds.BOUND_EXAMPLES),
    (datasets, "List the bundled data sets.", _DATASETS, ("pacbayes datasets", "pacbayes datasets wdbc")),
    (reproduce, "Reproduce the paper's tables and figures.", _REPRODUCE, ("pacbayes reproduce --list",)),
    (show_help, "Show help for a command, or the assumptions.", _HELP, ("pacbayes help assumptions",)),
):
    app.command(
        _command.__name__.removeprefix("show_"),
        cls=type("Command", (Command,), {"texts": _texts}),
        short_help=_short_help,
        epilog=_examples(_lines),
    )(_command)


def _print_version(requested: bool) -> None:
    if requested:
        from pacbayes import __version__

        print(f"pacbayes {__version__}")
        raise typer.Exit


@app.callback(help=_SUMMARY, epilog=_examples(EXAMPLES))
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Process options before the command, such as --version."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; invalid input and interrupts end it with one line on stderr and exit code 2 or 130."""
    try:
        clear_interrupt_reports()
        _configure_streams()
        words = sys.argv[1:] if arguments is None else list(arguments)
        code = app(args=words or ["--help"], standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # recent versions of typer return it
            exit_interrupted()
        finish_command()
        sys.exit(code if isinstance(code, int) else 0)
    except BrokenPipeError:
        finish_command()
        # The reader of the pipe has closed it; Python must not write to it again on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_INTERNAL_ERROR)
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        _fail(str(error) or type(error).__name__, error)
    except (KeyboardInterrupt, typer.Abort):
        exit_interrupted()
    except Exception as error:
        # Usage errors of click and typer have this method; their classes differ between versions.
        if hasattr(error, "format_message"):
            _fail(error.format_message(), error)
        # Internal error: one line for the user, the traceback on request.
        message = (
            f"internal error: {type(error).__name__}: {error}. Please report it, with the traceback that "
            "PACBAYES_DEBUG=1 in the environment shows"
        )
        _fail(message, error, _INTERNAL_ERROR)


def _configure_streams() -> None:
    """Write UTF-8 to files and pipes, and to terminals and stderr what they can encode.

    Python has no stream for a descriptor that was closed before it started (`>&-`, some services); output is then
    discarded.  Messages that cannot be written must not suppress the results.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # open until Python exits
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream is sys.stdout and not stream.isatty():
                stream.reconfigure(encoding="utf-8", errors="surrogateescape")
            else:
                stream.reconfigure(errors="replace")
    if not isinstance(sys.stderr, BestEffortStream):
        sys.stderr = cast(TextIO, BestEffortStream(sys.stderr))


def _fail(message: str, error: BaseException, code: int = _INVALID_INPUT) -> NoReturn:
    if os.environ.get("PACBAYES_DEBUG", "").strip().lower() not in _OFF:
        raise error
    finish_command()
    line = f"pacbayes: {escape_controls(with_option_names(' '.join(message.split())))}"
    if sys.stderr.isatty():
        # Do not break options and names, so that they can be copied.
        line = textwrap.fill(
            line, shutil.get_terminal_size().columns - 1, break_long_words=False, break_on_hyphens=False
        )
    print(line, file=sys.stderr)
    if isinstance(error, OSError):
        # If stdout cannot be written, Python must not try again on exit.
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
