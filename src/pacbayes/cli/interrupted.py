"""Ctrl-C: the command ends within a second, and one line says what was kept.

Python hears an interrupt between two of its own steps.  The loops of this package return to it several times a second;
those of other libraries (a solver in C, a large matrix product) may not, and then a watching thread ends the process.
That loses nothing: files are put in their place whole, by one rename.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

ENDED_BY_USER = 130
# For the ordinary way out; after that, the other one.
_GRACE_SECONDS = 0.7
_kept: list[Callable[[], str]] = []


def keeps(sentence: Callable[[], str]) -> None:
    """Let the line say this too; asked when it is written, an empty sentence is left out.

    Examples
    --------
    >>> forget_kept()
    >>> interrupted_line()
    'pacbayes: interrupted; nothing was written'
    >>> keeps(lambda: "the model is saved in 'm.pacbayes'")
    >>> interrupted_line()
    "pacbayes: interrupted; the model is saved in 'm.pacbayes'"
    >>> forget_kept()
    """
    _kept.append(sentence)


def forget_kept() -> None:
    """Begin a command."""
    _kept.clear()


def interrupted_line() -> str:
    """Return the line that says what was kept."""
    said = [_said(sentence) for sentence in _kept]
    line = "; ".join(text for text in said if text) or "nothing was written"
    return "pacbayes: interrupted; " + "".join(letter if letter.isprintable() else " " for letter in line)


def _said(sentence: Callable[[], str]) -> str:
    try:
        return sentence()
    except (OSError, ValueError):  # a directory that cannot be read any more says nothing
        return ""


@contextmanager
def ended_in_time() -> Iterator[None]:
    """End the process if an interrupt inside is not heard in time."""
    main, handler = threading.main_thread(), signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not main or handler is not signal.default_int_handler:
        yield  # somebody else decides what an interrupt does
        return
    reader, writer = socket.socketpair()
    # Python's handler in C writes the number of the signal here at once, whatever the main thread does.
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writer.close()


def _watch(reader: socket.socket) -> None:
    """Wait for an interrupt, then for the other end to close: the command ended.  If it does not, end the process."""
    with reader:
        while signal.SIGINT not in (received := reader.recv(64)):
            if not received:
                return
        reader.settimeout(_GRACE_SECONDS)
        try:
            # A second interrupt is from somebody who does not want to wait.
            if not reader.recv(64):
                return
        except TimeoutError:
            pass
        # Below a progress bar, if there is one; and not through a buffer that the main thread may hold.
        os.write(2, f"\n{interrupted_line()}\n".encode(errors="replace"))
        os._exit(ENDED_BY_USER)


def end_interrupted() -> NoReturn:
    """Say what was kept and end the command."""
    print(interrupted_line(), file=sys.stderr, flush=True)
    sys.exit(ENDED_BY_USER)
