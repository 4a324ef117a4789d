"""Splits into training and validation sets that keep groups and duplicates together."""

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
from pacbayes.data.duplicates import exceeds_chance_overlap, measure_overlap, warn_about_duplicates
from pacbayes.data.leakage import warn_about_leakage

#: Kinds of splits: one for all classifiers, or an independent one for each classifier, as in the paper.
SHARED, INDEPENDENT = "shared", "independent"
SPLITS = (SHARED, INDEPENDENT)
# Sampling units: rows, distinct rows (rows with equal features and class form a unit), or groups.
EXAMPLE, DISTINCT, GROUP = "example", "distinct example", "group"


@dataclass(frozen=True, eq=False)
class Split:
    """Training and validation sets of every classifier.

    The split does not depend on the labels.  The split of the i-th classifier depends only on the seed and i.

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
        Sampling unit.  All rows of a unit are on the same side.  If the unit is a distinct example, all of its rows are
        used in training, but only one in validation.
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
        """Return the sorted training and validation rows of the i-th classifier."""
        if self.shared is not None:
            return self.shared
        order = make_rng(self.seed, Purpose.INDEPENDENT, i).permutation(self.n_train + self.m)
        return expand_units(order[self.m :], order[: self.m], self.unit, self.units)

    def iter_splits(self, number: int) -> Iterator[tuple[Rows, Rows]]:
        """Yield the training and validation rows of each of `number` classifiers; a shared split only once."""
        yield from map(self, range(number if self.shared is None else 1))

    @property
    def prefit(self) -> bool:
        """Whether all rows are validation rows, because the classifiers are prefit."""
        return self.n_train == 0

    @property
    def validation_rows(self) -> Rows:
        """Sorted rows that validate at least one classifier: the columns of `ValidationPredictions`."""
        return np.arange(self.n_rows) if self.shared is None else self.shared[1]

    @property
    def n_validation(self) -> int:
        """Number of rows that validate at least one classifier."""
        return self.n_rows if self.shared is None else int(self.shared[1].size)

    @property
    def max_set_sizes(self) -> tuple[int, int]:
        """Maximum number of training and of validation rows over the classifiers."""
        if self.shared is not None:
            return self.shared[0].size, self.shared[1].size
        return self.n_rows - self.m, self.n_rows - self.n_train

    def select_units(self, rows: Rows) -> Rows | None:
        """Select the unit indices of some rows; None if units are rows."""
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
    """Split rows, or units of rows, at random.

    The split is not stratified, because the training set would then reveal the class counts of the validation set,
    whereas certificates assume that the two sets are independent.  Sizes are in units.

    Examples
    --------
    >>> split = plan_split(20, kind="shared", validation_size=0.3, seed=0)
    >>> split.n_train, split.m
    (14, 6)
    """
    check_choice("split", kind, SPLITS)
    n = n_rows if units is None else int(units.max()) + 1
    unit_name = {EXAMPLE: "rows", DISTINCT: "distinct rows", GROUP: "groups"}[unit]
    m = _resolve_validation_size(validation_size, n, unit_name)
    n_train = n - m
    if m < 2 or n_train < 2:
        raise ValueError(
            f"validation_size must leave at least two training and two validation {unit_name}, got "
            f"{validation_size!r} of {n} {unit_name}: {max(n_train, 0)} and {m}"
        )
    if kind == INDEPENDENT:
        return Split(kind, n_train, m, n_rows, seed, None, unit, units)
    order = make_rng(seed, Purpose.SHARED).permutation(n)
    return _make_shared_split(order[m:], order[:m], n_rows, seed, unit, units)


def _make_shared_split(
    train: Rows, validation: Rows, n_rows: int, seed: int, unit: str, units: Rows | None, own: bool = False
) -> Split:
    """Create a split that all classifiers share from training and validation units."""
    shared = expand_units(train, validation, unit, units)
    return Split(SHARED, train.size, validation.size, n_rows, seed, shared, unit, units, own=own)


def make_user_split(validation: BoolArray, seed: int, unit: str = EXAMPLE, units: Rows | None = None) -> Split:
    """Create a user-defined split from a mask of validation rows, which must not divide units.

    Examples
    --------
    >>> split = make_user_split(np.array([False, False, True, True, True]), seed=0)
    >>> split.n_train, split.m, split(0)[1]
    (2, 3, array([2, 3, 4]))
    """
    sides = [np.flatnonzero(side) for side in (~validation, validation)]
    if units is not None:
        masks = [index_mask(units[side], int(units.max()) + 1) for side in sides]
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
    return _make_shared_split(sides[0], sides[1], validation.size, seed, unit, units, own=True)


def default_validation_size(number: int) -> float:
    r"""Compute the default fraction of validation rows, or groups.

    It is :math:`\min(1/2, (1000/n)^{0.18}/2)`, because with more rows, bounds are tight even for a smaller fraction.

    Examples
    --------
    >>> default_validation_size(500), round(default_validation_size(10_000), 3)
    (0.5, 0.33)
    """
    return min(0.5, 0.5 * math.pow(1000.0 / number, 0.18))


def make_validation_split(n: int, unit: str = EXAMPLE, units: Rows | None = None) -> Split:
    """Create a split for prefit classifiers, in which all `n` rows are validation rows.

    Examples
    --------
    >>> split = make_validation_split(5, DISTINCT, np.array([0, 1, 0, 2, 1]))
    >>> split.prefit, split.m, split(0)[1]
    (True, 3, array([0, 1, 3]))
    """
    m = n if units is None else int(units.max()) + 1
    return _make_shared_split(np.arange(0), np.arange(m), n, 0, unit, units)


def make_training_split(validated: Split) -> Split:
    """Create a split for a refit, in which all rows are training rows.

    Examples
    --------
    >>> everything = make_training_split(plan_split(20, kind="shared", validation_size=0.3, seed=0))
    >>> everything.n_train, everything.m, everything(0)[0].size
    (20, 0, 20)
    """
    rows, units = np.arange(validated.n_rows), validated.n_train + validated.m
    return replace(validated, n_train=units, m=0, shared=(rows, rows[:0]), copies=None)


def index_mask(numbers: Rows, size: int) -> BoolArray:
    """Convert indices to a boolean mask."""
    mask = np.zeros(size, dtype=bool)
    mask[numbers] = True
    return mask


def _sort_if_needed(rows: Rows) -> Rows:
    return np.sort(rows) if bool((rows[1:] < rows[:-1]).any()) else rows


def expand_units(train: Rows, validation: Rows, unit: str, units: Rows | None) -> tuple[Rows, Rows]:
    """Return the sorted rows of training units, and the sorted rows of validation units that are counted."""
    if units is None:
        # Rows are usually sorted, which is faster to check.
        return _sort_if_needed(train), _sort_if_needed(validation)
    return _select_unit_rows(units, train), _select_counted_rows(units, validation, unit)


def _select_unit_rows(units: Rows, numbers: Rows) -> Rows:
    """Select all rows of some units, sorted."""
    return np.flatnonzero(index_mask(numbers, int(units.max()) + 1)[units])


def _select_counted_rows(units: Rows, numbers: Rows, unit: str) -> Rows:
    """Select the rows of units that are counted in validation: all rows of a group, or the first of duplicates."""
    if unit == GROUP:
        return _select_unit_rows(units, numbers)
    # NumPy keeps the last value of repeated indices; in reverse order, that is the first row of each unit.
    first = np.empty(int(units.max()) + 1, dtype=np.int64)
    first[units[::-1]] = np.arange(units.size)[::-1]
    return np.sort(first[numbers])


def _resolve_validation_size(size: Any, n: int, unit_name: str) -> int:
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
        # Rounding first, because 0.29 * 100 is 28.999999999999996.
        return math.floor(round(float(size) * n, 9))
    raise TypeError(f"validation_size must be a fraction or a number of {unit_name}, got {size!r}")


def _check_training_classes(split: Split, codes: Rows, classes: Labels, number: int) -> None:
    """Raise if the training set of any of `number` classifiers has a single class."""
    for i, (train, _) in enumerate(split.iter_splits(number)):
        if (codes[train] == codes[train[0]]).all():
            training_set = "the training set" if split.shared is not None else f"the training set of classifier {i}"
            raise ValueError(
                f"y must have at least two classes in every training set; all {train.size} rows of {training_set} are "
                f"of class {classes.tolist()[codes[train[0]]]!r}"
            )


def _count_duplicates(same: Rows, split: Split, number: int) -> int:
    """Count the validation rows with a duplicate in the training set; the maximum over classifiers."""
    n_distinct = int(same.max()) + 1
    return max(
        int(np.count_nonzero(index_mask(same[train], n_distinct)[same[validation]]))
        for train, validation in split.iter_splits(number)
    )


def check_user_split(validation: Any, split: str) -> None:
    """Raise if a user-defined split is combined with independent splits."""
    if validation is not None and split != "shared":
        raise ValueError(f"validation and X_val require split='shared', got split={split!r}")


DUPLICATES = ("keep", "together", "independent")


def check_duplicates(duplicates: Any, groups: Any) -> None:
    """Raise if `duplicates` is invalid, or "together" is combined with groups."""
    check_choice("duplicates", duplicates, DUPLICATES)
    if groups is not None and duplicates == "together":
        raise ValueError(
            "duplicates must not be 'together' with groups: equal rows of different groups cannot be one draw, and "
            "every group counts once, including its duplicates"
        )


@dataclass(frozen=True)
class SplitOptions:
    """Validated parameters of a split.

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
        check_user_split(self.validation, self.split)
        check_duplicates(self.duplicates, self.groups)

    def as_dict(self) -> dict[str, Any]:
        """Return the parameters by name, which identify a run."""
        return dict(vars(self))


