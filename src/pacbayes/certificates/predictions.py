"""A certificate for one classifier from what it said of rows, and what was true: no model, no training rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import Labels
from pacbayes._utils.checks import check_level
from pacbayes.bounds.bets import DEFAULT_BET
from pacbayes.certificates.certificate import Certificate
from pacbayes.certificates.certify import certify
from pacbayes.certificates.compatibility import Choices
from pacbayes.certificates.levels import plain
from pacbayes.certificates.metrics import check_classes, check_metrics_share, choose_bets, parse_metrics
from pacbayes.certificates.plan import Plan, without_hedge
from pacbayes.certificates.posteriors import Posteriors
from pacbayes.certificates.primary import given_rules
from pacbayes.data.dataset import (
    Dataset,
    check_complete,
    check_same_kind,
    check_same_order,
    one_label_each,
)
from pacbayes.data.split import GROUP, all_validate
from pacbayes.ensemble.members import smallest_code_dtype
from pacbayes.ensemble.validation import ValidationPredictions


def certify_predictions(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    delta: float = 0.05,
    metrics: Any = (),
    metrics_share: float = 0.2,
    groups: ArrayLike | None = None,
    slices: ArrayLike | None = None,
    pos_label: Any = None,
) -> Certificate:
    """Certify one classifier, fixed beforehand, by what it said of rows that it was not trained, tuned or chosen with.

    Parameters
    ----------
    y_true : array_like of shape (m,)
        The true labels.
    y_pred : array_like of shape (m,)
        What the classifier said.
    delta : float
        All that is said together fails with at most this probability.
    metrics, metrics_share, pos_label
        Limits of other risks, as for `CertifiedClassifier`.
    groups : array_like of shape (m,), optional
        The group of every row; the certificate is then about the mean over groups, and limits of costs alone are
        proved.
    slices : array_like of shape (m,), optional
        With "error" among `metrics`: a value for every row, each of which has a limit.

    Returns
    -------
    Certificate

    See Also
    --------
    CertifiedClassifier : Its method `from_fitted` takes several classifiers, of which one is chosen.
    compare_classifiers : Two classifiers on the same rows.

    Notes
    -----
    Which classes there are, what answers cost and what is asked must not have been decided by looking at these rows.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> y_true = ["well"] * 60 + ["ill"] * 40
    >>> y_pred = ["well"] * 58 + ["ill"] * 39 + ["well"] * 3
    >>> found = certify_predictions(y_true, y_pred, metrics=("recall", "f1"), pos_label="ill")
    >>> print(found)
    With probability at least 95 %, the classifier errs on at most 10.6 % of new examples.
    It erred on 5 of 100 validation rows.
    Of 40 validation rows of class 'ill' it missed 3.
    Recall of class 'ill': at least 75.1 %; found 37 of its 40 validation rows.
    F1 of class 'ill': at least 82.2 %; 37 are right of 42 validation rows of this class or answered so.
    explain() says what this rests on.
    """
    questions, share = parse_metrics(metrics, pos_label), check_metrics_share(metrics_share)
    grouped, sliced = groups is not None, slices is not None
    Choices(hedge=0.0, metrics=questions, groups=grouped, slices=sliced, prefit=True, primary=True).check()
    check_same_order(y_true=y_true, y_pred=y_pred, groups=groups, slices=slices)
    labels, said = _checked(y_true, y_pred)
    classes = np.unique(np.concatenate([np.unique(labels), np.unique(said)]))
    # Nobody looks at the rows themselves.
    data = Dataset.checked(np.zeros((labels.size, 1)), labels, groups, slices, classes=classes)
    check_classes(metrics, pos_label, classes)
    split, level = all_validate(data, "keep"), check_level(delta)
    rules = without_hedge(given_rules(0, 1))
    plan = Plan(
        split,
        delta=level,
        hedge=0.0,
        fixed_rules=tuple(replace(rule, bet=DEFAULT_BET) for rule in rules) if split.unit == GROUP else rules,
        metrics=choose_bets(questions, None, classes, split.m, level, share),
        metrics_share=share,
        positive=plain(pos_label),
        slices=() if data.slices is None else data.slices.names,
        slice_column="" if data.slices is None else data.slices.column,
    )
    found = certify(plan, _evidence(data, said, len(rules)), Posteriors())["best"]
    return replace(found, holds_for="the classifier", baselines={})


def _checked(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Labels, Labels]:
    """Return true and predicted labels, or raise."""
    labels = np.asarray(check_complete(y_true, "y_true"))
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"y_true must be one-dimensional, with a label for every row, got shape {labels.shape}")
    said = one_label_each("y_pred", check_complete(y_pred, "y_pred"), labels.size)
    check_same_kind("y_pred", said, labels, "y_true")
    for name, given in (("y_true", labels), ("y_pred", said)):
        if given.dtype.kind == "f" and (given != np.floor(given)).any():
            raise ValueError(f"{name} must hold labels, got fractions: of probabilities take the most probable class")
    return labels, said


def _evidence(data: Dataset, said: Labels, rules: int) -> ValidationPredictions:
    """Return what one classifier said of all rows, as so many rules that are this classifier."""
    kind = smallest_code_dtype(data.classes.size)
    y_pred = np.searchsorted(data.classes, said).astype(kind)
    slices = None if data.slices is None else data.slices.codes.astype(np.int64)
    all_rules = np.stack([y_pred] * rules)
    return ValidationPredictions(
        data.classes, int(data.classes.size), y_pred[None], data.codes.astype(kind), all_rules, None, slices
    )
