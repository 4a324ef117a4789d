"""Labels that are all there, and of one kind: numbers are never compared with strings, nor with such as lack digits."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.numeric.checks import check_not_masked

_KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text"}
# Beyond this, two whole numbers may be one double.
_EXACT = 2**53
# Ten digits or grades are classes however few the rows, as in a first try on twenty of them.
_FEW_CLASSES = 10


def check_complete(y: Any, name: str = "y") -> Any:
    """Return labels, or raise if some are missing: else it would not be said that it is y that lacks them.

    Examples
    --------
    >>> check_complete(["no", None, "yes"])
    Traceback (most recent call last):
    ValueError: Input y contains NaN or None: row 1 has no label (1 missing). Leave such rows out.
    """
    check_not_masked(name, y)
    gaps = missing_labels(y)
    if gaps.any():
        row, number = int(gaps.argmax()), int(gaps.sum())
        raise ValueError(
            f"Input {name} contains NaN or None: row {row} has no label ({number} missing). Leave such rows out."
        )
    return y


def missing_labels(y: Any) -> NDArray[np.bool_]:
    """Return which labels are missing; nothing where none can be, and for a table.

    Examples
    --------
    >>> missing_labels(np.array(["a", None, float("nan")], dtype=object)), missing_labels([1, 2])
    (array([False,  True,  True]), array([], dtype=bool))
    """
    values = y if hasattr(y, "isna") else np.asarray(y)
    if values.ndim != 1:
        return np.zeros(0, dtype=bool)
    if not isinstance(values, np.ndarray):  # of pandas, or like it
        return np.asarray(values.isna(), dtype=bool)
    if values.dtype.kind in "fc":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    return np.array([_is_gap(one) for one in values.tolist()] if values.dtype.kind == "O" else [], dtype=bool)


def _is_gap(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # the NA of pandas, which is neither equal to itself nor unequal
        return True


def looks_like_regression(labels: NDArray[Any], n_classes: int) -> bool:
    """Whether labels are probably a regression target: more than ten numbers, each in fewer than four rows on average.

    Examples
    --------
    >>> looks_like_regression(np.arange(40) % 11, 11), looks_like_regression(np.arange(44) % 11, 11)
    (True, False)
    >>> looks_like_regression(np.arange(20) % 10, 10), looks_like_regression((np.arange(40) % 11).astype(str), 11)
    (False, False)
    """
    return n_classes > _FEW_CLASSES and 4 * n_classes > labels.size and _kinds_of(labels) == {"numbers"}


def one_label_each(name: str, said: Any, rows: int) -> NDArray[Any]:
    """Return what a classifier said of so many rows, shape (rows,); a column, as CatBoost answers, holds the same.

    Examples
    --------
    >>> one_label_each("predict", [[2], [0]], 2)
    array([2, 0])
    >>> one_label_each("predict", [[2, 0], [0, 2]], 2)
    Traceback (most recent call last):
    ValueError: predict must give one label for each of the 2 rows, shape (2,), got shape (2, 2)
    """
    check_not_masked(name, said)
    labels = np.asarray(said)
    if labels.shape == (rows, 1):
        return labels[:, 0]
    if labels.shape != (rows,):
        raise ValueError(
            f"{name} must give one label for each of the {rows} rows, shape ({rows},), got shape {labels.shape}"
        )
    return labels


def check_same_kind(name: str, predictions: NDArray[Any], labels: NDArray[Any], other: str = "y_val") -> None:
    """Raise if labels would be compared that can never be equal, or that are equal only because digits are lost.

    In the first case every prediction would count as an error, in the second errors would count as hits.

    Examples
    --------
    >>> check_same_kind("predictions", np.array([2.0**53]), np.array([2**53 + 1]))
    Traceback (most recent call last):
    TypeError: predictions must be whole numbers, since those of y_val have more digits than float64, got float64
    """
    known = _kinds_of(labels)
    unknown = sorted(_kinds_of(predictions) - known)
    if unknown:
        found = predictions.dtype if predictions.dtype != object else ", ".join(unknown)
        raise TypeError(f"{name} must be labels like those of {other} ({labels.dtype}), got {found}")
    if predictions.dtype.kind == "f" and _has_more_digits(labels):
        raise TypeError(
            f"{name} must be whole numbers, since those of {other} have more digits than float64, "
            f"got {predictions.dtype}"
        )
    # NumPy makes fractions of numbers with and without a sign.
    if {predictions.dtype.kind, labels.dtype.kind} == {"i", "u"} and any(map(_has_more_digits, (predictions, labels))):
        raise TypeError(f"{name} must be of the type of {other} ({labels.dtype}), got {predictions.dtype}")
    if labels.dtype.kind == "f" and _has_more_digits(predictions):
        raise TypeError(f"{name} must be labels like those of {other} ({labels.dtype}), which has fewer digits")


def _has_more_digits(labels: NDArray[Any]) -> bool:
    """Return whether there are whole numbers that a double cannot tell apart."""
    return labels.dtype.kind in "iu" and labels.size > 0 and max(int(labels.max()), -int(labels.min())) > _EXACT


def _kinds_of(labels: NDArray[Any]) -> set[str]:
    """Return what the labels are: "numbers", "text", or the names of other types.

    Examples
    --------
    >>> _kinds_of(np.array([1, True])), sorted(_kinds_of(np.array(["a", None, 2.0], dtype=object)))
    ({'numbers'}, ['NoneType', 'numbers', 'text'])
    """
    kind = labels.dtype.kind
    if kind in _KINDS:  # asked for every classifier: the name of a type takes longer than all the rest
        return {_KINDS[kind]}
    if kind != "O":
        return {str(labels.dtype)}
    types = set(map(type, labels.ravel().tolist()))
    return {
        "text" if issubclass(kind, str) else "numbers" if issubclass(kind, Real | np.bool_) else kind.__name__
        for kind in types
    }
