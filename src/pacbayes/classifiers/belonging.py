"""Which rows belong together: those of a group the user names, or rows equal in features and class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.bounds.validation import check_choice
from pacbayes.classifiers.copies import copies_across, same_examples, warn_of_copies
from pacbayes.classifiers.group_errors import check_groups
from pacbayes.classifiers.splits import DISTINCT, EXAMPLE, GROUP, Splits

Rows = NDArray[np.int64]
DUPLICATES = ("keep", "together")


def check_duplicates(duplicates: Any, groups: Any) -> None:
    """Raise for a wrong choice, or one that nothing is proved for."""
    check_choice("duplicates", duplicates, DUPLICATES)
    if groups is not None and duplicates == "together":
        raise ValueError(
            "duplicates must be 'keep' with groups: equal rows of different groups cannot be one draw, and a group is "
            "counted once, whatever copies it holds"
        )


def check_test_groups(given: bool, groups: Any) -> None:
    """Raise for test rows from elsewhere beside groups: theirs are not known."""
    if given and groups is not None:
        raise ValueError(
            "test must be None, a share or a number of groups where groups are given: those of other rows are not known"
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
        found = copies_across(self.same, splits, number)
        warn_of_copies(X, codes, self.same, found, self.units if self.unit == GROUP else None)
        return found


def belonging(X: Any, codes: Rows, groups: Any, duplicates: str) -> Belonging:
    """Return which rows belong together, by `groups` and `duplicates`.

    Examples
    --------
    >>> X, codes = [[1.0], [2.0], [1.0]], np.array([0, 0, 0])
    >>> belonging(X, codes, None, "keep").units is None, belonging(X, codes, None, "together").units
    (True, array([0, 1, 0]))
    >>> belonging(X, codes, ["a", "b", "b"], "keep").units
    array([0, 1, 1])
    """
    check_duplicates(duplicates, groups)
    numbers = None if groups is None else check_groups(groups, codes.size)
    same = same_examples(X, codes)
    if numbers is not None:
        return Belonging(GROUP, numbers, same)
    if duplicates == "keep":
        return Belonging(EXAMPLE, None, same)
    if same is None:
        raise TypeError("duplicates='together' needs rows of numbers, texts and the like, which can be compared")
    return Belonging(DISTINCT, same, same)
