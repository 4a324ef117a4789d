"""`pacbayes`: the commands, those that need no module of their own, and how they fail."""

import errno
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

from pacbayes._utils.words import printable
from pacbayes.cli import bounds, certify, compare, gate, predict, watch
from pacbayes.cli.interrupted import (
    ENDED_BY_USER,
    end_command,
    end_interrupted,
    force_exit_on_interrupt,
    forget_kept,
    keeps,
)
from pacbayes.cli.options import Command, in_options
from pacbayes.cli.show import BestEffortStream

EXAMPLES = ("pacbayes certify", "pacbayes certify data.csv --target class", "pacbayes certify --help")
# What people write who want no tracebacks.
_OFF = ("", "0", "false", "no", "off")
_WRONG, _OTHER = 2, 1
#: Where the pages are.
DOCS = "https://pacbayes.readthedocs.io/en/latest"

#: What `pacbayes help assumptions` prints, which the first screen of `certify` names.
ASSUMPTIONS = f"""\
1. The rows are independent draws from where new examples come from.
   Several rows of one patient: --group COLUMN. Rows that were copied:
   --duplicates together. Old rows train, new rows count errors: --validation
   FILE. If the future differs from the past, no certificate helps; watch
   says when it does.
2. The rows that count errors have trained and chosen nothing. Inside pacbayes
   that is so. Scaling, filling gaps or selecting columns on all rows before
   breaks it.
3. You fixed delta, seed, candidates and way of predicting before you saw
   results. To try several and quote the best is not covered.

More: {DOCS}/data-roles.html"""


