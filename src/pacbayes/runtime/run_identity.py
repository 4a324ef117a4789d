"""What makes two runs the same: where any of it differs, results of one are not results of the other."""

import platform
import sys
from typing import Any

import numpy as np

from pacbayes.runtime.fingerprint import fingerprint
from pacbayes.runtime.units import UNIT


def describe_run(
    function: str, number: int, seed: int, data: dict[str, Any], choices: dict[str, Any], modules: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the run as JSON can hold it: data by fingerprint, choices as they are where they are short.

    Examples
    --------
    >>> run = describe_run("svm_set", 3, 7, {"X": np.eye(2)}, {"scale": True, "test": None})
    >>> run["scale"], run["test"], run["random_state"], len(run["X"])
    ('True', 'None', 7, 64)
    """
    return (
        {"function": function, "number of classifiers": number, "classifiers per chunk": UNIT}
        | {name: fingerprint(value) for name, value in data.items()}
        | {name: _short(value) for name, value in choices.items()}
        | {"random_state": seed}
        | _versions(modules)
    )


def _short(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, bool | int | float | str | None) else fingerprint(value)


def _versions(modules: tuple[str, ...]) -> dict[str, str]:
    """Return the versions that may change a bit of the result or how it is stored."""
    roots = ["pacbayes", "numpy", "scipy", "sklearn", *(name.partition(".")[0] for name in modules)]
    versions = {f"version of {root}": getattr(sys.modules[root], "__version__", None) for root in roots}
    known = {name: str(version) for name, version in versions.items() if version is not None}
    return known | {"version of Python": ".".join(platform.python_version_tuple()[:2]), "machine": platform.machine()}
