"""The prior of an estimator: given, or asked for without showing it what it must not see."""

import copy
import inspect
from collections.abc import Callable
from typing import Any

from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.data.division import Splits
from pacbayes.estimators.training.training_choices import CROSS_VALIDATION, cross_validation_prior
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_distribution

# Where a prior came from, for a certificate's assumptions.
PRIORS = {
    "uniform": "The prior is uniform over the classifiers, whose list was fixed without looking at the data.",
    "given": "The prior was given, and chosen without looking at the validation rows.",
    "training rows": "The prior was computed from the classifiers' parameters and the training rows alone.",
    CROSS_VALIDATION: "The prior was computed from errors in cross-validation within the training rows alone.",
    "parameters": "The prior was computed from the classifiers' parameters, without looking at the validation rows.",
}


def asks_for_data(prior: Callable[..., Any], shared: bool) -> bool:
    """Return whether a callable prior is to be given the training rows, or raise if it asks and may not have them.

    Examples
    --------
    >>> asks_for_data(lambda params: None, True), asks_for_data(lambda params, X_train, y_train: None, True)
    (False, True)
    >>> asks_for_data(lambda params, X_train, y_train: None, False)
    Traceback (most recent call last):
    ValueError: prior must not ask for data without split='shared': every row validates some classifier
    """
    if _takes(prior, 3):
        if shared:
            return True
        if not _takes(prior, 1):
            raise ValueError("prior must not ask for data without split='shared': every row validates some classifier")
    elif not _takes(prior, 1):
        raise TypeError(
            "prior as a callable must take the list of parameters, or parameters, training rows and their labels; got "
            f"{prior!r}"
        )
    return False


def _takes(function: Callable[..., Any], number: int) -> bool:
    try:
        inspect.signature(function).bind(*range(number))
    except TypeError:
        return False
    except ValueError:  # no signature to be had: only the simplest use is tried
        return number == 1
    return True


def check_prior_kind(prior: Any, split: str) -> None:
    """Raise before any work if `prior` is a word that is not known, or a callable that asks for too much."""
    if isinstance(prior, str):
        if prior not in ("uniform", CROSS_VALIDATION):
            raise ValueError(f"prior must be 'uniform', {CROSS_VALIDATION!r}, an array or a callable, got {prior!r}")
    elif callable(prior):
        asks_for_data(prior, split == "shared")


def resolve_prior(
    prior: Any,
    params: list[dict[str, Any]],
    training_rows: Callable[[], tuple[Any, Any]] | None,
    cross_validated: CrossValidation | None,
    splits: Splits | None,
) -> FloatArray | None:
    """Return the prior's weights, normalised; None for the uniform one.

    `training_rows` gives copies of the training rows and labels; None where every row validates some classifier.
    """
    if isinstance(prior, str):
        if prior != CROSS_VALIDATION:
            return None
        assert cross_validated is not None
        assert splits is not None
        # Rows of a group, and copies, count as one.
        scale = splits.n_train / splits(0)[0].size
        return cross_validation_prior(cross_validated, len(params), scale)
    if callable(prior):
        own = copy.deepcopy(params)
        data = training_rows() if training_rows is not None and asks_for_data(prior, True) else ()
        prior = prior(own, *data)
    weights, total = check_distribution("prior", prior, len(params))
    return weights / total


def prior_kind(prior: Any, shared: bool) -> str:
    """Return where the prior comes from: a key of `PRIORS`.

    Examples
    --------
    >>> prior_kind("uniform", True), prior_kind([0.5, 0.5], True), prior_kind(lambda params: None, True)
    ('uniform', 'given', 'parameters')
    """
    if isinstance(prior, str):
        return prior
    if not callable(prior):
        return "given"
    return "training rows" if asks_for_data(prior, shared) else "parameters"
