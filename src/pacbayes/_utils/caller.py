"""What the caller is told: warnings that name the user's line, however deep their cause; packages that are missing."""

import sys
import warnings
from importlib import import_module
from types import FrameType
from typing import Any

_US = "pacbayes"
# Who calls us on behalf of the user: pipelines, searches, and the threads of both.
_BETWEEN = {"concurrent", "joblib", "sklearn", "threading"}


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning for the line outside this package, and outside scikit-learn, that led here.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("look here")
    >>> str(caught[0].message), caught[0].category.__name__
    ('look here', 'UserWarning')
    """
    names = _callers(sys._getframe(1))
    # Frames of libraries that call us back, or wrap our functions, may stand between ours.
    outside = max((place + 1 for place, name in enumerate(names) if name == _US), default=0)
    users = next((place for place, name in enumerate(names) if place >= outside and name not in _BETWEEN), outside)
    warnings.warn(message, category, stacklevel=users + 2)


def _callers(frame: FrameType | None) -> list[str]:
    """Return the top-level package of every caller, from the innermost on."""
    names = []
    while frame is not None:
        names.append(str(frame.f_globals.get("__name__", "")).partition(".")[0])
        frame = frame.f_back
    return names


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
