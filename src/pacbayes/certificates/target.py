r"""Answering only where sure: thresholds of a confidence, tested one after the other against a target.

A score of confidence, and thresholds in an order, are fixed on the training rows.  Of the validation rows :math:`a_t`
have at least the score `t`, and :math:`k_t` of these are wrong: given :math:`a_t` binomial with the risk among
answered rows.  "The risk is above the target" is rejected if so few errors have a probability of at most
:math:`\delta` at the target.  The thresholds are tested in their order, each at the whole of :math:`\delta`, up to the
first that does not pass: with probability :math:`1 - \delta` every threshold that passed keeps the target, equation
(fixed-sequence) of docs/mathematics.md.
"""

from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Decimal
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrik, betaincinv

from pacbayes._utils.arrays import Codes, FloatArray, usual_float_errors
from pacbayes._utils.checks import check_number, need, need_array
from pacbayes._utils.words import PLURAL, counted_once, format_share, percent_down
from pacbayes.bounds.binomial import binomial_upper


@dataclass(frozen=True)
class Answered:
    """What became of a target for the errors among answered examples.

    See Also
    --------
    pacbayes.Abstain : The target.
    pacbayes.Certificate : Has this as `answered`.

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
        return [
            f"Of {self.tested} thresholds tested in an order fixed on the training rows, each at the whole of delta, "
            "it is the loosest that passed."
        ]

    @property
    def observed(self) -> str:
        """What the validation rows showed, in a sentence; empty where nothing is answered."""
        return f"It erred on {self.errors} of the {self.rows} that it answered." if self.passed else ""


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


#: Scores are rounded to multiples of this: where sums of the same numbers differ in their last bits, scores do not.
GRID = 2.0**-20
# Thresholds: one for every so many hundredths of the training rows that are answered.
_STEPS = 100
# By how many standard deviations more, or fewer, rows may be answered than expected, where a start is chosen; and at
# which quantiles a share of errors is looked at that cross-validation leaves uncertain.
_LUCK = (-1.2, 0.0, 1.2)
_QUANTILES = (np.arange(15) + 0.5) / 15
# Targets that are tried where none passed, to be named as information.
_OTHER_TARGETS = (np.arange(1, 200) / 200).tolist()


def on_grid(scores: FloatArray) -> FloatArray:
    """Return scores rounded to the grid.

    Examples
    --------
    >>> bool(on_grid(np.array([0.1 + 0.2]))[0] == on_grid(np.array([0.3]))[0])
    True
    """
    return np.asarray(np.rint(scores / GRID) * GRID)


def confidence(scores: FloatArray, codes: NDArray[Any]) -> FloatArray:
    """Return the scores of the labels that a rule says, on the grid; minus infinity where there is none.

    There is none for a label that is no class, nor for a class that no training row has: such rows are answered only
    where every row is.

    Examples
    --------
    >>> confidence(np.array([[0.5, -0.5], [-1.0, 1.0], [0.0, 0.0], [np.nan, 1.0]]), np.array([0, 0, 2, 0]))
    array([ 0.5, -1. , -inf, -inf])
    """
    known = codes < scores.shape[1]
    found = np.full(codes.size, -np.inf)
    found[known] = on_grid(scores[np.flatnonzero(known), codes[known]])
    return np.where(np.isnan(found), -np.inf, found)


def check_max_error(target: Any) -> float:
    """Return a target for the errors among answered rows, or raise unless it lies strictly between 0 and 1.

    Examples
    --------
    >>> check_max_error(0.02)
    0.02
    >>> check_max_error(2)
    Traceback (most recent call last):
    ValueError: max_error must lie strictly between 0 and 1 (a share, such as 0.02), got 2
    """
    found = check_number("max_error", target, "a number between 0 and 1, or None")
    if not 0.0 < found < 1.0:
        raise ValueError(f"max_error must lie strictly between 0 and 1 (a share, such as 0.02), got {target!r}")
    return found


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Thresholds of a score from the strictest to the loosest, and what cross-validation counted at each.

    Examples
    --------
    >>> scores, wrong = np.linspace(0.0, 1.0, 200), np.arange(200) < 30
    >>> found = Thresholds.from_scores(scores, wrong)
    >>> found.values.size, int(found.answered[-1]), int(found.wrong[-1]), int(found.wrong[49])
    (100, 200, 30, 0)
    >>> start = found.order(200, 0.05, 0.05)[0]
    >>> int(found.answered[start]), int(found.wrong[start])
    (160, 0)
    """

    #: Descending, shape (T,); the last is minus infinity: every row is answered.
    values: FloatArray
    #: Training rows with at least that score in cross-validation, shape (T,).
    answered: Codes
    #: Those of them that were wrong.
    wrong: Codes

    def __post_init__(self) -> None:
        """Raise unless values fall to minus infinity, and counts grow with them."""
        need_array(self.values, "Thresholds.values", "f", (None,), finite=False)
        need(self.values.size <= _STEPS, "Thresholds.values", f"must be at most {_STEPS}")
        falls = self.values.size > 0 and bool((self.values[1:] < self.values[:-1]).all())
        need(falls and self.values[-1] == -np.inf, "Thresholds.values", "must fall to -inf")
        for counts in (self.answered, self.wrong):
            need_array(counts, "Thresholds", "i", self.values.shape)
            grows = bool((counts >= 0).all() and (np.diff(counts) >= 0).all())
            need(grows, "Thresholds", "must be counts that do not fall as thresholds do")
        need(bool((self.wrong <= self.answered).all()), "Thresholds.wrong", "must be among answered ones")

    @classmethod
    def from_scores(cls, scores: FloatArray, wrong: NDArray[np.bool_]) -> "Thresholds":
        """Return thresholds at which every hundredth more of the training rows is answered."""
        descending = np.sort(on_grid(scores))[::-1]
        places = np.unique(np.ceil(np.arange(1, _STEPS) / _STEPS * scores.size).astype(np.int64))
        found = descending[places[places < scores.size] - 1]
        values = np.append(np.unique(found[found > -np.inf])[::-1], -np.inf)
        answered, bad = counted_at(values, scores, wrong)
        return cls(values, answered, bad)

    def plausible(self) -> FloatArray:
        """Return shares of errors among answered rows that are plausible after cross-validation: (quantiles, T)."""
        return plausible_shares(self.answered, self.wrong)

    def order(self, m: int, target: float, delta: float, plausible: FloatArray | None = None) -> Codes:
        """Return the thresholds to be tested, in their order: one that is likely to pass on `m` rows, then looser ones.

        How likely a threshold is to pass is estimated from cross-validation: as if the share of errors among answered
        rows were one that is plausible after what was counted there (Jeffreys' distribution), and a share of the `m`
        rows were answered that is as random as a binomial one.  The likeliest is first: if it passes, nothing is lost
        by having begun there, and if it does not, everything is.  To take the share of errors as it was counted would
        begin where a lucky few rows had no error.  Who asks for many targets hands over what is `plausible`.
        """
        likely = chance_to_pass(
            self.answered,
            self.wrong,
            int(self.answered[-1]),
            m,
            target,
            delta,
            self.plausible() if plausible is None else plausible,
        )
        return np.arange(int(np.argmax(likely)), likely.size)


