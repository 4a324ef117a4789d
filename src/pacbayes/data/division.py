"""Which rows train and which validate, for all classifiers or for each; what belongs together: groups, and copies."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pacbayes._utils.arrays import BoolArray, Labels, Rows
from pacbayes._utils.checks import check_choice, need, need_array, need_choice, need_rows, need_whole
from pacbayes._utils.seeds import Purpose, generator

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

    def __post_init__(self) -> None:
        """Raise unless the parts are sorted rows, none of them in two parts, of the sizes that are said."""
        need_choice(self.kind, "Division.kind", SPLITS)
        need_choice(self.unit, "Division.unit", (EXAMPLE, DISTINCT, GROUP))
        need_whole(self.n_train, "Division.n_train", 0)
        need_whole(self.m, "Division.m", 0)
        need_whole(self.n_rows, "Division.n_rows", 1)
        need(type(self.seed) is int and 0 <= self.seed < 2**4096, "Division.seed", "must be a seed")
        need(type(self.own) is bool, "Division.own", "must be true or false")
        need(self.kind == "shared" or not self.own, "Division.own", "must be false unless all share one division")
        if self.copies is not None:
            need_whole(self.copies, "Division.copies", 0, self.n_rows)
        number = self._check_units()
        need((self.kind == "shared") == (self.shared is not None), "Division.shared", "must be there if it is shared")
        both = self.n_train > 0 and self.m > 0
        need(both or self.kind == "shared", "Division", "must have rows that train and rows that validate")
        need(number == self.n_train + self.m, "Division.n_rows", "must train or validate")
        if self.shared is not None:
            self._check_shared(self.shared, number)

    def _check_units(self) -> int:
        """Return the number of units, or raise."""
        need((self.units is None) == (self.unit == EXAMPLE), "Division.units", "must be None if every row is one")
        if self.units is None:
            return self.n_rows
        need_array(self.units, "Division.units", "i", (self.n_rows,))
        # Every number from 0 on, so that there are not more of them than rows.
        need(int(self.units.min()) == 0 and int(self.units.max()) < self.n_rows, "Division.units", "must be from 0")
        known = np.bincount(self.units)
        need(bool((known > 0).all()), "Division.units", "must be numbered from 0")
        return int(known.size)

    def _check_shared(self, shared: tuple[Rows, Rows], number: int) -> None:
        need(type(shared) is tuple and len(shared) == 2, "Division.shared", "must be a pair")
        for part in shared:
            need_rows(part, "Division.shared", self.n_rows)
        # Marks instead of sorted numbers: their time is linear in the rows.
        train, validation = (_marked(part if self.units is None else self.units[part], number) for part in shared)
        sizes = (int(np.count_nonzero(train)), int(np.count_nonzero(validation)))
        need(sizes == (self.n_train, self.m), "Division.shared", "must have the sizes it says")
        need(bool((train != validation).all()), "Division.shared", "must divide all rows")
        if self.units is not None:
            whole = np.array_equal(np.flatnonzero(train[self.units]), shared[0])
            need(whole, "Division.shared", "must train with all rows of a unit")
            counted = np.array_equal(_counted_rows(self.units, np.flatnonzero(validation), self.unit), shared[1])
            need(counted, "Division.shared", "must count copies once, and all rows of a group")

    def __call__(self, i: int) -> tuple[Rows, Rows]:
        """Return the i-th classifier's training rows and validation rows, sorted."""
        if self.shared is not None:
            return self.shared
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
    shared = None
    if kind == "shared":
        order = generator(seed, Purpose.SHARED).permutation(n)
        shared = np.sort(order[m:]), np.sort(order[:m])
        if units is not None:
            shared = _all_rows(units, shared[0]), _counted_rows(units, shared[1], unit)
    return Division(kind, n_train, m, n_rows, seed, shared, unit, units)


def own_division(validation: BoolArray, seed: int, unit: str = EXAMPLE, units: Rows | None = None) -> Division:
    """Return the division that somebody made: rows validate where `validation` is true; all rows of a unit together.

    Examples
    --------
    >>> division = own_division(np.array([False, False, True, True, True]), seed=0)
    >>> division.n_train, division.m, division(0)[1]
    (2, 3, array([2, 3, 4]))
    """
    sides = [np.flatnonzero(side) for side in (~validation, validation)]
    numbers = sides
    if units is not None:
        marks = [_marked(units[side], int(units.max()) + 1) for side in sides]
        numbers, both = [np.flatnonzero(mark) for mark in marks], np.flatnonzero(marks[0] & marks[1])
        if both.size:
            what = "a group" if unit == GROUP else "an example and its copies"
            rows = np.flatnonzero(units == both[0])
            train, other = (int(rows[validation[rows] == side][0]) for side in (False, True))
            raise ValueError(
                f"validation must have all rows of {what} on one side, but {both.size} of {int(units.max()) + 1} are "
                f"on both, as rows {train} and {other}"
            )
        sides = [_all_rows(units, numbers[0]), _counted_rows(units, numbers[1], unit)]
    n_train, m = (part.size for part in numbers)
    if m < 2 or n_train < 2:
        counted = "groups" if unit == GROUP else "examples"
        raise ValueError(
            f"validation must leave at least two training and two validation {counted}, got {n_train} and {m}"
        )
    shared = (sides[0], sides[1])
    return Division("shared", n_train, m, validation.size, seed, shared, unit, units, own=True)


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
    counted = np.arange(n) if units is None else _counted_rows(units, np.arange(m), unit)
    return Division("shared", 0, m, n, 0, (np.arange(0), counted), unit, units)


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


def _marked(numbers: Rows, size: int) -> BoolArray:
    """Mask of a size, true where a number occurs."""
    mask = np.zeros(size, dtype=bool)
    mask[numbers] = True
    return mask


def _all_rows(units: Rows, numbers: Rows) -> Rows:
    """Return the rows of some units, sorted."""
    return np.flatnonzero(_marked(numbers, int(units.max()) + 1)[units])


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


def check_training_classes(division: Division, codes: Rows, classes: Labels, number: int) -> None:
    """Raise if the training sample of any of `number` classifiers has one class only, naming both."""
    for i in range(1 if division.shared is not None else number):
        train = codes[division(i)[0]]
        if (train == train[0]).all():
            whose = "the training sample" if division.shared is not None else f"the training sample of classifier {i}"
            raise ValueError(
                f"y must give every training sample at least two classes; all {train.size} rows of {whose} are of "
                f"class {classes.tolist()[train[0]]!r}"
            )


def copies_across(same: Rows, division: Division, number: int) -> int:
    """Return how many validation rows equal a training row in features and class: of all classifiers the most."""
    most = 0
    for i in range(1 if division.shared is not None else number):
        train, validation = division(i)
        trained = np.zeros(int(same.max()) + 1, dtype=bool)
        trained[same[train]] = True
        most = max(most, int(np.count_nonzero(trained[same[validation]])))
    return most


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
