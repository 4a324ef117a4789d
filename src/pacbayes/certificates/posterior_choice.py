"""The posterior an estimator uses: optimal for one distance of several, in weights that can be drawn from exactly."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbayes.bounds.catoni import Catoni
from pacbayes.bounds.distance import Distance
from pacbayes.bounds.registry import CATONI, get_distance
from pacbayes.numeric.arrays import FloatArray
from pacbayes.numeric.checks import check_level
from pacbayes.numeric.rounding import round_down, usual_float_errors
from pacbayes.posteriors.optimal import USUAL_TOL, certified
from pacbayes.posteriors.posterior import Posterior
from pacbayes.posteriors.problem import Problem

Counts = NDArray[np.int64]

# Weights are multiples of 2^-52: their sums are exact in double precision, in any order.
BITS = 52


def integer_weights(weights: FloatArray) -> Counts:
    """Return weights as whole multiples of 2^-52 with the sum 2^52; the largest takes up what rounding leaves.

    Examples
    --------
    >>> parts = integer_weights(np.array([0.3, 0.7, 0.0]))
    >>> int(parts.sum()) == 2**52, int(parts[2])
    (True, 0)
    """
    with usual_float_errors():
        parts: Counts = np.rint(np.ldexp(weights / weights.sum(), BITS)).astype(np.int64)
    parts[np.argmax(parts)] += 2**BITS - int(parts.sum())
    return parts


def weights_of(parts: Counts) -> FloatArray:
    """Return the weights that the whole parts are, exactly."""
    return np.ldexp(parts.astype(np.float64), -BITS)


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
            converged=problem.evaluate(weights).bound <= found.bound,
            n_iter=found.n_iter,
            message="the weights are those of a file",
        )


def divide_delta(delta: float, number: int) -> float:
    """Return delta / number, rounded down so that the shares never sum to more than delta.

    Examples
    --------
    >>> divide_delta(0.05, 1), divide_delta(0.06, 3) < 0.02
    (0.05, True)
    """
    return delta if number == 1 else round_down(delta / number)


def _exact(
    risks: FloatArray, m: int, distance: str | Distance, delta: float, prior: FloatArray | None, constant: str
) -> Posterior:
    kept = ("lower_bound", "beta", "method", "converged", "n_iter", "message", "details")
    with usual_float_errors():
        problem = Problem.checked(risks, m, distance, delta, prior, constant)
        found = certified(problem, USUAL_TOL)
        weights = weights_of(integer_weights(found.weights))
        return problem.posterior(weights, **{name: getattr(found, name) for name in kept})
