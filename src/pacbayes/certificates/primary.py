r"""What is fixed beforehand: the rules that the training rows, or a user, propose, and the prior and distances.

With :math:`k_i` errors of classifier i in cross-validation within the training rows, the fewest being
:math:`k_{\min}`, proposals follow equation (vote-weights) and equation (draw-weights) of docs/mathematics.md.
"""

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacbayes._utils.arrays import FloatArray, Rows, usual_float_errors
from pacbayes._utils.checks import check_distribution
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.distances import CATONI, Catoni, get_distance
from pacbayes.certificates.rules import Draws, FixedRule, Single, SoftVote, Vote
from pacbayes.certificates.voting import PRIMARY, Counts, integer_weights, parts_of_one, weights_of
from pacbayes.data.split import Split
from pacbayes.ensemble.cross_validation import CrossValidation, middle_of_fewest
from pacbayes.ensemble.members import Calibrated, Predictions

#: How strongly votes may prefer classifiers with few errors: from all alike to one alone.
STRENGTHS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, math.inf)
#: The strength of the proposed vote where none was tried, and how strongly its average prefers votes with few errors.
VOTE_STRENGTH, AVERAGE_STRENGTH = 0.25, 1.0
#: The strength of the proposed draws.
DRAW_STRENGTH = 2.0
#: The names, beside the proposal, of the vote of one, and of the vote in which all count alike.
SINGLE, EQUAL = "single", "equal vote"


def vote_weights(errors: ArrayLike, strength: float) -> FloatArray:
    r"""Return the weights of a vote, not normalised: :math:`e^{-s (k_i - k_{\min})/\sqrt{k_{\min}+1}}`.

    A difference counts in units of what luck makes of so many errors.

    Examples
    --------
    >>> vote_weights([8, 11, 20], 1.0).round(4)
    array([1.    , 0.3679, 0.0183])
    """
    k = np.asarray(errors, dtype=np.float64)
    with usual_float_errors():
        return np.asarray(np.exp(-strength * (k - k.min()) / np.sqrt(k.min() + 1.0)))


def draw_weights(errors: ArrayLike) -> FloatArray:
    r"""Return the weights of draws, not normalised: :math:`e^{-2 (k_i - k_{\min})}`.

    A draw errs as often as the classifier drawn does, where a vote errs less than its members: draws want their weight
    on few.

    Examples
    --------
    >>> draw_weights([8, 9, 20]).round(4)
    array([1.    , 0.1353, 0.    ])
    """
    k = np.asarray(errors, dtype=np.float64)
    with usual_float_errors():
        return np.asarray(np.exp(-DRAW_STRENGTH * (k - k.min())))


def vote_parts(errors: ArrayLike, strength: float) -> Counts:
    """Return the weights of a vote in whole multiples of 2^-52; with infinite strength it is the vote of one.

    Of several with the fewest errors that is the middle one of their longest run.

    Examples
    --------
    >>> for strength in (0.0, math.inf):
    ...     print(np.ldexp(vote_parts([8, 11, 20], strength).astype(float), -52).round(3))
    [0.333 0.333 0.333]
    [1. 0. 0.]
    """
    k = np.asarray(errors)
    if strength == math.inf:
        return parts_of_one(middle_of_fewest(k), k.size)
    return integer_weights(vote_weights(k, strength))


def averaged_parts(errors: ArrayLike, errors_of_votes: Sequence[int]) -> Counts:
    """Return the average of the votes of all strengths, each weighted by its errors as a vote weights classifiers.

    Examples
    --------
    >>> np.ldexp(averaged_parts([8, 11, 20], [9, 9, 9, 8, 8, 8, 8]).astype(float), -52).round(3)
    array([0.743, 0.187, 0.07 ])
    """
    votes = np.array([weights_of(vote_parts(errors, strength)) for strength in STRENGTHS])
    return integer_weights(vote_weights(errors_of_votes, AVERAGE_STRENGTH) @ votes)


