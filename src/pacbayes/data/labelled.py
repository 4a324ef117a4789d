"""Rows with their labels, groups and slices as the user gave them, checked once."""

from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples

from pacbayes._utils.arrays import Codes, Labels, Rows, cached_property
from pacbayes._utils.checks import check_not_masked, narrow_labels
from pacbayes.data.duplicates import equal_labelled_rows
from pacbayes.data.rows import (
    csr_rows,
    hashes_if_few,
    pick_rows,
    row_hashes,
)


@dataclass(frozen=True, eq=False)
class Slices:
    """Values of the column of slices, and the number of every row's value among them."""

    names: tuple[Any, ...]
    codes: Codes
    #: What the column is called: the name of a pandas Series, empty for anything else.
    column: str = ""

    @classmethod
    def checked(cls, slices: Any, number: int) -> "Slices":
        """Return the slices of so many rows, or raise.

        Examples
        --------
        >>> Slices.checked(["north", "south", "north"], 3).codes
        array([0, 1, 0])
        >>> Slices.checked(["north", None], 2)
        Traceback (most recent call last):
        ValueError: slices must have a value for every row, got none for row 1
        """
        values = np.asarray(slices)
        if values.shape != (number,):
            raise ValueError(f"slices must name one slice for each of {number} rows, got shape {values.shape}")
        if values.dtype.kind in "mM":  # moments and durations, as text
            unknown = np.isnat(values)
            values = values.astype(str).astype(object)
            values[unknown] = None
        if values.dtype == object:
            values = np.array([one.item() if isinstance(one, np.generic) else one for one in values], dtype=object)
        missing = np.flatnonzero(pd.isna(values))
        if missing.size:
            raise ValueError(f"slices must have a value for every row, got none for row {missing[0]}")
        kinds = set(map(type, values.tolist())) - {str, int, float, bool}
        if kinds:
            named = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"slices must be numbers or text, got {named}")
        try:
            names, codes = np.unique(values, return_inverse=True)
        except TypeError:
            raise ValueError("slices must be of one kind, numbers or text, got a mixture") from None
        column = getattr(slices, "name", None)
        return cls(tuple(names.tolist()), codes.reshape(-1), "" if column is None else str(column))

    def check_copies(self, copies: Rows | None) -> None:
        """Raise if rows that are one example, by their numbers, have different slices: then it has none."""
        if copies is None:
            return
        of_first = np.zeros(int(copies.max()) + 1, dtype=np.intp)
        of_first[copies[::-1]] = self.codes[::-1]
        different = np.flatnonzero(self.codes != of_first[copies])
        if different.size:
            row = int(different[0])
            first = int(np.argmax(copies == copies[row]))
            one, other = (self.names[self.codes[place]] for place in (first, row))
            raise ValueError(
                f"slices must be the same for copies of one example (duplicates='together'), got {one!r} for row "
                f"{first} and {other!r} for row {row}"
            )


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows as the user gave them, their labels, and what else is known of each.

    Attributes
    ----------
    rows : array, sparse matrix, data frame or list
    labels : ndarray of shape (N,)
    classes : ndarray
        The labels that there are, sorted: those that occur and, for classifiers from elsewhere, those these know.
    codes : ndarray of shape (N,)
        The place of each row's label among them.
    groups : ndarray of shape (N,), or None
        The number of each row's group, from 0 by first appearance.
    slices : Slices or None

    Examples
    --------
    >>> data = Labelled.checked([[1.0], [2.0], [1.0]], np.array(["no", "yes", "no"]))
    >>> data.classes.tolist(), data.codes, data.same
    (['no', 'yes'], array([0, 1, 0]), array([0, 1, 0]))
    """

    rows: Any
    labels: Labels
    classes: Labels
    codes: Rows
    groups: Rows | None = None
    slices: Slices | None = None

    @classmethod
    def checked(
        cls,
        rows: Any,
        labels: Labels,
        groups: Any = None,
        slices: Any = None,
        *,
        classes: Labels | None = None,
    ) -> "Labelled":
        """Make one of rows and labels that `check_rows`, or scikit-learn, has looked at; `classes` may be more."""
        if classes is None:
            classes, codes = np.unique(labels, return_inverse=True)
        else:
            codes = np.searchsorted(classes, labels)
        found = None if slices is None else Slices.checked(slices, labels.size)
        numbers = None if groups is None else check_groups(groups, labels.size)
        return cls(rows, labels, classes, codes.astype(np.int64), numbers, found)

    @property
    def number(self) -> int:
        """How many rows there are."""
        return int(self.labels.size)

    @cached_property
    def same(self) -> Rows | None:
        """The same number for rows equal in features and class; None where rows cannot be compared."""
        return equal_labelled_rows(self.rows, self.codes)

    def hashes(self, key: bytes) -> NDArray[np.uint64]:
        """Return the keyed hash of every row, computed once for all uses of one key."""
        known = self.__dict__.setdefault("_hashes", {})
        if key not in known:
            known[key] = row_hashes(self.rows, key)
        return known[key]  # type: ignore[no-any-return]

    def known_again(self, key: bytes) -> NDArray[np.int64] | None:
        """Return the hashes by which rows are known again, sorted; None for rows without values, or too many."""
        return hashes_if_few(self.rows, lambda: self.hashes(key))

    def pick(self, which: Rows) -> "Labelled":
        """Return some of the rows, apart from these, with their labels alone."""
        return Labelled(pick_rows(self.rows, which), self.labels[which], self.classes, self.codes[which])


def check_training_labels(data: Labelled) -> None:
    """Raise for labels to train with that are of a single class, or probably a regression target."""
    if data.classes.size < 2:
        raise ValueError(f"y must hold at least two classes, got class {data.classes.tolist()[0]!r} only")
    if looks_like_regression(data.labels, data.classes.size):
        raise ValueError(
            f"y holds {data.classes.size} different numbers in {data.number} rows and looks like a regression target; "
            "if these numbers are classes pass them as strings: y.astype(str)"
        )


def check_groups(groups: Any, n: int) -> Rows:
    """Return the number of each row's group, from 0 by first appearance; a row without a group is refused.

    Examples
    --------
    >>> check_groups(["anna", "ben", "anna"], 3)
    array([0, 1, 0])
    >>> check_groups([1.0, float("nan")], 2)
    Traceback (most recent call last):
    ValueError: groups must name the group of every row, got nan for row 1
    """
    if isinstance(groups, str | bytes) or not (hasattr(groups, "__len__") or hasattr(groups, "__array__")):
        raise TypeError(f"groups must hold one entry per row of X, got {groups!r}")
    own = isinstance(groups, pd.Series | pd.Index) and not isinstance(groups.dtype, np.dtype)
    given: Any = groups.array if own else _as_array(groups)
    if given.ndim != 1 or len(given) != n:
        raise ValueError(f"groups must hold one entry per row of X, shape ({n},), got shape {given.shape}")
    try:
        numbers, _ = pd.factorize(given)
    except TypeError as error:
        raise TypeError(f"groups must be names or numbers: {error}") from None
    if (numbers < 0).any():
        row = int(np.argmax(numbers < 0))
        raise ValueError(f"groups must name the group of every row, got {given[row]} for row {row}")
    return np.asarray(numbers, dtype=np.int64)


def _as_array(groups: Any) -> NDArray[Any]:
    """Return a list of names as it is: NumPy would make texts of numbers that stand beside texts."""
    table = np.asarray(groups)
    return np.array(groups, dtype=object) if isinstance(groups, list | tuple) and table.ndim == 1 else table


def check_same_order(**arguments: Any) -> None:
    """Raise if pandas objects hold the same index labels in another order: rows are paired by position.

    Indices with different labels are accepted, as one may have been reset.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [40, 50, 60], "patient": ["anna", "ben", "anna"]})
    >>> check_same_order(X=table[["age"]][::-1], groups=table["patient"])
    Traceback (most recent call last):
    ValueError: X and groups have the same index labels in another order, but rows are paired by position: give
    groups.loc[X.index], or groups.to_numpy() if positions are right
    """
    tables = {name: one.index for name, one in arguments.items() if isinstance(one, pd.DataFrame | pd.Series)}
    for (name, index), (other, reordered) in combinations(tables.items(), 2):
        if _is_reordered(index, reordered):
            aligned = f"give {other}.loc[{name}.index]" if index.is_unique else "take both from one table, in one order"
            raise ValueError(
                f"{name} and {other} have the same index labels in another order, but rows are paired by position: "
                f"{aligned}, or {other}.to_numpy() if positions are right"
            )


def _is_reordered(one: "pd.Index[Any]", other: "pd.Index[Any]") -> bool:
    """Whether two indices hold the same labels, each as often, in different orders."""
    if len(one) != len(other) or one.nlevels != other.nlevels or one.equals(other):
        return False
    if one.inferred_type != other.inferred_type:
        one, other = one.astype(object), other.astype(object)  # dates are not compared with text that looks like dates
    if not (bool(other.isin(one[:1]).any()) and bool(one.isin(other).all())):  # one label takes no time
        return False
    if one.is_unique and other.is_unique:
        return True
    times, others = (index.value_counts(dropna=False) for index in (one, other))
    return bool((others.reindex(times.index, fill_value=0) == times).all())


def check_rows(X: Any, y: ArrayLike, name: str = "") -> tuple[Any, Labels]:
    """Return rows that can be picked by number, and their labels; `name` is the prefix of arguments in errors.

    Examples
    --------
    >>> check_rows(["good", "bad", "fine"], ["a", "b", "a"])[1]
    array(['a', 'b', 'a'], dtype='<U1')
    """
    labels = column_or_1d(check_complete(narrow_labels(y), f"{name}y"), warn=True)
    if labels.size == 0:
        raise ValueError(f"{name}y must not be empty")
    assert_all_finite(labels, input_name=f"{name}y")
    check_classification_targets(labels)
    X = csr_rows(X)
    if isinstance(X, str) or not (hasattr(X, "__len__") or hasattr(X, "shape")):
        raise TypeError(f"{name}X must be rows: an array, a sparse matrix, a data frame or a list, got {X!r}")
    if _num_samples(X) != labels.size:
        raise ValueError(f"{name}X and {name}y must have the same length, got {_num_samples(X)} and {labels.size}")
    return indexable(X)[0], labels


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
    """Mask of missing labels; empty for a table.

    Examples
    --------
    >>> missing_labels(np.array(["a", None, float("nan")], dtype=object)), missing_labels([1, 2])
    (array([False,  True,  True]), array([False, False]))
    """
    values = y if hasattr(y, "isna") else np.asarray(y)
    return np.asarray(pd.isna(values), dtype=bool) if values.ndim == 1 else np.zeros(0, dtype=bool)


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
