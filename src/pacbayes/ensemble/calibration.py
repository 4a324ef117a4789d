r"""Probabilities of classes from the scores of one classifier: Platt's map, for any number of classes.

With one score :math:`s_c` per class, :math:`p_c \propto e^{a (s_c - m_c) + b_c}`: one slope :math:`a \ge 0` and a bias
per class, with the least cross-entropy to smoothed targets.  A row of class c, of which there are :math:`n_c`, has the
target :math:`1 - 1/(n_c + 2)` for its own class, and the rest shared equally among the others: equation (calibration)
of docs/mathematics.md.  Decisions of pairs of classes are coupled first, by equation (coupling).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray, Labels, Rows, usual_float_errors
from pacbayes._utils.checks import need_array, read_only
from pacbayes.data.dataset import one_label_each
from pacbayes.data.rows import copy_rows, number_of_rows

#: Decisions of one-vs-one machines, a column for each pair of classes in order, positive: the second of the pair.
PAIRS = "pairs"
#: A decision value per class; of two classes one column, positive: the second.
DECISIONS = "decisions"
#: A probability per class; a row with NaN knows nothing.
PROBABILITIES = "probabilities"
#: One column: the number of the class that was answered; any other number is no class.
ANSWERS = "answers"
#: All kinds of scores.
KINDS = (PAIRS, DECISIONS, PROBABILITIES, ANSWERS)
#: Probabilities are whole multiples of this: what rounding makes of them in sums is then exact.
GRID = 2.0**-20

# No score and no product of a score with a slope is larger in size.
#: No score and no product of a score with a slope is larger in size.
LARGEST = 1e300
# Training scores larger than their median size by this factor are cut.
_OUTLYING = 1e6
# Scores whose range is smaller are constant: the slope of others would be infinite.
_LEAST_RANGE = 1e-250
# The logit of one class against another, before coupling, is no larger in size.
_LARGEST_LOGIT = 30.0
# Newton's method: steps, the least part of a step, and the gain that is expected of the last step.
_MOST_STEPS, _LEAST_PART, _LAST_GAIN = 100, 2.0**-40, 1e-9

# A loss, its gradient and its Hessian.
_Loss = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""A map from scores to probabilities: :math:`p_c \propto e^{a (s_c - m_c) + b_c}`.

    Scores per class are :math:`s = (-d/2, d/2)` of one decision value d; otherwise the decision values; with
    probabilities :math:`s_c = \ln((n p_c + 1/k)/(n + 1))`; with pairs of more than two classes
    :math:`s_c = -\ln(\sum_{j \ne c} 1/r_{cj} - (k - 2))`, where :math:`r_{cj}`, the logistic function of
    `pair_slope` times the decision, is the probability that c beats j.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    n : int
        The number of training rows it was fitted on.
    slope : float
        :math:`a`, at least 0.
    shift : ndarray of shape (k,)
        :math:`m`, the centre of the scores.
    bias : ndarray of shape (k,)
        :math:`b`.
    pair_slope : float
        1 but for pairs of more than two classes.
    table : ndarray of shape (k + 1, k), or None
        For answers alone: the probabilities given each answer, the last line for those that are no class.

    Examples
    --------
    >>> platt = Calibration(DECISIONS, 100, 2.0, np.zeros(2), np.array([0.5, -0.5]))
    >>> platt(np.array([[-1.0], [0.5]])).round(4)
    array([[0.9526, 0.0474],
           [0.5   , 0.5   ]])
    """

    kind: str
    n: int
    slope: float
    shift: FloatArray
    bias: FloatArray
    pair_slope: float = 1.0
    table: FloatArray | None = None

    def __post_init__(self) -> None:
        read_only(self.shift, self.bias, self.table)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.shift.size

    @property
    def limit(self) -> float:
        """The largest size of a score: times the slope it is finite."""
        return LARGEST / max(1.0, self.slope)

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of all classes, shape (rows, k), in whole multiples of `GRID`.

        Those of a row have the same bits whichever rows stand beside it.
        """
        found = _checked(self.kind, scores, self.n_classes)
        with usual_float_errors():
            if self.table is not None:
                chances = self.table[_answered(found, self.n_classes)]
            else:
                powers = np.exp(self._logits(self._per_class(found)))
                chances = np.ascontiguousarray((powers / _added(powers)).T)
            return np.asarray(np.rint(chances / GRID) * GRID)

    def _per_class(self, scores: FloatArray) -> FloatArray:
        return _per_class(self.kind, scores, self.n_classes, self.n, self.pair_slope, self.limit)

    def _logits(self, per_class: FloatArray) -> FloatArray:
        """Return the logits of all classes, shape (k, rows), the largest of each row moved to 0."""
        logits = self.slope * (per_class - self.shift[:, None]) + self.bias[:, None]
        return np.asarray(logits - logits.max(axis=0))

    def _log_loss(self, scores: FloatArray, codes: Rows) -> float:
        if self.table is not None:
            return float(-np.log(self.table[_answered(scores, self.n_classes), codes]).sum())
        logits = self._logits(self._per_class(scores))
        own = logits[codes, np.arange(codes.size)]
        return float((np.log(_added(np.exp(logits))) - own).sum())


def calibrate(kind: str, scores: FloatArray, codes: Rows, n_classes: int) -> tuple[Calibration, float]:
    r"""Return the map fitted to scores of rows of known classes, and its total log-loss on these rows.

    The scores are those of classifiers that did not see the row.  Where they say nothing, or the opposite of what they
    should (:math:`a < 0`), the slope is 0 and the probabilities are the classes' shares of all targets: the least
    cross-entropy without a slope.  Of answers those with answer h and class c are counted:
    :math:`p_{c|h} = (n_{hc} + q_c)/(n_h + 1)` with :math:`q_c = (n_c + 1/k)/(n + 1)`.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    scores : ndarray of shape (n, columns)
    codes : ndarray of int, shape (n,)
        The classes, from 0 to k - 1; some may have no row.
    n_classes : int
        k, at least 2.

    Returns
    -------
    calibration : Calibration
    log_loss : float
        :math:`-\sum_i \ln p_i`, with :math:`p_i` the probability, not rounded, of the class of row i.

    Examples
    --------
    >>> scores, codes = np.array([[-2.0], [-1.0], [0.5], [-0.5], [1.0], [2.0]]), np.array([0, 0, 0, 1, 1, 1])
    >>> calibration, log_loss = calibrate(DECISIONS, scores, codes, 2)
    >>> round(calibration.slope, 3), round(log_loss, 3)
    (0.63, 3.079)
    >>> calibration(np.array([[0.0], [1.0]])).round(3)
    array([[0.5  , 0.5  ],
           [0.347, 0.653]])
    """
    found = _checked(kind, scores, n_classes)
    counts = np.bincount(codes, minlength=n_classes).astype(np.float64)
    with usual_float_errors():
        fit = _counted if kind == ANSWERS else _mapped
        calibration = fit(kind, found, codes, counts)
        return calibration, calibration._log_loss(found, codes)


def _counted(kind: str, scores: FloatArray, codes: Rows, counts: FloatArray) -> Calibration:
    """Return the table of classes given answers."""
    k = counts.size
    cells = np.bincount(_answered(scores, k) * k + codes, minlength=(k + 1) * k).reshape(k + 1, k)
    shares = (counts + 1.0 / k) / (codes.size + 1.0)
    table = (cells + shares) / (cells.sum(axis=1, keepdims=True) + 1.0)
    return Calibration(kind, codes.size, 0.0, np.zeros(k), np.zeros(k), table=table)


def _mapped(kind: str, scores: FloatArray, codes: Rows, counts: FloatArray) -> Calibration:
    """Return the map with the least cross-entropy of those with a slope of at least 0."""
    n, k, limit = codes.size, counts.size, LARGEST
    if kind in (PAIRS, DECISIONS):
        limit = min(limit, _OUTLYING * _median_size(scores))
    pair_slope = _pooled_slope(scores, codes, counts, limit) if kind == PAIRS and k > 2 else 1.0
    per_class = _per_class(kind, scores, k, n, pair_slope, limit)
    shift = per_class.mean(axis=1)
    # Only differences between classes count; against those of the first the gauge is fixed.
    contrasts = per_class - shift[:, None]
    contrasts -= contrasts[0].copy()
    slope, *others = _least_cross_entropy(contrasts, codes, counts).tolist()
    bias = np.array([0.0, *others])
    return Calibration(kind, n, slope, shift, bias - bias.mean(), pair_slope)


def _least_cross_entropy(contrasts: FloatArray, codes: Rows, counts: FloatArray) -> FloatArray:
    """Return the slope, at least 0, and the biases against the first class with the least cross-entropy."""
    k = counts.size
    rest = 1.0 / ((counts + 2.0) * (k - 1))
    more = 1.0 - k * rest
    targets = counts @ rest + counts * more
    # The least of those without a slope.
    start = np.array([0.0, *np.log(targets[1:] / targets[0]).tolist()])
    scale = float(np.abs(contrasts).max())
    if not (scale > _LEAST_RANGE and bool((contrasts.min(axis=1) < contrasts.max(axis=1)).any())):
        return start
    x = contrasts / scale
    # The loss is linear in the targets: all that it needs of them are sums.
    wanted = float(rest[codes] @ x.sum(axis=0) + more[codes] @ x[codes, np.arange(codes.size)])
    found = _least(_cross_entropy(x[1:], np.array([wanted, *targets[1:].tolist()])), start)
    found[0] /= scale
    return found if found[0] > 0.0 else start


def _pooled_slope(scores: FloatArray, codes: Rows, counts: FloatArray, limit: float) -> float:
    """Return the slope of the decisions of all pairs, each about the rows of its two classes, without a bias."""
    signed, targets = [], []
    for column, (i, j) in enumerate(combinations(range(counts.size), 2)):
        rows = np.flatnonzero((codes == i) | (codes == j))
        own = codes[rows]
        # Positive: the pair's decision is right.
        signed.append(np.where(own == j, 1.0, -1.0) * _tamed(scores[rows, column], limit))
        targets.append(1.0 - 1.0 / (counts[own] + 2.0))
    x = np.concatenate(signed)
    scale = float(np.abs(x).max())
    if not scale > _LEAST_RANGE:
        return 0.0
    x /= scale
    loss = _cross_entropy(x[None], np.array([np.concatenate(targets) @ x, 0.0]))

    def without_bias(slope: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, gradient, hessian = loss(np.array([slope[0], 0.0]))
        return value, gradient[:1], hessian[:1, :1]

    return max(0.0, float(_least(without_bias, np.zeros(1))[0]) / scale)


def _cross_entropy(x: FloatArray, sums: FloatArray) -> _Loss:
    """Return the cross-entropy as a function of a slope and of biases against the first class.

    `x` are the scores of the others against the first, shape (k - 1, n), and `sums` the gradient's part of the targets.
    """
    k, n = len(x) + 1, x.shape[1]
    places = np.arange(1, k)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        logits = parameters[0] * x + parameters[1:, None]
        top = np.maximum(logits.max(axis=0), 0.0)
        powers = np.exp(logits - top)
        total = powers.sum(axis=0) + np.exp(-top)
        value = float((np.log(total) + top).sum() - parameters @ sums)
        # The first line: the mean score of each row; then the probabilities.
        means = np.empty((k, n))
        np.divide(powers, total, out=means[1:])
        weighted = means[1:] * x
        weighted.sum(axis=0, out=means[0])
        first, second = means.sum(axis=1), np.zeros((k, k))
        second[places, places] = first[1:]
        second[0, 0] = np.vdot(weighted, x)
        second[0, 1:] = second[1:, 0] = weighted.sum(axis=1)
        # A trace of the first part: where all rows are sure, rounding would leave a difference that is not positive.
        gradient, hessian = first - sums, second - means @ means.T
        hessian[np.diag_indices(k)] += 1e-14 * second.diagonal()
        return value, gradient, hessian

    return loss


def _least(loss: _Loss, start: FloatArray) -> FloatArray:
    """Return where a convex loss is least: Newton's method, steps halved until the loss falls."""
    at = start
    value, gradient, hessian = loss(at)
    for _ in range(_MOST_STEPS):
        # In units of its own curvature no parameter is small; a bit more than 1 there, and no matrix is singular.
        units = 1.0 / np.sqrt(np.maximum(hessian.diagonal(), 1e-100))
        scaled = hessian * units * units[:, None]
        np.fill_diagonal(scaled, 1.0 + 1e-13)
        step = np.linalg.solve(scaled, gradient * units) * units
        gain, part = float(gradient @ step), 1.0
        if gain <= _LAST_GAIN:
            return np.asarray(at - step)
        while True:
            tried = loss(at - part * step)
            # Half of what a parabola promises: far beyond the least value all is flat, and no step leads back.  Within
            # rounding a step may seem to lose.
            if tried[0] <= value - 0.25 * part * gain + 1e-13 * abs(value):
                break
            part /= 2.0
            if part < _LEAST_PART:
                return at
        at = at - part * step
        value, gradient, hessian = tried
    return at


