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
from pacbayes.certificates.levels import part_level
from pacbayes.classifiers.evidence import Evidence
from pacbayes.numeric.checks import check_number
from pacbayes.numeric.words import PLURAL, counted_once, percent_up

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


def part_limits(
    wrong: NDArray[np.bool_],
    evidence: Evidence,
    slices: Sequence[Any],
    level: float,
    share: float,
    column: str = "",
    unit: str = "example",
) -> tuple[PartLimit, ...]:
    """Return the limits of all classes and slices, of a column of that name, for a rule whose whole level is `level`.

    `wrong` says which validation rows the rule gets wrong.

    Examples
    --------
    >>> truth = np.repeat(np.array([0, 1], dtype=np.uint8), [60, 40])
    >>> evidence = Evidence(np.array(["healthy", "ill"]), 2, truth[None], truth)
    >>> for limit in part_limits(np.isin(np.arange(100), [1, 2, 3, 70, 80]), evidence, [], 0.05, 0.2):
    ...     print(limit)
    class 'healthy' (false positives): errs on at most 17.2 % of it; 3 errors on 60 validation rows
    class 'ill' (false negatives): errs on at most 21.2 % of it; 2 errors on 40 validation rows
    """
    classes = evidence.classes
    kinds = 2 if slices else 1
    by_class, by_slice = (part_level(level, share, kinds * max(len(names), 1)) for names in (classes, slices))
    also = ("false positives", "false negatives") if len(classes) == 2 else ("",) * len(classes)
    names = [
        *((CLASS, name, said, "", by_class) for name, said in zip(classes, also, strict=True)),
        *((SLICE, name, "", column, by_slice) for name in slices),
    ]
    parts: list[tuple[NDArray[Any], int]] = [(evidence.truth, len(classes))]
    if slices:
        assert evidence.slices is not None
        parts.append((evidence.slices, len(slices)))
    counts = [
        count
        for values, number in parts
        for count in zip(
            np.bincount(values, minlength=number).tolist(),
            np.bincount(values[wrong], minlength=number).tolist(),
            strict=True,
        )
    ]
    return tuple(
        PartLimit(kind, _plain(name), rows, errors, _limit(errors, rows, own), said, of, unit)
        for (kind, name, said, of, own), (rows, errors) in zip(names, counts, strict=True)
    )


def _limit(errors: int, rows: int, level: float) -> float:
    return 1.0 if rows == 0 else float(binomial_upper(errors, rows, level))


def _plain(name: Any) -> Any:
    """Return a name as a plain Python value, ready for JSON."""
    return name.item() if isinstance(name, np.generic) else name
