r"""Calibration of the scores of a classifier by Platt's map, for any number of classes.

With one score :math:`s_c` per class, :math:`p_c \propto e^{a (s_c - m_c) + b_c}`, where the slope :math:`a \ge 0` and
the biases :math:`b_c` minimise the cross-entropy to smoothed targets.  A row of class c, which has :math:`n_c` rows,
has the target :math:`1 - 1/(n_c + 2)` for its class, and the rest is divided equally among the others: equation
(calibration) of docs/mathematics.md.  Decision values of pairs of classes are coupled first, by equation (coupling).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray, Labels, Rows, default_errstate
from pacbayes._utils.checks import make_read_only, require_array
from pacbayes.data.dataset import flatten_predictions
from pacbayes.data.rows import copy_rows, count_rows

#: One-vs-one decision values, a column for each pair of classes in order; positive for the second class of the pair.
PAIRS = "pairs"
#: A decision value per class; for two classes one column, positive for the second class.
DECISIONS = "decisions"
#: A probability per class; rows with NaN are uninformative.
PROBABILITIES = "probabilities"
#: One column, the code of the predicted class; other numbers are predictions that are not classes.
LABELS = "labels"
#: All kinds of scores.
KINDS = (PAIRS, DECISIONS, PROBABILITIES, LABELS)
#: Probabilities are rounded to multiples of this, so that rounding errors of other libraries do not affect their sums.
GRID = 2.0**-20

#: Maximum absolute value of a score, and of a score times a slope.
LARGEST = 1e300
# Scores of training rows are clipped at this multiple of their median absolute value.
_OUTLIER_FACTOR = 1e6
# Scores with a smaller range are treated as constant: their slope would be infinite.
_MIN_RANGE = 1e-250
# Maximum absolute logit of a pair of classes before coupling.
_MAX_PAIR_LOGIT = 30.0
# Newton's method: maximum number of steps, minimum step size, and the expected decrease at which it stops.
_MAX_STEPS, _MIN_STEP_SIZE, _TOLERANCE = 100, 2.0**-40, 1e-9

# Loss, gradient and Hessian as functions of the parameters.
_Loss = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""Map from scores to probabilities: :math:`p_c \propto e^{a (s_c - m_c) + b_c}`.

    Scores per class are :math:`s = (-d/2, d/2)` for a single decision value d; the decision values themselves for
    several; :math:`s_c = \ln((n p_c + 1/k)/(n + 1))` for probabilities; and :math:`s_c = -\ln(\sum_{j \ne c} 1/r_{cj} -
    (k - 2))` for pairs of more than two classes, where :math:`r_{cj}`, the logistic function of `pair_slope` times the
    decision value, is the probability that c beats j.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    n : int
        Number of training rows that the map was fitted on.
    slope : float
        :math:`a`, at least 0.
    shift : ndarray of shape (k,)
        :math:`m`, the mean scores.
    bias : ndarray of shape (k,)
        :math:`b`.
    pair_slope : float
        Slope of the decision values of pairs; 1 unless there are more than two classes.
    table : ndarray of shape (k + 1, k), or None
        For `LABELS`, the probabilities given each prediction; the last row is for predictions that are not classes.

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
        make_read_only(self.shift, self.bias, self.table)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.shift.size

    @property
    def limit(self) -> float:
        """Maximum absolute value of a score, so that its product with the slope is finite."""
        return LARGEST / max(1.0, self.slope)

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Compute the probabilities of all classes, shape (rows, k), as multiples of `GRID`.

        The bits of a row do not depend on the other rows.
        """
        scores = _check_scores(self.kind, scores, self.n_classes)
        with default_errstate():
            if self.table is not None:
                probabilities = self.table[_decode_predictions(scores, self.n_classes)]
            else:
                powers = np.exp(self._logits(self._class_scores(scores)))
                probabilities = np.ascontiguousarray((powers / _sum_in_order(powers)).T)
            return np.asarray(np.rint(probabilities / GRID) * GRID)

    def _class_scores(self, scores: FloatArray) -> FloatArray:
        return _class_scores(self.kind, scores, self.n_classes, self.n, self.pair_slope, self.limit)

    def _logits(self, per_class: FloatArray) -> FloatArray:
        """Logits of all classes, shape (k, rows), shifted so that the largest of each row is 0."""
        logits = self.slope * (per_class - self.shift[:, None]) + self.bias[:, None]
        return np.asarray(logits - logits.max(axis=0))

    def _log_loss(self, scores: FloatArray, codes: Rows) -> float:
        if self.table is not None:
            return float(-np.log(self.table[_decode_predictions(scores, self.n_classes), codes]).sum())
        logits = self._logits(self._class_scores(scores))
        true_logits = logits[codes, np.arange(codes.size)]
        return float((np.log(_sum_in_order(np.exp(logits))) - true_logits).sum())