def primary_weights(
    candidates: Rows, errors: ArrayLike, number: int, errors_of_votes: Sequence[int] | None = None
) -> tuple[FixedRule, ...]:
    """Return the rules that errors of some of so many classifiers recommend: for each way of predicting a proposal.

    `errors_of_votes` are those of votes of all strengths: the average of these votes is proposed; without them it is
    the vote of the usual strength.  It has a ladder of votes beside it; one that would be the same as another is left
    out.

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
    found = np.asarray(errors)

    def spread(parts: Counts) -> Counts:
        among_all = np.zeros(number, dtype=np.int64)
        among_all[candidates] = parts
        return among_all

    proposed = averaged_parts(found, errors_of_votes) if errors_of_votes else vote_parts(found, VOTE_STRENGTH)
    ladder = [(SINGLE if s == math.inf else f"vote s={s:g}", spread(vote_parts(found, s))) for s in STRENGTHS]
    return (
        Draws(PRIMARY, spread(integer_weights(draw_weights(found)))),
        *_votes([(PRIMARY, spread(proposed)), *ladder]),
        Single(PRIMARY, spread(vote_parts(found, math.inf))),
    )


#: Classifiers with less weight in a soft vote than this part of the largest have none.
LEAST_WEIGHT = 1e-3


def soft_parts(log_losses: FloatArray, families: Rows, n: int) -> Counts:
    r"""Return the weights of a soft vote: of each family the classifier with the least log-loss, the first of several.

    Weights are :math:`e^{-(L_i - L_{\min})/\sqrt n}`, equation (soft-weights), with the log-loss :math:`L_i` of all
    `n` training rows: a difference counts in units of what luck makes of so many rows.

    Examples
    --------
    >>> parts = soft_parts(np.array([30.0, 20.0, 25.0, 900.0]), np.array([0, 0, 1, 2]), 100)
    >>> np.ldexp(parts.astype(float), -52).round(3)
    array([0.   , 0.622, 0.378, 0.   ])
    """
    best = np.zeros(log_losses.size, dtype=bool)
    for family in np.unique(families):
        mine = np.flatnonzero(families == family)
        best[mine[np.argmin(log_losses[mine])]] = True
    with usual_float_errors():
        weights = np.where(best, np.exp(-(log_losses - log_losses.min()) / math.sqrt(n)), 0.0)
    return integer_weights(np.where(weights < LEAST_WEIGHT, 0.0, weights))


def soft_weights(found: CrossValidation, number: int, n: int) -> Counts:
    """Return the weights, among so many classifiers, of the soft vote that cross-validation recommends."""
    assert found.log_losses is not None
    assert found.families is not None
    parts = np.zeros(number, dtype=np.int64)
    parts[found.candidates] = soft_parts(found.log_losses, found.families, n)
    return parts


def primary_soft_vote(found: CrossValidation, number: int, n: int, soft: Calibrated) -> SoftVote:
    """Return the soft vote that cross-validation recommends.

    `soft` has the maps of all classifiers that were cross-validated.  Nothing stands beside it: while the best single
    classifier and Occam's bound did, on the data sets of benchmarks/bench_soft.py, neither ever had a smaller bound.
    """
    parts = soft_weights(found, number, n)
    used = Calibrated(soft.classes, {i: soft.maps[i] for i in np.flatnonzero(parts).tolist()})
    return SoftVote(PRIMARY, parts, soft=used)


def given_rules(primary: Any, number: int) -> tuple[FixedRule, ...]:
    """Return the rules that a proposal stands for, not yet tested: one of so many classifiers, or weights of all.

    For classifiers from elsewhere, whose user fixed it beforehand.  Weights are those of the draws and of the vote, and
    the classifier with the largest weight (the first of several) predicts where one does.  Beside a primary vote stand
    that classifier alone, and the vote with equal weights.

    Examples
    --------
    >>> for rule in given_rules([0.5, 0.25, 0.25], 3):
    ...     print(rule.voting, rule.name, np.ldexp(rule.weights.astype(float), -52).round(3))
    stochastic primary [0.5  0.25 0.25]
    majority primary [0.5  0.25 0.25]
    majority single [1. 0. 0.]
    majority equal vote [0.333 0.333 0.333]
    best primary [1. 0. 0.]
    >>> given_rules(3, 3)
    Traceback (most recent call last):
    ValueError: primary must be the number of one of the 3 classifiers, from 0 to 2, or weights; got 3
    """
    if isinstance(primary, bool | np.bool_ | str):
        raise TypeError(f"primary must be the number of a classifier or a weight for each, got {primary!r}")
    if isinstance(primary, int | np.integer):
        if not 0 <= primary < number:
            raise ValueError(
                f"primary must be the number of one of the {number} classifiers, from 0 to {number - 1}, or weights; "
                f"got {primary}"
            )
        parts = parts_of_one(int(primary), number)
    else:
        parts = integer_weights(check_distribution("primary", primary, number)[0])
    single = parts_of_one(int(np.argmax(parts)), number)
    votes = _votes([(PRIMARY, parts), (SINGLE, single), (EQUAL, integer_weights(np.ones(number)))])
    return Draws(PRIMARY, parts), *votes, Single(PRIMARY, single)


def _votes(named: list[tuple[str, Counts]]) -> list[Vote]:
    """Return votes by name; one that would be the same as another before it is left out."""
    return [
        Vote(name, weights)
        for place, (name, weights) in enumerate(named)
        if not any(np.array_equal(weights, known) for _, known in named[:place])
    ]


#: Answers are kept up to this number, a byte each where there are at most 255 classes; with more nothing is tried.
MOST_ANSWERS = 2**28
# Weights and answers that are multiplied at once.
_BLOCK = 4_000_000


def errors_of_votes(y_pred: Predictions, codes: Rows, fold: Rows, sizes: Rows) -> tuple[int, ...]:
    """Return the errors in cross-validation of the votes of all strengths, from the answers of candidates, (c, n).

    In each fold a vote has the weights that the candidates' errors in the other folds give it; folds of size zero, for
    which nothing could be trained, are left out.

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
    # A class that no training row has wins no vote that matters here.
    n_classes = int(codes.max()) + 1
    totals = np.count_nonzero(wrong[:, np.isin(fold, used)], axis=1)
    for k in used.tolist():
        test = np.flatnonzero(fold == k)
        elsewhere = totals - np.count_nonzero(wrong[:, test], axis=1)
        parts = np.array([vote_parts(elsewhere, strength) for strength in STRENGTHS])
        step = max(1, _BLOCK // len(elsewhere))
        for start in range(0, test.size, step):
            rows = test[start : start + step]
            errors += _errors_of(parts, y_pred[:, rows], codes[rows], n_classes)
    return tuple(errors.tolist())


def _errors_of(parts: Counts, y_pred: Predictions, codes: Rows, n_classes: int) -> Rows:
    """Return the errors of votes of some weights on some rows, which need not have all of so many classes.

    The weights are whole numbers with a sum below 2^53: votes are exact, and ties go to the first class.
    """
    weights = parts.astype(np.float64)
    sums = np.stack([weights @ (y_pred == code) for code in range(n_classes)], axis=-1)
    errors: Rows = np.count_nonzero(sums.argmax(axis=-1) != codes, axis=1)
    return errors


# -- prior and distances -----------------------------------------------------------------------------------------------

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
    split: Split,
) -> FloatArray | None:
    """Return the prior's weights, normalised; None for the uniform one.

    `training_rows` gives copies of the training rows and labels; None where every row validates some classifier.
    """
    if isinstance(prior, str):
        if prior != CROSS_VALIDATION:
            return None
        assert cross_validated is not None
        # Rows of a group, and copies, count as one.
        scale = split.n_train / split(0)[0].size
        return cross_validation_prior(cross_validated, len(params), scale)
    if callable(prior):
        own = copy.deepcopy(params)
        data = training_rows() if training_rows is not None and asks_for_data(prior, True) else ()
        prior = prior(own, *data)
    weights, total = check_distribution("prior", prior, len(params))
    return weights / total


def prior_kind(prior: Any, shared: bool) -> str:
    """Return where the prior comes from: a key of `sentences.PRIORS`.

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
