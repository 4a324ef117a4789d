"""Votes and keyed draws with integer weights: exact, and independent of the other rows in a batch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import Codes, FloatArray, Labels, Rows, default_errstate
from pacbayes.data.rows import count_rows
from pacbayes.ensemble.members import Coding, Members, Predictions, pick_preprocessed

#: Weights in multiples of 2^-52, as integers with the sum 2^52.
IntegerWeights = NDArray[np.int64]

BITS = 52


def integer_weights(weights: FloatArray) -> IntegerWeights:
    """Round weights to multiples of 2^-52 with the sum 2^52; the largest weight absorbs the rounding error.

    Examples
    --------
    >>> weights = integer_weights(np.array([0.3, 0.7, 0.0]))
    >>> int(weights.sum()) == 2**52, int(weights[2])
    (True, 0)
    """
    with default_errstate():
        rounded: IntegerWeights = np.rint(np.ldexp(weights / weights.sum(), BITS)).astype(np.int64)
    rounded[np.argmax(rounded)] += 2**BITS - int(rounded.sum())
    return rounded


def float_weights(weights: IntegerWeights) -> FloatArray:
    """Convert integer weights to floats, exactly."""
    return np.ldexp(weights.astype(np.float64), -BITS)


def single_weight(index: int, number: int) -> IntegerWeights:
    """Integer weights of `number` classifiers, all on one of them."""
    weights = np.zeros(number, dtype=np.int64)
    weights[index] = 2**BITS
    return weights


#: Names of the votings: largest mean probability, keyed draws, weighted vote, one classifier.
SOFT = "soft"
VOTINGS = (SOFT, "stochastic", "majority", "best")
#: Name of the rule that is fixed by the training rows or the user, and uses most of delta.
PRIMARY = "primary"
#: Names of rules that are optimised on the validation rows.
POSTERIOR, OCCAM = "posterior", "Occam"
# Predictions per block.
_BLOCK_SIZE = 4_000_000
# Finding the predicted labels takes as long as counting votes for this number of labels.
_FEW_LABELS = 8


def draw_classifiers(hashes: NDArray[np.uint64], weights: IntegerWeights) -> Codes:
    """Draw a classifier for every row by its keyed hash.

    The first 52 bits of a row's keyed hash (BLAKE2b, 64 bits) are compared with the cumulative weights.  Equal rows get
    equal draws in any batch of rows, and different keys give independent draws.

    Examples
    --------
    >>> from pacbayes.data.rows import row_hashes
    >>> from pacbayes._utils.seeds import draw_key
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> np.bincount(draw_classifiers(row_hashes(X, draw_key(0)), integer_weights(np.array([0.25, 0.0, 0.75])))).tolist()
    [249, 0, 751]
    """
    uniform = hashes >> np.uint64(64 - BITS)
    return np.searchsorted(np.cumsum(weights), uniform.astype(np.int64), side="right")


def weighted_vote(weights: IntegerWeights, y_pred: Predictions, labels: Labels) -> Codes:
    """Label codes of a weighted vote, from the predictions of all classifiers, shape (H, n).

    Equal to `majority`: sums of integers below 2^53 are exact in any order.
    """
    used = np.flatnonzero(weights)
    summands, n = weights[used].astype(np.float64), y_pred.shape[1]
    winners = np.empty(n, dtype=np.intp)
    step = max(1, _BLOCK_SIZE // used.size)
    for start in range(0, n, step):
        block = y_pred[used, start : start + step]
        # Allocate memory for predicted labels only.
        codes = np.array(_candidate_codes(block, labels.size))
        sums = np.stack([summands @ (block == code) for code in codes], axis=-1)
        winners[start : start + step] = codes[vote_winners(sums, labels[codes])]
    return winners


def vote_sums(members: Members, X: Any, chosen: Rows, weights: IntegerWeights, coding: Coding) -> FloatArray:
    """Sum of the weights of the chosen classifiers that vote for each label, exact, shape (n, labels)."""
    n, summands = count_rows(X), weights.astype(np.float64)
    votes = np.zeros((n, coding.labels.size))
    step = max(1, _BLOCK_SIZE // chosen.size)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        y_pred = members.predict(X if rows.size == n else pick_preprocessed(X, rows), chosen, coding)
        votes = _add_columns(votes, coding.labels.size)
        for code in _candidate_codes(y_pred, coding.labels.size):
            # Integers below 2^53: the product is exact in any order.
            votes[rows, code] = summands @ (y_pred == code)
    return votes


def majority(members: Members, X: Any, weights: IntegerWeights, coding: Coding) -> Codes:
    """Predict by weighted vote, with ties as in `vote_winners`.

    Classifiers predict in the order of decreasing weight, only for rows whose vote the remaining weight could change.
    """
    order = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]
    votes = np.zeros((count_rows(X), coding.labels.size))
    undecided = np.arange(len(votes))
    remaining = 2**BITS
    for chosen in np.split(order, _stages(weights[order])):
        part = X if undecided.size == len(votes) else pick_preprocessed(X, undecided)
        more = vote_sums(members, part, chosen, weights[chosen], coding)
        votes = _add_columns(votes, more.shape[1])
        votes[undecided] += more
        remaining -= int(weights[chosen].sum())
        first_two = np.partition(votes[undecided], votes.shape[1] - 2, axis=1)[:, -2:]
        # If equal, a tie is still possible, which the first label wins.
        undecided = undecided[first_two[:, 1] - first_two[:, 0] <= remaining]
        if undecided.size == 0:
            break
    return vote_winners(votes, coding.labels)


def vote_winners(votes: FloatArray, labels: Labels) -> Codes:
    """Label codes with the most votes, shape (..., labels); ties go to the smallest label.

    Ties are broken by the labels, not by class codes: some classes may only occur in validation rows, on which the vote
    must not depend.

    Examples
    --------
    >>> vote_winners(np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 1.0]]), np.array(["b", "c", "a"]))
    array([2, 1])
    """
    order = np.argsort(labels[: votes.shape[-1]], kind="stable")
    winners: Codes = order[votes[..., order].argmax(axis=-1)]
    return winners


def _candidate_codes(y_pred: Predictions, n_labels: int) -> list[int]:
    """Codes that may occur in predictions: all if they are few, else those that do occur."""
    return list(range(n_labels)) if n_labels <= _FEW_LABELS else np.flatnonzero(np.bincount(y_pred.ravel())).tolist()


def _add_columns(votes: FloatArray, columns: int) -> FloatArray:
    """Add columns of zeros for new labels."""
    return votes if votes.shape[1] == columns else np.pad(votes, ((0, 0), (0, columns - votes.shape[1])))


def _stages(weights: IntegerWeights) -> list[int]:
    """Split points of decreasing weights: after 1/2 of the total weight, after 1/2 of the rest, ...

    Examples
    --------
    >>> _stages(np.array([2**50] * 4))
    [3]
    """
    sums = np.cumsum(weights)
    thresholds = [2**BITS - (2**BITS >> halving) for halving in range(1, 8)]
    cuts = np.searchsorted(sums, thresholds, side="right") + 1
    return sorted({int(cut) for cut in cuts if cut < weights.size})