def plausible_shares(rows: Codes, wrong: Codes) -> FloatArray:
    """Return shares of errors that are plausible after so many of so many rows, shape (quantiles, T).

    Examples
    --------
    >>> plausible_shares(np.array([100]), np.array([10]))[[0, 7, 14], 0].round(3)
    array([0.055, 0.101, 0.165])
    """
    with usual_float_errors():
        return np.asarray(betaincinv(wrong + 0.5, rows - wrong + 0.5, _QUANTILES[:, None]))


def chance_to_pass(
    rows: Codes, wrong: Codes, number: int, m: int, target: float, delta: float, plausible: FloatArray | None = None
) -> FloatArray:
    """Return how likely each threshold is to pass its test against a share of errors on `m` validation rows.

    `rows` of `number` training rows were those that errors are counted among, and `wrong` of these were errors.

    Examples
    --------
    >>> chance_to_pass(np.array([50, 90]), np.array([1, 20]), 100, 200, 0.1, 0.05).round(2)
    array([0.79, 0.  ])
    """
    shares = plausible_shares(rows, wrong) if plausible is None else plausible
    with usual_float_errors():
        share = rows / max(number, 1)
        likely = np.zeros(share.size)
        for luck in _LUCK:
            drawn = np.clip(np.rint(m * share + luck * np.sqrt(m * share * (1.0 - share))), 1, m).astype(np.int64)
            allowed = _most_errors(drawn, target, delta)
            passes = bdtr(np.maximum(allowed, 0), drawn, shares).mean(axis=0)
            likely += np.where(allowed >= 0, passes, 0.0) / len(_LUCK)
    return likely


