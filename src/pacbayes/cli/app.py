"""`pacbayes`: the commands, and how they fail."""

import errno
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, NoReturn, TextIO, cast

import typer

from pacbayes._utils.words import printable
from pacbayes.cli import certify, compare, plan, posterior, predict, watch
from pacbayes.cli.help import GroupedHelp, datasets, show_help
from pacbayes.cli.interrupted import ENDED_BY_USER, end_command, end_interrupted, ended_in_time, forget_kept
from pacbayes.cli.options import in_options
from pacbayes.cli.reproduce import reproduce
from pacbayes.cli.show import Unheard

EXAMPLES = ("pacbayes certify", "pacbayes certify data.csv --target class", "pacbayes certify --help")
# What people write who want no tracebacks.
_OFF = ("", "0", "false", "no", "off")
_WRONG, _OTHER = 2, 1

app = typer.Typer(
    help="Choose among many trained classifiers with a guarantee.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _examples(lines: Sequence[str]) -> str:
    """Return the end of a help text; the control character keeps its lines as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _add(
    command: Callable[..., None],
    summary: str,
    examples: Sequence[str],
    name: str | None = None,
    groups: Mapping[str, str] | None = None,
) -> None:
    kind = None if groups is None else type("Grouped", (GroupedHelp,), {"groups": groups})
    app.command(name, cls=kind, short_help=summary, epilog=_examples(examples))(command)


_add(certify.certify, "Train a classifier, and say how often it errs at most.", certify.EXAMPLES, None, certify.GROUPS)
_add(predict.predict, "Predict with a saved model.", predict.EXAMPLES)
_add(compare.compare, "Bound how much more often one model errs than another.", compare.EXAMPLES)
_add(watch.watch, "Watch whether a certificate still holds for new rows.", watch.EXAMPLES)
_add(plan.plan, "Say how many rows it takes to certify a target.", plan.EXAMPLES)
_add(posterior.posterior, "Find the best posterior for risks in a file.", posterior.POSTERIOR_EXAMPLES)
_add(posterior.bound, "Compute the bounds of one posterior.", posterior.BOUND_EXAMPLES)
_add(datasets, "List the data sets that come with pacbayes.", ("pacbayes datasets",))
_add(reproduce, "Compute the paper's tables and figures.", ("pacbayes reproduce --list",))
_add(
    show_help,
    "Explain a command, or what a certificate assumes.",
    ("pacbayes help", "pacbayes help assumptions"),
    "help",
)


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
        with ended_in_time():
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
    if not isinstance(sys.stderr, Unheard):
        sys.stderr = cast(TextIO, Unheard(sys.stderr))


def _spare_threads() -> None:
    """Work in one thread where more may not fit: linear algebra would wait for ever, or interrupt the process."""
    from pacbayes._utils.memory import THREADS_BYTES, narrow_space

    if narrow_space(THREADS_BYTES) is not None:
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
            os.environ.setdefault(name, "1")


def _space_left(error: Exception) -> str:
    """Return what to say first where an error may be due to a limit of the address space, else nothing.

    A library that cannot be loaded, or a thread that cannot be started, says so in many ways.
    """
    told = isinstance(error, ValueError | TypeError | ModuleNotFoundError)
    if told or (isinstance(error, OSError) and (type(error) is not OSError or error.errno not in (None, errno.ENOMEM))):
        return ""
    from pacbayes._utils.memory import LIBRARY_BYTES, THREADS_BYTES, narrow_space, readable

    narrow = narrow_space(THREADS_BYTES if isinstance(error, MemoryError) else LIBRARY_BYTES)
    return (
        ""
        if narrow is None
        else (
            f"too little memory: the address space is limited to {readable(narrow.limit)} (ulimit -v), of which "
            f"{readable(narrow.left)} are left: "
        )
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
    sys.exit(code)
