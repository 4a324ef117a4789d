"""A saved model, from the words of a command."""

from pathlib import Path
from typing import Any

from pacbayes.estimators.persistence.saving import UntrustedTypesError, load


def load_saved(path: Path, trust: bool, sha256: str | None = None) -> Any:
    """Return the model of a file, or raise with what to do about types that are not trusted."""
    try:
        return load(path, sha256=sha256, trusted=["sklearn."] if trust else [])
    except UntrustedTypesError as error:
        of_sklearn = all(name.startswith("sklearn.") for name in error.names)
        way = "add --trust" if of_sklearn else "load it in Python, with trusted=[...] and their names"
        raise ValueError(
            f"{str(error).partition('. If you')[0]}; if you know where the file comes from, {way}"
        ) from None
