"""What answers cost, read from a file: `--cost FILE`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.data.reading import read_frame

if TYPE_CHECKING:
    from pacbayes.certificates.metric_bounds import Cost


def cost_of(path: Path | None, labels: NDArray[Any]) -> "Cost | None":
    """Return the costs of a file for classes as they are among the labels; None without a file.

    The file has the answers as names of its columns after the first, and a line for each true class, which is named in
    the first column.
    """
    if path is None:
        return None
    from pacbayes.certificates.metric_bounds import Cost

    try:
        frame = read_frame(path)
        table = frame.set_index(frame.columns[0])
        lines, columns = ([str(name) for name in names] for names in (table.index, table.columns))
        if len(set(lines)) < len(lines) or sorted(lines) != sorted(columns):
            raise ValueError(
                "must have one line and one column for each class, named alike; got lines "
                f"{', '.join(map(repr, lines))} and columns {', '.join(map(repr, columns))}"
            )
        names = sorted(lines)
        known = {str(name): name for name in np.unique(labels).tolist()}
        missing = [name for name in known if name not in names]
        if missing:
            raise ValueError(f"must name every class; {missing[0]!r} is not among {', '.join(map(repr, names))}")
        matrix = table.set_axis(lines, axis=0).set_axis(columns, axis=1).loc[names, names].to_numpy().tolist()
        return Cost(matrix, [known.get(name, name) for name in names])
    except (OSError, TypeError, ValueError) as error:
        named = "" if repr(str(path)) in str(error) else f"{str(path)!r}: "
        raise ValueError(f"--cost: {named}{error}") from None
