"""Certify a prefit classifier from its predictions or its confusion matrix, without the model or training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacbayes._utils.arrays import BoolArray, FloatArray, Labels, Rows
from pacbayes._utils.checks import MAX_SAMPLE_SIZE, check_in_range, check_level, check_not_masked
from pacbayes.bounds.bets import DEFAULT_BET
from pacbayes.certificates import sentences
from pacbayes.certificates.certificate import PRESPECIFIED, Certificate
from pacbayes.certificates.certify import certify
from pacbayes.certificates.compatibility import Choices
from pacbayes.certificates.decisions import PredictionSet
from pacbayes.certificates.levels import to_python_scalar
from pacbayes.certificates.metric_bounds import AUC
from pacbayes.certificates.metrics import MetricSpec, check_classes, check_metrics_share, choose_bets, parse_metrics
from pacbayes.certificates.plan import Plan, select_primary_rules
from pacbayes.certificates.posteriors import Posteriors
from pacbayes.certificates.primary import prefit_rules
from pacbayes.certificates.sets import calibrate_sets, check_probabilities
from pacbayes.certificates.voting import PRIMARY
from pacbayes.data.dataset import (
    Dataset,
    Slices,
    check_label_types,
    check_no_missing_labels,
    check_same_order,
    flatten_predictions,
)
from pacbayes.data.split import GROUP, Split, make_prefit_split, make_validation_split
from pacbayes.ensemble.members import smallest_code_dtype
from pacbayes.ensemble.validation import ErrorCounts, ValidationPredictions, errors_to_risks


def certify_predictions(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    y_score: ArrayLike | None = None,
    delta: float = 0.05,
    metrics: Any = (),
    metrics_share: float = 0.2,
    groups: ArrayLike | None = None,
    slices: ArrayLike | None = None,
    pos_label: Any = None,
) -> Certificate:
    """Certify a prefit classifier from predictions on rows that were not used to train, tune or choose it.

    Parameters
    ----------
    y_true : array_like of shape (m,)
        The true labels.
    y_pred : array_like of shape (m,)
        The predicted labels.
    y_score : array_like of shape (m,) or (m, n_classes), optional
        With "auc" among `metrics`: scores of the positive class (`pos_label`, or the second of two), or of every class,
        sorted; probabilities or decision values.
    delta : float
        Maximum probability that the certificate, with its metrics, fails.
    metrics, metrics_share, pos_label
        Metrics to bound, as for `CertifiedClassifier`.
    groups : array_like of shape (m,), optional
        The group of every row.  The certificate is then on the per-group error rate; of the metrics, only error rates
        and costs are supported.
    slices : array_like of shape (m,), optional
        With "error" among `metrics`: the slice of every row.  Each slice has a bound.

    Returns
    -------
    Certificate

    See Also
    --------
    CertifiedClassifier : Its method `from_fitted` certifies several classifiers.
    certify_counts : The same from a confusion matrix.
    compare_classifiers : Compare two classifiers on the same rows.

    Notes
    -----
    Classes, costs and metrics must be fixed without looking at these rows.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> y_true = ["well"] * 60 + ["ill"] * 40
    >>> y_pred = ["well"] * 58 + ["ill"] * 39 + ["well"] * 3
    >>> print(certify_predictions(y_true, y_pred, metrics=("recall", "f1"), pos_label="ill"))
    With 95 % confidence, the error rate of this classifier on new examples is at most 10.6 %.
    5 errors on 100 validation rows.
    Class 'ill': 3 of 40 validation rows misclassified.
    Recall of class 'ill': at least 75.1 %; 37 true positives among 40 validation rows of the class.
    F1 of class 'ill': at least 82.2 %; 37 true positives among 42 validation rows of the class or predicted as it.
    Assumes that rows are independent (see explain()).
    """
    chosen = _RequestedMetrics(metrics, metrics_share, pos_label)
    chosen.validate(groups=groups is not None, slices=slices is not None, scores=y_score is not None)
    check_same_order(y_true=y_true, y_pred=y_pred, y_score=y_score, groups=groups, slices=slices)
    labels, predicted = _check_labels(y_true, y_pred)
    classes = np.unique(np.concatenate([np.unique(labels), np.unique(predicted)]))
    # The features are not used.
    data = Dataset.from_arrays(np.zeros((labels.size, 1)), labels, groups, slices, classes=classes)
    dtype = smallest_code_dtype(classes.size)
    predictions = ValidationPredictions(
        classes,
        int(classes.size),
        np.searchsorted(classes, predicted).astype(dtype)[None],
        data.codes.astype(dtype),
        slices=None if data.slices is None else data.slices.codes.astype(np.int64),
        probabilities=None if y_score is None else _check_scores(y_score, classes, labels.size, pos_label),
    )
    return _certify_single_classifier(predictions, make_prefit_split(data, "keep"), delta, chosen, data.slices)


def certify_counts(
    confusion: ArrayLike,
    *,
    classes: Sequence[Any] | Labels,
    delta: float = 0.05,
    metrics: Any = (),
    metrics_share: float = 0.2,
    pos_label: Any = None,
) -> Certificate:
    """Certify one prefit classifier from its confusion matrix.

    The certificate is that of `certify_predictions`, to the last bit, at a cost that does not depend on the number of
    rows: counts may be computed by a database or a cluster.

    Parameters
    ----------
    confusion : array_like of int, shape (n_classes, n_classes)
        Entry (i, j) is the number of validation rows of class i that were predicted as class j.  A data frame must have
        the classes as its index and as its columns, in the order of `classes`.
    classes : sequence of labels
        All classes, in the order of the matrix, fixed without these rows.
    delta, metrics, metrics_share, pos_label
        As for `certify_predictions`.

    Returns
    -------
    Certificate

    See Also
    --------
    certify_predictions : The same from rows, which may come in groups and slices.

    Notes
    -----
    Counts do not show duplicates, groups of dependent rows, or rows that were used in training.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26, 1934.

    Examples
    --------
    A billion rows:

    >>> certificate = certify_counts([[989_000_000, 1_000_000], [2_000_000, 8_000_000]], classes=["well", "ill"])
    >>> round(certificate.bound, 6)
    0.003003
    """
    chosen = _RequestedMetrics(metrics, metrics_share, pos_label)
    chosen.validate(groups=False, slices=False, scores=False)
    table, names = _validate_confusion_matrix(confusion, classes)
    order = np.argsort(names, kind="stable")
    true, predicted = (codes.ravel() for codes in np.indices(table.shape))
    kind, split = smallest_code_dtype(names.size), Split("shared", 0, int(table.sum()), int(table.sum()), 0, None)
    predictions = CountedPredictions(
        names[order],
        int(names.size),
        predicted[None].astype(kind),
        true.astype(kind),
        multiplicities=table[np.ix_(order, order)].ravel(),
    )
    certificate = _certify_single_classifier(predictions, split, delta, chosen)
    return replace(certificate, assumptions=(*certificate.assumptions, sentences.COUNTS_ASSUMPTION))


def certify_sets(
    y_true: ArrayLike,
    probabilities: ArrayLike,
    classes: Sequence[Any] | Labels,
    *,
    coverage: float = 0.9,
    by_class: bool = False,
    delta: float = 0.05,
) -> Certificate:
    """Calibrate prediction sets of a prefit classifier from its probabilities on rows that it was not trained with.

    Parameters
    ----------
    y_true : array_like of shape (m,)
        The true labels.  A label that is not among `classes` counts as one that the classifier never predicts; with
        `by_class`, whose guarantee no set would meet for it, it is rejected.
    probabilities : array_like of shape (m, n_classes)
        Probabilities or other scores in [0, 1].
    classes : sequence of labels
        The classes of the columns.
    coverage, by_class
        As for `PredictionSet`.
    delta : float
        Maximum probability that the coverage is lower.

    Returns
    -------
    Certificate
        Its `decision` contains the thresholds; its method ``predict_set(probabilities)`` is for new rows.

    See Also
    --------
    PredictionSet : The guarantee.
    CertifiedClassifier : Its method `from_fitted` certifies the classifier itself.

    References
    ----------
    .. [1] V. Vovk, "Conditional validity of inductive conformal predictors", Machine Learning 92, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities = np.tile([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.2, 0.2, 0.6]], (60, 1))
    >>> certificate = certify_sets(["cat", "dog", "owl"] * 60, probabilities, ["cat", "dog", "owl"])
    >>> print(certificate)
    With 95 % confidence, the prediction set contains the true class for at least 90.0 % of new examples.
    Sets have 1.0 of 3 classes on average and contain the true class of 180 of 180 validation rows.
    Assumes that rows are independent (see explain()).
    >>> certificate.decision.predict_set([[0.5, 0.5, 0.0]])
    array([[ True,  True, False]])
    """
    decision, level = PredictionSet(coverage, by_class), check_level(delta)
    names = _validate_classes(classes)
    _check_columns("probabilities", probabilities, names)
    table = check_probabilities(probabilities, names.size)
    check_same_order(y_true=y_true, probabilities=probabilities)
    labels = flatten_predictions("y_true", check_no_missing_labels(y_true, "y_true"), len(table))
    check_label_types("y_true", labels, names, "classes")
    codes = {label: code for code, label in enumerate(names.tolist())}
    y_codes = np.array([codes.get(label, names.size) for label in labels.tolist()], dtype=np.intp)
    if by_class and y_codes.max() == names.size:
        raise ValueError(
            f"y_true must be among classes with by_class=True, got "
            f"{to_python_scalar(labels[y_codes.argmax()])!r}: no set would "
            "contain it"
        )
    split = make_validation_split(labels.size)
    risk = errors_to_risks(np.array([np.count_nonzero(table.argmax(axis=1) != y_codes)]), labels.size)
    return Certificate(
        bound=1.0,
        lower=None,
        delta=level,
        m=labels.size,
        distance="binomial",
        empirical_risk=float(risk[0]),
        kl=0.0,
        holds_for="the classifier",
        theorem=sentences.SETS_THEOREM,
        assumptions=(*sentences.split_assumptions(split), sentences.ROW_WISE_PREDICTION, sentences.SETS_ASSUMPTION),
        rule=PRIMARY,
        level=level,
        source=PRESPECIFIED,
        decision=calibrate_sets(decision, table, y_codes, names, level),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedPredictions(ValidationPredictions):
    """Validation predictions in which each column represents several equal rows."""

    multiplicities: Rows

    def count_codes(self, codes: NDArray[Any], number: int, where: BoolArray | None = None) -> Rows:
        """Count the rows with each of `number` codes, among the columns selected by a mask."""
        # Exact: the rows are at most 2^53.
        counts = self.multiplicities if where is None else np.where(where, self.multiplicities, 0)
        return np.bincount(codes, weights=counts, minlength=number).astype(np.int64)

    def count_errors(self, split: Split) -> ErrorCounts:
        """Count the errors of every classifier."""
        return self.count_rule_errors(self.y_pred, split)

    def count_rule_errors(self, y_pred: NDArray[Any], split: Split) -> ErrorCounts:
        """Count the errors of rules with predictions of shape (R, n)."""
        return ErrorCounts(((y_pred != self.y_true) @ self.multiplicities)[:, None], None, split.m)


@dataclass(frozen=True)
class _RequestedMetrics:
    """Metric parameters as passed by the user."""

    metrics: Any
    share: float
    pos_label: Any

    def validate(self, groups: bool, slices: bool, scores: bool) -> None:
        """Raise for unknown metrics, metrics that do not support groups, and an AUC without scores."""
        check_metrics_share(self.share)
        specs = parse_metrics(self.metrics, self.pos_label)
        flags: dict[str, Any] = {"groups": groups, "slices": slices, "scores": scores}
        Choices(hedge=0.0, metrics=specs, prefit=True, primary=True, **flags).validate()
        if scores and not any(spec.name == AUC for spec in specs):
            raise ValueError("y_score requires metrics=('auc',)")

    def specs(self, classes: Labels, m: int, level: float) -> tuple[MetricSpec, ...]:
        """Parse the metrics and choose their bets."""
        check_classes(self.metrics, self.pos_label, classes)
        return choose_bets(parse_metrics(self.metrics, self.pos_label), None, classes, m, level, self.share)


def _certify_single_classifier(
    predictions: ValidationPredictions,
    split: Split,
    delta: float,
    chosen: _RequestedMetrics,
    slices: Slices | None = None,
) -> Certificate:
    """Certify the only classifier of a set, at level delta."""
    level, rules = check_level(delta), select_primary_rules(prefit_rules(0, 1))
    plan = Plan(
        split,
        delta=level,
        hedge=0.0,
        fixed_rules=tuple(replace(rule, bet=DEFAULT_BET) for rule in rules) if split.unit == GROUP else rules,
        metrics=chosen.specs(predictions.classes, split.m, level),
        metrics_share=chosen.share,
        positive=to_python_scalar(chosen.pos_label),
        slices=() if slices is None else slices.names,
        slice_column="" if slices is None else slices.column,
    )
    predictions = replace(predictions, rule_predictions=np.repeat(predictions.y_pred, len(rules), axis=0))
    return replace(certify(plan, predictions, Posteriors())["best"], holds_for="the classifier", baselines={})


def _check_scores(y_score: ArrayLike, classes: Labels, m: int, pos_label: Any) -> FloatArray:
    """Validate scores and convert them to shape (m, n_classes)."""
    _check_columns("y_score", y_score, classes)
    scores = check_in_range("y_score", y_score, -np.inf, np.inf)
    if scores.shape == (m,) and classes.size == 2:
        return np.stack(
            [scores, -scores] if to_python_scalar(classes[0]) == to_python_scalar(pos_label) else [-scores, scores],
            axis=1,
        )
    if scores.shape != (m, classes.size):
        one = ", or one for each row," if classes.size == 2 else ""
        raise ValueError(
            f"y_score must have a score for each of {m} rows and {classes.size} classes{one} got shape {scores.shape}"
        )
    return scores


def _check_columns(name: str, table: Any, classes: Labels) -> None:
    """Raise if the columns of a data frame are the classes in another order."""
    columns, expected = list(getattr(table, "columns", ())), classes.tolist()
    if columns != expected and len(columns) == len(expected) and set(columns) == set(expected):
        raise ValueError(f"{name} must have the columns {expected}, in this order, got {columns}")


def _validate_classes(classes: Sequence[Any] | Labels) -> Labels:
    """Convert classes to an array; raise if they are not unique."""
    names = np.asarray(check_no_missing_labels(classes, "classes"))
    if names.ndim != 1 or np.unique(names).size < names.size or names.size == 0:
        raise ValueError(f"classes must be unique labels, got {classes!r}")
    return names


def _validate_confusion_matrix(confusion: ArrayLike, classes: Sequence[Any] | Labels) -> tuple[Rows, Labels]:
    """Convert a confusion matrix to int64 and its classes to an array; raise if they do not match."""
    names = _validate_classes(classes)
    for axis in ("index", "columns") if hasattr(confusion, "columns") else ():
        labels = getattr(confusion, axis).tolist()
        if labels != names.tolist():
            raise ValueError(
                f"confusion must have the classes {names.tolist()} as its {axis}, got {labels}; reindex it, or pass "
                "confusion.to_numpy()"
            )
    check_not_masked("confusion", confusion)
    table = np.asarray(confusion)
    if table.shape != (names.size, names.size):
        raise ValueError(
            f"confusion must have a row and a column for each of {names.size} classes, got shape {table.shape}"
        )
    if table.dtype.kind not in "iu":
        raise TypeError(f"confusion must contain numbers of rows, got dtype {table.dtype}")
    # The sum of 64-bit integers may overflow.
    total = sum(table.ravel().tolist())
    if table.min() < 0 or not 1 <= total <= MAX_SAMPLE_SIZE:
        raise ValueError(
            f"confusion must contain nonnegative numbers of rows with a sum from 1 to 2**53; got {table.min()} as the "
            f"smallest and a sum of {total}"
        )
    return table.astype(np.int64), names


def _check_labels(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Labels, Labels]:
    """Validate true and predicted labels and convert them to arrays."""
    labels = np.asarray(check_no_missing_labels(y_true, "y_true"))
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"y_true must be one-dimensional, with a label for every row, got shape {labels.shape}")
    predicted = flatten_predictions("y_pred", check_no_missing_labels(y_pred, "y_pred"), labels.size)
    check_label_types("y_pred", predicted, labels, "y_true")
    for name, values in (("y_true", labels), ("y_pred", predicted)):
        if values.dtype.kind == "f" and (values != np.floor(values)).any():
            raise ValueError(f"{name} must contain labels, not fractions: convert probabilities to classes")
    return labels, predicted
