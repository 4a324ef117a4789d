"""A progress bar on stderr for what takes more than two seconds, and nothing where no terminal would show it."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pacbayes.classifiers.quiet import is_quiet

# Shorter work ends before a bar would be read.
DELAY_SECONDS = 2.0


@contextmanager
def progress(
    description: str, total: int, show: bool = True, delay: float = DELAY_SECONDS
) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many of `total` steps were done since the last time.

    Without `show` there is no bar: work inside other work that has one.

    Examples
    --------
    >>> with progress("counting", 2) as advance:
    ...     advance(1)
    ...     advance(1)
    """
    if not show or is_quiet() or not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(description, total=total)
    started = time.monotonic()
    shown = False

    def advance(steps: int) -> None:
        nonlocal shown
        bar.advance(task, steps)
        if not shown and time.monotonic() - started > delay:
            bar.start()
            shown = True

    try:
        yield advance
    finally:
        if shown:
            bar.stop()
