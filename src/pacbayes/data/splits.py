"""Which rows train, which measure the risk, which are put aside: one split for all classifiers, or one for each."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.numeric.arrays import Rows
from pacbayes.numeric.checks import check_choice
from pacbayes.runtime.seeds import generator

SPLITS = ("shared", "independent")
# The division of a forest: every classifier is validated by the rows that its bag left out.
OUT_OF_BAG = "out-of-bag"
# What is drawn, divided and counted: every row for itself, rows that are equal in features and class as one, or groups.
EXAMPLE, DISTINCT, GROUP = "example", "distinct example", "group"
# Purposes of random numbers, see `seeds.generator`.
TEST, SHARED, INDEPENDENT = 0, 1, 2


@dataclass(frozen=True)
class Splits:
    """Rows of every classifier; what belongs to the i-th depends on the seed and i only.

    Attributes
    ----------
    kind : {"shared", "independent", "out-of-bag"}
    n_train, m : int
        Sizes of each classifier's training and validation sample, in units; out of bag the rows drawn for each bag, and
        the least number of rows that one leaves out.  No training rows where the classifiers were trained elsewhere.
    test : ndarray
        Rows put aside first, sorted; no classifier sees them.
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
    test: Rows
    rest: Rows
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
            inside = np.unpackbits(self.bags[i], count=self.rest.size).view(np.bool_)
            return np.flatnonzero(inside), np.flatnonzero(~inside)
        order = generator(self.seed, INDEPENDENT, i).permutation(self.n_train + self.m)
        validation, train = order[: self.m], order[self.m :]
        if self.units is None:
            return np.sort(self.rest[train]), np.sort(self.rest[validation])
        numbers = np.unique(self.units[self.rest])
        return _all_rows(self.units, numbers[train]), _counted_rows(self.units, numbers[validation], self.unit)

    @property
    def trained_elsewhere(self) -> bool:
        """Whether all rows validate: the classifiers were trained before, on rows that are not here."""
        return self.n_train == 0

    @property
    def n_rows(self) -> int:
        """The rows that were divided, those of the test sample and copies included."""
        return self.rest.size + self.test.size if self.units is None else self.units.size

    def m_test(self, n_rows: int) -> int:
        """Return the units of the test sample; where none was put aside, of one from elsewhere with so many rows."""
        if self.test.size == 0:
            return n_rows
        return self.test.size if self.units is None else np.unique(self.units[self.test]).size

    def test_kinds(self, n_rows: int) -> Rows:
        """Return the kind of every row of that test sample; those from elsewhere are of one kind."""
        return self.kinds(self.test) if self.test.size else np.zeros(n_rows, dtype=np.int64)

    @property
    def most_rows(self) -> tuple[int, int]:
        """No classifier has more training rows, and more validation rows, than these."""
        if self.shared is not None:
            return self.shared[0].size, self.shared[1].size
        if self.bags is not None:
            return self.rest.size, self.rest.size
        return self.rest.size - self.m, self.rest.size - self.n_train

    @property
    def sizes_each(self) -> Rows | None:
        """The number of validation rows of each classifier out of bag; None where all have `m`."""
        return None if self.bags is None else _rows_left_out(self.bags, self.rest.size)

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
    test_size: Any,
    seed: int,
    unit: str = EXAMPLE,
    units: Rows | None = None,
) -> Splits:
    """Return the splits of so many rows, and of the units they belong to, whatever their classes are.

    A stratified division would tell, in its training part, the class counts of its validation part: the two would not
    be independent, as every certificate assumes.  A fraction of the validation sample is rounded down, one of the test
    sample up (as in scikit-learn).  Sizes are in units: with groups, shares or numbers of groups.

    Examples
    --------
    >>> splits = plan_splits(20, kind="shared", validation_size=0.5, test_size=4, seed=0)
    >>> splits.test.size, splits.n_train, splits.m
    (4, 8, 8)
    """
    check_choice("split", kind, SPLITS)
    n = n_rows if units is None else int(units.max()) + 1
    what = {EXAMPLE: "rows", DISTINCT: "distinct rows", GROUP: "groups"}[unit]
    counted = "groups" if unit == GROUP else "examples"
    n_test = 0 if test_size is None else part_size("test", test_size, n, math.ceil, what)
    if n_test < 1 and test_size is not None:
        raise ValueError(f"test must leave at least one test example, got {test_size!r} of {n} {what}")
    m = part_size("validation_size", validation_size, n - n_test, math.floor, what)
    n_train = n - n_test - m
    if m < 2 or n_train < 2:
        raise ValueError(
            f"validation_size must leave at least two training and two validation {counted}, got "
            f"{validation_size!r} of {n - n_test} {what}: {max(n_train, 0)} and {m}"
        )
    rest, test = _divide(np.arange(n), n_test, generator(seed, TEST))
    shared = _divide(rest, m, generator(seed, SHARED)) if kind == "shared" else None
    if units is not None:
        rest, test = _all_rows(units, rest), _counted_rows(units, test, unit)
        if shared is not None:
            shared = _all_rows(units, shared[0]), _counted_rows(units, shared[1], unit)
    return Splits(kind, n_train, m, test, rest, seed, shared, unit, units)


