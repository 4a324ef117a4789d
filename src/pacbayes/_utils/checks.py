"""Validation of arguments and of values from files, warnings at the user's line, optional imports.

Functions named `check_*` validate arguments: their errors state the argument, its value and the allowed values.
Functions named `require*` validate values from files: they raise `ValueError` with the class and the field.
"""

import math
import sys
import warnings
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from importlib import import_module
from numbers import Integral, Real
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, Rows

# Largest deviation of the sum of a distribution from 1.
_SUM_TOLERANCE = 1e-8
_SUM_TOLERANCE_FLOAT32 = 1e-4
# All integers up to this one are exactly representable as floats.
MAX_SAMPLE_SIZE = 2**53
# A larger delta was probably meant as a confidence.
_MAX_PLAUSIBLE_DELTA = 0.5
# NumPy pads strings to the longest: arrays with longer labels are converted to objects.
_MAX_LABEL_LENGTH = 256
# Upper bound on row indices and sizes in files, so that their products fit into 64 bits.
MAX_STORED_INT = 2**31


def check_sample_size(m: Any) -> int:
    """Convert `m` to an int; raise unless it is an integer of at least 1."""
    if isinstance(m, np.ndarray) and m.ndim == 0:
        m = m[()]
    if isinstance(m, bool | np.bool_) or not isinstance(m, Integral):
        raise TypeError(f"m must be an integer (the number of validation examples), got {m!r}")
    size = int(m)
    if size < 1:
        raise ValueError(f"m must be at least 1, got {size}")
    if size > MAX_SAMPLE_SIZE:
        raise ValueError(f"m must be at most 2**53, got {size}")
    return size


def check_sample_sizes(m: Any, n_risks: int) -> Rows:
    """Validate the sample sizes of `n_risks` risks: one integer for all of them, or one per risk.

    Examples
    --------
    >>> check_sample_sizes(50, 3), check_sample_sizes([40, 50, 60], 3)
    (array([50, 50, 50]), array([40, 50, 60]))
    """
    if np.ndim(m) == 0:
        return np.full(n_risks, check_sample_size(m), dtype=np.int64)
    sizes = np.asarray(m)
    if sizes.dtype.kind not in "iu":
        raise TypeError(f"m must hold integers (numbers of validation examples), got dtype {sizes.dtype}")
    if sizes.shape != (n_risks,):
        raise ValueError(f"m must be one integer, or one entry per risk, shape ({n_risks},), got shape {sizes.shape}")
    if not (sizes.min() >= 1 and sizes.max() <= MAX_SAMPLE_SIZE):
        bad = sizes[(sizes < 1) | (sizes > MAX_SAMPLE_SIZE)][0]
        raise ValueError(f"m must lie between 1 and 2**53, got {bad}")
    return sizes.astype(np.int64)


def min_sample_size(m: Any, n_risks: int) -> int:
    """Smallest sample size of `n_risks` risks, for which a simultaneous bound is valid.

    Examples
    --------
    >>> min_sample_size(50, 3), min_sample_size([40, 50, 60], 3)
    (50, 40)
    """
    return check_sample_size(m) if np.ndim(m) == 0 else int(check_sample_sizes(m, n_risks).min())


def check_number(name: str, value: Any, allowed: str) -> float:
    """Convert a real number to float; raise for other types.  `allowed` describes valid values in the message.

    Examples
    --------
    >>> check_number("share", 1, "a number from 0 to 1")
    1.0
    >>> check_number("share", True, "a number from 0 to 1")
    Traceback (most recent call last):
    TypeError: share must be a number from 0 to 1, got True
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {allowed}, got {value!r}")
    number: Any = value
    try:
        return float(number)
    except OverflowError:  # an integer too large for a float
        return math.inf if number > 0 else -math.inf


def check_count(name: str, value: Any) -> int:
    """Check that a parameter is a whole number of at least 1.

    Examples
    --------
    >>> check_count("n_components", 0)
    Traceback (most recent call last):
    ValueError: n_components must be at least 1, got 0
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer of at least 1, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)


def check_tolerance(tol: Any) -> float:
    """Convert `tol` to float; raise unless it is positive."""
    tolerance = check_number("tol", tol, "a number")
    if not tolerance > 0.0:
        raise ValueError(f"tol must be positive, got {tol!r}")
    return tolerance


