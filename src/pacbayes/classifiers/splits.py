"""Which rows train, which measure the risk, which are put aside: one split for all classifiers, or one for each."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit

from pacbayes.bounds.validation import check_choice
from pacbayes.classifiers.seeds import generator

Rows = NDArray[np.int64]
SPLITS = ("shared", "independent")
# Purposes of random numbers, see `seeds.generator`.
TEST, SHARED, INDEPENDENT = 0, 1, 2


@dataclass(frozen=True)
class Splits:
    """Rows of every classifier; what belongs to the i-th depends on the seed and i only.

    Attributes
    ----------
    kind : {"shared", "independent"}
    n_train, m : int
        Sizes of each classifier's training and validation sample.
    test : ndarray
        Rows put aside first, sorted; no classifier sees them.
    stratified : bool
        Whether rows were divided by their labels.  Then one part tells the class counts of the other, the two are not
        independent, and no certificate that rests on them is valid.
    """

    kind: str
    n_train: int
    m: int
    test: Rows
    rest: Rows
    seed: int
    shared: tuple[Rows, Rows] | None
    stratified: bool

    def __call__(self, i: int) -> tuple[Rows, Rows]:
        """Return the i-th classifier's training rows and validation rows, sorted."""
        if self.shared is not None:
            return self.shared
        order = generator(self.seed, INDEPENDENT, i).permutation(self.rest.size)
        validation, train = order[: self.m], order[self.m :]
        return np.sort(self.rest[train]), np.sort(self.rest[validation])


def plan_splits(codes: Rows, *, kind: str, validation_size: Any, test_size: Any, stratify: bool, seed: int) -> Splits:
    """Return the splits of rows with class numbers `codes`.

    A fraction of the validation sample is rounded down, one of the test sample up (as in scikit-learn).  Stratified are
    the test sample and the shared split, where every class has two rows; independent splits are not.

    Examples
    --------
    >>> codes = np.array([0, 1] * 10)
    >>> splits = plan_splits(codes, kind="shared", validation_size=0.5, test_size=4, stratify=True, seed=0)
    >>> splits.test.size, splits.n_train, splits.m
    (4, 8, 8)
    >>> train, validation = splits(0)
    >>> int(codes[train].sum()), int(codes[validation].sum()), splits.stratified
    (4, 4, True)
    """
    check_choice("split", kind, SPLITS)
    n = codes.size
    n_test = 0 if test_size is None else part_size("test", test_size, n, math.ceil)
    if n_test < 1 and test_size is not None:
        raise ValueError(f"test must leave at least one test example, got {test_size!r} of {n} rows")
    m = part_size("validation_size", validation_size, n - n_test, math.floor)
    n_train = n - n_test - m
    if m < 2 or n_train < 2:
        raise ValueError(
            f"validation_size must leave at least two training and two validation examples, got {validation_size!r} "
            f"of {n - n_test} rows: {max(n_train, 0)} and {m}"
        )
    (rest, test), by_label = _divide(np.arange(n), codes, n_test, stratify, generator(seed, TEST))
    shared = None
    if kind == "shared":
        shared, again = _divide(rest, codes, m, stratify, generator(seed, SHARED))
        by_label |= again
    return Splits(kind, n_train, m, test, rest, seed, shared, by_label)


def part_size(name: str, size: Any, n: int, rounding: Any) -> int:
    """Return the number of rows a fraction or count stands for.

    Examples
    --------
    >>> part_size("validation_size", 0.5, 455, math.floor)
    227
    """
    if isinstance(size, bool | np.bool_):
        raise TypeError(f"{name} must be a fraction or a number of rows, got {size!r}")
    if isinstance(size, int | np.integer):
        if not 1 <= size < n:
            raise ValueError(f"{name} must be between 1 and {n - 1} rows, got {size}")
        return int(size)
    if isinstance(size, float | np.floating):
        if not 0.0 < size < 1.0:
            raise ValueError(f"{name} as a fraction must lie strictly between 0 and 1, got {size}")
        # A product such as 0.29 * 100 = 28.999999999999996 means 29.
        return int(rounding(round(size * n, 9)))
    raise TypeError(f"{name} must be a fraction or a number of rows, got {size!r}")


def _divide(
    rows: Rows, codes: Rows, n_second: int, stratify: bool, rng: np.random.Generator
) -> tuple[tuple[Rows, Rows], bool]:
    """Divide rows into two sorted parts, the second of `n_second` rows, and say whether that was done by label.

    It is done so where `stratify` asks for it and it is possible.
    """
    if n_second == 0:
        return (rows, rows[:0]), False
    counts = np.bincount(codes[rows])
    counts = counts[counts > 0]
    by_label = bool(stratify and counts.min() >= 2 and min(n_second, rows.size - n_second) >= counts.size)
    if by_label:
        # scikit-learn takes no Generator: a number drawn from it seeds its own.
        splitter = StratifiedShuffleSplit(1, test_size=n_second, random_state=int(rng.integers(2**32)))
        first, second = next(splitter.split(np.empty((rows.size, 0)), codes[rows]))
    else:
        order = rng.permutation(rows.size)
        second, first = order[:n_second], order[n_second:]
    return (np.sort(rows[first]), np.sort(rows[second])), by_label


def check_training_classes(splits: Splits, codes: Rows, classes: NDArray[np.generic], number: int) -> None:
    """Raise if the training sample of any of `number` classifiers has one class only, naming both."""
    for i in range(1 if splits.shared is not None else number):
        train = codes[splits(i)[0]]
        if (train == train[0]).all():
            whose = "the training sample" if splits.shared is not None else f"the training sample of classifier {i}"
            raise ValueError(
                f"y must give every training sample at least two classes; all {train.size} rows of {whose} are of "
                f"class {classes[train[0]].item()!r}"
            )
