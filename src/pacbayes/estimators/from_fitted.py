"""What `CertifiedClassifier.from_fitted` does: from classifiers that were trained elsewhere to a fitted estimator."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from pacbayes._utils.checks import narrow_labels, warn_caller
from pacbayes._utils.seeds import seed_of
from pacbayes.certificates.find import find, gather
from pacbayes.certificates.levels import AUTO
from pacbayes.certificates.plan import without_reserve
from pacbayes.certificates.proposals import asks_for_data, given_rules, resolve_prior
from pacbayes.certificates.rules import FixedRule
from pacbayes.data.division import all_validate
from pacbayes.data.duplicates import largest_overlap
from pacbayes.data.labelled import Labelled, check_complete, check_rows, check_same_order
from pacbayes.data.rows import check_values, copy_rows, few_rows, number_of_rows, pick_rows
from pacbayes.ensemble.classifier_set import check_elsewhere, warn_elsewhere
from pacbayes.ensemble.evidence import check_evidence_fits
from pacbayes.estimators.fitted import Fitted
from pacbayes.estimators.planning import planned
from pacbayes.estimators.recipe import Recipe
from pacbayes.estimators.rows import reading_of

if TYPE_CHECKING:
    from pacbayes.estimators.base import CertifiedModel


def certify_fitted(
    model: CertifiedModel,
    estimators: Any,
    rows: Any,
    y_val: Any,
    *,
    proposal: Any,
    groups: Any,
    most_frequent: Any,
) -> Fitted:
    """Return classifiers that were trained elsewhere with their evidence, for an estimator made with its parameters.

    All that is wrong with the arguments is said before a classifier is asked anything.
    """
    if hasattr(estimators, "predict") and not isinstance(estimators, list | tuple):
        estimators = [estimators]
    fitted = list(estimators) if isinstance(estimators, list | tuple) or hasattr(estimators, "__iter__") else estimators
    alone = isinstance(fitted, list) and len(fitted) == 1 and proposal is None and model.hedge == AUTO
    # Among one there is nothing to choose: it was fixed beforehand, and has all of delta.
    rules, recipe = _check_choices(model, fitted, 0 if alone else proposal, groups is not None)
    check_same_order(X_val=rows, y_val=y_val, groups=groups)
    labels = check_complete(narrow_labels(y_val), "y_val")
    if np.ndim(labels) == 1 and number_of_rows(rows) != len(labels):
        raise ValueError(f"X_val and y_val must have the same length, got {number_of_rows(rows)} and {len(labels)}")
    rows, labels = check_rows(rows, labels)
    validate_data(model, rows, labels, skip_check_array=True)
    check_values(rows)
    data = Labelled.checked(rows, labels, groups, classes=_classes(fitted, labels))
    recipe.check_classes(data)
    for i, one in enumerate(fitted):
        # Models of this library, also inside of a Pipeline or a search, know the rows they were fitted with.
        met = largest_overlap(one, rows)
        if met is not None and met.is_large and model.duplicates != "independent":
            raise ValueError(
                f"X_val must hold rows that estimators[{i}] was not fitted with, but {met.said} behind it. If equal "
                "rows are separate draws, give duplicates='independent'"
            )
    label = _known_class(most_frequent, data.classes)
    hedge = 0.0 if alone else float(recipe.hedge)
    copies, not_copied = _copied(fitted, pick_rows(rows, few_rows(labels)))
    members = check_elsewhere(copies, data)
    check_evidence_fits(len(members), data.number)
    division = replace(all_validate(data, model.duplicates), seed=seed_of(model.random_state))
    plan = planned(
        recipe,
        data,
        reading_of(rows, data.rows),
        division=division,
        hedge=hedge,
        prior=resolve_prior(model.prior, members.params, None, None, division),
        planned=() if hedge == 1.0 else rules if hedge > 0.0 else without_reserve(rules),
        no_skill=label,
    )
    evidence = gather(members, plan, data)
    warn_elsewhere(members, data)
    for line in not_copied:
        warn_caller(line)
    return Fitted(members, plan, evidence, find(plan, evidence))


def _copied(fitted: list[Any], rows: Any) -> tuple[list[Any], list[str]]:
    """Return copies, as far as they can be made, and what to say of the others.

    What is done to the classifiers later must not be done to those that are certified.
    """
    try:
        copies = copy.deepcopy(fitted)  # at once, so that a part of several of them stays one
    except Exception:  # a classifier may hold anything, such as a lock or an open file
        copies = [None] * len(fitted)
    said = []
    for i, (one, made) in enumerate(zip(fitted, copies, strict=True)):
        try:
            copies[i] = copy.deepcopy(one) if made is None else made
            if copies[i] is one:
                raise TypeError("it gives itself for its copy")
            copies[i].predict(copy_rows(rows))
        except Exception as error:  # a copy may raise anything; what is wrong with the original shows when it is asked
            copies[i] = one
            said.append(
                f"estimators[{i}] cannot be copied ({type(error).__name__}: {error}): the certificate is for it as it "
                "is now, so do not train it further"
            )
    return copies, said


def _check_choices(
    model: CertifiedModel, fitted: Any, proposal: Any, groups: bool
) -> tuple[tuple[FixedRule, ...], Recipe]:
    """Return the rules that the proposal stands for, and the recipe, or raise for wrong parameters."""
    if not isinstance(fitted, list) or not fitted:
        raise TypeError(f"estimators must be a fitted classifier, or a list of such, got {fitted!r}")
    model._validate_params()
    rules = () if proposal is None else given_rules(proposal, len(fitted))
    recipe = model._recipe()
    recipe = recipe.check(recipe.choices(groups=groups, prefit=True, proposal=bool(rules)))
    if callable(model.prior) and asks_for_data(model.prior, True):
        raise ValueError("prior must not ask for training rows: the classifiers were trained on rows that are not here")
    return rules, recipe


def _classes(fitted: list[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of the validation rows, and those that the classifiers say they know."""
    known = [np.asarray(one.classes_) for one in fitted if hasattr(one, "classes_")]
    # Labels of another kind are refused when the classifier that knows them is asked.
    numbers = labels.dtype.kind in "biuf"
    same = [one for one in known if one.ndim == 1 and (one.dtype.kind in "biuf") == numbers]
    classes: NDArray[Any] = np.unique(np.concatenate([labels, *same]))
    if classes.size < 2:
        raise ValueError(f"y_val must hold at least two classes, got class {classes.tolist()[0]!r} only")
    return classes


def _known_class(label: Any, classes: NDArray[Any]) -> Any:
    """Return a label as it is among the classes, None for none, or raise."""
    if label is None:
        return None
    found = np.flatnonzero(classes == label)
    if found.size != 1:
        raise ValueError(f"most_frequent must be one of the classes {classes.tolist()}, got {label!r}")
    return classes[found[0]]