def calibrate(kind: str, scores: FloatArray, codes: Rows, n_classes: int) -> tuple[Calibration, float]:
    r"""Fit a calibration map to out-of-fold scores; return it with its total log-loss on these rows.

    If scores are uninformative or point the wrong way (:math:`a < 0`), the slope is 0 and the probabilities are the
    classes' shares of the targets, which minimise the cross-entropy without a slope.  For `LABELS`, predictions h of
    rows of class c are counted: :math:`p_{c|h} = (n_{hc} + q_c)/(n_h + 1)` with :math:`q_c = (n_c + 1/k)/(n + 1)`.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    scores : ndarray of shape (n, columns)
    codes : ndarray of int, shape (n,)
        Classes, from 0 to k - 1; some may have no rows.
    n_classes : int
        k, at least 2.

    Returns
    -------
    calibration : Calibration
    log_loss : float
        :math:`-\sum_i \ln p_i`, where :math:`p_i` is the probability of the class of row i before rounding.

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
    scores = _check_scores(kind, scores, n_classes)
    counts = np.bincount(codes, minlength=n_classes).astype(np.float64)
    with default_errstate():
        fit = _fit_table if kind == LABELS else _fit_map
        calibration = fit(kind, scores, codes, counts)
        return calibration, calibration._log_loss(scores, codes)


def _fit_table(kind: str, scores: FloatArray, codes: Rows, counts: FloatArray) -> Calibration:
    """Fit smoothed frequencies of the classes given the predicted label."""
    k = counts.size
    cells = np.bincount(_decode_predictions(scores, k) * k + codes, minlength=(k + 1) * k).reshape(k + 1, k)
    shares = (counts + 1.0 / k) / (codes.size + 1.0)
    table = (cells + shares) / (cells.sum(axis=1, keepdims=True) + 1.0)
    return Calibration(kind, codes.size, 0.0, np.zeros(k), np.zeros(k), table=table)


def _fit_map(kind: str, scores: FloatArray, codes: Rows, counts: FloatArray) -> Calibration:
    """Fit the map with minimum cross-entropy and a nonnegative slope."""
    n, k, limit = codes.size, counts.size, LARGEST
    if kind in (PAIRS, DECISIONS):
        limit = min(limit, _OUTLIER_FACTOR * _compute_median_magnitude(scores))
    pair_slope = _fit_pooled_slope(scores, codes, counts, limit) if kind == PAIRS and k > 2 else 1.0
    per_class = _class_scores(kind, scores, k, n, pair_slope, limit)
    shift = per_class.mean(axis=1)
    # Softmax depends on differences between classes only: fix the gauge by the first class.
    contrasts = per_class - shift[:, None]
    contrasts -= contrasts[0].copy()
    slope, *biases = _minimize_cross_entropy(contrasts, codes, counts).tolist()
    bias = np.array([0.0, *biases])
    return Calibration(kind, n, slope, shift, bias - bias.mean(), pair_slope)


def _minimize_cross_entropy(contrasts: FloatArray, codes: Rows, counts: FloatArray) -> FloatArray:
    """Minimise the cross-entropy over a nonnegative slope and the biases relative to the first class."""
    k = counts.size
    # The target of a row is `rest` for every class, plus `more` for its own class.
    rest = 1.0 / ((counts + 2.0) * (k - 1))
    more = 1.0 - k * rest
    targets = counts @ rest + counts * more
    # The minimum without a slope.
    start = np.array([0.0, *np.log(targets[1:] / targets[0]).tolist()])
    scale = float(np.abs(contrasts).max())
    if not (scale > _MIN_RANGE and bool((contrasts.min(axis=1) < contrasts.max(axis=1)).any())):
        return start
    x = contrasts / scale
    # The loss is linear in the targets and depends on their sums only.
    slope_target = float(rest[codes] @ x.sum(axis=0) + more[codes] @ x[codes, np.arange(codes.size)])
    parameters = _newton(_make_cross_entropy(x[1:], np.array([slope_target, *targets[1:].tolist()])), start)
    parameters[0] /= scale
    return parameters if parameters[0] > 0.0 else start


def _fit_pooled_slope(scores: FloatArray, codes: Rows, counts: FloatArray, limit: float) -> float:
    """Fit a common slope, without bias, to the decision values of all pairs, each on the rows of its two classes."""
    signed, targets = [], []
    for column, (i, j) in enumerate(combinations(range(counts.size), 2)):
        rows = np.flatnonzero((codes == i) | (codes == j))
        y_true = codes[rows]
        # Positive if the decision is correct.
        signed.append(np.where(y_true == j, 1.0, -1.0) * _clip_finite(scores[rows, column], limit))
        targets.append(1.0 - 1.0 / (counts[y_true] + 2.0))
    x = np.concatenate(signed)
    scale = float(np.abs(x).max())
    if not scale > _MIN_RANGE:
        return 0.0
    x /= scale
    loss = _make_cross_entropy(x[None], np.array([np.concatenate(targets) @ x, 0.0]))

    def without_bias(slope: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, gradient, hessian = loss(np.array([slope[0], 0.0]))
        return value, gradient[:1], hessian[:1, :1]

    return max(0.0, float(_newton(without_bias, np.zeros(1))[0]) / scale)


def _make_cross_entropy(x: FloatArray, sums: FloatArray) -> _Loss:
    """Create the cross-entropy as a function of the slope and the biases relative to the first class.

    `x` holds the scores relative to the first class, shape (k - 1, n), and `sums` the targets' part of the gradient.
    """
    k, n = len(x) + 1, x.shape[1]
    diagonal = np.arange(1, k)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        logits = parameters[0] * x + parameters[1:, None]
        top = np.maximum(logits.max(axis=0), 0.0)
        powers = np.exp(logits - top)
        total = powers.sum(axis=0) + np.exp(-top)
        value = float((np.log(total) + top).sum() - parameters @ sums)
        # The first row holds the mean score of each row of data, the others the probabilities.
        means = np.empty((k, n))
        np.divide(powers, total, out=means[1:])
        weighted = means[1:] * x
        weighted.sum(axis=0, out=means[0])
        first, second = means.sum(axis=1), np.zeros((k, k))
        second[diagonal, diagonal] = first[1:]
        second[0, 0] = np.vdot(weighted, x)
        second[0, 1:] = second[1:, 0] = weighted.sum(axis=1)
        # Regularise: for rows of probability one, rounding would make the difference of the two terms nonpositive.
        gradient, hessian = first - sums, second - means @ means.T
        hessian[np.diag_indices(k)] += 1e-14 * second.diagonal()
        return value, gradient, hessian

    return loss


def _newton(loss: _Loss, start: FloatArray) -> FloatArray:
    """Minimise a convex loss by Newton's method with backtracking."""
    parameters = start
    value, gradient, hessian = loss(parameters)
    for _ in range(_MAX_STEPS):
        # Scale by the curvature, so that no parameter is small; the diagonal is slightly above 1 against singularity.
        units = 1.0 / np.sqrt(np.maximum(hessian.diagonal(), 1e-100))
        scaled = hessian * units * units[:, None]
        np.fill_diagonal(scaled, 1.0 + 1e-13)
        step = np.linalg.solve(scaled, gradient * units) * units
        decrease, size = float(gradient @ step), 1.0
        if decrease <= _TOLERANCE:
            return np.asarray(parameters - step)
        while True:
            candidate = loss(parameters - size * step)
            # Require half the decrease of a parabola: far beyond the minimum the loss is flat, and no step leads back.
            # Rounding may make a step look worse.
            if candidate[0] <= value - 0.25 * size * decrease + 1e-13 * abs(value):
                break
            size /= 2.0
            if size < _MIN_STEP_SIZE:
                return parameters
        parameters = parameters - size * step
        value, gradient, hessian = candidate
    return parameters


