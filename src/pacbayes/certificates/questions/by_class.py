r"""Limits of a rule's errors class by class, or in slices of the rows, that hold at once although the rule was chosen.

Given the labels of the validation rows, the errors of a fixed rule among the :math:`m_c` rows of class c are binomial
with :math:`m_c` and the rule's risk in that class; given their slices, so are those in a slice.  A rule with the level
`l` has its main bound at :math:`(1 - \text{share})\, l` and each of its `C` limits by class at
:math:`\text{share}\, l / C`; with `S` slices each kind has half of that, :math:`\text{share}\, l / (2C)` and
:math:`\text{share}\, l / (2S)`.  Over all rules these levels sum to at most :math:`\delta`, equation (by-class) of
docs/mathematics.md.  The halves are there because `S` comes from the rows: a level of class limits that depended on it
would be random, and related to the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.units import PLURAL, counted_once
from pacbayes.numeric.arrays import Codes
from pacbayes.numeric.checks import check_number
from pacbayes.numeric.rounding import round_down
from pacbayes.numeric.words import percent_up

#: What `--by-class` sets: the main bound is then at four fifths of delta.
USUAL_SHARE = 0.2
#: What a limit is about.
CLASS, SLICE = "class", "slice"
# Characters of a name in a sentence.
_LONGEST = 40


@dataclass(frozen=True)
class PartLimit:
    """The errors of a rule among the validation rows of one class, or one slice, and their upper limit.

    Examples
    --------
    >>> print(PartLimit("class", "ill", 40, 2, 0.1899, "false negatives"))
    class 'ill' (false negatives): errs on at most 19.0 % of it; 2 errors on 40 validation rows
    """

    #: "class": rows whose true class it is; "slice": rows with that value in the column of slices.
    kind: str
    #: The class, or the value.
    name: Any
    #: Its validation rows.
    rows: int
    #: The errors among them.
    errors: int
    #: The rule errs on at most this share of such examples; rounded up, 1 where there are no rows.
    bound: float
    #: With two classes "false positives" (of the first) or "false negatives" (of the second); else empty.
    also: str = ""
    #: What the column of slices is called; empty for a class, and where nobody named it.
    column: str = ""
    #: What was drawn, as in the certificate.
    unit: str = "example"

    def __str__(self) -> str:
        also = f" ({self.also})" if self.also else ""
        errors = f"{self.errors} {'error' if self.errors == 1 else 'errors'}"
        return (
            f"{self.label}{also}: errs on at most {percent_up(self.bound)} of it{counted_once(self.unit)}; {errors} on "
            f"{self.rows} validation {PLURAL[self.unit]}"
        )

    @property
    def label(self) -> str:
        """Which examples it is about, as they are called in a sentence.

        Examples
        --------
        >>> PartLimit("slice", "yes", 40, 2, 0.1899, column="black").label, PartLimit("slice", "yes", 40, 2, 0.2).label
        ("black = 'yes'", "slice 'yes'")
        """
        return f"{self.column} = {self.shown}" if self.column else f"{self.kind} {self.shown}"

    @property
    def shown(self) -> str:
        """The class or value as it is written in a sentence."""
        text = repr(self.name)
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


@dataclass(frozen=True, eq=False)
class PartErrors:
    """The errors of one rule in every class and slice, and the rows of each: what limits are computed from."""

    #: Rows of every class, then of every slice.
    rows: Codes
    #: The rule's errors among them.
    errors: Codes


def check_class_share(share: Any) -> float:
    """Return the share of a rule's level that its class limits have, or raise unless it lies in [0, 1).

    Examples
    --------
    >>> check_class_share(0)
    0.0
    >>> check_class_share(1)
    Traceback (most recent call last):
    ValueError: class_share must lie in [0, 1), got 1
    """
    found = check_number("class_share", share, "a number from 0 to 1")
    if not 0.0 <= found < 1.0:
        raise ValueError(f"class_share must lie in [0, 1), got {share!r}")
    return found


def main_level(level: float, share: float) -> float:
    """Return (1 - share) times a level, rounded down: with all that `part_level` hands out it is at most the level.

    Examples
    --------
    >>> main_level(0.05, 0.0), main_level(0.05, 0.2) <= 0.04
    (0.05, True)
    """
    return level if share == 0.0 else max(round_down((1.0 - share) * level), 0.0)


def part_level(level: float, share: float, number: int) -> float:
    """Return share times a level over the number of limits, rounded down.

    Examples
    --------
    >>> part_level(0.05, 0.2, 2) <= 0.005
    True
    """
    return max(round_down(share * level / number, 8.0), 0.0)


def count_parts(wrong: NDArray[np.bool_], codes: Codes, n_classes: int, slices: Codes, n_slices: int) -> PartErrors:
    """Count the rows, and a rule's errors, in every class and slice of the validation rows.

    `codes` and `slices` are the numbers of each row's true class and slice; without slices `n_slices` is 0.

    Examples
    --------
    >>> found = count_parts(np.array([True, False, True]), np.array([0, 1, 1]), 2, np.array([0, 0, 1]), 2)
    >>> found.rows, found.errors
    (array([1, 2, 2, 1]), array([1, 1, 1, 1]))
    """
    kinds = [(codes, n_classes), (slices, n_slices)]
    rows = [np.bincount(values, minlength=number) for values, number in kinds if number]
    errors = [np.bincount(values[wrong], minlength=number) for values, number in kinds if number]
    return PartErrors(np.concatenate(rows), np.concatenate(errors))


def part_limits(
    counted: PartErrors, classes: Sequence[Any], slices: Sequence[Any], level: float, share: float, column: str = ""
) -> tuple[PartLimit, ...]:
    """Return the limits of all classes and slices, of a column of that name, for a rule whose whole level is `level`.

    Examples
    --------
    >>> counted = PartErrors(np.array([60, 40]), np.array([3, 2]))
    >>> for limit in part_limits(counted, ["healthy", "ill"], [], 0.05, 0.2):
    ...     print(limit)
    class 'healthy' (false positives): errs on at most 17.2 % of it; 3 errors on 60 validation rows
    class 'ill' (false negatives): errs on at most 21.2 % of it; 2 errors on 40 validation rows
    """
    kinds = 2 if slices else 1
    by_class, by_slice = (part_level(level, share, kinds * max(len(names), 1)) for names in (classes, slices))
    also = ("false positives", "false negatives") if len(classes) == 2 else ("",) * len(classes)
    names = [
        *((CLASS, name, said, "", by_class) for name, said in zip(classes, also, strict=True)),
        *((SLICE, name, "", column, by_slice) for name in slices),
    ]
    return tuple(
        PartLimit(kind, _plain(name), int(rows), int(errors), _limit(int(errors), int(rows), own), said, of)
        for (kind, name, said, of, own), rows, errors in zip(names, counted.rows, counted.errors, strict=True)
    )


def _limit(errors: int, rows: int, level: float) -> float:
    return 1.0 if rows == 0 else float(binomial_upper(errors, rows, level))


def _plain(name: Any) -> Any:
    """Return a name as a plain Python value, ready for JSON."""
    return name.item() if isinstance(name, np.generic) else name