def _per_class(kind: str, scores: FloatArray, n_classes: int, n: int, pair_slope: float, limit: float) -> FloatArray:
    """Return a score per class, shape (k, rows): element by element, in the same way whichever rows are asked.

    Lines are contiguous: NumPy computes functions of strided numbers in other ways, with other last bits.
    """
    if kind == PROBABILITIES:
        chances = np.ascontiguousarray(scores.T)
        chances = np.where(np.isnan(chances).any(axis=0), 1.0 / n_classes, np.clip(chances, 0.0, 1.0))
        return np.asarray(np.log((n * chances + 1.0 / n_classes) / (n + 1.0)))
    if n_classes == 2:
        half = _tamed(scores[:, 0], limit) / 2.0
        return np.stack([-half, half])
    if kind == DECISIONS:
        return _tamed(scores.T, limit)
    return _coupled(scores, n_classes, pair_slope)


def _coupled(scores: FloatArray, n_classes: int, slope: float) -> FloatArray:
    r"""Return the logs of probabilities coupled from those of pairs, not normalised: that changes no softmax.

    As :math:`1/r_{cj} = 1 + e^{-a d_{cj}}`, with :math:`d_{cj}` the decision for c against j, :math:`1/p_c = \sum_{j
    \ne c} 1/r_{cj} - (k - 2) = 1 + \sum_{j \ne c} e^{-a d_{cj}}`: nothing is subtracted.
    """
    inverse = np.ones((n_classes, len(scores)))
    limit = LARGEST / max(1.0, slope)
    for column, (i, j) in enumerate(combinations(range(n_classes), 2)):
        logits = np.clip(slope * _tamed(scores[:, column], limit), -_LARGEST_LOGIT, _LARGEST_LOGIT)
        inverse[i] += np.exp(logits)
        inverse[j] += np.exp(-logits)
    return np.asarray(-np.log(inverse))


