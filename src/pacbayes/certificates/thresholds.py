"""Grids of thresholds: what cross-validation counted at each, and the order in which they are tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrik, betaincinv

from pacbayes._utils.arrays import Codes, FloatArray, usual_float_errors
from pacbayes._utils.checks import read_only
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.decisions import SelectiveResult, Threshold, ThresholdResult, max_error_rate

#: Scores are rounded to multiples of this: where sums of the same numbers differ in their last bits, scores do not.
GRID = 2.0**-20
#: There is a threshold of a confidence for every so many hundredths of the training rows that are answered.
MOST_THRESHOLDS = 100
# By how many standard deviations more, or fewer, rows may be answered than expected, where a start is chosen; and at
# which quantiles a share of errors is looked at that cross-validation leaves uncertain.
_LUCK = (-1.2, 0.0, 1.2)
_QUANTILES = (np.arange(15) + 0.5) / 15
# At which shares of the positive rows, and of the others, there are thresholds; more of them where these are few.
_ENDS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03)
_SHARES = np.array([*_ENDS, *(np.arange(1, 25) / 25), *(1.0 - np.array(_ENDS)), 1.0])
#: Both kinds of rows, and the threshold that every row reaches.
MAX_GRID_SIZE = 2 * _SHARES.size + 1


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
    rows: Codes, wrong: Codes, number: int, m: int, decision: float, delta: float, plausible: FloatArray | None = None
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
            allowed = _most_errors(drawn, decision, delta)
            passes = bdtr(np.maximum(allowed, 0), drawn, shares).mean(axis=0)
            likely += np.where(allowed >= 0, passes, 0.0) / len(_LUCK)
    return likely


def _most_errors(rows: Codes, decision: float, delta: float) -> FloatArray:
    """Return the most errors with which so many rows pass, more or less; -1 where not even none does."""
    return np.where(bdtr(0, rows, decision) > delta, -1.0, np.floor(bdtrik(delta, rows, decision)))


@dataclass(frozen=True, eq=False)
class ConfidenceGrid:
    """Thresholds of a score from the strictest to the loosest, and what cross-validation counted at each.

    Examples
    --------
    >>> scores, wrong = np.linspace(0.0, 1.0, 200), np.arange(200) < 30
    >>> found = ConfidenceGrid.from_scores(scores, wrong)
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

    @classmethod
    def from_scores(cls, scores: FloatArray, wrong: NDArray[np.bool_]) -> ConfidenceGrid:
        """Return thresholds at which every hundredth more of the training rows is answered."""
        descending = np.sort(on_grid(scores))[::-1]
        places = np.unique(np.ceil(np.arange(1, MOST_THRESHOLDS) / MOST_THRESHOLDS * scores.size).astype(np.int64))
        found = descending[places[places < scores.size] - 1]
        values = np.append(np.unique(found[found > -np.inf])[::-1], -np.inf)
        answered, bad = counted_at(values, scores, wrong)
        return cls(values, answered, bad)

    def plausible(self) -> FloatArray:
        """Return shares of errors among answered rows that are plausible after cross-validation: (quantiles, T)."""
        return plausible_shares(self.answered, self.wrong)

    def order(self, m: int, decision: float, delta: float, plausible: FloatArray | None = None) -> Codes:
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
            decision,
            delta,
            self.plausible() if plausible is None else plausible,
        )
        return np.arange(int(np.argmax(likely)), likely.size)


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """Rows at one threshold or several: how many there are, of them positive, answered so, and both.

    Examples
    --------
    >>> counted = ConfusionCounts(100, 20, np.array([30, 10]), np.array([18, 9]))
    >>> [part.tolist() for part in counted.errors("recall")], [part.tolist() for part in counted.errors("fpr")]
    ([[20, 20], [2, 11]], [[80, 80], [12, 1]])
    """

    rows: int
    positives: int
    #: Shape (T,).
    answered: Codes
    hits: Codes

    @classmethod
    def at(cls, values: FloatArray, scores: FloatArray, positive: NDArray[np.bool_]) -> ConfusionCounts:
        """Count the rows that have at least each score."""
        answered, false_alarms = counted_at(values, scores, ~positive)
        return cls(scores.size, int(np.count_nonzero(positive)), answered, answered - false_alarms)

    def errors(self, name: str) -> tuple[Codes, Codes]:
        """Return the rows that a measure is about, and the errors among these, at each threshold."""
        if name == "recall":
            return np.full_like(self.hits, self.positives), self.positives - self.hits
        rows = self.answered if name == "precision" else np.full_like(self.hits, self.rows - self.positives)
        return rows, self.answered - self.hits

    def metrics(self, name: str, delta: float) -> FloatArray:
        """Return exact upper limits of the share of errors, each alone; 1 where there are no rows."""
        return _limits(*self.errors(name), delta)

    def passes(self, decision: Threshold, delta: float) -> NDArray[np.bool_]:
        """Return which thresholds pass all tests, each at the whole of delta."""
        found = np.ones(self.hits.size, dtype=np.bool_)
        for name, share in decision.required.items():
            found &= self.metrics(name, delta) <= max_error_rate(name, share)
        return found


