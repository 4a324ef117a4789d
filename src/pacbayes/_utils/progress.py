"""Progress of long work on stderr, and compilation by numba.

Work has nested stages: a fit, a fold of its cross-validation, the kernel matrix of that fold.  A terminal shows a bar
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

_requests: list[bool] = []
#: Stage of the compilation, whose result numba caches.
COMPILING = "compiling the support vector machine solver, once"


@contextmanager
def quiet(wanted: bool = True) -> Iterator[None]:
    """Suppress progress and notices in all threads.

    Examples
    --------
    >>> with quiet():
    ...     print(is_quiet())
    True
    >>> is_quiet()
    False
    """
    _requests.append(wanted)
    try:
        yield
    finally:
        _requests.remove(wanted)


def is_quiet() -> bool:
    """Whether `quiet` is active."""
    return any(_requests)


# Shorter work shows no progress.
DELAY_SECONDS = 0.5
# The spinner turns during long steps, too.
_REDRAW_SECONDS = 0.1
# Least time between lines without a terminal.
WORDS_SECONDS = 10.0


@dataclass(eq=False)
class _Stage:
    """Work of `total` steps, None if their number is unknown."""

    name: str
    total: int | None
    done: int = 0


class _Work:
    """Nested stages of a thread, and their display."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.stages: list[_Stage] = []
        self._lock = threading.Lock()
        self._started = self._last_line = time.monotonic()
        self._on_terminal = sys.stderr.isatty()

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Enter a stage; yield the function that counts its steps."""
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
        """Show a bar on a terminal from `delay` seconds on, by a thread, since the first step may be long."""
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
        # A closed terminal must not end the work.
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
                    bar.add_task(_label(stages), total=shown.total)
                bar.update(bar.task_ids[0], completed=shown.done, refresh=True)
                finished.wait(_REDRAW_SECONDS)

    def _print_line(self) -> None:
        """Print the innermost stage without a terminal, if the last line is old enough."""
        stages, now = self.stages.copy(), time.monotonic()
        if self._on_terminal or not stages or now - self._last_line < WORDS_SECONDS:
            return
        self._last_line = now
        of = "" if stages[-1].total is None else f", {stages[-1].done} of {stages[-1].total}"
        # A full disk or a closed stream must not end the work.
        with suppress(OSError, ValueError):
            print(f"pacbayes: {_label(stages)}{of}; {now - self._started:.0f} s so far", file=sys.stderr, flush=True)


def _label(stages: list[_Stage]) -> str:
    """Name of the innermost stage, after that of the outermost one with a total."""
    last, outermost = stages[-1].name, next((stage.name for stage in stages if stage.total is not None), "")
    return last if outermost in ("", last) else f"{outermost}: {last}"


_shown: _Work | None = None


def _reset() -> None:
    global _shown
    _shown = None


if hasattr(os, "register_at_fork"):
    # A fork does not inherit the thread that draws.
    os.register_at_fork(after_in_child=_reset)


@contextmanager
def progress(name: str, total: int | None, delay: float = DELAY_SECONDS) -> Iterator[Callable[[int], None]]:
    """Show the progress of `total` steps; yield a function that adds finished steps, from any thread.

    Inside a stage of the same name nothing is shown.

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
            with work.stage(name, total) as advance, work.bar(delay):
                yield advance
        finally:
            _shown = None
    elif work is not None and work.thread == threading.get_ident() and work.stages[-1].name != name:
        with work.stage(name, total) as advance:
            yield advance
    else:
        yield lambda steps: None


def notice(text: str) -> None:
    """Print a line on stderr, where progress would be shown.

    Examples
    --------
    >>> with quiet():
    ...     notice("about a minute")
    """
    if not is_quiet() and sys.stderr is not None and multiprocessing.parent_process() is None:
        # A full disk or a closed stream must not end the work.
        with suppress(OSError, ValueError):
            print(f"pacbayes: {text}", file=sys.stderr, flush=True)


def compiled(*, inner: bool = False, **options: Any) -> Any:
    """Decorate by `numba.njit` with a cache, or without one if no folder is writable.

    Functions that only compiled code calls are `inner`: they need neither a cache nor a way in from Python, which take
    a sixth of the time of compilation.
    """
    from numba import config, njit

    if getattr(config, "DISABLE_JIT", 0):  # set by numba at run time, invisible to type checkers
        raise ImportError(
            "support vector machines and monitors need numba's compiler, which NUMBA_DISABLE_JIT turns off: remove it "
            "from the environment"
        )

    options |= {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": inner}

    def decorate(function: Any) -> Any:
        try:
            return njit(cache=not inner, **options)(function)
        except RuntimeError:
            return njit(**options)(function)

    return decorate
