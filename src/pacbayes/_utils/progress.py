"""What is going on, in one line on stderr for what lasts, unless somebody asked for quiet.

Work is made of stages inside stages: a fit, a fold of its cross-validation, the kernel matrix of that fold.  The first
one opens the line, whose clock is that of the whole, and the innermost one is shown.  Where no terminal would show it,
work that lasts says in words, now and then, what is going on.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_asked: list[bool] = []


@contextmanager
def quiet(wanted: bool = True) -> Iterator[None]:
    """Show no progress and no notice inside, in any thread.

    Examples
    --------
    >>> with quiet():
    ...     print(is_quiet())
    True
    >>> is_quiet()
    False
    """
    _asked.append(wanted)
    try:
        yield
    finally:
        _asked.remove(wanted)


def is_quiet() -> bool:
    """Return whether somebody asked for quiet."""
    return any(_asked)


# Shorter work ends before a line would be read; with this much more for a busy machine it stands in the first second.
DELAY_SECONDS = 0.5
# Off a terminal there is a line of words after so many seconds, and not more often.
WORDS_SECONDS = 10.0

_here = threading.local()
_counting = threading.Lock()
if hasattr(os, "register_at_fork"):
    # As in threads.py: who holds it does not live on in a fork.
    os.register_at_fork(before=_counting.acquire, after_in_parent=_counting.release, after_in_child=_counting.release)


class Stage:
    """Work with `total` steps, of which some are done; None where they cannot be counted.

    Examples
    --------
    >>> stage = Stage("counting", 2)
    >>> stage.advance(1)
    >>> stage.done
    1
    """

    def __init__(
        self, name: str, total: int | None, outer: "Stage | None" = None, line: "_Line | _Words | None" = None
    ) -> None:
        self.name, self.total, self.outer, self.line = name, total, outer, line
        self.done = 0

    def __reduce__(self) -> tuple[Any, ...]:
        # In another process there is no line.
        return Stage, (self.name, self.total)

    def advance(self, steps: int) -> None:
        """Note that so many steps were done since the last time."""
        with _counting:
            self.done += steps
        if self.line is not None:
            self.line.move(self, steps)

    def chain(self) -> "list[Stage]":
        """Return this stage and those around it, the outermost last."""
        return [self] if self.outer is None else [self, *self.outer.chain()]

    def label(self) -> str:
        """Return what the line says: the innermost stage, after the outermost one that counts."""
        counted = [stage.name for stage in self.chain() if stage.total is not None]
        return self.name if self.name in counted[-1:] or not counted else f"{counted[-1]}: {self.name}"


@contextmanager
def progress(name: str, total: int | None, delay: float = DELAY_SECONDS) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many of `total` steps were done since the last time.

    It may be called from other threads.

    Examples
    --------
    >>> with progress("counting", 2) as advance:
    ...     advance(1)
    ...     advance(1)
    """
    outer = current_stage()
    line = outer.line if outer is not None else _new_line(delay)
    stage = Stage(name, total, outer, line)
    try:
        _here.stage = stage
        if line is not None:
            line.show(stage)
        yield stage.advance
    finally:
        _here.stage = outer
        if line is not None:
            line.leave(stage)


def current_stage() -> Stage | None:
    """Return the innermost stage of this thread."""
    return getattr(_here, "stage", None)


@contextmanager
def working_for(stage: Stage | None) -> Iterator[None]:
    """Let this thread work for a stage of another one (or of its own): stages inside show nothing.

    Examples
    --------
    >>> with progress("work", 1):
    ...     with working_for(current_stage()), progress("part of it", 1) as advance:
    ...         advance(1)
    """
    before = current_stage()
    try:
        _here.stage = None if stage is None else Stage(stage.name, None, stage)
        yield
    finally:
        _here.stage = before


class _Line:
    """The line on the terminal: nothing for the first moments, then the innermost stage."""

    def __init__(self, delay: float) -> None:
        self._lock = threading.RLock()
        self._bar: Any = None
        self._tasks: dict[Stage, Any] = {}
        self._shown: Stage | None = None
        self._closed = False
        # By a clock of its own: the first step may be long.
        self._timer = threading.Timer(delay, self._open)
        self._timer.daemon = True
        if delay > 0.0:
            self._timer.start()
        else:
            self._open()

    def show(self, stage: Stage) -> None:
        with self._lock:
            self._shown = stage
            self._draw()

    def move(self, stage: Stage, steps: int) -> None:
        with self._lock:
            if stage in self._tasks:
                self._bar.advance(self._tasks[stage], steps)

    def leave(self, stage: Stage) -> None:
        """Go back to the stage around this one; close the line after the outermost."""
        if stage.outer is None:
            self._timer.cancel()
        with self._lock:
            self._shown = stage.outer
            if stage.outer is None:
                self._closed = True
                if self._bar is not None:
                    self._bar.stop()
            elif stage in self._tasks:
                self._bar.remove_task(self._tasks.pop(stage))
                self._draw()

    def _open(self) -> None:
        from rich import progress as parts
        from rich.console import Console

        with self._lock:
            if self._closed:
                return
            # The spinner turns during long steps too.
            columns = (parts.SpinnerColumn(), parts.TextColumn("{task.description}", markup=False), parts.BarColumn())
            counts = (parts.MofNCompleteColumn(), parts.TimeRemainingColumn())
            self._bar = parts.Progress(*columns, *counts, console=Console(stderr=True), transient=True)
            self._draw()
            self._bar.start()

    def _draw(self) -> None:
        """Show the task of the innermost stage and hide the others, which go on being counted."""
        if self._bar is None or self._closed or self._shown is None:
            return
        if self._shown not in self._tasks:
            stage = self._shown
            self._tasks[stage] = self._bar.add_task(stage.label(), total=stage.total, completed=stage.done)
        for stage, task in self._tasks.items():
            self._bar.update(task, visible=stage is self._shown)


class _Words:
    """What is going on in words, for a log: the innermost stage, when something moves and it was quiet for long."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()

    def show(self, stage: Stage) -> None:
        now = time.monotonic()
        if now - self._last < WORDS_SECONDS:
            return
        self._last = now
        of = "" if stage.total is None else f", {stage.done} of {stage.total}"
        # A full disk, or a closed stream, is no reason to stop.
        with suppress(OSError, ValueError):
            print(f"pacbayes: {stage.label()}{of}; {now - self._start:.0f} s so far", file=sys.stderr, flush=True)

    def move(self, stage: Stage, steps: int) -> None:
        self.show(stage)

    def leave(self, stage: Stage) -> None:
        """Nothing is left behind."""


def _new_line(delay: float) -> _Line | _Words | None:
    if is_quiet() or sys.stderr is None:
        return None
    return _Line(delay) if sys.stderr.isatty() else _Words()
