"""Packages that not everybody has, imported when they are needed."""

from importlib import import_module
from typing import Any


def import_optional(module: str, needed_by: str) -> Any:
    """Return a module, or say what to install.

    Examples
    --------
    >>> import_optional("no_such_package.part", "method 'ipopt'")
    Traceback (most recent call last):
    ImportError: method 'ipopt' needs no_such_package, which is not installed: pip install no_such_package
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(f"{needed_by} needs {package}, which is not installed: pip install {package}") from error
