"""Work divided among the cores of this process, in parts that do not depend on how many there are.

For compiled code and linear algebra that let other threads run, on parts of a tenth of a second at most.  Who divides
the work fixes the parts by its size alone, so that the results have the same bits for any number of cores.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TypeVar

import numpy as np
from joblib import cpu_count

Part = TypeVar("Part")

# What limits linear algebra limits us: who starts a process per core sets these.
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_END = object()
_here = threading.local()


def cores() -> int:
    """Return how many cores this thread may use: what `at_most_cores` around it says, else what the process may.

    That is the number of those it may run on, or less if `OMP_NUM_THREADS`, `OPENBLAS_NUM_THREADS` or
    `MKL_NUM_THREADS` in the environment says less.

    Examples
    --------
    >>> with one_core():
    ...     cores()
    1
    """
    limit: int | None = getattr(_here, "limit", None)
    return _cores_of_process() if limit is None else min(limit, _cores_of_process())


@contextmanager
def at_most_cores(number: int) -> Iterator[None]:
    """Let this thread use no more cores than that, nor more than it might before.

    Examples
    --------
    >>> with at_most_cores(1), at_most_cores(4):
    ...     cores()
    1
    """
    before: int | None = getattr(_here, "limit", None)
    _here.limit = number if before is None else min(number, before)
    try:
        yield
    finally:
        _here.limit = before


def one_core() -> AbstractContextManager[None]:
    """Let this thread divide its work no further: it is one of several that share the cores."""
    return at_most_cores(1)


def on_cores(work: Callable[[Part], object], parts: Sequence[Part]) -> None:
    """Call `work` for each part, in any order, on the cores this thread may use; it takes parts itself.

    An error, or an interrupt, ends the work after the parts that have begun.

    Examples
    --------
    >>> done = set()
    >>> on_cores(done.add, range(5))
    >>> done
    {0, 1, 2, 3, 4}
    """
    helpers = min(cores(), len(parts)) - 1
    if helpers < 1:
        for part in parts:
            work(part)
        return
    left, taking, over = iter(parts), threading.Lock(), False

    def take_parts() -> None:
        nonlocal over
        try:
            while not over:
                with taking:
                    part = next(left, _END)
                if part is _END:
                    return
                work(part)  # type: ignore[arg-type]  # the mark of the end, an object, is gone by here
        except BaseException:
            over = True
            raise

    # What NumPy does about an overflow is a matter of each thread; here it is the caller's.
    float_errors = np.geterr()

    def help_out() -> None:
        with one_core(), np.errstate(**float_errors):
            take_parts()

    pool = _pool(os.getpid())
    futures: list[Future[None]] = [pool.submit(help_out) for _ in range(helpers)]
    try:
        take_parts()
    finally:
        # Also after an interrupt: the parts that have begun write into arrays of the caller.  Who has not begun to help
        # need not any more.
        begun = [future for future in futures if not future.cancel()]
        if not all(future.done() for future in begun):
            wait(begun)
    for future in begun:
        future.result()


@cache
def _cores_of_process() -> int:
    limits = [int(value) for name in _LIMITS if (value := os.environ.get(name, "")).isdigit() and int(value) > 0]
    return min([int(cpu_count()), *limits])


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the threads of this process; those of its parent do not live on in a fork."""
    return ThreadPoolExecutor(max(1, _cores_of_process()), thread_name_prefix="pacbayes")
