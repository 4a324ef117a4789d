r"""Primary rules, prior and distances, which are fixed before validation by training rows or by the user.

With :math:`k_i` errors of classifier i in cross-validation within the training rows, the fewest being
:math:`k_{\min}`, the weights of primary rules are equation (vote-weights) and equation (draw-weights) of
docs/mathematics.md.
"""

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, Rows, default_errstate
from pacbayes._utils.checks import MAX_STORED_INT, check_distribution
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.distances import CATONI, Catoni, get_distance
from pacbayes.certificates.rules import Draws, FixedRule, Single, SoftVote, Vote
from pacbayes.certificates.voting import PRIMARY, IntegerWeights, float_weights, integer_weights, single_weight
from pacbayes.data.split import Split
from pacbayes.ensemble.calibration import PROBABILITIES, Calibration
from pacbayes.ensemble.cross_validation import CrossValidation, find_middle_of_minimum
from pacbayes.ensemble.members import Calibrations, Predictions

#: Strengths of the preference for classifiers with few errors: from equal weights to a single classifier.
STRENGTHS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, math.inf)
#: Strength of the primary vote if votes were not cross-validated; strength for averaging votes by their errors.
VOTE_STRENGTH, AVERAGE_STRENGTH = 0.25, 1.0
#: The strength of the primary draws.
DRAW_STRENGTH = 2.0
#: Names of alternatives to the primary vote: a single classifier, and equal weights.
SINGLE, EQUAL = "single", "equal vote"


def vote_weights(errors: ArrayLike, strength: float) -> FloatArray:
    r"""Unnormalised weights of a vote: :math:`e^{-s (k_i - k_{\min})/\sqrt{k_{\min}+1}}`.

    Differences are in units of the standard deviation of a number of errors.

    Examples
    --------
    >>> vote_weights([8, 11, 20], 1.0).round(4)
    array([1.    , 0.3679, 0.0183])
    """
    k = np.asarray(errors, dtype=np.float64)
    with default_errstate():
        return np.asarray(np.exp(-strength * (k - k.min()) / np.sqrt(k.min() + 1.0)))


def draw_weights(errors: ArrayLike) -> FloatArray:
    r"""Unnormalised weights of draws: :math:`e^{-2 (k_i - k_{\min})}`.

    Stronger than those of votes: a draw has the error rate of the classifier drawn, whereas a vote has a smaller error
    rate than its members.

    Examples
    --------
    >>> draw_weights([8, 9, 20]).round(4)
    array([1.    , 0.1353, 0.    ])
    """
    k = np.asarray(errors, dtype=np.float64)
    with default_errstate():
        return np.asarray(np.exp(-DRAW_STRENGTH * (k - k.min())))


def integer_vote_weights(errors: ArrayLike, strength: float) -> IntegerWeights:
    """Integer weights of a vote; infinite strength means a single classifier.

    If several classifiers have the fewest errors, this is the middle one of their longest run.

    Examples
    --------
    >>> for strength in (0.0, math.inf):
    ...     print(np.ldexp(integer_vote_weights([8, 11, 20], strength).astype(float), -52).round(3))
    [0.333 0.333 0.333]
    [1. 0. 0.]
    """
    k = np.asarray(errors)
    if strength == math.inf:
        return single_weight(find_middle_of_minimum(k), k.size)
    return integer_weights(vote_weights(k, strength))


def averaged_vote_weights(errors: ArrayLike, errors_of_votes: Sequence[int]) -> IntegerWeights:
    """Integer weights of the average of votes of all strengths, weighted by their errors as classifiers in a vote.

    Examples
    --------
    >>> np.ldexp(averaged_vote_weights([8, 11, 20], [9, 9, 9, 8, 8, 8, 8]).astype(float), -52).round(3)
    array([0.743, 0.187, 0.07 ])
    """
    votes = np.array([float_weights(integer_vote_weights(errors, strength)) for strength in STRENGTHS])
    return integer_weights(vote_weights(errors_of_votes, AVERAGE_STRENGTH) @ votes)


