"""Ctrl-C: the command ends within a second, and one line says what was kept; once all is written it changes nothing.

Python hears an interrupt between two of its own steps.  The loops of this package return to it several times a second;
those of other libraries (a solver in C, a large matrix product) may not, and then a watching thread ends the process.
That loses nothing: files are put in their place whole, by one rename.  An interrupt that Python drops, in the middle of
one of its callbacks, is remembered here and ends the command all the same.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

ENDED_BY_USER = 130
# For the ordinary way out; after that, the other one.
_GRACE_SECONDS = 0.7
_kept: list[Callable[[], str]] = []


class _Interrupts:
    """The state of one command: whether an interrupt came, and whether the command has said its last word."""

    def __init__(self) -> None:
        self.came = self.over = False
        # Held by the thread that ends the command, until the process ends.
        self.last_word = threading.Lock()

    def hear(self, _: int, __: FrameType | None) -> None:
        if not self.over:
            self.came = True
            raise KeyboardInterrupt


_interrupts = _Interrupts()


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
    kept = []
    for sentence in _kept:
        with suppress(OSError, ValueError):  # a directory that cannot be read any more says nothing
            kept.append(sentence())
    line = "; ".join(filter(None, kept)) or "nothing was written"
    return "pacbayes: interrupted; " + "".join(letter if letter.isprintable() else " " for letter in line)


@contextmanager
def force_exit_on_interrupt(afterwards: Any = signal.default_int_handler) -> Iterator[None]:
    """End the process if an interrupt inside is not heard in time; `afterwards` is the handler of later ones."""
    global _interrupts
    main, handler = threading.main_thread(), signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not main or handler is not signal.default_int_handler:
        yield  # somebody else decides what an interrupt does
        return
    _interrupts = _Interrupts()
    signal.signal(signal.SIGINT, _interrupts.hear)
    reader, writer = socket.socketpair()
    # Python's handler in C writes the number of the signal here at once, whatever the main thread does.
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader, _interrupts), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writer.close()
        signal.signal(signal.SIGINT, afterwards)
        _interrupts = _Interrupts()


def _watch(reader: socket.socket, state: _Interrupts) -> None:
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
        if state.over:
            return
        state.last_word.acquire()
        # Below a progress bar, if there is one; and not through a buffer that the main thread may hold.
        os.write(2, f"\n{interrupted_line()}\n".encode(errors="replace"))
        os._exit(ENDED_BY_USER)


def end_command() -> None:
    """Let interrupts change nothing from here on: all is written.  One that came before ends the command here."""
    if _interrupts.came:
        end_interrupted()
    _take_last_word()


def _take_last_word() -> None:
    if not _interrupts.over:
        _interrupts.over = True
        # Where the watching thread was first, it ends the process now.
        _interrupts.last_word.acquire()


def end_interrupted() -> NoReturn:
    """Say what was kept and end the command."""
    _take_last_word()
    print(interrupted_line(), file=sys.stderr, flush=True)
    sys.exit(ENDED_BY_USER)