def counted_at(thresholds: FloatArray, scores: FloatArray, wrong: NDArray[np.bool_]) -> tuple[Codes, Codes]:
    """Return how many rows have at least each score, and how many of these are wrong.

    Examples
    --------
    >>> counted_at(np.array([0.5, 0.25, -np.inf]), np.array([0.5, 0.3, 0.1]), np.array([False, True, True]))
    (array([1, 2, 3]), array([0, 1, 2]))
    """
    ascending = np.sort(on_grid(scores))
    bad = np.sort(on_grid(scores[wrong]))
    return (
        (ascending.size - np.searchsorted(ascending, thresholds, side="left")).astype(np.int64),
        (bad.size - np.searchsorted(bad, thresholds, side="left")).astype(np.int64),
    )


def loosest_passed(
    thresholds: Thresholds, counted: tuple[Codes, Codes], m: int, target: float, delta: float
) -> Answered:
    """Test thresholds in the order that the training rows fixed, each at the whole of delta, up to the first failure.

    `counted` are, for each, the validation rows that are answered, and the errors among these.  A threshold passes if
    the exact limit of its errors, rounded up, is at most the target; the loosest counts.

    Examples
    --------
    >>> thresholds = Thresholds(np.array([0.9, 0.5, -np.inf]), np.array([40, 80, 100]), np.array([0, 1, 20]))
    >>> loosest_passed(thresholds, (np.array([80, 160, 200]), np.array([0, 2, 40])), 200, 0.05, 0.05)
    Answered(target=0.05, threshold=0.5, m=200, rows=160, errors=2, tested=2, smallest_target=None, unit='example')
    """
    answered, wrong = counted
    some = answered > 0
    limits = np.ones(answered.size)
    limits[some] = binomial_upper(wrong[some], answered[some], delta)
    index, number = _loosest(thresholds.order(m, target, delta), limits, target)
    if index is None:
        return Answered(target, None, m, 0, 0, number, _smallest_target(thresholds, limits, m, target, delta))
    rows, errors = int(answered[index]), int(wrong[index])
    return Answered(target, float(thresholds.values[index]), m, rows, errors, number)


def _smallest_target(thresholds: Thresholds, limits: FloatArray, m: int, target: float, delta: float) -> float | None:
    """Return the smallest larger target with which a threshold would have passed, None where there is none.

    Another target may put another threshold first, so that a larger one need not pass where a smaller one does: they
    are tried one after the other.
    """
    best, plausible = float(limits.min()), thresholds.plausible()
    for other in _OTHER_TARGETS:
        # No threshold passes below its limit, whichever is first.
        if other > target and other >= best:
            order = thresholds.order(m, other, delta, plausible)
            if _loosest(order, limits, other)[0] is not None:
                return float(other)
    return None


def _loosest(order: Codes, limits: FloatArray, target: float) -> tuple[int | None, int]:
    """Return the last threshold that passes before the first that does not, and how many were tested."""
    passes = limits[order] <= target
    number = int(np.argmin(passes)) if not passes.all() else passes.size
    return (int(order[number - 1]) if number else None), min(number + 1, passes.size)


def _most_errors(rows: Codes, target: float, delta: float) -> FloatArray:
    """Return the most errors with which so many rows pass, more or less; -1 where not even none does."""
    return np.where(bdtr(0, rows, target) > delta, -1.0, np.floor(bdtrik(delta, rows, target)))
