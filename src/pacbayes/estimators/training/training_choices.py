"""What cross-validation within the training rows decides before validation rows are counted: a prior, Catoni's C."""

from typing import Any

import numpy as np

from pacbayes.bounds.catoni import Catoni
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.registry import CATONI
from pacbayes.certificates.posterior_choice import check_distances
from pacbayes.classifiers.cross_validation import CrossValidation
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.rounding import usual_float_errors

#: The prior that cross-validation makes.
CROSS_VALIDATION = "cross-validation"
# Prior mass of the classifiers that were not cross-validated, where there are some: the others lose ln(1/0.9).
_UNTRIED = 0.1


def check_training_choices(prior: Any, distance: Any, why: str | None) -> None:
    """Raise before any work for a wrong distance, or if prior or distance need a cross-validation that will not be.

    `why` says why there will be none; None where there will be one.

    Examples
    --------
    >>> check_training_choices("uniform", "catoni", "the training rows are not here")
    Traceback (most recent call last):
    ValueError: distance='catoni' takes its C from the training rows, but the training rows are not here: fix C
    beforehand with distance=Catoni(C), from pacbayes.bounds
    """
    # Any parameter will do: the one that is used comes later, from the training rows.
    check_distances(distance, catoni=Catoni(1.0))
    if why is None:
        return
    if isinstance(prior, str) and prior == CROSS_VALIDATION:
        raise ValueError(f"prior={CROSS_VALIDATION!r} comes from the training rows, but {why}: give another prior")
    if CATONI in _named(distance):
        raise ValueError(
            f"distance='catoni' takes its C from the training rows, but {why}: fix C beforehand with "
            "distance=Catoni(C), from pacbayes.bounds"
        )


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


def _named(distance: Any) -> list[str]:
    given = distance if isinstance(distance, list | tuple) else [distance]
    return [one for one in given if isinstance(one, str)]
