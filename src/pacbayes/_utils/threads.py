"""How many threads work, to the same bits whatever their number.

Linear algebra and OpenMP run in one thread, in every process and thread that trains: the bits of a sum depend on how
many threads share it; with one, a classifier is the same whoever trains it.

Work is divided among the cores of this process in parts that do not depend on how many there are.  That is for compiled
code and linear algebra that let other threads run, on parts of a tenth of a second at most.  Who divides the work fixes
the parts by its size alone, so that the results have the same bits for any number of cores.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
import threadpoolctl
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from pacbayes._utils.memory import reserve_buffers

Part = TypeVar("Part")

# What limits linear algebra limits us: who starts a process per core sets these.
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# What this thread was told: whether its OpenMP is limited, how many cores it may use.
_here = threading.local()

_lock = threading.Lock()
_users = 0
_stack = ExitStack()
_controller: Any = None
_modules = 0
if hasattr(os, "register_at_fork"):
    # A thread that holds the lock does not live on in a fork, where nobody else would ever release it.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS for the whole process and OpenMP for this thread to one thread, until the last one has left.

    Examples
    --------
    >>> with one_thread():
    ...     {library["num_threads"] for library in ThreadpoolController().info()}
    {1}
    """
    global _users
    if getattr(_here, "limited", False) and len(sys.modules) == _modules:
        yield  # limited already, and no library came since
        return
    with _lock:
        controller, new = _current_controller()
        # Selected, not by limit's own user_api: on leaving, that restores the libraries it did not limit too.
        # BLAS has one setting per process: the first who enters sets it and the last who leaves restores it,
        # or one thread would give another its threads back in the middle of its work.
        _users += 1
        if _users == 1 or new:
            _take_control()
            _stack.enter_context(controller.select(user_api="blas").limit(limits=1))
    before, _here.limited = getattr(_here, "limited", False), True
    try:
        with controller.select(user_api="openmp").limit(limits=1):
            yield
    finally:
        _here.limited = before
        with _lock:
            _users -= 1
            if _users == 0:
                _take_control()
                _stack.close()
                _take_control()


def _take_control() -> None:
    """Let this thread set OpenBLAS, and later any other: recent versions of threadpoolctl ignore all but the first.

    Here several agree on when to limit and when to restore, and the last to leave may not be the first who came.
    """
    clear = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _current_controller() -> tuple[Any, bool]:
    """Return a controller of the libraries loaded now, and whether it is new.

    Looking for them takes as long as a small fit, so it is done again only after new imports.
    """
    global _controller, _modules
    new = _controller is None or len(sys.modules) != _modules
    if new:
        reserve_buffers()
        _controller, _modules = ThreadpoolController(), len(sys.modules)
    return _controller, new


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
    limit: int | None = getattr(_here, "most_cores", None)
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
    before: int | None = getattr(_here, "most_cores", None)
    _here.most_cores = number if before is None else min(number, before)
    try:
        yield
    finally:
        _here.most_cores = before


def one_core() -> AbstractContextManager[None]:
    """Let this thread divide its work no further: it is one of several that share the cores."""
    return at_most_cores(1)


def parallel_for(work: Callable[[Part], object], parts: Sequence[Part]) -> None:
    """Call `work` for each part, in any order, on the cores this thread may use.

    An error, or an interrupt, ends the work after the parts that have begun.

    Examples
    --------
    >>> done = set()
    >>> parallel_for(done.add, range(5))
    >>> done
    {0, 1, 2, 3, 4}
    """
    number = min(cores(), len(parts))
    if number < 2:
        for part in parts:
            work(part)
        return
    # What NumPy does about an overflow is a matter of each thread; here it is the caller's.
    float_errors = np.geterr()

    def do(part: Part) -> None:
        with one_core(), np.errstate(**float_errors):
            work(part)

    # Leaving waits, also after an interrupt: the parts that have begun write into arrays of the caller.
    with ThreadPoolExecutor(number, thread_name_prefix="pacbayes") as pool:
        futures = [pool.submit(do, part) for part in parts]
        try:
            for future in futures:
                future.result()
        finally:
            for future in futures:
                future.cancel()


@cache
def _cores_of_process() -> int:
    limits = [int(value) for name in _LIMITS if (value := os.environ.get(name, "")).isdigit() and int(value) > 0]
    return min([int(cpu_count()), *limits])