def check_level(delta: Any) -> float:
    """Convert `delta` to float; raise unless it is strictly between 0 and 1."""
    if isinstance(delta, np.ndarray) and delta.ndim == 0:
        delta = delta[()]
    level = check_number("delta", delta, "a number between 0 and 1")
    if not 0.0 < level < 1.0:
        raise ValueError(f"delta must be strictly between 0 and 1, got {delta!r}")
    return level


def warn_if_large_delta(delta: float) -> None:
    """Warn if `delta` was probably meant as a confidence."""
    if delta > _MAX_PLAUSIBLE_DELTA:
        warn_caller(
            f"delta={delta:g} means a confidence of {100.0 * (1.0 - delta):.3g} %; did you mean {1.0 - delta:.3g}?"
        )


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Raise unless `value` is one of `choices`; return it."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, one of {', '.join(choices)}; got {value!r}")
    if value not in choices:
        like = did_you_mean([value], choices)
        raise ValueError(f"unknown {name} {value!r}; known are {', '.join(choices)}{like}")
    return value


def did_you_mean(names: Iterable[str], known: Iterable[str]) -> str:
    """Suggest similar known names for unknown ones; an empty string if there are none.

    Examples
    --------
    >>> did_you_mean(["clas"], ["class", "age"]), did_you_mean(["Class"], ["class"]), did_you_mean(["x"], ["class"])
    ("; did you mean 'class'?", "; did you mean 'class'?", '')
    """
    by_lower = {name.lower(): name for name in known}
    matches = [match for name in names for match in get_close_matches(name.lower(), by_lower, 1, 0.7)]
    return f"; did you mean {', '.join(repr(by_lower[match]) for match in dict.fromkeys(matches))}?" if matches else ""


def check_not_masked(name: str, values: Any) -> None:
    """Raise if an array has masked entries, since NumPy functions may ignore the mask.

    Examples
    --------
    >>> check_not_masked("y", np.ma.array([0, 1], mask=[False, True]))
    Traceback (most recent call last):
    ValueError: y must not have masked entries
    """
    if isinstance(values, list | tuple):
        for part in values:
            if isinstance(part, np.ma.MaskedArray):
                check_not_masked(name, part)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must not have masked entries")


