"""Which rows train and which measure the risk, for all classifiers or for each, and which of them belong together."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pacbayes.data.copies import equal_labelled_rows, warn_of_copies
from pacbayes.numeric.arrays import Labels, Rows
from pacbayes.numeric.checks import check_choice
from pacbayes.runtime.seeds import Purpose, generator

SPLITS = ("shared", "independent")
# The division of a forest: every classifier is validated by the rows that its bag left out.
OUT_OF_BAG = "out-of-bag"
# What is drawn, divided and counted: every row for itself, rows that are equal in features and class as one, or groups.
EXAMPLE, DISTINCT, GROUP = "example", "distinct example", "group"


@dataclass(frozen=True)
class Splits:
    """Rows of every classifier; what belongs to the i-th depends on the seed and i only.

    Attributes
    ----------
    kind : {"shared", "independent", "out-of-bag"}
    n_train, m : int
        Sizes of each classifier's training and validation sample, in units; out of bag the rows drawn for each bag, and
        the least number of rows that one leaves out.  No training rows where the classifiers were trained elsewhere.
    n_rows : int
        The rows that were divided, copies included.
    unit : {"example", "distinct example", "group"}
        What was divided.  All rows of a unit are on one side.  Equal rows that are one unit train as often as they
        occur, and are validated once.
    units : ndarray of shape (N,), or None
        The number of each row's unit, from 0; None where every row is one.
    bags : ndarray of uint8, shape (H, ceil(N / 8)), or None
        Out of bag: which rows the bag of each classifier holds, packed by `numpy.packbits`.
    """

    kind: str
    n_train: int
    m: int
    n_rows: int
    seed: int
    shared: tuple[Rows, Rows] | None
    unit: str = EXAMPLE
    units: Rows | None = None
    bags: NDArray[np.uint8] | None = None

    def __call__(self, i: int) -> tuple[Rows, Rows]:
        """Return the i-th classifier's training rows and validation rows, sorted."""
        if self.shared is not None:
            return self.shared
        if self.bags is not None:
            inside = np.unpackbits(self.bags[i], count=self.n_rows).view(np.bool_)
            return np.flatnonzero(inside), np.flatnonzero(~inside)
        order = generator(self.seed, Purpose.INDEPENDENT, i).permutation(self.n_train + self.m)
        validation, train = order[: self.m], order[self.m :]
        if self.units is None:
            return np.sort(train), np.sort(validation)
        return _all_rows(self.units, train), _counted_rows(self.units, validation, self.unit)

    @property
    def trained_elsewhere(self) -> bool:
        """Whether all rows validate: the classifiers were trained before, on rows that are not here."""
        return self.n_train == 0

    @property
    def most_rows(self) -> tuple[int, int]:
        """No classifier has more training rows, and more validation rows, than these."""
        if self.shared is not None:
            return self.shared[0].size, self.shared[1].size
        if self.bags is not None:
            return self.n_rows, self.n_rows
        return self.n_rows - self.m, self.n_rows - self.n_train

    @property
    def sizes_each(self) -> Rows | None:
        """The number of validation rows of each classifier out of bag; None where all have `m`."""
        return None if self.bags is None else _rows_left_out(self.bags, self.n_rows)

    @property
    def sizes(self) -> Rows:
        """The sizes that groups have; a single 1 where rows are no groups."""
        return np.ones(1, dtype=np.int64) if self.group_sizes is None else np.unique(self.group_sizes)

    def kinds(self, rows: Rows) -> Rows:
        """Return for every row the place of its group's size among `sizes`."""
        if self.units is None or self.group_sizes is None:
            return np.zeros(rows.size, dtype=np.int64)
        return np.searchsorted(self.sizes, self.group_sizes[self.units[rows]])

    def units_of(self, rows: Rows) -> Rows | None:
        """Return the number of every row's unit; None where every row is one."""
        return None if self.units is None else self.units[rows]

    @property
    def group_sizes(self) -> Rows | None:
        """The number of rows of every group; None where rows are no groups."""
        return np.bincount(self.units) if self.units is not None and self.unit == GROUP else None


