"""A square of 400 equally likely points, on which true risks are means, and tests of the number of failures.

The label of a point is that of its region or, with probability `NOISE`, another one.  Two classes are an exclusive or;
five classes are the quadrants and the middle of the square.
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
# From strong to weak regularisation of SVMs.
LAMBDAS = np.geomspace(1e-3, 30.0, 12)


def sample(n, classes, rng):
    rows = rng.integers(0, 400, n)
    noisy = rng.random(n) < NOISE
    return POINTS[rows], (CLEAN[classes][rows] + noisy * rng.integers(1, classes, n)) % classes


def true_risk(labels, classes=2, noise=NOISE):
    """Exact risk of a classifier with these labels for the 400 points; of several classifiers, by rows."""
    return np.where(labels == CLEAN[classes], noise, 1 - noise / (classes - 1)).mean(axis=-1)


def svc(seed, **choices):
    defaults = {"lambdas": LAMBDAS, "gamma": 8.0, "scale": False, "delta": DELTA, "cv": None, "random_state": seed}
    return StochasticSVC(**(defaults | choices))


def failures(make, draw, fits, risk=true_risk):
    """Count the fits in which the true risk is above the bound, by way of predicting; and collect the rules used.

    `draw` makes rows, labels and other parameters of `fit`.
    """
    counts, rules = Counter(), set()
    for seed in range(fits):
        (X, y), params = draw(np.random.default_rng([seed, 7]))
        clf = make(seed).fit(X, y, **params)
        for voting, certificate in clf.certificates_.items():
            if (voting, certificate.rule) == ("stochastic", "posterior"):  # on average over keys
                true = float(clf.posterior_.weights @ risk(clf.classifiers_.predict(POINTS)))
                counts["two-sided"] += not certificate.lower <= true <= certificate.bound
            else:
                true = float(risk(clf.set_params(voting=voting).predict(POINTS)))
            counts[voting] += true > certificate.bound
            rules.add((voting, certificate.rule))
    return counts, rules


def largest(fits, delta=DELTA, p=1e-4):
    """Largest number of failures compatible with delta: more have a probability below p."""
    return binom.ppf(1 - p, fits, delta)


def compatible(failed, fits, delta=DELTA, p=1e-4):
    """Whether the number of failures is compatible with the probability delta each."""
    return failed <= largest(fits, delta, p)


def fits(short, long=None):
    """Parametrise a test by its number of samples: few, and many in `make test-slow`."""
    more = [] if long is None else [pytest.param(long, id="long", marks=pytest.mark.slow)]
    return pytest.mark.parametrize("fits", [pytest.param(short, id="short"), *more])