def _tamed(values: FloatArray, limit: float) -> FloatArray:
    """Return values within limits, contiguous; what is no number is 0."""
    tamed = np.array(values, order="C")
    np.copyto(tamed, 0.0, where=np.isnan(tamed))
    return np.clip(tamed, -limit, limit, out=tamed)


def _median_size(scores: FloatArray) -> float:
    """Return the middle size of the scores that are neither 0 nor NaN, the middle one of all columns'; 1 without any.

    One column after the other: pairs have many.
    """
    found = []
    for column in scores.T:
        sizes = np.abs(column)
        sizes = sizes[sizes > 0.0]
        if sizes.size:
            middle = sizes.size // 2
            sizes.partition(middle)
            found.append(float(sizes[middle]))
    return min(sorted(found)[len(found) // 2], LARGEST / _OUTLYING) if found else 1.0


def _answered(scores: FloatArray, n_classes: int) -> Rows:
    """Return the numbers of answered classes, and the number of classes for any that is none."""
    said = scores[:, 0]
    known = (said >= 0.0) & (said < n_classes) & (said == np.floor(said))
    return np.where(known, said, n_classes).astype(np.int64)


def _added(lines: FloatArray) -> FloatArray:
    """Return the sum of lines, in order: NumPy's own order depends on how long they are."""
    total: FloatArray = lines[0].copy()
    for line in lines[1:]:
        total += line
    return total


def columns_of(kind: str, n_classes: int) -> int:
    """Return how many columns scores of a kind have.

    Examples
    --------
    >>> [columns_of(kind, 4) for kind in KINDS], columns_of(DECISIONS, 2)
    ([6, 4, 4, 1], 1)
    """
    pairs = n_classes * (n_classes - 1) // 2
    return {PAIRS: pairs, DECISIONS: max(1, n_classes * (n_classes > 2)), PROBABILITIES: n_classes, ANSWERS: 1}[kind]


def _checked(kind: str, scores: FloatArray, n_classes: int) -> FloatArray:
    """Return scores as numbers in double precision, or raise if they have another shape than such scores have."""
    found: FloatArray = np.asarray(scores, dtype=np.float64)
    need_array(found, "scores", "f", (None, columns_of(kind, n_classes)), finite=False)
    return found


def kind_of(classifier: Any, n_classes: int, few: Any) -> str:
    """Return which scores a fitted classifier has: probabilities, decisions for so many classes, or answers alone.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.svm import LinearSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> kind_of(DummyClassifier().fit(X, y), 2, X), kind_of(LinearSVC().fit(X, y), 2, X)
    ('probabilities', 'decisions')
    """
    if not hasattr(classifier, "classes_"):
        return ANSWERS
    if hasattr(classifier, "predict_proba"):
        return PROBABILITIES
    if not hasattr(classifier, "decision_function"):
        return ANSWERS
    found, known = np.asarray(classifier.decision_function(copy_rows(few))), np.asarray(classifier.classes_)
    if known.size != n_classes or found.shape[1:] != (() if n_classes == 2 else (n_classes,)):
        return ANSWERS
    # Decisions of one-vs-one machines are not compared with each other; of three classes there are as many pairs.
    compared = n_classes == 2 or np.mean(known[found.argmax(axis=1)] == classifier.predict(copy_rows(few))) > 0.5
    return DECISIONS if compared else ANSWERS


def scores_of(classifier: Any, X: Any, kind: str, classes: Labels, said: Labels | None = None) -> FloatArray:
    """Return what a fitted classifier says of rows in numbers that `Calibration` takes, for some classes.

    It may know fewer of the classes: the others have probability zero, and lose by one in decisions.  `said` is what it
    answers, where that is known already.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> dummy = DummyClassifier(strategy="prior").fit([[0]] * 4, [0, 0, 0, 1])
    >>> scores_of(dummy, [[0]], "probabilities", np.array([0, 1, 2]))
    array([[0.75, 0.25, 0.  ]])
    """
    n, k = number_of_rows(X), classes.size
    if kind == ANSWERS:
        labels = one_label_each("predict", classifier.predict(copy_rows(X)), n) if said is None else said
        codes = np.minimum(np.searchsorted(classes, labels), k - 1)
        return np.where(classes[codes] == labels, codes, k).astype(np.float64)[:, None]
    method = "predict_proba" if kind == PROBABILITIES else "decision_function"
    found = np.asarray(getattr(classifier, method)(copy_rows(X)), dtype=np.float64)
    own = np.asarray(classifier.classes_)
    flat = kind == DECISIONS and own.size == 2 and found.ndim == 1
    if not flat and found.shape != (n, own.size):
        raise ValueError(
            f"{method} of {type(classifier).__name__} must give a number for each of {n} rows and "
            f"{own.size} classes, got shape {found.shape}"
        )
    if flat:
        if k == 2 and own.size == 2:
            return found[:, None]
        found = np.stack([-found, found], axis=1)
    if own.shape == classes.shape and bool((own == classes).all()):
        return found
    known = np.isin(own, classes)
    lowest = found.min(axis=1, keepdims=True) - 1.0 if kind == DECISIONS else np.zeros((n, 1))
    spread = np.repeat(lowest, k, axis=1)
    spread[:, np.searchsorted(classes, own[known])] = found[:, known]
    return spread


def mean_margins(probabilities: FloatArray) -> FloatArray:
    """Return by how much each class is ahead of the best other one, shape (n, classes).

    Examples
    --------
    >>> mean_margins(np.array([[0.75, 0.25, 0.0]]))
    array([[ 0.5 , -0.5 , -0.75]])
    """
    ordered = np.sort(probabilities, axis=1)
    first, second = ordered[:, -1:], ordered[:, -2:-1]
    # The best other class is the second best for the best one, and the best for all others.
    return np.where(probabilities == first, first - second, probabilities - first)
