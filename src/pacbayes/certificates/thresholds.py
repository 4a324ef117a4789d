"""Grids of candidate thresholds with their cross-validation counts, and the order of their tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrik, betaincinv

from pacbayes._utils.arrays import Codes, FloatArray, default_errstate, round_up
from pacbayes._utils.checks import make_read_only
from pacbayes.bounds.bets import best_bet, bet_upper
from pacbayes.bounds.binomial import binomial_upper
from pacbayes.certificates.decisions import SelectiveResult, Threshold, ThresholdResult, max_error_rate
from pacbayes.certificates.metric_bounds import Cost

#: Scores are rounded to multiples of this, so that they do not depend on the order of summation.
GRID = 2.0**-20
#: Number of confidence thresholds, equally spaced in the acceptance rate on the training rows.
MAX_THRESHOLDS = 100
# Quadrature points for choosing the first threshold: acceptance rates in standard deviations, error rate quantiles.
_DEVIATIONS = (-1.2, 0.0, 1.2)
_QUANTILES = (np.arange(15) + 0.5) / 15
# Thresholds are at these quantiles of the positive and the negative rows, denser at both ends.
_ENDS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03)
_SHARES = np.array([*_ENDS, *(np.arange(1, 25) / 25), *(1.0 - np.array(_ENDS)), 1.0])
#: Maximum number of thresholds: for both classes, and 0.
MAX_GRID_SIZE = 2 * _SHARES.size + 1


def round_to_grid(scores: FloatArray) -> FloatArray:
    """Round scores to the grid.

    Examples
    --------
    >>> bool(round_to_grid(np.array([0.1 + 0.2]))[0] == round_to_grid(np.array([0.3]))[0])
    True
    """
    return np.asarray(np.rint(scores / GRID) * GRID)


def confidence(scores: FloatArray, codes: NDArray[Any]) -> FloatArray:
    """Confidence scores of predicted labels, on the grid; minus infinity for labels without a score.

    Labels that are not classes, and classes without training rows, have no score: accepted only if all rows are.

    Examples
    --------
    >>> confidence(np.array([[0.5, -0.5], [-1.0, 1.0], [0.0, 0.0], [np.nan, 1.0]]), np.array([0, 0, 2, 0]))
    array([ 0.5, -1. , -inf, -inf])
    """
    known = codes < scores.shape[1]
    confidences = np.full(codes.size, -np.inf)
    confidences[known] = round_to_grid(scores[np.flatnonzero(known), codes[known]])
    return np.where(np.isnan(confidences), -np.inf, confidences)


def count_at_thresholds(thresholds: FloatArray, scores: FloatArray, wrong: NDArray[np.bool_]) -> tuple[Codes, Codes]:
    """Count the rows with at least each score, and the errors among them.

    Examples
    --------
    >>> count_at_thresholds(np.array([0.5, 0.25, -np.inf]), np.array([0.5, 0.3, 0.1]), np.array([False, True, True]))
    (array([1, 2, 3]), array([0, 1, 2]))
    """
    ascending = np.sort(round_to_grid(scores))
    of_errors = np.sort(round_to_grid(scores[wrong]))
    return (
        (ascending.size - np.searchsorted(ascending, thresholds, side="left")).astype(np.int64),
        (of_errors.size - np.searchsorted(of_errors, thresholds, side="left")).astype(np.int64),
    )


def error_rate_quantiles(rows: Codes, wrong: Codes) -> FloatArray:
    """Quantiles of the error rate given these counts (Jeffreys' posterior), shape (quantiles, T).

    Examples
    --------
    >>> error_rate_quantiles(np.array([100]), np.array([10]))[[0, 7, 14], 0].round(3)
    array([0.055, 0.101, 0.165])
    """
    with default_errstate():
        return np.asarray(betaincinv(wrong + 0.5, rows - wrong + 0.5, _QUANTILES[:, None]))


def estimate_pass_probability(
    rows: Codes,
    wrong: Codes,
    n_train: int,
    m: int,
    max_error: float,
    delta: float,
    quantiles: FloatArray | None = None,
) -> FloatArray:
    """Estimate the probability that each threshold passes its test on `m` validation rows.

    `rows` of `n_train` training rows were relevant in cross-validation, and `wrong` of these were errors.

    Examples
    --------
    >>> estimate_pass_probability(np.array([50, 90]), np.array([1, 20]), 100, 200, 0.1, 0.05).round(2)
    array([0.79, 0.  ])
    """
    error_rates = error_rate_quantiles(rows, wrong) if quantiles is None else quantiles
    with default_errstate():
        share = rows / max(n_train, 1)
        chance = np.zeros(share.size)
        for deviation in _DEVIATIONS:
            drawn = np.clip(np.rint(m * share + deviation * np.sqrt(m * share * (1.0 - share))), 1, m).astype(np.int64)
            allowed = _max_errors(drawn, max_error, delta)
            passes = bdtr(np.maximum(allowed, 0), drawn, error_rates).mean(axis=0)
            chance += np.where(allowed >= 0, passes, 0.0) / len(_DEVIATIONS)
    return chance


def _max_errors(rows: Codes, max_error: float, delta: float) -> FloatArray:
    """Approximate maximum number of errors with which a test passes; -1 if it cannot pass."""
    return np.where(bdtr(0, rows, max_error) > delta, -1.0, np.floor(bdtrik(delta, rows, max_error)))


@dataclass(frozen=True, eq=False)
class ConfidenceGrid:
    """Thresholds on the confidence, from the strictest to the loosest, with their counts in cross-validation.

    Examples
    --------
    >>> scores, wrong = np.linspace(0.0, 1.0, 200), np.arange(200) < 30
    >>> grid = ConfidenceGrid.from_scores(scores, wrong)
    >>> grid.values.size, int(grid.accepted[-1]), int(grid.wrong[-1]), int(grid.wrong[49])
    (100, 200, 30, 0)
    >>> start = grid.order(200, 0.05, 0.05)[0]
    >>> int(grid.accepted[start]), int(grid.wrong[start])
    (160, 0)
    """

    #: Descending, shape (T,); the last is minus infinity, which accepts every row.
    values: FloatArray
    #: Training rows with at least this confidence in cross-validation, shape (T,).
    accepted: Codes
    #: Number of errors among them.
    wrong: Codes

    @classmethod
    def from_scores(cls, scores: FloatArray, wrong: NDArray[np.bool_]) -> ConfidenceGrid:
        """Thresholds at equally spaced acceptance rates."""
        descending = np.sort(round_to_grid(scores))[::-1]
        places = np.unique(np.ceil(np.arange(1, MAX_THRESHOLDS) / MAX_THRESHOLDS * scores.size).astype(np.int64))
        thresholds = descending[places[places < scores.size] - 1]
        values = np.append(np.unique(thresholds[thresholds > -np.inf])[::-1], -np.inf)
        return cls(values, *count_at_thresholds(values, scores, wrong))

    def error_rate_quantiles(self) -> FloatArray:
        """Quantiles of the error rate on accepted rows after cross-validation, shape (quantiles, T)."""
        return error_rate_quantiles(self.accepted, self.wrong)

    def order(self, m: int, max_error: float, delta: float, quantiles: FloatArray | None = None) -> Codes:
        """Order of the tests: the threshold that is most likely to pass on `m` rows, followed by looser ones.

        Testing stops at the first failure, so the first threshold should be likely to pass.  The probability is
        averaged over Jeffreys' posterior of the error rate after cross-validation, and over a binomial number of
        accepted rows; the observed error rate alone would favour a few rows without errors.  Precomputed `quantiles`
        save time for several values of `max_error`.
        """
        chance = estimate_pass_probability(
            self.accepted,
            self.wrong,
            int(self.accepted[-1]),
            m,
            max_error,
            delta,
            self.error_rate_quantiles() if quantiles is None else quantiles,
        )
        return np.arange(int(np.argmax(chance)), chance.size)


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """Numbers of rows, positives, predicted positives and true positives at one or several thresholds.

    Examples
    --------
    >>> counts = ConfusionCounts(100, 20, np.array([30, 10]), np.array([18, 9]))
    >>> [part.tolist() for part in counts.errors("recall")], [part.tolist() for part in counts.errors("fpr")]
    ([[20, 20], [2, 11]], [[80, 80], [12, 1]])
    """

    rows: int
    positives: int
    #: Shape (T,).
    predicted_positives: Codes
    true_positives: Codes

    @classmethod
    def from_scores(cls, values: FloatArray, scores: FloatArray, positive: NDArray[np.bool_]) -> ConfusionCounts:
        """Count the rows at each threshold."""
        predicted, false_positives = count_at_thresholds(values, scores, ~positive)
        return cls(scores.size, int(np.count_nonzero(positive)), predicted, predicted - false_positives)

    def errors(self, name: str) -> tuple[Codes, Codes]:
        """Numbers of rows to which a metric applies, and of errors among them, at each threshold."""
        if name == "recall":
            return np.full_like(self.true_positives, self.positives), self.positives - self.true_positives
        negatives = np.full_like(self.true_positives, self.rows - self.positives)
        rows = self.predicted_positives if name == "precision" else negatives
        return rows, self.predicted_positives - self.true_positives

    @property
    def cells(self) -> Codes:
        """Confusion matrix at each threshold: true positives, false negatives, and so on; shape (T, 4)."""
        hits, false_positives = self.true_positives, self.predicted_positives - self.true_positives
        negatives = self.rows - self.positives
        return np.stack([hits, self.positives - hits, false_positives, negatives - false_positives], axis=1)

    def bounds(self, name: str, delta: float) -> FloatArray:
        """Clopper-Pearson upper bounds of the error share of a metric, each on its own."""
        return error_bounds(*self.errors(name), delta)

    def passes(self, decision: Threshold, delta: float) -> NDArray[np.bool_]:
        """Whether each threshold passes the tests of all requirements, each at level delta."""
        passes = np.ones(self.true_positives.size, dtype=np.bool_)
        for name, share in decision.required.items():
            passes &= self.bounds(name, delta) <= max_error_rate(name, share)
        return passes


@dataclass(frozen=True, eq=False)
class ThresholdGrid:
    """Thresholds on the probability of the positive class, from the largest to 0, with their cross-validation counts.

    Examples
    --------
    >>> scores = np.linspace(0.0, 1.0, 200)
    >>> grid = ThresholdGrid.from_scores(scores, scores > 0.7, "late")
    >>> order = grid.order(Threshold(recall=0.9), 200, 0.05)
    >>> float(grid.values[order[0]]), float(grid.values[order[-1]]) == float(grid.values.max())
    (0.0, True)
    """

    #: The positive class.
    positive: Any
    #: Descending, shape (T,); at the last, 0, every row is predicted positive.
    values: FloatArray
    #: Training rows with at least this probability in cross-validation, and the true positives among them.
    predicted_positives: Codes
    true_positives: Codes

    def __post_init__(self) -> None:
        make_read_only(self.values, self.predicted_positives, self.true_positives)

    @classmethod
    def from_scores(cls, scores: FloatArray, positive: NDArray[np.bool_], label: Any) -> ThresholdGrid:
        """Thresholds at quantiles of the positive and the negative training rows."""
        values = [0.0]
        for part in (round_to_grid(scores[positive]), round_to_grid(scores[~positive])):
            descending = np.sort(part)[::-1]
            values += descending[np.ceil(_SHARES * part.size).astype(np.int64) - 1].tolist() if part.size else []
        thresholds = np.unique(values)[::-1]
        counts = ConfusionCounts.from_scores(thresholds, scores, positive)
        return cls(label, thresholds, counts.predicted_positives, counts.true_positives)

    @property
    def counts(self) -> ConfusionCounts:
        """The counts of the training rows."""
        rows, positives = int(self.predicted_positives[-1]), int(self.true_positives[-1])
        return ConfusionCounts(rows, positives, self.predicted_positives, self.true_positives)

    @property
    def f1(self) -> FloatArray:
        """F1 of the positive class at each threshold."""
        total = self.predicted_positives + self.true_positives[-1]
        return np.asarray(2.0 * self.true_positives / np.maximum(total, 1))

    def order(self, decision: Threshold, m: int, delta: float) -> Codes:
        """Order of the tests: from the threshold that is most likely to pass on `m` rows to the preferred one.

        If several are equally likely to pass, the first test is that of the one farthest from the preferred threshold.
        """
        counts, chance = self.counts, np.ones(self.values.size)
        for name, share in decision.required.items():
            chance *= estimate_pass_probability(
                *counts.errors(name), counts.rows, m, max_error_rate(name, share), delta
            )
        last = {"precision": 0, "recall": chance.size - 1, "f1": int(np.argmax(self.f1))}[decision.preferred]
        ties = np.flatnonzero(chance >= chance.max())
        start = int(ties[np.argmax(np.abs(ties - last))])
        return np.arange(start, last + 1) if start <= last else np.arange(start, last - 1, -1)

    def choose(self, passed: Codes, decision: Threshold) -> int:
        """Choose among the thresholds that passed, in the order of their tests."""
        if decision.preferred == "f1":
            latest_first = passed[::-1]
            return int(latest_first[np.argmax(self.f1[latest_first])])
        return int(passed[-1])


# -- tests -------------------------------------------------------------------------------------------------------------


def fixed_sequence_test(order: Codes, passes: NDArray[np.bool_]) -> tuple[Codes, int]:
    """Test hypotheses in a fixed order, each at the full level, up to the first failure.

    Returns the indices that passed, in order, and the number of tests.

    Examples
    --------
    >>> fixed_sequence_test(np.array([2, 1, 0]), np.array([True, False, True]))
    (array([2]), 2)
    """
    results = passes[order]
    number = results.size if results.all() else int(np.argmin(results))
    return order[:number], min(number + 1, results.size)


def certify_abstention(
    grid: ConfidenceGrid, counts: tuple[Codes, Codes], m: int, max_error: float, delta: float
) -> SelectiveResult:
    """Find the loosest threshold whose error rate on accepted rows is certified.

    `counts` are the accepted validation rows and their errors at each threshold, which passes if the exact bound of its
    error rate, rounded up, is at most `max_error`.

    Examples
    --------
    >>> grid = ConfidenceGrid(np.array([0.9, 0.5, -np.inf]), np.array([40, 80, 100]), np.array([0, 1, 20]))
    >>> result = certify_abstention(grid, (np.array([80, 160, 200]), np.array([0, 2, 40])), 200, 0.05, 0.05)
    >>> result.threshold, result.accepted, result.errors, result.tested
    (0.5, 160, 2, 2)
    """
    accepted, wrong = counts
    bounds = error_bounds(accepted, wrong, delta)
    passed, tested = fixed_sequence_test(grid.order(m, max_error, delta), bounds <= max_error)
    if not passed.size:
        smallest = _smallest_max_error(grid, bounds, m, max_error, delta)
        return SelectiveResult(max_error, None, m, 0, 0, tested, smallest)
    index = int(passed[-1])
    return SelectiveResult(max_error, float(grid.values[index]), m, int(accepted[index]), int(wrong[index]), tested)


# Values of `max_error` to try if no threshold passed, reported as information.
_OTHER_MAX_ERRORS = (np.arange(1, 200) / 200).tolist()


def _smallest_max_error(
    grid: ConfidenceGrid, bounds: FloatArray, m: int, max_error: float, delta: float
) -> float | None:
    """Smallest larger `max_error` at which a threshold would have passed; None if there is none.

    All values are tried, because the first threshold depends on `max_error` and passing is not monotonic in it.
    """
    # No threshold passes if `max_error` is below its bound.
    least, quantiles = max(float(bounds.min()), np.nextafter(max_error, 1.0)), grid.error_rate_quantiles()
    for other in _OTHER_MAX_ERRORS:
        # It is sufficient that the first one passes.
        if other >= least and bounds[grid.order(m, other, delta, quantiles)[0]] <= other:
            return float(other)
    return None


def certify_threshold(
    grid: ThresholdGrid, counts: ConfusionCounts, decision: Threshold, delta: float
) -> ThresholdResult:
    """Find the preferred threshold at which all requirements are certified.

    `counts` are those of the validation rows at each threshold.

    Examples
    --------
    >>> scores = np.linspace(0.0, 1.0, 200)
    >>> grid = ThresholdGrid.from_scores(scores, scores > 0.7, "late")
    >>> counts = ConfusionCounts.from_scores(grid.values, scores, scores > 0.7)
    >>> result = certify_threshold(grid, counts, Threshold(recall=0.9), 0.05)
    >>> result.passed, round(result.threshold, 3), result.recall
    (True, 0.709, 0.9833333333333333)
    """
    if decision.cost is not None:
        return _certify_cost(grid, counts, decision, decision.cost, delta)
    order = grid.order(decision, counts.rows, delta)
    passed, tested = fixed_sequence_test(order, counts.passes(decision, delta))
    index = grid.choose(passed, decision) if passed.size else int(order[0])
    return ThresholdResult(
        decision=decision,
        positive=grid.positive,
        passed=passed.size > 0,
        threshold=float(grid.values[index]),
        m=counts.rows,
        positives=counts.positives,
        predicted_positives=int(counts.predicted_positives[index]),
        true_positives=int(counts.true_positives[index]),
        tested=tested,
        delta=delta,
    )


def _certify_cost(
    grid: ThresholdGrid, counts: ConfusionCounts, decision: Threshold, cost: Cost, delta: float
) -> ThresholdResult:
    """Bound the mean cost at the threshold that minimises it on the training rows."""
    training = grid.counts
    # Pairs of true class and prediction: positive or other.
    names = np.array([grid.positive, next(name for name in cost.classes if name != grid.positive)], dtype=object)
    losses = cost.losses(names, 2).ravel()
    index = int(np.argmin(training.cells @ losses))
    # Choose the largest of several thresholds with the same cost; the bet also depends on training rows only.
    share = 1000.0 / max(training.rows, 1)
    bet = best_bet(np.repeat(losses, np.rint(training.cells[index] * share).astype(np.int64)), counts.rows, delta)
    cells = counts.cells[index]
    mean = bet_upper(losses, bet, delta, cells)
    bound = cost.largest if mean == 1.0 else min(round_up(mean * cost.largest), cost.largest)
    return ThresholdResult(
        decision=decision,
        positive=grid.positive,
        passed=bound < cost.largest,
        threshold=float(grid.values[index]),
        m=counts.rows,
        positives=counts.positives,
        predicted_positives=int(counts.predicted_positives[index]),
        true_positives=int(counts.true_positives[index]),
        tested=1,
        delta=delta,
        cost_bound=bound,
        total_cost=float(f"{float(cells @ losses) * cost.largest:.12g}"),
    )


def error_bounds(rows: Codes, wrong: Codes, delta: float) -> FloatArray:
    """Clopper-Pearson upper bounds, each valid on its own; 1 without rows."""
    bounds, nonempty = np.ones(rows.size), rows > 0
    if nonempty.any():
        bounds[nonempty] = binomial_upper(wrong[nonempty], rows[nonempty], delta)
    return bounds