@dataclass(frozen=True, eq=False)
class ThresholdGrid:
    """Thresholds of the positive class's probability, from the largest to 0, and what cross-validation counted at each.

    Examples
    --------
    >>> scores = np.linspace(0.0, 1.0, 200)
    >>> cuts = ThresholdGrid.from_scores(scores, scores > 0.7, "late")
    >>> order = cuts.order(Threshold(recall=0.9), 200, 0.05)
    >>> float(cuts.values[order[0]]), float(cuts.values[order[-1]]) == float(cuts.values.max())
    (0.0, True)
    """

    #: The positive class.
    positive: Any
    #: Descending, shape (T,); the last is 0: every row is answered so.
    values: FloatArray
    #: Training rows with at least that probability in cross-validation, and those of them that are positive.
    answered: Codes
    hits: Codes

    def __post_init__(self) -> None:
        read_only(self.values, self.answered, self.hits)

    @classmethod
    def from_scores(cls, scores: FloatArray, positive: NDArray[np.bool_], label: Any) -> ThresholdGrid:
        """Return thresholds at shares of the positive training rows, and of the others."""
        values = [0.0]
        for part in (on_grid(scores[positive]), on_grid(scores[~positive])):
            descending = np.sort(part)[::-1]
            values += descending[np.ceil(_SHARES * part.size).astype(np.int64) - 1].tolist() if part.size else []
        found = np.unique(values)[::-1]
        counted = ConfusionCounts.at(found, scores, positive)
        return cls(label, found, counted.answered, counted.hits)

    @property
    def counted(self) -> ConfusionCounts:
        """What was counted of the training rows."""
        return ConfusionCounts(int(self.answered[-1]), int(self.hits[-1]), self.answered, self.hits)

    @property
    def f1(self) -> FloatArray:
        """F1 of the positive class at each threshold."""
        return np.asarray(2.0 * self.hits / np.maximum(self.answered + self.hits[-1], 1))

    def order(self, decision: Threshold, m: int, delta: float) -> Codes:
        """Return the thresholds to be tested, in their order: one likely to pass on `m` rows, then towards the best.

        The first is the likeliest to pass all tests, by what cross-validation counted; of several the one farthest from
        where `prefer` leads.  From there it goes, step by step, to the threshold that `prefer` would take of all.
        """
        seen, likely = self.counted, np.ones(self.values.size)
        for name, share in decision.required.items():
            likely *= chance_to_pass(*seen.errors(name), seen.rows, m, max_error_rate(name, share), delta)
        last = {"precision": 0, "recall": likely.size - 1, "f1": int(np.argmax(self.f1))}[decision.preferred]
        ties = np.flatnonzero(likely >= likely.max())
        start = int(ties[np.argmax(np.abs(ties - last))])
        return np.arange(start, last + 1) if start <= last else np.arange(start, last - 1, -1)

    def taken(self, passed: Codes, decision: Threshold) -> int:
        """Return which of the thresholds that passed, in the order of their tests, is taken."""
        if decision.preferred == "f1":
            latest_first = passed[::-1]
            return int(latest_first[np.argmax(self.f1[latest_first])])
        return int(passed[-1])


# -- tests -------------------------------------------------------------------------------------------------------------


