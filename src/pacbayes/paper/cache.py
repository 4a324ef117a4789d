"""Results kept in files, so that a second run computes only what is missing."""

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.runtime.files import write_file

#: Part of every key: raise it when what is computed changes.
VERSION = 2

Arrays = dict[str, NDArray[Any]]


class Cache:
    """A folder of .npz files, each named after its label and a hash of everything it depends on.

    Examples
    --------
    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()))
    >>> cache.get("a", {"seed": 0}, lambda: {"x": np.arange(3)})["x"]
    array([0, 1, 2])
    >>> cache.get("a", {"seed": 0}, lambda: {"x": np.zeros(1)})["x"]
    array([0, 1, 2])
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, label: str, key: Mapping[str, Any]) -> Path:
        """Return the file that holds the result for a key."""
        text = json.dumps(dict(key) | {"version": VERSION}, sort_keys=True)
        return self.folder / f"{label}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.npz"

    def get(self, label: str, key: Mapping[str, Any], compute: Callable[[], Arrays]) -> Arrays:
        """Return what is kept for a key, computed if there is nothing."""
        path = self.path(label, key)
        if path.exists():
            with np.load(path, allow_pickle=False) as kept:
                return {name: kept[name] for name in kept.files}
        arrays = compute()
        self.folder.mkdir(parents=True, exist_ok=True)
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # the stub takes **kwargs for a flag
        write_file(path, file.getvalue())
        return arrays


def digest(*arrays: NDArray[Any]) -> str:
    """Return a short hash of the contents of arrays, for a key."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.shape}{array.dtype}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:16]
