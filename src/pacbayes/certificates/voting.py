"""Weights as whole numbers, votes with their ties, and draws by a key: exact, whatever is asked together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import Codes, FloatArray, Labels, Rows, usual_float_errors
from pacbayes.data.rows import number_of_rows
from pacbayes.ensemble.members import Coding, Members, Predictions, pick_prepared

#: Weights as whole numbers with the sum 2^52.
Counts = NDArray[np.int64]

BITS = 52


def integer_weights(weights: FloatArray) -> Counts:
    """Return weights as whole multiples of 2^-52 with the sum 2^52; the largest takes up what rounding leaves.

    Examples
    --------
    >>> parts = integer_weights(np.array([0.3, 0.7, 0.0]))
    >>> int(parts.sum()) == 2**52, int(parts[2])
    (True, 0)
    """
    with usual_float_errors():
        parts: Counts = np.rint(np.ldexp(weights / weights.sum(), BITS)).astype(np.int64)
    parts[np.argmax(parts)] += 2**BITS - int(parts.sum())
    return parts


def weights_of(parts: Counts) -> FloatArray:
    """Return the weights that the whole parts are, exactly."""
    return np.ldexp(parts.astype(np.float64), -BITS)


def parts_of_one(index: int, number: int) -> Counts:
    """Return the weights of a single classifier among so many, in whole multiples of 2^-52."""
    parts = np.zeros(number, dtype=np.int64)
    parts[index] = 2**BITS
    return parts


#: Ways to predict: the largest mean probability, draws by a key, a weighted vote, one classifier.
SOFT = "soft"
VOTINGS = (SOFT, "stochastic", "majority", "best")
#: The rule that holds most of delta: what the training rows recommend.
PRIMARY = "primary"
#: Rules whose weights the validation rows find.
POSTERIOR, OCCAM = "posterior", "Occam"
# Answers of all classifiers that are held at once.
_ANSWERS = 4_000_000
# To look which labels are among answers takes as long as to count the votes of so many.
_FEW = 8


def draw_classifiers(hashes: NDArray[np.uint64], parts: Counts) -> Codes:
    r"""Draw a classifier for every row by its keyed hash, from weights in whole parts of :math:`2^{-52}`.

    A row's keyed hash (BLAKE2b) is a number of 64 bits; its first 52 are compared with the sums of the parts.  Equal
    rows get equal draws whatever other rows are asked about, and different keys give independent draws.

    Examples
    --------
    >>> from pacbayes.data.rows import row_hashes
    >>> from pacbayes._utils.seeds import draw_key
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> np.bincount(draw_classifiers(row_hashes(X, draw_key(0)), integer_weights(np.array([0.25, 0.0, 0.75])))).tolist()
    [249, 0, 751]
    """
    uniform = hashes >> np.uint64(64 - BITS)
    return np.searchsorted(np.cumsum(parts), uniform.astype(np.int64), side="right")


def weighted_vote(parts: Counts, y_pred: Predictions, labels: Labels) -> Codes:
    """Return the number of the label that wins a vote for each row, from the answers of all classifiers, (H, n).

    The same bits as `majority` gives: whole numbers below 2^53 are exact in any order.
    """
    used = np.flatnonzero(parts)
    weights, n = parts[used].astype(np.float64), y_pred.shape[1]
    winners = np.empty(n, dtype=np.intp)
    step = max(1, _ANSWERS // used.size)
    for start in range(0, n, step):
        block = y_pred[used, start : start + step]
        # Room for the labels that were said, not for all there are.
        codes = np.array(_said(block, labels.size))
        sums = np.stack([weights @ (block == code) for code in codes], axis=-1)
        winners[start : start + step] = codes[winners_of(sums, labels[codes])]
    return winners


def vote_sums(members: Members, X: Any, chosen: Rows, parts: Counts, coding: Coding) -> FloatArray:
    """Return for every row and label the sum of `parts` over the chosen classifiers that vote for it, exactly."""
    n, weights = number_of_rows(X), parts.astype(np.float64)
    votes = np.zeros((n, coding.labels.size))
    step = max(1, _ANSWERS // chosen.size)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        y_pred = members.predict(X if rows.size == n else pick_prepared(X, rows), chosen, coding)
        votes = _widened(votes, coding.labels.size)
        for code in _said(y_pred, coding.labels.size):
            # Whole numbers below 2^53: the product is exact whatever the order of its terms.
            votes[rows, code] = weights @ (y_pred == code)
    return votes


def majority(members: Members, X: Any, parts: Counts, coding: Coding) -> Codes:
    """Return the number of the label with the largest weight behind it, of several the first: see `winners_of`.

    The heaviest classifiers are asked first.  Those left are asked about a row only while their weight together could
    still change its vote.
    """
    order = np.argsort(-parts, kind="stable")[: np.count_nonzero(parts)]
    votes = np.zeros((number_of_rows(X), coding.labels.size))
    undecided = np.arange(len(votes))
    left = 2**BITS
    for chosen in np.split(order, _cuts(parts[order])):
        part = X if undecided.size == len(votes) else pick_prepared(X, undecided)
        more = vote_sums(members, part, chosen, parts[chosen], coding)
        votes = _widened(votes, more.shape[1])
        votes[undecided] += more
        left -= int(parts[chosen].sum())
        first_two = np.partition(votes[undecided], votes.shape[1] - 2, axis=1)[:, -2:]
        # An equality may still become a tie, which goes to the first class.
        undecided = undecided[first_two[:, 1] - first_two[:, 0] <= left]
        if undecided.size == 0:
            break
    return winners_of(votes, coding.labels)


def winners_of(votes: FloatArray, labels: Labels) -> Codes:
    """Return the number of the label with most votes in each row, shape (..., labels): of several the first.

    The first in the order of the labels themselves, whether or not they are classes: which labels are classes may be
    known from validation rows only, and a vote whose ties these rows decide would not have been fixed before.

    Examples
    --------
    >>> winners_of(np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 1.0]]), np.array(["b", "c", "a"]))
    array([2, 1])
    """
    order = np.argsort(labels[: votes.shape[-1]], kind="stable")
    winners: Codes = order[votes[..., order].argmax(axis=-1)]
    return winners


def _said(y_pred: Predictions, n_labels: int) -> list[int]:
    """Return the numbers of labels that may be among answers: all of a few, those that are of many."""
    return list(range(n_labels)) if n_labels <= _FEW else np.flatnonzero(np.bincount(y_pred.ravel())).tolist()


def _widened(votes: FloatArray, columns: int) -> FloatArray:
    """Return votes with columns of zeros for labels that were met since."""
    return votes if votes.shape[1] == columns else np.pad(votes, ((0, 0), (0, columns - votes.shape[1])))


def _cuts(parts: Counts) -> list[int]:
    """Return where to pause in a descending list of parts: after 1/2 of the whole, then after 1/2 of the rest, ...

    Examples
    --------
    >>> _cuts(np.array([2**50] * 4))
    [3]
    """
    sums = np.cumsum(parts)
    thresholds = [2**BITS - (2**BITS >> halving) for halving in range(1, 8)]
    cuts = np.searchsorted(sums, thresholds, side="right") + 1
    return sorted({int(cut) for cut in cuts if cut < parts.size})