def primary_weights(
    candidates: Rows, errors: ArrayLike, number: int, errors_of_votes: Sequence[int] | None = None
) -> tuple[FixedRule, ...]:
    """Primary rules and alternatives from the cross-validation errors of some of `number` classifiers.

    The primary vote is the average of the votes of all strengths, weighted by `errors_of_votes`; without these, the
    vote of the default strength.  Its alternatives are the votes of all strengths, without repeats.

    Examples
    --------
    >>> for rule in primary_weights(np.arange(3), [4, 4, 9], 3):
    ...     print(rule.voting, rule.name, np.ldexp(rule.weights.astype(float), -52).round(3))
    stochastic primary [0.5 0.5 0. ]
    majority primary [0.389 0.389 0.222]
    majority vote s=0 [0.333 0.333 0.333]
    majority vote s=0.5 [0.43 0.43 0.14]
    majority vote s=1 [0.475 0.475 0.051]
    majority vote s=2 [0.497 0.497 0.006]
    majority vote s=4 [0.5 0.5 0. ]
    majority single [1. 0. 0.]
    best primary [1. 0. 0.]
    """
    k = np.asarray(errors)

    def expand_weights(weights: IntegerWeights) -> IntegerWeights:
        all_weights = np.zeros(number, dtype=np.int64)
        all_weights[candidates] = weights
        return all_weights

    vote = averaged_vote_weights(k, errors_of_votes) if errors_of_votes else integer_vote_weights(k, VOTE_STRENGTH)
    alternatives = [
        (SINGLE if s == math.inf else f"vote s={s:g}", expand_weights(integer_vote_weights(k, s))) for s in STRENGTHS
    ]
    return (
        Draws(PRIMARY, expand_weights(integer_weights(draw_weights(k)))),
        *_distinct_votes([(PRIMARY, expand_weights(vote)), *alternatives]),
        Single(PRIMARY, expand_weights(integer_vote_weights(k, math.inf))),
    )


#: Smaller weights in a soft vote, as a fraction of the largest, are set to zero.
LEAST_WEIGHT = 1e-3


def soft_weights(log_losses: FloatArray, families: Rows, n: int) -> IntegerWeights:
    r"""Integer weights of a soft vote of one classifier per family: the first one with the smallest log-loss.

    Weights are :math:`e^{-(L_i - L_{\min})/\sqrt n}`, equation (soft-weights), with the total log-loss :math:`L_i` on
    `n` training rows: differences are in units of its standard deviation.

    Examples
    --------
    >>> weights = soft_weights(np.array([30.0, 20.0, 25.0, 900.0]), np.array([0, 0, 1, 2]), 100)
    >>> np.ldexp(weights.astype(float), -52).round(3)
    array([0.   , 0.622, 0.378, 0.   ])
    """
    best = np.zeros(log_losses.size, dtype=bool)
    for family in np.unique(families):
        members = np.flatnonzero(families == family)
        best[members[np.argmin(log_losses[members])]] = True
    with default_errstate():
        weights = np.where(best, np.exp(-(log_losses - log_losses.min()) / math.sqrt(n)), 0.0)
    return integer_weights(np.where(weights < LEAST_WEIGHT, 0.0, weights))


def cross_validated_soft_weights(cross_validation: CrossValidation, number: int, n: int) -> IntegerWeights:
    """Integer weights, among `number` classifiers, of the soft vote by cross-validated log-loss."""
    assert cross_validation.log_losses is not None
    assert cross_validation.families is not None
    weights = np.zeros(number, dtype=np.int64)
    weights[cross_validation.candidates] = soft_weights(cross_validation.log_losses, cross_validation.families, n)
    return weights


