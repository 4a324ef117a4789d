"""Which examples a classifier with a target answers, in numbers and words."""

from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Decimal
from math import isfinite
from typing import Any

from pacbayes.certificates.units import PLURAL, counted_once
from pacbayes.numeric.words import format_share, percent_down


@dataclass(frozen=True)
class Answered:
    """What became of a target for the errors among answered examples.

    Examples
    --------
    >>> passed = Answered(0.02, 0.75, 300, 273, 1, 12)
    >>> print(passed.claim("Surely,", "it"))
    Surely, it errs on at most 2.0 % of the examples that it answers; it answered 91.0 % of the validation rows.
    >>> print(Answered(0.02, None, 300, 0, 0, 1, 0.065).claim("Surely,", "the vote"))  # doctest: +NORMALIZE_WHITESPACE
    The vote answers no example: where the training rows expected at most 2.0 % errors, the validation rows did not
    confirm it. The smallest target that would have passed is 6.5 %, which is information and no guarantee.
    """

    #: The target.
    target: float
    #: An example is answered if its confidence is at least this (minus infinity: every one); None where nothing passed.
    threshold: float | None
    #: Validation rows.
    m: int
    #: Those of them that are answered.
    rows: int
    #: Errors among these.
    errors: int
    #: Thresholds that were tested.
    tested: int
    #: Where nothing passed: the smallest target, in steps of half a percent, that would have; without guarantee.
    smallest_target: float | None = None
    #: What was drawn, as in the certificate.
    unit: str = "example"

    @property
    def share(self) -> float:
        """The share of validation rows that are answered."""
        return self.rows / self.m

    @property
    def passed(self) -> bool:
        """Whether any example is answered."""
        return self.rows > 0

    @property
    def headline(self) -> str:
        """The outcome in the fewest words."""
        if not self.passed:
            return f"Answers nothing: {format_target(self.target)} was not reached"
        return f"At most {format_target(self.target)} errors among the {percent_down(self.share)} that it answers"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON.

        JSON has no infinity: where every example is answered the threshold is None, as where none is; see "passed".

        Examples
        --------
        >>> found = Answered(0.2, float("-inf"), 100, 100, 5, 3).to_dict()
        >>> found["threshold"], found["passed"], found["share"]
        (None, True, 1.0)
        """
        finite = self.threshold is not None and isfinite(self.threshold)
        own = {"threshold": self.threshold if finite else None, "passed": self.passed, "share": self.share}
        return asdict(self) | own

    def claim(self, sure: str, who: str) -> str:
        """Return the guarantee in words, after `sure`: with which probability; `who` is what it is about."""
        if self.passed:
            return (
                f"{sure} {who} errs on at most {format_target(self.target)} of the examples that it answers"
                f"{counted_once(self.unit)}; it answered {format_share(self.share)} of the validation "
                f"{PLURAL[self.unit]}."
            )
        said = (
            f"{who[0].upper()}{who[1:]} answers no example: where the training rows expected at most "
            f"{format_target(self.target)} errors, the validation rows did not confirm it."
        )
        if self.smallest_target is None:
            return said
        would = format_target(self.smallest_target)
        return f"{said} The smallest target that would have passed is {would}, which is information and no guarantee."

    @property
    def details(self) -> list[str]:
        """How it was found, in sentences."""
        if not self.passed:
            return [f"The threshold that the training rows put first did not pass; {self.tested} tested."]
        errors = f"{self.errors} {'error' if self.errors == 1 else 'errors'}"
        return [
            f"{errors} on {self.rows} answered of {self.m} validation {PLURAL[self.unit]}; of {self.tested} thresholds "
            "tested in an order fixed on the training rows, each at the whole of delta, the loosest that passed."
        ]


def format_target(target: float) -> str:
    """Return a target as a person wrote it: 0.02 is 2.0 %, not the double next to it.

    Examples
    --------
    >>> format_target(0.02), format_target(0.0125), format_target(0.3)
    ('2.0 %', '1.25 %', '30.0 %')
    """
    written = 100 * Decimal(repr(float(target)))
    tenths = written.quantize(Decimal("0.1"), rounding=ROUND_CEILING)
    return f"{tenths if tenths == written else written.normalize():f} %"
