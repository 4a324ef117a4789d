"""pacbayes: choose among many trained classifiers with a guarantee."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pacbayes.bounds import DISTANCES, bound, kl_divergence, kl_roots, log_constant
    from pacbayes.classifiers import ClassifierSet, SVMPath, sigest, svm_path, svm_set

__version__ = "0.1.0.dev0"

# Public name -> the module that holds it, imported when the name is first used: `import pacbayes` itself loads nothing.
_HOMES = {
    "DISTANCES": "pacbayes.bounds",
    "ClassifierSet": "pacbayes.classifiers",
    "SVMPath": "pacbayes.classifiers",
    "bound": "pacbayes.bounds",
    "kl_divergence": "pacbayes.bounds",
    "kl_roots": "pacbayes.bounds",
    "log_constant": "pacbayes.bounds",
    "sigest": "pacbayes.classifiers",
    "svm_path": "pacbayes.classifiers",
    "svm_set": "pacbayes.classifiers",
}

__all__ = [
    "DISTANCES",
    "ClassifierSet",
    "SVMPath",
    "bound",
    "kl_divergence",
    "kl_roots",
    "log_constant",
    "sigest",
    "svm_path",
    "svm_set",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pacbayes' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
