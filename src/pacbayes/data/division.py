"""From checked rows and labels to their division: what the user chose, and what `svm_set` and `grid_set` make of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pacbayes.data.belonging import belonging, check_duplicates
from pacbayes.data.splits import SPLITS, Splits, check_training_classes, plan_splits
from pacbayes.numeric.arrays import Labels, Rows
from pacbayes.numeric.checks import check_choice


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