def check_numbers(name: str, values: ArrayLike) -> FloatArray:
    """Convert `values` to a float64 array; raise unless they are real numbers."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # a ragged nested list
        raise ValueError(f"{name} must be an array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        if array.size == 0:
            return np.empty(array.shape)
        raise TypeError(f"{name} must be real numbers, got dtype {array.dtype}")
    check_not_masked(name, values)
    # Aligned and contiguous, so that NumPy sums pairwise.
    return np.require(array, np.float64, ["A", "C"])


def check_in_range(name: str, values: ArrayLike, low: float, high: float) -> FloatArray:
    """Convert `values` to float64; raise if any is NaN or outside [low, high]."""
    array = check_numbers(name, values)
    if array.size:
        smallest, largest = array.min(), array.max()
        # NaN, which min and max propagate, fails the comparison.
        if not (smallest >= low and largest <= high):
            bad = array[~((array >= low) & (array <= high))].flat[0]
            raise ValueError(f"{name} must lie in [{low:g}, {high:g}], got {bad}")
    return array


def check_risks(values: ArrayLike, name: str = "risks") -> FloatArray:
    """Convert empirical risks to a one-dimensional float64 array; raise unless all are in [0, 1]."""
    risks = np.atleast_1d(check_in_range(name, values, 0.0, 1.0))
    if risks.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {risks.shape}")
    if risks.size == 0:
        raise ValueError(f"{name} must hold at least one classifier's risk, got an empty array")
    return risks


def check_distribution(name: str, values: ArrayLike, length: int) -> tuple[FloatArray, float]:
    """Convert a distribution to float64 weights; return them, not normalised, and their sum.

    The sum may differ from one by `_SUM_TOLERANCE` (`_SUM_TOLERANCE_FLOAT32` for single precision); the caller
    normalises.
    """
    single = np.asarray(values).dtype in (np.float16, np.float32)
    weights = np.atleast_1d(check_numbers(name, values))
    if weights.shape != (length,):
        raise ValueError(f"{name} must have one entry per risk, shape ({length},), got shape {weights.shape}")
    # NaN, which min and max propagate, fails the comparison.
    if not (weights.min() >= 0.0 and weights.max() < math.inf):
        bad = weights[~((weights >= 0.0) & np.isfinite(weights))].flat[0]
        raise ValueError(f"{name} must be finite and non-negative, got {bad}")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not abs(total - 1.0) <= (_SUM_TOLERANCE_FLOAT32 if single else _SUM_TOLERANCE):
        raise ValueError(f"{name} must sum to 1, got {total!r}")
    return weights, total


def convert_long_labels(y: Any) -> Any:
    """Convert labels with a long string among them to objects, since a string array has the width of its longest.

    Examples
    --------
    >>> convert_long_labels(["a", "b" * 1000]).dtype, convert_long_labels(["a", "b"])
    (dtype('O'), ['a', 'b'])
    """
    if isinstance(y, np.ndarray):
        return y.astype(object) if y.dtype.kind == "U" and y.dtype.itemsize > 4 * _MAX_LABEL_LENGTH else y
    if not isinstance(y, list | tuple) or not all(isinstance(label, str) for label in y):
        return y
    if max(map(len, y), default=0) <= _MAX_LABEL_LENGTH:
        return y
    labels = np.empty(len(y), dtype=object)
    labels[:] = y
    return labels


def make_read_only(*arrays: Any) -> None:
    """Make arrays read-only; ignore other values."""
    for array in arrays:
        if isinstance(array, np.ndarray):
            array.setflags(write=False)


def require_row_indices(values: Any, name: str, end: int) -> None:
    """Raise unless values are sorted, different row numbers below `end`."""
    require_array(values, name, "i", (None,))
    inside = values.size == 0 or (values[0] >= 0 and values[-1] < end)
    require(bool(inside and (values[1:] > values[:-1]).all()), name, f"must be sorted, different and below {end}")


def require_array(values: Any, name: str, kind: str, shape: tuple[int | None, ...], finite: bool = True) -> None:
    """Raise unless `values` is an array of 64-bit numbers ("f", "i"), booleans ("b"), bytes ("u") or objects ("O")."""
    dtype = np.dtype({"f": np.float64, "i": np.int64, "b": np.bool_, "u": np.uint8, "O": object}[kind])
    require(isinstance(values, np.ndarray) and values.dtype == dtype, name, f"must be an array of {dtype}")
    same = values.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, values.shape, strict=True)
    )
    require(same, name, f"must have the shape {shape}, got {values.shape}")
    require(not finite or kind != "f" or bool(np.isfinite(values).all()), name, "must be finite")


def require_number(value: Any, name: str) -> None:
    """Raise unless a value is a finite float of at least 0."""
    require(type(value) is float and 0.0 <= value < math.inf, name, f"must be a number of at least 0, got {value!r}")


def require_choice(value: Any, name: str, choices: Collection[str]) -> None:
    """Raise unless a value is one of the strings `choices`."""
    require(type(value) is str and value in choices, name, f"must be one of {', '.join(choices)}")


def require_int(value: Any, name: str, minimum: int, maximum: int = MAX_STORED_INT) -> None:
    """Raise unless a value is an integer from `minimum` to `maximum`."""
    require(
        type(value) is int and minimum <= value <= maximum, name, f"must be from {minimum} to {maximum}, got {value!r}"
    )


def require(condition: bool, name: str, requirement: str) -> None:
    """Raise `ValueError` with name and rule unless a condition is true."""
    if not condition:
        raise ValueError(f"{name} {requirement}")


_PACKAGE = "pacbayes"
# Packages that call this one on behalf of the user: pipelines, searches and their threads.
_INTERMEDIATE = {"concurrent", "joblib", "sklearn", "threading"}


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the innermost line outside this package and scikit-learn.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("delta is large")
    >>> str(caught[0].message), caught[0].category.__name__
    ('delta is large', 'UserWarning')
    """
    names = _caller_packages(sys._getframe(1))
    # Frames of other libraries may be between those of this package.
    outside = max((i + 1 for i, name in enumerate(names) if name == _PACKAGE), default=0)
    user = next((i for i, name in enumerate(names) if i >= outside and name not in _INTERMEDIATE), outside)
    warnings.warn(message, category, stacklevel=user + 2)


def _caller_packages(frame: FrameType | None) -> list[str]:
    """Top-level package of every caller, from the innermost on."""
    names = []
    while frame is not None:
        names.append(str(frame.f_globals.get("__name__", "")).partition(".")[0])
        frame = frame.f_back
    return names


def import_optional(module: str, needed_by: str) -> Any:
    """Import an optional dependency; raise `ImportError` with the command that installs it.

    Examples
    --------
    >>> import_optional("no_such_package.part", "method 'ipopt'")
    Traceback (most recent call last):
    ImportError: method 'ipopt' needs no_such_package, which is not installed: pip install no_such_package
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(f"{needed_by} needs {package}, which is not installed: pip install {package}") from error
