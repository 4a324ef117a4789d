"""pacbayes: choose among many trained classifiers with a guarantee."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pacbayes.bounds import DISTANCES, bound, kl_divergence, kl_roots, log_constant
    from pacbayes.classifiers import SVMPath, svm_path

__version__ = "0.1.0.dev0"

# Public name -> the module that holds it, imported when the name is first used: `import pacbayes` itself loads nothing.
_HOMES = {
    "DISTANCES": "pacbayes.bounds",
    "SVMPath": "pacbayes.classifiers",
    "bound": "pacbayes.bounds",
    "kl_divergence": "pacbayes.bounds",
    "kl_roots": "pacbayes.bounds",
    "log_constant": "pacbayes.bounds",
    "svm_path": "pacbayes.classifiers",
}

__all__ = ["DISTANCES", "SVMPath", "bound", "kl_divergence", "kl_roots", "log_constant", "svm_path"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pacbayes' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