def fixed_sequence_test(order: Codes, passes: NDArray[np.bool_]) -> tuple[Codes, int]:
    """Test hypotheses in a given order, each at the whole level, up to the first failure.

    Returns those that passed, in their order, and how many were tested.

    Examples
    --------
    >>> fixed_sequence_test(np.array([2, 1, 0]), np.array([True, False, True]))
    (array([2]), 2)
    """
    results = passes[order]
    number = results.size if results.all() else int(np.argmin(results))
    return order[:number], min(number + 1, results.size)


def certify_abstention(
    thresholds: ConfidenceGrid, counted: tuple[Codes, Codes], m: int, decision: float, delta: float
) -> SelectiveResult:
    """Return the loosest threshold at which the errors among answered rows are shown to be within the target.

    `counted` are, for each, the validation rows that are answered, and the errors among these.  A threshold passes if
    the exact limit of its errors, rounded up, is at most the target.

    Examples
    --------
    >>> thresholds = ConfidenceGrid(np.array([0.9, 0.5, -np.inf]), np.array([40, 80, 100]), np.array([0, 1, 20]))
    >>> certify_abstention(thresholds, (np.array([80, 160, 200]), np.array([0, 2, 40])), 200, 0.05, 0.05)
    ... # doctest: +NORMALIZE_WHITESPACE
    SelectiveResult(max_error=0.05, threshold=0.5, m=200, rows=160, errors=2, tested=2, smallest_max_error=None,
                    unit='example')
    """
    answered, wrong = counted
    metrics = _limits(answered, wrong, delta)
    passed, tested = fixed_sequence_test(thresholds.order(m, decision, delta), metrics <= decision)
    if not passed.size:
        return SelectiveResult(
            decision, None, m, 0, 0, tested, _smallest_max_error(thresholds, metrics, m, decision, delta)
        )
    index = int(passed[-1])
    return SelectiveResult(
        decision, float(thresholds.values[index]), m, int(answered[index]), int(wrong[index]), tested
    )


# Targets that are tried where none passed, to be named as information.
_OTHER_MAX_ERRORS = (np.arange(1, 200) / 200).tolist()


def _smallest_max_error(
    thresholds: ConfidenceGrid, metrics: FloatArray, m: int, decision: float, delta: float
) -> float | None:
    """Return the smallest larger target with which a threshold would have passed, None where there is none.

    Another target may put another threshold first, so that a larger one need not pass where a smaller one does: they
    are tried one after the other.
    """
    # No threshold passes below its limit, whichever is first.
    best, plausible = max(float(metrics.min()), np.nextafter(decision, 1.0)), thresholds.plausible()
    for other in _OTHER_MAX_ERRORS:
        # Where the first passes, some do.
        if other >= best and metrics[thresholds.order(m, other, delta, plausible)[0]] <= other:
            return float(other)
    return None


def certify_threshold(
    cuts: ThresholdGrid, counted: ConfusionCounts, decision: Threshold, delta: float
) -> ThresholdResult:
    """Return the threshold of one class's probability at which all targets are shown to be kept.

    `counted` are the validation rows at each threshold.

    Examples
    --------
    >>> scores = np.linspace(0.0, 1.0, 200)
    >>> cuts = ThresholdGrid.from_scores(scores, scores > 0.7, "late")
    >>> counted = ConfusionCounts.at(cuts.values, scores, scores > 0.7)
    >>> found = certify_threshold(cuts, counted, Threshold(recall=0.9), 0.05)
    >>> found.passed, round(found.threshold, 3), found.recall
    (True, 0.709, 0.9833333333333333)
    """
    order = cuts.order(decision, counted.rows, delta)
    passed, tested = fixed_sequence_test(order, counted.passes(decision, delta))
    index = cuts.taken(passed, decision) if passed.size else int(order[0])
    return ThresholdResult(
        decision=decision,
        positive=cuts.positive,
        passed=passed.size > 0,
        threshold=float(cuts.values[index]),
        m=counted.rows,
        positives=counted.positives,
        answered=int(counted.answered[index]),
        hits=int(counted.hits[index]),
        tested=tested,
        delta=delta,
    )


def _limits(rows: Codes, wrong: Codes, delta: float) -> FloatArray:
    """Return exact upper limits of shares of errors, each alone; 1 where there are no rows."""
    metrics, some = np.ones(rows.size), rows > 0
    if some.any():
        metrics[some] = binomial_upper(wrong[some], rows[some], delta)
    return metrics