def plan_splits(
    n_rows: int,
    *,
    kind: str,
    validation_size: Any,
    seed: int,
    unit: str = EXAMPLE,
    units: Rows | None = None,
) -> Splits:
    """Return the splits of so many rows, and of the units they belong to, whatever their classes are.

    A stratified division would tell, in its training part, the class counts of its validation part: the two would not
    be independent, as every certificate assumes.  Sizes are in units: with groups, shares or numbers of groups.

    Examples
    --------
    >>> splits = plan_splits(20, kind="shared", validation_size=0.3, seed=0)
    >>> splits.n_train, splits.m
    (14, 6)
    """
    check_choice("split", kind, SPLITS)
    n = n_rows if units is None else int(units.max()) + 1
    what = {EXAMPLE: "rows", DISTINCT: "distinct rows", GROUP: "groups"}[unit]
    counted = "groups" if unit == GROUP else "examples"
    m = _part_size(validation_size, n, what)
    n_train = n - m
    if m < 2 or n_train < 2:
        raise ValueError(
            f"validation_size must leave at least two training and two validation {counted}, got "
            f"{validation_size!r} of {n} {what}: {max(n_train, 0)} and {m}"
        )
    shared = None
    if kind == "shared":
        order = generator(seed, Purpose.SHARED).permutation(n)
        shared = np.sort(order[m:]), np.sort(order[:m])
        if units is not None:
            shared = _all_rows(units, shared[0]), _counted_rows(units, shared[1], unit)
    return Splits(kind, n_train, m, n_rows, seed, shared, unit, units)


def validating_splits(n: int, unit: str = EXAMPLE, units: Rows | None = None) -> Splits:
    """Return the splits of `n` rows that all validate, for classifiers that were trained on others.

    Examples
    --------
    >>> splits = validating_splits(5, DISTINCT, np.array([0, 1, 0, 2, 1]))
    >>> splits.trained_elsewhere, splits.m, splits(0)[1]
    (True, 3, array([0, 1, 3]))
    """
    m = n if units is None else int(units.max()) + 1
    counted = np.arange(n) if units is None else _counted_rows(units, np.arange(m), unit)
    return Splits("shared", 0, m, n, 0, (np.arange(0), counted), unit, units)


def out_of_bag_splits(bags: NDArray[np.uint8], n_rows: int, draws: int, seed: int) -> Splits:
    """Return the division of a forest's rows from the packed bags of its classifiers.

    Examples
    --------
    >>> splits = out_of_bag_splits(np.packbits([[1, 0, 1, 0], [1, 1, 1, 0]], axis=1), 4, 4, seed=0)
    >>> splits(0)[1], splits(1)[1], splits.m, splits.sizes_each
    (array([1, 3]), array([3]), 1, array([2, 1]))
    """
    least = int(_rows_left_out(bags, n_rows).min())
    return Splits(OUT_OF_BAG, draws, least, n_rows, seed, None, bags=bags)


def _rows_left_out(bags: NDArray[np.uint8], n_rows: int) -> Rows:
    inside: Rows = np.bitwise_count(bags).sum(axis=1, dtype=np.int64)
    return n_rows - inside


def _all_rows(units: Rows, numbers: Rows) -> Rows:
    """Return the rows of some units, sorted."""
    chosen = np.zeros(int(units.max()) + 1, dtype=bool)
    chosen[numbers] = True
    return np.flatnonzero(chosen[units])


def _counted_rows(units: Rows, numbers: Rows, unit: str) -> Rows:
    """Return the rows of some units that are counted: all of a group, the first of equal ones."""
    if unit == GROUP:
        return _all_rows(units, numbers)
    return np.sort(np.unique(units, return_index=True)[1][numbers])


def _part_size(size: Any, n: int, what: str) -> int:
    """Return the number of validation rows, or groups, that a fraction (rounded down) or count stands for."""
    if isinstance(size, bool | np.bool_):
        raise TypeError(f"validation_size must be a fraction or a number of {what}, got {size!r}")
    if isinstance(size, int | np.integer):
        if not 1 <= size < n:
            raise ValueError(f"validation_size must be between 1 and {n - 1} {what}, got {size}")
        return int(size)
    if isinstance(size, float | np.floating):
        if not 0.0 < size < 1.0:
            raise ValueError(f"validation_size as a fraction must lie strictly between 0 and 1, got {size}")
        # A product such as 0.29 * 100 = 28.999999999999996 means 29.
        return math.floor(round(float(size) * n, 9))
    raise TypeError(f"validation_size must be a fraction or a number of {what}, got {size!r}")


def check_training_classes(splits: Splits, codes: Rows, classes: NDArray[np.generic], number: int) -> None:
    """Raise if the training sample of any of `number` classifiers has one class only, naming both."""
    for i in range(1 if splits.shared is not None else number):
        train = codes[splits(i)[0]]
        if (train == train[0]).all():
            whose = "the training sample" if splits.shared is not None else f"the training sample of classifier {i}"
            raise ValueError(
                f"y must give every training sample at least two classes; all {train.size} rows of {whose} are of "
                f"class {classes.tolist()[train[0]]!r}"
            )


def _copies_across(same: Rows, splits: Splits, number: int) -> int:
    """Return how many validation rows equal a training row in features and class: of all classifiers the most."""
    most = 0
    for i in range(1 if splits.shared is not None else number):
        train, validation = splits(i)
        trained = np.zeros(int(same.max()) + 1, dtype=bool)
        trained[same[train]] = True
        most = max(most, int(np.count_nonzero(trained[same[validation]])))
    return most


