"""Progress of long work, in one line on stderr, unless somebody asked for quiet.

Work has stages inside stages: a fit, a fold of its cross-validation, the kernel matrix of that fold.  A terminal shows
the innermost one; elsewhere a line of words is printed every ten seconds or so.  One thread of the main process is
shown at a time: workers, be they threads or processes, have no line of their own.  numba's functions are compiled here,
and once that takes a while a notice says so.
"""

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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
    """Whether somebody asked for quiet."""
    return any(_asked)


# Shorter work ends before a line would be read; with this much more for a busy machine it stands in the first second.
DELAY_SECONDS = 0.5
# The spinner turns during long steps, too.
_REDRAW_SECONDS = 0.1
# Off a terminal there is a line of words after so many seconds, and not more often.
WORDS_SECONDS = 10.0


@dataclass(eq=False)
class _Stage:
    """Work of `total` steps, None where they cannot be counted."""

    name: str
    total: int | None
    done: int = 0


class _Work:
    """The stages of a thread, each inside the one before it, and the line that shows the last of them."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.stages: list[_Stage] = []
        self._counting = threading.Lock()
        self._begun = self._spoke = time.monotonic()
        self._on_terminal = sys.stderr.isatty()

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Enter a stage; yield the function that counts its steps."""
        stage = _Stage(name, total)

        def advance(steps: int) -> None:
            with self._counting:
                stage.done += steps
            self._speak()

        self.stages.append(stage)
        try:
            self._speak()
            yield advance
        finally:
            self.stages.remove(stage)

    @contextmanager
    def line(self, delay: float) -> Iterator[None]:
        """Show the work on a terminal, from `delay` seconds on, by a thread: the first step may be long."""
        over = threading.Event()
        thread = threading.Thread(target=self._draw, args=(over, delay), daemon=True)
        if self._on_terminal:
            thread.start()
        try:
            yield
        finally:
            over.set()
            if self._on_terminal:
                thread.join()

    def _draw(self, over: threading.Event, delay: float) -> None:
        if over.wait(delay):
            return
        from rich import progress as rich
        from rich.console import Console

        columns = (rich.SpinnerColumn(), rich.TextColumn("{task.description}", markup=False), rich.BarColumn())
        counts = (rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
        shown = None
        # A terminal that is gone is no reason to stop.
        with (
            suppress(OSError, ValueError),
            rich.Progress(*columns, *counts, console=Console(stderr=True), transient=True, auto_refresh=False) as bar,
        ):
            while not over.is_set():
                stages = self.stages.copy()
                if stages[-1] is not shown:
                    shown = stages[-1]
                    for task in bar.task_ids:
                        bar.remove_task(task)
                    bar.add_task(_label(stages), total=shown.total)
                bar.update(bar.task_ids[0], completed=shown.done, refresh=True)
                over.wait(_REDRAW_SECONDS)

    def _speak(self) -> None:
        """Say in words what is going on, for a log, if it was quiet for long."""
        stages, now = self.stages.copy(), time.monotonic()
        if self._on_terminal or not stages or now - self._spoke < WORDS_SECONDS:
            return
        self._spoke = now
        of = "" if stages[-1].total is None else f", {stages[-1].done} of {stages[-1].total}"
        # A full disk, or a closed stream, is no reason to stop.
        with suppress(OSError, ValueError):
            print(f"pacbayes: {_label(stages)}{of}; {now - self._begun:.0f} s so far", file=sys.stderr, flush=True)


def _label(stages: list[_Stage]) -> str:
    """Name the innermost stage, after the outermost one that counts."""
    last, counted = stages[-1].name, next((stage.name for stage in stages if stage.total is not None), "")
    return last if counted in ("", last) else f"{counted}: {last}"


_shown: _Work | None = None


def _forget() -> None:
    global _shown
    _shown = None


if hasattr(os, "register_at_fork"):
    # The thread that draws, and those that count, do not live on in a fork.
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def progress(name: str, total: int | None, delay: float = DELAY_SECONDS) -> Iterator[Callable[[int], None]]:
    """Show work that lasts; yield a function that is told how many of `total` steps were done since the last time.

    It may be called from other threads.  Inside a stage of the same name nothing is shown: it is part of that.

    Examples
    --------
    >>> with progress("counting", 2) as advance:
    ...     advance(1)
    ...     advance(1)
    """
    global _shown
    work = _shown
    if work is None and not is_quiet() and sys.stderr is not None and multiprocessing.parent_process() is None:
        try:
            _shown = work = _Work()
            with work.stage(name, total) as advance, work.line(delay):
                yield advance
        finally:
            _shown = None
    elif work is not None and work.thread == threading.get_ident() and work.stages[-1].name != name:
        with work.stage(name, total) as advance:
            yield advance
    else:
        yield lambda steps: None


_said: list[bool] = []
_NOTICE = "pacbayes: compiling the support vector machine solver (once; the result is cached) ...\n"


def compiled(**options: Any) -> Any:
    """Return numba's decorator with a cache; without one where no folder can be written, rather than not at all."""
    from numba import config, njit

    if getattr(config, "DISABLE_JIT", 0):  # numba sets it from the environment, where no type checker sees it
        raise ImportError(
            "support vector machines and monitors need numba's compiler, which NUMBA_DISABLE_JIT turns off: remove it "
            "from the environment"
        )

    def decorate(function: Any) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:
            return njit(nogil=True, **options)(function)

    return decorate


@contextmanager
def compile_notice(*functions: Any, delay: float = 1.0) -> Iterator[None]:
    """Say once on stderr that one of the compiled functions is being compiled, if it takes longer than some seconds.

    Loading from the cache can be slow as well on a busy machine; it is not called compiling.
    """

    def say() -> None:
        if not (_said or is_quiet()) and any(function.stats.cache_misses for function in functions):
            _said.append(True)
            sys.stderr.write(_NOTICE)

    timer = threading.Timer(delay, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
