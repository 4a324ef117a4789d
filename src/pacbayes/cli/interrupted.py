"""Handle Ctrl-C: end the command with one line that names the saved files; ignore it after the last write.

Python handles an interrupt between two bytecode instructions.  The loops of this package return to Python several times
a second.  If the cleanup waits too long for other threads, the process is ended; this is safe, because files are
replaced atomically.
"""

import _thread
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
# Time for a regular exit after an interrupt.
_GRACE_SECONDS = 0.7
_reports: list[Callable[[], str]] = []


def on_interrupt_report(report: Callable[[], str]) -> None:
    """Register a part of the interrupt message; it is called when the message is written, and may return "".

    Examples
    --------
    >>> clear_interrupt_reports()
    >>> interrupt_message()
    'pacbayes: interrupted; nothing was written'
    >>> on_interrupt_report(lambda: "the model is saved in 'm.pacbayes'")
    >>> interrupt_message()
    "pacbayes: interrupted; the model is saved in 'm.pacbayes'"
    >>> clear_interrupt_reports()
    """
    _reports.append(report)


def clear_interrupt_reports() -> None:
    """Discard the reports of an earlier command in this process."""
    _reports.clear()


def interrupt_message() -> str:
    """Line that names what was saved before the interrupt."""
    parts = []
    for report in _reports:
        with suppress(OSError, ValueError):  # such as a directory that has become unreadable
            parts.append(report())
    line = "; ".join(filter(None, parts)) or "nothing was written"
    return "pacbayes: interrupted; " + "".join(letter if letter.isprintable() else " " for letter in line)


def handle_interrupts() -> None:
    """Raise `KeyboardInterrupt` at Ctrl-C, and end the process if the main thread does not in time."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else interrupts are ignored
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_: int, __: FrameType | None) -> None:
    # `threading` is not used, because the interrupted code may hold its locks.
    _thread.start_new_thread(_exit_later, ())
    raise KeyboardInterrupt


def _exit_later() -> None:
    time.sleep(_GRACE_SECONDS)
    if signal.getsignal(signal.SIGINT) is _interrupt:
        # On a line below any progress bar, and without the buffer of stderr, which the main thread may hold.
        os.write(2, f"\n{interrupt_message()}\n".encode(errors="replace"))
        os._exit(INTERRUPTED)


def finish_command() -> None:
    """Ignore interrupts from here on, because all output is written."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def exit_interrupted() -> NoReturn:
    """Print the interrupt message and exit."""
    finish_command()
    print(interrupt_message(), file=sys.stderr, flush=True)
    sys.exit(INTERRUPTED)