DUPLICATES = ("keep", "together")


def check_duplicates(duplicates: Any, groups: Any) -> None:
    """Raise for a wrong choice, or one that nothing is proved for."""
    check_choice("duplicates", duplicates, DUPLICATES)
    if groups is not None and duplicates == "together":
        raise ValueError(
            "duplicates must be 'keep' with groups: equal rows of different groups cannot be one draw, and a group is "
            "counted once, whatever copies it holds"
        )


@dataclass(frozen=True)
class Belonging:
    """What is divided and counted, and which rows are equal.

    Attributes
    ----------
    unit : {"example", "distinct example", "group"}
    units : ndarray of shape (N,), or None
        The number of each row's unit; None where every row is one.
    same : ndarray of shape (N,), or None
        The same number for rows equal in features and class; None where rows cannot be compared.
    """

    unit: str
    units: Rows | None
    same: Rows | None

    def copies(self, X: Any, codes: Rows, splits: Splits, number: int) -> int | None:
        """Return how many validation rows equal a training row; warn where they look like copies."""
        if self.same is None:
            return None
        found = _copies_across(self.same, splits, number)
        warn_of_copies(X, codes, self.same, found, self.units if self.unit == GROUP else None)
        return found


def belonging(X: Any, codes: Rows, groups: Any, duplicates: str) -> Belonging:
    """Return which rows belong together, by `groups` and (where those are None) by `duplicates`.

    Examples
    --------
    >>> X, codes = [[1.0], [2.0], [1.0]], np.array([0, 0, 0])
    >>> belonging(X, codes, None, "keep").units is None, belonging(X, codes, None, "together").units
    (True, array([0, 1, 0]))
    >>> belonging(X, codes, ["a", "b", "b"], "keep").units
    array([0, 1, 1])
    """
    numbers = None if groups is None else check_groups(groups, codes.size)
    same = equal_labelled_rows(X, codes)
    if numbers is not None:
        return Belonging(GROUP, numbers, same)
    if duplicates == "keep":
        return Belonging(EXAMPLE, None, same)
    if same is None:
        raise TypeError("duplicates='together' needs rows of numbers, texts and the like, which can be compared")
    return Belonging(DISTINCT, same, same)


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
    given: Any = groups.array if isinstance(groups, pd.Series | pd.Index) else _as_array(groups)
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


@dataclass(frozen=True)
class DivisionChoices:
    """How rows are to be divided, as the user says it; what cannot be is refused before any row is looked at.

    Examples
    --------
    >>> DivisionChoices("shared", 0.5, ["anna", "ben"], "together")
    Traceback (most recent call last):
    ValueError: duplicates must be 'keep' with groups: equal rows of different groups cannot be one draw, and a group is
    counted once, whatever copies it holds
    """

    split: str
    validation_size: Any
    groups: Any
    duplicates: str

    def __post_init__(self) -> None:
        check_choice("split", self.split, SPLITS)
        check_duplicates(self.duplicates, self.groups)

    def as_dict(self) -> dict[str, Any]:
        """Return the choices by name: they are part of what makes two runs the same."""
        return dict(vars(self))


@dataclass(frozen=True)
class Division:
    """Rows divided among classifiers.

    Attributes
    ----------
    classes : ndarray
        The labels that occur, sorted.
    codes : ndarray of shape (N,)
        The place of each row's label among them.
    splits : Splits
    copies : int or None
        Validation rows with an equal training row; None where that is not known.
    """

    classes: Labels
    codes: Rows
    splits: Splits
    copies: int | None


def divide_rows(X: Any, labels: Labels, choices: DivisionChoices, number: int, seed: int) -> Division:
    """Divide checked rows among `number` classifiers, each of which must see two classes; warn of copies.

    Examples
    --------
    >>> X, labels = np.arange(8.0).reshape(8, 1), np.array(["no", "yes"] * 4)
    >>> division = divide_rows(X, labels, DivisionChoices("shared", 0.5, None, "keep"), 3, seed=0)
    >>> division.classes.tolist(), division.codes, division.splits.m, division.copies
    (['no', 'yes'], array([0, 1, 0, 1, 0, 1, 0, 1]), 4, 0)
    """
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size < 2:
        raise ValueError(f"y must hold at least two classes, got class {classes.tolist()[0]!r} only")
    together = belonging(X, codes, choices.groups, choices.duplicates)
    splits = plan_splits(
        codes.size,
        kind=choices.split,
        validation_size=choices.validation_size,
        seed=seed,
        unit=together.unit,
        units=together.units,
    )
    check_training_classes(splits, codes, classes, number)
    return Division(classes, codes, splits, together.copies(X, codes, splits, number))
