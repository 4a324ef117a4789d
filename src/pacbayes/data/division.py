"""Which rows train and which validate, for all classifiers or for each; what belongs together: groups, and copies."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pacbayes._utils.arrays import BoolArray, Labels, Rows
from pacbayes._utils.checks import check_choice
from pacbayes._utils.seeds import Purpose, generator
from pacbayes.data.duplicates import more_equal_than_chance, overlap, warn_of_copies
from pacbayes.data.labelled import Labelled, check_training_labels
from pacbayes.data.leakage import warn_of_columns

#: One division for all classifiers, or for each its own, as in the paper.
SHARED, INDEPENDENT = "shared", "independent"
SPLITS = (SHARED, INDEPENDENT)
# What is drawn, divided and counted: every row for itself, rows that are equal in features and class as one, or groups.
EXAMPLE, DISTINCT, GROUP = "example", "distinct example", "group"


@dataclass(frozen=True, eq=False)
class Division:
    """Which rows train and which validate every classifier; made without a look at labels.

    What belongs to the i-th classifier depends on the seed and i only.

    Attributes
    ----------
    kind : {"shared", "independent"}
    n_train, m : int
        Sizes of each classifier's training and validation sample, in units.  No training rows where the classifiers
        were trained elsewhere.
    n_rows : int
        The rows that were divided, copies included.
    shared : pair of ndarrays, or None
        The training and the validation rows that all classifiers share, ascending.
    unit : {"example", "distinct example", "group"}
        What was divided.  All rows of a unit are on one side.  Equal rows that are one unit train as often as they
        occur, and are validated once.
    units : ndarray of shape (N,), or None
        The number of each row's unit, from 0; None where every row is one.
    copies : int or None
        Validation rows that equal a training row in features and class; of all classifiers the most.  None where that
        is not known.
    own : bool
        Whether the user divided the rows, and not chance.
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
        """Return the i-th classifier's training rows and validation rows, sorted."""
        if self.shared is not None:
            return self.shared
        order = generator(self.seed, Purpose.INDEPENDENT, i).permutation(self.n_train + self.m)
        return rows_of_units(order[self.m :], order[: self.m], self.unit, self.units)

    def samples(self, number: int) -> Iterator[tuple[Rows, Rows]]:
        """Yield training and validation rows of each of `number` classifiers; once where all of them share these."""
        yield from map(self, range(number if self.shared is None else 1))

    @property
    def trained_elsewhere(self) -> bool:
        """Whether all rows validate: the classifiers were trained before, on rows that are not here."""
        return self.n_train == 0

    @property
    def validating(self) -> Rows:
        """The rows that validate some classifier, ascending: the columns of `Evidence`."""
        return np.arange(self.n_rows) if self.shared is None else self.shared[1]

    @property
    def n_validating(self) -> int:
        """How many rows validate some classifier."""
        return self.n_rows if self.shared is None else int(self.shared[1].size)

    @property
    def most_rows(self) -> tuple[int, int]:
        """No classifier has more training rows, and more validation rows, than these."""
        if self.shared is not None:
            return self.shared[0].size, self.shared[1].size
        return self.n_rows - self.m, self.n_rows - self.n_train

    def units_of(self, rows: Rows) -> Rows | None:
        """Return the number of every row's unit; None where every row is one."""
        return None if self.units is None else self.units[rows]


