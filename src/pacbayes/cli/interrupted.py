"""Ctrl-C ends a command within a second, with one line that names what was saved; after the last write it is ignored.

Python handles an interrupt between two bytecode instructions.  The loops of this package return to Python several times
a second; those of other libraries (a solver in C, a large matrix product) may not.  A watchdog thread then ends the
process, which loses nothing, because files are replaced atomically.  An interrupt that Python drops inside one of its
callbacks is recorded here and still ends the command.
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

INTERRUPTED = 130
# Time for a regular exit; then the watchdog ends the process.
_GRACE_SECONDS = 0.7
_reports: list[Callable[[], str]] = []


class _Interrupts:
    """Interrupt state of one command: whether a signal was received, and whether the command has finished."""

    def __init__(self) -> None:
        self.received = self.finished = False
        # Held by the thread that ends the command, until the process ends.
        self.exit_lock = threading.Lock()

    def handle(self, _: int, __: FrameType | None) -> None:
        if not self.finished:
            self.received = True
            raise KeyboardInterrupt


_interrupts = _Interrupts()


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


@contextmanager
def force_exit_on_interrupt(handler_after: Any = signal.default_int_handler) -> Iterator[None]:
    """End the process if the main thread does not handle an interrupt in time; `handler_after` is installed on exit."""
    global _interrupts
    main, handler = threading.main_thread(), signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not main or handler is not signal.default_int_handler:
        yield  # the caller has its own handler
        return
    _interrupts = _Interrupts()
    signal.signal(signal.SIGINT, _interrupts.handle)
    reader, writer = socket.socketpair()
    # Python's C-level handler writes the signal number here immediately, whatever the main thread does.
    writer.setblocking(False)
    previous_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader, _interrupts), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous_fd)
        writer.close()
        signal.signal(signal.SIGINT, handler_after)
        _interrupts = _Interrupts()


def _watch(reader: socket.socket, state: _Interrupts) -> None:
    """Wait for an interrupt, then for the other end to close; end the process if it does not close in time."""
    with reader:
        while signal.SIGINT not in (received := reader.recv(64)):
            if not received:
                return
        reader.settimeout(_GRACE_SECONDS)
        try:
            # A second interrupt ends the wait.
            if not reader.recv(64):
                return
        except TimeoutError:
            pass
        if state.finished:
            return
        state.exit_lock.acquire()
        # On a line below any progress bar, and without the buffer of stderr, which the main thread may hold.
        os.write(2, f"\n{interrupt_message()}\n".encode(errors="replace"))
        os._exit(INTERRUPTED)


def finish_command() -> None:
    """Ignore interrupts from here on, because all output is written; an earlier one ends the command now."""
    if _interrupts.received:
        exit_interrupted()
    _take_exit_lock()


def _take_exit_lock() -> None:
    if not _interrupts.finished:
        _interrupts.finished = True
        # If the watchdog was first, it ends the process now.
        _interrupts.exit_lock.acquire()


def exit_interrupted() -> NoReturn:
    """Print the interrupt message and exit."""
    _take_exit_lock()
    print(interrupt_message(), file=sys.stderr, flush=True)
    sys.exit(INTERRUPTED)
