"""Control of threads, such that results do not depend on their number.

BLAS and OpenMP use one thread wherever classifiers are trained, since the bits of a sum depend on the number of
threads.  `parallel_for` divides compiled code and linear algebra, which release the GIL, among the cores.  Its callers
choose the parts by the size of the work alone, so that results have the same bits for any number of cores.
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

Part = TypeVar("Part")

# Environment variables that limit BLAS also limit this package: jobs with a process per core set them.
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# State of a thread: whether its OpenMP is limited, and the number of cores it may use.
_local = threading.local()

_lock = threading.Lock()
_users = 0
_stack = ExitStack()
_controller: Any = None
_modules = 0
if hasattr(os, "register_at_fork"):
    # Otherwise a fork may inherit the lock from a thread that it does not inherit.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS of the process and OpenMP of this thread to one thread, until the last such context exits.

    Examples
    --------
    >>> with one_thread():
    ...     {library["num_threads"] for library in ThreadpoolController().info()}
    {1}
    """
    global _users
    if getattr(_local, "limited", False) and len(sys.modules) == _modules:
        yield  # limited already, and no library was loaded since
        return
    with _lock:
        controller, new = _current_controller()
        # By `select`, since `limit(user_api=...)` also restores libraries that it did not limit.
        # BLAS has one setting per process: the first context sets it and the last restores it, so that no thread
        # removes the limit while another works.
        _users += 1
        if _users == 1 or new:
            _take_control()
            _stack.enter_context(controller.select(user_api="blas").limit(limits=1))
    before, _local.limited = getattr(_local, "limited", False), True
    try:
        with controller.select(user_api="openmp").limit(limits=1):
            yield
    finally:
        _local.limited = before
        with _lock:
            _users -= 1
            if _users == 0:
                _take_control()
                _stack.close()
                _take_control()


def _take_control() -> None:
    """Let this thread limit OpenBLAS: recent versions of threadpoolctl ignore all threads but the first."""
    clear = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _current_controller() -> tuple[Any, bool]:
    """Return the controller of the loaded libraries, and whether it is new.

    The search takes as long as a small fit and is repeated only after new imports.
    """
    global _controller, _modules
    new = _controller is None or len(sys.modules) != _modules
    if new:
        _controller, _modules = ThreadpoolController(), len(sys.modules)
    return _controller, new


def cores() -> int:
    """Count the cores that this thread may use: at most those of `at_most_cores` and of the process.

    The latter is limited by the CPU affinity and by `OMP_NUM_THREADS`, `OPENBLAS_NUM_THREADS` and `MKL_NUM_THREADS`.

    Examples
    --------
    >>> with one_core():
    ...     cores()
    1
    """
    limit: int | None = getattr(_local, "most_cores", None)
    return _cores_of_process() if limit is None else min(limit, _cores_of_process())


@contextmanager
def at_most_cores(number: int) -> Iterator[None]:
    """Limit the cores of this thread; nested contexts can only lower the limit.

    Examples
    --------
    >>> with at_most_cores(1), at_most_cores(4):
    ...     cores()
    1
    """
    before: int | None = getattr(_local, "most_cores", None)
    _local.most_cores = number if before is None else min(number, before)
    try:
        yield
    finally:
        _local.most_cores = before


def one_core() -> AbstractContextManager[None]:
    """Limit this thread, one of several that share the cores, to one core."""
    return at_most_cores(1)


def parallel_for(work: Callable[[Part], object], parts: Sequence[Part]) -> None:
    """Call `work` for each part, in any order, on the cores that this thread may use.

    An error or an interrupt cancels the parts that have not started.

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
    # NumPy's error state is one per thread: use that of the caller.
    float_errors = np.geterr()

    def run(part: Part) -> None:
        with one_core(), np.errstate(**float_errors):
            work(part)

    # The exit waits for running parts, also after an interrupt: they write into arrays of the caller.
    with ThreadPoolExecutor(number, thread_name_prefix="pacbayes") as pool:
        futures = [pool.submit(run, part) for part in parts]
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
