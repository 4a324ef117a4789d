"""Implementation of `CertifiedClassifier.from_fitted`: certify prefit classifiers."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from pacbayes._utils.checks import convert_long_labels, warn_caller
from pacbayes._utils.seeds import resolve_seed
from pacbayes.certificates.decisions import PredictionSet
from pacbayes.certificates.levels import AUTO
from pacbayes.certificates.plan import select_primary_rules
from pacbayes.certificates.posteriors import fit_posteriors, predict_validation
from pacbayes.certificates.primary import prefit_rules, prefit_soft_vote, prior_uses_data, resolve_prior
from pacbayes.certificates.rules import FixedRule, SoftVote
from pacbayes.certificates.voting import IntegerWeights
from pacbayes.data.dataset import Dataset, check_no_missing_labels, check_rows, check_same_order
from pacbayes.data.duplicates import find_largest_overlap
from pacbayes.data.rows import check_values, copy_rows, count_rows, pick_rows, select_test_rows
from pacbayes.data.split import make_prefit_split
from pacbayes.ensemble.classifier_set import check_prefit, warn_if_prefit_batch_dependent
from pacbayes.ensemble.validation import check_predictions_fit
from pacbayes.estimators.fitted import Fitted
from pacbayes.estimators.planning import build_plan
from pacbayes.estimators.recipe import Recipe
from pacbayes.estimators.rows import infer_schema

if TYPE_CHECKING:
    from pacbayes.estimators.base import CertifiedModel


def certify_fitted(
    model: CertifiedModel,
    estimators: Any,
    rows: Any,
    y_val: Any,
    *,
    primary: Any,
    groups: Any,
    most_frequent: Any,
) -> Fitted:
    """Fitted state of `model` for prefit classifiers.

    All arguments are validated before any classifier predicts.
    """
    if hasattr(estimators, "predict") and not isinstance(estimators, list | tuple):
        estimators = [estimators]
    fitted = list(estimators) if isinstance(estimators, list | tuple) or hasattr(estimators, "__iter__") else estimators
    alone = isinstance(fitted, list) and len(fitted) == 1 and primary is None and model.hedge == AUTO
    # A single classifier is fixed before validation, without any choice: it uses all of delta.
    rules, recipe = _check_choices(model, fitted, 0 if alone else primary, groups is not None)
    check_same_order(X_val=rows, y_val=y_val, groups=groups)
    labels = check_no_missing_labels(convert_long_labels(y_val), "y_val")
    if np.ndim(labels) == 1 and count_rows(rows) != len(labels):
        raise ValueError(f"X_val and y_val must have the same length, got {count_rows(rows)} and {len(labels)}")
    rows, labels = check_rows(rows, labels)
    validate_data(model, rows, labels, skip_check_array=True)
    check_values(rows)
    data = Dataset.from_arrays(rows, labels, groups, classes=_classes(fitted, labels))
    recipe.check_classes(data)
    for i, estimator in enumerate(fitted):
        # Models of this library, even inside a Pipeline or a search, store hashes of their rows.
        overlap = find_largest_overlap(estimator, rows)
        if overlap is not None and overlap.is_large and model.duplicates != "independent":
            raise ValueError(
                f"X_val must contain rows that estimators[{i}] was not fitted with, but {overlap.summary} behind it. "
                "If equal rows are independent draws, use duplicates='independent'"
            )
    label = _find_class(most_frequent, data.classes)
    hedge = 0.0 if alone or isinstance(recipe.decision, PredictionSet) else float(recipe.hedge)
    if isinstance(recipe.decision, PredictionSet):
        rules = (_soft_vote(fitted, rules[0].weights, data.classes), *rules)
    copies, messages = _deep_copies(fitted, pick_rows(rows, select_test_rows(labels)))
    members = check_prefit(copies, data)
    check_predictions_fit(len(members), data.n_rows)
    split = replace(make_prefit_split(data, model.duplicates), seed=resolve_seed(model.random_state))
    plan = build_plan(
        recipe,
        data,
        infer_schema(rows, data.rows, None),
        split=split,
        hedge=hedge,
        prior=resolve_prior(model.prior, members.params, None, None, split),
        rules=() if hedge == 1.0 else rules if hedge > 0.0 else select_primary_rules(rules),
        majority_class=label,
    )
    predictions = predict_validation(members, plan, data)
    warn_if_prefit_batch_dependent(members, data)
    for message in messages:
        warn_caller(message)
    return Fitted(members, plan, predictions, fit_posteriors(plan, predictions))


def _soft_vote(fitted: list[Any], weights: IntegerWeights, classes: NDArray[Any]) -> SoftVote:
    """Primary soft vote of fitted classifiers; raise if a classifier with positive weight has no probabilities."""
    known = []
    for i in np.flatnonzero(weights).tolist():
        if not hasattr(fitted[i], "predict_proba") or not hasattr(fitted[i], "classes_"):
            raise ValueError(
                f"decision=PredictionSet(...) requires classifiers with predict_proba and classes_; estimators[{i}], "
                f"{type(fitted[i]).__name__}, has not. For a table of probabilities, use certify_sets"
            )
        known.append(np.asarray(fitted[i].classes_))
    return prefit_soft_vote(weights, np.flatnonzero(np.isin(classes, np.concatenate(known))))


def _deep_copies(fitted: list[Any], rows: Any) -> tuple[list[Any], list[str]]:
    """Copy classifiers, so that changing them later does not change the certified model.

    Returns the copies, with the original in place of each classifier that cannot be copied, and a message for each of
    these.
    """
    try:
        copies = copy.deepcopy(fitted)  # in one call, so that objects shared by several classifiers stay shared
    except Exception:  # a classifier may hold anything, such as a lock or an open file
        copies = [None] * len(fitted)
    messages = []
    for i, (original, duplicate) in enumerate(zip(fitted, copies, strict=True)):
        try:
            copies[i] = copy.deepcopy(original) if duplicate is None else duplicate
            if copies[i] is original:
                raise TypeError("its __deepcopy__ returns the object itself")
            copies[i].predict(copy_rows(rows))
        except Exception as error:  # a copy may raise anything; errors of the original surface when it predicts
            copies[i] = original
            messages.append(
                f"estimators[{i}] cannot be copied ({type(error).__name__}: {error}): the certificate holds for its "
                "current state, so do not train it further"
            )
    return copies, messages


def _check_choices(
    model: CertifiedModel, fitted: Any, primary: Any, groups: bool
) -> tuple[tuple[FixedRule, ...], Recipe]:
    """Validate parameters; return the primary rules and the recipe."""
    if not isinstance(fitted, list) or not fitted:
        raise TypeError(f"estimators must be a fitted classifier or a list of fitted classifiers, got {fitted!r}")
    model._validate_params()
    rules = () if primary is None else prefit_rules(primary, len(fitted))
    recipe = model._recipe()
    recipe = recipe.validate(recipe.choices(groups=groups, prefit=True, primary=bool(rules)))
    if callable(model.prior) and prior_uses_data(model.prior, True):
        raise ValueError("prior must not use training rows: those of prefit classifiers are not available")
    return rules, recipe


def _classes(fitted: list[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Sorted union of the validation labels and the classes of the classifiers."""
    fitted_classes = [np.asarray(estimator.classes_) for estimator in fitted if hasattr(estimator, "classes_")]
    # Classes of another type than the labels are rejected when their classifier predicts.
    numeric = labels.dtype.kind in "biuf"
    same_kind = [known for known in fitted_classes if known.ndim == 1 and (known.dtype.kind in "biuf") == numeric]
    classes: NDArray[Any] = np.unique(np.concatenate([labels, *same_kind]))
    if classes.size < 2:
        raise ValueError(f"y_val must contain at least two classes, got only class {classes.tolist()[0]!r}")
    return classes


def _find_class(label: Any, classes: NDArray[Any]) -> Any:
    """Element of `classes` equal to `label`; None if `label` is None."""
    if label is None:
        return None
    matches = np.flatnonzero(classes == label)
    if matches.size != 1:
        raise ValueError(f"most_frequent must be one of the classes {classes.tolist()}, got {label!r}")
    return classes[matches[0]]
