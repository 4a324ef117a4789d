"""The packages of the extra `solvers`, imported only when a reference solver is asked for."""

from importlib import import_module
from typing import Any


def import_solver(package: str, method: str) -> Any:
    """Return the module, or say how to install it.

    Examples
    --------
    >>> import_solver("no_such_package", "ipopt")
    Traceback (most recent call last):
    ...
    ImportError: method 'ipopt' needs the package no_such_package; install it with: pip install 'pacbayes[solvers]'
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f"method {method!r} needs the package {package}; install it with: pip install 'pacbayes[solvers]'"
        ) from error
