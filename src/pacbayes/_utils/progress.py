"""Progress of long computations on stderr, and compilation by numba.

Stages are nested: a fit, a fold of its cross-validation, the kernel matrix of that fold.  A terminal shows a bar
for the innermost stage; without a terminal a line is printed about every ten seconds.  Only one thread of the main
process shows progress; workers, threads or processes, do not.
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

_suppress_requests: list[bool] = []
#: Name of the compilation stage; numba caches its result.
COMPILING = "compiling the support vector machine solver, once"


@contextmanager
def suppress_progress(enabled: bool = True) -> Iterator[None]:
    """Suppress progress and notices in all threads.

    Examples
    --------
    >>> with suppress_progress():
    ...     print(is_progress_suppressed())
    True
    >>> is_progress_suppressed()
    False
    """
    _suppress_requests.append(enabled)
    try:
        yield
    finally:
        _suppress_requests.remove(enabled)


def is_progress_suppressed() -> bool:
    """Whether `suppress_progress` is active."""
    return any(_suppress_requests)


# Shorter computations show no progress.
DELAY_SECONDS = 0.5
# Redraw interval, so that the spinner turns during long steps.
_REDRAW_SECONDS = 0.1
# Minimum time between lines without a terminal.
LINE_INTERVAL_SECONDS = 10.0


@dataclass(eq=False)
class _Stage:
    """Stage with `total` steps (None if unknown), of which `done` are finished."""

    name: str
    total: int | None
    done: int = 0


class _ProgressDisplay:
    """Progress display of the nested stages of a thread."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.stages: list[_Stage] = []
        self._lock = threading.Lock()
        self._started = self._last_line = time.monotonic()
        self._on_terminal = sys.stderr.isatty()

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Enter a stage; yield a function that adds finished steps."""
        stage = _Stage(name, total)

        def advance(steps: int) -> None:
            with self._lock:
                stage.done += steps
            self._print_line()

        self.stages.append(stage)
        try:
            self._print_line()
            yield advance
        finally:
            self.stages.remove(stage)

    @contextmanager
    def bar(self, delay: float) -> Iterator[None]:
        """Show a progress bar on a terminal after `delay` seconds, drawn by a thread because steps may be long."""
        finished = threading.Event()
        thread = threading.Thread(target=self._draw, args=(finished, delay), daemon=True)
        if self._on_terminal:
            thread.start()
        try:
            yield
        finally:
            finished.set()
            if self._on_terminal:
                thread.join()

    def _draw(self, finished: threading.Event, delay: float) -> None:
        if finished.wait(delay):
            return
        from rich import progress as rich
        from rich.console import Console

        columns = (rich.SpinnerColumn(), rich.TextColumn("{task.description}", markup=False), rich.BarColumn())
        counts = (rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
        shown = None
        # A closed terminal must not stop the computation.
        with (
            suppress(OSError, ValueError),
            rich.Progress(*columns, *counts, console=Console(stderr=True), transient=True, auto_refresh=False) as bar,
        ):
            while not finished.is_set():
                stages = self.stages.copy()
                if stages[-1] is not shown:
                    shown = stages[-1]
                    for task in bar.task_ids:
                        bar.remove_task(task)
                    bar.add_task(_format_stages(stages), total=shown.total)
                bar.update(bar.task_ids[0], completed=shown.done, refresh=True)
                finished.wait(_REDRAW_SECONDS)

    def _print_line(self) -> None:
        """If there is no terminal, print the innermost stage, at most every `LINE_INTERVAL_SECONDS`."""
        stages, now = self.stages.copy(), time.monotonic()
        if self._on_terminal or not stages or now - self._last_line < LINE_INTERVAL_SECONDS:
            return
        self._last_line = now
        of = "" if stages[-1].total is None else f", {stages[-1].done} of {stages[-1].total}"
        # A full disk or a closed stream must not stop the computation.
        with suppress(OSError, ValueError):
            print(
                f"pacbayes: {_format_stages(stages)}{of}; {now - self._started:.0f} s so far",
                file=sys.stderr,
                flush=True,
            )


def _format_stages(stages: list[_Stage]) -> str:
    """Format the name of the innermost stage, prefixed by the outermost stage with a total."""
    last, outermost = stages[-1].name, next((stage.name for stage in stages if stage.total is not None), "")
    return last if outermost in ("", last) else f"{outermost}: {last}"


_display: _ProgressDisplay | None = None


def _reset_display() -> None:
    global _display
    _display = None


if hasattr(os, "register_at_fork"):
    # A forked process does not inherit the drawing thread.
    os.register_at_fork(after_in_child=_reset_display)


@contextmanager
def progress(name: str, total: int | None, delay: float = DELAY_SECONDS) -> Iterator[Callable[[int], None]]:
    """Show the progress of `total` steps; yield a function that adds finished steps, from any thread.

    Nested stages of the same name are shown once.

    Examples
    --------
    >>> with progress("counting", 2) as advance:
    ...     advance(1)
    ...     advance(1)
    """
    global _display
    work = _display
    if (
        work is None
        and not is_progress_suppressed()
        and sys.stderr is not None
        and multiprocessing.parent_process() is None
    ):
        try:
            _display = work = _ProgressDisplay()
            with work.stage(name, total) as advance, work.bar(delay):
                yield advance
        finally:
            _display = None
    elif work is not None and work.thread == threading.get_ident() and work.stages[-1].name != name:
        with work.stage(name, total) as advance:
            yield advance
    else:
        yield lambda steps: None


def print_notice(text: str) -> None:
    """Print a line on stderr unless progress is suppressed.

    Examples
    --------
    >>> with suppress_progress():
    ...     print_notice("about a minute")
    """
    if not is_progress_suppressed() and sys.stderr is not None and multiprocessing.parent_process() is None:
        # A full disk or a closed stream must not stop the computation.
        with suppress(OSError, ValueError):
            print(f"pacbayes: {text}", file=sys.stderr, flush=True)


def cached_njit(*, internal: bool = False, **options: Any) -> Any:
    """Decorate by `numba.njit` with a cache, or without one if no cache directory is writable.

    Functions that are only called by compiled code should be `internal`: without a cache and a Python wrapper they
    compile in five sixths of the time.
    """
    from numba import config, njit

    if getattr(config, "DISABLE_JIT", 0):  # set by numba at run time, invisible to type checkers
        raise ImportError(
            "support vector machines and monitors need numba's compiler, which NUMBA_DISABLE_JIT turns off: remove it "
            "from the environment"
        )

    options |= {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": internal}

    def decorate(function: Any) -> Any:
        try:
            return njit(cache=not internal, **options)(function)
        except RuntimeError:
            return njit(**options)(function)

    return decorate
