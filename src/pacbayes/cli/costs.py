"""What answers cost, read from a file: `--cost FILE`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from pacbayes.certificates.limits import Cost


def cost_of(path: Path | None, labels: NDArray[Any]) -> "Cost | None":
    """Return the costs of a file for classes as they are among the labels; None without a file.

    A CSV file has the answers as names of its columns after the first, and a line for each true class, which is named
    in the first column.  A JSON file has the same as a dict of dicts, or a dict with "classes" and "matrix".
    """
    if path is None:
        return None
    from pacbayes.certificates.limits import Cost

    where = f"--cost: {str(path)!r}"
    try:
        table = _read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--cost: cannot read {str(path)!r}: {getattr(error, 'strerror', None) or error}") from None
    lines, columns = ([str(name) for name in names] for names in (table.index, table.columns))
    if len(set(lines)) < len(lines) or sorted(lines) != sorted(columns):
        raise ValueError(
            f"{where} must have one line and one column for each class, named alike; got lines "
            f"{', '.join(map(repr, lines))} and columns {', '.join(map(repr, columns))}"
        )
    names = sorted(lines)
    known = {str(name): name for name in np.unique(labels).tolist()}
    missing = [name for name in known if name not in names]
    if missing:
        raise ValueError(f"{where} must name every class; {missing[0]!r} is not among {', '.join(map(repr, names))}")
    matrix = table.set_axis(lines, axis=0).set_axis(columns, axis=1).loc[names, names].to_numpy().tolist()
    try:
        return Cost(matrix, [known.get(name, name) for name in names])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def _read(path: Path) -> "pd.DataFrame":
    """Return the costs as a table: a line for each true class, a column for each answer."""
    import pandas as pd

    if path.suffix.lower() != ".json":
        from pacbayes.data.reading import read_frame

        frame = read_frame(path)
        return frame.set_index(frame.columns[0])
    text = path.read_text(encoding="utf-8-sig")
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"--cost: {str(path)!r} is not JSON: {error}") from None
    if isinstance(found, dict) and set(found) == {"classes", "matrix"} and isinstance(found["classes"], list):
        try:
            return pd.DataFrame(found["matrix"], found["classes"], found["classes"], dtype=object)
        except (TypeError, ValueError) as error:
            raise ValueError(f"--cost: {str(path)!r}: {error}") from None
    if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
        raise ValueError(
            f"--cost: {str(path)!r} must hold costs by true class and answer, as in "
            '{"ill": {"ill": 0, "well": 10}, "well": {"ill": 1, "well": 0}}'
        )
    return pd.DataFrame.from_dict(found, orient="index", dtype=object)
