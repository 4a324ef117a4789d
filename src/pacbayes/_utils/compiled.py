"""How the numba modules of this package are compiled: cached, and said so on stderr when it takes a while."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pacbayes._utils.progress import is_quiet

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


def _say() -> None:
    """Print the notice, unless it was printed already: the modules are compiled one after the other."""
    if not (_said or is_quiet()):
        _said.append(True)
        sys.stderr.write(_NOTICE)


@contextmanager
def compile_notice(*functions: Any, delay: float = 1.0) -> Iterator[None]:
    """Say on stderr that one of the compiled functions is being compiled, if it takes longer than `delay` seconds.

    Loading from the cache can be slow as well on a busy machine; it is not called compiling.
    """
    done = threading.Event()

    def watch() -> None:
        finished = done.wait(delay)
        while not finished:
            if any(function.stats.cache_misses for function in functions):
                _say()
                return
            finished = done.wait(0.1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
