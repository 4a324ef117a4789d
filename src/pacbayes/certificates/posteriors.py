"""Predictions for the validation rows, and the posterior optimised on them.

`predict_validation` is the only function of a fit that predicts validation rows, once with every classifier, including
probabilities for a soft vote.

The posterior need not be optimal: the PAC-Bayes bound holds for all posteriors simultaneously, and is evaluated at the
weights that are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pacbayes._utils.arrays import FloatArray, default_errstate
from pacbayes._utils.checks import check_level
from pacbayes.bounds.distance import Distance
from pacbayes.certificates.levels import divide_delta
from pacbayes.certificates.plan import Plan
from pacbayes.certificates.primary import check_distances
from pacbayes.certificates.thresholds import ThresholdGrid, confidence, round_to_grid
from pacbayes.certificates.voting import SOFT, float_weights, integer_weights
from pacbayes.data.dataset import Dataset
from pacbayes.data.rows import pick_rows
from pacbayes.ensemble.members import Members
from pacbayes.ensemble.validation import ValidationPredictions, collect_predictions
from pacbayes.posteriors.optimal import DEFAULT_TOL, solve_certified
from pacbayes.posteriors.posterior import Posterior, Problem


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Posterior optimised on the validation rows, if any.

    See Also
    --------
    fit_posteriors : Optimise the posterior.

    Examples
    --------
    >>> Posteriors().posterior is None
    True
    """

    #: The posterior with the smallest bound at the hedged share of delta; None without hedge.
    posterior: Posterior | None = None


def fit_posteriors(plan: Plan, predictions: ValidationPredictions) -> Posteriors:
    """Optimise the posterior on the validation rows, if the plan has a hedge for it.

    See Also
    --------
    Plan : Everything fixed before validation.
    certify : The certificates.

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
        predictions.count_errors(plan.split).risks,
        plan.split.m,
        distance=plan.distances,
        delta=plan.hedged_level,
        prior=plan.prior,
        constant=plan.constant,
    )
    return Posteriors(posterior)


def choose_posterior(
    risks: FloatArray, m: int, *, distance: Any, delta: float, prior: FloatArray | None, constant: str
) -> Posterior:
    r"""Optimise the posterior, with the smallest bound over one or several distances.

    Each of several distances has an equal share of :math:`\delta`, so that the smallest bound holds at :math:`\delta`.
    The weights are rounded to multiples of :math:`2^{-52}`, which makes draws and votes with them exact, and the bound
    is that of the rounded weights.

    Examples
    --------
    >>> risks = np.array([0.1, 0.2])
    >>> one = choose_posterior(risks, 100, distance="kl", delta=0.05, prior=None, constant="exact")
    >>> two = choose_posterior(risks, 100, distance=["kl", "squared"], delta=0.05, prior=None, constant="exact")
    >>> two.distance, round(two.delta, 12), bool(two.bound > one.bound), float(two.weights.sum())
    ('kl', 0.025, True, 1.0)
    """
    distances = check_distances(distance)
    level = divide_delta(check_level(delta), len(distances))
    if level <= 0.0:
        raise ValueError(f"delta must be large enough to be divided among {len(distances)} distances, got {delta!r}")
    posteriors = (_optimise_and_round(risks, m, one, level, prior, constant) for one in distances)
    return min(posteriors, key=lambda posterior: posterior.bound)


def restore_posterior(
    weights: FloatArray,
    risks: FloatArray,
    m: int,
    *,
    distance: str | Distance,
    delta: float,
    prior: FloatArray | None,
    constant: str,
) -> Posterior:
    """Restore a posterior from stored weights, with the lower bound of a new optimisation.

    Stored weights need not be optimal: the bound is recomputed and holds for any weights, and no posterior has a bound
    below `lower_bound`.

    Examples
    --------
    >>> risks = np.array([0.1, 0.2])
    >>> posterior = restore_posterior(
    ...     np.array([0.5, 0.5]), risks, 100, distance="kl", delta=0.05, prior=None, constant="exact"
    ... )
    >>> best = choose_posterior(risks, 100, distance="kl", delta=0.05, prior=None, constant="exact")
    >>> bool(posterior.bound > best.bound), posterior.lower_bound == best.lower_bound, posterior.converged
    (True, True, False)
    """
    optimal = _optimise_and_round(risks, m, distance, delta, prior, constant)
    if np.array_equal(optimal.weights, weights):
        return optimal
    with default_errstate():
        problem = Problem.from_arguments(risks, m, distance, delta, prior, constant)
        return problem.posterior(
            weights,
            lower_bound=optimal.lower_bound,
            method=optimal.method,
            converged=problem.evaluate(weights).bound - optimal.lower_bound <= DEFAULT_TOL,
            n_iter=optimal.n_iter,
            message="the weights are those of a file",
        )


def _optimise_and_round(
    risks: FloatArray, m: int, distance: str | Distance, delta: float, prior: FloatArray | None, constant: str
) -> Posterior:
    """Optimise the posterior, and round its weights to multiples of 2^-52."""
    copied = ("lower_bound", "beta", "method", "converged", "n_iter", "message", "details")
    with default_errstate():
        problem = Problem.from_arguments(risks, m, distance, delta, prior, constant)
        optimal = solve_certified(problem, DEFAULT_TOL)
        weights = float_weights(integer_weights(optimal.weights))
        return problem.posterior(weights, **{name: getattr(optimal, name) for name in copied})


def predict_validation(members: Members, plan: Plan, data: Dataset, n_jobs: int | None = None) -> ValidationPredictions:
    """Predict the validation rows with every classifier and every fixed rule.

    Fixed rules require a validation set shared by all classifiers.
    """
    predictions = collect_predictions(members, data, plan.split, n_jobs)
    if not plan.fixed_rules:
        return predictions
    rows, n_classes, means = plan.split.validation_rows, int(data.classes.size), None
    if SOFT in plan.primary_rules:
        means = plan.soft.mean_probabilities(members, members.preprocess(pick_rows(data.rows, rows)))
    rule_predictions = np.stack(
        [
            rule.combine(predictions.y_pred, predictions.labels, lambda: data.hashes(plan.key)[rows], means)
            for rule in plan.fixed_rules
        ]
    )
    predictions = replace(predictions, rule_predictions=rule_predictions.astype(predictions.y_pred.dtype))
    if plan.needs_probabilities:
        assert means is not None
        predictions = replace(predictions, probabilities=plan.soft.grid_probabilities(means, n_classes))
    if plan.thresholds is None:
        return predictions
    # The scores of the soft vote are used for all votings: any score fixed on the training rows is valid.
    soft = plan.soft
    assert means is not None
    if isinstance(plan.thresholds, ThresholdGrid):
        probabilities = soft.soft.expand(means, n_classes)
        scores = np.full(rule_predictions.shape, -np.inf)
        scores[plan.fixed_rules.index(soft)] = round_to_grid(
            probabilities[:, predictions.encode_class(plan.thresholds.positive)]
        )
        return replace(predictions, scores=scores)
    margins = soft.margins(means, n_classes)
    return replace(predictions, scores=np.stack([confidence(margins, codes) for codes in rule_predictions]))
