"""What was asked of a fit beyond its bound, and what is refused because it is not proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pacbayes.certificates.questions.by_class import PartErrors, check_class_share
from pacbayes.certificates.questions.selective import ThresholdCounts, Thresholds, check_max_error
from pacbayes.numeric.arrays import Codes, FloatArray, Rows

#: Scores of classes for every training row, each from sets trained without it, given the weights of a set.
CrossScores = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked of a fit beyond its bound, and what the validation rows counted for it."""

    #: The share of every rule's level that its limits by class have.
    class_share: float = 0.0
    #: The values of the column of slices, in order.
    slices: tuple[Any, ...] = ()
    #: What that column is called, empty where nobody said.
    slice_column: str = ""
    #: The single classifier with the smallest Occam bound, and its errors by class.
    occam: tuple[int, PartErrors] | None = None
    #: The target for the errors among answered examples.
    max_error: float | None = None
    #: Thresholds of the confidence, and what cross-validation counted at each.
    thresholds: Thresholds | None = None
    #: By way of predicting, what the validation rows counted at each threshold, for the proposal.
    tested: dict[str, ThresholdCounts] = field(default_factory=dict)


@dataclass(frozen=True)
class Slices:
    """Values of the column of slices, and the number of every row's value among them."""

    names: tuple[Any, ...]
    codes: Codes
    #: What the column is called: the name of a pandas Series, empty for anything else.
    column: str = ""


def check_questions(class_share: Any, max_error: Any, hedge: float) -> None:
    """Raise for what is not proved, before any work; `hedge` is the share of delta as it is resolved."""
    share = check_class_share(class_share)
    target = None if max_error is None else check_max_error(max_error)
    if share > 0.0 and hedge == 1.0:
        raise ValueError(
            f"class_share must be 0 where hedge is 1, got {class_share!r}: of a posterior that the validation rows "
            "choose no limits by class are proved"
        )
    if target is not None and hedge == 1.0:
        raise ValueError(
            f"max_error needs a rule that the training rows propose, which hedge=1, cv=None and splits "
            f"'independent' and 'out-of-bag' leave out; got max_error={max_error!r}"
        )
    if target is not None and share > 0.0:
        raise ValueError("class_share must be 0 where max_error is given: the target is tested at the whole of delta")


def check_slices(slices: Any, number: int, class_share: float, groups: Any, max_error: Any) -> Slices | None:
    """Return the slices of so many rows, or raise for those that would get no limits."""
    if groups is not None and (class_share > 0.0 or max_error is not None):
        asked = "class_share" if class_share > 0.0 else "max_error"
        raise ValueError(f"{asked} is not for groups: their rows are not independent, and no such limit is proved")
    if slices is None:
        return None
    if class_share == 0.0:
        raise ValueError("slices need a share of delta for their limits: set class_share, to 0.2 for one")
    values = np.asarray(slices)
    if values.shape != (number,):
        raise ValueError(f"slices must name one slice for each of {number} rows, got shape {values.shape}")
    if values.dtype.kind in "mM":  # moments and durations, as text
        unknown = np.isnat(values)
        values = values.astype(str).astype(object)
        values[unknown] = None
    if values.dtype == object:
        values = np.array([one.item() if isinstance(one, np.generic) else one for one in values], dtype=object)
    # Not a number, no time, pandas' NA: none of them equals itself.
    missing = [row for row, one in enumerate(values.tolist()) if one is None or not _is_itself(one)]
    if missing:
        raise ValueError(f"slices must have a value for every row, got none for row {missing[0]}")
    kinds = set(map(type, values.tolist())) - {str, int, float, bool}
    if kinds:
        raise ValueError(f"slices must be numbers or text, got {', '.join(sorted(kind.__name__ for kind in kinds))}")
    try:
        names, codes = np.unique(values, return_inverse=True)
    except TypeError:
        raise ValueError("slices must be of one kind, numbers or text, got a mixture") from None
    column = getattr(slices, "name", None)
    return Slices(tuple(names.tolist()), codes.reshape(-1), "" if column is None else str(column))


def check_copies(slices: Slices, copies: Rows | None) -> None:
    """Raise if rows that are one example, by their numbers, have different slices: then it has none."""
    if copies is None:
        return
    of_first = np.zeros(int(copies.max()) + 1, dtype=np.intp)
    of_first[copies[::-1]] = slices.codes[::-1]
    different = np.flatnonzero(slices.codes != of_first[copies])
    if different.size:
        row = int(different[0])
        first = int(np.argmax(copies == copies[row]))
        one, other = (slices.names[slices.codes[place]] for place in (first, row))
        raise ValueError(
            f"slices must be the same for copies of one example (duplicates='together'), got {one!r} for row {first} "
            f"and {other!r} for row {row}"
        )


def _is_itself(value: Any) -> bool:
    try:
        return bool(value == value)
    except TypeError:  # NA says neither
        return False
