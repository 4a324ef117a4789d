"""Linear algebra and OpenMP in one thread, in every process and thread that trains.

The bits of a sum depend on how many threads share it; with one, a classifier is the same whoever trains it.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, local
from typing import Any

import threadpoolctl
from threadpoolctl import ThreadpoolController

_lock = Lock()
_here = local()
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
        _controller, _modules = ThreadpoolController(), len(sys.modules)
    return _controller, new