def plan_division(
    n_rows: int,
    *,
    kind: str,
    validation_size: Any,
    seed: int,
    unit: str = EXAMPLE,
    units: Rows | None = None,
) -> Division:
    """Return the division of so many rows, and of the units they belong to, whatever their classes are.

    A stratified division would tell, in its training part, the class counts of its validation part: the two would not
    be independent, as every certificate assumes.  Sizes are in units: with groups, shares or numbers of groups.

    Examples
    --------
    >>> division = plan_division(20, kind="shared", validation_size=0.3, seed=0)
    >>> division.n_train, division.m
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
    if kind == INDEPENDENT:
        return Division(kind, n_train, m, n_rows, seed, None, unit, units)
    order = generator(seed, Purpose.SHARED).permutation(n)
    return _shared_division(order[m:], order[:m], n_rows, seed, unit, units)


def _shared_division(
    train: Rows, validation: Rows, n_rows: int, seed: int, unit: str, units: Rows | None, own: bool = False
) -> Division:
    """Division in which all classifiers share the units that train and those that validate."""
    shared = rows_of_units(train, validation, unit, units)
    return Division(SHARED, train.size, validation.size, n_rows, seed, shared, unit, units, own=own)


def own_division(validation: BoolArray, seed: int, unit: str = EXAMPLE, units: Rows | None = None) -> Division:
    """Return the division that somebody made: rows validate where `validation` is true; all rows of a unit together.

    Examples
    --------
    >>> division = own_division(np.array([False, False, True, True, True]), seed=0)
    >>> division.n_train, division.m, division(0)[1]
    (2, 3, array([2, 3, 4]))
    """
    numbers = [np.flatnonzero(side) for side in (~validation, validation)]
    if units is not None:
        marks = [marked(units[side], int(units.max()) + 1) for side in numbers]
        numbers, both = [np.flatnonzero(mark) for mark in marks], np.flatnonzero(marks[0] & marks[1])
        if both.size:
            what = "a group" if unit == GROUP else "an example and its copies"
            rows = np.flatnonzero(units == both[0])
            train, other = (int(rows[validation[rows] == side][0]) for side in (False, True))
            raise ValueError(
                f"validation must have all rows of {what} on one side, but {both.size} of {int(units.max()) + 1} are "
                f"on both, as rows {train} and {other}"
            )
    n_train, m = (part.size for part in numbers)
    if m < 2 or n_train < 2:
        counted = "groups" if unit == GROUP else "examples"
        raise ValueError(
            f"validation must leave at least two training and two validation {counted}, got {n_train} and {m}"
        )
    return _shared_division(numbers[0], numbers[1], validation.size, seed, unit, units, own=True)


def usual_share(number: int) -> float:
    r"""Return the share of so many rows, or groups, that validates where nobody says it.

    :math:`\min(1/2, (1000/n)^{0.18}/2)`: more rows train the better a limit already is.

    Examples
    --------
    >>> usual_share(500), round(usual_share(10_000), 3)
    (0.5, 0.33)
    """
    return min(0.5, 0.5 * math.pow(1000.0 / number, 0.18))


def validating_division(n: int, unit: str = EXAMPLE, units: Rows | None = None) -> Division:
    """Return the division of `n` rows that all validate, for classifiers that were trained on others.

    Examples
    --------
    >>> division = validating_division(5, DISTINCT, np.array([0, 1, 0, 2, 1]))
    >>> division.trained_elsewhere, division.m, division(0)[1]
    (True, 3, array([0, 1, 3]))
    """
    m = n if units is None else int(units.max()) + 1
    return _shared_division(np.arange(0), np.arange(m), n, 0, unit, units)


def training_division(validated: Division) -> Division:
    """Return the division of the same rows that all train: for a refit.

    Examples
    --------
    >>> everything = training_division(plan_division(20, kind="shared", validation_size=0.3, seed=0))
    >>> everything.n_train, everything.m, everything(0)[0].size
    (20, 0, 20)
    """
    every, units = np.arange(validated.n_rows), validated.n_train + validated.m
    return replace(validated, n_train=units, m=0, shared=(every, every[:0]), copies=None)


def marked(numbers: Rows, size: int) -> BoolArray:
    """Mask of a size, true where a number occurs."""
    mask = np.zeros(size, dtype=bool)
    mask[numbers] = True
    return mask


def _sorted(rows: Rows) -> Rows:
    return np.sort(rows) if bool((rows[1:] < rows[:-1]).any()) else rows


def rows_of_units(train: Rows, validation: Rows, unit: str, units: Rows | None) -> tuple[Rows, Rows]:
    """Rows of the units that train, and those of the units that validate which are counted; both sorted."""
    if units is None:
        # Sorting as many numbers as there are rows takes longer than looking whether they are.
        return _sorted(train), _sorted(validation)
    return _all_rows(units, train), _counted_rows(units, validation, unit)


def _all_rows(units: Rows, numbers: Rows) -> Rows:
    """Return the rows of some units, sorted."""
    return np.flatnonzero(marked(numbers, int(units.max()) + 1)[units])


def _counted_rows(units: Rows, numbers: Rows, unit: str) -> Rows:
    """Return the rows of some units that are counted: all of a group, the first of equal ones."""
    if unit == GROUP:
        return _all_rows(units, numbers)
    # Of repeated indices the last value is kept: from behind, the first row of each unit.
    first = np.empty(int(units.max()) + 1, dtype=np.int64)
    first[units[::-1]] = np.arange(units.size)[::-1]
    return np.sort(first[numbers])


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


def _check_training_classes(division: Division, codes: Rows, classes: Labels, number: int) -> None:
    """Raise if the training sample of any of `number` classifiers has one class only, naming both."""
    for i, (train, _) in enumerate(division.samples(number)):
        if (codes[train] == codes[train[0]]).all():
            whose = "the training sample" if division.shared is not None else f"the training sample of classifier {i}"
            raise ValueError(
                f"y must give every training sample at least two classes; all {train.size} rows of {whose} are of "
                f"class {classes.tolist()[codes[train[0]]]!r}"
            )


def _count_copies(same: Rows, division: Division, number: int) -> int:
    """Largest number of validation rows that equal a training row in features and class, over classifiers."""
    known = int(same.max()) + 1
    return max(
        int(np.count_nonzero(marked(same[train], known)[same[validation]]))
        for train, validation in division.samples(number)
    )


def check_own(validation: Any, split: str) -> None:
    """Raise if rows that validate are named where every row validates some classifier."""
    if validation is not None and split != "shared":
        raise ValueError(f"validation (and X_val) must be None with split={split!r}: every row validates a classifier")


DUPLICATES = ("keep", "together", "independent")


def check_duplicates(duplicates: Any, groups: Any) -> None:
    """Raise for a wrong choice, or one that nothing is proved for."""
    check_choice("duplicates", duplicates, DUPLICATES)
    if groups is not None and duplicates == "together":
        raise ValueError(
            "duplicates must not be 'together' with groups: equal rows of different groups cannot be one draw, and a "
            "group is counted once, whatever copies it holds"
        )


@dataclass(frozen=True)
class DivisionChoices:
    """How rows are to be divided, as the user says it; what cannot be is refused before any row is looked at.

    Examples
    --------
    >>> DivisionChoices("shared", 0.5, ["anna", "ben"], "together")
    Traceback (most recent call last):
    ValueError: duplicates must not be 'together' with groups: equal rows of different groups cannot be one draw, and a
    group is counted once, whatever copies it holds
    """

    split: str
    validation_size: Any
    groups: Any
    duplicates: str
    #: Which rows validate; None where chance decides.
    validation: BoolArray | None = None

    def __post_init__(self) -> None:
        check_choice("split", self.split, SPLITS)
        check_own(self.validation, self.split)
        check_duplicates(self.duplicates, self.groups)

    def as_dict(self) -> dict[str, Any]:
        """Return the choices by name: they are part of what makes two runs the same."""
        return dict(vars(self))


def find_units(data: Labelled, duplicates: str) -> tuple[str, Rows | None]:
    """Find what is divided and counted, and the number of each row's unit, None where every row is one.

    Examples
    --------
    >>> find_units(Labelled.checked([[1.0], [2.0], [1.0]], np.array([0, 0, 0]), groups=["a", "b", "b"]), "keep")
    ('group', array([0, 1, 1]))
    """
    if data.groups is not None:
        return GROUP, data.groups
    if duplicates != "together":
        return EXAMPLE, None
    if data.same is None:
        raise TypeError("duplicates='together' needs rows of numbers, texts and the like, which can be compared")
    if data.slices is not None:
        data.slices.check_copies(data.same)
    return DISTINCT, data.same


def divide(data: Labelled, choices: DivisionChoices, number: int, seed: int) -> Division:
    """Divide rows among `number` classifiers, each of which must see two classes; warn of copies and of odd columns.

    Examples
    --------
    >>> data = Labelled.checked(np.arange(8.0).reshape(8, 1), np.array(["no", "yes"] * 4))
    >>> division = divide(data, DivisionChoices("shared", 0.5, None, "keep"), 3, seed=0)
    >>> division.n_train, division.m, division.copies
    (4, 4, 0)
    """
    check_training_labels(data)
    unit, units = find_units(data, choices.duplicates)
    if choices.validation is not None:
        division = own_division(choices.validation, seed, unit, units)
        if choices.duplicates == "keep":  # "together": own_division has looked for copies
            check_apart(data, division)
    else:
        size = choices.validation_size
        division = plan_division(
            data.number, kind=choices.split, validation_size=size, seed=seed, unit=unit, units=units
        )
    _check_training_classes(division, data.codes, data.classes, number)
    if division.shared is not None:  # else every row validates some classifier
        warn_of_columns(data.rows, data.codes, division.shared[0], units, data.groups is not None)
    if data.same is None:
        return division
    copies = _count_copies(data.same, division, number)
    if choices.duplicates != "independent":
        warn_of_copies(data.rows, data.codes, data.same, copies, data.groups)
    return replace(division, copies=copies)


def check_apart(data: Labelled, division: Division) -> None:
    """Raise if more rows validate that equal a training row than chance explains; equation (own-division)."""
    if data.known_again(b"") is None:
        return
    hashes = data.hashes(b"").view(np.int64)
    sides = [hashes[rows] for rows in division(0)]
    met = overlap(*sides)
    if data.groups is not None:
        # Rows of a group may be equal for any reason.  Independent are the groups, and so one row of each: that
        # with the least hash, the same for copies of a group.
        sides = [pd.Series(hashes[rows]).groupby(data.groups[rows]).min().to_numpy() for rows in division(0)]
    if met is not None and more_equal_than_chance(*sides):
        raise ValueError(
            f"the rows that validate must be others than those that train, but {met.said} that trains, more than "
            "equal rows within each side explain. If they are copies, leave them out of the training rows, and "
            "never out of the validation rows: these would no longer be a sample of new examples. If equal rows "
            "are separate draws, give duplicates='independent'"
        )


def all_validate(data: Labelled, duplicates: str) -> Division:
    """Return the division of rows that all validate: the classifiers were trained on others."""
    return validating_division(data.number, *find_units(data, duplicates))