def primary_soft_vote(cross_validation: CrossValidation, number: int, n: int, soft: Calibrations) -> SoftVote:
    """Primary soft vote by cross-validated log-loss; `soft` has the calibrations of all candidates.

    It has no alternatives: on the data sets of benchmarks/bench_soft.py, neither the best single classifier nor Occam's
    bound ever had a smaller bound.
    """
    weights = cross_validated_soft_weights(cross_validation, number, n)
    used = Calibrations(soft.classes, {i: soft.maps[i] for i in np.flatnonzero(weights).tolist()})
    return SoftVote(PRIMARY, weights, soft=used)


def prefit_rules(primary: Any, number: int) -> tuple[FixedRule, ...]:
    """Primary rules and alternatives from the parameter `primary` of prefit classifiers: an index, or weights.

    Weights are for the draws and the vote; the first classifier with the largest weight is the primary single one.  The
    alternatives to the primary vote are this classifier, and the vote with equal weights.

    Examples
    --------
    >>> for rule in prefit_rules([0.5, 0.25, 0.25], 3):
    ...     print(rule.voting, rule.name, np.ldexp(rule.weights.astype(float), -52).round(3))
    stochastic primary [0.5  0.25 0.25]
    majority primary [0.5  0.25 0.25]
    majority single [1. 0. 0.]
    majority equal vote [0.333 0.333 0.333]
    best primary [1. 0. 0.]
    >>> prefit_rules(3, 3)
    Traceback (most recent call last):
    ValueError: primary must be the index of one of the 3 classifiers, from 0 to 2, or weights; got 3
    """
    if isinstance(primary, bool | np.bool_ | str):
        raise TypeError(f"primary must be the index of a classifier or a weight for each, got {primary!r}")
    if isinstance(primary, int | np.integer):
        if not 0 <= primary < number:
            raise ValueError(
                f"primary must be the index of one of the {number} classifiers, from 0 to {number - 1}, or weights; "
                f"got {primary}"
            )
        weights = single_weight(int(primary), number)
    else:
        weights = integer_weights(check_distribution("primary", primary, number)[0])
    single = single_weight(int(np.argmax(weights)), number)
    votes = _distinct_votes([(PRIMARY, weights), (SINGLE, single), (EQUAL, integer_weights(np.ones(number)))])
    return Draws(PRIMARY, weights), *votes, Single(PRIMARY, single)


def prefit_soft_vote(weights: IntegerWeights, codes: Rows) -> SoftVote:
    """Soft vote of the uncalibrated probabilities of prefit classifiers; `codes` are those of the training classes."""
    # With this many rows, smoothing changes probabilities by less than their rounding.
    identity = Calibration(PROBABILITIES, MAX_STORED_INT, 1.0, np.zeros(codes.size), np.zeros(codes.size))
    return SoftVote(
        PRIMARY, weights, soft=Calibrations(codes, dict.fromkeys(np.flatnonzero(weights).tolist(), identity))
    )


def _distinct_votes(votes: list[tuple[str, IntegerWeights]]) -> list[Vote]:
    """Create votes from names and weights; repeated weights are omitted."""
    return [
        Vote(name, weights)
        for place, (name, weights) in enumerate(votes)
        if not any(np.array_equal(weights, previous) for _, previous in votes[:place])
    ]


#: Maximum number of predictions in memory; with more, votes are not cross-validated.
MAX_PREDICTIONS = 2**28
# Weights and predictions multiplied per block.
_BLOCK_SIZE = 4_000_000


