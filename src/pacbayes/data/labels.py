"""Labels of one kind: numbers are never compared with strings."""

from typing import Any

from numpy.typing import NDArray


def check_same_kind(name: str, predictions: NDArray[Any], labels: NDArray[Any], other: str = "y_val") -> None:
    """Raise if numbers would be compared with strings: every prediction would count as an error."""
    numbers = "biuf"
    if "O" not in (predictions.dtype.kind, labels.dtype.kind) and (
        (predictions.dtype.kind in numbers) != (labels.dtype.kind in numbers)
    ):
        raise TypeError(f"{name} must be labels like those of {other} ({labels.dtype}), got {predictions.dtype}")
