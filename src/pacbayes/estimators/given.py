"""Which rows validate where the user says it: a mask, or rows of their own that are put behind the others."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import BoolArray
from pacbayes._utils.checks import check_not_masked
from pacbayes.data.labelled import check_same_kind, check_same_order


class Given(NamedTuple):
    """All that a fit is given of rows, and which of them validate; None where that is left to chance."""

    X: Any
    y: Any
    groups: Any
    slices: Any
    validation: BoolArray | None


def given_rows(
    X: Any,
    y: ArrayLike,
    groups: Any,
    slices: Any,
    *,
    validation: Any = None,
    X_val: Any = None,
    y_val: ArrayLike | None = None,
    groups_val: Any = None,
    slices_val: Any = None,
) -> Given:
    """Return rows with those that validate among them, as `fit` takes both.

    Examples
    --------
    >>> found = given_rows([[1], [2]], ["a", "b"], None, None, X_val=[[3]], y_val=["b"])
    >>> found.X, found.validation
    ([[1], [2], [3]], array([False, False,  True]))
    >>> given_rows([[1], [2]], ["a", "b"], None, None, validation=[0, 1])
    Traceback (most recent call last):
    TypeError: validation must be true or false for each of 2 rows, got numbers of type int64
    """
    given = {"X": X, "y": y, "groups": groups, "slices": slices, "validation": validation}
    given |= {"X_val": X_val, "y_val": y_val, "groups_val": groups_val, "slices_val": slices_val}
    for name, values in given.items():
        check_not_masked(name, values)
    check_same_order(X=X, y=y, groups=groups, slices=slices, validation=validation)
    check_same_order(X_val=X_val, y_val=y_val, groups_val=groups_val, slices_val=slices_val)
    if X_val is None:
        if not (y_val is None and groups_val is None and slices_val is None):
            raise ValueError("y_val, groups_val and slices_val are for X_val, which is None")
        mask = None if validation is None else _checked(validation, _number(y))
        return Given(X, y, groups, slices, mask)
    if y_val is None:
        raise ValueError("y_val must be the labels of X_val, got None")
    if validation is not None:
        raise ValueError("give validation, a mask of the rows of X, or X_val: not both")
    number, others = _number(y), _number(y_val)
    for name, rows, labels in (("", X, number), ("_val", X_val, others)):
        found = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        if found != labels:
            raise ValueError(f"X{name} and y{name} must have the same length, got {found} and {labels}")
    mask = np.repeat([False, True], [number, others])
    pairs = {"y": (y, y_val), "groups": (groups, groups_val), "slices": (slices, slices_val)}
    joined = {name: _both(name, *pair, (number, others)) for name, pair in pairs.items()}
    return Given(_rows(X, X_val), joined["y"], joined["groups"], joined["slices"], mask)


def _number(y: Any) -> int:
    return int(y.shape[0]) if hasattr(y, "shape") else len(y)


def _checked(validation: Any, number: int) -> BoolArray:
    """Return a mask of so many rows, or raise."""
    mask: NDArray[Any] = np.asarray(validation)
    if mask.dtype == object and all(isinstance(one, bool | np.bool_) for one in mask.ravel().tolist()):
        mask = mask.astype(bool)
    if mask.dtype != bool:
        raise TypeError(f"validation must be true or false for each of {number} rows, got numbers of type {mask.dtype}")
    if mask.shape != (number,):
        raise ValueError(f"validation must be true or false for each of {number} rows, got shape {mask.shape}")
    return mask


def _both(name: str, ours: Any, theirs: Any, sizes: tuple[int, int]) -> Any:
    """Return labels, groups or slices of all rows, None where there are none; NumPy would make texts of numbers."""
    if ours is None and theirs is None:
        return None
    if ours is None or theirs is None:
        raise ValueError(f"{name} and {name}_val must both be given, or neither")
    one, other = np.asarray(ours), np.asarray(theirs)
    for called, part, size in ((name, one, sizes[0]), (f"{name}_val", other, sizes[1])):
        if part.shape != (size,):
            raise ValueError(f"{called} must have one entry per row, shape ({size},), got shape {part.shape}")
    check_same_kind(f"{name}_val", other, one, name)
    # Whatever either is made of: texts of different lengths, categories, missing values.
    same = one.dtype.kind == other.dtype.kind
    both = np.concatenate([one, other]) if same else np.array([*one, *other], dtype=object)
    return pd.Series(both, name=getattr(ours, "name", None)) if name == "slices" else both


def _rows(ours: Any, theirs: Any) -> Any:
    """Return all rows, those that train first."""
    if sp.issparse(ours) and sp.issparse(theirs):
        parts: list[Any] = [ours, theirs]
        return sp.vstack(parts, format="csr")
    if isinstance(ours, pd.DataFrame) and isinstance(theirs, pd.DataFrame):
        return _frames(ours, theirs)
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return [*ours, *theirs]
    if type(ours) is not type(theirs) or not isinstance(ours, np.ndarray):
        kinds = f"{type(ours).__name__} and {type(theirs).__name__}"
        raise TypeError(
            f"X and X_val must be arrays, sparse matrices, data frames or lists, and of one kind, got {kinds}"
        )
    if ours.shape[1:] != theirs.shape[1:]:
        raise ValueError(f"X and X_val must have the same columns, got shapes {ours.shape} and {theirs.shape}")
    numbers = [one.dtype.kind in "biuf" for one in (ours, theirs)]
    if numbers[0] != numbers[1]:
        raise TypeError(f"X and X_val must be of one type, got {ours.dtype} and {theirs.dtype}")
    return np.concatenate([ours, theirs])


def _frames(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    if list(ours.columns) != list(theirs.columns):
        apart = sorted(set(map(str, ours.columns)) ^ set(map(str, theirs.columns)))
        why = f"but {', '.join(apart[:5])} is in one alone" if apart else "but they are in another order"
        raise ValueError(f"X and X_val must have the same columns, {why}")
    for place, name in enumerate(ours.columns):
        one, other = ours.dtypes.iloc[place], theirs.dtypes.iloc[place]
        numbers = all(map(pd.api.types.is_numeric_dtype, (one, other)))
        # Of numbers and truth values pandas makes objects.
        numbers = numbers and pd.api.types.is_bool_dtype(one) == pd.api.types.is_bool_dtype(other)
        if one != other and not numbers:
            # Text that stands beside numbers, or categories that the other lacks, would make another type of both.
            raise TypeError(f"X and X_val must have columns of the same types, got {one} and {other} for {name!r}")
    return pd.concat([ours, theirs], ignore_index=True)