app = typer.Typer(
    help="Choose among many trained classifiers with a guarantee.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _examples(lines: Sequence[str]) -> str:
    """Return the end of a help text; the control character keeps its lines as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


_HELP = {
    "Arguments": {"topic": "A command, or assumptions; without one, the list of commands."},
}


def show_help(context: typer.Context, topic: Annotated[str | None, typer.Argument()] = None) -> None:
    """Explain a command, or the assumptions of a certificate."""
    assert context.parent is not None
    if topic == "assumptions":
        print(ASSUMPTIONS)
        return
    words = ["--help"] if topic is None else [topic, "--help"]
    app(words, prog_name=context.parent.info_name, standalone_mode=False)
    if topic is None:
        print(f"\nWhat a certificate assumes: pacbayes help assumptions.\nAll pages: {DOCS}/")


def datasets() -> None:
    """List the data sets that come with pacbayes, with the split sizes of the paper's table."""
    from pacbayes.cli.show import Note, print_tables
    from pacbayes.data.bundled import DATASETS
    from pacbayes.report.tables import TextTable

    rows = [
        (
            facts.name,
            str(facts.rows),
            str(facts.features),
            "/".join(map(str, facts.classes.values())),
            "–" if facts.split_sizes is None else "/".join(map(str, facts.split_sizes)),
            facts.title,
        )
        for facts in DATASETS.values()
    ]
    header = ("name", "examples", "features", "classes", "train/val/test", "title")
    print_tables([TextTable("Data sets", header, rows)], Note())


_REPRODUCE = {
    "Arguments": {"names": "Tables and figures; all if none is given."},
    "Options": {
        "quick": "A small version of everything, in about a minute.",
        "full": "The paper's own counts: 1000 starts, Ipopt on all seeds, 5 seeds also where slow.",
        "out": "Folder for NAME.md, NAME.csv and figures.",
        "jobs": "Threads.  [default: all cores]",
        "seeds": "Seeds.  [default: 10 for one split, 5 or 1 for many]",
        "split": "independent, shared, overlapping or all.",
        "dataset": "One of the paper's data sets instead of all nine; may be repeated.",
        "list_names": "List the names and stop.",
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
    """Compute the paper's tables and figures, its own numbers beside ours.

    What was computed is kept and used again: a second run, or one after an interruption, computes only what is missing.
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
    keeps(lambda: f"what was computed is kept in {str(cache)!r}, the same command continues from there")
    chosen = names or (BY_DATASET if dataset else tuple(DESCRIPTIONS))
    if {"main", "small-lambda", "concentration"} & set(chosen):
        # A validation sample that overlaps is drawn for the same SVMs as a shared one.
        schemes = [scheme for scheme in splits if scheme != "overlapping" or "shared" not in splits]
        seconds = sum(space.seconds(name, scheme) for name in space.datasets for scheme in schemes)
        about = f"training takes about {math.ceil(seconds)} s on two cores, less what is kept in {str(cache)!r}"
        print(about, file=sys.stderr)
    with progress("tables", len(chosen)) as advance:
        for name in chosen:
            start = time.perf_counter()
            for path in load(name)(space).write(out):
                print(path)
            print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
            advance(1)


for _command, _summary, _texts, _lines in (
    (certify.certify, "Train a classifier, and say how often it errs at most.", certify.HELP, certify.EXAMPLES),
    (predict.predict, "Predict with a saved model.", predict.HELP, predict.EXAMPLES),
    (compare.compare, "Bound how much more often one model errs than another.", compare.HELP, compare.EXAMPLES),
    (gate.gate, "Pass or fail for a model in a release pipeline.", gate.HELP, gate.EXAMPLES),
    (watch.watch, "Watch whether a certificate still holds for new rows.", watch.HELP, watch.EXAMPLES),
    (bounds.plan, "Say how many rows it takes to certify a target.", bounds.PLAN_HELP, bounds.PLAN_EXAMPLES),
    (bounds.posterior, "Find the best posterior for risks.", bounds.POSTERIOR_HELP, bounds.POSTERIOR_EXAMPLES),
    (bounds.bound, "Compute the bounds of one posterior.", bounds.BOUND_HELP, bounds.BOUND_EXAMPLES),
    (datasets, "List the data sets that come with pacbayes.", {}, ("pacbayes datasets",)),
    (reproduce, "Compute the paper's tables and figures.", _REPRODUCE, ("pacbayes reproduce --list",)),
    (show_help, "Explain a command, or what a certificate assumes.", _HELP, ("pacbayes help assumptions",)),
):
    app.command(
        _command.__name__.removeprefix("show_"),
        cls=type("Command", (Command,), {"texts": _texts}),
        short_help=_summary,
        epilog=_examples(_lines),
    )(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pacbayes import __version__

        print(f"pacbayes {__version__}")
        raise typer.Exit


@app.callback(epilog=_examples(EXAMPLES))
def _commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Choose among many trained classifiers with a guarantee."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; what the user did wrong is one line on stderr and exit code 2, an interrupt one and 130."""
    try:
        forget_kept()
        _set_encodings()
        _spare_threads()
        words = sys.argv[1:] if arguments is None else list(arguments)
        with force_exit_on_interrupt():
            code = app(args=words or ["--help"], standalone_mode=False)
            sys.stdout.flush()
            if code != ENDED_BY_USER:  # what recent versions of typer make of an interrupt
                end_command()
    except BrokenPipeError:
        end_command()
        # Whoever read the output has seen enough; nothing more is to be written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_OTHER)
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        _fail(_space_left(error) + (str(error) or type(error).__name__), error)
    except (KeyboardInterrupt, typer.Abort):
        end_interrupted()
    except Exception as error:
        # What click and typer raise for wrong usage has, whatever its class is called in a version, this method.
        if hasattr(error, "format_message"):
            _fail(error.format_message(), error)
        if space := _space_left(error):
            _fail(f"{space}{type(error).__name__}: {error}", error)
        # Anything else is a fault of ours: one line for the user, the traceback on request.
        message = (
            f"this should not happen: {type(error).__name__}: {error}. Please report it, with what it says when "
            "PACBAYES_DEBUG=1 is in the environment"
        )
        _fail(message, error, _OTHER)
    else:
        if code == ENDED_BY_USER:
            end_interrupted()
        sys.exit(code if isinstance(code, int) else 0)


def _set_encodings() -> None:
    """Print UTF-8 into files and pipes, to terminals and stderr what they can show, and nothing where they are shut.

    Python has no stream for a descriptor that was closed before it began (`>&-`, some services).  Remarks that cannot
    be written do not keep the results back.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # until Python ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream is sys.stdout and not stream.isatty():
                stream.reconfigure(encoding="utf-8", errors="surrogateescape")
            else:
                stream.reconfigure(errors="replace")
    if not isinstance(sys.stderr, BestEffortStream):
        sys.stderr = cast(TextIO, BestEffortStream(sys.stderr))


def _spare_threads() -> None:
    """Work in one thread where more may not fit: linear algebra would wait for ever, or interrupt the process."""
    from pacbayes._utils.memory import BUFFER_BYTES, THREADS_BYTES, narrow_space

    if narrow_space(2 * BUFFER_BYTES) is not None:
        raise MemoryError("linear algebra would try for ever to allocate its buffers")
    if narrow_space(THREADS_BYTES) is not None:
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
            os.environ.setdefault(name, "1")


_LITTLE_MEMORY = "too little memory"


def _space_left(error: Exception) -> str:
    """Return what to say first where an error may be due to a limit of the address space, else nothing.

    A library that cannot be loaded, or a thread that cannot be started, says so in many ways.
    """
    from pacbayes._utils.memory import LIBRARY_BYTES, THREADS_BYTES, narrow_space, readable

    told = isinstance(error, ValueError | TypeError | ModuleNotFoundError)
    if isinstance(error, OSError):
        told = type(error) is not OSError or error.errno not in (None, errno.ENOMEM)
    narrow = None if told else narrow_space(THREADS_BYTES if isinstance(error, MemoryError) else LIBRARY_BYTES)
    if narrow is None:
        return ""
    return (
        f"{_LITTLE_MEMORY}: the address space is limited to {readable(narrow.limit)} (ulimit -v), of which "
        f"{readable(narrow.left)} are left: "
    )


def _fail(message: str, error: BaseException, code: int = _WRONG) -> NoReturn:
    if os.environ.get("PACBAYES_DEBUG", "").strip().lower() not in _OFF:
        raise error
    end_command()
    said = f"pacbayes: {printable(in_options(' '.join(message.split())))}"
    if sys.stderr.isatty():
        # Words that are typed again, options and names, are not broken.
        said = textwrap.fill(
            said, shutil.get_terminal_size().columns - 1, break_long_words=False, break_on_hyphens=False
        )
    print(said, file=sys.stderr)
    if isinstance(error, OSError):
        # Perhaps it is stdout that cannot be written: then not once more when Python ends.
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if message.startswith(_LITTLE_MEMORY):
        # Libraries that were loaded in part crash when Python ends.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