def errors_of_votes(y_pred: Predictions, codes: Rows, fold: Rows, sizes: Rows) -> tuple[int, ...]:
    """Cross-validation errors of the votes of all strengths, from the candidates' predictions, shape (c, n).

    The weights of a vote in a fold come from the candidates' errors in the other folds.  Folds of size zero, for which
    nothing could be trained, are left out.

    Examples
    --------
    >>> y_pred = np.array([[0, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 0], [0, 0, 0, 0, 1, 1]])
    >>> codes, fold = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    >>> errors_of_votes(y_pred, codes, fold, np.array([2, 2, 2]))
    (1, 1, 2, 2, 2, 2, 3)
    """
    errors = np.zeros(len(STRENGTHS), dtype=np.int64)
    wrong = y_pred != codes
    used = np.flatnonzero(sizes)
    # Classes without training rows cannot win a vote.
    n_classes = int(codes.max()) + 1
    totals = np.count_nonzero(wrong[:, np.isin(fold, used)], axis=1)
    for k in used.tolist():
        test = np.flatnonzero(fold == k)
        other_folds = totals - np.count_nonzero(wrong[:, test], axis=1)
        weights = np.array([integer_vote_weights(other_folds, strength) for strength in STRENGTHS])
        step = max(1, _BLOCK_SIZE // len(other_folds))
        for start in range(0, test.size, step):
            rows = test[start : start + step]
            errors += _vote_errors(weights, y_pred[:, rows], codes[rows], n_classes)
    return tuple(errors.tolist())


def _vote_errors(weights: IntegerWeights, y_pred: Predictions, codes: Rows, n_classes: int) -> Rows:
    """Count the errors of several votes, whose weights have shape (votes, c).

    Sums of integer weights are below 2^53: votes are exact, and ties go to the first class.
    """
    floats = weights.astype(np.float64)
    sums = np.stack([floats @ (y_pred == code) for code in range(n_classes)], axis=-1)
    errors: Rows = np.count_nonzero(sums.argmax(axis=-1) != codes, axis=1)
    return errors


# -- prior and distances -----------------------------------------------------------------------------------------------

#: Name of the prior computed from cross-validation errors.
CROSS_VALIDATION = "cross-validation"
# Prior mass of classifiers that were not cross-validated; it increases the divergence of others by ln(1/0.9).
_NOT_VALIDATED_MASS = 0.1


def check_distances(distance: Any, catoni: Catoni | None = None) -> tuple[Distance, ...]:
    """Resolve one or several distances, by name or as objects; raise if one is unknown or repeated.

    `catoni` is the distance for the name "catoni", which is unknown without it.
    """
    requested = (distance,) if isinstance(distance, str | Distance) else distance
    if not isinstance(requested, list | tuple) or not requested:
        raise TypeError(f"distance must be a distance, its name, or a list of these, got {distance!r}")
    distances = tuple(catoni if catoni is not None and item == CATONI else get_distance(item) for item in requested)
    names = {item if item == CATONI else known.name for item, known in zip(requested, distances, strict=True)}
    if len(names) < len(requested):
        raise ValueError(f"distance contains duplicates: {distance!r}")
    return distances


def resolve_distances(
    distance: Any, cross_validation: CrossValidation | None, m: int, level: float
) -> tuple[Distance, ...]:
    """Distances of an estimator, with Catoni's parameter from cross-validation if "catoni" has none.

    The parameter is the best one for the cross-validated risk of the classifier with the fewest errors, for `m`
    validation examples and each distance's share of `level`; half an error on one additional row is added, so
    that the parameter is finite without errors.

    Examples
    --------
    >>> cv = CrossValidation(np.array([0, 1]), np.array([[3, 5], [4, 6]]), np.array([100, 100]))
    >>> resolve_distances("catoni", cv, 200, 0.05), resolve_distances(["kl", "catoni"], cv, 50, 0.05)
    ((Catoni(C=0.762),), (KL(), Catoni(C=1.5)))
    """
    if cross_validation is None:
        return check_distances(distance)
    number = 1 if isinstance(distance, str | Distance) else len(distance)
    errors, n = int(cross_validation.totals.min()), int(cross_validation.sizes.sum())
    catoni = Catoni.expecting((errors + 0.5) / (n + 1.0), m, level / number)
    # A distance with the same parameter may also have been requested.
    return tuple(dict.fromkeys(check_distances(distance, catoni=catoni)))


def cross_validation_prior(cross_validation: CrossValidation, number: int, scale: float = 1.0) -> FloatArray:
    r"""Prior of equation (cross-validation-prior), :math:`p_i \propto e^{-s (k_i - k_{min})}`.

    `k` are errors in cross-validation.  The scale `s` is 1, or less where several training rows are one unit.  Of
    `number` classifiers, those that were not cross-validated share a tenth of the mass equally, because no posterior
    can use classifiers without prior mass.

    Examples
    --------
    >>> cv = CrossValidation(np.array([0, 2]), np.array([[1, 2], [4, 0]]), np.array([9, 9]))
    >>> cross_validation_prior(cv, 4).round(4)
    array([0.658, 0.05 , 0.242, 0.05 ])
    """
    candidates, errors = cross_validation.candidates, cross_validation.totals
    with default_errstate():
        weights = np.exp(-scale * (errors - errors.min()))
        weights /= weights.sum()
    prior = np.zeros(number)
    prior[candidates] = weights
    rest = np.ones(number, dtype=bool)
    rest[candidates] = False
    if rest.any():
        prior[candidates] *= 1.0 - _NOT_VALIDATED_MASS
        prior[rest] = _NOT_VALIDATED_MASS / np.count_nonzero(rest)
    return prior


def prior_uses_data(prior: Callable[..., Any], shared: bool) -> bool:
    """Whether a callable prior accepts the training rows; raise if they are not available.

    Examples
    --------
    >>> prior_uses_data(lambda params: None, True), prior_uses_data(lambda params, X_train, y_train: None, True)
    (False, True)
    >>> prior_uses_data(lambda params, X_train, y_train: None, False)
    Traceback (most recent call last):
    ValueError: prior must not use training rows without split='shared': every row validates some classifier
    """
    if _accepts_arguments(prior, 3):
        if shared:
            return True
        if not _accepts_arguments(prior, 1):
            raise ValueError(
                "prior must not use training rows without split='shared': every row validates some classifier"
            )
    elif not _accepts_arguments(prior, 1):
        raise TypeError(
            "a callable prior must accept the list of parameters, or parameters, training rows and labels; got "
            f"{prior!r}"
        )
    return False


def _accepts_arguments(function: Callable[..., Any], number: int) -> bool:
    try:
        inspect.signature(function).bind(*range(number))
    except TypeError:
        return False
    except ValueError:  # if there is no signature, only the list of parameters is passed
        return number == 1
    return True


def resolve_prior(
    prior: Any,
    params: list[dict[str, Any]],
    training_rows: Callable[[], tuple[Any, Any]] | None,
    cross_validated: CrossValidation | None,
    split: Split,
) -> FloatArray | None:
    """Normalised weights of the prior; None for the uniform one.

    `training_rows` returns copies of the training rows and labels; None without a shared training set.
    """
    if isinstance(prior, str):
        if prior != CROSS_VALIDATION:
            return None
        assert cross_validated is not None
        # Rows of a group, and duplicates, are one sampling unit.
        scale = split.n_train / split(0)[0].size
        return cross_validation_prior(cross_validated, len(params), scale)
    if callable(prior):
        data = training_rows() if training_rows is not None and prior_uses_data(prior, True) else ()
        prior = prior(copy.deepcopy(params), *data)
    weights, total = check_distribution("prior", prior, len(params))
    return weights / total


def prior_kind(prior: Any, shared: bool) -> str:
    """Origin of the prior: a key of `sentences.PRIORS`.

    Examples
    --------
    >>> prior_kind("uniform", True), prior_kind([0.5, 0.5], True), prior_kind(lambda params: None, True)
    ('uniform', 'given', 'parameters')
    """
    if isinstance(prior, str):
        return prior
    if not callable(prior):
        return "given"
    return "training rows" if prior_uses_data(prior, shared) else "parameters"
