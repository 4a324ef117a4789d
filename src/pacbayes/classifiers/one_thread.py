"""Linear algebra and OpenMP in one thread, in every process and thread that trains.

The bits of a sum depend on how many threads share it; with one, a classifier is the same whoever trains it.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_users = 0
_stack = ExitStack()
_controller: Any = None
_modules = 0


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
    with _lock:
        controller, new = _current_controller()
        # BLAS has one setting per process: the first who enters sets it and the last who leaves restores it,
        # or one thread would give another its threads back in the middle of its work.
        _users += 1
        if _users == 1 or new:
            _stack.enter_context(controller.limit(limits=1, user_api="blas"))
    try:
        with controller.limit(limits=1, user_api="openmp"):
            yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _stack.close()


def _current_controller() -> tuple[Any, bool]:
    """Return a controller of the libraries loaded now, and whether it is new.

    Looking for them takes as long as a small fit, so it is done again only after new imports.
    """
    global _controller, _modules
    new = _controller is None or len(sys.modules) != _modules
    if new:
        _controller, _modules = ThreadpoolController(), len(sys.modules)
    return _controller, new
