r"""Rules, ways to predict with the classifiers of a set: votes with their ties, draws by a key, one classifier.

A soft vote says the class with the largest mean of calibrated probabilities, a hard one that of most weight.

Fixed before any validation row is looked at, each is one deterministic classifier, and its errors on `m` validation
rows are binomial.  Of several rules with levels that sum to :math:`\delta` all limits hold at once with probability
:math:`1-\delta`, hence so does the smallest: equation (rules) of docs/mathematics.md.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes._utils.arrays import Codes, FloatArray, Labels, Rows, usual_float_errors
from pacbayes._utils.checks import need, need_array, need_choice, read_only
from pacbayes.data.rows import number_of_rows
from pacbayes.ensemble.calibration import mean_margins
from pacbayes.ensemble.members import Answers, Calibrated, Coding, Members, pick_prepared

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


def check_parts(parts: Any, name: str) -> None:
    """Raise unless weights are whole multiples of 2^-52 with the sum one."""
    need_array(parts, name, "i", (None,))
    inside = parts.size > 0 and bool((parts >= 0).all() and (parts <= 2**BITS).all())
    need(inside and sum(parts.tolist()) == 2**BITS, name, "must be whole multiples of 2^-52 with the sum one")


#: Ways to predict: the largest mean probability, draws by a key, a weighted vote, one classifier.
SOFT = "soft"
VOTINGS = (SOFT, "stochastic", "majority", "best")
#: The rule that holds most of delta: what the training rows recommend.
PROPOSAL = "proposal"
#: Rules whose weights the validation rows find.
POSTERIOR, OCCAM = "posterior", "Occam"
#: Where a rule's bound comes from: its own errors; draws by a posterior; twice these for a vote; the best of all single
#: classifiers.
EXACT, KL, TWICE_KL, SINGLES = "exact", "kl", "twice kl", "Occam"
# Answers of all classifiers that are held at once.
_ANSWERS = 4_000_000
# To look which labels are among answers takes as long as to count the votes of so many.
_FEW = 8


@dataclass(frozen=True, eq=False)
class Rule:
    """One way to predict with the classifiers of a set.

    Examples
    --------
    >>> from pacbayes.certificates.voting import integer_weights
    >>> rule = Rule("majority", "proposal", integer_weights(np.array([0.5, 0.25, 0.25])))
    >>> rule.index, rule.bound
    (0, 'exact')
    """

    #: How it predicts: a key of `certificates_`.
    voting: str
    #: "proposal", or the name of another that is tested beside it.
    name: str
    #: In whole multiples of 2^-52, shape (H,); None where the validation rows find them.
    weights: Counts | None
    #: Where its bound comes from.
    bound: str = EXACT
    #: Its share of delta, as `Plan` hands it out; 0 as long as it has none.
    level: float = 0.0
    #: Of a vote by mean probabilities: how scores become probabilities, for each classifier with a weight.
    soft: Calibrated | None = None
    #: Where rows come in groups: the bet on their losses, fixed on training rows; None for Chernoff's limit.
    bet: float | None = None

    def __post_init__(self) -> None:
        need_choice(self.voting, "Rule.voting", VOTINGS)
        need(type(self.name) is str, "Rule.name", "must be text")
        need_choice(self.bound, "Rule.bound", (EXACT, KL, TWICE_KL, SINGLES))
        need(isinstance(self.level, float) and 0.0 <= self.level < 1.0, "Rule.level", "must be a share of delta")
        need((self.bound == EXACT) == (self.weights is not None), "Rule.weights", "must be fixed for its own errors")
        if self.weights is not None:
            check_parts(self.weights, "Rule.weights")
            read_only(self.weights)
            alone = self.voting != "best" or np.count_nonzero(self.weights) == 1
            need(alone, "Rule.weights", "must be one classifier")
        bet = self.bet is None or (type(self.bet) is float and self.bound == EXACT and 1e-6 <= self.bet < 1.0)
        need(bet, "Rule.bet", "must lie between 0 and 1, for a rule that is fixed")
        need((self.voting == SOFT) == isinstance(self.soft, Calibrated), "Rule.soft", "must be there for a soft vote")
        if self.soft is not None:
            chosen = [] if self.weights is None else np.flatnonzero(self.weights).tolist()
            need(sorted(self.soft.maps) == chosen, "Rule.soft", "must be for each classifier with a weight")

    @property
    def index(self) -> int:
        """The classifier with the largest weight: the only one, where the rule is one classifier."""
        assert self.weights is not None
        return int(np.argmax(self.weights))


def draw_classifiers(hashes: NDArray[np.uint64], parts: Counts) -> Codes:
    r"""Draw a classifier for every row by its keyed hash, from weights in whole parts of :math:`2^{-52}`.

    A row's keyed hash (BLAKE2b) is a number of 64 bits; its first 52 are compared with the sums of the parts.  Equal
    rows get equal draws whatever other rows are asked about, and different keys give independent draws.

    Examples
    --------
    >>> from pacbayes.certificates.voting import integer_weights
    >>> from pacbayes.data.rows import row_hashes
    >>> from pacbayes._utils.seeds import draw_key
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> np.bincount(draw_classifiers(row_hashes(X, draw_key(0)), integer_weights(np.array([0.25, 0.0, 0.75])))).tolist()
    [249, 0, 751]
    """
    uniform = hashes >> np.uint64(64 - BITS)
    return np.searchsorted(np.cumsum(parts), uniform.astype(np.int64), side="right")


def said_of(
    rules: Sequence[Rule],
    answers: Answers,
    labels: Labels,
    hashes: NDArray[np.uint64] | None,
    probabilities: Callable[[Rule], FloatArray] | None = None,
) -> Iterator[Codes]:
    """Yield what each rule says of rows, in numbers of labels, from the answers of all classifiers, shape (H, n).

    `hashes` are the keyed hashes of the rows, where a rule draws, and `probabilities` gives those of a soft vote.  A
    vote has the same bits as `majority` gives it, and a draw is that of the same key.
    """
    votes = [rule.weights for rule in rules if rule.voting == "majority" and rule.weights is not None]
    winners = iter(_winners(answers, np.array(votes), labels) if votes else ())
    for rule in rules:
        assert rule.weights is not None
        if rule.voting == "majority":
            yield next(winners)
        elif rule.soft is not None:
            assert probabilities is not None
            yield rule.soft.classes[probabilities(rule).argmax(axis=1)].astype(np.intp)
        elif rule.voting == "stochastic":
            assert hashes is not None
            yield answers[draw_classifiers(hashes, rule.weights), np.arange(answers.shape[1])].astype(np.intp)
        else:
            yield answers[rule.index].astype(np.intp)


def _winners(answers: Answers, parts: Counts, labels: Labels) -> Codes:
    """Return the winners of several votes, shape (votes, n): whole numbers below 2^53, exact in any order."""
    weights, n = parts.astype(np.float64), answers.shape[1]
    used = np.flatnonzero(parts.any(axis=0))
    winners = np.empty((len(parts), n), dtype=np.intp)
    step = max(1, _ANSWERS // used.size)
    for start in range(0, n, step):
        block = answers[used, start : start + step]
        # Room for the labels that were said, not for all there are.
        codes = np.unique(block)
        sums = np.stack([weights[:, used] @ (block == code) for code in codes], axis=-1)
        winners[:, start : start + step] = codes[winners_of(sums, labels[codes])]
    return winners


def soft_shares(rule: Rule, members: Members, X: Any) -> FloatArray:
    """Return the mean probabilities of a soft vote for prepared rows, shape (n, learnt classes).

    Classes are in their own order: of several with the largest probability the first wins.
    """
    assert rule.soft is not None
    assert rule.weights is not None
    return rule.soft.shares(members.mean_probabilities(X, weights_of(rule.weights), rule.soft))


def soft_confidences(soft: Calibrated, shares: FloatArray, n_classes: int) -> FloatArray:
    """Return by how much each class is ahead of the others in a soft vote, shape (n, classes); NaN if not learnt."""
    margins = np.full((len(shares), n_classes), np.nan)
    margins[:, soft.classes] = mean_margins(shares)
    return margins


def say(voting: str, parts: Counts, members: Members, X: Any, hashes: Any, coding: Coding) -> Codes:
    """Return the numbers of the labels that weights `parts` give prepared rows in a way of predicting.

    ``hashes()`` gives the keyed hashes of the rows as they were given.
    """
    if voting == "majority":
        return majority(members, X, parts, coding)
    if voting == "stochastic":
        return members.answers_each(X, draw_classifiers(hashes(), parts), coding)
    return members.answers_each(X, np.full(number_of_rows(X), np.argmax(parts), dtype=np.intp), coding)


def vote_sums(members: Members, X: Any, chosen: Rows, parts: Counts, coding: Coding) -> FloatArray:
    """Return for every row and label the sum of `parts` over the chosen classifiers that vote for it, exactly."""
    n, weights = number_of_rows(X), parts.astype(np.float64)
    votes = np.zeros((n, coding.labels.size))
    step = max(1, _ANSWERS // chosen.size)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        answers = members.answers(X if rows.size == n else pick_prepared(X, rows), chosen, coding)
        votes = _widened(votes, coding.labels.size)
        for code in _said(answers, coding.labels.size):
            # Whole numbers below 2^53: the product is exact whatever the order of its terms.
            votes[rows, code] = weights @ (answers == code)
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


def _said(answers: Answers, n_labels: int) -> list[int]:
    """Return the numbers of labels that may be among answers: all of a few, those that are of many."""
    return list(range(n_labels)) if n_labels <= _FEW else np.flatnonzero(np.bincount(answers.ravel())).tolist()


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
