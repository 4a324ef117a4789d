"""What every reader returns, whether the data are shipped or a user's own."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from pacbayes.numeric.arrays import FloatArray


@dataclass(frozen=True)
class Table:
    """Rows with their classes; `target_names` follow the sorted distinct values of `target`."""

    data: FloatArray
    target: NDArray[Any]
    feature_names: list[str]
    target_names: list[str]
    target_column: str
    filename: str
