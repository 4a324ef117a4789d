"""What answers cost, read from a file: `--cost FILE`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pacbayes.certificates.limits import Cost


def cost_of(path: Path | None, labels: NDArray[Any]) -> "Cost | None":
    """Return the costs of a file for classes as they are among the labels; None without a file.

    A CSV file has the answers as names of its columns after the first, and a line for each true class, which is named
    in the first column.  A JSON file has the same as a dict of dicts, or a dict with "classes" and "matrix".
    """
    if path is None:
        return None
    from pacbayes.certificates.limits import Cost

    names, matrix = _read(path)
    known = {str(name): name for name in np.unique(labels).tolist()}
    missing = [name for name in known if name not in names]
    if missing:
        raise ValueError(
            f"--cost: {str(path)!r} must name every class; {missing[0]!r} is not among {', '.join(map(repr, names))}"
        )
    try:
        return Cost(matrix, [known.get(name, name) for name in names])
    except (TypeError, ValueError) as error:
        raise ValueError(f"--cost: {str(path)!r}: {error}") from None


def _read(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Return the names of classes as text, and the costs in their order."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--cost: cannot read {str(path)!r}: {getattr(error, 'strerror', None) or error}") from None
    if path.suffix.lower() == ".json":
        return _from_json(path, text)
    from pacbayes.data.reading import read_frame

    frame = read_frame(path)
    lines = [str(name) for name in frame.iloc[:, 0].tolist()]
    columns = [str(name) for name in frame.columns[1:]]
    table = {
        true: dict(zip(columns, row, strict=True))
        for true, row in zip(lines, frame.iloc[:, 1:].to_numpy().tolist(), strict=True)
    }
    return _square(path, table, columns, len(lines))


def _from_json(path: Path, text: str) -> tuple[list[str], list[list[Any]]]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"--cost: {str(path)!r} is not JSON: {error}") from None
    if isinstance(found, dict) and set(found) == {"classes", "matrix"} and isinstance(found["classes"], list):
        return [str(name) for name in found["classes"]], found["matrix"]
    if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
        raise ValueError(
            f"--cost: {str(path)!r} must hold costs by true class and answer, as in "
            '{"ill": {"ill": 0, "well": 10}, "well": {"ill": 1, "well": 0}}'
        )
    return _square(path, found, list(found), len(found))


def _square(
    path: Path, table: dict[str, dict[str, Any]], columns: list[str], lines: int
) -> tuple[list[str], list[Any]]:
    """Return names and costs of a table that has a line and a column for each class, or raise."""
    names = sorted(table)
    square = lines == len(names) and sorted(columns) == names and all(sorted(row) == names for row in table.values())
    if not square:
        raise ValueError(
            f"--cost: {str(path)!r} must have one line and one column for each class, named alike; got lines "
            f"{', '.join(map(repr, table))} and columns {', '.join(map(repr, columns))}"
        )
    return names, [[table[true][answer] for answer in names] for true in names]
