"""Read cost matrices and shares of slices from files: `--cost FILE`, `--slice-shares FILE`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.checks import check_distribution, check_numbers
from pacbayes.data.io import open_table
from pacbayes.data.rejections import format_names

if TYPE_CHECKING:
    import pandas as pd

    from pacbayes.certificates.metric_bounds import Cost


def read_cost(path: Path | None, labels: NDArray[Any]) -> "Cost | None":
    """Read a cost matrix for the classes of `labels`; None without a file.

    The file has a row for each true class, named in the first column, and a further column for each predicted class.
    """
    if path is None:
        return None
    from pacbayes.certificates.metric_bounds import Cost

    try:
        frame = open_table(path).read()
        table = frame.set_index(frame.columns[0])
        rows, columns = ([str(name) for name in names] for names in (table.index, table.columns))
        if len(set(rows)) < len(rows) or sorted(rows) != sorted(columns):
            raise ValueError(
                "must have one row and one column for each class, with equal names; got rows "
                f"{', '.join(map(repr, rows))} and columns {', '.join(map(repr, columns))}"
            )
        names = sorted(rows)
        classes = {str(name): name for name in np.unique(labels).tolist()}
        missing = [name for name in classes if name not in names]
        if missing:
            raise ValueError(f"must contain every class, but {missing[0]!r} is not among {', '.join(map(repr, names))}")
        matrix = table.set_axis(rows, axis=0).set_axis(columns, axis=1).loc[names, names].to_numpy().tolist()
        return Cost(matrix, [classes.get(name, name) for name in names])
    except (OSError, TypeError, ValueError) as error:
        prefix = "" if repr(str(path)) in str(error) else f"{str(path)!r}: "
        raise ValueError(f"--cost: {prefix}{error}") from None


def read_shares(path: Path | None, slice_: str | None, slices: "pd.Series[Any] | None") -> dict[str, float] | None:
    """Read the share of every slice from a file with two columns, name and share; None without a file."""
    if path is None:
        return None
    if slices is None:
        raise ValueError("--slice-shares requires --slice COLUMN")
    try:
        frame = open_table(path).read()
        if frame.shape[1] != 2:
            raise ValueError(f"must have two columns, the slice and its share, got {frame.shape[1]}")
        names, shares = ([str(name) for name in frame.iloc[:, 0]], check_numbers("the shares", frame.iloc[:, 1]))
        known = sorted(set(slices.tolist()))
        if sorted(names) != known:
            raise ValueError(
                f"must have one row for each value of {slice_!r}, {format_names(known)}; got {format_names(names)}"
            )
        check_distribution("the shares", shares, len(names))
        return dict(zip(names, shares.tolist(), strict=True))
    except (OSError, TypeError, ValueError) as error:
        prefix = "" if repr(str(path)) in str(error) else f"{str(path)!r}: "
        raise ValueError(f"--slice-shares: {prefix}{error}") from None
