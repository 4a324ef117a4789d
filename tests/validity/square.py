"""A square of 400 points, all equally likely, on which every risk is a mean; and how many failures are too many.

The label of a point is that of its region or, with probability `NOISE`, another: two classes as in exclusive or, five
with the middle of the square.
"""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from pacbayes import StochasticSVC

DELTA, NOISE = 0.1, 0.15
SIDE = (np.arange(20) - 9.5) / 10
POINTS = np.array([(a, b) for a in SIDE for b in SIDE])
QUADRANT = 2 * (POINTS[:, 0] > 0) + (POINTS[:, 1] > 0)
CLEAN = {2: (POINTS[:, 0] * POINTS[:, 1] > 0).astype(int), 5: np.where(np.abs(POINTS).max(axis=1) < 0.5, 4, QUADRANT)}
# SVMs from nearly none to far too much freedom.
LAMBDAS = np.geomspace(1e-3, 30.0, 12)


def sample(n, classes, rng):
    rows = rng.integers(0, 400, n)
    other = rng.random(n) < NOISE
    return POINTS[rows], (CLEAN[classes][rows] + other * rng.integers(1, classes, n)) % classes


def true_risk(labels, classes=2, noise=NOISE):
    """Exact risk of a classifier that gives the 400 points these labels; of several, by rows."""
    return np.where(labels == CLEAN[classes], noise, 1 - noise / (classes - 1)).mean(axis=-1)


def svc(seed, **choices):
    usual = {"lambdas": LAMBDAS, "gamma": 8.0, "scale": False, "delta": DELTA, "cv": None, "random_state": seed}
    return StochasticSVC(**(usual | choices))


def failures(make, draw, fits, risk=true_risk):
    """Count, by way of predicting, the fits in which the true risk of what predicts is above its certificate.

    `draw` makes the rows and labels of a seed, and whatever else `fit` is handed.  Returned are also the rules that
    predicted, each with the way of predicting.
    """
    counts, rules = Counter(), set()
    for seed in range(fits):
        (X, y), given = draw(np.random.default_rng([seed, 7]))
        clf = make(seed).fit(X, y, **given)
        for voting, certificate in clf.certificates_.items():
            if (voting, certificate.rule) == ("stochastic", "posterior"):  # on average over keys
                found = float(clf.posterior_.weights @ risk(clf.classifiers_.predict(POINTS)))
                counts["two-sided"] += not certificate.lower <= found <= certificate.bound
            else:
                found = float(risk(clf.set_params(voting=voting).predict(POINTS)))
            counts[voting] += found > certificate.bound
            rules.add((voting, certificate.rule))
    return counts, rules


def largest(fits, delta=DELTA, p=1e-4):
    """More failures than this have a probability below p if each has at most the probability delta."""
    return binom.ppf(1 - p, fits, delta)


def compatible(failed, fits, delta=DELTA, p=1e-4):
    return failed <= largest(fits, delta, p)


def fits(short, long=None):
    """Parametrise a test by how many samples it draws: few of them, and many in `make test-slow`."""
    more = [] if long is None else [pytest.param(long, id="long", marks=pytest.mark.slow)]
    return pytest.mark.parametrize("fits", [pytest.param(short, id="short"), *more])
