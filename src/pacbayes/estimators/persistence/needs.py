"""What numbers, arrays and labels from a file must be like; errors name the part and the rule it breaks."""

import math
from typing import Any

import numpy as np

# Votes take room for every row and class.
MOST_CLASSES = 100_000
# Row numbers and sizes are well below; products of two of them are integers still.
MOST_ROWS = 2**31


def check_labels(classes: Any, name: str) -> None:
    """Raise unless labels are one-dimensional, different and sorted."""
    need(isinstance(classes, np.ndarray) and classes.ndim == 1, name, "must be a one-dimensional array")
    need(classes.dtype.kind in "biufUO", name, f"must be numbers or text, got {classes.dtype}")
    need(2 <= classes.size <= MOST_CLASSES, name, f"must be 2 to {MOST_CLASSES} classes, got {classes.size}")
    plain = (str, int, float, bool)
    need(classes.dtype != object or all(type(one) in plain for one in classes), name, "must be numbers or text")
    need(bool((classes[1:] > classes[:-1]).all()), name, "must be sorted and different")


def need_rows(values: Any, name: str, end: int) -> None:
    """Raise unless values are row numbers below `end`, sorted and different."""
    need_array(values, name, "i", (None,))
    inside = values.size == 0 or (values[0] >= 0 and values[-1] < end)
    need(bool(inside and (values[1:] > values[:-1]).all()), name, f"must be sorted, different and below {end}")


def need_counts(values: Any, name: str, number: int, most: int) -> None:
    """Raise unless values are so many whole numbers from 0 to `most`."""
    need_array(values, name, "i", (number,))
    need(bool((values >= 0).all() and (values <= most).all()), name, f"must be from 0 to {most}")


def need_array(values: Any, name: str, kind: str, shape: tuple[int | None, ...], finite: bool = True) -> None:
    """Raise unless `values` is an array of 64-bit numbers ("f", "i"), booleans ("b"), bytes ("u") or objects ("O")."""
    dtype = np.dtype({"f": np.float64, "i": np.int64, "b": np.bool_, "u": np.uint8, "O": object}[kind])
    need(type(values) is np.ndarray and values.dtype == dtype, name, f"must be an array of {dtype}")
    same = values.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, values.shape, strict=True)
    )
    need(same, name, f"must have the shape {shape}, got {values.shape}")
    need(not finite or kind != "f" or bool(np.isfinite(values).all()), name, "must be finite")


def need_number(value: Any, name: str) -> None:
    """Raise unless a value is a finite number of at least 0."""
    need(type(value) is float and 0.0 <= value < math.inf, name, f"must be a number of at least 0, got {value!r}")


def need_whole(value: Any, name: str, least: int, most: int = MOST_ROWS) -> None:
    """Raise unless a value is a whole number from `least` to `most`."""
    need(type(value) is int and least <= value <= most, name, f"must be from {least} to {most}, got {value!r}")


def need(true: bool, name: str, rule: str) -> None:
    """Raise an error that names what is wrong and the rule it breaks, unless that holds."""
    if not true:
        raise ValueError(f"{name} {rule}")