def find_units(data: Dataset, duplicates: str) -> tuple[str, Rows | None]:
    """Determine the sampling unit and the unit index of each row (None if units are rows).

    Examples
    --------
    >>> find_units(Dataset.from_arrays([[1.0], [2.0], [1.0]], np.array([0, 0, 0]), groups=["a", "b", "b"]), "keep")
    ('group', array([0, 1, 1]))
    """
    if data.groups is not None:
        return GROUP, data.groups
    if duplicates != "together":
        return EXAMPLE, None
    if data.distinct_rows is None:
        raise TypeError("duplicates='together' requires rows that can be compared, such as numbers or strings")
    if data.slices is not None:
        data.slices.check_duplicates_share_slice(data.distinct_rows)
    return DISTINCT, data.distinct_rows


def split_rows(data: Dataset, options: SplitOptions, number: int, seed: int) -> Split:
    """Split rows for `number` classifiers; warn about duplicates across the split and leaking columns.

    Examples
    --------
    >>> data = Dataset.from_arrays(np.arange(8.0).reshape(8, 1), np.array(["no", "yes"] * 4))
    >>> split = split_rows(data, SplitOptions("shared", 0.5, None, "keep"), 3, seed=0)
    >>> split.n_train, split.m, split.copies
    (4, 4, 0)
    """
    check_training_labels(data)
    unit, units = find_units(data, options.duplicates)
    if options.validation is not None:
        split = make_user_split(options.validation, seed, unit, units)
        if options.duplicates == "keep":  # make_user_split checks the duplicates of "together"
            check_no_overlap(data, split)
    else:
        size = options.validation_size
        split = plan_split(data.n_rows, kind=options.split, validation_size=size, seed=seed, unit=unit, units=units)
    _check_training_classes(split, data.codes, data.classes, number)
    if split.shared is not None:  # with independent splits, every row is a validation row of some classifier
        warn_about_leakage(data.rows, data.codes, split.shared[0], units, data.groups)
    if data.distinct_rows is None:
        return split
    copies = _count_duplicates(data.distinct_rows, split, number)
    if options.duplicates != "independent":
        warn_about_duplicates(data.rows, data.codes, data.distinct_rows, copies, data.groups)
    return replace(split, copies=copies)


def check_no_overlap(data: Dataset, split: Split) -> None:
    """Raise if the two sides overlap more than independent draws would; equation (own-division)."""
    if data.row_fingerprints(b"") is None:
        return
    hashes = data.hashes(b"").view(np.int64)
    sides = [hashes[rows] for rows in split(0)]
    overlapping = measure_overlap(*sides)
    if data.groups is not None:
        # Only groups are independent.  Compare one row of each: the row with the smallest hash is the same for copies
        # of a group.
        sides = [pd.Series(hashes[rows]).groupby(data.groups[rows]).min().to_numpy() for rows in split(0)]
    if overlapping is not None and exceeds_chance_overlap(*sides):
        raise ValueError(
            f"the validation set must not overlap with the training set, but {overlapping.summary} of the training "
            "set, more than duplicates within each side explain. If they are copies, remove them from the training "
            "set, never from the validation set, which would no longer be a sample of new examples. If equal rows are "
            "independent draws, use duplicates='independent'"
        )


def make_prefit_split(data: Dataset, duplicates: str) -> Split:
    """Create the split of a dataset for prefit classifiers."""
    return make_validation_split(data.n_rows, *find_units(data, duplicates))
