"""Certificates for a posterior over a set of classifiers, one for each way of predicting with it."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pacbayes.bounds.distances.registry import get_distance
from pacbayes.certificates.certificate import CONSTANT, Baseline, Certificate
from pacbayes.certificates.limits import risks_of, upper_limits
from pacbayes.certificates.posterior_choice import divide_delta
from pacbayes.classifiers.classifier_set import ClassifierSet, Errors
from pacbayes.classifiers.group_errors import GroupErrors
from pacbayes.numeric.arrays import FloatArray, Rows
from pacbayes.numeric.rounding import round_down, round_up, usual_float_errors
from pacbayes.posteriors.posterior import Posterior
from pacbayes.posteriors.problem import Problem

VOTINGS = ("stochastic", "majority", "best")
# Why certificates from a stratified set are none.
STRATIFIED = (
    "the rows were divided by their labels (stratify=True), so that the training rows tell the class counts of the "
    "validation rows"
)


def certify(
    posterior: Posterior,
    classifiers: ClassifierSet | Errors,
    *,
    delta: float,
    prior: FloatArray | None,
    n_distances: int = 1,
    hold_out: Baseline,
    constant: Baseline,
    assumptions: Sequence[str] = (),
) -> dict[str, Certificate]:
    r"""Return the certificates of a posterior by way of predicting; each holds alone at level `delta`.

    * stochastic: the PAC-Bayesian bound `B` of the posterior, and the lower root where the theorem has two sides.
    * majority: `2 B`.  Where the weighted vote errs, ties included, classifiers of at least half the weight err, so
      that it errs at most twice as often as the stochastic classifier.
    * best: for each classifier the exact binomial limit (for groups, Chernoff's) at level :math:`\delta p_i`; all hold
      at once at :math:`\delta`, hence the smallest does, whichever it is.

    `classifiers` is a set, or the validation errors of one.  From a set whose rows were divided by their labels come
    certificates that say that they are not valid; of bare errors that is not known.

    `hold_out` and `constant` are what a classifier chosen within the training rows guarantees, and always answering the
    most frequent class; they stand beside each certificate.

    Examples
    --------
    >>> from pacbayes import optimal_posterior
    >>> errors = np.array([8, 9, 30])
    >>> posterior = optimal_posterior(errors / 100, 100)
    >>> absent = Baseline(None, None, "not asked for")
    >>> found = certify(posterior, errors, delta=0.05, prior=None, hold_out=absent, constant=absent)
    >>> for certificate in found.values():
    ...     print(certificate.holds_for, f"{certificate.bound:.4f}")
    the stochastic classifier 0.2112
    the majority vote 0.4224
    the best single classifier 0.1581
    """
    errors = _counted(classifiers, posterior.m)
    posterior = _check_posterior(posterior, errors, delta, prior, n_distances)
    best = best_single(errors, posterior.m, delta, prior)
    others = {"hold-out": hold_out, CONSTANT: constant}
    occam = Baseline(best.bound, best.empirical_risk, "the best single classifier, chosen on the same rows")
    baselines = {"Occam": occam, **others}
    alone = (
        "This certificate holds alone at its level, not jointly with those of the other ways of predicting; distance, "
        "delta and way of predicting were fixed before their results were seen."
    )
    by_row = (
        "What a classifier, with all that prepares its rows, says of a row depends on that row alone, not on the rows "
        "it is asked about together with it."
    )
    shared = (*assumptions, by_row, alone)
    stochastic = _stochastic(posterior, delta, n_distances, shared, baselines)
    grouped = isinstance(errors, GroupErrors)
    limit = "Chernoff's limit (the kl inverse)" if grouped else "the exact binomial limit"
    found = {
        "stochastic": stochastic,
        "majority": _majority(stochastic, shared, baselines),
        "best": Certificate(
            best.bound,
            None,
            delta,
            posterior.m,
            "chernoff" if grouped else "binomial",
            best.empirical_risk,
            best.kl,
            "the best single classifier",
            f"Occam's bound: {limit} at delta times the prior weight of classifier {best.index}.",
            shared,
            others,
        ),
    }
    if not isinstance(classifiers, ClassifierSet):
        return found
    not_valid = STRATIFIED if classifiers.stratified else None
    details: dict[str, Any] = {"not_valid": not_valid, "unit": classifiers.unit, "copies": classifiers.copies}
    for voting, certificate in found.items():
        others = {name: replace(one, unit=classifiers.unit) for name, one in certificate.baselines.items()}
        found[voting] = replace(certificate, baselines=others, **details)
    return found


def _counted(classifiers: ClassifierSet | Errors, m: int) -> Errors | GroupErrors:
    if not isinstance(classifiers, ClassifierSet):
        return classifiers
    if classifiers.errors is None and classifiers.group_errors is None:
        raise ValueError("classifiers must have counted errors; this set was made from losses")
    if classifiers.m != m:
        raise ValueError(f"posterior must be one for {classifiers.m} validation examples, as the set, got {m}")
    return classifiers.counted


def _check_posterior(
    posterior: Posterior, errors: Errors | GroupErrors, delta: float, prior: FloatArray | None, n_distances: int
) -> Posterior:
    """Return the posterior with its numbers computed anew, or raise unless they belong to these errors and this prior.

    What it says may differ by rounding, where it comes from elsewhere: of both bounds the larger is certified.
    """
    level = divide_delta(delta, n_distances)
    if posterior.delta > level * (1.0 + 1e-12):
        raise ValueError(f"posterior must have been computed at delta = {level:g} or less, got {posterior.delta:g}")
    with usual_float_errors(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid constant was warned of when it was asked for
        problem = Problem.checked(
            risks_of(errors, posterior.m),
            posterior.m,
            posterior.used_distance or posterior.distance,
            min(posterior.delta, level),
            prior,
            posterior.constant,
        )
        bound, risk, kl = problem.evaluate(posterior.weights)
    if posterior.bound < bound * (1.0 - 1e-9):
        raise ValueError(
            f"posterior must belong to these errors and this prior, for which its bound is {bound:.6g}; it says "
            f"{posterior.bound:.6g}"
        )
    return replace(
        posterior, bound=max(bound, posterior.bound), empirical_risk=risk, kl=kl, delta=problem.function.delta
    )


def _stochastic(
    posterior: Posterior, delta: float, n_distances: int, assumptions: tuple[str, ...], baselines: dict[str, Baseline]
) -> Certificate:
    theorem = f"PAC-Bayes bound with the distance {posterior.distance} and the {posterior.constant} constant."
    if n_distances > 1:
        theorem += f" It is the smallest of {n_distances}; each was computed at delta / {n_distances}."
    averaged = "The bound is on the average over the draws of classifiers; random_state was chosen without the data."
    return Certificate(
        min(posterior.bound, 1.0),
        _lower(posterior),
        delta,
        posterior.m,
        posterior.distance,
        posterior.empirical_risk,
        posterior.kl,
        "the stochastic classifier",
        theorem,
        (*assumptions, averaged),
        baselines,
    )


def _lower(posterior: Posterior) -> float | None:
    """Return the lower root, which holds at once with the upper: both follow from one bound on the distance."""
    distance = get_distance(posterior.used_distance or posterior.distance)
    if not distance.two_sided:
        return None
    function = distance.bound_function(posterior.m, posterior.delta, posterior.constant)
    # The empirical risk was rounded up, by at most about 45 units in the last place.
    risk = max(round_down(posterior.empirical_risk, 128.0), 0.0)
    return max(distance.lower(risk, function.threshold(posterior.kl)), 0.0)


def _majority(stochastic: Certificate, assumptions: tuple[str, ...], baselines: dict[str, Baseline]) -> Certificate:
    # Doubling is exact.
    bound = min(2.0 * stochastic.bound, 1.0)
    price = (
        "Twice the stochastic classifier's bound: the price of a guarantee for the vote, which usually errs less than "
        "the stochastic classifier. " + stochastic.theorem
    )
    return Certificate(
        bound,
        None,
        stochastic.delta,
        stochastic.m,
        stochastic.distance,
        stochastic.empirical_risk,
        stochastic.kl,
        "the majority vote",
        price,
        assumptions,
        baselines,
    )


@dataclass(frozen=True)
class SingleBest:
    """The classifier with the smallest Occam bound, and the numbers behind it."""

    index: int
    bound: float
    empirical_risk: float
    kl: float


def best_single(errors: Errors | GroupErrors, m: int | Rows, delta: float, prior: FloatArray | None) -> SingleBest:
    """Return the classifier with the smallest Occam bound, the first of several.

    Where classifiers have different numbers `m` of validation examples, each limit is computed with its own.

    Examples
    --------
    >>> best = best_single(np.array([3, 2, 2]), 50, 0.05, np.array([0.9, 0.05, 0.05]))
    >>> best.index, round(best.bound, 4), round(best.kl, 4)
    (0, 0.1506, 0.1054)
    """
    with usual_float_errors():
        shares = np.full(len(errors), 1.0 / len(errors)) if prior is None else prior / prior.sum()
        # Rounded down: a smaller level makes a larger limit.
        levels = np.maximum(round_down(delta * shares, 64.0), 0.0)
    bounds = upper_limits(errors, m, levels)
    best = int(np.argmin(np.where(shares > 0.0, bounds, np.inf)))
    kl = round_up(float(-np.log(shares[best])), 8.0) if shares[best] < 1.0 else 0.0
    size = m if isinstance(m, int) else m[best : best + 1]
    return SingleBest(best, float(bounds[best]), float(risks_of(errors[best : best + 1], size)[0]), kl)
