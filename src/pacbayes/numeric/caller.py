"""Warnings that name the user's line, however deep in this package their cause is found."""

import sys
import warnings
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).parents[1])


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning for whoever called this package from outside.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("look here")
    >>> str(caught[0].message), caught[0].category.__name__
    ('look here', 'UserWarning')
    """
    frame: FrameType | None = sys._getframe(1)
    level, outermost = 2, 1
    while frame is not None:
        # Frames of libraries that call us back, or wrap our functions, may stand between ours.
        if frame.f_code.co_filename.startswith(_PACKAGE):
            outermost = level
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=outermost + 1)