def _class_scores(kind: str, scores: FloatArray, n_classes: int, n: int, pair_slope: float, limit: float) -> FloatArray:
    """Convert scores to scores per class, shape (k, rows), elementwise, so that rows do not affect each other.

    Arrays are contiguous, because NumPy's functions of strided arrays have other last bits.
    """
    if kind == PROBABILITIES:
        p = np.ascontiguousarray(scores.T)
        p = np.where(np.isnan(p).any(axis=0), 1.0 / n_classes, np.clip(p, 0.0, 1.0))
        return np.asarray(np.log((n * p + 1.0 / n_classes) / (n + 1.0)))
    if n_classes == 2:
        half = _clip_finite(scores[:, 0], limit) / 2.0
        return np.stack([-half, half])
    if kind == DECISIONS:
        return _clip_finite(scores.T, limit)
    return _couple(scores, n_classes, pair_slope)


def _couple(scores: FloatArray, n_classes: int, slope: float) -> FloatArray:
    r"""Compute the logarithms of coupled pairwise probabilities, up to a constant.

    As :math:`1/r_{cj} = 1 + e^{-a d_{cj}}`, with :math:`d_{cj}` the decision for c against j, :math:`1/p_c = \sum_{j
    \ne c} 1/r_{cj} - (k - 2) = 1 + \sum_{j \ne c} e^{-a d_{cj}}`, without cancellation.
    """
    inverse = np.ones((n_classes, len(scores)))
    limit = LARGEST / max(1.0, slope)
    for column, (i, j) in enumerate(combinations(range(n_classes), 2)):
        logits = np.clip(slope * _clip_finite(scores[:, column], limit), -_MAX_PAIR_LOGIT, _MAX_PAIR_LOGIT)
        inverse[i] += np.exp(logits)
        inverse[j] += np.exp(-logits)
    return np.asarray(-np.log(inverse))


