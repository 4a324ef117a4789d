"""Control of the number of threads, on which results do not depend.

BLAS and OpenMP use one thread wherever classifiers are trained, since the rounding of a sum depends on the number of
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

# Environment variables that limit the threads of BLAS also limit this package: jobs with a process per core set them.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Thread-local state: whether OpenMP is limited, and the number of cores that the thread may use.
_local = threading.local()

_lock = threading.Lock()
_users = 0
_stack = ExitStack()
_controller: Any = None
_modules = 0
if hasattr(os, "register_at_fork"):
    # Otherwise a forked process may inherit a lock held by a thread that does not exist there.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Context manager that limits BLAS (of the process) and OpenMP (of this thread) to one thread.

    Examples
    --------
    >>> with limit_to_one_thread():
    ...     {library["num_threads"] for library in ThreadpoolController().info()}
    {1}
    """
    global _users
    if getattr(_local, "limited", False) and len(sys.modules) == _modules:
        yield  # already limited, and no library has been loaded since
        return
    with _lock:
        controller, new = _current_controller()
        # Use `select`, since `limit(user_api=...)` also restores libraries that it did not limit.  BLAS has one setting
        # per process: the first context sets it and the last one restores it, so that no thread removes the limit while
        # another is running.
        _users += 1
        if _users == 1 or new:
            _register_thread()
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
                _register_thread()
                _stack.close()
                _register_thread()


def _register_thread() -> None:
    """Allow this thread to limit OpenBLAS, since recent versions of threadpoolctl ignore all threads but the first."""
    clear = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _current_controller() -> tuple[Any, bool]:
    """Return the controller of the loaded libraries, and whether it is new.

    Searching for libraries takes as long as a small fit, so it is repeated only after new imports.
    """
    global _controller, _modules
    new = _controller is None or len(sys.modules) != _modules
    if new:
        _controller, _modules = ThreadpoolController(), len(sys.modules)
    return _controller, new


def available_cores() -> int:
    """Count the cores that this thread may use: the minimum of `limit_cores` and the cores of the process.

    The latter are limited by the CPU affinity and by `OMP_NUM_THREADS`, `OPENBLAS_NUM_THREADS` and `MKL_NUM_THREADS`.

    Examples
    --------
    >>> with limit_to_one_core():
    ...     available_cores()
    1
    """
    limit: int | None = getattr(_local, "most_cores", None)
    return _cores_of_process() if limit is None else min(limit, _cores_of_process())


@contextmanager
def limit_cores(n_cores: int) -> Iterator[None]:
    """Context manager that limits the cores of this thread; nested contexts can only lower the limit.

    Examples
    --------
    >>> with limit_cores(1), limit_cores(4):
    ...     available_cores()
    1
    """
    before: int | None = getattr(_local, "most_cores", None)
    _local.most_cores = n_cores if before is None else min(n_cores, before)
    try:
        yield
    finally:
        _local.most_cores = before


def limit_to_one_core() -> AbstractContextManager[None]:
    """Context manager that limits this thread to one core, for threads that share the cores."""
    return limit_cores(1)


def parallel_for(function: Callable[[Part], object], parts: Sequence[Part]) -> None:
    """Call `function` for each part, in any order, on all cores available to this thread.

    After an error or an interrupt, parts that have not started are cancelled.

    Examples
    --------
    >>> done = set()
    >>> parallel_for(done.add, range(5))
    >>> done
    {0, 1, 2, 3, 4}
    """
    number = min(available_cores(), len(parts))
    if number < 2:
        for part in parts:
            function(part)
        return
    # NumPy's error state is thread-local: copy that of the caller.
    float_errors = np.geterr()

    def run(part: Part) -> None:
        with limit_to_one_core(), np.errstate(**float_errors):
            function(part)

    # Wait for running parts on exit, even after an interrupt, since they write into arrays of the caller.
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
    limits = [
        int(value) for name in _THREAD_VARIABLES if (value := os.environ.get(name, "")).isdigit() and int(value) > 0
    ]
    return min([int(cpu_count()), *limits])
