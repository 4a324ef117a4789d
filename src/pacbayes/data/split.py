"""Splits into training and validation sets, which keep groups and duplicates together."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pacbayes._utils.arrays import BoolArray, Labels, Rows
from pacbayes._utils.checks import check_choice
from pacbayes._utils.seeds import Purpose, make_rng
from pacbayes.data.dataset import Dataset, check_training_labels
from pacbayes.data.duplicates import more_equal_than_chance, overlap, warn_of_copies
from pacbayes.data.leakage import warn_of_columns

#: One split for all classifiers, or an independent split for each, as in the paper.
SHARED, INDEPENDENT = "shared", "independent"
SPLITS = (SHARED, INDEPENDENT)
# Sampling units: rows, distinct rows (duplicates in features and class are one unit), or groups.
EXAMPLE, DISTINCT, GROUP = "example", "distinct example", "group"


@dataclass(frozen=True, eq=False)
class Split:
    """Training and validation sets of every classifier; independent of the labels.

    The split of the i-th classifier depends on the seed and i only.

    Attributes
    ----------
    kind : {"shared", "independent"}
        Whether the classifiers share one split.
    n_train, m : int
        Sizes of the training and the validation set of each classifier, in units.  `n_train` is 0 for prefit
        classifiers.
    n_rows : int
        Number of rows, including duplicates.
    shared : pair of ndarrays, or None
        Sorted training and validation rows that all classifiers share.
    unit : {"example", "distinct example", "group"}
        Sampling unit.  All rows of a unit are on the same side.  In a unit of duplicates, all rows are used in
        training, but only one in validation.
    units : ndarray of shape (N,), or None
        Unit index of each row; None if units are rows.
    copies : int or None
        Maximum number of validation rows with a duplicate (features and class) in the training set, over classifiers;
        None if unknown.
    own : bool
        Whether the split is user-defined.
    """

    kind: str
    n_train: int
    m: int
    n_rows: int
    seed: int
    shared: tuple[Rows, Rows] | None
    unit: str = EXAMPLE
    units: Rows | None = None
    copies: int | None = None
    own: bool = False

    def __call__(self, i: int) -> tuple[Rows, Rows]:
        """Sorted training and validation rows of the i-th classifier."""
        if self.shared is not None:
            return self.shared
        order = make_rng(self.seed, Purpose.INDEPENDENT, i).permutation(self.n_train + self.m)
        return rows_of_units(order[self.m :], order[: self.m], self.unit, self.units)

    def samples(self, number: int) -> Iterator[tuple[Rows, Rows]]:
        """Yield training and validation rows of each of `number` classifiers, or once if they are shared."""
        yield from map(self, range(number if self.shared is None else 1))

    @property
    def prefit(self) -> bool:
        """Whether all rows are validation rows, because the classifiers are prefit."""
        return self.n_train == 0

    @property
    def validating(self) -> Rows:
        """Sorted rows that are validation rows of some classifier: the columns of `ValidationPredictions`."""
        return np.arange(self.n_rows) if self.shared is None else self.shared[1]

    @property
    def n_validating(self) -> int:
        """Number of rows that are validation rows of some classifier."""
        return self.n_rows if self.shared is None else int(self.shared[1].size)

    @property
    def most_rows(self) -> tuple[int, int]:
        """Maximum sizes of the training and the validation set, in rows."""
        if self.shared is not None:
            return self.shared[0].size, self.shared[1].size
        return self.n_rows - self.m, self.n_rows - self.n_train

    def units_of(self, rows: Rows) -> Rows | None:
        """Index of the unit of each row; None if units are rows."""
        return None if self.units is None else self.units[rows]


def plan_split(
    n_rows: int,
    *,
    kind: str,
    validation_size: Any,
    seed: int,
    unit: str = EXAMPLE,
    units: Rows | None = None,
) -> Split:
    """Split rows, or the units they belong to, at random.

    The split is not stratified: the training set would reveal the class counts of the validation set, and the two would
    not be independent, as every certificate assumes.  Sizes are in units.

    Examples
    --------
    >>> split = plan_split(20, kind="shared", validation_size=0.3, seed=0)
    >>> split.n_train, split.m
    (14, 6)
    """
    check_choice("split", kind, SPLITS)
    n = n_rows if units is None else int(units.max()) + 1
    unit_name = {EXAMPLE: "rows", DISTINCT: "distinct rows", GROUP: "groups"}[unit]
    m = _validation_units(validation_size, n, unit_name)
    n_train = n - m
    if m < 2 or n_train < 2:
        raise ValueError(
            f"validation_size must leave at least two training and two validation {unit_name}, got "
            f"{validation_size!r} of {n} {unit_name}: {max(n_train, 0)} and {m}"
        )
    if kind == INDEPENDENT:
        return Split(kind, n_train, m, n_rows, seed, None, unit, units)
    order = make_rng(seed, Purpose.SHARED).permutation(n)
    return _shared_division(order[m:], order[:m], n_rows, seed, unit, units)


def _shared_division(
    train: Rows, validation: Rows, n_rows: int, seed: int, unit: str, units: Rows | None, own: bool = False
) -> Split:
    """Split that all classifiers share, from its training and validation units."""
    shared = rows_of_units(train, validation, unit, units)
    return Split(SHARED, train.size, validation.size, n_rows, seed, shared, unit, units, own=own)


def user_split(validation: BoolArray, seed: int, unit: str = EXAMPLE, units: Rows | None = None) -> Split:
    """User-defined split from a mask of the validation rows, which must not divide units.

    Examples
    --------
    >>> split = user_split(np.array([False, False, True, True, True]), seed=0)
    >>> split.n_train, split.m, split(0)[1]
    (2, 3, array([2, 3, 4]))
    """
    sides = [np.flatnonzero(side) for side in (~validation, validation)]
    if units is not None:
        masks = [marked(units[side], int(units.max()) + 1) for side in sides]
        sides, both = [np.flatnonzero(mask) for mask in masks], np.flatnonzero(masks[0] & masks[1])
        if both.size:
            divided = "a group" if unit == GROUP else "an example and its duplicates"
            rows = np.flatnonzero(units == both[0])
            train, other = (int(rows[validation[rows] == side][0]) for side in (False, True))
            raise ValueError(
                f"validation must have all rows of {divided} on one side, but {both.size} of {int(units.max()) + 1} "
                f"are on both, such as rows {train} and {other}"
            )
    n_train, m = (side.size for side in sides)
    if m < 2 or n_train < 2:
        unit_name = "groups" if unit == GROUP else "rows"
        raise ValueError(
            f"validation must leave at least two training and two validation {unit_name}, got {n_train} and {m}"
        )
    return _shared_division(sides[0], sides[1], validation.size, seed, unit, units, own=True)


def default_validation_size(number: int) -> float:
    r"""Default fraction of validation rows, or groups.

    It is :math:`\min(1/2, (1000/n)^{0.18}/2)`: with more rows, bounds are tight already, and training benefits more.

    Examples
    --------
    >>> default_validation_size(500), round(default_validation_size(10_000), 3)
    (0.5, 0.33)
    """
    return min(0.5, 0.5 * math.pow(1000.0 / number, 0.18))


def validation_split(n: int, unit: str = EXAMPLE, units: Rows | None = None) -> Split:
    """Split for prefit classifiers: all `n` rows are validation rows.

    Examples
    --------
    >>> split = validation_split(5, DISTINCT, np.array([0, 1, 0, 2, 1]))
    >>> split.prefit, split.m, split(0)[1]
    (True, 3, array([0, 1, 3]))
    """
    m = n if units is None else int(units.max()) + 1
    return _shared_division(np.arange(0), np.arange(m), n, 0, unit, units)


def training_split(validated: Split) -> Split:
    """Split for a refit: all rows are training rows.

    Examples
    --------
    >>> everything = training_split(plan_split(20, kind="shared", validation_size=0.3, seed=0))
    >>> everything.n_train, everything.m, everything(0)[0].size
    (20, 0, 20)
    """
    rows, units = np.arange(validated.n_rows), validated.n_train + validated.m
    return replace(validated, n_train=units, m=0, shared=(rows, rows[:0]), copies=None)


def marked(numbers: Rows, size: int) -> BoolArray:
    """Boolean mask of indices."""
    mask = np.zeros(size, dtype=bool)
    mask[numbers] = True
    return mask


def _sorted(rows: Rows) -> Rows:
    return np.sort(rows) if bool((rows[1:] < rows[:-1]).any()) else rows


def rows_of_units(train: Rows, validation: Rows, unit: str, units: Rows | None) -> tuple[Rows, Rows]:
    """Sorted rows of training units, and sorted counted rows of validation units."""
    if units is None:
        # Checking whether the rows are sorted is faster than sorting them.
        return _sorted(train), _sorted(validation)
    return _all_rows(units, train), _counted_rows(units, validation, unit)


def _all_rows(units: Rows, numbers: Rows) -> Rows:
    """Sorted rows of units."""
    return np.flatnonzero(marked(numbers, int(units.max()) + 1)[units])


def _counted_rows(units: Rows, numbers: Rows, unit: str) -> Rows:
    """Sorted rows of units that count in validation: all rows of a group, the first row of duplicates."""
    if unit == GROUP:
        return _all_rows(units, numbers)
    # NumPy keeps the last value of repeated indices; in reverse order, that is the first row of each unit.
    first = np.empty(int(units.max()) + 1, dtype=np.int64)
    first[units[::-1]] = np.arange(units.size)[::-1]
    return np.sort(first[numbers])


def _validation_units(size: Any, n: int, unit_name: str) -> int:
    """Resolve `validation_size`, a fraction (rounded down) or a number of units, to a number of units."""
    if isinstance(size, bool | np.bool_):
        raise TypeError(f"validation_size must be a fraction or a number of {unit_name}, got {size!r}")
    if isinstance(size, int | np.integer):
        if not 1 <= size < n:
            raise ValueError(f"validation_size must be between 1 and {n - 1} {unit_name}, got {size}")
        return int(size)
    if isinstance(size, float | np.floating):
        if not 0.0 < size < 1.0:
            raise ValueError(f"validation_size as a fraction must lie strictly between 0 and 1, got {size}")
        # Rounding errors must not matter: 0.29 * 100 is 28.999999999999996.
        return math.floor(round(float(size) * n, 9))
    raise TypeError(f"validation_size must be a fraction or a number of {unit_name}, got {size!r}")


def _check_training_classes(split: Split, codes: Rows, classes: Labels, number: int) -> None:
    """Raise if the training set of any of `number` classifiers has a single class."""
    for i, (train, _) in enumerate(split.samples(number)):
        if (codes[train] == codes[train[0]]).all():
            training_set = "the training set" if split.shared is not None else f"the training set of classifier {i}"
            raise ValueError(
                f"y must have at least two classes in every training set; all {train.size} rows of {training_set} are "
                f"of class {classes.tolist()[codes[train[0]]]!r}"
            )


def _count_copies(same: Rows, split: Split, number: int) -> int:
    """Maximum number of validation rows with a duplicate in the training set, over classifiers."""
    n_distinct = int(same.max()) + 1
    return max(
        int(np.count_nonzero(marked(same[train], n_distinct)[same[validation]]))
        for train, validation in split.samples(number)
    )


def check_own(validation: Any, split: str) -> None:
    """Raise for a user-defined split with independent splits."""
    if validation is not None and split != "shared":
        raise ValueError(f"validation and X_val require split='shared', got split={split!r}")


DUPLICATES = ("keep", "together", "independent")


def check_duplicates(duplicates: Any, groups: Any) -> None:
    """Raise for an invalid value, or if combined with groups."""
    check_choice("duplicates", duplicates, DUPLICATES)
    if groups is not None and duplicates == "together":
        raise ValueError(
            "duplicates must not be 'together' with groups: equal rows of different groups cannot be one draw, and "
            "every group counts once, including its duplicates"
        )


@dataclass(frozen=True)
class SplitOptions:
    """Parameters of a split, validated.

    Examples
    --------
    >>> SplitOptions("shared", 0.5, ["anna", "ben"], "together")
    Traceback (most recent call last):
    ValueError: duplicates must not be 'together' with groups: equal rows of different groups cannot be one draw, and
    every group counts once, including its duplicates
    """

    split: str
    validation_size: Any
    groups: Any
    duplicates: str
    #: Mask of the validation rows; None for a random split.
    validation: BoolArray | None = None

    def __post_init__(self) -> None:
        check_choice("split", self.split, SPLITS)
        check_own(self.validation, self.split)
        check_duplicates(self.duplicates, self.groups)

    def as_dict(self) -> dict[str, Any]:
        """Parameters by name, for the identity of a run."""
        return dict(vars(self))


def find_units(data: Dataset, duplicates: str) -> tuple[str, Rows | None]:
    """Find the sampling unit, and the unit index of each row (None if units are rows).

    Examples
    --------
    >>> find_units(Dataset.checked([[1.0], [2.0], [1.0]], np.array([0, 0, 0]), groups=["a", "b", "b"]), "keep")
    ('group', array([0, 1, 1]))
    """
    if data.groups is not None:
        return GROUP, data.groups
    if duplicates != "together":
        return EXAMPLE, None
    if data.same is None:
        raise TypeError("duplicates='together' requires rows that can be compared, such as numbers or strings")
    if data.slices is not None:
        data.slices.check_copies(data.same)
    return DISTINCT, data.same


def split_rows(data: Dataset, choices: SplitOptions, number: int, seed: int) -> Split:
    """Split rows for `number` classifiers; warn of duplicates across the split and of leaking columns.

    Examples
    --------
    >>> data = Dataset.checked(np.arange(8.0).reshape(8, 1), np.array(["no", "yes"] * 4))
    >>> split = split_rows(data, SplitOptions("shared", 0.5, None, "keep"), 3, seed=0)
    >>> split.n_train, split.m, split.copies
    (4, 4, 0)
    """
    check_training_labels(data)
    unit, units = find_units(data, choices.duplicates)
    if choices.validation is not None:
        split = user_split(choices.validation, seed, unit, units)
        if choices.duplicates == "keep":  # user_split checks the duplicates of "together"
            check_no_overlap(data, split)
    else:
        size = choices.validation_size
        split = plan_split(data.number, kind=choices.split, validation_size=size, seed=seed, unit=unit, units=units)
    _check_training_classes(split, data.codes, data.classes, number)
    if split.shared is not None:  # with independent splits, every row is a validation row of some classifier
        warn_of_columns(data.rows, data.codes, split.shared[0], units, data.groups)
    if data.same is None:
        return split
    copies = _count_copies(data.same, split, number)
    if choices.duplicates != "independent":
        warn_of_copies(data.rows, data.codes, data.same, copies, data.groups)
    return replace(split, copies=copies)


def check_no_overlap(data: Dataset, split: Split) -> None:
    """Raise if more duplicates cross the split than chance explains; equation (own-division)."""
    if data.row_fingerprints(b"") is None:
        return
    hashes = data.hashes(b"").view(np.int64)
    sides = [hashes[rows] for rows in split(0)]
    overlapping = overlap(*sides)
    if data.groups is not None:
        # Only groups are independent: compare one row of each, that with the smallest hash, which is the same for
        # duplicates of a group.
        sides = [pd.Series(hashes[rows]).groupby(data.groups[rows]).min().to_numpy() for rows in split(0)]
    if overlapping is not None and more_equal_than_chance(*sides):
        raise ValueError(
            f"the validation set must not overlap with the training set, but {overlapping.said} of the training set, "
            "more than duplicates within each side explain. If they are copies, remove them from the training set, "
            "never from the validation set, which would no longer be a sample of new examples. If equal rows are "
            "independent draws, use duplicates='independent'"
        )


def all_validate(data: Dataset, duplicates: str) -> Split:
    """Split of a dataset for prefit classifiers."""
    return validation_split(data.number, *find_units(data, duplicates))
