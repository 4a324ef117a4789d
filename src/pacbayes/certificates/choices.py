"""Prior and distances: given, or from the training rows, and never with a look at what they must not see."""

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray
from pacbayes._utils.checks import check_distribution
from pacbayes._utils.rounding import usual_float_errors
from pacbayes.bounds.catoni import Catoni
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.registry import CATONI, get_distance
from pacbayes.data.division import Division
from pacbayes.ensemble.cross_validation import CrossValidation

#: The prior that cross-validation makes.
CROSS_VALIDATION = "cross-validation"
# Prior mass of the classifiers that were not cross-validated, where there are some: the others lose ln(1/0.9).
_UNTRIED = 0.1


def check_distances(distance: Any, catoni: Catoni | None = None) -> tuple[Distance, ...]:
    """Return one or several distances as a tuple, or raise if one is unknown, named twice or none is given.

    They are given by name or themselves; `catoni` is what the name "catoni" stands for, which is unknown without.
    """
    given = (distance,) if isinstance(distance, str | Distance) else distance
    if not isinstance(given, list | tuple) or not given:
        raise TypeError(f"distance must be a distance, the name of one, or a list of some, got {distance!r}")
    found = tuple(catoni if catoni is not None and one == CATONI else get_distance(one) for one in given)
    if len({one if one == CATONI else which.name for one, which in zip(given, found, strict=True)}) < len(given):
        raise ValueError(f"distance must not name one twice, got {distance!r}")
    return found


def resolve_distances(distance: Any, found: CrossValidation | None, m: int, level: float) -> tuple[Distance, ...]:
    """Return the distances of an estimator, with Catoni's parameter from cross-validation where only its name is given.

    The parameter is the best for the cross-validation risk of the classifier with the fewest errors, for `m` validation
    examples and for the share of `level` that each distance has; half an error more, on one row more, keeps it finite
    where there was none.

    Examples
    --------
    >>> found = CrossValidation(np.array([0, 1]), np.array([[3, 5], [4, 6]]), np.array([100, 100]))
    >>> resolve_distances("catoni", found, 200, 0.05), resolve_distances(["kl", "catoni"], found, 50, 0.05)
    ((Catoni(C=0.762),), (KL(), Catoni(C=1.5)))
    """
    if found is None:
        return check_distances(distance)
    number = 1 if isinstance(distance, str | Distance) else len(distance)
    errors, n = int(found.totals.min()), int(found.sizes.sum())
    catoni = Catoni.expecting((errors + 0.5) / (n + 1.0), m, level / number)
    # The parameter may turn out to be one that was also given.
    return tuple(dict.fromkeys(check_distances(distance, catoni=catoni)))


def cross_validation_prior(found: CrossValidation, number: int, scale: float = 1.0) -> FloatArray:
    r"""Return the prior of equation (cross-validation-prior), :math:`p_i \propto e^{-s (k_i - k_{min})}`.

    `k` are errors in cross-validation.  The scale `s` is one, and less where several training rows count as one.  Of so
    many classifiers, those that were not cross-validated share a tenth of the mass equally: nothing is known of them,
    and without mass no posterior could use them.

    Examples
    --------
    >>> found = CrossValidation(np.array([0, 2]), np.array([[1, 2], [4, 0]]), np.array([9, 9]))
    >>> cross_validation_prior(found, 4).round(4)
    array([0.658, 0.05 , 0.242, 0.05 ])
    """
    candidates, errors = found.candidates, found.totals
    with usual_float_errors():
        weights = np.exp(-scale * (errors - errors.min()))
        weights /= weights.sum()
    prior = np.zeros(number)
    prior[candidates] = weights
    untried = np.ones(number, dtype=bool)
    untried[candidates] = False
    if untried.any():
        prior[candidates] *= 1.0 - _UNTRIED
        prior[untried] = _UNTRIED / np.count_nonzero(untried)
    return prior


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


def resolve_prior(
    prior: Any,
    params: list[dict[str, Any]],
    training_rows: Callable[[], tuple[Any, Any]] | None,
    cross_validated: CrossValidation | None,
    division: Division,
) -> FloatArray | None:
    """Return the prior's weights, normalised; None for the uniform one.

    `training_rows` gives copies of the training rows and labels; None where every row validates some classifier.
    """
    if isinstance(prior, str):
        if prior != CROSS_VALIDATION:
            return None
        assert cross_validated is not None
        # Rows of a group, and copies, count as one.
        scale = division.n_train / division(0)[0].size
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
