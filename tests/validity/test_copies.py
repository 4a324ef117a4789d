"""Copies of rows made after sampling, by simulation where every true risk is known: kept they void the certificate."""

import numpy as np
import pytest
from scipy.stats import binom
from tests.validity.test_estimators import DELTA, POINTS, VOTINGS, sample, svc, true_risk

COPIES = 5


def five_times(rng):
    # Jitter, so that no two originals are equal, as "together" assumes; no classifier can tell it from none.
    X, y = sample(120, rng)
    X = X + 1e-7 * rng.random(X.shape)
    order = rng.permutation(COPIES * y.size) % y.size
    return X[order], y[order]


def oversampled(rng):
    """Each row copied as often as a die says that looks at it alone: once where the label is 0, else up to nine."""
    X, y = sample(160, rng)
    X = X + 1e-7 * rng.random(X.shape)
    order = rng.permutation(np.repeat(np.arange(y.size), np.where(y == 0, 1, rng.integers(1, 10, y.size))))
    return X[order], y[order]


def failures(copied, duplicates, fits, split="shared"):
    counts = dict.fromkeys(VOTINGS, 0)
    for seed in range(fits):
        X, y = copied(np.random.default_rng([seed, 13]))
        clf = svc(seed, split=split, duplicates=duplicates).fit(X, y)
        risks = {"stochastic": float(clf.posterior_.weights @ true_risk(clf.classifiers_.predict(POINTS)))}
        for voting in ("majority", "best"):
            risks[voting] = float(true_risk(clf.set_params(voting=voting).predict(POINTS)))
        for voting in VOTINGS:
            counts[voting] += risks[voting] > clf.certificates_[voting].bound
    return counts


@pytest.mark.parametrize("split", ["shared", "independent"])
@pytest.mark.parametrize("copied", [five_times, oversampled])
@pytest.mark.parametrize("fits", [pytest.param(20), pytest.param(300, marks=pytest.mark.slow)])
def test_together_is_compatible_with_delta(copied, fits, split):
    counts = failures(copied, "together", fits, split)
    assert max(counts.values()) <= binom.ppf(1 - 1e-4, fits, DELTA), counts


@pytest.mark.filterwarnings("ignore:.* validation rows equal a training row")
def test_copies_that_are_kept_are_caught():
    counts = failures(five_times, "keep", 20)
    assert counts["stochastic"] > binom.ppf(1 - 1e-4, 20, DELTA), counts
    assert counts["best"] > binom.ppf(1 - 1e-4, 20, DELTA), counts