def validating_splits(n: int, unit: str = EXAMPLE, units: Rows | None = None) -> Splits:
    """Return the splits of `n` rows that all validate, for classifiers that were trained on others.

    Examples
    --------
    >>> splits = validating_splits(5, DISTINCT, np.array([0, 1, 0, 2, 1]))
    >>> splits.trained_elsewhere, splits.m, splits(0)[1]
    (True, 3, array([0, 1, 3]))
    """
    rest, none = np.arange(n), np.arange(0)
    m = n if units is None else int(units.max()) + 1
    counted = rest if units is None else _counted_rows(units, np.arange(m), unit)
    return Splits("shared", 0, m, none, rest, 0, (none, counted), unit, units)


def out_of_bag_splits(bags: NDArray[np.uint8], n_rows: int, draws: int, seed: int) -> Splits:
    """Return the division of a forest's rows from the packed bags of its classifiers.

    Examples
    --------
    >>> splits = out_of_bag_splits(np.packbits([[1, 0, 1, 0], [1, 1, 1, 0]], axis=1), 4, 4, seed=0)
    >>> splits(0)[1], splits(1)[1], splits.m, splits.sizes_each
    (array([1, 3]), array([3]), 1, array([2, 1]))
    """
    everything, none = np.arange(n_rows), np.arange(0)
    least = int(_rows_left_out(bags, n_rows).min())
    return Splits(OUT_OF_BAG, draws, least, none, everything, seed, None, bags=bags)


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


def part_size(name: str, size: Any, n: int, rounding: Any, what: str = "rows") -> int:
    """Return the number of rows, or groups, a fraction or count stands for.

    Examples
    --------
    >>> part_size("validation_size", 0.5, 455, math.floor)
    227
    """
    if isinstance(size, bool | np.bool_):
        raise TypeError(f"{name} must be a fraction or a number of {what}, got {size!r}")
    if isinstance(size, int | np.integer):
        if not 1 <= size < n:
            raise ValueError(f"{name} must be between 1 and {n - 1} {what}, got {size}")
        return int(size)
    if isinstance(size, float | np.floating):
        if not 0.0 < size < 1.0:
            raise ValueError(f"{name} as a fraction must lie strictly between 0 and 1, got {size}")
        # A product such as 0.29 * 100 = 28.999999999999996 means 29.
        return int(rounding(round(size * n, 9)))
    raise TypeError(f"{name} must be a fraction or a number of {what}, got {size!r}")


def _divide(rows: Rows, n_second: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Divide rows into two sorted parts, the second of `n_second` rows."""
    if n_second == 0:
        return rows, rows[:0]
    order = rng.permutation(rows.size)
    return np.sort(rows[order[n_second:]]), np.sort(rows[order[:n_second]])


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
