"""`pacbayes`: the commands, and how they fail."""

import sys
from collections.abc import Sequence
from typing import Any

import typer

from pacbayes.cli.datasets import datasets
from pacbayes.cli.reproduce import reproduce

# typer brings its own click, under a name that changed with its versions; in all of them this is what BadParameter is.
ClickException: Any = typer.BadParameter.__mro__[2]
_ENDED_BY_USER = 130

app = typer.Typer(
    help="Choose among many trained classifiers with a guarantee.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(datasets)
app.command()(reproduce)


@app.callback()
def _commands() -> None:
    """Choose among many trained classifiers with a guarantee."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; what the user did wrong is one line on stderr and exit code 2."""
    try:
        code = app(args=None if arguments is None else list(arguments), standalone_mode=False)
    except ClickException as error:
        _fail(error.format_message() if hasattr(error, "format_message") else str(error))
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(_ENDED_BY_USER)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    print(f"pacbayes: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)
