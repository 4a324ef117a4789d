"""Whether anything may be said on stderr while the work goes on."""

from collections.abc import Iterator
from contextlib import contextmanager

_asked: list[bool] = []


@contextmanager
def quiet(wanted: bool = True) -> Iterator[None]:
    """Show no progress and no notice inside, in any thread.

    Examples
    --------
    >>> with quiet():
    ...     print(is_quiet())
    True
    >>> is_quiet()
    False
    """
    _asked.append(wanted)
    try:
        yield
    finally:
        _asked.remove(wanted)


def is_quiet() -> bool:
    """Return whether somebody asked for quiet."""
    return any(_asked)
