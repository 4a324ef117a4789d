"""What a forest must be like so that its out-of-bag rows are validation rows, and what comes of growing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier

from pacbayes.classifiers.packed_errors import Bits

FORESTS = (RandomForestClassifier, ExtraTreesClassifier)


@dataclass(frozen=True, eq=False)
class Grown:
    """The fitted classifiers of a forest, with the rows in the bag of each and those out of it that it gets wrong."""

    estimators: list[Any]
    #: Packed bits, shape (H, ceil(N / 8)).
    bags: Bits
    wrong: Bits
    #: The rows drawn for each bag.
    draws: int


def check_bagged(forest: Any) -> None:
    """Raise unless a forest draws bags of rows without looking at labels, and leaves some out.

    Examples
    --------
    >>> check_bagged(ExtraTreesClassifier())
    Traceback (most recent call last):
    ValueError: forest must have bootstrap=True, so that each tree leaves rows out; got ExtraTreesClassifier()
    """
    # Subclasses may draw as they like: imbalanced-learn's forests look at the labels.
    if type(forest) not in (*FORESTS, BaggingClassifier):
        raise TypeError(
            "forest must be a RandomForestClassifier, an ExtraTreesClassifier or a BaggingClassifier itself, no "
            f"subclass and no pipeline around it, got {type(forest).__name__}; what prepares rows belongs inside: "
            "BaggingClassifier(make_pipeline(...))"
        )
    if forest.warm_start:
        raise ValueError("forest must have warm_start=False: classifiers of an earlier fit may have seen other rows")
    if type(forest) is BaggingClassifier:
        if forest.max_features != 1.0 or forest.bootstrap_features:
            raise ValueError(
                "forest must give every classifier all columns (max_features=1.0, bootstrap_features=False), got "
                f"max_features={forest.max_features!r}, bootstrap_features={forest.bootstrap_features!r}"
            )
        return
    if not forest.bootstrap:
        raise ValueError(f"forest must have bootstrap=True, so that each tree leaves rows out; got {forest!r}")
    if forest.class_weight is not None:
        raise ValueError(
            f"forest must have class_weight=None, got {forest.class_weight!r}: weights of classes let labels decide "
            "which rows are drawn, and out-of-bag rows are then no fair sample"
        )


def packed_bag(rows: NDArray[Any], n_rows: int) -> Bits:
    """Return which of so many rows were drawn at least once, packed.

    Examples
    --------
    >>> np.unpackbits(packed_bag(np.array([2, 0, 2]), 4), count=4)
    array([1, 0, 1, 0], dtype=uint8)
    """
    inside = np.zeros(n_rows, dtype=bool)
    inside[rows] = True
    return np.packbits(inside)


def packed_wrong(wrong: NDArray[np.bool_], outside: NDArray[Any], n_rows: int) -> Bits:
    """Return errors on the rows out of a bag as bits over all rows."""
    line = np.zeros(n_rows, dtype=bool)
    line[outside] = wrong
    return np.packbits(line)


def rows_outside(bag: Bits, n_rows: int) -> NDArray[np.intp]:
    """Return the rows that a bag leaves out.

    Examples
    --------
    >>> rows_outside(packed_bag(np.array([2, 0, 2]), 4), 4)
    array([1, 3])
    """
    return np.flatnonzero(np.unpackbits(bag, count=n_rows) == 0)
