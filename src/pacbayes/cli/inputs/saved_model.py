"""A saved model, as the commands that use one load it."""

from pathlib import Path
from typing import Any


def load_saved(path: Path, trust: bool, sha256: str | None = None) -> Any:
    """Return a model, or raise in the words of the command line."""
    from pacbayes.estimators.persistence.saving import UntrustedTypesError, load

    if not path.exists():
        raise FileNotFoundError(f"no such model: {str(path)!r}; pacbayes certify --save MODEL writes one")
    if path.is_dir():
        raise ValueError(f"the model must be a file that pacbayes certify --save wrote, got the folder {str(path)!r}")
    try:
        return load(path, sha256=sha256, trusted=["sklearn."] if trust else [])
    except UntrustedTypesError as error:
        of_sklearn = all(name.startswith("sklearn.") for name in error.names)
        way = "add --trust" if of_sklearn else "load it in Python, with trusted=[...] and their names"
        raise ValueError(
            f"{str(error).partition('. If you')[0]}; if you know where the file comes from, {way}"
        ) from None
