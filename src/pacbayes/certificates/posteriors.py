"""What the validation rows show and choose: answers, and then a posterior.

Here is the first, and in a fit the only, place that asks about validation rows: each classifier about each of them,
once.  Those that have a part in a soft vote are asked a second question: how sure they are.

The weights need not be the best: the bound holds for all weights at once, and is that of the weights as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray, usual_float_errors
from pacbayes._utils.checks import check_level
from pacbayes.bounds.distance import Distance
from pacbayes.certificates.levels import divide_delta
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.primary import check_distances
from pacbayes.certificates.thresholds import ThresholdGrid, confidence, on_grid
from pacbayes.certificates.voting import SOFT, float_weights, integer_weights
from pacbayes.data.dataset import Dataset
from pacbayes.data.rows import pick_rows
from pacbayes.ensemble.members import Members
from pacbayes.ensemble.validation import ValidationPredictions, observe
from pacbayes.posteriors.optimal import DEFAULT_TOL, certified
from pacbayes.posteriors.posterior import Posterior, Problem


@dataclass(frozen=True, eq=False)
class Posteriors:
    """What the validation rows chose.

    See Also
    --------
    fit_posteriors : What makes one.

    Examples
    --------
    >>> Posteriors().posterior is None
    True
    """

    #: The posterior with the smallest bound at the whole of the reserve; None where nothing was kept for it.
    posterior: Posterior | None = None


def fit_posteriors(plan: Plan, predictions: ValidationPredictions) -> Posteriors:
    """Return what the validation rows choose, where the plan keeps a part of delta for it.

    See Also
    --------
    Plan : What is fixed beforehand.
    certify : What follows.

    Examples
    --------
    >>> from pacbayes import ClassifierSet
    >>> classifiers = ClassifierSet.from_predictions([[0, 1, 1, 0], [0, 1, 0, 0]], [0, 1, 0, 0])
    >>> fit_posteriors(Plan(classifiers.splits), classifiers.predictions).posterior.weights.round(2)
    array([0., 1.])
    """
    if plan.hedge == 0.0:
        return Posteriors()
    posterior = choose_posterior(
        predictions.count(plan.split).risks,
        plan.split.m,
        distance=plan.distances,
        delta=plan.reserve,
        prior=plan.prior,
        constant=plan.constant,
    )
    return Posteriors(posterior)


def choose_posterior(
    risks: FloatArray, m: int, *, distance: Any, delta: float, prior: FloatArray | None, constant: str
) -> Posterior:
    r"""Return the posterior with the smallest bound over one or several distances.

    With several, :math:`\delta` is divided equally among them, so that the smallest bound holds at :math:`\delta`
    although it was chosen after all were seen.  The weights are rounded to multiples of :math:`2^{-52}`, and the bound
    is that of the rounded weights: a draw from them and a vote with them are then exact.

    Examples
    --------
    >>> risks = np.array([0.1, 0.2])
    >>> one = choose_posterior(risks, 100, distance="kl", delta=0.05, prior=None, constant="exact")
    >>> two = choose_posterior(risks, 100, distance=["kl", "squared"], delta=0.05, prior=None, constant="exact")
    >>> two.distance, round(two.delta, 12), bool(two.bound > one.bound), float(two.weights.sum())
    ('kl', 0.025, True, 1.0)
    """
    among = check_distances(distance)
    level = divide_delta(check_level(delta), len(among))
    if level <= 0.0:
        raise ValueError(f"delta must be large enough to be divided among {len(among)} distances, got {delta!r}")
    return min((_exact(risks, m, one, level, prior, constant) for one in among), key=lambda found: found.bound)


def restored_posterior(
    weights: FloatArray,
    risks: FloatArray,
    m: int,
    *,
    distance: str | Distance,
    delta: float,
    prior: FloatArray | None,
    constant: str,
) -> Posterior:
    """Return the posterior that has these weights, at its own level `delta`, with what a new search proves about it.

    The weights may have been found by another version, whose last bits differ, or by somebody else: the bound is theirs
    and holds for any weights, and no posterior has a bound below `lower_bound`.

    Examples
    --------
    >>> risks = np.array([0.1, 0.2])
    >>> found = restored_posterior(
    ...     np.array([0.5, 0.5]), risks, 100, distance="kl", delta=0.05, prior=None, constant="exact"
    ... )
    >>> best = choose_posterior(risks, 100, distance="kl", delta=0.05, prior=None, constant="exact")
    >>> bool(found.bound > best.bound), found.lower_bound == best.lower_bound, found.converged
    (True, True, False)
    """
    found = _exact(risks, m, distance, delta, prior, constant)
    if np.array_equal(found.weights, weights):
        return found
    with usual_float_errors():
        problem = Problem.checked(risks, m, distance, delta, prior, constant)
        return problem.posterior(
            weights,
            lower_bound=found.lower_bound,
            method=found.method,
            converged=problem.evaluate(weights).bound - found.lower_bound <= DEFAULT_TOL,
            n_iter=found.n_iter,
            message="the weights are those of a file",
        )


def _exact(
    risks: FloatArray, m: int, distance: str | Distance, delta: float, prior: FloatArray | None, constant: str
) -> Posterior:
    kept = ("lower_bound", "beta", "method", "converged", "n_iter", "message", "details")
    with usual_float_errors():
        problem = Problem.checked(risks, m, distance, delta, prior, constant)
        found = certified(problem, DEFAULT_TOL)
        weights = float_weights(integer_weights(found.weights))
        return problem.posterior(weights, **{name: getattr(found, name) for name in kept})


def predict_validation(members: Members, plan: Plan, data: Dataset, n_jobs: int | None = None) -> ValidationPredictions:
    """Ask every classifier about every row that validates it, once, and note what every planned rule makes of it.

    A rule is planned only where all classifiers share their validation rows.
    """
    predictions = observe(members, data, plan.split, n_jobs)
    if not plan.fixed_rules:
        return predictions
    rows, n_classes, shares = plan.split.validating, int(data.classes.size), None
    if SOFT in plan.primary_rules:
        shares = plan.soft.shares(members, members.prepared(pick_rows(data.rows, rows)))
    said = np.stack(
        [
            rule.combine(predictions.y_pred, predictions.labels, lambda: data.hashes(plan.key)[rows], shares)
            for rule in plan.fixed_rules
        ]
    )
    predictions = replace(predictions, rule_predictions=said.astype(predictions.y_pred.dtype))
    if plan.decision is None:
        return predictions
    # Of the soft vote, whatever the way of predicting: any score is valid that the training rows fixed.
    soft = plan.soft
    assert shares is not None
    if isinstance(plan.thresholds, ThresholdGrid):
        probabilities = soft.soft.spread(shares, n_classes)
        scores = np.full(said.shape, -np.inf)
        scores[plan.fixed_rules.index(soft)] = on_grid(probabilities[:, predictions.code_of(plan.thresholds.positive)])
        return replace(predictions, scores=scores)
    margins = soft.confidences(shares, n_classes)
    return replace(predictions, scores=np.stack([confidence(margins, one) for one in said]))