def _clip_finite(values: FloatArray, limit: float) -> FloatArray:
    """Clip values to a contiguous array, with 0 for NaN."""
    clipped = np.array(values, order="C")
    np.copyto(clipped, 0.0, where=np.isnan(clipped))
    return np.clip(clipped, -limit, limit, out=clipped)


def _compute_median_magnitude(scores: FloatArray) -> float:
    """Compute the median over columns of the median absolute nonzero score; 1 if there are none.

    Works column by column to save memory, because there are many pairs.
    """
    medians = []
    for column in scores.T:
        magnitudes = np.abs(column)
        magnitudes = magnitudes[magnitudes > 0.0]
        if magnitudes.size:
            middle = magnitudes.size // 2
            magnitudes.partition(middle)
            medians.append(float(magnitudes[middle]))
    return min(sorted(medians)[len(medians) // 2], LARGEST / _OUTLIER_FACTOR) if medians else 1.0


def _decode_predictions(scores: FloatArray, n_classes: int) -> Rows:
    """Convert scores to codes of predicted classes; the number of classes for other predictions."""
    y_pred = scores[:, 0]
    known = (y_pred >= 0.0) & (y_pred < n_classes) & (y_pred == np.floor(y_pred))
    return np.where(known, y_pred, n_classes).astype(np.int64)


def _sum_in_order(rows: FloatArray) -> FloatArray:
    """Sum rows in order, because the order of NumPy's sum depends on their length."""
    total: FloatArray = rows[0].copy()
    for row in rows[1:]:
        total += row
    return total


def count_score_columns(kind: str, n_classes: int) -> int:
    """Count the columns of scores of a kind.

    Examples
    --------
    >>> [count_score_columns(kind, 4) for kind in KINDS], count_score_columns(DECISIONS, 2)
    ([6, 4, 4, 1], 1)
    """
    pairs = n_classes * (n_classes - 1) // 2
    return {PAIRS: pairs, DECISIONS: max(1, n_classes * (n_classes > 2)), PROBABILITIES: n_classes, LABELS: 1}[kind]


def _check_scores(kind: str, scores: FloatArray, n_classes: int) -> FloatArray:
    """Convert scores to float64; raise unless they have the shape of their kind."""
    checked: FloatArray = np.asarray(scores, dtype=np.float64)
    require_array(checked, "scores", "f", (None, count_score_columns(kind, n_classes)), finite=False)
    return checked


def select_score_kind(classifier: Any, n_classes: int, X: Any) -> str:
    """Select the kind of scores of a fitted classifier: probabilities, decision values, or predicted labels.

    The rows X are used to test whether the largest decision value determines the prediction.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.svm import LinearSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> select_score_kind(DummyClassifier().fit(X, y), 2, X), select_score_kind(LinearSVC().fit(X, y), 2, X)
    ('probabilities', 'decisions')
    """
    if not hasattr(classifier, "classes_"):
        return LABELS
    if hasattr(classifier, "predict_proba"):
        return PROBABILITIES
    if not hasattr(classifier, "decision_function"):
        return LABELS
    decisions, known = np.asarray(classifier.decision_function(copy_rows(X))), np.asarray(classifier.classes_)
    if known.size != n_classes or decisions.shape[1:] != (() if n_classes == 2 else (n_classes,)):
        return LABELS
    # Three classes have as many pairs: one-vs-one decision values have the same shape, but must not be compared.
    comparable = n_classes == 2 or np.mean(known[decisions.argmax(axis=1)] == classifier.predict(copy_rows(X))) > 0.5
    return DECISIONS if comparable else LABELS


def compute_scores(classifier: Any, X: Any, kind: str, classes: Labels, y_pred: Labels | None = None) -> FloatArray:
    """Compute the scores of a fitted classifier in the format of `Calibration`.

    Classes unknown to the classifier get probability zero, or one less than its smallest decision value.  `y_pred` are
    its predictions, if they are available.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> dummy = DummyClassifier(strategy="prior").fit([[0]] * 4, [0, 0, 0, 1])
    >>> compute_scores(dummy, [[0]], "probabilities", np.array([0, 1, 2]))
    array([[0.75, 0.25, 0.  ]])
    """
    n, k = count_rows(X), classes.size
    if kind == LABELS:
        labels = flatten_predictions("predict", classifier.predict(copy_rows(X)), n) if y_pred is None else y_pred
        codes = np.minimum(np.searchsorted(classes, labels), k - 1)
        return np.where(classes[codes] == labels, codes, k).astype(np.float64)[:, None]
    method = "predict_proba" if kind == PROBABILITIES else "decision_function"
    scores = np.asarray(getattr(classifier, method)(copy_rows(X)), dtype=np.float64)
    known = np.asarray(classifier.classes_)
    flat = kind == DECISIONS and known.size == 2 and scores.ndim == 1
    if not flat and scores.shape != (n, known.size):
        raise ValueError(
            f"{method} of {type(classifier).__name__} must give a number for each of {n} rows and "
            f"{known.size} classes, got shape {scores.shape}"
        )
    if flat:
        if k == 2:
            return scores[:, None]
        scores = np.stack([-scores, scores], axis=1)
    if known.shape == classes.shape and bool((known == classes).all()):
        return scores
    common = np.isin(known, classes)
    lowest = scores.min(axis=1, keepdims=True) - 1.0 if kind == DECISIONS else np.zeros((n, 1))
    expanded = np.repeat(lowest, k, axis=1)
    expanded[:, np.searchsorted(classes, known[common])] = scores[:, common]
    return expanded


def compute_margins(probabilities: FloatArray) -> FloatArray:
    """Compute the margin of each class over the most probable other class, shape (n, classes).

    Examples
    --------
    >>> compute_margins(np.array([[0.75, 0.25, 0.0]]))
    array([[ 0.5 , -0.5 , -0.75]])
    """
    ordered = np.sort(probabilities, axis=1)
    first, second = ordered[:, -1:], ordered[:, -2:-1]
    # For the most probable class, the best other class is the second; for all others, it is the first.
    return np.where(probabilities == first, first - second, probabilities - first)
