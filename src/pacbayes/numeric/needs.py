"""Checks of single values in a file; whatever does not hold is a `ValueError` that names the class and the field."""

import math
from typing import Any

import numpy as np

# Row numbers and sizes are well below; products of two of them are integers still.
MOST = 2**31


def need_rows(values: Any, name: str, end: int) -> None:
    """Raise unless values are row numbers below `end`, sorted and different."""
    need_array(values, name, "i", (None,))
    inside = values.size == 0 or (values[0] >= 0 and values[-1] < end)
    need(bool(inside and (values[1:] > values[:-1]).all()), name, f"must be sorted, different and below {end}")


def need_counts(values: Any, name: str, number: int, most: int) -> None:
    """Raise unless values are so many counts, none above `most`."""
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
    """Raise unless a value is a float of at least 0, and finite."""
    need(type(value) is float and 0.0 <= value < math.inf, name, f"must be a number of at least 0, got {value!r}")


def need_whole(value: Any, name: str, least: int, most: int = MOST) -> None:
    """Raise unless a value is a whole number within limits."""
    need(type(value) is int and least <= value <= most, name, f"must be from {least} to {most}, got {value!r}")


def need(true: bool, name: str, rule: str) -> None:
    """Raise with name and rule unless it is true."""
    if not true:
        raise ValueError(f"{name} {rule}")
