"""Rows as `fit` and `predict` take them: checked, with those of the validation set put behind the others."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pacbayes._utils.arrays import BoolArray
from pacbayes._utils.checks import check_not_masked, narrow_labels
from pacbayes.data.labelled import Labelled, check_complete, check_rows, check_same_kind, check_same_order
from pacbayes.data.preprocessing import check_finite, naming_column
from pacbayes.data.rows import check_table, check_values, number_of_rows, pickable_rows
from pacbayes.data.tables import TableReading

# The attribute of a data frame that says how it was read from a file.
_READING = "pacbayes.reading"


class Advice(NamedTuple):
    """What errors advise about missing values, and about text."""

    fill: str
    encode: str


class FitInput(NamedTuple):
    """The rows of a fit, and which of them validate; None where that is left to chance."""

    X: Any
    y: Any
    groups: Any
    slices: Any
    validation: BoolArray | None


def fit_input(X: Any, y: Any, groups: Any, slices: Any, validation: Any, others: tuple[Any, Any, Any, Any]) -> FitInput:
    """Join the rows of `fit` and `others`: X, y, groups and slices of a validation set.

    Examples
    --------
    >>> joined = fit_input([[1], [2]], ["a", "b"], None, None, None, ([[3]], ["b"], None, None))
    >>> joined.X, joined.validation
    ([[1], [2], [3]], array([False, False,  True]))
    >>> fit_input([[1], [2]], ["a", "b"], None, None, [0, 1], (None, None, None, None))
    Traceback (most recent call last):
    TypeError: validation must be true or false for each of 2 rows, got numbers of type int64
    """
    X_val, y_val, groups_val, slices_val = others
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
        return FitInput(X, y, groups, slices, mask)
    if y_val is None:
        raise ValueError("y_val must be the labels of X_val, got None")
    if validation is not None:
        raise ValueError("give validation, a mask of the rows of X, or X_val: not both")
    number, more = _number(y), _number(y_val)
    for name, rows, labels in (("", X, number), ("_val", X_val, more)):
        found = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        if found != labels:
            raise ValueError(f"X{name} and y{name} must have the same length, got {found} and {labels}")
    mask = np.repeat([False, True], [number, more])
    pairs = {"y": (y, y_val), "groups": (groups, groups_val), "slices": (slices, slices_val)}
    joined = {name: _both(name, *pair, (number, more)) for name, pair in pairs.items()}
    return FitInput(_rows(X, X_val), joined["y"], joined["groups"], joined["slices"], mask)


def labelled_rows(estimator: Any, rows: FitInput, numeric: bool, advice: Advice) -> Labelled:
    """Check rows and labels, and set what scikit-learn knows of features; `numeric` rows become numbers."""
    X, y = rows.X, check_complete(narrow_labels(rows.y))
    if numeric:
        X, y = _numbers(estimator, X, advice, y=y, ensure_min_samples=2)
        check_classification_targets(y)
    else:
        X = pickable_rows(X)
        validate_data(estimator, X, y, skip_check_array=True)
        X, y = check_rows(X, y)
        if y.size < 2:
            raise ValueError("X must hold at least two rows, got 1 sample")
        check_values(X)
    return Labelled.checked(X, y, rows.groups, rows.slices)


def new_rows(estimator: Any, X: Any, numeric: bool, advice: Advice) -> Any:
    """Check rows to predict: `numeric` ones become numbers."""
    if numeric:
        return _numbers(estimator, X, advice, reset=False)
    rows = pickable_rows(X)
    if number_of_rows(rows) == 0:
        raise ValueError("X must hold at least one row, got none")
    if hasattr(estimator, "n_features_in_") and np.ndim(rows) == 1:
        raise ValueError(f"X must have {estimator.n_features_in_} columns, got one dimension. Reshape your data.")
    validate_data(estimator, rows, reset=False, skip_check_array=True)
    return rows


def _numbers(estimator: Any, X: Any, advice: Advice, **how: Any) -> Any:
    check_table(X)
    with naming_column(X, advice.encode):
        found = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, **how)
    check_finite(found[0] if "y" in how else found, X, advice.fill)
    return found


def note_reading(X: pd.DataFrame, reading: TableReading) -> pd.DataFrame:
    """Note on a data frame how it was read from a file: a model that is fitted with it remembers that."""
    X.attrs[_READING] = reading
    return X


def reading_of(X: Any, rows: Any) -> TableReading | None:
    """How a file must be read to hold these rows, as X or the checked `rows` tell."""
    noted = getattr(X, "attrs", {}).get(_READING)
    return noted if isinstance(noted, TableReading) else TableReading.of(rows)


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
