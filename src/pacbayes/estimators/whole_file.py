"""Files that are there as a whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, contents: bytes) -> None:
    """Write a file beside its place, then move it there: no reader ever sees half of it.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", b"all of it")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('a.txt', 'all of it')]
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name[:100])
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
