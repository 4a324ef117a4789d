"""The code of classes and functions that somebody may edit between two runs: what is not installed.

A class of an installed package is what its name and the package's version say.  One from a script, a notebook or a
checkout is its methods, its constants and the globals that these use.
"""

import functools
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CONSTANTS = (type(None), bool, int, float, complex, str, bytes)


@functools.cache
def is_own_code(module: str | None) -> bool:
    """Return whether a module is neither installed, nor of Python, nor of this library.

    Examples
    --------
    >>> is_own_code("json"), is_own_code("sklearn.svm"), is_own_code("pacbayes.data.labels")
    (False, False, False)
    """
    root = (module or "").partition(".")[0]
    if root == "pacbayes" or root in sys.stdlib_module_names or root in sys.builtin_module_names:
        return False
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    if file is None:  # of a notebook or a prompt; other modules without a file are compiled in
        return root == "__main__"
    return not {"site-packages", "dist-packages"} & set(Path(file).parts)


def own_class_parts(kind: type) -> list[Any]:
    """Return what answers of a class depend on: its bases, methods and constants.

    Examples
    --------
    >>> class Doubled:
    ...     FACTOR = 2
    ...     def of(self, x): return x * self.FACTOR
    >>> [part if isinstance(part, str | int) else type(part).__name__ for part in own_class_parts(Doubled)]
    ['type', 'FACTOR', 2, 'of', 'function']
    """
    parts: list[Any] = list(kind.__bases__)
    for name, value in sorted(vars(kind).items()):
        # What Python itself puts there may be an address, a line number or a docstring.
        if name.startswith("__") and not isinstance(value, types.FunctionType):
            continue
        for one in _unwrapped(value):
            parts += [name, one]
    return parts


def globals_used(function: types.FunctionType) -> list[Any]:
    """Return names and values of the globals that a function uses: constants, and functions and classes.

    Of other objects, such as arrays, only the type: they may be anything, and large.

    Examples
    --------
    >>> offset = 3
    >>> globals_used(lambda x: x + offset)
    ['offset', 3]
    """
    known = function.__globals__
    parts: list[Any] = []
    for name in sorted(set(_names(function.__code__)) & known.keys()):
        value = known[name]
        if isinstance(value, types.ModuleType):
            parts += [name, value.__name__]
        else:
            parts += [name, value if isinstance(value, (*_CONSTANTS, types.FunctionType, type)) else type(value)]
    return parts


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _unwrapped(value: Any) -> Iterator[Any]:
    """Yield the functions behind an attribute of a class, or a constant."""
    if isinstance(value, staticmethod | classmethod):
        yield from _unwrapped(value.__func__)
    elif isinstance(value, property):
        yield from (one for one in (value.fget, value.fset) if isinstance(one, types.FunctionType))
    elif isinstance(value, (*_CONSTANTS, types.FunctionType)):
        yield value
